"""The examples in C and C++ on real brokers, the classic benchmark's four command lines among them."""

import signal
import subprocess
import threading
import time
import unittest

import perf
import support

def program(name):
    return support.compiled(f"examples/c/{name}.c")


class Performance(unittest.TestCase):
    """Two brokers, the first at localhost:9092, where the program looks when told nothing."""

    PORT = 9092

    @classmethod
    def setUpClass(cls):
        support.need_library()
        cls.program = program("rdkafka_performance")
        cls.kafka = support.cluster(2, ports_from=cls.PORT)

    def produce(self, options, codec, partitions=2):
        topic = support.topic_name("test2")
        self.kafka.create_topic(topic, partitions, replication=1)
        run = perf.measure(perf.produce_command(self.program, topic, options), support.LIB_DIR)
        self.assertEqual(run.status, 0, run.output[-2000:])
        self.assertIsNotNone(run.summary, run.output[-2000:])
        self.assertEqual((run.messages, run.failed), (perf.COUNT, 0), run.output[-2000:])
        self.assertEqual(run.summary["codec"], "no" if codec == "none" else codec)
        self.assertEqual(self.count_soon(topic), perf.COUNT)
        self.assertEqual(self.kafka.codecs(topic), {codec})
        return topic

    def count_soon(self, topic, wait_s=10):
        """What the brokers have; with acks=0 the last requests may still be on their way when the program has ended."""
        end = time.monotonic() + wait_s
        while (count := self.kafka.message_count(topic)) != perf.COUNT and time.monotonic() < end:
            time.sleep(0.1)
        return count

    def consume(self, *options):
        run = perf.measure([str(self.program), "-b", self.kafka.bootstrap, *options], support.LIB_DIR)
        self.assertEqual(run.status, 0, run.output[-2000:])
        self.assertIsNotNone(run.summary, run.output[-2000:])
        self.assertEqual(run.messages, perf.COUNT, run.output[-2000:])

    def test_two_brokers_acks_2_and_read_back(self):
        topic = self.produce(perf.CLASSIC["two brokers, acks 2"], "none")
        self.assertTrue(all(n > 0 for n in self.kafka.end_offsets(topic).values()))
        group = support.topic_name("group")
        self.consume("-G", group, "-t", topic, "-c", str(perf.COUNT), "-X", "auto.offset.reset=earliest")

    def test_one_broker_acks_0_and_read_back(self):
        topic = self.produce(perf.CLASSIC["one broker, acks 0"], "none")
        self.assertEqual(self.kafka.end_offsets(topic), {0: 0, 1: perf.COUNT})
        for batch in ([], ["-B", "1000"]):
            self.consume("-C", "-t", topic, "-p", "1", "-o", "beginning", "-c", str(perf.COUNT), *batch)

    def test_two_brokers_snappy(self):
        self.produce(perf.CLASSIC["two brokers, snappy"], "snappy")

    def test_two_brokers_gzip(self):
        self.produce(perf.CLASSIC["two brokers, gzip"], "gzip")

    def test_a_wrong_option_is_an_error(self):
        _, err = support.run(self.program, "-P", "-t", "x", "-X", "no.such.property=1", status=1)
        self.assertIn(b"no.such.property", err)


class ProducerAndConsumer(unittest.TestCase):
    """producer BROKERS TOPIC reads lines; consumer BROKERS GROUP TOPIC... prints them."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        cls.producer, cls.consumer = cls.programs()
        cls.kafka = support.cluster(2)

    @classmethod
    def programs(cls):
        return program("producer"), program("consumer")

    def test_lines_go_there_and_come_back(self):
        topic = support.topic_name("example")
        self.kafka.create_topic(topic, 2, replication=1)
        sent = [f"message {n}" for n in range(100)]
        support.run(self.producer, self.kafka.bootstrap, topic, stdin="\n".join(sent).encode() + b"\n")
        self.assertEqual(self.kafka.message_count(topic), 100)
        # Into a pipe the C library would hold its output back.
        reader = support.start("stdbuf", "-oL", self.consumer, self.kafka.bootstrap, support.topic_name("group"), topic,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # A reader that says nothing any more is killed, which ends its output.
        killer = threading.Timer(60, reader.kill)
        killer.start()
        text = b""
        try:
            while any(line.encode() not in text for line in sent):
                more = reader.stdout.readline()
                self.assertTrue(more, text[-2000:])
                text += more
            reader.send_signal(signal.SIGINT)
            self.assertEqual(reader.wait(30), 0)
        finally:
            killer.cancel()
            reader.kill()
            reader.wait()
            reader.stdout.close()


class CppProducerAndConsumer(ProducerAndConsumer):
    """The same of examples/cpp."""

    @classmethod
    def programs(cls):
        return tuple(support.compiled_cpp(f"examples/cpp/{name}.cpp") for name in ("producer", "consumer"))


if __name__ == "__main__":
    unittest.main()
