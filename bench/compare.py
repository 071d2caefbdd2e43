"""The library beside librdkafka and Kafka's Java client, in turns, on the same brokers.

    make bench                          or, after make lib examples:
    python3 bench/compare.py [--rounds 5] [--count 500000] [--only NAME]...
    make bench BENCH_ARGS="--only consumer,"    only the rows of consumers
    make bench BENCH_ARGS=--publish     writes docs/BENCHMARKS.md and docs/bench.svg, too
    make bench BENCH_ARGS="--build NAME=FOLDER --no-reference --no-java"    two builds of the library

One program, rdkafka_performance (the runs of librdkafka's introduction) or
bench_producer and bench_consumer (the rows of workloads.py), runs on either library
through LD_LIBRARY_PATH; the Java client has its own (java_producer.py). They take turns
(A B J, J B A, ...), so that a slow moment of the machine hits all, and rows whose rates
are held against each other take turns, too. Reported for
each run, and as medians: messages per second from the program's own summary line,
user and system CPU time per message, the most threads and the most memory seen.
A ratio is ours to another's in the same round, and the median of that: a machine that
is slower in one round than in another changes both sides. bench.svg draws that of CPU time.
For another build of the library (--build) the least and the greatest ratio follow, and the number of rounds in which
ours was the lower one: a difference between builds is often no larger than the rounds' own.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import real_kafka  # noqa: F401
import chart
import java_producer
import kafka
import pairs
import perf
import publish
import reference
import support
import tls
from workloads import CONSUMERS, MORE_ROUNDS, PRODUCERS, WORKLOADS

PORT = 9092

# Reading back: options after the topic's name.
CONSUME = {
    "read, one partition": ["-C", "-p", "1", "-o", "beginning"],
    "read, one partition, batches": ["-C", "-p", "1", "-o", "beginning", "-B", "1000"],
    "read, group": ["-G", "GROUP", "-X", "auto.offset.reset=earliest"],
}

# Where files are kept in memory, and how much of it a run's brokers may fill before they delete what was read.
MEMORY, ROOM = Path("/dev/shm"), 12 << 30
# Bytes that brokers store for a record besides its value, about.
RECORD_MORE = 15
# Runs of a row that are not measured.
WARM_UPS = 3
# By default brokers keep a topic's files for a minute after its deletion.
BROKER = {"log.segment.delete.delay.ms": 500}


def memory_logs(name):
    """Returns a folder in memory for brokers' logs, or none without room: how a disk fares is not what is measured."""
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM
    return MEMORY / f"ottla-bench-{name}" if roomy else None


def cluster_of(brokers, port):
    """Returns brokers that keep their logs in memory, where there is room."""
    return kafka.Cluster(brokers, base_port=port, config=BROKER, logs=memory_logs(port), listeners=Materials.of)


class Materials(tls.Materials):
    """The certificates of the latest cluster."""

    made = None

    @classmethod
    def of(cls, folder):
        """Makes the certificates in a cluster's folder; returns the listener with TLS."""
        cls.made = cls(folder)
        return [tls.listener("TLS", cls.made.broker.keystore)]


def stored_max(workload, count, rounds, libraries):
    """Returns about how many bytes brokers store at most for a producer's row. A topic that is not warm is deleted after
    each run."""
    runs = WARM_UPS + rounds * MORE_ROUNDS * libraries if workload.warm else 1
    return runs * round(count * workload.share) * (workload.size + RECORD_MORE) * workload.replicas


def touch(folder, size):
    """Has memory for so many bytes of files fetched and given back. A virtual machine's is fetched from its host when it
    is first touched, which may take longer than all that is measured, and falls on whoever happens to run then."""
    path = folder / f"touched-{os.getpid()}"
    zeros = bytes(1 << 20)
    try:
        with open(path, "wb", buffering=0) as file:
            for _ in range(0, size, len(zeros)):
                file.write(zeros)
    finally:
        path.unlink(missing_ok=True)


