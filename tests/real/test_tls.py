"""TLS on real brokers: which certificates are accepted, on both sides, and the error of each that is not."""

import re
import shutil
import subprocess
import time
import unittest
from dataclasses import dataclass

import certificates
import groups
import kafka
import support
import tls
from steady import Run

COUNT = 2_000
# Long enough for several attempts to connect, by all clients at once and beside a broker that pauses.
ERRORS_S = 10
PROGRAM = "tests/real/connection_errors.c"


class Listeners(tls.Materials):
    """Every certificate of these tests, and a listener for each of the brokers'."""

    made = None

    @classmethod
    def of(cls, folder):
        """Makes the certificates in the cluster's folder; returns the listeners."""
        cls.made = cls(folder)
        return cls.made.listeners()

    def __init__(self, folder):
        super().__init__(folder)
        (folder / tls.JAVA_SECURITY).write_text(tls.DISABLED)
        day, local, ca = certificates.DAY_S, certificates.LOCAL, self.ca
        self.expired = ca.issue("expired", names=local, begins_s=-2 * day, ends_s=-day)
        self.early = ca.issue("early", names=local, begins_s=day, ends_s=2 * day)
        self.elsewhere = ca.issue("elsewhere", "kafka.example.com", names=("DNS:kafka.example.com", "DNS:*.example.net"))
        self.revoked = ca.issue("revoked", names=local)
        self.nameless = ca.issue("nameless")
        self.version_1 = ca.issue_version_1("version-1")
        self.own_ca = certificates.self_signed(folder, "own-ca")
        ca.revoke(self.revoked)
        self.revocations = ca.revocation_list()
        self.expired_client = ca.issue("old-client", "old client", usage="clientAuth", begins_s=-2 * day, ends_s=-day)
        self.foreign_client = self.other_ca.issue("foreign", "foreign client", usage="clientAuth")

    def listeners(self):
        """Returns all listeners."""
        kept, ca = self.broker.keystore, self.ca.certificate
        faulty = {"EXPIRED": self.expired, "EARLY": self.early, "ELSEWHERE": self.elsewhere, "REVOKED": self.revoked,
                  "NAMELESS": self.nameless, "VERSION1": self.version_1, "OWNCA": self.own_ca}
        return [
            tls.listener("TLS", kept),
            tls.mutual("MTLS", kept, ca),
            tls.mutual("MTLS12", kept, ca, ssl_enabled_protocols="TLSv1.2"),
            tls.listener("TLS11", kept, ssl_enabled_protocols="TLSv1.1"),
            tls.listener("CBC", kept, ssl_enabled_protocols="TLSv1.2", ssl_cipher_suites="TLS_RSA_WITH_AES_128_CBC_SHA"),
            *(tls.listener(name, certificate.keystore) for name, certificate in faulty.items()),
        ]


class OnTls(unittest.TestCase):
    """One broker with all the listeners."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program(certificates.PROGRAM)
        cls.kafka = support.cluster(1, listeners=Listeners.of, java_options=tls.java_options())
        cls.made = Listeners.made
        cls.trusting = cls.made.properties()
        cls.client = [*cls.trusting, *cls.made.identity()]

    def topic(self, what):
        name = support.topic_name(f"tls-{what}")
        self.kafka.create_topic(name, partitions=2, replication=1)
        return name

    @staticmethod
    def start(brokers, seconds, *properties):
        """Starts the program that prints a client's errors."""
        return support.start(support.compiled(PROGRAM), brokers, seconds, *properties, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)

    def said(self, brokers, *properties, seconds=20):
        """Returns the lines of the program that prints a client's errors."""
        process = self.start(brokers, seconds, *properties)
        return process.communicate(timeout=seconds + 20)[0].splitlines()

    def check_connects(self, listener, *properties):
        """Returns the line of the log that describes the session."""
        lines = self.said(self.kafka.bootstrap_of(listener), *properties, "debug=security")
        self.assertIn("metadata 1", lines)
        self.assertEqual([line for line in lines if line.startswith("error")], [])
        return next(line for line in lines if " CONNECTED " in line)


