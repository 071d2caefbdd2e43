"""Transactions that Kafka's own Java client wrote, read by the library."""

import subprocess
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


if __name__ == "__main__":
    unittest.main()
