"""An idempotent producer while brokers are killed, frozen and restarted, and the topic read back.

    make soak-kafka [MINUTES=5] [MESSAGES=2000000] [SOAK_ARGS=...]    or
    python3 bench/soak.py [--minutes 5] [--messages 2000000] [--seed N] [--set PROPERTY=VALUE]...

Three brokers hold every partition; two must have a record before it is acknowledged.
The messages are spread over the minutes; meanwhile one fault follows another, all
kinds of broker_faults.py in turns. Prints the seed first; the same seed gives
the same order of faults. At the end the library and Kafka's own consumer read the
topic: every acknowledged message must be stored where its report said, once, and
in the order of production in each partition; one that failed not at all when it was
reported as not persisted, at most once otherwise. Exit status 1 when one is not, or
a message failed.
"""

import argparse
import collections
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
from dataclasses import dataclass

import real_kafka  # noqa: F401
import broker_faults
import kafka
import readback
import support

PROGRAM = "bench/soak_producer.c"
PARTITIONS = 6
# Shorter than the longest freezes and longer than the shortest, so that requests time out and are answered late.
PROPERTIES = ("enable.idempotence=true", "message.timeout.ms=900000", "request.timeout.ms=8000",
              "socket.timeout.ms=10000")
# After a fault leaders go back to where they were, which is a fault of its own.
BROKERS = {"leader.imbalance.check.interval.seconds": 15, "leader.imbalance.per.broker.percentage": 1,
           "unclean.leader.election.enable": "false"}
# Starting a JVM takes seconds where there are few cores; then replicas catch up.
GOES_ON_WITHIN_S = 150


class Producer:
    """soak_producer in the background, and what it has said so far."""

    def __init__(self, cluster, topic, messages, per_second, properties, follows_credentials=False):
        self.produced = self.reported = 0
        self.retries = self.left = None
        self.errors = []
        self.fatal = []
        self.finished = None  # "produced" was said: with how many
        self.reports = kafka.WORK / f"{topic}.reports"
        self.log = kafka.WORK / f"{topic}.log"
        with open(self.log, "wb") as log:
            self.process = support.start(
                support.compiled(PROGRAM), cluster.bootstrap, topic, messages, per_second, self.reports, *properties,
                stdout=subprocess.PIPE, stderr=log, text=True, **support.credentials(follows_credentials))
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "progress":
                self.produced, self.reported = map(int, rest.split())
            elif word == "retries":
                self.retries = int(rest)
            elif word == "produced":
                self.finished, self.left = map(int, rest.split())
            elif word == "fatal":
                self.fatal.append(rest)
            else:
                self.errors.append(rest)

    def set_credentials(self, user, password):
        support.send_credentials(self.process, user, password)

    def alive(self):
        return self.process.poll() is None

    def goes_on(self, beyond, timeout_s):
        """Waits until more than `beyond` messages are reported; false when that does not happen."""
        end = time.monotonic() + timeout_s
        while self.reported <= beyond and self.alive():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def finish(self, timeout_s):
        """Waits for the end. Returns the exit status, or a complaint after the timeout."""
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            status = f"still running after {timeout_s} s"
            self.kill()
        self.reader.join()
        for pipe in filter(None, (self.process.stdin, self.process.stdout)):
            pipe.close()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()


@dataclass
class Made:
    """A fault that was made, and which messages were produced meanwhile."""

    kind: str
    text: str
    first: int
    end: int


def one_fault(cluster, kind, rng, producer, tell):
    """Makes one fault and undoes it; returns (what it was with the messages produced meanwhile, complaints).

    A producer that does not go on afterwards is complained of.
    """
    fault = kind(cluster, rng)
    before, first = producer.reported, producer.produced
    tell(f"{kind.__name__:<16} {fault.text}")
    fault.begin()
    time.sleep(fault.lasts_s)
    fault.end()
    cluster.wait_until_up()
    undone = time.monotonic()
    beyond = max(before, producer.reported)
    found = []
    if producer.produced > beyond and not producer.goes_on(beyond, GOES_ON_WITHIN_S):
        found = [f"no message reported within {GOES_ON_WITHIN_S} s after {kind.__name__} was over"]
    took_s = time.monotonic() - undone
    if took_s > 5:
        tell(f"{'':<16} went on {took_s:.1f} s after all brokers were up")
    return Made(kind.__name__, fault.text, first, producer.produced), found


