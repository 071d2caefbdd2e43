"""Soak test of a consumer group: members join, leave and are killed while a producer writes.

    make soak-groups [MINUTES=10] [PROTOCOL=range]         or
    python3 tests/real/groups.py [--minutes 10] [--protocol range] [--members 20] [--seed N]

Up to 20 members (group_member.c), each a process, read a producer's messages, commit processed
messages, and print their actions. Prints the seed first; the same seed results in the same
order of events. The members' output is checked at the end:

- every stored message was processed: none is lost or skipped;
- within a stay (from a partition's assignment to its end) messages arrive in order, without gaps, and the
  first is not below the last offset committed earlier: no position moves back;
- two stays of one partition do not overlap, unless the earlier member was killed or its loss was reported to it;
- the time from append to processing is at most a dead member's session timeout and a rebalance.
"""

import argparse
import collections
import random
import signal
import subprocess
import sys
import threading
import time

import kafka
import steady
import support

PROGRAM = "tests/real/group_member.c"
PARTITIONS = 40
SESSION_S = 6
# Maximum duration of the rebalance that follows the end of a session, with a margin for few cores.
REBALANCE_S = 8
# Minimum interval of kills: another kill would prolong a rebalance that waits for a killed member.
KILLS_APART_S = SESSION_S + REBALANCE_S
# Minimum number of events of a run, also on a machine that pauses for seconds.
EVENTS_MIN = 3

CLASSIC = (f"session.timeout.ms={SESSION_S * 1000}", "heartbeat.interval.ms=1000")
PROTOCOLS = {
    "range": (*CLASSIC, "partition.assignment.strategy=range"),
    "roundrobin": (*CLASSIC, "partition.assignment.strategy=roundrobin"),
    "cooperative-sticky": (*CLASSIC, "partition.assignment.strategy=cooperative-sticky"),
    # The brokers set the session timeout and the heartbeat interval.
    "consumer": ("group.protocol=consumer",),
}
BROKERS = {
    "group.consumer.session.timeout.ms": SESSION_S * 1000, "group.consumer.min.session.timeout.ms": SESSION_S * 1000,
    "group.consumer.heartbeat.interval.ms": 1000, "group.consumer.min.heartbeat.interval.ms": 1000,
}


class Stay:
    """The period of a partition's assignment to a member."""

    def __init__(self, member, partition, begin):
        self.member = member
        self.partition = partition
        self.begin = begin
        self.end = None  # milliseconds, like all times
        self.why = ""
        self.offsets = []
        self.commits = []  # (time, offset)


