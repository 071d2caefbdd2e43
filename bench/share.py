"""Share consumers of this library, of librdkafka 2.16.0 and of Kafka's Java client, on the same real broker, in turns.

    make bench-share [BENCH_ARGS=...]       or, after make lib:
    python3 bench/share.py [--rounds 5] [--count 1000000] [--brokers 1] [--only NAME]... [--lib FOLDER] [--locks N] [--no-java]

share_consumer.c runs on either library, ShareConsumer.java on the Java client: one process with one member or with four,
which read the records of a topic that librdkafka has filled. Each run is a new group. Records per second and CPU time are those
of --count records after half as many others, so that neither the group's begin nor the compiling of the JVM is measured.
A row with "small batches" has 100 records in a batch, the others what librdkafka puts in one by default, up to 1 MB.

One broker by default: two cores are not enough for three, whose own work would be measured. Brokers limit the records of
a partition that are acquired and not acknowledged; --locks sets the group's limit in place of the brokers' 2000. They
return whole batches, so that larger batches exceed it. Printed are medians of the rounds, and of the ratios of each round.
"""

import argparse
import re
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import real_kafka  # noqa: F401
import compare
import java_producer
import kafka
import pairs
import perf
import reference
import statistics
import support
import wire

PARTITIONS = 8
# Members have partitions after their second or third heartbeat, which are one second apart (kafka.py).
JOIN_MS = 5000
JAVA_PROGRAM = Path(__file__).with_name("ShareConsumer.java")
# % polls 1029
POLLS = re.compile(r"^% polls (\d+)", re.M)
HEAD = f"{'':<34} {'':<11} {'records/s':>9} {'CPU us/rec':>10} {'rec/poll':>8} {'threads':>7} {'RSS MiB':>7}"


@dataclass(frozen=True)
class Row:
    size: int
    members: int
    mode: str
    small: bool = False

    @property
    def name(self):
        small = ", small batches" if self.small else ""
        return f"{self.size} B, {self.members} member{'s' * (self.members > 1)}, {self.mode}{small}"


ROWS = [Row(size, members, mode) for size in (100, 1000) for members in (1, 4) for mode in ("implicit", "explicit")]
ROWS += [Row(100, members, "implicit", small=True) for members in (1, 4)]


def compiled_java(libs):
    """Compiles ShareConsumer.java; returns the folder of its classes."""
    classes = support.BIN_DIR / "share-java"
    classes.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["javac", "-nowarn", "-cp", f"{libs}/*", "-d", str(classes), str(JAVA_PROGRAM)],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{JAVA_PROGRAM} does not compile:\n{done.stderr}")
    return classes


