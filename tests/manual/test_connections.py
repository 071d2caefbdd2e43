"""Brokers: sparse connections, connections that close, outages, error callbacks, throttling."""

import json

import broker as b
from case import ManualTest, now


class Sparse(ManualTest):
    def test_one_bootstrap_broker_is_enough(self):
        """Random broker selection: when any broker will do, a single one is connected to."""
        cluster = self.cluster(6)
        producer = self.producer(cluster)
        self.assertEqual(producer.metadata(5)[0], "NO_ERROR")
        producer.serve(1)
        # A second broker may have been requested before the first connection was up.
        self.assertLessEqual(len({c.broker for c in cluster.connections()}), 2)

    def test_only_brokers_that_are_needed_are_connected_to(self):
        """Sparse connections: the client connects to leaders of partitions being produced to, not to others."""
        cluster = self.cluster(4)
        cluster.topic("t", leaders=[2, 3])
        producer = self.producer(cluster.addresses[1])
        producer.must_produce("t", "a", partition=0)
        producer.must_produce("t", "b", partition=1)
        self.assert_delivered(producer.reported(2), 2)
        producer.serve(1)
        self.assertEqual({c.broker for c in cluster.connections()}, {1, 2, 3})

    def test_a_connection_is_reused(self):
        """Random broker selection: an available connection is used rather than connecting to another broker."""
        cluster = self.cluster(6)
        cluster.topic("t", leaders=[1])
        producer = self.producer(cluster.addresses[1])
        for value in "abc":
            producer.must_produce("t", value)
            producer.flush(5)
            self.assertEqual(producer.metadata(5)[0], "NO_ERROR")
        # One more may have been connected to before the first connection was up.
        self.assertLessEqual(len({c.broker for c in cluster.connections()} - {1}), 1)

    def test_another_bootstrap_broker_is_tried_when_one_cannot_be_reached(self):
        """Random broker selection: brokers with no prior connection attempt are tried first."""
        cluster = self.cluster()
        producer = self.producer(f"{b.free_address()},{b.free_address()},{cluster.bootstrap}")
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)

    def test_brokers_can_be_added(self):
        """Brokers: rd_kafka_brokers_add() adds bootstrap brokers."""
        cluster = self.cluster()
        producer = self.producer(b.free_address())
        self.assertEqual(producer.brokers_add(cluster.bootstrap), 1)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)


