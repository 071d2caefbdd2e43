"""Consumers: where reading begins, ends of partitions, errors, leader changes, commits, polling in time."""

import threading

import broker as b
from case import ManualTest, now
from librdkafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID


def values(records):
    return [r.value for r in records if r.err == "NO_ERROR"]


def errors(records):
    return [r.err for r in records if r.err != "NO_ERROR"]


class Offsets(ManualTest):
    def filled(self, count=5):
        cluster = self.cluster()
        self.fill(cluster, "t", *[str(n) for n in range(count)])
        return cluster

    def test_messages_come_in_order_with_their_offsets(self):
        """Simple Consumer API, rd_kafka_message_t: topic, partition, offset and payload of each message."""
        consumer = self.consumer(self.filled())
        consumer.assign(("t", 0, OFFSET_BEGINNING))
        records = consumer.consumed(5)
        self.assertEqual([(r.topic, r.partition, r.offset, r.value) for r in records],
                         [("t", 0, n, str(n)) for n in range(5)])

    def test_fetching_starts_at_the_assigned_offset(self):
        """rd_kafka_consume_start(), rd_kafka_assign(): an absolute offset is where reading begins."""
        consumer = self.consumer(self.filled())
        consumer.assign(("t", 0, 3))
        self.assertEqual(values(consumer.consumed(2)), ["3", "4"])

    def test_auto_offset_reset_earliest(self):
        """CONFIGURATION.md, auto.offset.reset: without a committed offset, earliest is the smallest offset."""
        consumer = self.consumer(self.filled(), {"auto.offset.reset": "earliest"})
        consumer.subscribe("t")
        self.assertEqual(values(consumer.consumed(5)), list("01234"))

    def test_auto_offset_reset_latest(self):
        """CONFIGURATION.md, auto.offset.reset: latest, the default, is the end of the partition."""
        cluster = self.filled()
        consumer = self.consumer(cluster, {"auto.offset.reset": "latest", "enable.partition.eof": True})
        consumer.subscribe("t")
        self.assertEqual(errors(consumer.consumed(1)), ["_PARTITION_EOF"])
        self.fill(cluster, "t", "new")
        self.assertEqual(values(consumer.consumed(1)), ["new"])

    def test_auto_offset_reset_error(self):
        """CONFIGURATION.md, auto.offset.reset: error is an error that consuming returns."""
        consumer = self.consumer(self.filled(), {"auto.offset.reset": "error"})
        consumer.subscribe("t")
        self.assertEqual(errors(consumer.consumed(1)), ["_AUTO_OFFSET_RESET"])

    def test_an_offset_out_of_range_is_reset(self):
        """CONFIGURATION.md, auto.offset.reset: also when the desired offset is out of range."""
        consumer = self.consumer(self.filled(), {"auto.offset.reset": "earliest"})
        consumer.assign(("t", 0, 1000))
        self.assertEqual(values(consumer.consumed(5)), list("01234"))

    def test_an_offset_out_of_range_is_an_error_with_reset_error(self):
        """CONFIGURATION.md, auto.offset.reset: error for an offset that is out of range."""
        consumer = self.consumer(self.filled(), {"auto.offset.reset": "error"})
        consumer.assign(("t", 0, 1000))
        self.assertEqual(errors(consumer.consumed(1)), ["_AUTO_OFFSET_RESET"])

    def test_the_end_of_a_partition_is_reported(self):
        """CONFIGURATION.md, enable.partition.eof: _PARTITION_EOF whenever the end of a partition is reached."""
        cluster = self.filled(2)
        consumer = self.consumer(cluster, {"enable.partition.eof": True})
        consumer.assign(("t", 0, 0))
        records = consumer.consumed(3)
        self.assertEqual([(r.err, r.offset) for r in records],
                         [("NO_ERROR", 0), ("NO_ERROR", 1), ("_PARTITION_EOF", 2)])
        self.assertEqual(consumer.consumed(1, 0.7), [])
        self.fill(cluster, "t", "new")
        self.assertEqual([r.err for r in consumer.consumed(2)], ["NO_ERROR", "_PARTITION_EOF"])

    def test_the_end_of_a_partition_is_not_reported_by_default(self):
        """CONFIGURATION.md, enable.partition.eof: false by default."""
        consumer = self.consumer(self.filled(2))
        consumer.assign(("t", 0, 0))
        self.assertEqual(errors(consumer.consumed(3, 1.5)), [])


