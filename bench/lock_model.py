"""Model of threads that produce keyed records on one client: how often they meet at a partition's lock.

    python3 bench/lock_model.py [--threads 2 16 64] [--partitions 8 64 256] [--hold-us 0.055] [--record-us 0.68] [--seed 1]

Each thread has a core of its own. For each record it works outside of locks, then holds the lock of a partition that its
key chooses at random. Times vary evenly by half, so that threads do not stay in step. The defaults follow `make
bench-threads`: 0.5 us of work and 0.18 us in produce() for a record. The time in the lock is not measured, but fitted to
the records at which two threads met: about 9,000 of 1 million with 8 partitions. Waiting is counted, the transfer of cache lines between cores is not.

`met` is the part of records that found their partition's lock held, `formula` is (threads - 1) * hold / record /
partitions, and `speed` the rate compared with as many threads that share nothing.
"""

import argparse
import heapq
import random

RECORDS = 200_000


def simulate(threads, partitions, hold_us, record_us, seed):
    """Returns the part of records that waited for a lock, and the rate compared with threads that do not wait."""
    chance = random.Random(seed)

    def around(mean):
        return mean * chance.uniform(0.5, 1.5)

    # The times at which threads arrive at a lock: locks are served in the order of arrival.
    arrivals = [around(record_us) for _ in range(threads)]
    heapq.heapify(arrivals)
    free_at = [0.0] * partitions
    met = 0
    for _ in range(RECORDS):
        now = arrivals[0]
        partition = chance.randrange(partitions)
        met += free_at[partition] > now
        free_at[partition] = max(now, free_at[partition]) + around(hold_us)
        heapq.heapreplace(arrivals, free_at[partition] + around(record_us - hold_us))
    ideal_us = RECORDS / threads * record_us
    return met / RECORDS, ideal_us / min(arrivals)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 4, 16, 32, 64])
    parser.add_argument("--partitions", type=int, nargs="+", default=[8, 64, 256])
    parser.add_argument("--hold-us", type=float, default=0.055)
    parser.add_argument("--record-us", type=float, default=0.68)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print(f"{'threads':>7} {'partitions':>10} {'met':>7} {'formula':>7} {'speed':>6}")
    for threads in args.threads:
        for partitions in args.partitions:
            met, speed = simulate(threads, partitions, args.hold_us, args.record_us, args.seed)
            formula = (threads - 1) * args.hold_us / args.record_us / partitions
            print(f"{threads:>7} {partitions:>10} {met:>7.2%} {formula:>7.2%} {speed:>6.2f}")


if __name__ == "__main__":
    main()