HEAD = f"{'':<30} {'':<10} {'msgs/s':>9} {'CPU us/msg':>10} {'threads':>7} {'RSS MiB':>7} {'wall s':>6} {'failed':>6}"


def line(name, library, run):
    return (f"{name:<30} {library:<10} {run.rate:>9} {run.cpu_us:>10.3f} {run.threads_max:>7} "
            f"{run.rss_kib_max / 1024:>7.0f} {run.wall_s:>6.2f} {run.failed:>6}")


@dataclass(frozen=True)
class Row:
    """One workload. `make_command` returns a new command and its topic for each run, `make_java` the same for the Java
    client; `after` is called with the topic after each run. `stores`: bytes that a run's brokers store, about.
    `varies`: its runs differ much from each other."""

    name: str
    make_command: Callable
    after: Callable | None = None
    make_java: Callable | None = None
    warm_ups: int = WARM_UPS
    stores: int = 0
    varies: bool = False


class Comparison:
    """The runs so far. `libraries`: name of each to its folder, ours first. `java`: whether the Java client runs, too."""

    def __init__(self, cluster, program, libraries, java, count, rounds):
        self.cluster = cluster
        self.program = program
        self.libraries = libraries
        self.java = java
        self.count = count
        self.rounds = rounds
        self.results = {}

    def topic(self, partitions=2, replicas=1):
        name = f"test2-{uuid.uuid4().hex[:8]}"
        self.cluster.create_topic(name, partitions=partitions, replication=replicas)
        return name

    def run(self, *rows):
        """Runs rows in alternation, all of them in each round, so that compared rows run close together."""
        more = len(rows) > 1 or any(row.varies for row in rows)
        rounds = self.rounds * MORE_ROUNDS if more else self.rounds
        for row in rows:
            self.warm_up(row)
        # Rows that are compared with each other have their turns side by side.
        turns = [(row, library, row.make_command, lambda command, folder=folder: perf.measure(command, folder))
                 for library, folder in self.libraries.items() for row in rows]
        turns += [(row, "java", row.make_java, java_producer.measure) for row in rows if row.make_java and self.java]
        for row, library, _, _ in turns:
            self.results.setdefault(row.name, {})[library] = []
        for round_number in range(rounds):
            for turn in turns if round_number % 2 == 0 else reversed(turns):
                self.take(*turn)

    def warm_up(self, row):
        """The brokers' first runs of a kind are slow, until the JVM has compiled them."""
        for _ in range(row.warm_ups):
            command, topic = row.make_command()
            perf.measure(command, next(iter(self.libraries.values())))
            if row.after:
                row.after(topic)

    def take(self, row, library, make, measure):
        """One run."""
        command, topic = make()
        if self.cluster.logs.is_relative_to(MEMORY):
            touch(MEMORY, row.stores)
        run = measure(command)
        if run.status != 0 or run.summary is None:
            sys.exit(f"{library}: {' '.join(command)}\nexit status {run.status}\n{run.output[-3000:]}")
        print(line(row.name, library, run), flush=True)
        print(f"  {run.summary.group(0).strip()}", flush=True)
        self.results[row.name][library].append(run)
        if row.after:
            # All messages in it are alike, those before the measured ones, too.
            run.stored = self.cluster.stored_bytes(topic) / self.cluster.message_count(topic)
            row.after(topic)

    def reach(self, workload):
        """Returns the options for the addresses of the workload's listener."""
        if not workload.tls:
            return ["-b", self.cluster.bootstrap]
        return ["-b", self.cluster.bootstrap_of("TLS"),
                *(option for setting in Materials.made.properties() for option in ("-X", setting))]

    def produce_command(self, topic, options):
        return [*perf.produce_command(self.program, topic, options, self.count), "-b", self.cluster.bootstrap]

    def produce(self, name, options):
        def command():
            topic = self.topic()
            return self.produce_command(topic, options), topic
        # The brokers' logs stay small, and no run reads another's files.
        self.run(Row(name, command, after=self.cluster.delete_topic))

    def produce_workloads(self, workloads):
        """Runs workloads of producers together."""
        warm = [self.topic(w.partitions) if w.warm else None for w in workloads]
        self.run(*map(self.produce_row, workloads, warm))
        for topic in filter(None, warm):
            self.cluster.delete_topic(topic)

    def produce_row(self, workload, warm):
        program = support.compiled("bench/bench_producer.c")
        count = workload.messages or max(100, round(self.count * workload.share))

        def command():
            topic = warm or self.topic(workload.partitions, workload.replicas)
            return [str(program), *self.reach(workload), "-t", topic, "-c", str(count), *workload.arguments], topic

        def java():
            topic = self.topic(workload.partitions, workload.replicas)
            return java_producer.command(self.cluster, topic, count, workload.size, workload.java,
                                         options=workload.java_options), topic
        after = None if warm else self.cluster.delete_topic
        # Room for what the brokers store beside the records, and for pages that other processes take meanwhile.
        stores = 2 * count * (workload.size + 50) * workload.replicas
        return Row(workload.name, command, after, None if workload.java is None else java, stores=stores,
                   varies=workload.varies)

    def consume(self, name, options, topic):
        def command():
            group = f"bench-{uuid.uuid4().hex[:8]}"
            own = [group if option == "GROUP" else option for option in options]
            return [str(self.program), "-b", self.cluster.bootstrap, "-t", topic, "-c", str(self.count), *own], topic
        self.run(Row(name, command))

    def consume_workload(self, workload):
        program = support.compiled("bench/bench_consumer.c")
        topic = self.topic(workload.partitions)
        if workload.filled:
            self.fill(topic, workload)
        count = workload.counted(self.count)
        command = [str(program), *self.reach(workload), "-t", topic, "-m", workload.mode, "-c", str(count)]
        warm_ups = 0 if workload.counts else 3 if workload.tls else 1
        self.run(Row(workload.name, lambda: (command, topic), warm_ups=warm_ups))
        self.cluster.delete_topic(topic)

    def fill(self, topic, workload):
        """Fills a topic with librdkafka, if it is there: with the batches that it makes."""
        program, count = support.compiled("bench/bench_producer.c"), round(workload.filled * self.count)
        command = [str(program), "-b", self.cluster.bootstrap, "-t", topic, "-c", str(count), "-s", str(workload.size),
                   "-X", f"compression.codec={workload.codec}", *(("-k",) if workload.keyed else ())]
        folder = self.libraries.get("reference") or next(iter(self.libraries.values()))
        run = perf.measure(command, folder, timeout_s=600)
        stored = self.cluster.message_count(topic)
        if run.status != 0 or stored != count:
            sys.exit(f"{topic} holds {stored} messages, not {count}\n{run.output[-3000:]}")

    def filled_topic(self):
        """A topic whose second partition holds `count` messages, for all readers alike."""
        topic = self.topic()
        options = perf.CLASSIC["one broker, acks 0"]
        folder = self.libraries.get("reference") or next(iter(self.libraries.values()))
        perf.measure(self.produce_command(topic, [*options, "-a", "1"]), folder)
        stored = self.cluster.end_offsets(topic)[1]
        if stored != self.count:
            sys.exit(f"{topic} holds {stored} messages, not {self.count}")
        return topic

    def medians(self):
        """Of each workload and library the figures: medians, and what each round found."""
        table = {}
        for name, runs in self.results.items():
            table[name] = {}
            for library, some in runs.items():
                rounds = {
                    "msgs_per_s": [r.rate for r in some],
                    "cpu_us_per_msg": [r.cpu_us for r in some],
                    "rss_mib_max": [r.rss_kib_max / 1024 for r in some],
                    "p50_us": [r.p50_us for r in some],
                    "p99_us": [r.p99_us for r in some],
                    "held_max": [r.held_max for r in some],
                    "stored_bytes_per_msg": [r.stored for r in some],
                }
                table[name][library] = {figure: statistics.median(found) for figure, found in rounds.items()} | {
                    "threads_max": max(r.threads_max for r in some),
                    "failed": sum(r.failed for r in some),
                    "rounds": rounds,
                }
        return table


