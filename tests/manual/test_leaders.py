"""Leader changes, metadata, topics and partitions that are not known."""

import broker as b
from case import ManualTest, now
from librdkafka import NOT_PERSISTED

QUICK = {"retry.backoff.ms": 50, "retry.backoff.max.ms": 100, "reconnect.backoff.max.ms": 200}


class LeaderChange(ManualTest):
    def warm(self, brokers=2, settings=None):
        """A cluster whose broker 1 leads "t", and a producer that has delivered "0"."""
        cluster = self.cluster(brokers)
        cluster.topic("t", leaders=[1])
        producer = self.producer(cluster, {**QUICK, **(settings or {})})
        producer.must_produce("t", "0")
        self.assert_delivered(producer.reported(1), 1)
        return cluster, producer

    def test_messages_go_to_the_new_leader(self):
        """Message reliability: a topic leader change is handled without the application."""
        cluster, producer = self.warm()
        cluster.move_leader("t", 0, 2)
        producer.must_produce("t", "1")
        self.assert_delivered(producer.reported(2), 2)
        self.assertEqual(cluster.log("t"), ["0", "1"])
        self.assertTrue(cluster.produced("t", broker=2))

    def test_metadata_is_refreshed_when_no_response_names_the_leader(self):
        """Temporary errors due to stale metadata: a metadata request is sent to find the new leader."""
        cluster, producer = self.warm()
        cluster.do("versions", api="Produce", max=9)
        cluster.do("close", broker=1)
        producer.serve(0.5)
        cluster.move_leader("t", 0, 2)
        moved = cluster.now()
        producer.must_produce("t", "1")
        self.assert_delivered(producer.reported(2), 2)
        self.assertTrue([r for r in cluster.requests("Metadata") if r.at >= moved])

    def test_messages_are_delivered_after_the_leader_crashed(self):
        """Message reliability: broker failures are handled; messages are delivered once another broker leads."""
        cluster = self.cluster(3)
        cluster.do("topic", name="t", partitions=1, leaders=[[1, 2, 3]])
        producer = self.producer(cluster, QUICK)
        producer.must_produce("t", "0")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("crash", broker=1)
        producer.must_produce("t", "1")
        self.assert_delivered(producer.reported(2), 2)
        self.assertEqual(cluster.log("t"), ["0", "1"])

    def test_messages_are_delivered_when_the_leader_hangs_and_another_takes_over(self):
        """Message reliability: network problems are handled; a leader that hangs is left when its requests time out."""
        cluster, producer = self.warm(settings={"socket.timeout.ms": 1500})
        cluster.rule(None, "ignore", broker=1)
        producer.must_produce("t", "1")
        self.assertTrue(producer.wait(lambda: len(cluster.produced("t")) == 2))
        cluster.move_leader("t", 0, 2)
        producer.must_produce("t", "2")
        self.assert_delivered(producer.reported(3, 15), 3)
        self.assertEqual(sorted(cluster.log("t")), ["0", "1", "2"])

    def test_messages_go_to_the_new_leader_after_others_timed_out_at_one_that_hangs(self):
        """Message timeout considerations, leader change: the connection of messages that timed out in flight is closed,
        and the new leader is found."""
        cluster, producer = self.warm(3, {"message.timeout.ms": 2500})
        cluster.rule(None, "ignore", broker=1)
        producer.must_produce("t", "1")
        self.assertTrue(producer.wait(lambda: len(cluster.produced("t")) == 2))
        cluster.move_leader("t", 0, 2)
        self.assertEqual(producer.reported(2)[1].err, "_MSG_TIMED_OUT")
        # Until the new leader is found messages time out.
        for number in range(2, 14):
            producer.must_produce("t", str(number))
            if producer.wait(lambda: producer.reports[-1].err == "NO_ERROR", 1):
                break
        self.assertEqual(producer.reports[-1].err, "NO_ERROR")

    def test_messages_wait_for_a_leader(self):
        """Message reliability: while no leader is available messages are held on to."""
        cluster, producer = self.warm()
        cluster.move_leader("t", 0, -1)
        producer.must_produce("t", "1")
        producer.serve(1)
        self.assertEqual(len(producer.reports), 1)
        cluster.move_leader("t", 0, 2)
        self.assert_delivered(producer.reported(2), 2)

    def test_leaders_of_other_partitions_are_not_affected(self):
        """Message reliability: each partition is handled by itself."""
        cluster = self.cluster(2)
        cluster.topic("t", leaders=[1, 2])
        producer = self.producer(cluster, QUICK)
        producer.must_produce("t", "a", partition=0)
        producer.must_produce("t", "b", partition=1)
        self.assert_delivered(producer.reported(2), 2)
        cluster.rule("Produce", "ignore", broker=1)
        producer.must_produce("t", "c", partition=0)
        producer.must_produce("t", "d", partition=1)
        self.assertEqual([(r.value, r.err) for r in producer.reported(3)[2:]], [("d", "NO_ERROR")])


