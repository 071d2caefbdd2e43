"""Share groups on real brokers: acknowledgement and redelivery, transactions, topics that go away, Kafka's own client and tools
in the same group, and brokers without share groups."""

import json
import subprocess
import threading
import time
import unittest

import kafka
import share
import share_groups
import support
import wire

PARTITIONS = 6
RECORDS = 1_200
TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
WRITER = kafka.ROOT / "tests" / "real" / "Transactions.java"
# Longer than a heartbeat and a fetch: a record that has not arrived by then does not arrive.
QUIET_S = 3
# Limit of a wait for what must happen.
PATIENCE_S = 30


def settings_of(bootstrap, group, settings):
    """Returns the settings of a member. Keyword arguments have underscores in place of dots."""
    own = {name.replace("_", "."): value for name, value in settings.items()}
    return {"bootstrap.servers": bootstrap, "group.id": group, "log_level": 3, **own}


class ShareTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        cls.kafka = support.cluster(3)

    def topic(self, what, partitions=1, **config):
        name = support.topic_name(f"share-{what}")
        self.kafka.create_topic(name, partitions, replication=1, config=config)
        return name

    def produce(self, topic, values, *options):
        support.run("kcat", "-b", self.kafka.bootstrap, "-P", "-t", topic, *options, stdin=b"".join(v + b"\n" for v in values))

    def filled(self, what, count, partitions=1):
        topic = self.topic(what, partitions)
        values = [b"%d" % n for n in range(count)]
        # Few records in a batch, which spread over the partitions.
        self.produce(topic, values, "-X", "batch.num.messages=20", "-X", "sticky.partitioning.linger.ms=0")
        return topic, values

    def group(self, **settings):
        """Creates a group that begins at the first records."""
        name = support.topic_name("share-group")
        own = {name.replace("_", "."): value for name, value in settings.items()}
        wire.set_group_config(self.kafka.address(), name, {"share.auto.offset.reset": "earliest", **own})
        return name

    def member(self, group, topic, **settings):
        consumer = share.Consumer(support.LIB_DIR, settings_of(self.kafka.bootstrap, group, settings))
        self.addCleanup(consumer.__exit__)
        consumer.subscribe(topic)
        return consumer

    def assert_quiet(self, consumer, seconds=QUIET_S, until=lambda: False):
        """Asserts that no record arrives within that time, or until a condition holds."""
        end = time.monotonic() + seconds
        while not until() and time.monotonic() < end:
            self.assertEqual(consumer.poll(0.2), [])

    def describe(self, group, *options):
        """Returns the rows that Kafka's own tool has of a group, as a dictionary each."""
        out = kafka.tool(TOOL, "--bootstrap-server", self.kafka.bootstrap, "--describe", "--group", group, *options)
        rows = [line.split() for line in out.decode().splitlines() if line.strip()]
        head = next(i for i, words in enumerate(rows) if words[0] == "GROUP")
        return [dict(zip(rows[head], words)) for words in rows[head + 1:]]