def soak(cluster, topic, args):
    """Runs producer and faults; returns (producer, faults made, complaints, seconds)."""
    rng = random.Random(args.seed)
    begin = time.monotonic()
    per_second = args.messages / (args.minutes * 60)
    producer = Producer(cluster, topic, args.messages, per_second, [*PROPERTIES, *args.set])

    def tell(text):
        print(f"{time.monotonic() - begin:7.1f} s  {producer.produced:8d} produced {producer.reported:8d} reported"
              f"  {text}", flush=True)

    made = []
    found = []
    kinds = []
    try:
        producer.goes_on(0, 60)
        while producer.alive() and producer.produced < args.messages and not found:
            # Every kind once before any comes again.
            if not kinds:
                kinds = rng.sample(broker_faults.KINDS, len(broker_faults.KINDS))
            fault, found = one_fault(cluster, kinds.pop(), rng, producer, tell)
            made.append(fault)
            time.sleep(rng.uniform(0, 3))
        if found:
            producer.process.send_signal(signal.SIGINT)
        status = producer.finish(400)
    finally:
        producer.kill()
    if status != 0:
        found.append(f"the producer's exit status is {status}")
    return producer, made, found, time.monotonic() - begin


READERS = (readback.read_by_library, readback.read_by_java)


def read_back(cluster, topic, reports, tell, readers=READERS):
    """Complaints about what readers find, as texts."""
    found = []
    digests = []
    for read in readers:
        findings, digest = readback.check(read(cluster, topic), reports)
        found += [f"{read.__name__}: {text}" for text in findings.texts()]
        digests.append(digest)
        tell(f"{read.__name__}: {len(findings.counts)} kinds of complaint")
    if any(digest != digests[0] for digest in digests):
        found.append("the readers saw different records")
    return found


def longest_deliveries(made, reports, how_many=3):
    """The faults during which messages took longest to be delivered, as texts."""
    longest = []
    for fault in made:
        times = reports.latency_us[fault.first:fault.end]
        if times:
            longest.append((max(times) / 1e6, f"{fault.kind} ({fault.text})"))
    return [f"{seconds:.1f} s during {text}" for seconds, text in sorted(longest, reverse=True)[:how_many]]


def summary(producer, made, reports, seconds):
    failed = reports.failures()
    kinds = collections.Counter(fault.kind for fault in made)
    p50, p99, longest = reports.latencies_ms()
    stored_again = reports.acked_without_offset()
    rows = [
        ("messages", f"{reports.produced} produced, {sum(map(reports.acked, range(reports.produced)))} acknowledged, "
                     f"{sum(failed.values())} failed, {producer.left} not reported"),
        ("failed", ", ".join(f"{n} x error {error}, {status}" for (error, status), n in failed.items()) or "none"),
        ("faults", f"{len(made)}: " + ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))),
        ("delivery", f"p50 {p50:.1f} ms, p99 {p99:.0f} ms, longest {longest:.0f} ms"),
        ("longest", "; ".join(longest_deliveries(made, reports))),
        ("sent again", f"{'not counted' if producer.retries is None else producer.retries} requests; "
                       f"{stored_again} messages which the broker had already"),
        ("errors", "; ".join(producer.errors) or "none"),
        ("fatal", "; ".join(producer.fatal) or "none"),
        ("took", f"{seconds:.0f} s"),
    ]
    return "\n".join(f"{name:<10}  {text}" for name, text in rows)


def run(args):
    """The whole run on a cluster of its own; returns complaints."""
    support.need_library()
    support.need_program("kcat")
    with kafka.Cluster(3, base_port=args.base_port, config=BROKERS) as cluster:
        topic = support.topic_name("soak")
        cluster.create_topic(topic, PARTITIONS, replication=3, config={"min.insync.replicas": 2})
        producer, made, found, seconds = soak(cluster, topic, args)
        if producer.finished is None:
            return [*found, f"the producer ended without a word: {producer.log}"]
        reports = readback.Reports(producer.reports, producer.finished)
        print(summary(producer, made, reports, seconds), flush=True)
        found += reports.complaints().texts()
        if producer.fatal:
            found.append(f"fatal: {producer.fatal}")
        if reports.failures():
            found.append(f"{sum(reports.failures().values())} messages failed")
        cluster.wait_until_up()
        found += read_back(cluster, topic, reports, lambda text: print(text, flush=True))
    if not found:
        producer.reports.unlink()
    return found


def main():
    parser = argparse.ArgumentParser(description="Produce for a long time while brokers fail, and read back")
    parser.add_argument("--minutes", type=float, default=5, help="over which the messages are spread")
    parser.add_argument("--messages", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--base-port", type=int, help="of the brokers (default: any free ports)")
    parser.add_argument("--set", action="append", default=[], metavar="PROPERTY=VALUE", help="for the producer")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    try:
        found = run(args)
    except (unittest.SkipTest, kafka.Unavailable) as e:
        sys.exit(f"soak.py: {e}")
    support.end_soak(found, args.seed)


if __name__ == "__main__":
    main()