class Closing(ManualTest):
    def warm(self, settings=None, brokers=1):
        cluster = self.cluster(brokers)
        cluster.topic("t", leaders=[1])
        producer = self.producer(cluster.addresses[1], settings)
        producer.must_produce("t", "0")
        self.assert_delivered(producer.reported(1), 1)
        return cluster, producer

    def test_the_connection_to_a_leader_is_made_again_at_once(self):
        """Persistent broker connections: to leaders of topics being produced to, reconnecting as necessary."""
        cluster, producer = self.warm()
        producer.serve(0.3)
        before = len(cluster.connections(broker=1))
        cluster.do("close", broker=1)
        start = now()
        self.assertTrue(producer.wait(lambda: len(cluster.connections(broker=1)) > before, 3))
        self.assert_took(now() - start, 0, 1.5)

    def test_messages_are_delivered_after_an_idle_connection_was_closed(self):
        """Connection close: the broker may close idle connections; the client recovers by itself."""
        cluster, producer = self.warm()
        producer.serve(0.3)
        cluster.do("close", broker=1)
        producer.serve(0.5)
        start = now()
        producer.must_produce("t", "1")
        report = producer.reported(2)[1]
        self.assertEqual(report.err, "NO_ERROR")
        self.assert_took(report.at - start, 0, 1.5)

    def test_an_idle_disconnect_is_not_logged(self):
        """Connection close: without requests in flight or queued the disconnect is not logged."""
        cluster, producer = self.warm()
        producer.serve(0.3)
        cluster.do("close", broker=1)
        producer.serve(0.7)
        self.assertEqual([log.text for log in producer.logs if log.level <= 5], [])

    def in_flight(self, settings=None):
        """The FAIL logs of a producer whose requests were in flight when the broker closed the connection."""
        cluster, producer = self.warm({"batch.num.messages": 1, **(settings or {})})
        cluster.rule("Produce", "ignore", times=1)
        producer.must_produce("t", "1", "2", "3")
        self.assertTrue(producer.wait(lambda: len(cluster.produced("t")) == 4))
        cluster.do("close", broker=1)
        self.assert_delivered(producer.reported(4), 4)
        return [log for log in producer.logs if log.facility == "FAIL"]

    def test_a_disconnect_with_requests_in_flight_is_logged(self):
        """Connection close: with requests in flight a disconnect is logged, as a warning or worse."""
        logs = self.in_flight()
        self.assertTrue([log for log in logs if log.level <= 4], logs)

    def test_log_connection_close_false_silences_disconnects(self):
        """Connection close: log.connection.close=false silences disconnect logs."""
        self.assertEqual(self.in_flight({"log.connection.close": False}), [])

    def test_reconnecting_backs_off(self):
        """Connection close: reconnects wait for reconnect.backoff.ms, growing up to reconnect.backoff.max.ms."""
        slammer = self.listener(b.Slammer)
        # A client that begins again with its bootstrap servers begins with the first backoff, too.
        producer = self.producer(slammer.address, {"reconnect.backoff.ms": 200, "reconnect.backoff.max.ms": 800,
                                                   "metadata.recovery.strategy": "none"})
        producer.must_produce("t", "a")
        producer.serve(4.5)
        pauses = [after - before for before, after in zip(slammer.accepted, slammer.accepted[1:])]
        self.assertGreaterEqual(len(pauses), 3, pauses)
        self.assert_took(pauses[0], 0.2 * 0.75 - 0.02, 0.8)
        self.assertGreaterEqual(min(pauses), 0.2 * 0.75 - 0.02)
        self.assertGreater(max(pauses), 0.4)
        self.assertLess(max(pauses), 0.8 * 1.5 + 0.5)

    def test_idle_connections_are_closed_by_the_client(self):
        """CONFIGURATION.md, connections.max.idle.ms: broker connections are closed after this time of inactivity."""
        cluster, producer = self.warm({"connections.max.idle.ms": 1000}, brokers=2)
        connection = cluster.produced("t")[0].connection
        closed = lambda: cluster.seen("disconnected", connection=connection, by_broker=False)
        self.assertTrue(producer.wait(closed, 6))
        last = max(r.at for r in cluster.seen("request", connection=connection))
        self.assert_took(closed()[0].at - last, 900, 4500)
        producer.must_produce("t", "1")
        self.assert_delivered(producer.reported(2), 2)

    def test_closing_an_idle_connection_is_logged_by_its_name(self):
        """CONFIGURATION.md, connections.max.idle.ms: "Connection max idle time exceeded" is the reason."""
        _, producer = self.warm({"connections.max.idle.ms": 1000, "debug": "broker"})
        logged = lambda: [log for log in producer.logs if "max idle time exceeded" in log.text]
        self.assertTrue(producer.wait(logged, 6))


