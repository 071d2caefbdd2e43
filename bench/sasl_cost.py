"""The cost of SASL_PLAINTEXT beside PLAINTEXT on established connections: the same library, brokers and workload, in pairs.

    make bench-sasl [BENCH_ARGS=...]       or, after make lib:
    python3 bench/sasl_cost.py [--pairs 20] [--count 3000000] [--only NAME]... [--lib FOLDER]

SASL adds nothing to a connection after the authentication, so CPU time per message must be equal. bench_producer and
bench_consumer measure it from the first message to the last; the producer's time includes the authentication, some
milliseconds for the iterations of SCRAM. The two sides of a pair take turns in going first. Printed are
the medians of each side, and the median, least and greatest ratio of the pairs with the number of pairs in which SASL took
less: half of them when the two differ by noise alone. Exit status 1 when a median ratio is above 1.05.
"""

import argparse
import statistics
import sys
from pathlib import Path

import real_kafka  # noqa: F401
import compare
import kafka
import perf
import sasl
import support

MECHANISM = "SCRAM-SHA-256"
ALLOWED = 1.05
# Program, its arguments, and messages as a part of --count.
WORKLOADS = {
    "producer": ("bench/bench_producer.c", (), 1.0),
    "producer, one at a time": ("bench/bench_producer.c", ("-1", "-X", "linger.ms=0", "-X", "acks=all"), 0.005),
    "consumer": ("bench/bench_consumer.c", ("-m", "poll"), 1.0),
}


def listeners(_):
    """One listener with a mechanism and one without SASL, which differ in nothing else, for Cluster(listeners=listeners)."""
    module = f"{sasl.MODULES}.scram.ScramLoginModule required;"
    return [kafka.Listener("OPEN", "PLAINTEXT"), kafka.Listener("SASL", "SASL_PLAINTEXT", {
        "sasl.enabled.mechanisms": MECHANISM, f"{MECHANISM.lower()}.sasl.jaas.config": module})]


class Sides:
    """The two ways to reach the brokers, and the runs of one workload on each."""

    def __init__(self, cluster, lib):
        self.cluster, self.lib = cluster, lib
        own = ["security.protocol=sasl_plaintext", *sasl.by_password(MECHANISM)]
        self.reach = {"PLAINTEXT": ["-b", cluster.bootstrap_of("OPEN")],
                      "SASL_PLAINTEXT": ["-b", cluster.bootstrap_of("SASL"), *(flag for one in own for flag in ("-X", one))]}

    def measure(self, side, program, topic, arguments, count):
        command = [str(support.compiled(program)), *self.reach[side], "-t", topic, "-c", str(count), *arguments]
        run = perf.measure(command, self.lib)
        if run.status != 0 or run.summary is None:
            sys.exit(f"{side}: {' '.join(command)}\nexit status {run.status}\n{run.output[-3000:]}")
        return run

    def topic(self):
        name = support.topic_name("sasl-cost")
        self.cluster.create_topic(name, 2, replication=1)
        return name

    def compare(self, name, pairs, count):
        """Runs the pairs of one workload and prints them; returns the median ratio."""
        program, arguments, share = WORKLOADS[name]
        count = max(1, round(count * share))
        consumes = "consumer" in program
        filled = self.topic() if consumes else None
        if consumes:
            self.measure("PLAINTEXT", "bench/bench_producer.c", filled, (), count)
        costs = {side: [] for side in self.reach}
        # The first pair warms the brokers up.
        for number in range(pairs + 1):
            for side in sorted(self.reach, reverse=number % 2 == 1):
                topic = filled or self.topic()
                run = self.measure(side, program, topic, arguments, count)
                if number > 0:
                    costs[side].append(run.cpu_us)
                if not consumes:
                    self.cluster.delete_topic(topic)
        ratios = [own / plain for own, plain in zip(costs["SASL_PLAINTEXT"], costs["PLAINTEXT"], strict=True)]
        medians = ", ".join(f"{side} {statistics.median(found):.3f}" for side, found in costs.items())
        ratio = statistics.median(ratios)
        print(f"{name:<26} CPU us/msg: {medians}; ratio {ratio:.3f}, from {min(ratios):.3f} to "
              f"{max(ratios):.3f}, less in {sum(each < 1 for each in ratios)} of {len(ratios)}", flush=True)
        return ratio


def main():
    parser = argparse.ArgumentParser(description="Compare the CPU time of SASL_PLAINTEXT with that of PLAINTEXT")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--count", type=int, default=3_000_000)
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="this workload; again for another one")
    parser.add_argument("--lib", type=Path, default=kafka.ROOT / "build" / "lib", help="folder of the library")
    args = parser.parse_args()
    try:
        cluster = kafka.Cluster(1, config=compare.BROKER, logs=compare.memory_logs("sasl-cost"), listeners=listeners)
    except kafka.Unavailable as e:
        sys.exit(f"sasl_cost.py: {e}")
    with cluster:
        sasl.create_users(cluster)
        sides = Sides(cluster, args.lib.resolve())
        ratios = [sides.compare(name, args.pairs, args.count) for name in args.only or WORKLOADS]
    sys.exit(max(ratios) > ALLOWED)


if __name__ == "__main__":
    main()
