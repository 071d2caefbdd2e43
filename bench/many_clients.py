"""A thousand idle consumers in one process: threads, resident memory, CPU time; beside librdkafka 2.16.0.

    make bench-many-clients [BENCH_ARGS=...]       or, after make lib:
    python3 bench/many_clients.py [--clients 1000] [--seconds 30] [--rounds 1] [--groups] [--lib FOLDER]

many_clients.c creates the consumers on two real brokers, each with one partition of an empty topic, waits until all have
reached its end, and measures. Each round runs it with shared I/O threads (`io.threads.shared=2`), with a thread for each
client (0), and on librdkafka. With --groups each consumer is the only member of a group of its own, with all 100
partitions. Printed are medians of the rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import real_kafka  # noqa: F401
import kafka
import reference
import support

PROGRAM = "bench/many_clients.c"
PARTITIONS = 100
# Fetch sessions that a broker keeps. Its default of 1,000 would leave none for the second process of a run: sessions outlive
# their clients, and each group member needs one on every broker.
SESSIONS = "max.incremental.fetch.session.cache.slots"
HEAD = (f"{'library':<12} {'shared':>6} {'ready s':>8} {'threads':>8} {'RSS MiB':>8} {'KiB/client':>10} {'CPU ms/s':>9} "
        f"{'switches/s':>10} {'destroy s':>9}")


def measure(cluster, topic, folder, properties, args):
    """Returns the figures of one process."""
    command = [support.compiled(PROGRAM), "-b", cluster.bootstrap, "-t", topic, "-p", PARTITIONS, "-n", args.clients,
               "-s", args.seconds, *(("-g",) if args.groups else ()), *(part for p in properties for part in ("-X", p))]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900,
                          env={**os.environ, "LD_LIBRARY_PATH": str(folder), "LC_ALL": "C"})
    if done.returncode:
        sys.exit(f"many_clients.py: exit status {done.returncode}: {done.stderr[-1000:]}")
    return json.loads(done.stdout)


def row(library, shared, rounds):
    found = {key: statistics.median(r[key] for r in rounds) for key in rounds[0] if key != "version"}
    each_kib = (found["rss_kib"] - found["rss_before_kib"]) / found["clients"]
    return (f"{library:<12} {shared:>6} {found['ready_s']:>8.1f} {found['threads']:>8.0f} {found['rss_kib'] / 1024:>8.1f} "
            f"{each_kib:>10.1f} {found['cpu_ms_per_s']:>9.1f} {found['switches_per_s']:>10.0f} {found['destroy_s']:>9.1f}")


def main():
    parser = argparse.ArgumentParser(description="Measure many idle consumers in one process")
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--groups", action="store_true", help="a group for each consumer, in place of assignments")
    parser.add_argument("--only", nargs="*", default=(), help="2, 0 or librdkafka")
    parser.add_argument("--lib", default=kafka.ROOT / "build" / "lib", help="folder of the library")
    args = parser.parse_args()
    try:
        kinds = {"2": ("ottla", args.lib, ["io.threads.shared=2"]), "0": ("ottla", args.lib, ["io.threads.shared=0"]),
                 "librdkafka": ("librdkafka", reference.fetch(), [])}
        cluster = kafka.Cluster(2, config={SESSIONS: 100 * args.clients})
    except (reference.Unavailable, kafka.Unavailable) as e:
        sys.exit(f"many_clients.py: {e}")
    chosen = [kind for kind in kinds if not args.only or kind in args.only]
    rounds = {kind: [] for kind in chosen}
    with cluster:
        topic = support.topic_name("idle")
        cluster.create_topic(topic, PARTITIONS, replication=1)
        print(f"Kafka {cluster.version}, 2 brokers; {args.clients} consumers, {args.seconds} s, {args.rounds} rounds",
              flush=True)
        for number in range(args.rounds):
            for kind in chosen if number % 2 == 0 else reversed(chosen):
                _, folder, properties = kinds[kind]
                rounds[kind].append(measure(cluster, topic, folder, properties, args))
    print(HEAD)
    for kind in chosen:
        library, _, properties = kinds[kind]
        print(row(library, kind if properties else "-", rounds[kind]))
    (kafka.WORK / "many_clients.json").write_text(json.dumps(rounds, indent=2) + "\n")


if __name__ == "__main__":
    main()
