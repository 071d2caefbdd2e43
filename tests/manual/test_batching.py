"""Performance: batches, lingering, compression."""

import broker as b
from case import ManualTest, now
from librdkafka import setting


class Batching(ManualTest):
    def warm(self, settings, **configuration):
        """A cluster with the topic "t", and a producer that knows it."""
        cluster = self.cluster(**configuration)
        cluster.topic("t", 2)
        producer = self.producer(cluster, settings)
        producer.must_produce("t", "warm")
        producer.flush(10)
        cluster.do("forget")
        producer.reports.clear()
        return cluster, producer

    def counts(self, cluster):
        """The numbers of records of the batches sent."""
        return [count for r in cluster.produced("t") for count in r.values("records")]

    def test_linger_ms_collects_messages(self):
        """High throughput: queue.buffering.max.ms is how long messages are accumulated before they are sent."""
        cluster, producer = self.warm({"linger.ms": 600})
        start = now()
        producer.must_produce("t", "a")
        producer.serve(0.2)
        producer.must_produce("t", "b", "c")
        reports = producer.reported(3)
        self.assertEqual(self.counts(cluster), [3])
        self.assert_took(reports[0].at - start, 0.55, 2)

    def test_linger_ms_is_an_alias(self):
        """High throughput: queue.buffering.max.ms is also called linger.ms."""
        self.assertEqual(setting("queue.buffering.max.ms", linger_ms=42), "42")

    def test_without_lingering_messages_are_sent_at_once(self):
        """Low latency: a low queue.buffering.max.ms has messages sent as soon as possible."""
        _, producer = self.warm({"queue.buffering.max.ms": 0})
        start = now()
        producer.must_produce("t", "a")
        report, = producer.reported(1)
        self.assert_took(report.at - start, 0, 0.4)

    def test_batch_num_messages_limits_a_batch(self):
        """Performance: batch.num.messages is the most messages to accumulate before a message set is sent."""
        cluster, producer = self.warm({"linger.ms": 300, "batch.num.messages": 10})
        producer.must_produce("t", *["x"] * 25)
        producer.reported(25)
        self.assertEqual(self.counts(cluster), [10, 10, 5])

    def test_a_full_batch_is_not_kept_waiting(self):
        """Performance: a batch of batch.num.messages messages is sent before queue.buffering.max.ms is over."""
        cluster, producer = self.warm({"linger.ms": 3000, "batch.num.messages": 10})
        start = now()
        producer.must_produce("t", *["x"] * 10)
        reports = producer.reported(10)
        self.assert_took(reports[-1].at - start, 0, 1.5)

    def test_batch_size_limits_a_batch(self):
        """CONFIGURATION.md, batch.size: the most bytes of a batch, framing included."""
        cluster, producer = self.warm({"linger.ms": 300, "batch.size": 5000})
        producer.must_produce("t", *["x" * 1000] * 20)
        producer.reported(20)
        sizes = [size for r in cluster.produced("t") for size in r.values("bytes")]
        self.assertGreaterEqual(len(sizes), 4)
        # librdkafka notices that a batch is full with the first message beyond it.
        self.assertLessEqual(max(sizes), 6100)

    def test_batches_are_of_one_partition(self):
        """High throughput: the settings are global but apply for each topic and partition."""
        cluster, producer = self.warm({"linger.ms": 300, "batch.num.messages": 10})
        producer.must_produce("t", *["x"] * 8, partition=0)
        producer.must_produce("t", *["x"] * 8, partition=1)
        producer.reported(16)
        self.assertEqual(self.counts(cluster), [8, 8])

    def test_flush_does_not_wait_for_lingering(self):
        """rd_kafka_flush(): messages are sent at once, regardless of linger.ms."""
        _, producer = self.warm({"linger.ms": 5000})
        producer.must_produce("t", "a")
        start = now()
        self.assertEqual(producer.flush(4), "NO_ERROR")
        self.assert_took(now() - start, 0, 1.5)

    def test_compression_is_of_whole_batches(self):
        """Compression: compression.codec compresses the batch of messages in the local queue."""
        for codec in ("gzip", "snappy", "lz4", "zstd"):
            with self.subTest(codec=codec):
                cluster, producer = self.warm({"linger.ms": 200, "compression.codec": codec})
                producer.must_produce("t", *["the same" * 10] * 100)
                self.assert_delivered(producer.reported(100), 100)
                size, = [size for r in cluster.produced("t") for size in r.values("bytes")]
                self.assertLess(size, 3000)
                self.assertEqual(cluster.log("t")[1:], ["the same" * 10] * 100)

    def test_messages_wait_in_order_for_an_unknown_topic(self):
        """Producer API: rd_kafka_produce() is non-blocking: messages are queued until the topic is known."""
        cluster = self.cluster()
        rule = cluster.rule("Metadata", "error", error=b.LEADER_NOT_AVAILABLE, topic="t")
        cluster.topic("t")
        producer = self.producer(cluster)
        values = [str(n) for n in range(20)]
        producer.must_produce("t", *values, partition=-1)
        producer.serve(0.5)
        self.assertEqual(producer.reports, [])
        cluster.remove(rule)
        self.assert_delivered(producer.reported(20), 20)
        self.assertEqual(cluster.log("t"), values)
