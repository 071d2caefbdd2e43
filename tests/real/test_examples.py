"""The examples in C and C++ on real brokers, the classic benchmark's four command lines among them."""

import signal
import subprocess
import threading
import time
import unittest

import debian
import perf
import support

def program(name):
    return support.compiled(f"examples/c/{name}.c")


class Performance(unittest.TestCase):
    """Two brokers, the first at localhost:9092, the program's default."""

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
        """Returns the number of stored messages; with acks=0 the last requests may still be in flight when the program has ended."""
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


class Admin(unittest.TestCase):
    """The admin examples, whose arguments tests/examples covers, on real brokers."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        cls.kafka = support.cluster(2)

    def run_example(self, name, *words, status=0):
        out, err = support.run(program(name), self.kafka.bootstrap, *words, status=status)
        return (err if status else out).decode().splitlines()

    def topics(self, *words, status=0):
        return self.run_example("admin_topics", *words, status=status)

    def soon(self, ask, expected):
        """Returns the expected answer, or the last one: a broker gets changes a little later than the controller."""
        end = time.monotonic() + 30
        while (said := ask()) != expected and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(said, expected)

    def settings(self, topic):
        out, _ = support.run(program("admin_topics"), self.kafka.bootstrap, "describe", topic, status=None)
        return {line.strip() for line in out.decode().splitlines() if "=" in line}

    def test_a_topics_life(self):
        topic = support.topic_name("administered")
        self.topics("create", topic, 2, 2, "retention.ms=600000", "cleanup.policy=compact")
        self.soon(lambda: self.settings(topic), {"retention.ms=600000", "cleanup.policy=compact"})
        self.assertIn("already exists", self.topics("create", topic, 2, 2, status=1)[0])
        self.topics("set", topic, "cleanup.policy", "max.message.bytes=2000")
        self.soon(lambda: self.settings(topic), {"retention.ms=600000", "max.message.bytes=2000"})
        self.assertIn("retention.ms", self.topics("set", topic, "retention.ms=x", status=1)[0])
        self.topics("alter", topic, 5)
        self.assertIn("partition", self.topics("alter", topic, 4, status=1)[0])
        self.soon(lambda: sorted(self.kafka.end_offsets(topic)), [0, 1, 2, 3, 4])
        self.assertIn(topic, self.topics("list"))
        self.topics("delete", topic)
        self.soon(lambda: topic in self.topics("list"), False)
        self.assertEqual(len(self.topics("delete", topic, status=1)), 1)

    def test_committed_offsets_are_reset(self):
        topic, group = support.topic_name("grouped"), support.topic_name("reset")
        self.topics("create", topic, 1, 1)
        performance = program("rdkafka_performance")
        support.run(performance, "-P", "-b", self.kafka.bootstrap, "-t", topic, "-s", "10", "-c", "10")
        support.run(performance, "-b", self.kafka.bootstrap, "-G", group, "-t", topic, "-c", "10",
                    "-X", "auto.offset.reset=earliest")
        self.soon(lambda: f"{group} Empty" in self.run_example("reset_offsets"), True)
        back = [f"{topic} [0]: 10 -> 6"]
        self.assertEqual(self.run_example("reset_offsets", group, "--shift-by", "-4", "--execute"), back)
        self.assertEqual(self.run_example("reset_offsets", group, "--to-latest"), [f"{topic} [0]: 6 -> 10"])


class StatisticsView(unittest.TestCase):
    """stats_view makes a view of the documents that a program writes."""

    def setUp(self):
        support.need_library()
        self.program = program("stats_view")

    def view(self, text, *options):
        out, _ = support.run(self.program, *options, stdin=text)
        return out.decode().strip().split("\n\n")

    def test_a_producer_is_watched(self):
        out, _ = support.run(program("rdkafka_performance"), "-P", "-t", "viewed", "-s", "100", "-c", "100000", "-r", "50000",
                             "-T", "50", "-X", "test.mock.num.brokers=2", "-X", "linger.ms=20")
        views = self.view(out)
        self.assertEqual(len(views), len([line for line in out.splitlines() if line.startswith(b"{")]))
        whole = "\n".join(views)
        for shown in (r"rdkafka#producer-\d+, \d+ s old", r"sent [1-9]\d* msgs/s", r"holds [1-9]\d* msgs",
                      r"localhost:\d+/1 +UP|127\.0\.0\.1:\d+/1 +UP", r"viewed \[\d\] +[12] +[1-9]"):
            self.assertRegex(whole, shown)

    def test_numbers_are_those_of_the_documents(self):
        document = ('{"name":"c","ts":%d,"rxmsgs":%d,"rxmsg_bytes":0,"brokers":{"b:1/1":{"state":"UP","connects":1,"tx":%d,'
                    '"rtt":{"cnt":2,"p50":1500,"p99":9000}}},"topics":{"t":{"partitions":{"0":{"desired":true,"leader":1,'
                    '"rxmsgs":%d,"consumer_lag":-1,"consumer_lag_stored":7},"1":{"desired":true,"consumer_lag":9},'
                    '"2":{"desired":true,"consumer_lag":1}}}}}\n')
        text = document % (1_000_000, 0, 0, 0) + "% no document\n{\"torn\":\n" + document % (3_000_000, 100, 8, 100)
        views = self.view(text.encode(), "-n", "2")
        self.assertEqual(len(views), 2)
        lines = views[1].splitlines()
        self.assertIn("received 50 msgs/s", lines[1])
        self.assertEqual(lines[3].split(), ["b:1/1", "UP", "0", "0", "4", "0.0", "0.0", "-", "-", "1.5", "9.0", "0"])
        self.assertEqual(lines[5].split()[:2] + lines[5].split()[7:8], ["t", "[1]", "9"])
        self.assertEqual(lines[6].split()[:9], ["t", "[0]", "1", "0", "50", "0", "0", "7", "0"])
        self.assertEqual(lines[7].split(), ["...", "1", "more"])

    def test_what_is_no_document_is_an_error(self):
        support.run(self.program, stdin=b"nothing\n{}\n", status=1)
        support.run(self.program, "-n", "0", stdin=b"", status=2)


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

    def send(self, topic, lines):
        support.run(self.producer, self.kafka.bootstrap, topic, stdin="\n".join(lines).encode() + b"\n")
        self.assertEqual(self.kafka.message_count(topic), len(lines))

    def receive(self, topic, lines, timeout_s=60):
        """Runs the consumer until it has printed all lines; returns what it printed."""
        # Into a pipe the C library would hold its output back.
        reader = support.start("stdbuf", "-oL", self.consumer, self.kafka.bootstrap, support.topic_name("group"), topic,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # A reader without output is killed, which ends its output.
        killer = threading.Timer(timeout_s, reader.kill)
        killer.start()
        text = b""
        try:
            missing = {line.encode() for line in lines}
            while missing:
                more = reader.stdout.readline()
                self.assertTrue(more, text[-2000:])
                missing -= {line for line in missing if line in more}
                text += more
            reader.send_signal(signal.SIGINT)
            self.assertEqual(reader.wait(30), 0)
        finally:
            killer.cancel()
            reader.kill()
            reader.wait()
            reader.stdout.close()
        return text.decode()

    def test_lines_go_there_and_come_back(self):
        topic = support.topic_name("example")
        self.kafka.create_topic(topic, 2, replication=1)
        sent = [f"message {n:02}" for n in range(100)]
        self.send(topic, sent)
        self.receive(topic, sent)


class CppProducerAndConsumer(ProducerAndConsumer):
    """The same of examples/cpp."""

    @classmethod
    def program(cls, name):
        return support.compiled_cpp(f"examples/cpp/{name}.cpp")

    @classmethod
    def programs(cls):
        return cls.program("producer"), cls.program("consumer")

    def test_transactions_copy_each_message_once(self):
        """transactions BROKERS GROUP FROM TO, killed and started again on the way."""
        copier = self.program("transactions")
        source, target, group = (support.topic_name(name) for name in ("from", "to", "group"))
        self.kafka.create_topic(source, 2, replication=1)
        self.kafka.create_topic(target, 1, replication=1)
        sent = [f"message {n:04}" for n in range(2000)]
        self.send(source, sent)
        command = [copier, self.kafka.bootstrap, group, source, target]
        first = support.start(*command, stderr=subprocess.PIPE)
        try:
            for _ in range(3):
                self.assertIn(b"committed", first.stderr.readline())
        finally:
            first.kill()
            first.wait()
            first.stderr.close()
        second = support.start(*command, stderr=subprocess.DEVNULL)
        try:
            # The dead one is a member of the group until its session times out.
            self.receive(target, sent, timeout_s=120)
            second.send_signal(signal.SIGINT)
            self.assertEqual(second.wait(60), 0)
        finally:
            second.kill()
            second.wait()
        end = "the end"
        support.run(self.producer, self.kafka.bootstrap, target, stdin=f"{end}\n".encode())
        text = self.receive(target, [end])
        for line in sent:
            self.assertEqual(text.count(line), 1, line)


class CppProgramsOfDebian(CppProducerAndConsumer):
    """The same programs, compiled with the headers and linked to the libraries of Debian's librdkafka++."""

    PACKAGES = ["librdkafka-dev", "librdkafka++1", "librdkafka1"]

    @classmethod
    def program(cls, name):
        support.need_cpp_library()
        try:
            folder = debian.unpacked("debian-cpp", cls.PACKAGES) / "usr"
        except debian.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None
        (library,) = (folder / "lib").glob("*/librdkafka++.so.1")
        return support.compiled_with(support.CXX11, f"examples/cpp/{name}.cpp", support.CPP_LIBRARIES,
                                     folder / "include" / "librdkafka", library.parent, "debian")


if __name__ == "__main__":
    unittest.main()
