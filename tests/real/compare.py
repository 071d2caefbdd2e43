"""The library beside librdkafka: the same programs, in turns, on the same brokers.

    make bench                          or, after make lib examples:
    python3 tests/real/compare.py [--rounds 5] [--count 500000] [--only NAME]...

One program, rdkafka_performance (the runs of librdkafka's introduction) or
bench_producer (the rows of workloads.py), runs on either library through
LD_LIBRARY_PATH; the two take turns (A B, B A, ...), so that a slow moment of the
machine hits both. Reported for each run, and as medians: messages per second from
the program's own summary line, user and system CPU time per message, the most
threads and the most memory seen. A ratio is ours to the reference's; bench.svg
draws them.
"""

import argparse
import json
import statistics
import sys
import uuid
from pathlib import Path

import chart
import kafka
import perf
import reference
import support
from workloads import PRODUCERS

PORT = 9092

# Reading back: options after the topic's name.
CONSUME = {
    "read, one partition": ["-C", "-p", "1", "-o", "beginning"],
    "read, one partition, batches": ["-C", "-p", "1", "-o", "beginning", "-B", "1000"],
    "read, group": ["-G", "GROUP", "-X", "auto.offset.reset=earliest"],
}

HEAD = f"{'':<30} {'':<10} {'msgs/s':>9} {'CPU us/msg':>10} {'threads':>7} {'RSS MiB':>7} {'wall s':>6} {'failed':>6}"


def line(name, library, run):
    return (f"{name:<30} {library:<10} {run.rate:>9} {run.cpu_us:>10.3f} {run.threads_max:>7} "
            f"{run.rss_kib_max / 1024:>7.0f} {run.wall_s:>6.2f} {run.failed:>6}")


class Comparison:
    def __init__(self, cluster, program, libraries, count, rounds):
        self.cluster = cluster
        self.program = program
        self.libraries = libraries
        self.count = count
        self.rounds = rounds
        self.results = {}

    def topic(self, partitions=2):
        name = f"test2-{uuid.uuid4().hex[:8]}"
        self.cluster.create_topic(name, partitions=partitions, replication=1)
        return name

    def run(self, name, make_command, after=None):
        """Runs one workload in alternation; `make_command` gives a fresh command each time."""
        runs = {library: [] for library in self.libraries}
        # The brokers' first runs of a kind are slow, until the JVM has compiled them.
        command, topic = make_command()
        perf.measure(command, next(iter(self.libraries.values())))
        if after:
            after(topic)
        for round_number in range(self.rounds):
            order = list(self.libraries.items())
            for library, folder in order if round_number % 2 == 0 else reversed(order):
                command, topic = make_command()
                run = perf.measure(command, folder)
                if run.status != 0 or run.summary is None:
                    sys.exit(f"{library}: {' '.join(command)}\nexit status {run.status}\n{run.output[-3000:]}")
                print(line(name, library, run), flush=True)
                print(f"  {run.summary.group(0).strip()}", flush=True)
                runs[library].append(run)
                if after:
                    run.stored = self.cluster.stored_bytes(topic)
                    after(topic)
        self.results[name] = runs

    def produce(self, name, options):
        def command():
            topic = self.topic()
            return perf.produce_command(self.program, topic, options, self.count), topic
        # The brokers' disks stay small, and no run reads another's files.
        self.run(name, command, after=self.cluster.delete_topic)

    def produce_workload(self, workload):
        program = support.compiled("tests/real/bench_producer.c")
        count = max(100, round(self.count * workload.share))

        def command():
            topic = self.topic(workload.partitions)
            return [str(program), "-b", self.cluster.bootstrap, "-t", topic, "-c", str(count), *workload.options], topic
        self.run(workload.name, command, after=self.cluster.delete_topic)

    def consume(self, name, options, topic):
        def command():
            group = f"bench-{uuid.uuid4().hex[:8]}"
            own = [group if option == "GROUP" else option for option in options]
            return [str(self.program), "-t", topic, "-c", str(self.count), *own], topic
        self.run(name, command)

    def filled_topic(self):
        """A topic whose second partition holds `count` messages, for all readers alike."""
        topic = self.topic()
        options = perf.CLASSIC["one broker, acks 0"]
        folder = self.libraries.get("reference") or next(iter(self.libraries.values()))
        perf.measure(perf.produce_command(self.program, topic, [*options, "-a", "1"], self.count), folder)
        stored = self.cluster.end_offsets(topic)[1]
        if stored != self.count:
            sys.exit(f"{topic} holds {stored} messages, not {self.count}")
        return topic

    def medians(self):
        table = {}
        for name, runs in self.results.items():
            table[name] = {
                library: {
                    "msgs_per_s": statistics.median(r.rate for r in some),
                    "cpu_us_per_msg": statistics.median(r.cpu_us for r in some),
                    "threads_max": max(r.threads_max for r in some),
                    "rss_mib_max": statistics.median(r.rss_kib_max for r in some) / 1024,
                    "failed": sum(r.failed for r in some),
                    "p50_us": statistics.median(r.p50_us for r in some),
                    "p99_us": statistics.median(r.p99_us for r in some),
                    "stored_bytes": statistics.median(r.stored for r in some),
                } for library, some in runs.items()
            }
        return table