class Kcat(OnTls):
    """Debian's kcat, which knows nothing of the library's TLS but its properties."""

    @classmethod
    def setUpClass(cls):
        support.need_program("kcat")
        super().setUpClass()

    def kcat(self, listener, properties, *args, **options):
        brokers = self.kafka.bootstrap_of(listener)
        flags = [flag for setting in properties for flag in ("-X", setting)]
        return support.run("kcat", "-b", brokers, *flags, *args, **options)[0]

    def check_round_trip(self, listener, properties):
        topic, sent = self.topic(listener.lower()), support.lines(COUNT)
        self.kcat(listener, properties, "-P", "-t", topic, stdin=sent)
        rows = self.kcat(listener, properties, "-C", "-t", topic, "-e", "-q", "-o", "beginning")
        self.assertEqual(sorted(rows.splitlines()), sorted(sent.splitlines()))

    def test_tls(self):
        self.check_round_trip("TLS", self.trusting)

    def test_mutual_tls(self):
        self.check_round_trip("MTLS", self.client)

    def test_tls_1_2(self):
        self.check_round_trip("MTLS12", self.client)

    def test_encrypted_keys(self):
        client = self.made.client
        for key in (client.encrypted_key(tls.PASSWORD), client.encrypted_key(tls.PASSWORD, "-v1", "PBE-SHA1-3DES"),
                    client.traditional_key(tls.PASSWORD)):
            with self.subTest(key=key.suffix):
                own = [*self.made.identity(key=key), f"ssl.key.password={tls.PASSWORD}"]
                self.check_round_trip("MTLS", [*self.trusting, *own])

    def test_keystores(self):
        for options in ((), ("-legacy",)):
            with self.subTest(options=options):
                store = self.made.client.pkcs12(tls.PASSWORD, *options)
                own = [f"ssl.keystore.location={store}", f"ssl.keystore.password={tls.PASSWORD}"]
                self.check_round_trip("MTLS", [*self.trusting, *own])

    def test_java_reads_what_was_written_over_tls(self):
        topic = self.topic("java")
        sent = support.lines(COUNT)
        self.kcat("MTLS", self.client, "-P", "-t", topic, "-z", "lz4", stdin=sent)
        read = kafka.tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", self.kafka.bootstrap, "--topic", topic,
            "--from-beginning", "--max-messages", COUNT, "--timeout-ms", 20_000)
        self.assertEqual(sorted(read.splitlines()), sorted(sent.splitlines()))


class Programs(OnTls):
    """Programs in C: a producer that receives delivery reports, and a member of a group."""

    def test_a_group_consumes_what_a_producer_wrote_over_mutual_tls(self):
        topic, group = self.topic("group"), support.topic_name("tls-group")
        own = [f"bootstrap.servers={self.kafka.bootstrap_of('MTLS')}", *self.client]
        member = groups.Member(0, self.kafka, group, topic, [*own, "auto.offset.reset=earliest"])
        try:
            run = Run(self.kafka, topic, COUNT, 10 * COUNT, "enable.idempotence=true", *own)
            self.assertEqual((run.finish(), len(run.acked)), (0, COUNT), run.errors)
            end = time.monotonic() + 30
            while len(member.messages) < COUNT and time.monotonic() < end:
                time.sleep(0.05)
        finally:
            member.leave()
            member.wait()
        self.assertEqual(len(member.messages), COUNT)
        self.assertEqual((dict(member.errors), member.strange), ({}, []))
        committed = {}
        for stay in member.stays:
            committed[stay.partition] = stay.commits[-1][1]
        self.assertEqual(committed, self.kafka.end_offsets(topic))


class Accepted(OnTls):
    """Brokers' certificates that OpenSSL accepts, some of them by rules older than RFC 5280."""

    def test_protocol_versions(self):
        self.assertIn("over TLSv1.3 ", self.check_connects("TLS", *self.trusting))
        self.assertIn("over TLSv1.2 ", self.check_connects("MTLS12", *self.client))

    def test_cipher_suite_of_tls_1_2(self):
        line = self.check_connects("MTLS12", *self.client, "ssl.cipher.suites=ECDHE-RSA-AES128-GCM-SHA256")
        self.assertIn("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", line)

    def test_broker_by_its_address(self):
        address = self.kafka.bootstrap_of("TLS").replace("localhost", "127.0.0.1")
        self.assertIn("metadata 1", self.said(address, *self.trusting))

    def test_version_1_without_extensions(self):
        self.check_connects("VERSION1", *self.trusting)

    def test_common_name_without_subject_alternative_names(self):
        self.check_connects("NAMELESS", *self.trusting)

    def test_self_signed_certificate_as_its_own_authority(self):
        self.check_connects("OWNCA", "security.protocol=ssl", f"ssl.ca.location={self.made.own_ca.certificate}")

    def test_valid_certificate_with_a_revocation_list(self):
        self.check_connects("TLS", *self.trusting, f"ssl.crl.location={self.made.revocations}")

    def test_authority_as_text(self):
        self.check_connects("TLS", "security.protocol=ssl", f"ssl.ca.pem={self.made.ca.certificate.read_text()}")

    def test_faults_that_the_configuration_ignores(self):
        self.check_connects("ELSEWHERE", *self.trusting, "ssl.endpoint.identification.algorithm=none")
        self.check_connects("EXPIRED", "security.protocol=ssl", "enable.ssl.certificate.verification=false")

    def test_client_certificate_that_is_not_asked_for(self):
        self.check_connects("TLS", *self.client)