class Acknowledgement(ShareTest):
    def test_implicit_acknowledgement_accepts_every_record_once(self):
        topic, values = self.filled("implicit", RECORDS, PARTITIONS)
        group = self.group()
        with self.member(group, topic) as consumer:
            records = consumer.poll_until(RECORDS)
            self.assertEqual(sorted(r.value for r in records), sorted(values))
            self.assertEqual({r.delivery_count for r in records}, {1})
            result = consumer.commit_sync()
            self.assertEqual(set(result.values()), {"NO_ERROR"})
            self.assertIsNone(consumer.commit_sync())
            # Each record has a result, and one only. Those of earlier polls may arrive with a later response.
            self.assert_quiet(consumer, PATIENCE_S, lambda: sum(len(offsets) for _, _, offsets, _ in consumer.results) >= RECORDS)
            results = [(p, o) for _, p, offsets, _ in consumer.results for o in offsets]
            self.assertEqual(sorted(results), sorted((r.partition, r.offset) for r in records))
            self.assertEqual({name for _, _, _, name in consumer.results}, {"NO_ERROR"})
            consumer.close()
        self.assert_quiet(self.member(group, topic))

    def test_records_of_the_last_poll_are_released_by_close(self):
        topic, _ = self.filled("close", 10)
        group = self.group()
        with self.member(group, topic) as consumer:
            self.assertEqual(len(consumer.poll_until(10)), 10)
            consumer.close()
            self.assertEqual(consumer.results, [])
        again = self.member(group, topic).poll_until(10)
        self.assertEqual([r.delivery_count for r in again], [2] * 10)

    def test_types_of_explicit_acknowledgement(self):
        topic, _ = self.filled("explicit", 9)
        group = self.group()
        consumer = self.member(group, topic, share_acknowledgement_mode="explicit")
        records = consumer.poll_until(9)
        self.assertEqual([r.offset for r in records], list(range(9)))
        with self.assertRaises(share.Error) as caught:
            consumer.poll(0)
        self.assertEqual(caught.exception.name, "_STATE")
        self.assertRegex(caught.exception.text, "^9 records from .*previous poll have not been acknowledged")
        for record in records:
            consumer.acknowledge(record, (share.ACCEPT, share.RELEASE, share.REJECT)[record.offset % 3])
        self.assertEqual(consumer.commit_sync(), {(topic, 0): "NO_ERROR"})
        with self.assertRaises(share.Error):
            consumer.acknowledge(records[0])
        again = consumer.poll_until(3, acknowledge=share.ACCEPT)
        self.assertEqual([(r.offset, r.delivery_count) for r in again], [(1, 2), (4, 2), (7, 2)])
        self.assert_quiet(consumer)
        consumer.close()
        self.assert_quiet(self.member(group, topic))

    def test_close_sends_acknowledgements_and_releases_the_rest(self):
        topic, _ = self.filled("explicit-close", 10)
        group = self.group()
        consumer = self.member(group, topic, share_acknowledgement_mode="explicit")
        for record in consumer.poll_until(10)[:7]:
            consumer.acknowledge(record)
        consumer.close()
        self.assertEqual(consumer.results, [(topic, 0, list(range(7)), "NO_ERROR")])
        again = self.member(group, topic).poll_until(3)
        self.assertEqual([(r.offset, r.delivery_count) for r in again], [(7, 2), (8, 2), (9, 2)])

    def test_delivery_limit_archives_a_record(self):
        topic, _ = self.filled("limit", 3)
        group = self.group(share_delivery_count_limit=2)
        consumer = self.member(group, topic, share_acknowledgement_mode="explicit")
        first = consumer.poll_until(3, acknowledge=share.RELEASE)
        second = consumer.poll_until(3, acknowledge=share.RELEASE)
        self.assertEqual([r.delivery_count for r in first + second], [1] * 3 + [2] * 3)
        self.assert_quiet(consumer)
        self.produce(topic, [b"later"])
        self.assertEqual([r.value for r in consumer.poll_until(1, acknowledge=share.ACCEPT)], [b"later"])

    def test_expired_lock_is_an_error_of_the_commit(self):
        topic, _ = self.filled("lock", 3)
        # Long enough for the acknowledgement of what is delivered again.
        group = self.group(share_record_lock_duration_ms=4_000)
        consumer = self.member(group, topic, share_acknowledgement_mode="explicit")
        records = consumer.poll_until(3)
        time.sleep(7)
        for record in records:
            consumer.acknowledge(record)
        self.assertEqual(consumer.commit_sync(), {(topic, 0): "INVALID_RECORD_STATE"})
        self.assertEqual(consumer.results, [(topic, 0, [0, 1, 2], "INVALID_RECORD_STATE")])
        again = consumer.poll_until(3, acknowledge=share.ACCEPT)
        self.assertEqual([r.delivery_count for r in again], [2] * 3)
        self.assertEqual(consumer.commit_sync(), {(topic, 0): "NO_ERROR"})

    def test_member_that_exceeds_the_poll_interval_joins_again(self):
        topic, _ = self.filled("interval", 4)
        group = self.group()
        consumer = self.member(group, topic, max_poll_interval_ms=3_000, share_acknowledgement_mode="explicit")
        consumer.poll_until(4, acknowledge=share.ACCEPT)
        time.sleep(5)
        with self.assertRaises(share.Error) as caught:
            consumer.poll(1)
        self.assertEqual(caught.exception.name, "_MAX_POLL_EXCEEDED")
        self.produce(topic, [b"later"])
        self.assertEqual([r.value for r in consumer.poll_until(1)], [b"later"])

    def test_calls_in_the_wrong_state(self):
        topic, _ = self.filled("state", 1)
        consumer = share.Consumer(support.LIB_DIR, settings_of(self.kafka.bootstrap, self.group(), {}))
        self.addCleanup(consumer.__exit__)

        def refused(name, call, *args):
            with self.assertRaises(share.Error) as caught:
                call(*args)
            self.assertEqual(caught.exception.name, name)
            return caught.exception.text

        self.assertEqual(refused("_STATE", consumer.poll), "Consumer is not subscribed to any topics")
        refused("_INVALID_ARG", consumer.subscribe, "")
        refused("_INVALID_ARG", consumer.subscribe, topic, topic)
        consumer.subscribe(topic)
        self.assertEqual(consumer.subscription(), [topic])
        (record,) = consumer.poll_until(1)
        refused("_STATE", consumer.acknowledge, record)
        consumer.close()
        self.assertTrue(consumer.closed())
        self.assertEqual(refused("_STATE", consumer.poll), "Share consumer is closed")
        self.assertEqual(refused("_STATE", consumer.close), "Share consumer is closed")
        refused("_STATE", consumer.subscribe, topic)


