"""Compares a topic with the delivery reports of soak_producer: no record lost, duplicate or out of order."""

import struct
import subprocess
from array import array
from pathlib import Path

import kafka
import support

# struct report of soak_producer.c: offset, latency_us, partition, error, status, times.
REPORT = struct.Struct("=qqihBB")

NOT_PERSISTED, POSSIBLY_PERSISTED, PERSISTED = 0, 1, 2
STATUS_NAMES = ["not persisted", "possibly persisted", "persisted"]
EXAMPLES = 5


def filler_length(number):
    """Returns the bytes that soak_producer appends to the number."""
    return number * 7919 % 90


class Reports:
    """The delivery reports by message number."""

    def __init__(self, path, produced):
        self.produced = produced
        self.offset, self.latency_us = array("q"), array("q")
        self.partition, self.error = array("i"), array("h")
        self.status, self.times = bytearray(), bytearray()
        data = Path(path).read_bytes()[:produced * REPORT.size]
        for offset, latency_us, partition, error, status, times in REPORT.iter_unpack(data):
            self.offset.append(offset)
            self.latency_us.append(latency_us)
            self.partition.append(partition)
            self.error.append(error)
            self.status.append(status)
            self.times.append(times)

    def acked(self, number):
        return self.times[number] > 0 and self.error[number] == 0

    def complaints(self):
        """Returns complaints about the reports: there is one for each message, with "persisted" where acknowledged."""
        found = Findings()
        for number in range(self.produced):
            if self.times[number] != 1:
                found.add("not reported once", f"{number}: {self.times[number]} times")
            elif self.error[number] == 0 and self.status[number] != PERSISTED:
                found.add("acknowledged, yet not said to be persisted", number)
            elif self.error[number] != 0 and self.status[number] == PERSISTED:
                found.add("failed, yet said to be persisted", number)
        return found

    def failures(self):
        """Failed messages: {(error, status name): how many}."""
        counts = {}
        for number in range(self.produced):
            if self.error[number]:
                kind = (self.error[number], STATUS_NAMES[self.status[number]])
                counts[kind] = counts.get(kind, 0) + 1
        return counts

    def latencies_ms(self):
        """p50, p99 and longest delivery of acknowledged messages, in milliseconds."""
        times = sorted(self.latency_us[n] for n in range(self.produced) if self.acked(n))
        if not times:
            return (0, 0, 0)
        return tuple(times[min(len(times) - 1, int(len(times) * part))] / 1000 for part in (0.5, 0.99, 1))

    def acked_without_offset(self):
        """Acknowledged without an offset: the broker had the batch when it was retried."""
        return sum(1 for n in range(self.produced) if self.acked(n) and self.offset[n] < 0)


class Findings:
    """Complaints by kind, counted, with the first few examples."""

    def __init__(self):
        self.counts = {}
        self.examples = {}

    def add(self, kind, example):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        some = self.examples.setdefault(kind, [])
        if len(some) < EXAMPLES:
            some.append(str(example))

    def texts(self):
        return [f"{count} {kind}: {'; '.join(self.examples[kind])}" for kind, count in self.counts.items()]


def check(rows, reports):
    """Compares all rows (partition, offset, payload) of a topic, each partition in the order read, with the reports.

    Returns (findings, digest): two readers of one topic have the same digest.
    """
    found = Findings()
    seen = bytearray(reports.produced)
    last_number, last_offset, digest = {}, {}, {}
    for partition, offset, payload in rows:
        text, _, filler = payload.partition(b" ")
        number = int(text) if text.isdigit() else reports.produced
        if number >= reports.produced or len(filler) != filler_length(number):
            found.add("stored, but never produced so", f"partition {partition} offset {offset}: {payload[:40]}")
            continue
        seen[number] = min(255, seen[number] + 1)
        place = f"{number} at partition {partition} offset {offset}"
        if number <= last_number.get(partition, -1):
            found.add("out of order", f"{place} behind {last_number[partition]}")
        last_number[partition] = number
        if offset <= last_offset.get(partition, -1):
            found.add("read out of order", f"{place} behind offset {last_offset[partition]}")
        last_offset[partition] = offset
        digest[partition] = hash((digest.get(partition), offset, number))
        if reports.acked(number):
            # -1: the broker could not say.
            said = (reports.partition[number], reports.offset[number])
            if said[0] != partition or said[1] not in (offset, -1):
                found.add("stored elsewhere than reported", f"{place}, not {said}")
    for number, times in enumerate(seen):
        if times > 1:
            found.add("stored more than once", f"{number}: {times} times")
        if times == 0 and reports.acked(number):
            found.add("acknowledged but not stored",
                      f"{number}: partition {reports.partition[number]} offset {reports.offset[number]}")
        if times and reports.error[number] and reports.status[number] == NOT_PERSISTED:
            found.add("stored, but reported as not persisted", f"{number}: error {reports.error[number]}")
    return found, digest


def read_by_library(cluster, topic, brokers=None, properties=()):
    """All rows as kcat reads them with the library under test, from `brokers` in place of the plaintext listener."""
    command = ["kcat", "-b", brokers or cluster.bootstrap, "-C", "-t", topic, "-e", "-q", "-o", "beginning", "-f", "%p %o %s\n"]
    command += [flag for setting in properties for flag in ("-X", setting)]
    process = support.start(*command, stdout=subprocess.PIPE)
    with process.stdout:
        for line in process.stdout:
            partition, offset, payload = line.rstrip(b"\n").split(b" ", 2)
            yield int(partition), int(offset), payload
    if process.wait() != 0:
        raise AssertionError(f"kcat: exit status {process.returncode}")


def read_by_java(cluster, topic):
    """All rows as Kafka's own consumer reads them."""
    return _read_by_java(cluster, topic, "--max-messages", cluster.message_count(topic), "--timeout-ms", 30_000)


def read_committed_by_java(cluster, topic):
    """All rows of committed transactions as Kafka's own consumer reads them."""
    return _read_by_java(cluster, topic, "--isolation-level", "read_committed", "--timeout-ms", 15_000)


def _read_by_java(cluster, topic, *options):
    output = kafka.tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", cluster.bootstrap, "--topic", topic,
        "--from-beginning", *options, "--property", "print.partition=true", "--property", "print.offset=true",
        timeout_s=600)
    for line in output.splitlines():
        if line.startswith(b"Partition:"):
            partition, offset, payload = line.split(b"\t", 2)
            yield int(partition.partition(b":")[2]), int(offset.partition(b":")[2]), payload