class Bench:
    """The runs so far. `libraries`: name of each to its folder, ours first; the Java client's folder is that of its classes."""

    def __init__(self, cluster, libraries, args):
        self.cluster = cluster
        self.libraries = libraries
        self.args = args
        self.program = support.compiled("bench/share_consumer.c")
        self.topics = {}
        self.runs = {}

    def topic(self, row):
        """Returns the topic with the records of a row, which librdkafka fills at its first use."""
        key = row.size, row.small
        if key not in self.topics:
            name = f"share-{uuid.uuid4().hex[:8]}"
            self.cluster.create_topic(name, PARTITIONS, replication=1)
            # Members acquire records ahead of those that are counted.
            count = 2 * self.args.count
            command = [str(support.compiled("bench/bench_producer.c")), "-b", self.cluster.bootstrap, "-t", name, "-c", str(count),
                       "-s", str(row.size), *(("-X", "batch.num.messages=100") if row.small else ())]
            run = perf.measure(command, reference.fetch(), timeout_s=600)
            stored = self.cluster.message_count(name)
            if run.status != 0 or stored != count:
                sys.exit(f"{name} holds {stored} records, not {count}\n{run.output[-3000:]}")
            self.topics[key] = name
        return self.topics[key]

    def group(self):
        name = f"share-{uuid.uuid4().hex[:8]}"
        settings = {"share.auto.offset.reset": "earliest"}
        if self.args.locks:
            settings["share.partition.max.record.locks"] = self.args.locks
        wire.set_group_config(self.cluster.address(), name, settings)
        return name

    def command(self, row, library):
        topic, group, count, before = self.topic(row), self.group(), str(self.args.count), str(self.args.count // 2)
        if library == "java":
            return [*kafka.java_command(self.cluster.libs, "ShareConsumer", java_producer.JVM, self.libraries["java"]),
                    self.cluster.bootstrap, topic, group, str(row.members), row.mode, count, before,
                    str(JOIN_MS)]
        return [str(self.program), "-b", self.cluster.bootstrap, "-t", topic, "-g", group, "-n", str(row.members), "-c", count,
                "-w", before, "-j", str(JOIN_MS), *(("-e",) if row.mode == "explicit" else ())]

    def run(self, row, library):
        run = perf.measure(self.command(row, library), self.libraries[library], timeout_s=300)
        polls = POLLS.search(run.output)
        if run.status != 0 or run.summary is None or polls is None:
            sys.exit(f"{row.name}, {library}: exit status {run.status}\n{run.output[-3000:]}")
        return {"rate": run.rate, "cpu_us": run.cpu_us, "per_poll": run.messages / max(1, int(polls[1])),
                "threads": run.threads_max, "rss_mib": run.rss_kib_max / 1024}

    def measure(self, row):
        found = {library: [] for library in self.libraries}
        for round_number in range(-1, self.args.rounds):
            for library in list(self.libraries)[:: -1 if round_number % 2 else 1]:
                figures = self.run(row, library)
                # The first round warms the broker up.
                if round_number >= 0:
                    found[library].append(figures)
        self.runs[row.name] = {
            library: {"rounds": {figure: [run[figure] for run in runs] for figure in runs[0]}}
            for library, runs in found.items()}
        report(row.name, self.runs[row.name])


def report(name, libraries):
    for library, found in libraries.items():
        rate, cpu, per_poll, threads, rss = (statistics.median(values) for values in found["rounds"].values())
        print(f"{name:<34} {library:<11} {rate:>9.0f} {cpu:>10.3f} {per_poll:>8.0f} {threads:>7.0f} {rss:>7.0f}")
    first, *others = libraries
    for other in others:
        ratios = [pairs.ratio(libraries[first], libraries[other], figure) for figure in ("rate", "cpu_us", "per_poll", "threads",
                                                                                       "rss_mib")]
        print(f"{name:<34} {'to ' + other:<14} {ratios[0]:>6.2f} {ratios[1]:>10.2f} {ratios[2]:>8.2f} {ratios[3]:>7.2f} "
              f"{ratios[4]:>7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Compare share consumers with librdkafka's and the Java client's")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=1_000_000, help="records that a run measures")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--only", action="append", default=[], help="rows whose name contains this")
    parser.add_argument("--lib", type=Path, default=kafka.ROOT / "build" / "lib", help="folder of the library")
    parser.add_argument("--locks", type=int, help="share.partition.max.record.locks of the groups")
    parser.add_argument("--no-java", action="store_true")
    args = parser.parse_args()
    try:
        libraries = {"ottla": args.lib.resolve(), "librdkafka": reference.fetch()}
        cluster = kafka.Cluster(args.brokers, config=compare.BROKER, logs=compare.memory_logs("share"))
    except (kafka.Unavailable, reference.Unavailable) as e:
        sys.exit(f"share.py: {e}")
    if not args.no_java:
        libraries["java"] = compiled_java(cluster.libs)
    with cluster:
        bench = Bench(cluster, libraries, args)
        locks = args.locks or "the broker's limit of"
        print(f"Kafka {cluster.version}, {args.brokers} broker(s), {PARTITIONS} partitions; {args.count} records, "
              f"{args.rounds} rounds, {locks} record locks\n{HEAD}", flush=True)
        for row in ROWS:
            if not args.only or any(part in row.name for part in args.only):
                bench.measure(row)


if __name__ == "__main__":
    main()