def report(table):
    print(f"\nmedians\n{'':<30} {'':<10} {'msgs/s':>9} {'CPU us/msg':>10} {'threads':>7} {'RSS MiB':>7}")
    for name, libraries in table.items():
        for library, m in libraries.items():
            print(f"{name:<30} {library:<10} {m['msgs_per_s']:>9.0f} {m['cpu_us_per_msg']:>10.3f} "
                  f"{m['threads_max']:>7} {m['rss_mib_max']:>7.0f}")
        ours = libraries["ottla"]
        for other, theirs in libraries.items():
            if other == "ottla":
                continue
            label = "ratio" if other == "reference" else f"to {other}"
            rate, cpu, rss = (pairs.ratio(ours, theirs, key) for key in ("msgs_per_s", "cpu_us_per_msg", "rss_mib_max"))
            threads = ours["threads_max"] / theirs["threads_max"]
            print(f"{name:<30} {label:<10} {rate:>9.2f} {cpu:>10.2f} {threads:>7.2f} {rss:>7.2f}")
            if ours["p50_us"]:
                p50, p99 = pairs.ratio(ours, theirs, "p50_us"), pairs.ratio(ours, theirs, "p99_us")
                print(f"  took us: p50 {ours['p50_us']:.0f} / {theirs['p50_us']:.0f} = {p50:.2f}, "
                      f"p99 {ours['p99_us']:.0f} / {theirs['p99_us']:.0f} = {p99:.2f}")
            if other not in ("reference", "java"):
                report_pairs(ours, theirs)
    print("\ngoals (ours / librdkafka's, but where it says otherwise)")
    for name, goal, found, sign, limit, met in judged(table):
        print(f"{name:<30} {goal:<12} {found:>6.2f}  wanted {sign} {limit:<5} {'met' if met else 'MISSED'}")