def report(table):
    print(f"\nmedians\n{'':<30} {'':<10} {'msgs/s':>9} {'CPU us/msg':>10} {'threads':>7} {'RSS MiB':>7}")
    for name, libraries in table.items():
        for library, m in libraries.items():
            print(f"{name:<30} {library:<10} {m['msgs_per_s']:>9.0f} {m['cpu_us_per_msg']:>10.3f} "
                  f"{m['threads_max']:>7} {m['rss_mib_max']:>7.0f}")
        if len(libraries) == 2:
            a, b = libraries.values()
            ratio = ratios(a, b)
            print(f"{name:<30} {'ratio':<10} {ratio['msgs_per_s']:>9.2f} {ratio['cpu_us_per_msg']:>10.2f} "
                  f"{ratio['threads_max']:>7.2f} {ratio['rss_mib_max']:>7.2f}")
            if a["p50_us"]:
                print(f"  latency us: p50 {a['p50_us']:.0f} / {b['p50_us']:.0f} = {ratio['p50_us']:.2f}, "
                      f"p99 {a['p99_us']:.0f} / {b['p99_us']:.0f} = {ratio['p99_us']:.2f}")
    judge(table)


# The names of workloads.py's goals among the figures.
GOALS = {"rate": "msgs_per_s", "cpu": "cpu_us_per_msg", "p50": "p50_us", "p99": "p99_us", "stored": "stored_bytes"}


def judge(table):
    """Says which goals are met and which are not."""
    print("\ngoals (ours / librdkafka's)")
    for workload in PRODUCERS:
        libraries = list(table.get(workload.name, {}).values())
        if len(libraries) != 2:
            continue
        ratio = ratios(*libraries)
        for goal, limit in workload.goals.items():
            found = ratio[GOALS[goal]]
            met = found >= limit if goal == "rate" else found <= limit
            sign = ">=" if goal == "rate" else "<="
            print(f"{workload.name:<30} {goal:<7} {found:>6.2f}  wanted {sign} {limit:<5} {'met' if met else 'MISSED'}")


def ratios(ours, theirs):
    return {key: ours[key] / theirs[key] if theirs[key] else float("nan") for key in ours}


def main():
    parser = argparse.ArgumentParser(description="Benchmark the library beside librdkafka")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=perf.COUNT, help="messages in each run")
    parser.add_argument("--only", action="append", metavar="NAME", help="only workloads whose name contains this")
    parser.add_argument("--lib", type=Path, default=kafka.ROOT / "build" / "lib", help="folder of the library")
    parser.add_argument("--program", type=Path, default=kafka.ROOT / "build" / "bin" / "rdkafka_performance")
    parser.add_argument("--brokers", type=int, default=2)
    args = parser.parse_args()
    try:
        libraries = {"ottla": args.lib.resolve(), "reference": reference.fetch()}
        cluster = kafka.Cluster(args.brokers, base_port=PORT)
    except (reference.Unavailable, kafka.Unavailable) as e:
        sys.exit(f"compare.py: {e}")
    for needed in (args.program, args.lib / "librdkafka.so.1"):
        if not needed.exists():
            sys.exit(f"compare.py: {needed} is not there: make lib examples")

    def wanted(name):
        return not args.only or any(part in name for part in args.only)

    with cluster:
        print(f"Kafka {cluster.version}, {args.brokers} brokers; {reference.WHEEL}; {args.count} messages, "
              f"{args.rounds} rounds\n{HEAD}", flush=True)
        comparison = Comparison(cluster, args.program.resolve(), libraries, args.count, args.rounds)
        for name, options in filter(lambda item: wanted(item[0]), perf.CLASSIC.items()):
            comparison.produce(name, options)
        for workload in PRODUCERS:
            if wanted(workload.name):
                comparison.produce_workload(workload)
        readers = {name: options for name, options in CONSUME.items() if wanted(name)}
        if readers:
            topic = comparison.filled_topic()
            for name, options in readers.items():
                comparison.consume(name, options, topic)
    table = comparison.medians()
    report(table)
    kafka.WORK.mkdir(parents=True, exist_ok=True)
    (kafka.WORK / "compare.json").write_text(json.dumps(table, indent=2) + "\n")
    (kafka.WORK / "bench.svg").write_text(chart.draw(table))


if __name__ == "__main__":
    main()
