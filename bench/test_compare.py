"""The results of make bench: goals, chart and page; and the summary of the Java client's run."""

import argparse
import contextlib
import io
import math
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

import real_kafka  # noqa: F401
import chart
import compare
import java_producer
import pairs
import publish
import support
from workloads import PRODUCERS, WORKLOADS


def figures(**changes):
    """Of a library in three rounds that found the same."""
    found = {"msgs_per_s": 1000.0, "cpu_us_per_msg": 0.5, "threads_max": 2, "rss_mib_max": 20.0, "failed": 0, "p50_us": 0,
             "p99_us": 0, "held_max": 0, "stored_bytes_per_msg": 70.0, **changes}
    return found | {"rounds": {figure: [value] * 3 for figure, value in found.items()}}


def table():
    made = {workload.name: {"ottla": figures(), "reference": figures(cpu_us_per_msg=1.0, msgs_per_s=900.0, p50_us=1000.0)}
            for workload in WORKLOADS}
    made["copied payload"]["java"] = figures(cpu_us_per_msg=5.0)
    return made


class Judging(unittest.TestCase):
    def judged(self, changed):
        return {(name, goal): met for name, goal, _, _, _, met in compare.judged(changed)}

    def test_each_goal_is_met_and_missed(self):
        for name, goal, key, good, bad in [
                ("copied payload", "cpu", "cpu_us_per_msg", 0.5, 0.51),
                ("copied payload", "rss", "rss_mib_max", 20.0, 20.5),
                ("copied payload", "own threads", "threads_max", 4, 5),
                ("4 threads on one client", "own threads", "threads_max", 8, 9),
                ("4 threads on one client", "rate to own", "msgs_per_s", 1000.0, 999.0),
                ("lz4", "stored", "stored_bytes_per_msg", 73.5, 74.0),
                ("500 partitions, keyed", "rate", "msgs_per_s", 5400.0, 5300.0),
                ("consumer, one message a call", "rate", "msgs_per_s", 3600.0, 3500.0),
                ("consumer, one message a call", "rss", "rss_mib_max", 14.0, 14.1),
                ("consumer, first message", "p50", "p50_us", 700.0, 701.0),
                ("consumer, full queue", "own threads", "threads_max", 4, 5),
                ("consumer, idle, 3 brokers", "cpu", "cpu_us_per_msg", 0.5, 0.51),
                ("tls, 1 kB, copied", "cpu", "cpu_us_per_msg", 0.75, 0.76),
                ("tls, a new client's first message", "p50", "p50_us", 700.0, 701.0),
                ("tls, consumer, 1 kB", "rss", "rss_mib_max", 20.0, 20.5)]:
            for value, met in ((good, True), (bad, False)):
                changed = table()
                changed[name]["ottla"] |= figures(**{key: value})
                self.assertIs(self.judged(changed)[name, goal], met, (name, goal, value))

    def test_sides_are_compared_round_by_round(self):
        ours, theirs = figures(), figures()
        # The machine was slow in two rounds.
        ours["rounds"]["msgs_per_s"] = [1100.0, 550.0, 440.0]
        theirs["rounds"]["msgs_per_s"] = [1000.0, 500.0, 800.0]
        self.assertAlmostEqual(pairs.ratio(ours, theirs, "msgs_per_s"), 1.1)
        self.assertTrue(math.isnan(pairs.ratio(ours, theirs, "p50_us")))

    def test_report_has_every_build_with_its_spread(self):
        found = table()
        # In one round of three ours took more.
        before = figures()
        before["rounds"]["cpu_us_per_msg"] = [0.4, 1.0, 1.0]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            compare.report({"lz4": {**found["lz4"], "before": before}})
        text = printed.getvalue()
        self.assertIn("to before", text)
        self.assertIn("cpu_us_per_msg: 0.500, from 0.500 to 1.250, lower in 2 of 3 rounds", text)
        self.assertEqual(text.count("lower in"), 2)

    def test_topic_that_stays_limits_the_rounds(self):
        keeps = next(workload for workload in PRODUCERS if workload.warm)
        self.assertLess(compare.stored_max(keeps, 500_000, rounds=5, libraries=2), compare.ROOM)
        self.assertGreater(compare.stored_max(keeps, 500_000, rounds=6, libraries=4), compare.ROOM)
        for workload in PRODUCERS:
            if not workload.warm:
                self.assertLess(compare.stored_max(workload, 500_000, rounds=100, libraries=4), compare.ROOM, workload.name)

    def test_build_needs_a_name_of_its_own_and_a_library(self):
        with tempfile.TemporaryDirectory() as folder:
            for text in (f"before={folder}", folder, f"={folder}"):
                with self.assertRaises(argparse.ArgumentTypeError):
                    compare.build(text)
            library = Path(folder) / "librdkafka.so.1"
            library.touch()
            self.assertEqual(compare.build(f"before={folder}"), ("before", Path(folder).resolve()))
            with self.assertRaises(argparse.ArgumentTypeError):
                compare.build(f"reference={folder}")

    def test_rows_that_did_not_run_are_not_judged(self):
        self.assertEqual(self.judged({}), {})
        alone = {"4 threads on one client": table()["4 threads on one client"]}
        self.assertNotIn(("4 threads on one client", "rate to own"), self.judged(alone))


