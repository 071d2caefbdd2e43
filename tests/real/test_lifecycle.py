"""The cost of a short-lived client: its threads, and its time from creation to destruction, compared with librdkafka."""

import os
import re
import statistics
import subprocess
import unittest

import reference
import support

PROGRAM = "tests/real/lifecycle.c"
ROUNDS = 20


def live(lib_dir, bootstrap, topic, partitions):
    """One client's life on the library of a folder: its threads, its milliseconds, and the threads left behind it."""
    done = subprocess.run(
        [str(support.compiled(PROGRAM)), bootstrap, topic, str(partitions)],
        capture_output=True, text=True, timeout=60, env={**os.environ, "LD_LIBRARY_PATH": str(lib_dir)})
    if done.returncode != 0:
        raise AssertionError(f"exit status {done.returncode} with {lib_dir}: {done.stderr[-500:]}")
    own, ms, left = re.fullmatch(r"(\d+) threads, ([\d.]+) ms, (\d+) left\n", done.stdout).groups()
    return int(own), float(ms), int(left)


class Lifecycle(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        support.need_library()
        cls.kafka = support.cluster(3)

    def topic(self, partitions):
        name = support.topic_name("lifecycle")
        self.kafka.create_topic(name, partitions)
        return name

    def test_a_client_of_three_brokers_has_one_thread(self):
        topic = self.topic(3)
        leaders = {self.kafka.leader(topic, partition) for partition in range(3)}
        self.assertEqual(len(leaders), 3, "each broker leads a partition")
        own, _, left = live(support.LIB_DIR, self.kafka.bootstrap, topic, 3)
        self.assertEqual((own, left), (1, 0))

    def test_one_message_takes_less_time_than_with_librdkafka(self):
        try:
            theirs = reference.fetch()
        except reference.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None
        if theirs.resolve() == support.LIB_DIR:
            raise unittest.SkipTest("the library under test is librdkafka itself")
        topic = self.topic(1)
        times = {support.LIB_DIR: [], theirs: []}
        for lib_dir in times:  # the topic's first message, pages of the library
            live(lib_dir, self.kafka.bootstrap, topic, 1)
        for _ in range(ROUNDS):
            for lib_dir, measured in times.items():
                measured.append(live(lib_dir, self.kafka.bootstrap, topic, 1)[1])
        ours_ms, theirs_ms = (statistics.median(measured) for measured in times.values())
        print(f"new client, one message, flush, destroy: {ours_ms:.1f} ms, with librdkafka {theirs_ms:.1f} ms (medians)")
        self.assertLess(ours_ms, theirs_ms)


if __name__ == "__main__":
    unittest.main()
