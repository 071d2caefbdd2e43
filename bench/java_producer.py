"""Kafka's own Java client as the third in the benchmark: org.apache.kafka.tools.ProducerPerformance.

It runs with the limits of the other two (batches of 1,000,000 bytes, linger.ms=5, acks=all, no idempotence unless the
row is about it) and with the JVM options of Kafka's own script. Payloads are pieces of a text like bench_producer's,
in random order.

Neither the JVM's start nor its compiling of hot code is a message's cost, so each run begins with messages that are not
measured: the tool says when the first one after them was acknowledged. From there to its summary goes the CPU time, user
and system, of the whole process, garbage collection and the tool's own note of each latency included. Messages under way
at that moment were paid for in part already; the run has three times the messages of the others, so that this is some
percent in the Java client's favour at most.
"""

import os
import re
import subprocess
import threading
import time

import real_kafka  # noqa: F401
import kafka
import perf

MAIN_CLASS = "org.apache.kafka.tools.ProducerPerformance"
JVM = ("-Xmx512M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
PROPERTIES = {"acks": "all", "enable.idempotence": "false", "linger.ms": "5", "batch.size": "1000000"}
# Messages before the measured ones.
WARM_UP_MIN = 500_000
# Measured ones for each of the other libraries'.
TIMES = 3
# The tool looks this often whether the measured ones have begun to arrive.
REPORTING_INTERVAL_MS = 50

TEXT_BYTES = 1 << 20
# Bytes of all payloads: a batch holds few of them twice.
PAYLOADS_BYTES = 16_000_000
WORDS = ["offset", "partition", "leader", "epoch", "broker", "record", "batch", "segment",
         "follower", "quota", "header", "replica", "commit", "window", "stream", "table"]

STEADY = b"In steady state"
# 500000 steady state records sent, 442086.648983 records/sec (42.16 MB/sec), 44.10 ms avg latency, ...
SUMMARY = re.compile(r"^(\d+) steady state records sent, ([\d.]+) records/sec", re.M)


class JavaRun(perf.Measured):
    """A run of the Java client, whose summary line is another."""

    @property
    def messages(self):
        return int(self.summary[1])

    @property
    def rate(self):
        return round(float(self.summary[2]))

    @property
    def failed(self):
        # The tool prints the exception of each message that failed.
        return self.output.count("Exception")


def warm_up(count):
    """Messages that are not measured in a run of `count`."""
    return max(WARM_UP_MIN, count)


def command(cluster, topic, count, size, properties, before=None, options=()):
    """The tool's command line. `properties`: of the producer, beside those that all rows have; `before`: messages that
    are not measured; `options`: of the tool."""
    settings = {**PROPERTIES, **properties}
    before = warm_up(count) if before is None else before
    return [*kafka.java_command(cluster.libs, MAIN_CLASS, JVM), "--bootstrap-server", cluster.bootstrap,
            "--topic", topic, "--num-records", str(before + TIMES * count), "--warmup-records", str(before),
            "--throughput", "-1", "--reporting-interval", str(REPORTING_INTERVAL_MS), "--payload-file", str(payload_file(size)),
            *options,
            "--command-property", *(f"{name}={value}" for name, value in settings.items())]


def measure(command, timeout_s=300):
    begin = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env={**os.environ, "LC_ALL": "C"})
    killer = threading.Timer(timeout_s, process.kill)
    killer.start()
    peak = perf.Peak(process.pid)
    lines, cpu = [], []
    for line in process.stdout:
        # The process waits for nobody, so what it does until its line is read is counted on the other side.
        if STEADY in line or SUMMARY.search(line.decode(errors="replace")):
            cpu.append(cpu_seconds(process.pid))
        lines.append(line)
    process.stdout.close()
    process.wait()
    killer.cancel()
    peak.join()
    output = b"".join(lines).decode(errors="replace")
    # Without both moments there is no figure, and the run counts as one without a summary.
    summary, cpu_s = (SUMMARY.search(output), cpu[1] - cpu[0]) if len(cpu) == 2 else (None, 0)
    return JavaRun(output, process.returncode, summary, time.monotonic() - begin, cpu_s, peak.threads, peak.rss_kib)


def cpu_seconds(pid):
    """User and system time of a process, by the clock that the system keeps of it."""
    CPUCLOCK_SCHED = 2
    return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)


def payload_file(size):
    """A file with a payload of `size` bytes on each line."""
    path = kafka.WORK / f"payloads-{size}.txt"
    if not path.exists():
        text = make_text()
        count = PAYLOADS_BYTES // size
        starts = (number * 7919 % (len(text) - size) for number in range(count))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text[start:start + size] for start in starts))
    return path


def make_text():
    """The text of bench_producer: words and numbers in an order that does not repeat soon."""
    state, parts, length = 88172645463325252, [], 0
    while length < TEXT_BYTES:
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
        part = f"{WORDS[state & 15]}={(state >> 8) % 10000} "
        parts.append(part)
        length += len(part)
    return "".join(parts)