class Grouping(unittest.TestCase):
    def test_rows_that_are_compared_run_together(self):
        names = [[w.name for w in group] for group in compare.groups(PRODUCERS)]
        self.assertIn(["copied payload", "4 threads on one client"], names)
        self.assertIn(["1 kB, one request in flight", "1 kB, transactions of 100 ms"], names)
        self.assertIn(["lz4"], names)
        self.assertEqual(sorted(sum(names, [])), sorted(w.name for w in PRODUCERS))


class Publishing(unittest.TestCase):
    def test_chart_has_a_bar_for_each_library_and_row(self):
        svg = ElementTree.fromstring(chart.draw(table()))
        bars = [e.get("class") for e in svg.iter("{http://www.w3.org/2000/svg}rect")]
        # One of each in the legend; a long one is broken in two.
        self.assertEqual((bars.count("ottla"), bars.count("java")), (len(WORKLOADS) + 1, 3))

    def test_page_has_every_row(self):
        found = table()
        text = "\n".join([*publish.rows(found), *publish.goal_rows(compare.judged(found))])
        for workload in WORKLOADS:
            self.assertEqual(text.count(f"| {workload.name} |"), 2)
        self.assertEqual(text.count("| Java |"), 1)

    def test_readme_has_its_place_once_and_again(self):
        once = publish.with_chart(publish.README.read_text(encoding="utf-8"), table())
        self.assertEqual(once.count("docs/bench.svg"), 1)
        self.assertIn(f"0.50 to 0.50 of librdkafka's in these {len(WORKLOADS)} workloads", once)
        self.assertEqual(publish.with_chart(once, table()), once)


class Java(unittest.TestCase):
    def test_its_measured_messages_are_told_from_those_before(self):
        cluster = support.cluster(2)
        topic = support.topic_name("java-speed")
        cluster.create_topic(topic, partitions=2, replication=1)
        command = java_producer.command(cluster, topic, 50_000, 100, {"compression.type": "lz4"}, before=20_000)
        run = java_producer.measure(command)
        self.assertIsNotNone(run.summary, run.output)
        self.assertEqual((run.status, run.messages, run.failed), (0, 50_000 * java_producer.TIMES, 0), run.output)
        self.assertGreater(run.cpu_s, 0)
        self.assertEqual(cluster.message_count(topic), 20_000 + run.messages)
        self.assertEqual(cluster.codecs(topic), {"lz4"})


if __name__ == "__main__":
    unittest.main()
