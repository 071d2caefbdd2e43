"""Transactions that Kafka's own Java client wrote, read by the library; and the other way round."""

import subprocess
import time
import unittest

import kafka
import support

ROUNDS = 20
MESSAGES_A_ROUND = 10
WRITER = kafka.ROOT / "tests" / "real" / "Transactions.java"


class Transactions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        support.need_program("javac")
        cls.kafka = support.cluster(2)

    def written(self, codec):
        topic = support.topic_name(f"transactions-{codec}")
        self.kafka.create_topic(topic, partitions=1, replication=1)
        command = [*kafka.java_command(self.kafka.libs, str(WRITER)), self.kafka.bootstrap, topic, codec, str(ROUNDS)]
        done = subprocess.run(command, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:].decode(errors="replace"))
        return topic

    def read(self, topic, isolation):
        # -e ends at the end of the partition: the last stable offset is one, and what is skipped is no obstacle to it.
        out, _ = support.run("kcat", "-b", self.kafka.bootstrap, "-C", "-t", topic, "-e", "-q", "-o", "beginning",
                             "-X", f"isolation.level={isolation}")
        return out.decode().split()

    def check(self, codec):
        topic = self.written(codec)
        committed = self.read(topic, "read_committed")
        every = self.read(topic, "read_uncommitted")
        numbers = [int(line.split("-")[1]) for line in every]
        self.assertEqual(numbers, list(range(ROUNDS * MESSAGES_A_ROUND + 1)), "all messages, and nothing else")
        self.assertEqual(committed, [line for line in every if line.startswith("committed-")])
        self.assertGreater(sum(line.startswith("aborted-") for line in every), 0)

    def test_uncompressed(self):
        self.check("none")

    def test_compressed(self):
        self.check("lz4")


class OwnTransactions(unittest.TestCase):
    """Transactions that the library wrote, in both generations of the protocol (KIP-890)."""

    ROUNDS = 30

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("java")
        cls.kafka = support.cluster(2)

    def producer(self, topic, rounds, *settings):
        return support.start(support.compiled("tests/real/transactional_producer.c"), self.kafka.bootstrap, topic,
                             f"{topic}-id", rounds, *settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def state(self, name):
        """Returns the description of a transaction by Kafka's tool."""
        return kafka.tool("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", self.kafka.bootstrap,
                          "describe", "--transactional-id", name).decode()

    def read(self, topic, isolation):
        out = kafka.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", self.kafka.bootstrap,
                         "--topic", topic, "--from-beginning", "--timeout-ms", "10000",
                         "--isolation-level", isolation).decode()
        return sorted(out.split(), key=lambda line: (line.split("-")[0], int(line.split("-")[1])))

    def check(self, level):
        topic = support.topic_name(f"own-transactions-{level}")
        self.kafka.create_topic(topic, partitions=2, replication=2)
        self.kafka.create_topic(f"{topic}-in", partitions=1, replication=1)
        older = self.producer(topic, self.ROUNDS)
        self.assertEqual(older.stdout.readline(), "begun\n")
        # A newer producer with the same id ends the transaction that the older one has left open, and fences it.
        newer = self.producer(topic, 0)
        self.assertEqual(newer.stdout.readline(), "begun\n")
        older_said, _ = older.communicate("go\n", timeout=60)
        self.assertEqual(older_said, "_FENCED 1\n")
        newer_said, _ = newer.communicate("go\n", timeout=60)
        self.assertEqual(newer_said, "NO_ERROR 0\n")
        numbers = range(10 * self.ROUNDS)
        committed = [f"committed-{n}" for n in numbers if n // 10 % 3 != 2]
        aborted = [f"aborted-{n}" for n in numbers if n // 10 % 3 == 2]
        self.assertEqual(self.read(topic, "read_committed"), [*committed, "zombie-0"])
        self.assertEqual(self.read(topic, "read_uncommitted"), [*aborted, *committed, "zombie-0", "zombie-0"])
        group = kafka.tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server",
                           self.kafka.bootstrap, "--describe", "--group", f"{topic}-group", "--offsets").decode()
        last = max(n for n in numbers if n // 10 % 3 != 2) + 1
        row = [line.split() for line in group.splitlines() if f"{topic}-in" in line]
        self.assertEqual([r[3] for r in row], [str(last)], group)

    def test_a_transaction_that_took_too_long_is_not_the_end(self):
        topic = support.topic_name("timed-out-transaction")
        self.kafka.create_topic(topic, partitions=2, replication=2)
        self.kafka.set_feature("upgrade", "transaction.version", 2)
        late = self.producer(topic, 0, "transaction.timeout.ms=2000")
        self.assertEqual(late.stdout.readline(), "begun\n")
        # The coordinator looks every 10 s.
        end = time.monotonic() + 60
        while "CompleteAbort" not in (state := self.state(f"{topic}-id")):
            self.assertLess(time.monotonic(), end, state)
            time.sleep(0.5)
        said, _ = late.communicate("go\n", timeout=60)
        self.assertEqual(said, "INVALID_TXN_STATE 0\nwent on\n")
        self.assertEqual(self.read(topic, "read_committed"), ["after-0"])

    def test_second_generation(self):
        self.kafka.set_feature("upgrade", "transaction.version", 2)
        self.check(2)

    def test_first_generation(self):
        self.kafka.set_feature("downgrade", "transaction.version", 0)
        try:
            self.check(0)
        finally:
            self.kafka.set_feature("upgrade", "transaction.version", 2)


if __name__ == "__main__":
    unittest.main()
