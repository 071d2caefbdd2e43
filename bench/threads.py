"""Producing threads on one client: rates of 1, 2, 4, 8 and 16 of them, on builds of the library and on librdkafka, in turns.

    python3 bench/threads.py [--lib FOLDER] [--build NAME=FOLDER]... [--threads 1 2] [--rounds 5] [--count 1000000]

bench_producer works half a microsecond for each message of 100 bytes, and produces to null_broker.py, which is not the
limit. *null* does all but produce: the ceiling of the application. A ratio is the rate of so many threads to that of one
thread on the same library in the same round, and the median of that. CPU time per message has the application's part in
it, and not the broker's, which is beside it.
"""

import argparse
import statistics
import sys
from pathlib import Path

import real_kafka  # noqa: F401
import compare
import kafka
import null_broker
import perf
import reference
import support

THREADS = (1, 2, 4, 8, 16)
KEYS = {"no key": (), "keyed": ("-k",)}
HEAD = (f"{'':<8} {'library':<10} {'threads':>7} {'msgs/s':>9} {'to 1 thread':>11} {'CPU us/msg':>10} "
        f"{'broker us/msg':>13} {'failed':>6}")


def run(program, folder, threads, options, args):
    """Returns the rate, CPU time in microseconds per message, that of the broker, and the number of failed messages."""
    with null_broker.Cluster(1, args.partitions) as broker:
        command = [str(program), "-b", broker.bootstrap, "-t", "threads", "-c", str(args.count), "-n", str(threads),
                   "-w", str(args.work_ns), *options, *(word for x in args.X for word in ("-X", x))]
        run = perf.measure(command, folder, brokers=broker.processes.values())
    if run.summary is None or run.status != 0:
        sys.exit(f"threads.py: {' '.join(command)}: {run.output}")
    return run.rate, run.cpu_us, run.brokers_cpu_us, run.failed


def main():
    parser = argparse.ArgumentParser(description="Producing threads on one client")
    parser.add_argument("--lib", type=Path, default=kafka.ROOT / "build" / "lib", help="folder of the library")
    parser.add_argument("--build", action="append", type=compare.build, default=[], metavar="NAME=FOLDER",
                        help="another build of the library")
    parser.add_argument("--no-reference", action="store_true", help="without librdkafka")
    parser.add_argument("--threads", type=int, nargs="+", default=THREADS)
    parser.add_argument("--keys", nargs="+", choices=KEYS, default=list(KEYS))
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--work-ns", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=1_000_000, help="messages in each run")
    parser.add_argument("-X", action="append", default=[], metavar="NAME=VALUE", help="a property of the client")
    args = parser.parse_args()
    program = support.compiled("bench/bench_producer.c")
    libraries = {"ottla": args.lib.resolve(), **dict(args.build)}
    if not args.no_reference:
        libraries["reference"] = reference.fetch()
    rows = [(keys, threads) for keys in args.keys for threads in args.threads]
    seen = {}
    for number in range(args.rounds):
        names = [*libraries, "null"]
        for name in names if number % 2 == 0 else reversed(names):
            for keys, threads in rows:
                # The application is the same on every library.
                folder, options = libraries.get(name, libraries["ottla"]), KEYS[keys]
                options = (*options, "-0") if name == "null" else options
                seen.setdefault((keys, threads, name), []).append(run(program, folder, threads, options, args))
    print(f"{args.count} messages, {args.work_ns} ns of work, {args.partitions} partitions, {args.rounds} rounds\n{HEAD}")
    for (keys, threads, name), runs in sorted(seen.items(), key=lambda item: (item[0][0], item[0][1])):
        alone = seen.get((keys, 1, name))
        ratio = statistics.median(r[0] / a[0] for r, a in zip(runs, alone)) if alone else float("nan")
        rate, cpu, broker = (statistics.median(r[i] for r in runs) for i in range(3))
        print(f"{keys:<8} {name:<10} {threads:>7} {rate:>9.0f} {ratio:>11.2f} {cpu:>10.3f} {broker:>13.3f} "
              f"{sum(r[3] for r in runs):>6}")


if __name__ == "__main__":
    main()
