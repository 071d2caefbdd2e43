"""A long run under faults: produce steadily while brokers die, freeze and restart.

    make soak-kafka MINUTES=30    or
    python3 tests/real/soak.py --minutes 30 [--seed N]

Prints the seed first; the same seed gives the same order of faults. The
producer is idempotent: at the end every acknowledged message must be stored
where its report said, once, and in order. Exit status 1
when one is not.
"""

import argparse
import random
import sys
import time
import unittest

import support
from steady import FOREVER, Run, complaints

PER_SECOND = 2000
PARTITIONS = 6


def kill(cluster, node, rng):
    cluster.kill(node)
    time.sleep(rng.uniform(0.5, 8))
    cluster.start_node(node)


def freeze(cluster, node, rng):
    cluster.freeze(node)
    time.sleep(rng.uniform(0.5, 12))
    cluster.thaw(node)


def restart(cluster, node, _rng):
    cluster.restart(node)


FAULTS = [kill, freeze, restart]


def soak(minutes, seed):
    rng = random.Random(seed)
    support.need_library()
    support.need_program("kcat")
    cluster = support.cluster(3)
    topic = support.topic_name("soak")
    cluster.create_topic(topic, PARTITIONS, replication=3, config={"min.insync.replicas": 2})
    run = Run(cluster, topic, FOREVER, PER_SECOND, "enable.idempotence=true")
    begin = time.monotonic()
    while time.monotonic() - begin < minutes * 60:
        fault = rng.choice(FAULTS)
        node = rng.choice(list(cluster.nodes()))
        before = len(run.acked)
        print(f"{time.monotonic() - begin:7.0f} s  {before:8d} acknowledged  {fault.__name__} node {node}", flush=True)
        fault(cluster, node, rng)
        cluster.wait_until_up()
        # It must go on after every fault, not only at the end.
        run.wait_for(before + PER_SECOND, timeout_s=120)
        time.sleep(rng.uniform(0, 3))
    run.stop()
    return run, complaints(cluster, topic, run, idempotent=True)


def main():
    parser = argparse.ArgumentParser(description="Produce for a long time while brokers fail")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    try:
        run, found = soak(args.minutes, args.seed)
    except unittest.SkipTest as e:
        sys.exit(f"soak.py: {e}")
    except AssertionError as e:
        sys.exit(f"soak.py: seed {args.seed}: {e}")
    for text in found:
        print(text)
    print(f"{run.produced} produced, {len(run.acked)} acknowledged, {len(found)} complaints (seed {args.seed})")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