class Members(ShareTest):
    def test_members_come_and_go(self):
        churn = share_groups.Churn(self.kafka, members=4, per_second=300, seed=int(time.time()))
        churn.run(10, pause_s=(0.3, 1.5))
        found = churn.complaints()
        self.assertFalse(found, "\n".join([churn.summary(), *found[:20]]))
        self.assertGreater(sum(churn.events.values()), 2)


class Records(ShareTest):
    def test_every_codec(self):
        topic, sent = self.topic("codecs", 3), []
        for codec in support.CODECS:
            values = support.lines(300, prefix=codec).splitlines()
            self.produce(topic, values, "-z", codec)
            sent += values
        self.assertEqual(self.kafka.codecs(topic), set(support.CODECS))
        records = self.member(self.group(), topic).poll_until(len(sent))
        self.assertEqual(sorted(r.value for r in records), sorted(sent))

    def test_large_records(self):
        topic = self.topic("large", 2)
        values = [b"%d-" % n * 90_000 for n in range(100, 110)]
        self.produce(topic, values)
        # A broker returns the first batch even if it exceeds the limits.
        consumer = self.member(self.group(), topic, fetch_max_bytes=1_000, max_partition_fetch_bytes=1_000, message_max_bytes=1_000)
        self.assertEqual(sorted(r.value for r in consumer.poll_until(10)), values)

    def test_keys_headers_and_records_without_a_value(self):
        topic = self.topic("parts")
        self.produce(topic, [b"key:value"], "-K", ":", "-H", "a=1", "-H", "b=2", "-H", "a=3")
        self.produce(topic, [b"tombstone:"], "-K", ":", "-Z")
        parts = [(r.key, r.value, r.headers) for r in self.member(self.group(), topic).poll_until(2)]
        self.assertEqual(parts, [(b"key", b"value", (("a", b"1"), ("b", b"2"), ("a", b"3"))), (b"tombstone", None, ())])

    def transactions(self):
        support.need_program("javac")
        topic = self.topic("transactions")
        command = [*kafka.java_command(self.kafka.libs, str(WRITER)), self.kafka.bootstrap, topic, "lz4", "9"]
        done = subprocess.run(command, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:].decode(errors="replace"))
        return topic

    def test_read_committed(self):
        topic = self.transactions()
        group = self.group(share_isolation_level="read_committed")
        consumer = self.member(group, topic)
        values = [r.value for r in consumer.poll_until(60)]
        self.assertEqual(len(values), 60)
        self.assertEqual({value.split(b"-")[0] for value in values}, {b"committed"})
        # The last transaction is open.
        self.assert_quiet(consumer)

    def test_read_uncommitted(self):
        topic = self.transactions()
        consumer = self.member(self.group(), topic)
        values = [r.value for r in consumer.poll_until(91)]
        self.assertEqual([int(value.split(b"-")[1]) for value in values], list(range(91)))
        self.assert_quiet(consumer)


