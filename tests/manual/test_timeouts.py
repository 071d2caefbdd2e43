"""Timeouts: requests, connections, calls; brokers without ApiVersions."""

import broker as b
from case import ManualTest, now


class Requests(ManualTest):
    QUICK = {"retry.backoff.ms": 50, "retry.backoff.max.ms": 100, "reconnect.backoff.max.ms": 200}

    def test_a_request_times_out_after_socket_timeout_ms(self):
        """CONFIGURATION.md, socket.timeout.ms: default timeout of network requests; the message is sent again."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "ignore", times=1)
        producer = self.producer(cluster, {**self.QUICK, "socket.timeout.ms": 1000})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        first, second = cluster.produced("t")
        self.assert_took(second.at - first.at, 900, 4000)

    def test_the_connection_of_a_request_that_timed_out_is_closed(self):
        """CONFIGURATION.md, socket.max.fails: the client disconnects after this many timed out requests, 1 by default."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "ignore", times=1)
        producer = self.producer(cluster, {**self.QUICK, "socket.timeout.ms": 1000})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        first, second = cluster.produced("t")
        self.assertNotEqual(first.connection, second.connection)
        self.assertTrue(cluster.seen("disconnected", connection=first.connection, by_broker=False))

    def test_without_retries_a_timed_out_request_fails_its_messages(self):
        """Timed out in flight to/from broker: ERR__TIMED_OUT where no retry is left; possibly persisted."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "ignore", times=1)
        producer = self.producer(cluster, {"socket.timeout.ms": 1000, "retries": 0})
        producer.must_produce("t", "a")
        report, = producer.reported(1)
        expected = self.differs(here="_TIMED_OUT", librdkafka_does="_MSG_TIMED_OUT")
        self.assertEqual((report.err, report.status), (expected, "possibly persisted"))

    def test_messages_are_delivered_after_one_timed_out_in_flight(self):
        """Message timeout considerations: with message.timeout.ms below socket.timeout.ms the connection is closed."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "ignore", times=1)
        producer = self.producer(cluster, {**self.QUICK, "message.timeout.ms": 1000, "socket.timeout.ms": 10000})
        producer.must_produce("t", "a")
        self.assertEqual([r.err for r in producer.reported(1)], ["_MSG_TIMED_OUT"])
        producer.must_produce("t", "b")
        self.assert_delivered(producer.reported(2)[1:], 1)
        first = cluster.produced("t")[0]
        self.assertTrue(cluster.seen("disconnected", connection=first.connection, by_broker=False))

    def test_a_request_that_waits_for_others_is_not_sent_late(self):
        """Timed out in transmission queue: what was never transmitted is sent later and written once."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("Produce", "ignore", times=1)
        producer = self.producer(cluster, {**self.QUICK, "socket.timeout.ms": 1000, "max.in.flight": 1,
                                           "batch.num.messages": 1})
        producer.must_produce("t", "a", "b", "c")
        self.assert_delivered(producer.reported(3), 3)
        self.assertEqual(cluster.log("t"), ["a", "b", "c"])


class Calls(ManualTest):
    def test_metadata_fails_when_no_broker_answers_in_time(self):
        """rd_kafka_metadata(): fails with _TRANSPORT or _TIMED_OUT within its timeout when no broker is there."""
        producer = self.producer(b.free_address())
        start = now()
        err, _, _ = producer.metadata(1.0)
        self.assertIn(err, ("_TRANSPORT", "_TIMED_OUT"))
        self.assert_took(now() - start, 0, 2.5)

    def test_metadata_times_out_when_the_broker_hangs(self):
        """rd_kafka_metadata(): _TIMED_OUT when a broker does not answer in time."""
        cluster = self.cluster()
        cluster.rule("Metadata", "ignore")
        producer = self.producer(cluster)
        start = now()
        err, _, _ = producer.metadata(1.0)
        self.assertIn(err, ("_TRANSPORT", "_TIMED_OUT"))
        self.assert_took(now() - start, 0.8, 2.5)

    def test_watermarks_time_out_when_the_broker_hangs(self):
        """rd_kafka_query_watermark_offsets(): _TIMED_OUT when the leader does not answer in time."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.rule("ListOffsets", "ignore")
        producer = self.producer(cluster)
        start = now()
        self.assertEqual(producer.watermarks("t", 0, 1.0)[0], "_TIMED_OUT")
        self.assert_took(now() - start, 0.8, 2.5)

    def test_watermarks(self):
        """rd_kafka_query_watermark_offsets(): the first and the next offset of a partition."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a", "b", "c")
        self.assertEqual(self.producer(cluster).watermarks("t", 0, 5), ("NO_ERROR", 0, 3))

    def test_cached_cluster_and_controller_ids_return_at_once(self):
        """rd_kafka_clusterid(), rd_kafka_controllerid(): a timeout of 0 returns what metadata has brought before."""
        cluster = self.cluster()
        found = []
        # Many calls: the response of another thread may arrive in time.
        for _ in range(20):
            producer = self.producer(cluster)
            self.assertEqual(producer.metadata(5)[0], "NO_ERROR")
            found.append((producer.cluster_id(0) is not None, producer.controller_id(0)))
        self.assertEqual(found, [(True, 1)] * 20)

    def test_cluster_and_controller_ids_are_requested(self):
        """rd_kafka_clusterid(), rd_kafka_controllerid(): the cluster is queried within the timeout."""
        producer = self.producer(self.cluster())
        self.assertTrue(producer.cluster_id(5))
        self.assertEqual(producer.controller_id(5), 1)


class ConnectionSetup(ManualTest):
    def test_a_connection_setup_times_out(self):
        """CONFIGURATION.md, socket.connection.setup.timeout.ms: else the connection is closed and retried."""
        deaf = self.listener(b.Deaf)
        producer = self.producer(deaf.address, {"socket.connection.setup.timeout.ms": 1000})
        logged = lambda: [log for log in producer.logs if "Connection setup timed out" in log.text]
        start = now()
        self.assertTrue(producer.wait(logged, 5))
        self.assert_took(logged()[0].at - start, 0.9, 3.5)

    def test_another_broker_is_used_when_one_is_not_set_up_in_time(self):
        """CONFIGURATION.md, socket.connection.setup.timeout.ms: the client continues with other brokers."""
        deaf = self.listener(b.Deaf)
        cluster = self.cluster()
        producer = self.producer(f"{deaf.address},{cluster.bootstrap}", {"socket.connection.setup.timeout.ms": 1000})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1, 8), 1)


class ApiVersions(ManualTest):
    # The fallback time is 0 by default: the next connection sends ApiVersions again at once.
    # librdkafka fails to read short Metadata responses of version 0.
    TOPIC = "topic-" + 100 * "x"
    # A client that begins again with its bootstrap servers may forget what it knew of a broker.
    OLD = {"metadata.recovery.strategy": "none", "broker.version.fallback": "0.9.0", "api.version.fallback.ms": 60000,
           "reconnect.backoff.max.ms": 200}

    def old(self, cluster):
        """Makes brokers serve what those of Kafka 0.9 do."""
        for api, newest in (("Produce", 1), ("Metadata", 0)):
            cluster.do("versions", api=api, min=0, max=newest)

    def test_api_versions_is_sent_on_each_connection(self):
        """Feature discovery: ApiVersions is sent on connect."""
        cluster = self.cluster()
        producer = self.producer(cluster, {"reconnect.backoff.max.ms": 200})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("close", broker=1)
        producer.must_produce("t", "b")
        self.assert_delivered(producer.reported(2), 2)
        used = {r.connection for r in cluster.produced("t")}
        asked = {r.connection for r in cluster.requests("ApiVersions")}
        self.assertLessEqual(used, asked)

    def test_broker_version_fallback_without_a_response(self):
        """Feature discovery: no answer to ApiVersions within api.version.request.timeout.ms: an older version's API."""
        cluster = self.cluster()
        cluster.topic(self.TOPIC)
        cluster.rule("ApiVersions", "ignore")
        self.old(cluster)
        producer = self.producer(cluster, {**self.OLD, "api.version.request.timeout.ms": 500})
        producer.must_produce(self.TOPIC, "a")
        self.assert_delivered(producer.reported(1, 8), 1)
        self.assertEqual(cluster.produced(self.TOPIC)[0].version, 1)

    def test_broker_version_fallback_after_a_disconnect(self):
        """Feature discovery: a broker too old for ApiVersions closes the connection: broker.version.fallback counts."""
        cluster = self.cluster()
        cluster.topic(self.TOPIC)
        cluster.rule("ApiVersions", "disconnect_before")
        self.old(cluster)
        producer = self.producer(cluster, self.OLD)
        producer.must_produce(self.TOPIC, "a")
        self.assert_delivered(producer.reported(1, 8), 1)
        self.assertEqual(cluster.produced(self.TOPIC)[0].version, 1)

    def test_no_api_versions_within_api_version_fallback_ms(self):
        """CONFIGURATION.md, api.version.fallback.ms: for how long broker.version.fallback is used after a failure."""
        cluster = self.cluster()
        cluster.topic(self.TOPIC)
        cluster.rule("ApiVersions", "disconnect_before")
        self.old(cluster)
        producer = self.producer(cluster, self.OLD)
        producer.must_produce(self.TOPIC, "a")
        self.assert_delivered(producer.reported(1, 8), 1)
        cluster.do("forget")
        cluster.do("close", broker=1)
        producer.must_produce(self.TOPIC, "b")
        self.assert_delivered(producer.reported(2, 8), 2)
        used = {r.connection for r in cluster.produced(self.TOPIC)}
        asked = {r.connection for r in cluster.requests("ApiVersions")}
        self.assertFalse(used & asked)

    def test_api_version_request_false_sends_no_api_versions(self):
        """Feature discovery: ApiVersions with api.version.request=true; else broker.version.fallback applies."""
        cluster = self.cluster()
        cluster.topic(self.TOPIC)
        self.old(cluster)
        producer = self.producer(cluster, {**self.OLD, "api.version.request": False})
        producer.must_produce(self.TOPIC, "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertEqual(cluster.requests("ApiVersions"), [])
        self.assertEqual(cluster.produced(self.TOPIC)[0].version, 1)
