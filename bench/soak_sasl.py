"""Idempotent producers and groups while SASL sessions end, passwords change, and the servers behind tokens and tickets fail.

    make soak-sasl [MINUTES=5] [MESSAGES=200000] [SOAK_ARGS="--only oidc"]    or
    python3 bench/soak_sasl.py [--minutes 5] [--messages 200000] [--only PHASE]... [--set PROPERTY=VALUE]...

Two brokers hold every partition and end sessions after five seconds (connections.max.reauth.ms). The phases run at the same
time, each with a producer, a topic and a group of its own:

    sessions    PLAIN; nothing happens but the end of sessions, which no client notices unless the brokers are overloaded
    rotation    SCRAM-SHA-256; the password changes ten times, at the brokers first, at the clients first, or at both at once
    oidc        OAUTHBEARER with tokens of 20 seconds; the identity server is stopped for a minute, and then frozen for one
    kerberos    GSSAPI with tickets of 20 seconds; the same is done to the KDC

In runs of less than five minutes the outages are shorter. At the end the library, by the phase's mechanism, and Kafka's own
consumer read each topic: every message must be stored where its report said, once and in the order of production in each
partition; and the group must have processed each message once and in order. Exit status 1 when one is not, when a message
failed, when no message was delivered after a fault, or when the phase `sessions` lost more than a tenth of its connections.
"""

import argparse
import collections
import contextlib
import re
import sys
import threading
import time
import traceback
import unittest
from dataclasses import dataclass

import real_kafka  # noqa: F401
import certificates
import groups
import kafka
import readback
import sasl
import soak
import support
import wire

BROKERS = 2
PARTITIONS = 6
MEMBERS = 3
ROTATIONS = 10
OUTAGE_S, OUTAGE_PART = 60, 0.2
# The life of tokens and tickets.
LIFE_S = 20
PRODUCER = ("enable.idempotence=true", "message.timeout.ms=900000", "debug=security,broker")
# Members keep their partitions in an outage.
MEMBER = ("session.timeout.ms=240000", "heartbeat.interval.ms=1000", "max.poll.interval.ms=600000")
GOES_ON_WITHIN_S = 90
# Connections that may end in the phase `sessions`, as a part of its sessions.
CLOSED_PART = 0.1
# Lines of the log: a connection has ended; one was authenticated, at first or again.
ENDED, AUTHENTICATED = re.compile(r"^%[0-5]\|.*\|FAIL\|"), re.compile(r"\|SASLREAUTH\|")


@dataclass(frozen=True)
class Step:
    """A change or a fault, begun after that part of the time; `act` returns at its end."""

    at: float
    kind: str
    act: object


