"""Producing and consuming while brokers crash, stop responding and restart."""

import subprocess
import threading
import time
import unittest

import support
from steady import FOREVER, Run, complaints, stored


class Faults(unittest.TestCase):
    """Three brokers, topics on all three: one may be away and nothing is lost."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        cls.kafka = support.cluster(3)

    def tearDown(self):
        for node in self.kafka.nodes():
            self.kafka.thaw(node)
            if node not in self.kafka.processes:
                self.kafka.start_node(node, wait=False)
        self.kafka.wait_until_up()

    def topic(self, what, partitions=3):
        name = support.topic_name(f"faults-{what}")
        self.kafka.create_topic(name, partitions, replication=3, config={"min.insync.replicas": 2})
        return name

    def check_nothing_lost(self, run, topic):
        self.assertEqual(complaints(self.kafka, topic, run), [])

    def test_acks(self):
        for acks in ("0", "1", "all"):
            with self.subTest(acks=acks):
                topic = self.topic(f"acks{acks}")
                run = Run(self.kafka, topic, 5000, 50_000, f"acks={acks}")
                status = run.finish()
                self.assertEqual((status, run.failed, len(run.acked)), (0, {}, 5000), run.errors)
                end = time.monotonic() + 30
                while self.kafka.message_count(topic) < 5000 and time.monotonic() < end:
                    time.sleep(0.1)
                self.assertEqual(sorted(int(n) for _, _, n in stored(self.kafka, topic)), list(range(5000)))

    def test_order_is_kept_in_each_partition(self):
        topic = self.topic("order")
        run = Run(self.kafka, topic, 20_000, 20_000, "linger.ms=2", "batch.num.messages=100")
        self.assertEqual(run.finish(), 0, run.errors)
        last = {}
        for partition, offset, payload in stored(self.kafka, topic):
            self.assertGreater(int(payload), last.get(partition, -1), f"partition {partition} offset {offset}")
            last[partition] = int(payload)
        # A second is a hundred times sticky.partitioning.linger.ms: every partition was used.
        self.assertEqual(sorted(last), [0, 1, 2])
        self.assertEqual(self.kafka.message_count(topic), 20_000)

    def test_a_leader_is_killed_and_comes_back(self):
        topic = self.topic("kill")
        run = Run(self.kafka, topic, FOREVER, 1000, "acks=all")
        run.wait_for(500)
        victim = self.kafka.leader(topic)
        self.kafka.kill(victim)
        run.wait_for(len(run.acked) + 1500)
        self.kafka.start_node(victim)
        run.stop()
        self.check_nothing_lost(run, topic)

    def test_every_broker_is_restarted_in_turn(self):
        topic = self.topic("rolling")
        run = Run(self.kafka, topic, FOREVER, 1000, "acks=all")
        run.wait_for(500)
        for node in self.kafka.nodes():
            self.kafka.restart(node)
            run.wait_for(len(run.acked) + 200)
        run.stop()
        self.check_nothing_lost(run, topic)

    def test_a_leader_freezes_for_a_while(self):
        topic = self.topic("freeze")
        run = Run(self.kafka, topic, FOREVER, 500, "acks=all", "socket.timeout.ms=2000", "request.timeout.ms=2000")
        run.wait_for(200)
        victim = self.kafka.leader(topic)
        self.kafka.freeze(victim)
        time.sleep(4)
        self.kafka.thaw(victim)
        run.wait_for(len(run.acked) + 500)
        run.stop()
        self.check_nothing_lost(run, topic)

    def test_an_idempotent_producer_writes_once_and_in_order(self):
        topic = self.topic("once")
        run = Run(self.kafka, topic, FOREVER, 5000, "enable.idempotence=true", "linger.ms=2",
                  "socket.timeout.ms=3000", "request.timeout.ms=2000")
        run.wait_for(2000)
        for fault in (self.kafka.kill, self.kafka.freeze, self.kafka.kill):
            victim = self.kafka.leader(topic)
            fault(victim)
            time.sleep(5)
            if fault == self.kafka.freeze:
                self.kafka.thaw(victim)
            else:
                self.kafka.start_node(victim)
            run.wait_for(len(run.acked) + 5000)
        run.stop()
        self.assertEqual(complaints(self.kafka, topic, run, idempotent=True), [])

    def test_messages_expire_when_every_leader_is_gone(self):
        name = support.topic_name("faults-expire")
        self.kafka.create_topic(name, 1, replication=1)
        run = Run(self.kafka, name, FOREVER, 100, "acks=all", "message.timeout.ms=1500")
        run.wait_for(50)
        self.kafka.kill(self.kafka.leader(name))
        end = time.monotonic() + 60
        while len(run.failed) < 100 and time.monotonic() < end:
            time.sleep(0.05)
        run.stop()
        self.assertEqual(run.finish(60), 1)
        self.assertEqual(len(run.acked) + len(run.failed), run.produced, run.errors)
        self.assertGreaterEqual(len(run.failed), 100)
        self.assertEqual(set(run.failed.values()), {"_MSG_TIMED_OUT"})

    def test_a_consumer_reads_on_when_its_leader_dies(self):
        topic = self.topic("read", partitions=2)
        reader = support.start(
            "kcat", "-b", self.kafka.bootstrap, "-C", "-t", topic, "-q", "-u", "-o", "beginning", "-E",
            "-c", "5000", "-f", "%p %o %s\\n", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            run = Run(self.kafka, topic, 5000, 1000, "acks=all", "max.in.flight.requests.per.connection=1")
            run.wait_for(1000)
            victim = self.kafka.leader(topic)
            self.kafka.kill(victim)
            self.assertEqual(run.finish(), 0, run.errors)
            out = self.output(reader)
        finally:
            reader.kill()
            reader.wait()
        places = [tuple(map(int, row.split()[:2])) for row in out.splitlines()]
        self.assertEqual(len(places), 5000)
        for partition in (0, 1):
            offsets = [offset for p, offset in places if p == partition]
            self.assertEqual(offsets, list(range(len(offsets))), f"partition {partition}")

    def test_a_topic_is_deleted_and_made_again(self):
        topic = self.topic("again", partitions=1)
        reader = support.start(
            "kcat", "-b", self.kafka.bootstrap, "-C", "-t", topic, "-q", "-u", "-o", "beginning", "-E", "-c", "15",
            "-X", "auto.offset.reset=earliest", "-X", "topic.metadata.refresh.interval.ms=500",
            "-X", "allow.auto.create.topics=false", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self.send(topic, "old", 10)
            old = self.first_lines(reader, 10)
            self.kafka.delete_topic(topic)
            time.sleep(1)
            self.kafka.create_topic(topic, 1, replication=3)
            # Fewer than before: the old position is out of range, never just in range.
            self.send(topic, "new", 5)
            out = old + self.output(reader)
        finally:
            reader.kill()
            reader.wait()
        self.assertEqual(out.splitlines(), [f"old {n}" for n in range(10)] + [f"new {n}" for n in range(5)])

    def send(self, topic, word, count):
        data = "".join(f"{word} {n}\n" for n in range(count)).encode()
        support.run("kcat", "-b", self.kafka.bootstrap, "-P", "-t", topic, stdin=data)

    def first_lines(self, process, count, timeout_s=60):
        """The first lines of a background program, which is killed when it does not print them in time."""
        killer = threading.Timer(timeout_s, process.kill)
        killer.start()
        lines = [process.stdout.readline() for _ in range(count)]
        killer.cancel()
        return b"".join(lines).decode()

    def output(self, process, timeout_s=60):
        """All that a background program prints until it exits."""
        try:
            return process.communicate(timeout=timeout_s)[0].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            raise AssertionError(f"still running after {timeout_s} s, printed:\n{out[-800:].decode()}") from None


if __name__ == "__main__":
    unittest.main()