class Member:
    """A group_member process in the background."""

    def __init__(self, number, cluster, group, topic, properties, follows_credentials=False):
        self.number = number
        self.stays = []
        self.held = {}
        self.messages = []  # (time, partition, offset, age)
        self.errors = collections.Counter()
        self.strange = []
        self.killed_at = None
        self.process = support.start(
            support.compiled(PROGRAM), cluster.bootstrap, group, topic, *properties, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, **support.credentials(follows_credentials))
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):  # a killed process may leave an incomplete line
                what, at, *rest = line.split()
                self._handle(what, int(at), rest)
        self.process.stdout.close()

    def _handle(self, what, at, rest):
        if what == "error":
            self.errors[rest[0]] += 1
            return
        numbers = [int(text) for text in rest]
        if what == "assigned":
            for partition in numbers:
                self.held[partition] = Stay(self.number, partition, at)
                self.stays.append(self.held[partition])
        elif what in ("revoked", "lost"):
            for partition in numbers:
                self._end(partition, at, what)
        elif what == "message":
            partition, offset, age = numbers
            self.messages.append((at, partition, offset, age))
            if partition in self.held:
                self.held[partition].offsets.append(offset)
            else:
                self.strange.append(f"member {self.number} received {partition}@{offset} without the partition's assignment")
        elif what == "committed":
            partition, offset = numbers
            if partition in self.held:
                self.held[partition].commits.append((at, offset))

    def _end(self, partition, at, why):
        stay = self.held.pop(partition, None)
        if stay is None:
            self.strange.append(f"member {self.number} revoked {partition}, which was not assigned to it")
        else:
            stay.end, stay.why = at, why

    def set_credentials(self, user, password):
        support.send_credentials(self.process, user, password)

    def kill(self):
        self.process.kill()
        self._gone("killed")

    def leave(self):
        """Sends SIGTERM: the member leaves the group and ends."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s=60):
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = f"still running after {timeout_s} s"
        if status != 0 and self.killed_at is None:
            self.strange.append(f"member {self.number}: exit status {status}")
        self._gone("ended")

    def _gone(self, why):
        at = int(time.monotonic() * 1000)
        if why == "killed":
            self.killed_at = at
        self.process.wait()
        self.reader.join()
        if self.process.stdin:
            self.process.stdin.close()
        for partition in list(self.held):
            self._end(partition, at, why)


class Churn:
    """The group, its producer, and the events during a run. `pause_max_s`: the longest pause of the machine."""

    def __init__(self, cluster, protocol, members=20, per_second=1000, seed=0, kills=True, pause_max_s=0):
        self.cluster = cluster
        self.kills = kills
        self.longest_s = SESSION_S + REBALANCE_S + pause_max_s
        self.most = members
        self.chance = random.Random(seed)
        self.properties = PROTOCOLS[protocol]
        self.topic = support.topic_name("churn")
        self.group = f"{self.topic}-group"
        # Log-append time excludes the producer's delays, and a single replica those of replication.
        cluster.create_topic(self.topic, PARTITIONS, replication=1, config={"message.timestamp.type": "LogAppendTime"})
        self.present = []
        self.gone = []
        self.events = collections.Counter()
        self.timeline = []  # (milliseconds, event)
        self.per_second = per_second
        self.producer = None
        self.killed = 0

    def note(self, what):
        self.timeline.append((int(time.monotonic() * 1000), what))

    def join(self):
        number = len(self.present) + len(self.gone)
        self.note(f"{number} joins")
        self.present.append(Member(number, self.cluster, self.group, self.topic, self.properties))

    def remove(self, how):
        # A broker waits up to five minutes for a process that ends while it joins for the first time.
        likely = [m for m in self.present if how is not Member.kill or m.held] or self.present
        member = self.chance.choice(likely)
        self.present.remove(member)
        self.gone.append(member)
        self.note(f"{member.number} {'is killed' if how is Member.kill else 'leaves'}")
        how(member)

    def run(self, seconds, pause_s=(0.3, 3)):
        """Triggers events for `seconds`, waits until all messages are processed, and stops the producer and the members."""
        try:
            self._run(seconds, pause_s)
        finally:
            if self.producer:
                self.producer.stop()
            self.end()

    def _run(self, seconds, pause_s):
        for _ in range(self.most):
            self.join()
        self.wait_until(lambda: all(m.held for m in self.present), "every member has partitions")
        self.producer = steady.Run(self.cluster, self.topic, steady.FOREVER, self.per_second, "linger.ms=5")
        end = time.monotonic() + seconds
        while time.monotonic() < end or sum(self.events.values()) < EVENTS_MIN:
            time.sleep(self.chance.uniform(*pause_s))
            event = self.next_event()
            self.events[event] += 1
            if event == "join":
                self.join()
            else:
                self.remove(Member.kill if event == "kill" else Member.leave)
            self.killed = time.monotonic() if event == "kill" else self.killed
        self.producer.stop()
        status = self.producer.finish()
        if status != 0:
            raise AssertionError(f"the producer's exit status is {status}: {self.producer.errors[-1000:]}")
        self.wait_until_processed(2 * (SESSION_S + REBALANCE_S) + 30)

    def end(self):
        while self.present:
            self.remove(Member.leave)
        for member in self.gone:
            member.wait()

    def next_event(self):
        missing = self.most - len(self.present)
        # At least one member remains, which processes the last messages.
        if len(self.present) < 2 or self.chance.random() < missing / 5:
            return "join"
        if self.kills and time.monotonic() - self.killed > KILLS_APART_S and self.chance.random() < 0.5 and self.any_held():
            return "kill"
        return "leave" if missing < 5 else "join"

    def any_held(self):
        """Returns false while a rebalance has revoked everything: then any member may be joining for the first time."""
        return any(m.held for m in self.present)

    def wait_until_processed(self, timeout_s):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and self.unprocessed():
            time.sleep(0.5)

    def wait_until(self, condition, what, timeout_s=90):
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end or any(m.process.poll() is not None for m in self.present):
                raise AssertionError(f"not reached in {timeout_s} s, or a member has ended: {what}")
            time.sleep(0.05)

    def unprocessed(self):
        done = {(partition, offset) for m in self.members() for _, partition, offset, _ in list(m.messages)}
        stored = self.cluster.end_offsets(self.topic)
        return [(p, o) for p, end in stored.items() for o in range(end) if (p, o) not in done]

    def members(self):
        return self.present + self.gone

    # -- checks

    def complaints(self):
        found = [text for m in self.members() for text in m.strange]
        missing = self.unprocessed()
        if missing:
            found.append(f"{len(missing)} messages never processed: {sorted(missing)[:5]}")
        by_partition = collections.defaultdict(list)
        for member in self.members():
            for stay in member.stays:
                by_partition[stay.partition].append(stay)
        for stays in by_partition.values():
            stays.sort(key=lambda s: s.begin)
            found += overlaps(stays) + disorders(stays)
        waited, at, partition = self.slowest()
        if waited > self.longest_s * 1000:
            found.append(f"a message of partition {partition} waited {waited} ms:" + self.between(at - waited - 8000, at))
        return found

    def slowest(self):
        """Returns (wait in milliseconds, time, partition) of the message with the longest wait until its first processing."""
        first = {}
        for member in self.members():
            for at, partition, offset, age in member.messages:
                if at < first.get((partition, offset), (at + 1, 0))[0]:
                    first[partition, offset] = (at, age)
        return max(((age, at, place[0]) for place, (at, age) in first.items()), default=(0, 0, None))

    def between(self, begin, end):
        """Returns the events of this period, one per line, in seconds from its start."""
        happened = [(at, what) for at, what in self.timeline if begin <= at <= end]
        for member in self.members():
            moves = collections.Counter((s.begin, "gets") for s in member.stays)
            moves.update((s.end, f"has {s.why}") for s in member.stays if s.end)
            happened += [(at, f"{member.number} {what} {n}") for (at, what), n in moves.items() if begin <= at <= end]
        return "".join(f"\n  {(at - begin) / 1000:6.2f} {what}" for at, what in sorted(happened))

    def summary(self):
        messages = sum(len(m.messages) for m in self.members())
        stored = sum(self.cluster.end_offsets(self.topic).values())
        errors = sum((m.errors for m in self.members()), collections.Counter())
        stays = sum(len(m.stays) for m in self.members())
        lost = sum(s.why == "lost" for m in self.members() for s in m.stays)
        return (f"{dict(self.events)}; {stored} messages, processed {messages} times; {stays} stays, {lost} lost; "
                f"longest wait {self.slowest()[0]} ms; errors {dict(errors)}")


def overlaps(stays):
    """Returns overlaps of one partition's stays whose earlier member was alive and had received no report of a loss."""
    found = []
    for earlier, later in zip(stays, stays[1:]):
        if earlier.why not in ("killed", "lost") and earlier.end > later.begin:
            found.append(f"partition {earlier.partition}: member {later.member} had it from {later.begin}, "
                         f"{earlier.member} until {earlier.end} ({earlier.why})")
    return found