class Fetching(ManualTest):
    def reading(self, brokers=2, fetch_version=17):
        """A consumer that has read "a" from "t", led by broker 1."""
        cluster = self.cluster(brokers)
        # Version 12 and later name the new leader in the response (KIP-951).
        cluster.do("versions", api="Fetch", max=fetch_version)
        cluster.topic("t", leaders=[1])
        self.fill(cluster, "t", "a")
        consumer = self.consumer(cluster, {"reconnect.backoff.max.ms": 200})
        consumer.assign(("t", 0, 0))
        self.assertEqual(values(consumer.consumed(1)), ["a"])
        return cluster, consumer

    def test_fetching_continues_at_the_new_leader(self):
        """Topics, metadata: a leader change is handled; nothing is skipped and nothing repeated."""
        cluster, consumer = self.reading()
        cluster.move_leader("t", 0, 2)
        self.fill(cluster, "t", "b", "c")
        self.assertEqual(values(consumer.consumed(2)), ["b", "c"])
        self.assertTrue(cluster.requests("Fetch", broker=2))

    def test_fetching_continues_after_the_leader_crashed(self):
        """Message reliability: broker failures are handled; fetching continues once another broker leads."""
        cluster = self.cluster(2)
        cluster.do("topic", name="t", partitions=1, leaders=[[1, 2]])
        self.fill(cluster, "t", "a")
        consumer = self.consumer(cluster, {"reconnect.backoff.max.ms": 200})
        consumer.assign(("t", 0, 0))
        self.assertEqual(values(consumer.consumed(1)), ["a"])
        cluster.do("crash", broker=1)
        self.fill(cluster, "t", "b")
        self.assertEqual(values(consumer.consumed(1)), ["b"])

    def test_fetching_continues_after_the_connection_broke(self):
        """Persistent broker connections: to leaders of topics being fetched from; reconnecting as necessary."""
        cluster, consumer = self.reading(1)
        cluster.do("close", broker=1)
        consumer.consume(0.2)
        self.fill(cluster, "t", "b")
        self.assertEqual(values(consumer.consumed(1, 5)), ["b"])

    def test_a_temporary_fetch_error_is_not_reported(self):
        """Threads and callbacks: the client recovers from errors; NOT_LEADER triggers a metadata refresh."""
        cluster, consumer = self.reading(1, fetch_version=11)
        cluster.do("partition_error", api="Fetch", topic="t", partition=0, error=b.NOT_LEADER_OR_FOLLOWER)
        before = cluster.now()
        self.assertEqual(consumer.consumed(1, 1), [])
        self.assertTrue([r for r in cluster.requests("Metadata") if r.at >= before])
        cluster.do("partition_error", api="Fetch", topic="t", partition=0, error=0)
        self.fill(cluster, "t", "b")
        self.assertEqual(values(consumer.consumed(1)), ["b"])

    def test_a_permanent_fetch_error_is_reported(self):
        """Simple Consumer API, rd_kafka_message_t.err: an error is signalled as a message."""
        cluster, consumer = self.reading(1)
        cluster.do("partition_error", api="Fetch", topic="t", partition=0, error=b.TOPIC_AUTHORIZATION_FAILED)
        self.assertEqual(errors(consumer.consumed(1)), ["TOPIC_AUTHORIZATION_FAILED"])
        cluster.do("partition_error", api="Fetch", topic="t", partition=0, error=0)
        self.fill(cluster, "t", "b")
        self.assertIn("b", values(consumer.consumed_until(lambda got: "b" in values(got))))

    def test_an_unknown_topic_is_an_error_of_the_consumer(self):
        """rd_kafka_subscribe(): topics that do not exist are reported as consumer errors."""
        cluster = self.cluster()
        consumer = self.consumer(cluster, {"topic.metadata.propagation.max.ms": 500})
        consumer.subscribe("missing")
        self.assertEqual(errors(consumer.consumed(1)), ["UNKNOWN_TOPIC_OR_PART"])

    def test_consumers_do_not_create_topics(self):
        """CONFIGURATION.md, allow.auto.create.topics: false by default; subscribing creates no topic."""
        cluster = self.cluster()
        consumer = self.consumer(cluster, {"topic.metadata.refresh.interval.ms": 200})
        consumer.subscribe("missing")
        consumer.consumed(3, 1.5)
        self.assertTrue([r for r in cluster.requests("Metadata") if "missing" in r.values("topic")])
        self.assertFalse(cluster.exists("missing"))

    def test_consumers_create_topics_with_allow_auto_create_topics(self):
        """CONFIGURATION.md, allow.auto.create.topics: true lets brokers create the topic that is subscribed to."""
        cluster = self.cluster()
        consumer = self.consumer(cluster, {"allow.auto.create.topics": True})
        consumer.subscribe("missing")
        consumer.consumed_until(lambda _: cluster.exists("missing"), 3)
        self.assertEqual(cluster.exists("missing"), self.differs(here=True, librdkafka_does=False))

    def test_a_topic_without_authorization_is_an_error_of_the_consumer(self):
        """rd_kafka_subscribe(): topics without authorization are reported as consumer errors."""
        cluster = self.cluster()
        cluster.topic("t")
        cluster.do("topic_error", name="t", error=b.TOPIC_AUTHORIZATION_FAILED)
        consumer = self.consumer(cluster)
        consumer.subscribe("t")
        self.assertEqual(errors(consumer.consumed(1)), ["TOPIC_AUTHORIZATION_FAILED"])

    def invalid_name(self, name):
        """An invalid name can be subscribed to; it is an error of the consumer, and should be no flood of requests."""
        cluster = self.cluster()
        consumer = self.consumer(cluster)
        self.assertEqual(consumer.subscribe(name), "NO_ERROR")
        err, = errors(consumer.consumed(1))
        self.assertIn(err, ("TOPIC_EXCEPTION", "UNKNOWN_TOPIC_OR_PART"))
        consumer.consumed(5, 1)
        floods = len(cluster.requests("Metadata")) > 30
        self.assertEqual(floods, self.differs(here=False, librdkafka_does=True))

    def test_an_invalid_topic_name_is_an_error_of_the_consumer(self):
        """rd_kafka_subscribe(): a name that no topic can have is reported as a consumer error."""
        self.invalid_name("#!$")

    def test_a_topic_name_that_is_too_long_is_an_error_of_the_consumer(self):
        """rd_kafka_subscribe(): a name of more than 249 characters is reported as a consumer error."""
        self.invalid_name("x" * 260)

    def test_one_request_fetches_all_partitions_of_a_broker(self):
        """Simple Consumer API: all consumed partitions of which a broker is leader are fetched by a single request."""
        cluster = self.cluster()
        cluster.topic("t", 3)
        for partition in range(3):
            self.fill(cluster, "t", f"p{partition}", partition=partition)
        consumer = self.consumer(cluster)
        consumer.assign(("t", 0, 0), ("t", 1, 0), ("t", 2, 0))
        self.assertEqual(sorted(values(consumer.consumed(3))), ["p0", "p1", "p2"])
        self.assertTrue([r for r in cluster.requests("Fetch") if len(r.parts) == 3])

    def test_fetching_stops_at_queued_min_messages(self):
        """Simple Consumer API: queued.min.messages messages are kept in the local queue."""
        cluster = self.cluster()
        cluster.topic("t")
        self.fill(cluster, "t", *[str(n) for n in range(60)])
        consumer = self.consumer(cluster, {"queued.min.messages": 10, "fetch.message.max.bytes": 200})
        consumer.assign(("t", 0, 0))
        self.assertEqual(values(consumer.consumed(1)), ["0"])
        cluster.wait(lambda: False, 1)
        fetched = max(offset for r in cluster.requests("Fetch") for offset in r.values("offset"))
        self.assertLess(fetched, 40)
        self.assertEqual(len(values(consumer.consumed(59))), 59)


