"""Debian's rsyslog with its Kafka modules, which link librdkafka.so.1, on the library under test.

One daemon reads a file, sends its lines with omkafka, reads the topic again with imkafka and writes
what comes to another file. The packages are unpacked in .cache/debian-rsyslog.
"""

import json
import os
import shutil
import subprocess
import time
import unittest

import debian
import kafka
import support

PACKAGES = ["rsyslog", "rsyslog-kafka", "libestr0", "libfastjson4", "liblognorm5"]
COUNT = 20_000
PATIENCE_S = 60

SETTINGS = """
global(workDirectory="{folder}")
module(load="imfile")
module(load="omkafka")
module(load="imkafka")
template(name="line" type="string" string="%msg%")
template(name="lines" type="string" string="%rawmsg%\\n")

ruleset(name="to-kafka") {{
    action(type="omkafka" broker=["{bootstrap}"] topic="{topic}" template="line" key="{key}"
           confParam=["compression.codec=lz4", "enable.idempotence=true", "statistics.interval.ms=10"]
           statsFile="{folder}/stats" errorFile="{folder}/errors")
}}
ruleset(name="from-kafka") {{
    action(type="omfile" file="{folder}/out" template="lines")
}}
input(type="imfile" file="{folder}/in" tag="test:" ruleset="to-kafka")
input(type="imkafka" broker=["{bootstrap}"] topic="{topic}" consumergroup="{group}" ruleset="from-kafka"
      confParam=["auto.offset.reset=earliest"])
"""


class Rsyslog(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        try:
            cls.root = debian.unpacked("debian-rsyslog", PACKAGES)
        except debian.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None
        (cls.modules,) = (cls.root / "usr/lib").glob("*/rsyslog")
        cls.daemon = cls.root / "usr/sbin/rsyslogd"
        cls.env = {**support.environment(), "LD_LIBRARY_PATH": f"{support.LIB_DIR}:{cls.modules.parent}"}
        done = subprocess.run([cls.daemon, "-v"], env=cls.env, capture_output=True, text=True, timeout=20)
        if done.returncode != 0:
            raise unittest.SkipTest(f"Debian's rsyslogd does not run here: {done.stderr.strip()[-200:]}")
        cls.kafka = support.cluster(2)

    def setUp(self):
        self.folder = kafka.WORK / support.topic_name("rsyslog")
        self.folder.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.topic = support.topic_name("rsyslog")
        self.kafka.create_topic(self.topic, partitions=3, replication=1)

    def start(self):
        settings = self.folder / "rsyslog.conf"
        settings.write_text(SETTINGS.format(
            folder=self.folder, bootstrap=self.kafka.bootstrap.replace(",", '","'), topic=self.topic,
            group=support.topic_name("group"), key="host"))
        command = [self.daemon, "-n", "-C", "-f", settings, "-i", self.folder / "pid", "-M", self.modules]
        process = subprocess.Popen(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        process.terminate()
        said, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0, said.decode(errors="replace")[-2000:])

    def wait_until(self, process, what):
        end = time.monotonic() + PATIENCE_S
        while not what():
            if process.poll() is not None or time.monotonic() > end:
                process.kill()
                said, _ = process.communicate(timeout=30)
                self.fail(f"{len(self.read('out'))} of {COUNT} lines came back\n{said.decode(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def read(self, name):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def test_lines_go_through_kafka_and_back(self):
        lines = [f"line {i} {'x' * (i % 200)}" for i in range(COUNT)]
        (self.folder / "in").write_text("".join(f"{line}\n" for line in lines))
        process = self.start()
        self.wait_until(process, lambda: len(self.read("out")) >= COUNT)
        with open(f"/proc/{process.pid}/maps") as maps:
            loaded = {line.split()[-1] for line in maps if "librdkafka" in line}
        self.assertEqual(loaded, {str((support.LIB_DIR / "librdkafka.so.1").resolve())})
        # omkafka polls the client, and receives statistics, only while it has lines to send.
        self.wait_until(process, lambda: self.read("stats"))
        self.end(process)
        # All with one key: one partition, in which they are in order.
        self.assertTrue(self.read("out") == lines, "other lines came back, or in another order")
        self.assertEqual(self.kafka.message_count(self.topic), COUNT)
        # A batch of a line or two goes as it is when lz4 makes it larger.
        self.assertIn("lz4", self.kafka.codecs(self.topic))
        self.assertEqual(self.read("errors"), [])
        # One document behind the other.
        statistics, _ = json.JSONDecoder().raw_decode("".join(self.read("stats")))
        self.assertEqual(statistics["type"], "producer")


if __name__ == "__main__":
    unittest.main()