def disorders(stays):
    """Returns messages of one partition's stays that are out of order or below an offset that was committed earlier."""
    found = []
    committed = []  # (time, offset) of all stays
    for stay in stays:
        for before, after in zip(stay.offsets, stay.offsets[1:]):
            if after != before + 1:
                found.append(f"partition {stay.partition}, member {stay.member}: {after} came after {before}")
        known = max((offset for at, offset in committed if at < stay.begin), default=0)
        if stay.offsets and stay.offsets[0] < known:
            found.append(f"partition {stay.partition}, member {stay.member} began at {stay.offsets[0]}, "
                         f"{known} was committed before")
        committed += stay.commits
    return found


def main():
    parser = argparse.ArgumentParser(description="Members of a group join, leave and are killed while a producer writes")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--protocol", choices=PROTOCOLS, default="range")
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--per-second", type=int, default=1000, help="messages per second")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--port", type=int, help="the first broker's port")
    args = parser.parse_args()
    print(f"seed {args.seed}, {args.protocol}, {args.members} members, {args.minutes} minutes", flush=True)
    try:
        with kafka.Cluster(2, base_port=args.port, config=BROKERS) as cluster:
            churn = Churn(cluster, args.protocol, args.members, args.per_second, args.seed)
            churn.run(args.minutes * 60)
            print(churn.summary())
            found = churn.complaints()
    except kafka.Unavailable as e:
        sys.exit(f"groups.py: {e}")
    for text in found[:20]:
        print(text)
    print(f"{len(found)} complaints")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
