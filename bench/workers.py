"""Compression and decompression on worker threads (worker.threads): the same library without and with them, and librdkafka.

    make bench-workers [BENCH_ARGS=...]       or, after make lib:
    python3 bench/workers.py [--rounds 7] [--count 300000] [--threads N]... [--only NAME]... [--lib FOLDER] [--no-reference]

One client of three brokers produces or consumes messages of 1 kB. The sides take turns. Printed are the medians of the rate
and of the CPU time, the most threads and memory, and of the rate the median ratio to the library without worker threads and to
librdkafka in the same round. Brokers and client share the processors, so that rates depend on their number.
"""

import argparse
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import real_kafka  # noqa: F401
import compare
import kafka
import perf
import reference
import support

PARTITIONS = 6
SIZE = 1000


@dataclass(frozen=True)
class Row:
    codec: str
    level: int = -1
    consumes: bool = False
    # Messages as a part of --count.
    share: float = 1.0

    @property
    def name(self):
        level = f" level {self.level}" if self.level >= 0 else ""
        return f"{self.codec}{level}, {'consume' if self.consumes else 'produce'}"

    @property
    def properties(self):
        level = () if self.level < 0 else ("-X", f"compression.level={self.level}")
        return ("-X", f"compression.codec={self.codec}", *level)


ROWS = [Row("gzip"), Row("gzip", 9, share=0.5), Row("zstd"), Row("zstd", 9), Row("lz4", share=2), Row("snappy", share=2),
        Row("none", share=3), Row("zstd", consumes=True, share=4), Row("gzip", consumes=True, share=3),
        Row("lz4", consumes=True, share=4)]


class Sides:
    """The libraries, each with a number of worker threads, and their runs."""

    def __init__(self, cluster, lib, other, threads):
        self.cluster = cluster
        self.sides = {f"threads {n}": (lib, ("-X", f"worker.threads={n}")) for n in (0, *threads)}
        if other:
            self.sides["librdkafka"] = (other, ())

    def topic(self):
        name = support.topic_name("workers")
        self.cluster.create_topic(name, PARTITIONS, replication=1)
        return name

    def measure(self, side, program, topic, arguments, count):
        lib, own = self.sides[side]
        command = [str(support.compiled(program)), "-b", self.cluster.bootstrap, "-t", topic, "-c", str(count), *arguments, *own]
        run = perf.measure(command, lib)
        if run.status != 0 or run.summary is None:
            sys.exit(f"{side}: {' '.join(command)}\nexit status {run.status}\n{run.output[-3000:]}")
        return run

    def run(self, row, rounds, count):
        """Runs the rounds of a row; returns the runs by side."""
        count = round(count * row.share)
        producing = ("-s", str(SIZE), *row.properties)
        filled = self.topic() if row.consumes else None
        if filled:
            filler = "librdkafka" if "librdkafka" in self.sides else "threads 0"
            self.measure(filler, "bench/bench_producer.c", filled, producing, count)
        runs = {side: [] for side in self.sides}
        # The first round warms the brokers up.
        for number in range(rounds + 1):
            order = list(self.sides) if number % 2 else list(reversed(self.sides))
            for side in order:
                topic = filled or self.topic()
                program = "bench/bench_consumer.c" if filled else "bench/bench_producer.c"
                run = self.measure(side, program, topic, ("-m", "poll") if filled else producing, count)
                if number > 0:
                    runs[side].append(run)
                if not filled:
                    self.cluster.delete_topic(topic)
        if filled:
            self.cluster.delete_topic(filled)
        return runs


def report(row, runs):
    for side, found in runs.items():
        text = f"{row.name:<26} {side:<11} {statistics.median(r.rate for r in found):>9.0f} msgs/s " \
               f"{statistics.median(r.cpu_us for r in found):>8.3f} CPU us/msg {max(r.threads_max for r in found):>3} threads " \
               f"{statistics.median(r.rss_kib_max for r in found) / 1024:>5.0f} MiB"
        for other in ("threads 0", "librdkafka"):
            if other in runs and other != side:
                ratios = [own.rate / their.rate for own, their in zip(found, runs[other], strict=True)]
                text += f"; {statistics.median(ratios):.2f} x {other} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(description="Compare a client without worker threads and with them")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--threads", type=int, action="append", help="worker.threads of a side; again for another one (2)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only rows whose name contains this")
    parser.add_argument("--lib", type=Path, default=kafka.ROOT / "build" / "lib", help="folder of the library")
    parser.add_argument("--no-reference", action="store_true", help="without librdkafka")
    args = parser.parse_args()
    try:
        other = None if args.no_reference else reference.fetch()
        cluster = kafka.Cluster(3, config=compare.BROKER, logs=compare.memory_logs("workers"))
    except (kafka.Unavailable, reference.Unavailable) as e:
        sys.exit(f"workers.py: {e}")
    with cluster:
        sides = Sides(cluster, args.lib.resolve(), other, args.threads or [2])
        for row in ROWS:
            if not args.only or any(wanted in row.name for wanted in args.only):
                report(row, sides.run(row, args.rounds, args.count))


if __name__ == "__main__":
    main()