class Metadata(ManualTest):
    def test_cached_topics_are_not_requested_again(self):
        """Caching strategy: topics are cached; a message for a known topic needs no request."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        producer.serve(0.5)
        cluster.do("forget")
        for value in "bcd":
            producer.must_produce("t", value)
            producer.flush(5)
        self.assertEqual(cluster.requests("Metadata"), [])

    def test_topics_are_refreshed_at_the_interval(self):
        """CONFIGURATION.md, topic.metadata.refresh.interval.ms: topics are refreshed at this interval."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.producer(cluster, {"topic.metadata.refresh.interval.ms": 500})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("forget")
        producer.serve(2.2)
        self.assert_took(len([r for r in cluster.requests("Metadata") if "t" in r.values("topic")]), 2, 6)

    def test_brokers_are_found_by_metadata(self):
        """Brokers: a partial list suffices; metadata has the full list of brokers."""
        cluster = self.cluster(3)
        cluster.topic("t", leaders=[3])
        producer = self.producer(cluster.addresses[1])
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertTrue(cluster.produced("t", broker=3))

    def test_only_topics_in_use_are_requested(self):
        """Query reasons: known topics are those for which a topic object was created."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.topic("other")
        producer = self.producer(cluster, {"topic.metadata.refresh.interval.ms": 300})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        producer.serve(1)
        asked = {topic for r in cluster.requests("Metadata") for topic in r.values("topic")}
        self.assertEqual(asked, {"t"})

    def test_the_application_may_request_all_topics(self):
        """Query reasons, all topics: rd_kafka_metadata() lists brokers, topics and leaders."""
        cluster = self.cluster(2)
        cluster.topic("t", leaders=[1, 2])
        cluster.topic("u", leaders=[2])
        err, brokers, topics = self.producer(cluster).metadata(5)
        self.assertEqual((err, sorted(brokers), topics), ("NO_ERROR", [1, 2], {"t": [1, 2], "u": [2]}))


class Topics(ManualTest):
    def test_a_topic_is_created_by_producing_to_it(self):
        """Topic auto creation: supported, where brokers have auto.create.topics.enable=true."""
        cluster = self.cluster()
        producer = self.producer(cluster)
        producer.must_produce("new", "a")
        self.assert_delivered(producer.reported(1), 1)
        self.assertEqual(cluster.log("new"), ["a"])

    def test_a_topic_that_appears_late_is_waited_for(self):
        """CONFIGURATION.md, topic.metadata.propagation.max.ms: how long a new topic may be unknown to brokers."""
        cluster = self.cluster(topic_creation_delay_ms=1000)
        producer = self.producer(cluster)
        producer.must_produce("new", "a")
        self.assert_delivered(producer.reported(1), 1)

    def test_messages_for_a_topic_that_does_not_exist_fail(self):
        """Permanent errors: a topic that does not exist, and is not created, after topic.metadata.propagation.max.ms."""
        cluster = self.cluster(auto_create=False)
        producer = self.producer(cluster, {"topic.metadata.propagation.max.ms": 1000})
        start = now()
        producer.must_produce("missing", "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("UNKNOWN_TOPIC_OR_PART", NOT_PERSISTED))
        self.assert_took(report.at - start, 0.9, 4)

    def test_messages_for_a_partition_that_does_not_exist_fail(self):
        """Permanent errors: the application specifies a partition that does not exist."""
        cluster = self.cluster()
        cluster.topic("t", 2)
        producer = self.producer(cluster)
        producer.must_produce("t", "a", partition=7)
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("_UNKNOWN_PARTITION", NOT_PERSISTED))
        # The next one fails at once, or by its report when the partition was looked for again.
        err, _ = producer.produce("t", "b", 7)
        if err == "NO_ERROR":
            err = producer.reported(2)[1].err
        self.assertEqual(err, "_UNKNOWN_PARTITION")

    def test_a_topic_without_authorization_fails_its_messages(self):
        """Permanent errors: ERR_TOPIC_AUTHORIZATION_FAILED from Metadata."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.do("topic_error", name="t", error=b.TOPIC_AUTHORIZATION_FAILED)
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assertEqual([r.err for r in producer.reported(1)], ["TOPIC_AUTHORIZATION_FAILED"])

    def refused_name(self, name):
        cluster = self.cluster()
        producer = self.producer(cluster)
        producer.must_produce(name, "a")
        report, = producer.reported(1)
        self.assertEqual((report.err, report.status), ("TOPIC_EXCEPTION", NOT_PERSISTED))

    def test_messages_for_an_invalid_topic_name_fail(self):
        """Permanent errors: TOPIC_EXCEPTION for a name that no topic can have."""
        self.refused_name("#!$")

    def test_messages_for_a_topic_name_that_is_too_long_fail(self):
        """Permanent errors: TOPIC_EXCEPTION for a name of more than 249 characters."""
        self.refused_name("x" * 260)

    def test_a_new_partition_can_be_produced_to(self):
        """Metadata: partitions that are added become known with the next refresh; they can be produced to then."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.producer(cluster, {"topic.metadata.refresh.interval.ms": 500})
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("add_partitions", name="t", total=2)
        producer.serve(1.5)
        producer.must_produce("t", "b", partition=1)
        self.assert_delivered(producer.reported(2), 2)
        self.assertEqual(cluster.log("t", 1), ["b"])

    def test_a_metadata_call_finds_a_new_partition(self):
        """Metadata: what rd_kafka_metadata() brings counts at once, for producing as well."""
        cluster = self.cluster()
        cluster.topic("t")
        producer = self.producer(cluster)
        producer.must_produce("t", "a")
        self.assert_delivered(producer.reported(1), 1)
        cluster.do("add_partitions", name="t", total=2)
        self.assertEqual(producer.metadata(5, "t")[2], {"t": [1, 1]})
        producer.serve(0.2)
        producer.must_produce("t", "b", partition=1)
        self.assert_delivered(producer.reported(2), 2)

    def test_a_new_partition_can_be_assigned(self):
        """Metadata: a partition that was just added can be assigned and read without waiting for a refresh."""
        cluster = self.cluster()
        cluster.topic("t")
        self.fill(cluster, "t", "a")
        consumer = self.consumer(cluster)
        consumer.assign(("t", 0, 0))
        self.assertEqual([r.value for r in consumer.consumed(1)], ["a"])
        cluster.do("add_partitions", name="t", total=2)
        self.fill(cluster, "t", "b", partition=1)
        consumer.assign(("t", 1, 0))
        self.assertEqual([r.value for r in consumer.consumed(1)], ["b"])
