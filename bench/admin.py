"""Two large admin calls on this library and on librdkafka 2.16.0, on the same three real brokers, in turns.

    make bench-admin [BENCH_ARGS=...]       or, after make lib:
    python3 bench/admin.py [--rounds 10] [--groups 1000] [--partitions 10000] [--lib FOLDER]

DescribeConsumerGroups of 1,000 groups, and ListOffsets of 10,000 partitions in ten topics. Both libraries run
tests/real/admin_client.c, which takes the time from the call to its event, and the CPU time of the process in between. Each
round starts a process on each library, which take turns in going first. Its first call also connects and looks for
coordinators or leaders; the calls after that are the second row. Requests are those that the statistics count,
of all APIs. Printed are medians of the rounds and of the ratios of each round.
"""

import argparse
import os
import statistics
import sys
from pathlib import Path

import real_kafka  # noqa: F401
import admin_calls
import compare
import kafka
import pairs
import reference
import support

TOPICS = 10
# After the first: the calls of one process.
LATER = 3
HEAD = f"{'call':<24} {'':<6} {'library':<11} {'ms':>9} {'CPU ms':>8} {'requests':>9}   requests by API"


class Client(admin_calls.Session):
    """The program on one of the libraries."""

    def __init__(self, cluster, folder):
        super().__init__([support.compiled(admin_calls.PROGRAM), cluster.bootstrap, "statistics.interval.ms=100"],
                         env={**os.environ, "LD_LIBRARY_PATH": str(folder), "LC_ALL": "C"})
        self.counted = {}

    def requests(self):
        """Returns the requests by API since the last call."""
        # Those of the second are later than everything before.
        self.call("Statistics")
        (found,) = self.call("Statistics")["rows"]
        total = {}
        for broker in found["brokers"].values():
            for api, count in broker["req"].items():
                total[api] = total.get(api, 0) + count
        since = {api: count - self.counted.get(api, 0) for api, count in total.items()}
        self.counted = total
        return {api: count for api, count in since.items() if count}

    def measure(self, operation, arguments):
        """Returns (rows, milliseconds, CPU milliseconds, requests) of one call."""
        self.requests()
        result = self.call(operation, *arguments, timeout=60_000)
        if result["code"] or any(row["code"] for row in result["rows"]):
            sys.exit(f"{operation} failed: {result['code']} {result['text']} "
                     f"{[row for row in result.get('rows', ()) if row['code']][:3]}")
        return result["rows"], result["ms"], result["cpu_us"] / 1000, self.requests()


class Figures:
    """The figures of one call on one library, a list with the value of each round."""

    def __init__(self):
        self.rounds = {"ms": [], "cpu_ms": []}
        self.requests = {}

    def add(self, ms, cpu_ms, requests):
        self.rounds["ms"].append(ms)
        self.rounds["cpu_ms"].append(cpu_ms)
        self.requests = requests

    def row(self):
        medians = [statistics.median(self.rounds[figure]) for figure in ("ms", "cpu_ms")]
        some = ", ".join(f"{api} {count}" for api, count in sorted(self.requests.items()))
        return f"{medians[0]:>9.1f} {medians[1]:>8.1f} {sum(self.requests.values()):>9}   {some}"


def prepare(cluster, groups, partitions):
    """Creates groups with a committed offset, and topics; returns the arguments of the two calls."""
    topics = [f"admin-{number}" for number in range(TOPICS)]
    each = partitions // TOPICS
    for topic in topics:
        cluster.create_topic(topic, each, replication=1)
    names = [f"group-{number}" for number in range(groups)]
    ours = admin_calls.Ours(cluster.bootstrap)
    result = ours.call("AlterConsumerGroupOffsets", *(f"{name}|{topics[0]}:0:0" for name in names), timeout=60_000)
    if result["code"] or any(row["code"] for row in result["rows"]):
        sys.exit(f"the groups could not be created: {result['text']}")
    ours.close()
    return {"DescribeConsumerGroups": names, "ListOffsets": [f"{topic}|0-{each - 1}|-1" for topic in topics]}


def run_round(cluster, libraries, calls, figures, turn):
    order = list(libraries.items())
    for operation, arguments in calls.items():
        found = {}
        for library, folder in order if turn % 2 == 0 else reversed(order):
            client = Client(cluster, folder)
            rows, *first = client.measure(operation, arguments)
            later = [client.measure(operation, arguments)[1:] for _ in range(LATER)]
            client.close()
            figures[operation, "first", library].add(*first)
            ms, cpu_ms = (statistics.median(call[figure] for call in later) for figure in (0, 1))
            figures[operation, "later", library].add(ms, cpu_ms, later[-1][2])
            found[library] = admin_calls.in_order(rows)
        if len({len(rows) for rows in found.values()}) != 1 or found["ottla"] != found["librdkafka"]:
            sys.exit(f"{operation}: the libraries have different results")


def report(calls, libraries, figures):
    print(HEAD)
    for operation in calls:
        for when in ("first", "later"):
            for library in libraries:
                print(f"{operation:<24} {when:<6} {library:<11} {figures[operation, when, library].row()}")
            ours, theirs = (vars(figures[operation, when, library]) for library in libraries)
            ratios = {figure: pairs.ratio(ours, theirs, figure) for figure in ("ms", "cpu_ms")}
            print(f"{'':<24} {'':<6} {'ratio':<11} {ratios['ms']:>9.3f} {ratios['cpu_ms']:>8.3f}")


def main():
    parser = argparse.ArgumentParser(description="Compare two large admin calls with librdkafka's")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--lib", type=Path, default=kafka.ROOT / "build" / "lib", help="folder of the library")
    args = parser.parse_args()
    try:
        libraries = {"ottla": args.lib.resolve(), "librdkafka": reference.fetch()}
        cluster = kafka.Cluster(3, logs=compare.memory_logs("admin"))
    except (kafka.Unavailable, reference.Unavailable) as e:
        sys.exit(f"admin.py: {e}")
    with cluster:
        calls = prepare(cluster, args.groups, args.partitions)
        print(f"Kafka {cluster.version}, 3 brokers; {args.groups} groups, {args.partitions} partitions; {args.rounds} rounds",
              flush=True)
        figures = {(operation, when, library): Figures()
                   for operation in calls for when in ("first", "later") for library in libraries}
        # The first round warms the brokers up.
        run_round(cluster, libraries, calls, {key: Figures() for key in figures}, 0)
        for turn in range(args.rounds):
            run_round(cluster, libraries, calls, figures, turn)
    report(calls, libraries, figures)


if __name__ == "__main__":
    main()
