"""Kafka's own Java client and librdkafka on the brokers of crates/mock, over TCP: they are brokers for every client."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

import kafka
import reference
import support

sys.path.insert(0, str(kafka.ROOT / "tests" / "manual"))
import broker  # noqa: E402

COUNT = 1_000
PARTITIONS = 4
WRITER = kafka.ROOT / "tests" / "real" / "Transactions.java"
GROUP_TIMEOUT_S = 60


class MockTest(unittest.TestCase):
    def setUp(self):
        self.mock = broker.Cluster(brokers=3, partitions=PARTITIONS, auto_create=True)
        self.addCleanup(self.mock.close)

    def logged(self, topic, partitions=PARTITIONS):
        """The values of all partitions, without the binary ones of the markers at the end of transactions."""
        values = [value for p in range(partitions) for value in self.mock.log(topic, p)]
        return [value for value in values if value and value.isprintable()]


class Java(MockTest):
    @classmethod
    def setUpClass(cls):
        support.need_program("javac")
        try:
            _, cls.libs = kafka.fetch()
        except kafka.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None

    def tool(self, name, *args, stdin=None):
        return kafka.tool(f"org.apache.kafka.tools.{name}", "--bootstrap-server", self.mock.bootstrap, *args, stdin=stdin)

    def test_console_tools_write_and_read(self):
        self.tool("TopicCommand", "--create", "--topic", "console", "--partitions", PARTITIONS, "--replication-factor", 2)
        described = self.tool("TopicCommand", "--describe", "--topic", "console").decode()
        self.assertIn(f"PartitionCount: {PARTITIONS}\tReplicationFactor: 2", described)
        sent = support.lines(COUNT)
        self.tool("ConsoleProducer", "--topic", "console", stdin=sent)
        received = self.tool("consumer.ConsoleConsumer", "--topic", "console", "--from-beginning", "--max-messages", COUNT,
                             "--timeout-ms", 20_000)
        self.assertEqual(sorted(received.splitlines()), sorted(sent.splitlines()))
        self.assertEqual(sorted(self.logged("console")), sorted(sent.decode().splitlines()))

    def test_groups_of_both_protocols(self):
        for protocol in ("classic", "consumer"):
            with self.subTest(protocol):
                self.check_group(protocol)

    def check_group(self, protocol):
        topic = self.mock.topic(f"group-{protocol}", PARTITIONS)
        command = [*kafka.java_command(self.libs, "org.apache.kafka.tools.VerifiableConsumer", kafka.TOOL_OPTIONS),
                   "--bootstrap-server", self.mock.bootstrap, "--topic", topic, "--group-id", topic,
                   "--group-protocol", protocol, "--reset-policy", "earliest"]
        members = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
        try:
            os.set_blocking(members[0].stdout.fileno(), False)
            os.set_blocking(members[1].stdout.fileno(), False)
            texts = [b"", b""]

            def events(member, name):
                texts[member] += members[member].stdout.read() or b""
                lines = [line for line in texts[member].splitlines(keepends=True) if line.endswith(b"}\n")]
                return [event for event in map(json.loads, lines) if name in (None, event["name"])]

            def owned(member):
                """The number of partitions that were assigned and not revoked since."""
                count = 0
                for event in events(member, None):
                    if event["name"] == "partitions_assigned":
                        count += len(event["partitions"])
                    elif event["name"] == "partitions_revoked":
                        count -= len(event["partitions"])
                return count

            self.assertTrue(broker.wait(lambda: owned(0) and owned(1), GROUP_TIMEOUT_S), texts)
            self.tool("ConsoleProducer", "--topic", topic, stdin=support.lines(COUNT))

            def consumed():
                return sum(event["count"] for member in range(2) for event in events(member, "records_consumed"))

            self.assertTrue(broker.wait(lambda: consumed() >= COUNT, GROUP_TIMEOUT_S), texts)
            time.sleep(1)
            self.assertEqual(consumed(), COUNT)
        finally:
            for member in members:
                member.send_signal(signal.SIGTERM)
            for member in members:
                member.wait(20)
                member.stdout.close()
        offsets = self.tool("consumer.group.ConsumerGroupCommand", "--describe", "--group", topic).decode()
        rows = [line.split() for line in offsets.splitlines() if line.startswith(topic)]
        # group, topic, partition, committed offset, log end offset, lag
        self.assertEqual(sum(int(row[3]) for row in rows), COUNT)
        self.assertEqual({row[5] for row in rows}, {"0"})

    def test_transactions(self):
        command = [*kafka.java_command(self.libs, str(WRITER)), self.mock.bootstrap, "transactions", "lz4", "6"]
        done = subprocess.run(command, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:].decode(errors="replace"))
        # The transaction that is left open holds up what follows it, and nothing does.
        received = self.tool("consumer.ConsoleConsumer", "--topic", "transactions", "--from-beginning",
                             "--isolation-level", "read_committed", "--max-messages", 1_000, "--timeout-ms", 5_000)
        committed = [value for value in self.logged("transactions") if value.startswith("committed")]
        self.assertEqual(received.decode().split(), committed)
        self.assertEqual(len(committed), 40)


class Librdkafka(MockTest):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        try:
            cls.environment = {**os.environ, "LD_LIBRARY_PATH": str(reference.fetch())}
        except reference.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None

    def run_reference(self, *command, stdin=None):
        done = subprocess.run([str(part) for part in command], input=stdin, capture_output=True, timeout=60,
                              env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:].decode(errors="replace"))
        return done.stdout

    def kcat(self, *args, stdin=None):
        return self.run_reference("kcat", "-b", self.mock.bootstrap, *args, stdin=stdin)

    def test_every_codec_is_written_and_read(self):
        sent = b""
        for codec in support.CODECS:
            data = support.lines(COUNT, prefix=codec)
            self.kcat("-P", "-t", "codecs", "-z", codec, stdin=data)
            sent += data
        received = self.kcat("-C", "-t", "codecs", "-e", "-q", "-o", "beginning")
        self.assertEqual(sorted(received.splitlines()), sorted(sent.splitlines()))

    def test_groups_of_both_protocols(self):
        sent = support.lines(COUNT)
        self.kcat("-P", "-t", "groups", stdin=sent)
        for protocol in ("classic", "consumer"):
            with self.subTest(protocol):
                received = self.kcat("-G", protocol, "-X", f"group.protocol={protocol}", "-X",
                                     "auto.offset.reset=earliest", "-q", "-c", COUNT, "groups")
                self.assertEqual(sorted(received.splitlines()), sorted(sent.splitlines()))

    def test_transactions(self):
        program = support.compiled("tests/real/transactional_producer.c")
        self.mock.topic("transactions", 2)
        self.mock.topic("transactions-in", 1)
        output = self.run_reference(program, self.mock.bootstrap, "transactions", "id", 6, stdin=b"\n").decode()
        self.assertEqual(output.split(), ["begun", "NO_ERROR", "0"])
        received = self.kcat("-C", "-t", "transactions", "-e", "-q", "-o", "beginning", "-X",
                             "isolation.level=read_committed").decode().split()
        every = self.logged("transactions", 2)
        self.assertEqual(sorted(received), sorted(value for value in every if not value.startswith("aborted")))
        self.assertEqual(sum(value.startswith("aborted") for value in every), 20)
        self.assertEqual(len(received), 41)


if __name__ == "__main__":
    unittest.main()
