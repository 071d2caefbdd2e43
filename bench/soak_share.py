"""A share group of ten members that join, leave, are killed and frozen while brokers are killed, frozen and restarted.

    make soak-share [MINUTES=10] [SOAK_ARGS=...]    or
    python3 bench/soak_share.py [--minutes 10] [--members 10] [--per-second 1000] [--seed N] [--no-faults]

Three brokers, of which two must have a record, and the state of the group, before it is acknowledged; one fault of a broker
follows another. share_groups.py has the members and the checks: every record is processed, and a confirmed acceptance is
final. Prints the seed first; the same seed results in the same order of events. Exit status 1 when a check fails.
"""

import argparse
import random
import sys
import threading
import time
import unittest

import real_kafka  # noqa: F401
import broker_faults
import kafka
import share_groups
import support

KINDS = [broker_faults.kill, broker_faults.freeze, broker_faults.stop]
BROKERS = {**share_groups.BROKERS, "share.coordinator.state.topic.min.isr": 2, "leader.imbalance.check.interval.seconds": 15,
           "leader.imbalance.per.broker.percentage": 1, "unclean.leader.election.enable": "false"}
# Between two faults replicas catch up.
CALM_S = (5, 20)
SETTLE_S = 150


class Faults(threading.Thread):
    """Faults of the brokers, one after the other, until `calm`.

    A broker that this thread has started ends with it (kafka.end_with_parent), so it lives until `end`.
    """

    def __init__(self, cluster, seed):
        super().__init__()
        self.cluster = cluster
        self.rng = random.Random(seed)
        self.over = threading.Event()
        self.calm_again = threading.Event()
        self.ended = threading.Event()
        self.count = 0
        self.failed = None
        self.start()

    def run(self):
        try:
            while not self.over.wait(self.rng.uniform(*CALM_S)):
                kind = self.rng.choice(KINDS)
                fault = kind(self.cluster, self.rng)
                print(f"{time.strftime('%H:%M:%S')} {kind.__name__} {fault.text}", flush=True)
                self.count += 1
                fault.begin()
                self.over.wait(fault.lasts_s)
                fault.end()
                self.cluster.wait_until_up(timeout_s=SETTLE_S)
        except Exception as e:
            self.failed = f"a fault could not be undone: {e!r}"
        self.calm_again.set()
        self.ended.wait()

    def calm(self):
        """Waits until every broker runs."""
        self.over.set()
        self.calm_again.wait()

    def end(self):
        self.over.set()
        self.ended.set()
        self.join()


def main():
    parser = argparse.ArgumentParser(description="A share group while members and brokers fail")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--per-second", type=int, default=1000, help="records per second")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--no-faults", action="store_true", help="without faults of brokers")
    args = parser.parse_args()
    print(f"seed {args.seed}, {args.members} members, {args.minutes} minutes", flush=True)
    try:
        with kafka.Cluster(3, config=BROKERS) as cluster:
            churn = share_groups.Churn(cluster, args.members, args.per_second, args.seed, replicas=3,
                                        leaders_change=not args.no_faults)
            faults = None if args.no_faults else Faults(cluster, args.seed)
            try:
                churn.run(args.minutes * 60, settle_s=SETTLE_S, calm=faults.calm if faults else lambda: None)
                found = churn.complaints() + ([faults.failed] if faults and faults.failed else [])
                print(f"{faults.count if faults else 0} faults of brokers; {churn.summary()}")
            finally:
                if faults:
                    faults.end()
            support.end_soak(found, args.seed)
    except (unittest.SkipTest, kafka.Unavailable) as e:
        sys.exit(f"soak_share.py: {e}")


if __name__ == "__main__":
    main()