class Commits(ManualTest):
    def group(self, settings=None, count=3):
        """A cluster with messages "0" and so on, and a consumer of the group that has read them."""
        cluster = self.cluster()
        self.fill(cluster, "t", *[str(n) for n in range(count)])
        consumer = self.consumer(cluster, settings)
        consumer.subscribe("t")
        self.assertEqual(len(values(consumer.consumed(count))), count)
        return cluster, consumer

    def committed_offsets(self, cluster):
        return [offset for r in cluster.requests("OffsetCommit") for offset in r.values("offset")]

    def test_offsets_are_committed_every_auto_commit_interval(self):
        """Auto offset commit: every auto.commit.interval.ms when enable.auto.commit is enabled (default)."""
        cluster, consumer = self.group({"auto.commit.interval.ms": 500})
        consumer.consumed_until(lambda _: self.committed_offsets(cluster), 4)
        self.assertEqual(self.committed_offsets(cluster)[-1], 3)

    def test_automatic_commits_call_the_callback(self):
        """rd_kafka_conf_set_offset_commit_cb(): called with the result of automatic commits, from poll."""
        _, consumer = self.group({"auto.commit.interval.ms": 300})
        consumer.consumed_until(lambda _: consumer.commits, 4)
        self.assertEqual(consumer.commits[0].err, "NO_ERROR")
        self.assertEqual(consumer.commits[0].partitions, (("t", 0, 3, "NO_ERROR"),))

    def test_without_auto_commit_nothing_is_committed(self):
        """Auto offset commit: enable.auto.commit=false commits nothing by itself, closing included."""
        cluster, consumer = self.group({"enable.auto.commit": False, "auto.commit.interval.ms": 200})
        consumer.consumed(1, 1)
        consumer.leave()
        self.assertEqual(self.committed_offsets(cluster), [])

    def test_closing_commits_what_was_consumed(self):
        """rd_kafka_consumer_close(): offsets are committed before the consumer leaves, with enable.auto.commit."""
        cluster, consumer = self.group({"auto.commit.interval.ms": 60000})
        self.assertEqual(consumer.leave(), "NO_ERROR")
        self.assertEqual(self.committed_offsets(cluster), [3])

    def test_only_stored_offsets_are_committed(self):
        """At-least-once processing: with enable.auto.offset.store=false what was stored is committed."""
        cluster, consumer = self.group({"enable.auto.offset.store": False, "auto.commit.interval.ms": 300})
        consumer.consumed(1, 1)
        self.assertEqual(self.committed_offsets(cluster), [])
        self.assertEqual(consumer.store_offsets(("t", 0, 2)), "NO_ERROR")
        consumer.consumed_until(lambda _: self.committed_offsets(cluster), 4)
        self.assertEqual(self.committed_offsets(cluster), [2])

    def test_the_next_consumer_starts_at_the_committed_offset(self):
        """Auto offset commit: the next incarnation of the consumer starts at the committed offset."""
        cluster, consumer = self.group()
        consumer.leave()
        self.fill(cluster, "t", "next")
        successor = self.consumer(cluster)
        successor.subscribe("t")
        self.assertEqual(values(successor.consumed(1)), ["next"])

    def test_a_synchronous_commit_commits(self):
        """rd_kafka_commit(): returns when the offsets are committed."""
        cluster, consumer = self.group({"enable.auto.commit": False})
        self.assertEqual(consumer.commit(("t", 0, 2)), "NO_ERROR")
        self.assertEqual(self.committed_offsets(cluster), [2])
        self.assertEqual(consumer.committed("t", 0), 2)

    def test_a_synchronous_commit_calls_the_callback(self):
        """rd_kafka_commit(), rd_kafka_conf_set_offset_commit_cb(): called for synchronous commits, too."""
        _, consumer = self.group({"enable.auto.commit": False})
        self.assertEqual(consumer.commit(("t", 0, 2)), "NO_ERROR")
        consumer.consumed_until(lambda _: consumer.commits, 2)
        self.assertEqual([(c.err, c.partitions) for c in consumer.commits],
                         [("NO_ERROR", (("t", 0, 2, "NO_ERROR"),))])

    def test_an_asynchronous_commit_calls_the_callback_from_poll(self):
        """rd_kafka_commit(async): returns at once; the callback is called from the application's poll."""
        _, consumer = self.group({"enable.auto.commit": False})
        self.assertEqual(consumer.commit(("t", 0, 1), blocking=False), "NO_ERROR")
        consumer.consumed_until(lambda _: consumer.commits, 3)
        self.assertEqual([(c.err, c.thread) for c in consumer.commits], [("NO_ERROR", threading.get_ident())])

    def test_a_commit_without_offsets_is_an_error(self):
        """rd_kafka_commit(): _NO_OFFSET where nothing was stored that could be committed."""
        cluster = self.cluster()
        cluster.topic("t")
        consumer = self.consumer(cluster, {"enable.auto.commit": False})
        consumer.assign(("t", 0, 0))
        self.assertEqual(consumer.commit(), "_NO_OFFSET")

    def test_a_commit_that_is_refused_fails(self):
        """rd_kafka_commit(): returns the broker's error."""
        cluster, consumer = self.group({"enable.auto.commit": False})
        cluster.fail("OffsetCommit", b.GROUP_AUTHORIZATION_FAILED)
        self.assertEqual(consumer.commit(("t", 0, 2)), "GROUP_AUTHORIZATION_FAILED")

    def test_a_commit_finds_the_coordinator_again(self):
        """Sparse connections: the group coordinator is connected to; NOT_COORDINATOR has it looked up again."""
        cluster, consumer = self.group({"enable.auto.commit": False})
        lookups = len(cluster.requests("FindCoordinator"))
        cluster.fail("OffsetCommit", b.NOT_COORDINATOR, 1)
        consumer.commit(("t", 0, 2))
        consumer.consumed_until(lambda _: len(cluster.requests("FindCoordinator")) > lookups, 5)
        self.assertGreater(len(cluster.requests("FindCoordinator")), lookups)

    def test_without_a_committed_offset_there_is_none(self):
        """rd_kafka_committed(): RD_KAFKA_OFFSET_INVALID for a partition without a committed offset."""
        _, consumer = self.group({"enable.auto.commit": False})
        self.assertEqual(consumer.committed("t", 0), OFFSET_INVALID)