class Outages(ManualTest):
    def test_all_brokers_down_is_reported(self):
        """Threads and callbacks: the error callback signals _ALL_BROKERS_DOWN."""
        producer = self.producer(f"{b.free_address()},{b.free_address()}")
        producer.must_produce("t", "a")
        self.assertTrue(producer.wait(lambda: "_ALL_BROKERS_DOWN" in producer.error_codes(), 5))

    def test_a_broker_that_cannot_be_reached_is_reported(self):
        """Threads and callbacks: the error callback signals failures to connect, as _TRANSPORT."""
        producer = self.producer(b.free_address())
        self.assertTrue(producer.wait(lambda: "_TRANSPORT" in producer.error_codes(), 5))

    def test_a_name_that_is_not_found_is_reported(self):
        """Threads and callbacks: the error callback signals names that cannot be resolved, as _RESOLVE."""
        producer = self.producer("no-such-host.invalid:9092")
        self.assertTrue(producer.wait(lambda: "_RESOLVE" in producer.error_codes(), 10))

    def test_an_outage_causes_no_fatal_error(self):
        """Threads and callbacks: these errors are informational; the client tries to recover from all of them."""
        cluster = self.cluster()
        producer = self.producer(cluster, {"reconnect.backoff.max.ms": 200})
        producer.must_produce("t", "0")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("reachable", broker=1, value=False)
        producer.must_produce("t", "1")
        self.assertTrue(producer.wait(lambda: "_ALL_BROKERS_DOWN" in producer.error_codes(), 5))
        self.assertEqual(producer.fatal_error(), "NO_ERROR")
        cluster.do("reachable", broker=1, value=True)
        self.assert_delivered(producer.reported(2), 2)

    def test_messages_are_kept_during_an_outage_and_delivered_in_order(self):
        """Message reliability: messages are held on to until acknowledged, or timed out."""
        cluster = self.cluster(2)
        cluster.topic("t", leaders=[1])
        producer = self.producer(cluster, {"reconnect.backoff.max.ms": 200})
        producer.must_produce("t", "0")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("reachable", broker=1, value=False)
        producer.serve(0.3)
        producer.must_produce("t", "1", "2", "3")
        producer.serve(1)
        self.assertEqual(len(producer.reports), 1)
        cluster.do("reachable", broker=1, value=True)
        self.assert_delivered(producer.reported(4), 4)
        self.assertEqual(cluster.log("t"), ["0", "1", "2", "3"])


class Callbacks(ManualTest):
    def test_throttling_is_reported(self):
        """Threads and callbacks: throttle_cb is triggered when a broker has throttled a request."""
        cluster = self.cluster()
        cluster.do("throttle", api="Produce", ms=300)
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertTrue(producer.wait(lambda: producer.throttles, 3))
        first = producer.throttles[0]
        self.assertEqual((first.broker_id, first.ms), (1, 300))
        self.assertIn(cluster.addresses[1], first.broker)

    def test_the_end_of_throttling_is_reported(self):
        """rd_kafka_conf_set_throttle_cb(): called with 0 once the broker does not throttle any more."""
        cluster = self.cluster()
        cluster.do("throttle", api="Produce", ms=200)
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("throttle", api="Produce", ms=0)
        producer.serve(0.5)
        producer.must_produce("t", "b")
        self.assert_delivered(producer.reported(2), 2)
        self.assertTrue(producer.wait(lambda: producer.throttles and producer.throttles[-1].ms == 0, 3))

    def test_throttled_clients_pause(self):
        """KIP-219, quotas: after a response with a throttle time nothing is sent to the broker until it is over."""
        cluster = self.cluster()
        producer = self.producer(cluster)
        producer.must_produce("t", "0")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("throttle", api="Produce", ms=1000)
        producer.must_produce("t", "1")
        self.assert_delivered(producer.reported(2), 2)
        cluster.do("throttle", api="Produce", ms=0)
        producer.must_produce("t", "2")
        self.assert_delivered(producer.reported(3), 3)
        _, throttled, after = cluster.produced("t")
        least, most = self.differs(here=(950, 2500), librdkafka_does=(0, 700))
        self.assert_took(after.at - throttled.at, least, most)

    def test_statistics_are_emitted_at_their_interval(self):
        """Threads and callbacks: stats_cb is triggered every statistics.interval.ms with metrics as JSON."""
        cluster = self.cluster()
        producer = self.producer(cluster, {"statistics.interval.ms": 300})
        producer.must_produce("t", "a")
        self.assertTrue(producer.wait(lambda: len(producer.statistics) >= 3, 5))
        last = json.loads(producer.statistics[-1])
        self.assertEqual(last["type"], "producer")
        self.assertEqual(last["topics"]["t"]["partitions"]["0"]["txmsgs"], 1)

    def test_no_statistics_by_default(self):
        """Threads and callbacks: stats_cb is triggered if statistics.interval.ms is non-zero."""
        producer = self.producer(self.cluster())
        producer.serve(1)
        self.assertEqual(producer.statistics, [])