@dataclass
class Case:
    """A client that cannot connect: where to, how, and the error that it must report."""

    listener: str
    properties: list
    # Patterns that the text contains, in any order.
    texts: list
    code: str = "_SSL"


class Errors(OnTls):
    """One error for an outage, which names the broker, the cause and a property, however often the client tries."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cases = cls.make_cases()
        started = {name: cls.start(cls.brokers(case), ERRORS_S, *case.properties, "debug=broker", "reconnect.backoff.max.ms=400")
                   for name, case in cls.cases.items()}
        cls.outputs = {name: process.communicate(timeout=60)[0] for name, process in started.items()}

    @classmethod
    def brokers(cls, case):
        if case.listener == "PLAINTEXT":
            return cls.kafka.bootstrap.replace(kafka.HOST, "localhost")
        return cls.kafka.bootstrap_of(case.listener)

    @classmethod
    def make_cases(cls):
        made, trusting = cls.made, cls.trusting
        other = ["security.protocol=ssl", f"ssl.ca.location={made.other_ca.certificate}"]

        def dates(certificate):
            return [re.escape(date) for date in certificate.dates()]

        refused = ["SSL handshake failed: ", "certificate verify failed: "]
        from_ca = ["1 trusted CA certificate ", re.escape(str(made.ca.certificate))]
        return {
            "unknown authority": Case("TLS", other, [
                *refused, "issuer is not a trusted CA", "CN=localhost", "CN=Test CA", re.escape(str(made.other_ca.certificate)),
                "ssl.ca.location"]),
            "self-signed": Case("OWNCA", trusting, [*refused, "self-signed and not trusted", *from_ca, "ssl.ca.location"]),
            "expired": Case("EXPIRED", trusting, [*refused, "it has expired", *dates(made.expired), "clock"]),
            "not yet valid": Case("EARLY", trusting, [*refused, "it is not valid yet", *dates(made.early), "clock"]),
            "wrong name": Case("ELSEWHERE", trusting, [
                *refused, "not for the broker's host name", r"names presented: kafka\.example\.com, \*\.example\.net",
                "name wanted: localhost", "ssl.endpoint.identification.algorithm"]),
            "revoked": Case("REVOKED", [*trusting, f"ssl.crl.location={made.revocations}"], [
                *refused, "its issuer has revoked it", "ssl.crl.location"]),
            "no client certificate": Case("MTLS", trusting, [
                r"SSL alert number (42|116)", "requires a client certificate", "ssl.certificate.location"]),
            "no client certificate, TLS 1.2": Case("MTLS12", trusting, [
                r"SSL alert number (40|42|116)", "requires a client certificate", "ssl.certificate.location"]),
            "expired client certificate": Case("MTLS", [*trusting, *made.identity(made.expired_client)], [
                "certificate (unknown|expired): SSL alert number 4[56] ", "refuses the client's certificate", "ssl.certificate.location"]),
            "foreign client certificate": Case("MTLS", [*trusting, *made.identity(made.foreign_client)], [
                r"SSL alert number (42|116)", "requires a client certificate", "ssl.certificate.location"]),
            "plaintext broker": Case("PLAINTEXT", trusting, ["PLAINTEXT broker listener"], "_TRANSPORT"),
            "plaintext client": Case("TLS", [], ["this is an SSL listener", "security.protocol=ssl"], "_BAD_MSG"),
            "no protocol version": Case("TLS11", trusting, [r"TLSv1\.2", "ssl.enabled.protocols"]),
            "no cipher suite": Case("CBC", trusting, ["handshake failure: SSL alert number 40", "ssl.cipher.suites"]),
        }

    def check(self, name):
        case, lines = self.cases[name], self.outputs[name].splitlines()
        errors = [line.split(" ", 2)[1:] for line in lines if line.startswith("error ")]
        causes = [(code, text) for code, text in errors if code != "_ALL_BROKERS_DOWN"]
        attempts = sum(1 for line in lines if " CONNECT " in line and "Connecting to " in line)
        output = self.outputs[name]
        self.assertNotIn("metadata 1", lines)
        self.assertEqual(len(causes), 1, output)
        self.assertGreaterEqual(attempts, 3, output)
        (code, text), = causes
        self.assertEqual(code, case.code, text)
        self.assertIn(f"{self.brokers(case)}/bootstrap", text)
        for pattern in case.texts:
            self.assertRegex(text, pattern)
        # The log has the same line once.
        failures = [line for line in lines if re.match(r"log [0-5] ", line) and text in line]
        self.assertEqual(len(failures), 1, output)

    def test_authority_is_unknown(self):
        self.check("unknown authority")

    def test_certificate_is_self_signed(self):
        self.check("self-signed")

    def test_certificate_has_expired(self):
        self.check("expired")

    def test_certificate_is_not_valid_yet(self):
        self.check("not yet valid")

    def test_certificate_is_for_another_host(self):
        self.check("wrong name")

    def test_certificate_is_revoked(self):
        self.check("revoked")

    def test_client_certificate_is_missing(self):
        self.check("no client certificate")
        self.check("no client certificate, TLS 1.2")

    def test_client_certificate_has_expired(self):
        self.check("expired client certificate")
        _, expired = self.made.expired_client.dates()
        self.assertIn(f"(CN=old client) expired on {expired}", self.outputs["expired client certificate"])

    def test_client_certificate_is_of_another_authority(self):
        # It is not sent, since brokers that only ask for certificates would refuse it.
        self.check("foreign client certificate")
        self.assertRegex(self.outputs["foreign client certificate"],
                         "log 4 SSL .*No matching issuer found.* CN=Other CA, the broker accepts CN=Test CA")

    def test_listener_is_plaintext(self):
        self.check("plaintext broker")

    def test_client_is_plaintext(self):
        self.check("plaintext client")

    def test_no_protocol_version_in_common(self):
        self.check("no protocol version")

    def test_no_cipher_suite_in_common(self):
        self.check("no cipher suite")


class Refused(unittest.TestCase):
    """Files that cannot be used refuse the client: the error names the property, the file and the cause. Needs no broker."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program(certificates.PROGRAM)
        folder = kafka.WORK / support.topic_name("tls-files")
        folder.mkdir(parents=True)
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.made = tls.Materials(folder)
        cls.folder = folder

    def refused(self, *properties):
        """Returns the text with which a client is refused."""
        _, err = support.run(support.compiled(PROGRAM), "localhost:1", 1, "security.protocol=ssl", *properties, status=2)
        return err.decode()

    def check(self, properties, *parts):
        text = self.refused(*properties)
        for part in parts:
            self.assertIn(str(part), text)

    def test_file_is_missing(self):
        missing = self.folder / "missing.crt"
        for name, others in (("ssl.ca.location", []), ("ssl.crl.location", []),
                             ("ssl.certificate.location", [f"ssl.key.location={self.made.client.key}"]),
                             ("ssl.key.location", [f"ssl.certificate.location={self.made.client.certificate}"]),
                             ("ssl.keystore.location", ["ssl.keystore.password=x"])):
            with self.subTest(name=name):
                self.check([f"{name}={missing}", *others], f"{name} failed: ", missing, "No such file")

    def test_file_has_no_certificate(self):
        self.check([f"ssl.ca.location={self.made.client.key}"], "ssl.ca.location failed: ", self.made.client.key, "certificate")

    def test_key_belongs_to_another_certificate(self):
        properties = self.made.identity(self.made.client, key=self.made.broker.key)
        self.check(properties, "ssl.key.location", "ssl.certificate.location")

    def test_password_of_the_key_is_wrong_or_missing(self):
        own = self.made.identity(key=self.made.client.encrypted_key(tls.PASSWORD))
        self.check(own, "ssl.key.location failed: ", "ssl.key.password")
        self.check([*own, "ssl.key.password=other"], "ssl.key.location failed: ", "ssl.key.password")
        self.assertNotIn("other", self.refused(*own, "ssl.key.password=other").replace("another", ""))

    def test_password_of_the_keystore_is_wrong(self):
        store = self.made.client.pkcs12(tls.PASSWORD)
        self.check([f"ssl.keystore.location={store}", "ssl.keystore.password=other"], "ssl.keystore.location failed: ",
                   "ssl.keystore.password")


if __name__ == "__main__":
    unittest.main()