class Topics(ShareTest):
    def test_topic_deleted_and_created_again(self):
        topic, values = self.filled("recreated", 20)
        consumer = self.member(self.group(), topic)
        self.assertEqual(len(consumer.poll_until(20)), 20)
        consumer.commit_sync()
        self.kafka.delete_topic(topic)
        begin, cpu = time.monotonic(), time.process_time()
        while time.monotonic() < begin + 4:
            self.assertEqual(consumer.poll(0.5), [])
        # Brokers answer the session's requests with errors until the deletion reaches the group: no busy loop.
        self.assertLess(time.process_time() - cpu, 1)
        self.kafka.create_topic(topic, 1, replication=1)
        self.produce(topic, values)
        self.assertEqual(sorted(r.value for r in consumer.poll_until(20, timeout_s=60)), sorted(values))

    def test_subscription_change(self):
        (first, _), (second, _) = self.filled("first", 5), self.filled("second", 5)
        consumer = self.member(self.group(), first, share_acknowledgement_mode="explicit")
        held = consumer.poll_until(5)
        consumer.subscribe(second)
        for record in held:
            consumer.acknowledge(record)
        self.assertEqual({r.topic for r in consumer.poll_until(5, acknowledge=share.ACCEPT)}, {second})
        self.assertEqual(consumer.commit_sync(), {(second, 0): "NO_ERROR"})
        # The result comes from another broker.
        result = (first, 0, list(range(5)), "NO_ERROR")
        self.assert_quiet(consumer, PATIENCE_S, lambda: result in consumer.results)
        self.assertIn(result, consumer.results)

    def test_topic_that_appears_later(self):
        topic = support.topic_name("share-later")
        consumer = self.member(self.group(), topic)
        self.assertEqual(consumer.poll(1.5), [])
        self.kafka.create_topic(topic, 1, replication=1)
        self.produce(topic, [b"1"])
        self.assertEqual([r.value for r in consumer.poll_until(1, timeout_s=60)], [b"1"])


