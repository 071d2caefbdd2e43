"""A share group whose members join, leave, are killed and are frozen while a producer writes, with checks of what they did.

Each member is a process of share_member.c, which prints each record before it acknowledges it, and the results of
acknowledgements. Checked at the end:

- every stored record was accepted by a member: none is lost;
- a record whose acceptance was confirmed is not delivered again;
- the delivery count of a record is larger at each further delivery, unless partitions' leaders change;
- the group has nothing left: the brokers' own tool finds a lag of 0.

A record that was delivered again without a release is a duplicate. Each is classified by the end of its previous delivery:
its member was killed, its lock ran out, its acknowledgement failed with an error (the answer was lost), or it has no result.
"""

import collections
import random
import signal
import subprocess
import threading
import time

import kafka
import steady
import support
import wire

PROGRAM = "tests/real/share_member.c"
TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
PARTITIONS = 12
LOCK_S = 5
SESSION_S = 6
# A frozen member's locks and session run out, or not.
FREEZE_S = (0.5, 12)
SETTINGS = {"share.auto.offset.reset": "earliest", "share.record.lock.duration.ms": LOCK_S * 1000,
            "share.session.timeout.ms": SESSION_S * 1000, "share.delivery.count.limit": 10}
BROKERS = {"group.share.min.session.timeout.ms": SESSION_S * 1000, "group.share.min.record.lock.duration.ms": 1000}
# Results of acknowledgements whose records the member no longer had.
LOCK_LOST = ("INVALID_RECORD_STATE",)
# The class of a duplicate that must not be.
CONFIRMED = "confirmed"


class Delivery:
    """A record that a member received. `result`: the name of the acknowledgement's error, known at `result_at`."""

    def __init__(self, member, at, count, age, accepted):
        self.member = member
        self.at = at  # milliseconds, like all times
        self.count = count
        self.age = age
        self.accepted = accepted
        self.result = None
        self.result_at = None


class Member:
    """A share_member process in the background."""

    def __init__(self, number, cluster, group, topic, properties=()):
        self.number = number
        self.deliveries = {}  # (partition, offset): [Delivery]
        self.errors = collections.Counter()
        self.results = collections.Counter()
        self.strange = []
        self.killed = False
        self.log = kafka.WORK / f"{topic}-{number}.log"
        with open(self.log, "wb") as log:
            self.process = support.start(support.compiled(PROGRAM), cluster.bootstrap, group, topic, *properties,
                                         stdout=subprocess.PIPE, stderr=log, text=True)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):  # a killed process may leave an incomplete line
                self._handle(*line.split())
        self.process.stdout.close()

    def _handle(self, what, at, *rest):
        if what == "error":
            self.errors[rest[0]] += 1
        elif what == "committed":
            partition, result, *offsets = rest
            self.results[result] += len(offsets)
            for offset in offsets:
                self._result(int(partition), int(offset), result, int(at))
        else:
            partition, offset, count, age = map(int, rest)
            delivery = Delivery(self, int(at), count, age, what == "accept")
            self.deliveries.setdefault((partition, offset), []).append(delivery)

    def _result(self, partition, offset, result, at):
        # Acknowledgements of one record are sent in the order of its deliveries.
        open_ones = [d for d in self.deliveries.get((partition, offset), ()) if d.result is None]
        if open_ones:
            open_ones[0].result, open_ones[0].result_at = result, at
        else:
            self.strange.append(f"member {self.number}: a result {result} of {partition}@{offset} too many")

    def kill(self):
        self.killed = True
        self.process.kill()

    def leave(self):
        """Sends SIGTERM: the member closes its consumer and ends."""
        self.process.send_signal(signal.SIGTERM)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def wait(self, timeout_s=60):
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = f"still running after {timeout_s} s"
        self.process.wait()
        self.reader.join()
        if status != 0 and not self.killed:
            self.strange.append(f"member {self.number}: exit status {status}: {self.log.read_text()[-500:]}")
        if not self.strange:
            self.log.unlink(missing_ok=True)


