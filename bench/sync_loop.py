"""The synchronous loop in Python on this library, on Debian's librdkafka and on librdkafka 2.16.0, in turns.

    make bench-python [BENCH_ARGS=...]       or, after make lib:
    python3 bench/sync_loop.py [--rounds 20] [--count 300] [--calls]

sync_producer.py runs on Debian's python3-confluent-kafka, the same for all; LD_LIBRARY_PATH chooses the library under it.
One broker, one partition, acks=all, everything else as the library has it, and once more with
socket.nagle.disable=false. Its default is true in librdkafka 2.16 and here, and false in what Debian 12 has.

All producers live through the whole run and take turns, some hundred messages each, forwards and
backwards: a slow moment of the machine hits all of them. A turn's first message finds everything cold
and takes about a millisecond on every library; turns are long enough that p99 is not just that.
Shown are medians over the rounds, and p99 and best round of all. --calls adds system calls a round
trip, which perf counts.
"""

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import real_kafka  # noqa: F401
import debian_python
import kafka
import reference

SETTINGS = {"as it is": (), "false": ("socket.nagle.disable=false",)}
# The broker's first requests are slow, until its JVM has compiled what they take.
WARM_UP = 3000
HEAD = (f"{'nagle.disable':<14} {'library':<18} {'p50 us':>8} {'best p50':>8} {'p99 us':>8} {'msgs/s':>8} "
        f"{'CPU us/msg':>10} {'switches/msg':>12}")


class Worker:
    """One sync_producer.py with its library and setting."""

    def __init__(self, cluster, topic, setting, library, folder):
        self.setting, self.library = setting, library
        self.rounds = []
        program = kafka.ROOT / "bench" / "sync_producer.py"
        command = [debian_python.interpreter(), str(program), cluster.bootstrap, topic, *SETTINGS[setting]]
        self.process = subprocess.Popen(command, env=debian_python.environment(folder), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.version = self.process.stdout.readline().strip()

    def run(self, count):
        try:
            self.process.stdin.write(f"{count}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"sync_producer.py on {self.library} ended with exit status {self.process.wait()}")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(60)

    def figures(self):
        p50s = [statistics.median(run["times_us"]) for run in self.rounds]
        times = sorted(time for run in self.rounds for time in run["times_us"])
        return {
            "version": self.version, "p50_us": statistics.median(p50s), "p50_us_best": min(p50s),
            "p99_us": times[len(times) * 99 // 100],
            **{key: statistics.median(run[key] for run in self.rounds) for key in ("per_s", "cpu_us", "switches")},
        }

    def system_calls(self, count=1000):
        """System calls a round trip, by name, in a run of their own: counting costs time."""
        with tempfile.NamedTemporaryFile("r") as out:
            counter = subprocess.Popen(["perf", "stat", "-x,", "-e", "syscalls:sys_enter_*", "-p", str(self.process.pid),
                                        "-o", out.name], stderr=subprocess.DEVNULL)
            self.run(200)  # perf needs a moment to attach
            self.run(count)
            counter.send_signal(signal.SIGINT)
            counter.wait(20)
            rows = [line.split(",") for line in out if "sys_enter_" in line]
        found = {row[2].partition("sys_enter_")[2]: int(row[0]) / (count + 200) for row in rows if row[0].isdigit()}
        return {name: each for name, each in sorted(found.items(), key=lambda item: -item[1]) if each >= 0.02}


def compare(cluster, libraries, args):
    """Figures by setting and library."""
    topic = f"sync-{kafka.kafka_uuid()}"
    cluster.create_topic(topic, 1, replication=1)
    workers = [Worker(cluster, topic, setting, library, folder)
               for setting in SETTINGS for library, folder in libraries.items()]
    for worker in workers:
        worker.run(WARM_UP // len(workers))
    for number in range(args.rounds):
        # A B C, C B A, and each begins in its turn.
        order = workers[number % len(workers):] + workers[:number % len(workers)]
        for worker in order if number % 2 == 0 else reversed(order):
            worker.rounds.append(worker.run(args.count))
    rows = []
    for worker in workers:
        figures = worker.figures()
        if args.calls:
            figures["calls"] = worker.system_calls()
        rows.append((worker.setting, worker.library, figures))
        worker.end()
    return rows


def report(rows):
    print(HEAD)
    for setting, library, found in rows:
        print(f"{setting:<14} {library + ' ' + found['version']:<18} {found['p50_us']:>8.0f} "
              f"{found['p50_us_best']:>8.0f} {found['p99_us']:>8.0f} {found['per_s']:>8.0f} {found['cpu_us']:>10.0f} "
              f"{found['switches']:>12.1f}")
        if "calls" in found:
            some = ", ".join(f"{name} {each:.1f}" for name, each in found["calls"].items())
            print(f"{'':<14} {sum(found['calls'].values()):.1f} system calls a round trip: {some}")


def main():
    parser = argparse.ArgumentParser(description="Compare the synchronous loop in Python")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--count", type=int, default=300, help="messages of each producer in a round")
    parser.add_argument("--calls", action="store_true", help="count system calls, too (needs perf)")
    parser.add_argument("--base-port", type=int, help="of the broker (default: any free port)")
    parser.add_argument("--lib", default=kafka.ROOT / "build" / "lib", help="folder of the library")
    args = parser.parse_args()
    if args.calls and shutil.which("perf") is None:
        sys.exit("sync_loop.py: perf is not installed (apt-get install linux-perf)")
    try:
        libraries = {"ottla": args.lib, "Debian": debian_python.own_library(), "librdkafka": reference.fetch()}
        debian_python.interpreter()
        cluster = kafka.Cluster(1, base_port=args.base_port)
    except (debian_python.Unavailable, reference.Unavailable, kafka.Unavailable) as e:
        sys.exit(f"sync_loop.py: {e}")
    with cluster:
        print(f"Kafka {cluster.version}, 1 broker; {args.rounds} rounds of {args.count} messages each", flush=True)
        rows = compare(cluster, libraries, args)
    report(rows)
    table = [{"nagle.disable": setting, "library": library, **found} for setting, library, found in rows]
    (kafka.WORK / "sync_loop.json").write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
