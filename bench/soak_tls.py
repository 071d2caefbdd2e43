"""An idempotent producer over mutual TLS while its certificates and the brokers' are replaced, and the topic read back.

    make soak-tls [MINUTES=3] [MESSAGES=1000000] [SOAK_ARGS=...]    or
    python3 bench/soak_tls.py [--minutes 3] [--messages 1000000] [--set PROPERTY=VALUE]...

Two brokers hold every partition. The producer's certificate and key are files, which are
replaced ten times, at times with a pause between the two, so that the library finds a certificate whose
key is another's. Its file of authorities is replaced once, by one that holds a second
authority, which then issues the brokers' certificates: Kafka loads those when their
property changes. At the end the brokers restart one after the other. Certificates of the
producer are valid for less than half of the run, so that a connection with an old one
would be refused then.

The library, over mutual TLS and without it, and Kafka's own consumer read the topic:
every message must be stored where its report said, once and in the order of
production in each partition. Exit status 1 when one is not, when a message failed, or
when connections were not replaced after a renewal.
"""

import argparse
import re
import shutil
import sys
import time
import unittest

import real_kafka  # noqa: F401
import certificates
import kafka
import readback
import soak
import support
import tls

BROKERS = 2
PARTITIONS = 6
RENEWALS = 10
INTERVAL_MS, RECONNECT_MS = 500, 1000
PROPERTIES = ("enable.idempotence=true", "message.timeout.ms=900000", f"ssl.certificate.refresh.interval.ms={INTERVAL_MS}",
              f"ssl.certificate.refresh.reconnect.ms={RECONNECT_MS}", "debug=security")
# Lines of the log: a connection is replaced; one is open, with the broker's certificate.
REPLACED = re.compile(r"\bSSLRENEW\b.* connection of \d+ms is replaced")
CONNECTED = re.compile(r"\bCONNECTED\b.*over (?P<version>TLSv[\d.]+) .*peer (?P<peer>.*?),? (?:without|authenticated)")


class Materials(tls.Materials):
    """The certificates; those of the producer are copied to the files that its properties name."""

    made = None

    @classmethod
    def of(cls, folder):
        """Makes the certificates in the cluster's folder; returns the listener."""
        cls.made = cls(folder)
        # The brokers trust producers of either authority.
        both = folder / "both.crt"
        both.write_text(cls.made.ca.certificate.read_text() + cls.made.other_ca.certificate.read_text())
        return [tls.mutual("MTLS", cls.made.broker.keystore, both)]

    def __init__(self, folder):
        super().__init__(folder)
        self.lifetime_s = None
        self.numbers = {}
        self.authorities, self.certificate, self.key = (folder / f"in-use.{name}" for name in ("ca", "crt", "key"))
        self.replace(self.authorities, self.ca.certificate)

    @staticmethod
    def replace(target, *sources):
        """Replaces a file by others joined, in one step."""
        fresh = target.with_suffix(".fresh")
        fresh.write_text("".join(source.read_text() for source in sources))
        fresh.rename(target)

    def issue(self, ca, kind, **options):
        """Issues the next certificate of a kind."""
        self.numbers[kind] = number = self.numbers.get(kind, 0) + 1
        return ca.issue(f"{kind}-{number}", **options)

    def renew_producer(self, ca, pause_s=0):
        """Replaces the producer's certificate, and after a pause its key."""
        made = self.issue(ca, "producer", common_name="producer", usage="clientAuth", ends_s=self.lifetime_s)
        self.replace(self.certificate, made.certificate)
        time.sleep(pause_s)
        self.replace(self.key, made.key)

    def add_authority(self):
        self.replace(self.authorities, self.ca.certificate, self.other_ca.certificate)

    def renew_brokers(self, cluster, ca):
        """Issues a new certificate for the brokers, and has them load it. Kafka refuses one with another name."""
        made = self.issue(ca, "broker", names=certificates.LOCAL, key=certificates.RSA)
        for node in cluster.nodes():
            kafka.tool("kafka.admin.ConfigCommand", "--bootstrap-server", cluster.bootstrap, "--alter", "--entity-type", "brokers",
                       "--entity-name", node, "--add-config", f"listener.name.mtls.ssl.keystore.location={made.keystore}")

    def client_properties(self):
        return ["security.protocol=ssl", f"ssl.ca.location={self.authorities}",
                f"ssl.certificate.location={self.certificate}", f"ssl.key.location={self.key}"]


def steps(cluster, made):
    """Returns the replacements in their order: (kind, function)."""
    def producer(ca, pause_s=0.0):
        return "producer", lambda: made.renew_producer(ca, pause_s)

    def restart():
        for node in cluster.nodes():
            cluster.restart(node)

    ca, other, pause_s = made.ca, made.other_ca, 3 * INTERVAL_MS / 1000
    renewals = [producer(ca), producer(ca, pause_s), ("brokers", lambda: made.renew_brokers(cluster, ca)), producer(ca),
                ("authorities", made.add_authority), producer(ca), ("brokers", lambda: made.renew_brokers(cluster, other)),
                producer(ca), producer(other), producer(other, pause_s), producer(ca), producer(other), producer(ca),
                ("restart", restart)]
    assert sum(kind == "producer" for kind, _ in renewals) == RENEWALS
    return renewals


