"""Writes what compare.py found as a page of docs: the chart, the table, the machine, and how to repeat it.

When that page is the project's own, README shows the chart, too.
"""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

import real_kafka  # noqa: F401
import chart
import kafka
import pairs
import reference
from workloads import CONSUMERS, MORE_ROUNDS, PRODUCERS

FOLDER = kafka.ROOT / "docs"
README = kafka.ROOT / "README.md"
# The lines of the README that enclose the generated text.
README_BEGIN = "<!-- Written by make bench BENCH_ARGS=--publish: -->\n"
README_END = "<!-- end -->\n"
# Rows that count times or seconds, not messages.
COUNTED = {workload.name for workload in CONSUMERS if workload.counts}
NAMES = {"ottla": "Ottla", "reference": "librdkafka", "java": "Java"}

PAGE = """# Benchmarks

Written by `make bench BENCH_ARGS=--publish`.

![CPU time per message beside librdkafka and Kafka's Java client](bench.svg)

## How it was measured

| | |
|---|---|
{facts}

Brokers and clients share this machine. The same program runs on Ottla and on librdkafka, through `LD_LIBRARY_PATH`;
the Java client is measured with Kafka's own `ProducerPerformance`, where that tool has something like the row. All take
turns on the same brokers, and the table has the medians of {rounds} rounds, of {more} where rows of one library are
compared with each other and in rows that vary: {varying}.
Ratios are those of the same round, and of them the median, since a machine is not equally fast at all times. Messages
are of 100 bytes unless a row says otherwise and differ from each other; a run has {count:,} of them, two to nine times
as many where it would be over too soon for its beginning not to count, and a twenty-fifth when one is sent at a time.
Producers' runs with 500 partitions write to one topic that was written to before: what brokers do at a partition's
first batch is not what is measured.
Topics have one replica where a row does not say otherwise. Before each producer's run a file of twice the size of what
brokers will store is written and removed: a virtual machine's memory may have to be fetched from its host when it is first
touched, which takes longer than all that is measured.

- *CPU*: user and system time of the client's process, in microseconds per message, from the first message to the last
  delivery report. The Java client first sends 500,000 messages or more that are not measured, so that neither the JVM's
  start nor its compiler counts, and then three times as many as the others.
- *Threads*: the most that the process had, the application's own included.
- *Memory*: the most that the process had resident. *Held* is how many messages the producer had not delivered yet, at
  most: `queue.buffering.max.messages` allows 100,000, and who produces faster than brokers take fills that. 100,000
  messages of 1 kB are 95 MiB.
- *first message*: a consumer that is its group's only member, from `rd_kafka_subscribe()` of a new client on. *one of 10
  leaves*: ten members in one process, 20 partitions, all of them written to; from `rd_kafka_consumer_close()` of one of
  them until messages of every partition come again. *full queue*: an application that takes one message and no more.
  *idle*: the CPU is that of a second.
- *tls*: the same brokers, on a listener with TLS 1.3 whose certificate has an RSA key of 2048 bits. Both libraries verify chain
  and name; the one from PyPI contains its own OpenSSL. *a new client's first message*: from `rd_kafka_new()` to the delivery
  report, with the connections to two brokers.
- All producers gather batches of up to 1,000,000 bytes for `linger.ms=5` and wait for `acks=all`, unless a row says otherwise.

## What was found

| | | messages/s | CPU, µs | to librdkafka's | threads | memory, MiB | |
|---|---|--:|--:|--:|--:|--:|---|
{rows}

## Goals

Ours to librdkafka's. *Own threads* are those that the client has beside the application's; *rate to own* is our rate to our
own in another row: several threads to one, transactions to requests one after the other.

| | | found | wanted | |
|---|---|--:|--:|---|
{goals}

## What stands behind some rows

- *500 partitions*, rate: client and brokers use all of the machine's processors, so the rate is what both leave each
  other. A longer `linger.ms` makes larger batches, which are less work for both.
- *Transactions*: most of what they cost is a pause at each beginning. A broker begins no transaction before the markers of
  the one before are written. Where brokers and client share two processors that takes 10 to 20 ms; the Java client and
  librdkafka send the first batch before, which then waits for `add.partitions.to.txn.retry.backoff.ms`, 20 ms. With one
  replica a request is answered as soon as its leader has it, and one in flight is nearly as good as five: that is the
  hardest rate to keep up with. With two each request waits for a follower, as on any topic that is not to lose anything.
- *Idle*: six Fetch requests a second have to be sent and answered, whoever does it. A program that does nothing but the
  same `writev`, `recv` and `epoll_wait` calls to three brokers takes about 270 µs of CPU a second on such a machine.

## Repeating it

```sh
make bench                                     # all rows; the table, and the chart in build/real/bench.svg
make bench BENCH_ARGS="--only lz4 --rounds 3"  # some rows
make bench BENCH_ARGS=--publish                # writes this page anew
make bench BENCH_ARGS="--build before=FOLDER --no-reference --no-java"  # beside another build, FOLDER/librdkafka.so.1
```

It needs Java 17 and, the first time, the network: Kafka comes from Maven Central, librdkafka from PyPI. `bench/workloads.py`
defines the rows, `bench/compare.py` the measurement.
"""


