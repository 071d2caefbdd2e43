"""An unclean election: a log loses what a consumer has read, and the consumer notices (KIP-320)."""

import json
import subprocess
import time
import unittest

import support

SEEN_BY_ALL = 50
LOST = 50
AFTERWARDS = 80


class Truncation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        # Two of three nodes are enough for controllers to agree.
        cls.kafka = support.cluster(3)

    def produce(self, topic, what, count):
        text = "".join(f"{what}-{number}\n" for number in range(count))
        support.run("kcat", "-P", "-b", self.kafka.bootstrap, "-t", topic, "-X", "acks=all", stdin=text.encode())

    def wait(self, what, done, timeout_s=90):
        end = time.monotonic() + timeout_s
        while not done():
            self.assertLess(time.monotonic(), end, f"{what} took longer than {timeout_s} s")
            time.sleep(0.5)

    def in_sync(self, topic):
        out, _ = support.run("kcat", "-L", "-J", "-b", self.kafka.bootstrap, "-t", topic)
        (partition,) = json.loads(out)["topics"][0]["partitions"]
        return partition["leader"], [replica["id"] for replica in partition["isrs"]]

    def test_reading_goes_on_where_the_new_leaders_log_parts(self):
        topic = support.topic_name("truncation")
        self.kafka.create_topic(topic, 1, 2, {"unclean.leader.election.enable": "true"})
        self.produce(topic, "first", SEEN_BY_ALL)
        leader, replicas = self.in_sync(topic)
        (follower,) = [replica for replica in replicas if replica != leader]
        out = support.BIN_DIR.parent / f"{topic}.txt"
        out.parent.mkdir(parents=True, exist_ok=True)
        with open(out, "wb") as file:
            consumer = support.start("kcat", "-C", "-u", "-q", "-b", self.kafka.bootstrap, "-t", topic, "-p", "0",
                                     "-o", "beginning", "-f", "%o %s\n", "-X", "auto.offset.reset=latest",
                                     stdout=file, stderr=subprocess.DEVNULL)
        self.addCleanup(consumer.wait)
        self.addCleanup(consumer.kill)
        self.kafka.kill(follower)
        self.wait("leaving the in-sync replicas", lambda: self.in_sync(topic)[1] == [leader])
        self.produce(topic, "lost", LOST)
        # A line is written in parts.
        rows = lambda: out.read_text().split("\n")[:-1]
        self.wait("reading", lambda: len(rows()) == SEEN_BY_ALL + LOST)
        # The one that has everything goes, and the one that lacks the end comes back alone.
        self.kafka.kill(leader)
        self.kafka.start_node(follower)
        self.wait("the election", lambda: self.kafka.leader(topic) == follower)
        self.produce(topic, "new", AFTERWARDS)
        self.wait("reading on", lambda: len(rows()) >= SEEN_BY_ALL + LOST + AFTERWARDS)
        expected = [f"{n} first-{n}" for n in range(SEEN_BY_ALL)]
        expected += [f"{SEEN_BY_ALL + n} lost-{n}" for n in range(LOST)]
        expected += [f"{SEEN_BY_ALL + n} new-{n}" for n in range(AFTERWARDS)]
        self.assertEqual(rows(), expected)
        self.kafka.start_node(leader)


if __name__ == "__main__":
    unittest.main()
