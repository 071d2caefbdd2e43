"""The brokers of null_broker.py: consumers read at least as many records as were produced, and Fetch waits for data."""

import os
import struct
import subprocess
import threading
import time
import unittest

import real_kafka  # noqa: F401
import kafka
import null_broker
import perf
import reference
import support
import wire

COUNT, SIZE, PARTITIONS = 10_000, 1000, 6
PRODUCE, FETCH = (null_broker.PRODUCE, 7), (null_broker.FETCH, 4)
TOPIC = "null"


def batch(records):
    """Returns a record batch's header and nothing that these brokers would look at."""
    return null_broker.BATCH_HEADER.pack(0, 100, -1, 2, 0, 0, records - 1) + os.urandom(85)


class Brokers(unittest.TestCase):
    def setUp(self):
        self.cluster = null_broker.Cluster(3, PARTITIONS)
        self.addCleanup(self.cluster.stop)
        host, port = self.cluster.bootstrap.split(",")[0].split(":")
        self.address = host, int(port)

    def fetch(self, offset, topic=TOPIC, partition=0, wait_ms=0, size_max=1 << 20):
        """Returns the error code, the high watermark and the record batches."""
        row = struct.pack(">iqi", partition, offset, size_max)
        body = struct.pack(">iiiib", -1, wait_ms, 1, size_max, 0) + wire.array([wire.string(topic) + wire.array([row])])
        answer = wire.call(self.address, FETCH, body)
        self.assertEqual((answer.take("i"), answer.take("i"), answer.string()), (0, 1, topic))
        self.assertEqual((answer.take("i"), answer.take("i")), (1, partition))
        code, end, stable, aborted, size = (answer.take(kind) for kind in "hqqii")
        self.assertEqual((stable, aborted, size), (end, 0, len(answer.data) - answer.at))
        return code, end, answer.data[answer.at:]


class Requests(Brokers):
    def append(self, *batches):
        """Produces the batches to partition 0, one with each request."""
        for one in batches:
            partition = struct.pack(">ii", 0, len(one)) + one
            body = struct.pack(">hhi", -1, 1, 1000) + wire.array([wire.string(TOPIC) + wire.array([partition])])
            wire.call(self.address, PRODUCE, body)

    def test_largest_batch_is_repeated_until_all_records_are_there(self):
        first = batch(5)
        self.append(batch(4), first, batch(3))
        at_5, at_10 = (struct.pack(">q", base) + first[8:] for base in (5, 10))
        self.assertEqual(self.fetch(0), (0, 15, first + at_5 + at_10))
        # The next batch would be the largest, yet the offsets are known.
        self.append(batch(6))
        self.assertEqual(self.fetch(15), (0, 20, struct.pack(">q", 15) + first[8:]))
        self.assertEqual(self.fetch(7, size_max=2 * len(first)), (0, 20, at_5 + at_10))
        self.assertEqual(self.fetch(7, size_max=1), (0, 20, at_5))
        self.assertEqual(self.fetch(7, size_max=2 * len(first) - 1), (0, 20, at_5))
        self.assertEqual(self.fetch(20), (0, 20, b""))
        self.assertEqual(self.fetch(21), (null_broker.OFFSET_OUT_OF_RANGE, 20, b""))
        self.assertEqual(wire.offset(self.address, TOPIC, 0, wire.EARLIEST), 0)
        self.assertEqual(wire.offset(self.address, TOPIC, 0), 20)
        self.cluster.delete_topic(TOPIC)
        self.assertEqual(self.fetch(0), (0, 0, b""))

    def test_fetch_waits_for_data(self):
        begin = time.monotonic()
        self.assertEqual(self.fetch(0, wait_ms=300), (0, 0, b""))
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)
        first = batch(5)
        writer = threading.Timer(0.2, self.append, [first])
        writer.start()
        self.addCleanup(writer.join)
        self.assertEqual(self.fetch(0, wait_ms=8000), (0, 5, first))
        self.assertLess(time.monotonic() - begin, 8)

    def test_partitions_are_spread_over_the_brokers(self):
        brokers, _, topics = wire.metadata(self.address, [TOPIC])
        self.assertEqual(",".join("{}:{}".format(*brokers[node]) for node in sorted(brokers)), self.cluster.bootstrap)
        self.assertEqual(sorted(topics[TOPIC].values()), [1, 1, 2, 2, 3, 3])


class Clients(Brokers):
    """Both libraries consume what both produced."""

    def setUp(self):
        support.need_library()
        support.need_program("kcat")
        try:
            self.folders = {"ottla": support.LIB_DIR, "librdkafka": reference.fetch()}
        except reference.Unavailable as e:
            self.skipTest(str(e))
        super().setUp()

    def measure(self, side, program, topic, *options):
        command = [str(support.compiled(f"bench/{program}.c")), "-b", self.cluster.bootstrap, "-t", topic, "-c", str(COUNT)]
        run = perf.measure([*command, *options], self.folders[side])
        self.assertIsNotNone(run.summary, run.output)
        self.assertEqual((run.status, run.messages, run.failed), (0, COUNT, 0), run.output)

    def offsets(self, side, topic):
        """Returns the offsets of each partition in the order of their delivery."""
        command = ["kcat", "-C", "-b", self.cluster.bootstrap, "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%p %o %S\\n"]
        env = {**os.environ, "LD_LIBRARY_PATH": str(self.folders[side])}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {}
        for line in done.stdout.splitlines():
            partition, offset, size = map(int, line.split())
            self.assertEqual(size, SIZE)
            found.setdefault(partition, []).append(offset)
        return found

    def codecs(self, topic, ends):
        found = set()
        for partition in (partition for partition, end in ends.items() if end):
            _, _, data = self.fetch(0, topic, partition)
            _, _, _, version, _, attributes, _ = null_broker.BATCH_HEADER.unpack_from(data)
            self.assertEqual(version, 2)
            found.add(kafka.CODEC_NAMES[attributes & 7])
        return found

    def test_they_consume_all_offsets(self):
        for producer, codec in (("ottla", "zstd"), ("librdkafka", "zstd"), ("ottla", "none"), ("librdkafka", "lz4")):
            topic = f"{producer}-{codec}"
            self.measure(producer, "bench_producer", topic, "-s", str(SIZE), "-X", f"compression.codec={codec}")
            ends = wire.end_offsets(self.address, topic)
            self.assertGreaterEqual(sum(ends.values()), COUNT)
            self.assertEqual(self.codecs(topic, ends), {codec})
            for consumer in self.folders:
                with self.subTest(topic=topic, consumer=consumer):
                    self.measure(consumer, "bench_consumer", topic, "-m", "poll", "-a")
                    expected = {partition: list(range(end)) for partition, end in ends.items() if end}
                    self.assertEqual(self.offsets(consumer, topic), expected)


if __name__ == "__main__":
    unittest.main()