def write(folder, table, goals, cluster, args):
    """Writes the page. `goals` is the result of compare.judged(), `args` the arguments of compare.py."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = "\n".join(f"| {name} | {value} |" for name, value in describe(cluster))
    page = PAGE.format(facts=facts, rounds=args.rounds, more=args.rounds * MORE_ROUNDS,
                       varying=" and ".join(f"*{row.name}*" for row in PRODUCERS if row.varies), count=args.count,
                       rows="\n".join(rows(table)), goals="\n".join(goal_rows(goals)))
    (folder / "BENCHMARKS.md").write_text(page, encoding="utf-8")
    (folder / "bench.svg").write_text(chart.draw(table), encoding="utf-8")
    if folder.resolve() == FOLDER:
        README.write_text(with_chart(README.read_text(encoding="utf-8"), table), encoding="utf-8")


def with_chart(readme, table):
    """Returns the text of the README with the chart and its summary."""
    before, begin, rest = readme.partition(README_BEGIN)
    _, end, after = rest.partition(README_END)
    if not end:
        raise ValueError(f"README.md has no place for the chart: {README_BEGIN.strip()} ... {README_END.strip()}")
    ratios = sorted(pairs.ratio(found["ottla"], found["reference"], "cpu_us_per_msg")
                    for found in table.values() if found.get("reference", {}).get("cpu_us_per_msg"))
    middle = "![CPU time per message beside librdkafka and Kafka's Java client](docs/bench.svg)\n"
    if ratios:
        middle = (f"CPU time per message is {ratios[0]:.2f} to {ratios[-1]:.2f} of librdkafka's in these "
                  f"{len(ratios)} workloads: [all figures and how they were measured](docs/BENCHMARKS.md).\n\n{middle}")
    return before + begin + middle + end + after


def rows(table):
    for name, libraries in table.items():
        theirs = libraries.get("reference")
        for library, found in libraries.items():
            ratio = f"{pairs.ratio(found, theirs, 'cpu_us_per_msg'):.2f}" if theirs else ""
            more = f"took p50 {found['p50_us']:,.0f} µs, p99 {found['p99_us']:,.0f} µs" if found["p50_us"] else ""
            more = more or (f"held {found['held_max']:,.0f} at most" if found["held_max"] else "")
            rate = "" if name in COUNTED else f"{found['msgs_per_s']:,.0f}"
            yield (f"| {name if library == 'ottla' else ''} | {NAMES[library]} | {rate} "
                   f"| {found['cpu_us_per_msg']:.3f} | {ratio} | {found['threads_max']} "
                   f"| {found['rss_mib_max']:.0f} | {more} |")


def goal_rows(goals):
    last = None
    for name, goal, found, sign, limit, met in goals:
        yield f"| {name if name != last else ''} | {goal} | {found:.2f} | {sign} {limit} | {'' if met else 'missed'} |"
        last = name


def describe(cluster):
    """Yields the facts on which the figures depend: versions and hardware."""
    logs = "their logs on disk" if cluster.logs == cluster.folder else "their logs in memory (tmpfs)"
    yield "date", datetime.date.today().isoformat()
    yield "processor", f"{cpu_model()}, {os.cpu_count()} cores"
    yield "memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    yield "system", f"{distribution()}, Linux {platform.release()}"
    yield "Ottla", first_line(["git", "-C", str(kafka.ROOT), "describe", "--always", "--dirty"]) or "unknown"
    yield "librdkafka", f"2.16.0, from `{reference.WHEEL}`"
    yield "Kafka", f"{cluster.version}, {cluster.count} brokers of 512 MiB, {logs}; the Java client is of the same version"
    yield "Java", first_line(["java", "-version"])


def cpu_model():
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def distribution():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def first_line(command):
    """A command's first line of output, whichever stream it is on; empty when it does not run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30)
    except OSError:
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""