class Phase:
    """A producer and a group on one listener. Subclasses say how they authenticate, and what happens."""

    way = ""
    listener = "REAUTH"
    # The clients take credentials while they run.
    follows = False

    def __init__(self, cluster, parts, args):
        self.cluster, self.parts, self.args = cluster, parts, args
        self.name = type(self).__name__.lower()
        self.seconds = args.minutes * 60
        self.topic = support.topic_name(f"soak-sasl-{self.name}")
        self.producer, self.members, self.made, self.found = None, [], [], []
        self.begin = time.monotonic()
        self.over = threading.Event()

    def own(self):
        """Returns the mechanism's properties."""
        return self.parts.ways[self.way].properties

    def prepare(self):
        """Prepares what the clients need."""

    def steps(self):
        return []

    def check(self, ended, authenticated):
        """Adds complaints to `found`, after the end. The arguments are lines of the producer's log."""

    # -- the run

    def properties(self):
        return [f"bootstrap.servers={self.cluster.bootstrap_of(self.listener)}",
                *self.parts.properties(self.listener, self.own()), *self.args.set]

    def tell(self, text):
        print(f"{time.monotonic() - self.begin:7.1f} s  {self.name:<9} {text}", flush=True)

    def start(self):
        self.prepare()
        self.cluster.create_topic(self.topic, PARTITIONS, replication=BROKERS)
        self.members = [groups.Member(number, self.cluster, f"{self.topic}-group", self.topic, [*MEMBER, *self.properties()],
                                      self.follows) for number in range(MEMBERS)]
        if not wait(lambda: all(member.held for member in self.members), 60):
            raise AssertionError(f"the members have no partitions: {[dict(member.errors) for member in self.members]}")
        self.producer = soak.Producer(self.cluster, self.topic, self.args.messages, self.args.messages / self.seconds,
                                      [*PRODUCER, *self.properties()], self.follows)
        if not self.producer.goes_on(0, 60):
            raise AssertionError(f"nothing was delivered within 60 s: {self.producer.log}")

    def run(self):
        """Runs everything; complaints are in `found`."""
        try:
            self.start()
            self.begin = time.monotonic()
            for step in self.steps():
                self.take(step)
            self.finish()
        except Exception:
            self.found.append(traceback.format_exc())
        finally:
            self.end()
            self.over.set()

    def take(self, step):
        time.sleep(max(0, self.begin + step.at * self.seconds - time.monotonic()))
        if not self.producer.alive():
            return
        first = self.producer.produced
        self.tell(f"{first:8d} produced {self.producer.reported:8d} reported  {step.kind}")
        step.act()
        ended, reported = time.monotonic(), self.producer.reported
        if self.producer.produced < self.args.messages and not self.producer.goes_on(reported, GOES_ON_WITHIN_S):
            self.found.append(f"no message reported within {GOES_ON_WITHIN_S} s after {step.kind}")
        self.tell(f"{self.producer.produced:8d} produced {self.producer.reported:8d} reported  {step.kind} is over; "
                  f"delivers after {time.monotonic() - ended:.1f} s")
        self.made.append(soak.Made(step.kind, f"at {step.at:.0%}", first, self.producer.produced))

    def finish(self):
        """Waits for the producer, and until the group has read all of it."""
        status = self.producer.finish(self.seconds + 400)
        if status != 0:
            self.found.append(f"the producer's exit status is {status}")
        if not wait(lambda: self.processed() >= (self.producer.finished or 0), GOES_ON_WITHIN_S):
            self.found.append(f"the group processed {self.processed()} of {self.producer.finished} messages")

    def processed(self):
        return sum(len(member.messages) for member in self.members)

    def end(self):
        if self.producer:
            self.producer.kill()
        for member in self.members:
            member.leave()
        for member in self.members:
            member.wait()

    # -- afterwards

    def read_by_mechanism(self, cluster, topic):
        return readback.read_by_library(cluster, topic, cluster.bootstrap_of(self.listener),
                                        self.parts.properties(self.listener, self.own()))

    def complaints(self):
        """Reads the topic, and returns all complaints."""
        if self.producer is None or self.producer.finished is None:
            return [*self.found, "the producer ended without a word"]
        reports = readback.Reports(self.producer.reports, self.producer.finished)
        print(soak.summary(self.producer, self.made, reports, self.seconds), flush=True)
        self.found += reports.complaints().texts() + self.group_complaints()
        if self.producer.fatal:
            self.found.append(f"fatal: {self.producer.fatal}")
        if reports.failures():
            self.found.append(f"{sum(reports.failures().values())} messages failed")
        lines = self.producer.log.read_text(errors="replace").splitlines()
        ended, authenticated = ([line for line in lines if pattern.search(line)] for pattern in (ENDED, AUTHENTICATED))
        print(f"{'sessions':<10}  {len(authenticated)} begun or renewed, {len(ended)} failures of connections", flush=True)
        self.check(ended, authenticated)
        try:
            self.found += soak.read_back(
                self.cluster, self.topic, reports, self.tell, [self.read_by_mechanism, readback.read_by_java])
        except (AssertionError, RuntimeError) as e:
            self.found.append(f"the topic could not be read: {e}")
        if not self.found:
            self.producer.reports.unlink()
        return self.found

    def group_complaints(self):
        found = [text for member in self.members for text in member.strange]
        errors = sum((member.errors for member in self.members), collections.Counter())
        times = collections.Counter((partition, offset) for member in self.members
                                    for _, partition, offset, _ in member.messages)
        doubled = [place for place, count in times.items() if count > 1]
        missing = [(partition, offset) for partition, end in self.cluster.end_offsets(self.topic).items()
                   for offset in range(end) if (partition, offset) not in times]
        stays = [stay for member in self.members for stay in member.stays]
        print(f"{'group':<10}  {len(times)} processed, {len(doubled)} of them more than once; {len(stays)} stays; "
              f"errors {dict(errors) or 'none'}", flush=True)
        if doubled:
            found.append(f"{len(doubled)} messages processed more than once: {doubled[:3]}")
        if missing:
            found.append(f"{len(missing)} messages not processed: {missing[:3]}")
        for partition in range(PARTITIONS):
            of_partition = sorted((stay for stay in stays if stay.partition == partition), key=lambda stay: stay.begin)
            found += groups.overlaps(of_partition) + groups.disorders(of_partition)
        return found


class Sessions(Phase):
    way = "PLAIN"

    def check(self, ended, authenticated):
        if len(authenticated) < BROKERS * self.seconds / (sasl.SESSION_MS / 1000):
            self.found.append(f"only {len(authenticated)} sessions were begun or renewed in {self.seconds:.0f} s")
        # A connection whose requests take longer than the rest of a session, on a busy machine, is closed by the broker.
        if len(ended) > CLOSED_PART * len(authenticated):
            self.found.append(f"{len(ended)} connections ended: {ended[:2]}; errors: {self.producer.errors[:3]}")