def report_pairs(ours, theirs):
    """Prints the ratios to another build of the library in all rounds."""
    for figure in ("msgs_per_s", "cpu_us_per_msg", "p50_us"):
        found = pairs.ratios(ours, theirs, figure)
        if found:
            lower = sum(each < 1 for each in found)
            print(f"  {figure}: {statistics.median(found):.3f}, from {min(found):.3f} to {max(found):.3f}, "
                  f"lower in {lower} of {len(found)} rounds")


# The names of workloads.py's goals among the figures.
GOALS = {"rate": "msgs_per_s", "cpu": "cpu_us_per_msg", "p50": "p50_us", "p99": "p99_us",
         "stored": "stored_bytes_per_msg", "rss": "rss_mib_max"}


def judged(table):
    """For each goal: workload, goal, what was found, the comparison's sign, the limit, whether it is met."""
    for workload in WORKLOADS:
        libraries = table.get(workload.name, {})
        ours, theirs = libraries.get("ottla"), libraries.get("reference")
        if ours is None or theirs is None:
            continue
        for goal, limit in workload.all_goals.items():
            if goal == "threads":
                found, goal = ours["threads_max"] - workload.application_threads, "own threads"
            else:
                found = pairs.ratio(ours, theirs, GOALS[goal])
            at_least = goal == "rate"
            yield workload.name, goal, found, ">=" if at_least else "<=", limit, \
                found >= limit if at_least else found <= limit
        alone = table.get(workload.rate_of, {}).get("ottla")
        if alone:
            # Not against librdkafka: against ourselves.
            found = pairs.ratio(ours, alone, "msgs_per_s")
            yield workload.name, "rate to own", found, ">=", workload.rate_part, found >= workload.rate_part


def groups(workloads):
    """Workloads that run together: each with those whose rate is held against its own."""
    by_base = {}
    for workload in workloads:
        by_base.setdefault(workload.rate_of or workload.name, []).append(workload)
    return list(by_base.values())


