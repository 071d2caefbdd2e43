"""Client metrics (KIP-714) on real Kafka, as a receiver in the broker reads them."""

import shutil
import signal
import subprocess
import time
import unittest

import kafka
import support

RECEIVER = kafka.ROOT / "tests" / "real" / "MetricsReceiver.java"
PREFIX = "org.apache.kafka.producer."


class Telemetry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("javac")
        support.stop()
        _, libs = kafka.fetch()
        cls.folder = kafka.WORK / "telemetry"
        shutil.rmtree(cls.folder, ignore_errors=True)
        cls.folder.mkdir(parents=True)
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run(["javac", "-nowarn", "-cp", f"{libs}/*", "-d", cls.folder, RECEIVER], check=True, timeout=120,
                       capture_output=True)
        cls.received = cls.folder / "received.txt"
        cls.kafka = kafka.Cluster(brokers=1, plugins=cls.folder, config={
            "metric.reporters": "MetricsReceiver", "test.receiver.file": cls.received})
        cls.addClassCleanup(cls.kafka.stop)
        cls.kafka.start()
        kafka.tool("org.apache.kafka.tools.ClientMetricsCommand", "--bootstrap-server", cls.kafka.bootstrap, "--alter",
                   "--name", "all", "--metrics", "*", "--interval", "500")

    def lines(self):
        return [line.split() for line in self.received.read_text().splitlines()] if self.received.exists() else []

    def produce_until_pushed(self, pushes):
        """Runs a producer until the broker has read so many of its pushes, and ends it then."""
        producer = support.start(support.compiled("tests/real/steady_producer.c"), self.kafka.bootstrap, "pushed", 5000, 50,
                                 stdout=subprocess.DEVNULL)
        try:
            while producer.poll() is None and sum(line[0] == "push" for line in self.lines()) < pushes:
                time.sleep(0.1)
            producer.send_signal(signal.SIGINT)
            self.assertEqual(producer.wait(30), 0)
        finally:
            producer.kill()
        self.assertGreater(sum(line[0] == "push" for line in self.lines()), pushes)

    def test_a_producer_pushes_until_it_ends(self):
        self.kafka.create_topic("pushed", partitions=1)
        self.produce_until_pushed(4)
        lines = self.lines()
        pushes = [line for line in lines if line[0] == "push"]
        self.assertEqual([line[2] for line in pushes], ["false"] * (len(pushes) - 1) + ["true"])
        self.assertEqual(len({line[1] for line in pushes}), 1, "one client")
        values = {}
        for name, value in (line for line in lines if line[0] != "push"):
            values.setdefault(name.removeprefix(PREFIX), []).append(float(value))
        for name in ("node.request.latency", "record.queue.time", "request.latency", "produce.throttle.time"):
            for average, longest in zip(values[f"{name}.avg"], values[f"{name}.max"]):
                # The maximum is reported in whole milliseconds.
                self.assertLessEqual(average, longest + 1, name)
        self.assertGreater(max(values["request.latency.avg"]), 0)
        self.assertEqual(max(values["produce.throttle.time.max"]), 0)
        self.assertGreaterEqual(min(values["connection.creation.rate"]), 0)


if __name__ == "__main__":
    unittest.main()