class Membership(ManualTest):
    def test_a_consumer_that_does_not_poll_leaves_the_group(self):
        """CONFIGURATION.md, max.poll.interval.ms: exceeded, the consumer leaves the group; _MAX_POLL_EXCEEDED."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a")
        consumer = self.consumer(cluster, {"session.timeout.ms": 1000, "heartbeat.interval.ms": 200,
                                           "max.poll.interval.ms": 1500})
        consumer.subscribe("t")
        self.assertEqual(values(consumer.consumed(1)), ["a"])
        self.assertTrue(cluster.wait(lambda: cluster.requests("LeaveGroup"), 5))
        self.assertIn("_MAX_POLL_EXCEEDED", errors(consumer.consumed(1, 3)))

    def test_a_consumer_that_polls_again_is_a_member_again(self):
        """CONFIGURATION.md, max.poll.interval.ms: by polling again the consumer rejoins the group."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a")
        consumer = self.consumer(cluster, {"session.timeout.ms": 1000, "heartbeat.interval.ms": 200,
                                           "max.poll.interval.ms": 1500})
        consumer.subscribe("t")
        self.assertEqual(values(consumer.consumed(1)), ["a"])
        self.assertTrue(cluster.wait(lambda: cluster.requests("LeaveGroup"), 5))
        self.fill(cluster, "t", "b")
        self.assertIn("b", values(consumer.consumed_until(lambda got: "b" in values(got), 8)))

    def test_heartbeats_are_sent_at_their_interval(self):
        """CONFIGURATION.md, heartbeat.interval.ms: the interval of heartbeats to the coordinator."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a")
        consumer = self.consumer(cluster, {"session.timeout.ms": 6000, "heartbeat.interval.ms": 300})
        consumer.subscribe("t")
        self.assertEqual(values(consumer.consumed(1)), ["a"])
        before = len(cluster.requests("Heartbeat"))
        consumer.consumed(1, 2)
        self.assert_took(len(cluster.requests("Heartbeat")) - before, 4, 9)

    def test_closing_leaves_the_group(self):
        """rd_kafka_consumer_close(): the consumer leaves its group, so that others take over at once."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a", "b")
        first = self.consumer(cluster)
        first.subscribe("t")
        self.assertEqual(values(first.consumed(2)), ["a", "b"])
        self.assertEqual(first.leave(), "NO_ERROR")
        self.assertTrue(cluster.requests("LeaveGroup"))
        second = self.consumer(cluster)
        second.subscribe("t")
        self.fill(cluster, "t", "c")
        start = now()
        self.assertEqual(values(second.consumed(1)), ["c"])
        self.assert_took(now() - start, 0, 5)


