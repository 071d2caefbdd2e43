"""Debian's kcat, a program linked against librdkafka, on the library under test."""

import json
import time
import unittest

import support

COUNT = 20_000


class Kcat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        cls.kafka = support.cluster(2)

    def topic(self, what, partitions=1):
        name = support.topic_name(f"kcat-{what}")
        self.kafka.create_topic(name, partitions, replication=1)
        return name

    def kcat(self, *args, **options):
        out, err = support.run("kcat", "-b", self.kafka.bootstrap, *args, **options)
        return out if not options.get("status") else out + err

    def produce(self, topic, data, *args):
        return self.kcat("-P", "-t", topic, *args, stdin=data)

    def consume(self, topic, *args):
        return self.kcat("-C", "-t", topic, "-e", "-q", *args)

    def round_trip(self, codec):
        topic = self.topic(codec)
        sent = support.lines(COUNT)
        self.produce(topic, sent, "-z", codec)
        self.assertEqual(self.kafka.message_count(topic), COUNT)
        self.assertEqual(self.kafka.codecs(topic), {codec})
        self.assertTrue(self.consume(topic, "-o", "beginning") == sent, f"{codec}: other bytes came back")

    def test_uses_the_library_under_test(self):
        process = support.start("kcat", "-b", self.kafka.bootstrap, "-C", "-t", self.topic("maps"), "-q")
        try:
            time.sleep(1)
            with open(f"/proc/{process.pid}/maps") as maps:
                loaded = {line.split()[-1] for line in maps if "librdkafka" in line}
        finally:
            process.kill()
            process.wait()
        self.assertEqual(loaded, {str((support.LIB_DIR / "librdkafka.so.1").resolve())})

    def test_metadata(self):
        topic = self.topic("list", partitions=3)
        text = self.kcat("-L").decode()
        self.assertIn(" 2 brokers:", text)
        for node in self.kafka.nodes():
            host, port = self.kafka.address(node)
            self.assertIn(f"broker {node} at {host}:{port}", text)
        self.assertIn(f'topic "{topic}" with 3 partitions:', text)

    def test_metadata_as_json(self):
        topic = self.topic("json", partitions=2)
        found = json.loads(self.kcat("-L", "-J", "-t", topic))
        self.assertEqual([b["id"] for b in found["brokers"]], [1, 2])
        self.assertEqual(found["topics"][0]["topic"], topic)
        self.assertEqual([p["partition"] for p in found["topics"][0]["partitions"]], [0, 1])

    def test_codec_none(self):
        self.round_trip("none")

    def test_codec_gzip(self):
        self.round_trip("gzip")

    def test_codec_snappy(self):
        self.round_trip("snappy")

    def test_codec_lz4(self):
        self.round_trip("lz4")

    def test_codec_zstd(self):
        self.round_trip("zstd")

    def test_many_partitions_keep_their_order(self):
        topic = self.topic("many", partitions=6)
        # Each line is its own key, so that they spread over all partitions.
        sent = "".join(f"{n}:{n}\n" for n in range(COUNT)).encode()
        self.produce(topic, sent, "-K", ":")
        seen = {}
        for line in self.consume(topic, "-o", "beginning", "-f", "%p %o %s\\n").decode().splitlines():
            partition, offset, number = line.split(" ")
            seen.setdefault(int(partition), []).append((int(offset), int(number)))
        self.assertEqual(sorted(seen), list(range(6)))
        self.assertEqual(sorted(n for rows in seen.values() for _, n in rows), list(range(COUNT)))
        for partition, rows in seen.items():
            self.assertEqual([offset for offset, _ in rows], list(range(len(rows))), f"partition {partition}")
            self.assertEqual(rows, sorted(rows, key=lambda row: row[1]), f"partition {partition}")

    def test_keys(self):
        topic = self.topic("keys", partitions=4)
        sent = "".join(f"key{n % 50}:value {n}\n" for n in range(1000)).encode()
        self.produce(topic, sent, "-K", ":")
        rows = self.consume(topic, "-o", "beginning", "-K", ":").decode().splitlines()
        self.assertEqual(sorted(rows), sorted(sent.decode().splitlines()))
        # One key, one partition.
        placed = self.consume(topic, "-o", "beginning", "-f", "%k %p\\n").decode().splitlines()
        partitions = {}
        for row in placed:
            key, partition = row.split()
            partitions.setdefault(key, set()).add(partition)
        self.assertEqual(len(partitions), 50)
        self.assertTrue(all(len(places) == 1 for places in partitions.values()), partitions)

    def test_headers(self):
        topic = self.topic("headers")
        self.produce(topic, b"one\n", "-H", "first=1", "-H", "second=two", "-H", "first=again")
        rows = self.consume(topic, "-o", "beginning", "-f", "%h %s\\n")
        self.assertEqual(rows, b"first=1,second=two,first=again one\n")

    def test_null_and_empty_values(self):
        topic = self.topic("null")
        self.produce(topic, b"a:\nb:x\n", "-K", ":", "-Z")
        self.produce(topic, b"c:\n", "-K", ":")
        rows = self.consume(topic, "-o", "beginning", "-f", "%k %S\\n").decode().splitlines()
        self.assertEqual(rows, ["a -1", "b 1", "c 0"])

    def test_offsets(self):
        topic = self.topic("offsets")
        sent = support.lines(100).splitlines(keepends=True)
        self.produce(topic, b"".join(sent))
        self.assertEqual(self.consume(topic, "-p", "0", "-o", "-10"), b"".join(sent[-10:]))
        self.assertEqual(self.consume(topic, "-p", "0", "-o", "40"), b"".join(sent[40:]))
        self.assertEqual(self.consume(topic, "-p", "0", "-o", "end"), b"")
        self.assertEqual(self.consume(topic, "-p", "0", "-o", "beginning", "-c", "3"), b"".join(sent[:3]))

    def test_offsets_by_time(self):
        topic = self.topic("time")
        self.produce(topic, b"before\n")
        time.sleep(0.05)
        middle = int(time.time() * 1000)
        time.sleep(0.05)
        self.produce(topic, b"after\n")
        self.assertEqual(self.consume(topic, "-o", f"s@{middle}"), b"after\n")
        self.assertEqual(self.consume(topic, "-o", "s@0", "-o", f"e@{middle}"), b"before\n")
        found = self.kcat("-Q", "-t", f"{topic}:0:{middle}").decode()
        self.assertIn("offset 1", found)

    def test_end_of_partition_is_told(self):
        topic = self.topic("eof", partitions=2)
        self.produce(topic, b"x\n", "-p", "1")
        _, err = support.run("kcat", "-b", self.kafka.bootstrap, "-C", "-t", topic, "-e", "-o", "beginning")
        text = err.decode()
        self.assertIn(f"% Reached end of topic {topic} [0] at offset 0", text)
        self.assertIn(f"% Reached end of topic {topic} [1] at offset 1", text)

    def test_group(self):
        topic = self.topic("group", partitions=3)
        sent = support.lines(5000)
        self.produce(topic, sent)
        group = support.topic_name("group")
        args = ("-G", group, "-X", "auto.offset.reset=earliest", "-q", "-e", topic)
        rows = self.kcat(*args)
        self.assertEqual(sorted(rows.splitlines()), sorted(sent.splitlines()))
        # The offsets were committed: the next run starts after them.
        self.produce(topic, b"later\n")
        self.assertEqual(self.kcat(*args), b"later\n")

    def test_an_unknown_topic_is_an_error(self):
        told = self.kcat("-C", "-t", support.topic_name("none"), "-e", "-X", "allow.auto.create.topics=false",
                         status=1)
        self.assertRegex(told.decode(), "(?i)unknown topic|leader not available")

    def test_an_unreachable_broker_is_an_error(self):
        (port,) = support.kafka.free_ports(1)
        _, err = support.run("kcat", "-b", f"127.0.0.1:{port}", "-L", "-m", "2", status=1)
        self.assertRegex(err.decode(), "(?i)refused|transport|timed out")

    def test_large_messages(self):
        topic = self.topic("large")
        sent = b"".join(bytes([97 + n]) * 900_000 + b"\n" for n in range(8))
        self.produce(topic, sent)
        self.assertTrue(self.consume(topic, "-o", "beginning") == sent, "other bytes came back")

    def test_a_message_that_is_too_large_is_an_error(self):
        topic = self.topic("toolarge")
        told = self.kcat("-P", "-t", topic, stdin=b"x" * 2_000_000, status=1)
        self.assertIn("too large", told.decode().lower())
        self.assertEqual(self.kafka.message_count(topic), 0)


if __name__ == "__main__":
    unittest.main()