def soaked(cluster, made, topic, args):
    """Runs producer and replacements; returns (producer, replacements, complaints, seconds)."""
    begin = time.monotonic()
    every_s = args.minutes * 60 / (RENEWALS + 5)
    made.lifetime_s = round(args.minutes * 60 * 0.45) + 5
    made.renew_producer(made.ca)
    own = [f"bootstrap.servers={cluster.bootstrap_of('MTLS')}", *made.client_properties()]
    producer = soak.Producer(cluster, topic, args.messages, args.messages / (args.minutes * 60), [*PROPERTIES, *own, *args.set])
    taken, found = [], []
    try:
        producer.goes_on(0, 60)
        for number, (kind, step) in enumerate(steps(cluster, made), 1):
            time.sleep(max(0, begin + number * every_s - time.monotonic()))
            if not producer.alive():
                break
            first, reported, renewed = producer.produced, producer.reported, len(replaced(producer))
            print(f"{time.monotonic() - begin:7.1f} s  {producer.produced:8d} produced {reported:8d} reported  {kind}", flush=True)
            step()
            if kind in ("producer", "authorities"):
                time.sleep((INTERVAL_MS + RECONNECT_MS) / 1000 + 1)
                count = len(replaced(producer)) - renewed
                if count == 0 and producer.produced < args.messages:
                    found.append(f"no connection was replaced after renewal {number}")
            if producer.produced < args.messages and not producer.goes_on(max(reported, producer.reported), 60):
                found.append(f"no message reported within 60 s after {kind}")
            taken.append(soak.Made(kind, f"step {number}", first, producer.produced))
        status = producer.finish(400)
    finally:
        producer.kill()
    if status != 0:
        found.append(f"the producer's exit status is {status}")
    return producer, taken, found, time.monotonic() - begin


def lines_of(producer):
    return producer.log.read_text(errors="replace").splitlines()


def replaced(producer):
    return [line for line in lines_of(producer) if REPLACED.search(line)]


def check_sessions(producer, made):
    """Complaints about the sessions that the log describes."""
    sessions = [found for line in lines_of(producer) if (found := CONNECTED.search(line))]
    print(f"{'sessions':<10}  {len(sessions)}, {len(replaced(producer))} connections replaced", flush=True)
    versions = {session["version"] for session in sessions}
    found = [] if versions == {"TLSv1.3"} else [f"the sessions were of {versions}"]
    for name in ("Test CA", "Other CA"):
        if not any(name in session["peer"] for session in sessions):
            found.append(f"no session had a broker's certificate of {name}")
    return found


def run(args):
    """The whole run on a cluster of its own; returns complaints."""
    support.need_library()
    support.need_program("kcat")
    support.need_program(certificates.PROGRAM)
    with kafka.Cluster(BROKERS, base_port=args.base_port, listeners=Materials.of) as cluster:
        made, topic = Materials.made, support.topic_name("soak-tls")
        cluster.create_topic(topic, PARTITIONS, replication=BROKERS)
        producer, taken, found, seconds = soaked(cluster, made, topic, args)
        if producer.finished is None:
            return [*found, f"the producer ended without a word: {producer.log}"]
        reports = readback.Reports(producer.reports, producer.finished)
        print(soak.summary(producer, taken, reports, seconds), flush=True)
        found += check_sessions(producer, made) + reports.complaints().texts()
        if producer.fatal:
            found.append(f"fatal: {producer.fatal}")
        if reports.failures():
            found.append(f"{sum(reports.failures().values())} messages failed")
        cluster.wait_until_up()

        def read_over_tls(cluster, topic):
            return readback.read_by_library(cluster, topic, cluster.bootstrap_of("MTLS"), made.client_properties())
        # The certificate of the last renewal is about to expire.
        made.renew_producer(made.ca)
        found += soak.read_back(cluster, topic, reports, lambda text: print(text, flush=True), [read_over_tls, *soak.READERS])
        shutil.rmtree(made.ca.folder)
    if not found:
        producer.reports.unlink()
    return found


def main():
    parser = argparse.ArgumentParser(description="Produce over mutual TLS while certificates are replaced, and read back")
    parser.add_argument("--minutes", type=float, default=3, help="over which messages and replacements are spread")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--base-port", type=int, help="of the brokers (default: any free ports)")
    parser.add_argument("--set", action="append", default=[], metavar="PROPERTY=VALUE", help="for the producer")
    args = parser.parse_args()
    try:
        found = run(args)
    except (unittest.SkipTest, kafka.Unavailable) as e:
        sys.exit(f"soak_tls.py: {e}")
    for text in found:
        print(f"WRONG: {text}")
    print(f"{len(found)} complaints")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