class LegacyConsumer(ManualTest):
    def test_consume_start_at_the_beginning(self):
        """rd_kafka_consume_start(): RD_KAFKA_OFFSET_BEGINNING starts with the oldest message."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a", "b")
        consumer = self.consumer(cluster, legacy=True)
        consumer.start("t", 0, OFFSET_BEGINNING)
        got = [consumer.consume_partition("t", 0, 5).value for _ in range(2)]
        self.assertEqual(got, ["a", "b"])
        self.assertEqual(consumer.stop("t", 0), 0)

    def test_consume_start_at_the_end(self):
        """rd_kafka_consume_start(): RD_KAFKA_OFFSET_END starts with the next message to be produced."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a", "b")
        consumer = self.consumer(cluster, {"enable.partition.eof": True}, legacy=True)
        consumer.start("t", 0, OFFSET_END)
        self.assertEqual(consumer.consume_partition("t", 0, 5).err, "_PARTITION_EOF")
        self.fill(cluster, "t", "c")
        self.assertEqual(consumer.consume_partition("t", 0, 5).value, "c")
        consumer.stop("t", 0)

    def test_consume_stop_purges_the_queue(self):
        """rd_kafka_consume_stop(): stops the consumer and purges what is in the local queue."""
        cluster = self.cluster()
        self.fill(cluster, "t", "a", "b", "c")
        consumer = self.consumer(cluster, legacy=True)
        consumer.start("t", 0, 0)
        self.assertEqual(consumer.consume_partition("t", 0, 5).value, "a")
        self.assertEqual(consumer.stop("t", 0), 0)
        consumer.start("t", 0, 0)
        self.assertEqual(consumer.consume_partition("t", 0, 5).value, "a")
        consumer.stop("t", 0)