class Rotation(Phase):
    way = "SCRAM-SHA-256"
    follows = True
    user = "rotated"

    def prepare(self):
        self.password = "password 0"
        self.change_at_brokers()

    def own(self):
        return sasl.by_password(self.way, self.user, self.password)

    def change_at_brokers(self):
        wire.set_scram_password(self.cluster.address(), self.user, self.way, self.password)

    def change_at_clients(self):
        for client in (self.producer, *self.members):
            # The producer may have ended during the last rotation.
            with contextlib.suppress(BrokenPipeError):
                client.set_credentials(self.user, self.password)

    def steps(self):
        # Longer than a session, where there is time for it: clients authenticate again meanwhile, in vain.
        pause_s = min(1.4 * sasl.SESSION_MS / 1000, self.seconds / ROTATIONS / 4)

        def change(number):
            self.password = f"password {number}"
            order = [self.change_at_brokers, self.change_at_clients]
            if number % 3 == 2:
                order.reverse()
            order[0]()
            time.sleep(pause_s if number % 3 else 0)
            order[1]()

        places = ("at both", "at the brokers first", "at the clients first")
        return [Step((number - 0.5) / ROTATIONS, f"rotation {places[number % 3]}", lambda number=number: change(number))
                for number in range(1, ROTATIONS + 1)]


class Outages(Phase):
    """A server is stopped, and then frozen."""

    server = ""

    def outage(self, begin, end):
        begin()
        try:
            time.sleep(min(OUTAGE_S, OUTAGE_PART * self.seconds))
        finally:
            end()

    def steps(self):
        server = getattr(self.parts, self.server)
        return [Step(0.2, f"stopped {self.server}", lambda: self.outage(server.stop, server.start)),
                Step(0.6, f"frozen {self.server}", lambda: self.outage(server.freeze, server.thaw))]


class Oidc(Outages):
    way = "OIDC"
    listener = "OIDC"
    server = "oidc"

    def prepare(self):
        self.parts.oidc.set_tokens(expires_s=LIFE_S)


class Kerberos(Outages):
    way = "GSSAPI"
    server = "kdc"

    def prepare(self):
        kdc = self.parts.kdc
        self.keytab = kdc.keytab("short", kdc.add("short", life_s=LIFE_S))

    def own(self):
        return self.parts.by_keytab("short", self.keytab)


PHASES = {phase.__name__.lower(): phase for phase in (Sessions, Rotation, Oidc, Kerberos)}


def wait(condition, timeout_s):
    """Waits until the condition holds; returns false after the timeout."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def run(args):
    """Runs the phases on a cluster of their own; returns complaints."""
    support.need_library()
    support.need_program("kcat")
    support.need_program(certificates.PROGRAM)
    parts, found = sasl.parts(), []
    kinds = [PHASES[name] for name in args.only or PHASES]
    for kind in kinds:
        parts.way(kind.way)
    for program in (soak.PROGRAM, groups.PROGRAM):
        support.compiled(program)
    with kafka.Cluster(BROKERS, base_port=args.base_port, listeners=parts.listeners, java_options=parts.java_options()) as cluster:
        parts.prepare(cluster)
        phases = [kind(cluster, parts, args) for kind in kinds]
        # A server ends with the thread that has started it again, so the threads remain until all is read.
        read = threading.Event()
        threads = [threading.Thread(target=lambda phase=phase: (phase.run(), read.wait()), daemon=True) for phase in phases]
        for thread in threads:
            thread.start()
        for phase in phases:
            phase.over.wait()
        for phase in phases:
            print(f"--- {phase.name}", flush=True)
            found += [f"{phase.name}: {text}" for text in phase.complaints()]
        read.set()
    return found


def main():
    parser = argparse.ArgumentParser(description="Produce and consume with SASL while sessions and credentials end, and read back")
    parser.add_argument("--minutes", type=float, default=5, help="over which messages and faults are spread")
    parser.add_argument("--messages", type=int, default=200_000, help="of each phase")
    parser.add_argument("--only", action="append", choices=PHASES, help="this phase; again for another one")
    parser.add_argument("--base-port", type=int, help="of the brokers (default: any free ports)")
    parser.add_argument("--set", action="append", default=[], metavar="PROPERTY=VALUE", help="for producers and members")
    args = parser.parse_args()
    try:
        found = run(args)
    except (unittest.SkipTest, kafka.Unavailable) as e:
        sys.exit(f"soak_sasl.py: {e}")
    for text in found:
        print(f"WRONG: {text}")
    print(f"{len(found)} complaints")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