def build(text):
    """A build of the library, NAME=FOLDER on the command line."""
    name, sign, folder = text.partition("=")
    if not (name and sign) or name in ("ottla", "reference", "java"):
        raise argparse.ArgumentTypeError(f"{text} is not NAME=FOLDER with a name of its own")
    if not (Path(folder) / "librdkafka.so.1").exists():
        raise argparse.ArgumentTypeError(f"{folder} contains no librdkafka.so.1")
    return name, Path(folder).resolve()


def main():
    parser = argparse.ArgumentParser(description="Benchmark the library beside librdkafka")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=perf.COUNT, help="messages in each run")
    parser.add_argument("--only", action="append", metavar="NAME", help="only workloads whose name contains this")
    parser.add_argument("--lib", type=Path, default=kafka.ROOT / "build" / "lib", help="folder of the library")
    parser.add_argument("--program", type=Path, default=kafka.ROOT / "build" / "bin" / "rdkafka_performance")
    parser.add_argument("--brokers", type=int, default=2)
    parser.add_argument("--port", type=int, default=PORT, help="the first broker's")
    parser.add_argument("--no-java", action="store_true", help="without Kafka's Java client")
    parser.add_argument("--build", action="append", type=build, default=[], metavar="NAME=FOLDER",
                        help="another build of the library, which takes turns with that in --lib")
    parser.add_argument("--no-reference", action="store_true", help="without librdkafka")
    parser.add_argument("--publish", nargs="?", type=Path, const=publish.FOLDER, metavar="FOLDER",
                        help="write BENCHMARKS.md and bench.svg into this folder (default docs)")
    args = parser.parse_args()
    if args.publish and (args.build or args.no_reference):
        parser.error("--publish writes about the library and librdkafka: not with --build or --no-reference")

    def wanted(name):
        return not args.only or any(part in name for part in args.only)

    try:
        libraries = {"ottla": args.lib.resolve(), **dict(args.build)}
        if not args.no_reference:
            libraries["reference"] = reference.fetch()
        cluster = cluster_of(args.brokers, args.port)
    except (reference.Unavailable, kafka.Unavailable) as e:
        sys.exit(f"compare.py: {e}")
    for workload in PRODUCERS:
        if wanted(workload.name) and stored_max(workload, args.count, args.rounds, len(libraries)) > ROOM:
            sys.exit(f"compare.py: the topic of \"{workload.name}\" grows beyond {ROOM >> 30} GiB with {len(libraries)} "
                     f"libraries and {args.rounds} rounds: fewer --rounds")
    for needed in (args.program, args.lib / "librdkafka.so.1"):
        if not needed.exists():
            sys.exit(f"compare.py: {needed} is not there: make lib examples")

    with cluster:
        print(f"Kafka {cluster.version}, {args.brokers} brokers; {reference.WHEEL}; {args.count} messages, "
              f"{args.rounds} rounds\n{HEAD}", flush=True)
        comparison = Comparison(cluster, args.program.resolve(), libraries, not args.no_java, args.count, args.rounds)
        for name, options in filter(lambda item: wanted(item[0]), perf.CLASSIC.items()):
            comparison.produce(name, options)
        for together in groups(w for w in PRODUCERS if wanted(w.name)):
            comparison.produce_workloads(together)
        readers = {name: options for name, options in CONSUME.items() if wanted(name)}
        if readers:
            topic = comparison.filled_topic()
            for name, options in readers.items():
                comparison.consume(name, options, topic)
        for workload in CONSUMERS:
            if wanted(workload.name) and not workload.brokers:
                comparison.consume_workload(workload)
    for workload in CONSUMERS:
        if wanted(workload.name) and workload.brokers:
            with cluster_of(workload.brokers, args.port) as comparison.cluster:
                comparison.consume_workload(workload)
    table = comparison.medians()
    report(table)
    kafka.WORK.mkdir(parents=True, exist_ok=True)
    (kafka.WORK / "compare.json").write_text(json.dumps(table, indent=2) + "\n")
    (kafka.WORK / "bench.svg").write_text(chart.draw(table), encoding="utf-8")
    if args.publish:
        publish.write(args.publish, table, list(judged(table)), cluster, args)


if __name__ == "__main__":
    main()
