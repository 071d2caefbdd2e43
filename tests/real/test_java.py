"""Kafka's own Java client and the library read what the other wrote."""

import unittest

import kafka
import support

COUNT = 2_000


class Java(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        cls.kafka = support.cluster(2)

    def topic(self, what):
        name = support.topic_name(f"java-{what}")
        self.kafka.create_topic(name, partitions=1, replication=1)
        return name

    def read_by_java(self, topic, count, *args):
        return kafka.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server",
                          self.kafka.bootstrap, "--topic", topic, "--from-beginning", "--max-messages", count,
                          "--timeout-ms", 20_000, *args)

    def test_java_reads_every_codec(self):
        topic = self.topic("reads")
        sent = b""
        for codec in support.CODECS:
            data = support.lines(COUNT, prefix=codec)
            support.run("kcat", "-b", self.kafka.bootstrap, "-P", "-t", topic, "-z", codec, stdin=data)
            sent += data
        self.assertEqual(self.kafka.codecs(topic), set(support.CODECS))
        self.assertTrue(self.read_by_java(topic, COUNT * len(support.CODECS)) == sent, "Java read other bytes")

    def test_java_reads_keys_headers_and_nulls(self):
        topic = self.topic("fields")
        produce = ("kcat", "-b", self.kafka.bootstrap, "-P", "-t", topic, "-K", ":")
        support.run(*produce, "-H", "a=1", "-H", "b=two", "-H", "a=3", stdin=b"key:value\n")
        support.run(*produce, "-Z", stdin=b"gone:\n")
        text = self.read_by_java(topic, 2, "--property", "print.key=true", "--property", "print.headers=true")
        rows = [row for row in text.decode().splitlines() if "\t" in row]
        self.assertEqual(rows, ["a:1,b:two,a:3\tkey\tvalue", "NO_HEADERS\tgone\tnull"])

    def test_java_writes_every_codec(self):
        topic = self.topic("writes")
        sent = b""
        for codec in support.CODECS:
            data = support.lines(COUNT, prefix=codec)
            kafka.tool("org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", self.kafka.bootstrap,
                       "--topic", topic, "--compression-codec", codec, stdin=data)
            sent += data
        self.assertEqual(self.kafka.codecs(topic), set(support.CODECS))
        out, _ = support.run("kcat", "-b", self.kafka.bootstrap, "-C", "-t", topic, "-e", "-q", "-o", "beginning")
        self.assertTrue(out == sent, "other bytes came back")

    def test_java_sees_the_groups_offsets(self):
        topic = self.topic("group")
        group = support.topic_name("group")
        support.run("kcat", "-b", self.kafka.bootstrap, "-P", "-t", topic, stdin=support.lines(100))
        support.run("kcat", "-b", self.kafka.bootstrap, "-G", group, "-X", "auto.offset.reset=earliest",
                    "-q", "-e", topic)
        text = kafka.tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server",
                          self.kafka.bootstrap, "--describe", "--group", group).decode()
        (row,) = [line.split() for line in text.splitlines() if topic in line]
        # group, topic, partition, committed offset, log end offset, lag
        self.assertEqual(row[:6], [group, topic, "0", "100", "100", "0"])


if __name__ == "__main__":
    unittest.main()