class OtherClients(ShareTest):
    @classmethod
    def setUpClass(cls):
        support.need_program("java")
        super().setUpClass()

    def test_kafkas_tool_describes_the_group(self):
        topic, _ = self.filled("described", RECORDS, PARTITIONS)
        group = self.group()
        consumer = self.member(group, topic, client_id="described")
        consumer.poll_until(RECORDS)
        consumer.commit_sync()
        members = self.describe(group, "--members", "--verbose")
        self.assertEqual([row["CLIENT-ID"] for row in members], ["described"])
        self.assertTrue(all(f"{topic}:" in row["ASSIGNMENT"] or topic in row["ASSIGNMENT"] for row in members), members)
        # Acknowledgements of earlier polls may still be under way.
        processed = {partition: "0" for partition in range(PARTITIONS)}
        self.assert_quiet(consumer, PATIENCE_S, lambda: self.lag(group) == processed)
        self.assertEqual(self.lag(group), processed)
        (state,) = self.describe(group, "--state")
        self.assertIn("Stable", state.values())
        consumer.close()
        (state,) = self.describe(group, "--state")
        self.assertIn("Empty", state.values())

    def lag(self, group):
        return {int(row["PARTITION"]): row["LAG"] for row in self.describe(group, "--offsets")}

    def test_java_member_in_the_same_group(self):
        topic = self.topic("java", PARTITIONS)
        group = self.group()
        command = kafka.java_command(self.kafka.libs, "org.apache.kafka.tools.VerifiableShareConsumer", kafka.TOOL_OPTIONS)
        java = subprocess.Popen(
            [*command, "--bootstrap-server", self.kafka.bootstrap, "--topic", topic, "--group-id", group, "--verbose",
             "--acknowledgement-mode", "sync"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        theirs = []
        try:
            self.assertIn("startup_complete", java.stdout.readline())

            def read():
                for event in map(json.loads, java.stdout):
                    if event["name"] == "record_data":
                        theirs.append((event["partition"], event["offset"]))

            reader = threading.Thread(target=read)
            reader.start()
            ours, sent = self.consume_beside(theirs, group, topic)
        finally:
            java.terminate()
            java.wait(30)
        reader.join()
        java.stdout.close()
        places = ours + theirs
        self.assertEqual(len(places), len(set(places)), "records that were delivered twice")
        self.assertEqual(len(places), sent)
        self.assertTrue(ours and theirs, f"{len(ours)} and {len(theirs)} records")

    def consume_beside(self, theirs, group, topic):
        """Produces while a member consumes beside another; returns the places of its records, and the number produced."""
        consumer = self.member(group, topic)
        # Both join.
        self.assertEqual(consumer.poll(6), [])
        ours, sent, end = [], 0, time.monotonic() + 60
        while len(ours) + len(theirs) < RECORDS:
            self.assertLess(time.monotonic(), end, f"{sent} sent, received {len(ours)} and {len(theirs)}")
            if sent < RECORDS:
                self.produce(topic, [b"%d" % n for n in range(120)], "-X", "batch.num.messages=10",
                             "-X", "sticky.partitioning.linger.ms=0")
                sent += 120
            ours += [(r.partition, r.offset) for r in consumer.poll(0.3)]
        ours += [(r.partition, r.offset) for r in consumer.poll(QUIET_S)]
        consumer.commit_sync()
        return ours, sent


class OtherBrokers(unittest.TestCase):
    """Brokers of other versions, one at a time."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        support.stop()

    def start(self, version):
        try:
            cluster = kafka.Cluster(1, version=version)
        except kafka.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None
        self.addCleanup(cluster.stop)
        return cluster.start()

    def consumer(self, cluster, topic, group):
        cluster.create_topic(topic)
        support.run("kcat", "-b", cluster.bootstrap, "-P", "-t", topic, stdin=b"".join(b"%d\n" % n for n in range(100)))
        consumer = share.Consumer(support.LIB_DIR, settings_of(cluster.bootstrap, group, {}))
        self.addCleanup(consumer.__exit__)
        consumer.subscribe(topic)
        return consumer

    def test_preview_of_share_groups(self):
        cluster = self.start("4.1.1")
        cluster.set_feature("upgrade", "share.version", 1)
        wire.set_group_config(cluster.address(), "preview", {"share.auto.offset.reset": "earliest"})
        consumer = self.consumer(cluster, "preview", "preview")
        self.assertEqual(len(consumer.poll_until(100)), 100)
        self.assertEqual(consumer.commit_sync(), {("preview", 0): "NO_ERROR"})

    def check_refused(self, cluster):
        consumer = self.consumer(cluster, "refused", "refused")
        with self.assertRaises(share.Error) as caught:
            consumer.poll_until(1, timeout_s=60)
        self.assertTrue(caught.exception.fatal, str(caught.exception))
        self.assertIn(caught.exception.name, ("_FATAL", "_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION"))

    def test_share_groups_disabled(self):
        self.check_refused(self.start("4.1.1"))

    def test_brokers_without_share_groups(self):
        self.check_refused(self.start("3.9.1"))


if __name__ == "__main__":
    unittest.main()