class Churn:
    """The group, its producer, and the events during a run."""

    def __init__(self, cluster, members=10, per_second=1000, seed=0, replicas=1, properties=(),
                 leaders_change=False):
        self.cluster = cluster
        self.leaders_change = leaders_change
        self.most = members
        self.per_second = per_second
        self.properties = properties
        self.rng = random.Random(seed)
        self.topic = support.topic_name("share-churn")
        self.group = f"{self.topic}-group"
        cluster.create_topic(self.topic, PARTITIONS, replication=replicas,
                             config={"message.timestamp.type": "LogAppendTime", "min.insync.replicas": min(2, replicas)})
        wire.set_group_config(cluster.address(), self.group, SETTINGS)
        self.present = []
        self.gone = []
        self.frozen = []  # (time of the thaw, member)
        self.events = collections.Counter()
        self.producer = None
        self.left = {}

    def members(self):
        return self.present + self.gone

    def join(self):
        number = len(self.members())
        self.present.append(Member(number, self.cluster, self.group, self.topic, self.properties))

    def run(self, seconds, pause_s=(0.3, 3), settle_s=60, calm=lambda: None):
        """Triggers events for `seconds`, waits until all records are processed and acknowledged, and stops the producer and the members.

        `calm` is called before the wait: it ends faults of the brokers.
        """
        try:
            for _ in range(self.most):
                self.join()
            self.producer = steady.Run(self.cluster, self.topic, steady.FOREVER, self.per_second, "linger.ms=5",
                                       "enable.idempotence=true", "message.timeout.ms=900000")
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                time.sleep(self.rng.uniform(*pause_s))
                self.thaw(time.monotonic())
                self.one_event()
            self.thaw()
            calm()
            self.producer.stop()
            status = self.producer.finish()
            if status != 0:
                raise AssertionError(f"the producer's exit status is {status}: {self.producer.errors[-1000:]}")
            self.wait_until_processed(settle_s)
        finally:
            self.end()

    def one_event(self):
        running = [m for m in self.present if m not in [frozen for _, frozen in self.frozen]]
        event = "join" if len(self.present) < self.most else self.rng.choice(["leave", "kill", "freeze", "freeze"])
        if event == "freeze" and len(running) <= self.most // 2:
            event = "leave"
        self.events[event] += 1
        if event == "join":
            self.join()
            return
        member = self.rng.choice(running)
        if event == "freeze":
            member.freeze()
            self.frozen.append((time.monotonic() + self.rng.uniform(*FREEZE_S), member))
            return
        self.present.remove(member)
        self.gone.append(member)
        member.kill() if event == "kill" else member.leave()

    def thaw(self, now=float("inf")):
        """Continues frozen members whose time has come."""
        for at, member in list(self.frozen):
            if at <= now:
                self.frozen.remove((at, member))
                member.thaw()

    def end(self):
        if self.producer:
            self.producer.stop()
            self.producer.finish()
        self.thaw()
        for member in self.present:
            member.leave()
        self.gone += self.present
        self.present = []
        for member in self.gone:
            member.wait()

    def wait_until_processed(self, timeout_s):
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and self.unprocessed():
            time.sleep(0.5)
        # Members are still there for records whose acknowledgement has failed.
        self.left = self.lag(max(end - time.monotonic(), 0))

    def accepted(self):
        return {place for m in self.members() for place, some in list(m.deliveries.items()) if any(d.accepted for d in some)}

    def unprocessed(self):
        stored, done = self.cluster.end_offsets(self.topic), self.accepted()
        return [(p, o) for p, end in stored.items() for o in range(end) if (p, o) not in done]

    # -- checks

    def deliveries(self):
        """Returns {(partition, offset): its deliveries in the order of their counts}."""
        found = collections.defaultdict(list)
        for member in self.members():
            for place, some in member.deliveries.items():
                found[place] += some
        return {place: sorted(some, key=lambda d: (d.count, d.at)) for place, some in found.items()}

    def complaints(self):
        found = [text for m in self.members() for text in m.strange]
        missing = self.unprocessed()
        if missing:
            found.append(f"{len(missing)} records never processed: {sorted(missing)[:5]}")
        for (partition, offset), some in self.deliveries().items():
            for before, after in zip(some, some[1:]):
                place = f"{partition}@{offset}, member {before.member.number} at {before.at}, {after.member.number} at {after.at}"
                # Another leader does not know of the deliveries that were not acknowledged.
                if after.count == before.count and not self.leaders_change:
                    found.append(f"{place}: delivered twice with count {after.count}")
                if classify(before, after) == CONFIRMED:
                    found.append(f"{place}: delivered again (count {after.count}) after its confirmed acceptance")
        if not self.left or any(value != "0" for value in self.left.values()):
            found.append(f"lag of the group: {self.left}")
        return found

    def lag(self, timeout_s):
        """Returns {partition: lag} by the brokers' tool, when it is 0 everywhere or after a timeout."""
        end = time.monotonic() + timeout_s
        while True:
            out = kafka.tool(TOOL, "--bootstrap-server", self.cluster.bootstrap, "--describe", "--group", self.group, "--offsets")
            rows = [line.split() for line in out.decode().splitlines() if self.topic in line]
            found = {int(row[2]): row[4] for row in rows}
            if (found and all(value == "0" for value in found.values())) or time.monotonic() > end:
                return found
            time.sleep(1)

    def duplicates(self):
        """Returns the number of further deliveries by the end of the delivery before."""
        found = collections.Counter()
        for some in self.deliveries().values():
            for before, after in zip(some, some[1:]):
                found[classify(before, after)] += 1
        return found

    def summary(self):
        stored = sum(self.cluster.end_offsets(self.topic).values())
        deliveries = sum(len(some) for some in self.deliveries().values())
        errors = sum((m.errors for m in self.members()), collections.Counter())
        results = sum((m.results for m in self.members()), collections.Counter())
        wait = max((d.age for some in self.deliveries().values() for d in some[:1]), default=0)
        return (f"{dict(self.events)}; {stored} records, {deliveries} deliveries; again: {dict(self.duplicates())}; "
                f"longest wait {wait} ms; results {dict(results)}; errors {dict(errors)}")


def classify(delivery, after):
    """Returns why a record was delivered again, `after` this delivery."""
    if not delivery.accepted and delivery.result == "NO_ERROR":
        return "released"
    if delivery.result is None:
        return "killed" if delivery.member.killed else "no result"
    if delivery.result == "NO_ERROR":
        # Brokers ignore a late acknowledgement of a record below the group's start offset, and confirm it.
        return CONFIRMED if after.at > delivery.result_at else "lock ran out"
    return "lock ran out" if delivery.result in LOCK_LOST else "answer lost"
