"""A pipeline of two stages that read, process and write exactly once, while brokers and its processes fail.

    make soak-pipeline [MINUTES=10] [MESSAGES=1000000] [SOAK_ARGS=...]    or
    python3 bench/pipeline.py [--minutes 10] [--messages 1000000] [--seed N] [--set PROPERTY=VALUE]...

The first stage is the C example exactly_once, put together from the calls of rdkafka.h, the
second one the Rust example of the same name, which uses the loop that the crate provides. Each
has as many processes as --instances says (2); one that ends or is killed is started again with
the same instance id. A producer writes the input over the minutes. Meanwhile brokers fail as
broker_faults.py has it, and processes of the pipeline are killed with SIGKILL or frozen with
SIGSTOP, for less and for more time than sessions and transactions last, each at random moments.
Prints the seed first.

At the end the output, read committed by the library and by Kafka's own consumer, must be what
the input asks for: every message once, changed twice, in the order of its partition.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest

import real_kafka  # noqa: F401
import broker_faults
import groups
import kafka
import readback
import soak
import support

PARTITIONS = 4
BROKERS = {"transaction.state.log.min.isr": 2, **soak.BROKERS, **groups.BROKERS}
# Nothing is written to the output for so long: the pipeline has come to its end, or to a standstill.
QUIET_S = 40
DRAINS_WITHIN_S = 400


def rust_example():
    """Builds the Rust example; debug builds notice more."""
    subprocess.run(["cargo", "build", "-q", "-p", "ottla-processor", "--example", "exactly_once"], cwd=kafka.ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR") or kafka.ROOT / "target"
    return f"{target}/debug/examples/exactly_once"


class Instance:
    """One process of a stage, started again whenever it has ended."""

    def __init__(self, name, command):
        self.name = name
        self.command = command
        self.log = kafka.WORK / f"{name}.log"
        self.starts = self.kills = self.freezes = 0
        self.process = None
        self.start()

    def start(self):
        self.starts += 1
        with open(self.log, "ab") as log:
            self.process = support.start(*self.command, stdin=subprocess.PIPE, stdout=log, stderr=log)

    def revive(self):
        if self.process.poll() is not None:
            self.start()

    def kill(self):
        self.kills += 1
        self.process.kill()
        self.process.wait()

    def freeze(self, on):
        self.freezes += on
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGSTOP if on else signal.SIGCONT)

    def stop(self):
        """Asks it to end in order; true when it did."""
        self.process.stdin.close()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(60)
            return True
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return False


class Pipeline:
    """Both stages."""

    def __init__(self, cluster, topics, count, properties):
        source, middle, output = topics
        c, rust = support.compiled("examples/c/exactly_once.c"), rust_example()
        self.instances = []
        for number in range(count):
            first = [c, cluster.bootstrap, f"{source}-c", f"i{number}", source, middle, *properties]
            second = [rust, f"{source}-rust", middle, output, f"bootstrap.servers={cluster.bootstrap}",
                      f"instance.id=i{number}", *properties]
            self.instances.append(Instance(f"{source}-c-{number}", first))
            self.instances.append(Instance(f"{source}-rust-{number}", second))

    def revive(self):
        for instance in self.instances:
            instance.revive()

    def stop(self):
        return [f"{i.name} did not end within 60 s" for i in self.instances if not i.stop()]


def one_process_fault(pipeline, rng, tell, done):
    """Kills or freezes one or two processes, and undoes it."""
    victims = rng.sample(pipeline.instances, rng.choice([1, 1, 2]))
    names = ", ".join(v.name.split("-", 2)[-1] for v in victims)
    if rng.random() < 0.5:
        lasts_s = rng.uniform(0, 5)
        tell(f"{'SIGKILL':<16} {names} for {lasts_s:.1f} s")
        for victim in victims:
            victim.kill()
        done.wait(lasts_s)
        pipeline.revive()
    else:
        lasts_s = rng.choice([rng.uniform(0.5, 5), rng.uniform(5, 25)])
        tell(f"{'SIGSTOP':<16} {names} for {lasts_s:.1f} s")
        for victim in victims:
            victim.freeze(True)
        done.wait(lasts_s)
        for victim in victims:
            victim.freeze(False)


def harass(pipeline, rng, tell, done):
    """Process faults until `done`; whatever ends by itself is started again."""
    while not done.wait(rng.uniform(0.5, 5)):
        pipeline.revive()
        one_process_fault(pipeline, rng, tell, done)


def one_broker_fault(cluster, kind, rng, tell):
    fault = kind(cluster, rng)
    tell(f"{kind.__name__:<16} {fault.text}")
    fault.begin()
    time.sleep(fault.lasts_s)
    fault.end()
    cluster.wait_until_up()


def drain(cluster, pipeline, output, tell):
    """Waits until the output does not grow any more."""
    began = changed = time.monotonic()
    before = None
    while time.monotonic() - changed < QUIET_S and time.monotonic() - began < DRAINS_WITHIN_S:
        pipeline.revive()
        now = cluster.end_offsets(output)
        if now != before:
            before, changed = now, time.monotonic()
        time.sleep(1)
    tell(f"the output stopped growing {changed - began:.0f} s after the last fault")


def expected(cluster, source):
    """What the output must be: by partition, in order."""
    rows = {}
    for partition, _, payload in readback.read_by_library(cluster, source):
        rows.setdefault(partition, []).append(payload + b"++")
    return rows


def compare(wanted, rows, who):
    """Complaints about what a reader found in the output."""
    found = readback.Findings()
    numbers = {p: {payload: n for n, payload in enumerate(payloads)} for p, payloads in wanted.items()}
    got = {p: [] for p in wanted}
    for partition, offset, payload in rows:
        number = numbers.get(partition, {}).get(payload)
        if number is None:
            found.add("not made of any input", f"[{partition}] @ {offset}: {payload[:40]}")
        else:
            got[partition].append(number)
    for partition, payloads in wanted.items():
        seen = got[partition]
        times = [0] * len(payloads)
        for number in seen:
            times[number] += 1
        for number, n in enumerate(times):
            if n != 1:
                found.add("missing" if n == 0 else "more than once", f"[{partition}] {payloads[number][:20]} {n} times")
        if seen != sorted(seen):
            found.add("out of order", f"[{partition}]")
    return [f"{who}: {text}" for text in found.texts()]


def soaked(cluster, args):
    """The whole run on a running cluster; returns complaints."""
    name = support.topic_name("pipeline")
    topics = [name, f"{name}-middle", f"{name}-output"]
    for topic in topics:
        cluster.create_topic(topic, PARTITIONS, replication=cluster.count, config={"min.insync.replicas": 2})
    rng = random.Random(args.seed)
    begin = time.monotonic()
    made = []

    def tell(text):
        made.append(text)
        print(f"{time.monotonic() - begin:7.1f} s  {text}", flush=True)

    producer = soak.Producer(cluster, name, args.messages, args.messages / (args.minutes * 60), soak.PROPERTIES)
    pipeline = Pipeline(cluster, topics, args.instances, [*groups.PROTOCOLS[args.protocol], *args.set])
    done = threading.Event()
    harasser = threading.Thread(target=harass, args=(pipeline, random.Random(rng.random()), tell, done))
    try:
        harasser.start()
        kinds = []
        while time.monotonic() - begin < args.minutes * 60:
            kinds = kinds or rng.sample(broker_faults.KINDS, len(broker_faults.KINDS))
            one_broker_fault(cluster, kinds.pop(), rng, tell)
            time.sleep(rng.uniform(0, 5))
        done.set()
        harasser.join()
        found = [] if producer.finish(400) == 0 else ["the producer of the input did not end well"]
        drain(cluster, pipeline, topics[2], tell)
    finally:
        done.set()
        producer.kill()
        late = pipeline.stop()
    for i in pipeline.instances:
        print(f"{i.name}: started {i.starts} times, killed {i.kills}, frozen {i.freezes}")
    wanted = expected(cluster, name)
    print(f"{sum(map(len, wanted.values()))} messages of input, {len(made)} faults")
    found += late + compare(wanted, readback.read_by_library(cluster, topics[2]), "read by the library")
    return found + compare(wanted, readback.read_committed_by_java(cluster, topics[2]), "read by Java")


def main():
    parser = argparse.ArgumentParser(description="A pipeline that processes exactly once while everything fails")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--instances", type=int, default=2, help="processes of each stage")
    parser.add_argument("--protocol", choices=groups.PROTOCOLS, default="cooperative-sticky", help="of the groups")
    parser.add_argument("--first-generation", action="store_true", help="transactions as before KIP-890")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--base-port", type=int, help="of the brokers (default: any free ports)")
    parser.add_argument("--set", action="append", default=[], metavar="PROPERTY=VALUE", help="for both stages")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    try:
        support.need_library()
        support.need_program("kcat")
        with kafka.Cluster(3, base_port=args.base_port, config=BROKERS) as cluster:
            if args.first_generation:
                cluster.set_feature("downgrade", "transaction.version", 0)
            found = soaked(cluster, args)
    except (unittest.SkipTest, kafka.Unavailable) as e:
        sys.exit(f"pipeline.py: {e}")
    support.end_soak(found, args.seed)


if __name__ == "__main__":
    main()
