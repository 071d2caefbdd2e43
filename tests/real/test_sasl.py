"""SASL on real brokers: every mechanism, the error of each authentication that fails, sessions that end, and old brokers."""

import http.server
import json
import re
import subprocess
import threading
import time
import unittest
from dataclasses import dataclass

import certificates
import generations
import groups
import kafka
import sasl
import support
from steady import Run

COUNT = 500
# Long enough for several attempts to connect, by all clients at once and beside brokers that pause.
ERRORS_S = 10
# Longer than two sessions of the listener REAUTH.
REAUTH_S = 2.2 * sasl.SESSION_MS / 1000
REAUTH_PER_S = 200
PROGRAM = "tests/real/connection_errors.c"
# Longer than the life of a token that token_callback.c passes on.
TOKENS_S, TOKENS_PER_S = 6, 50


def flags(properties):
    return [flag for setting in properties for flag in ("-X", setting)]


def shown(output):
    """Returns the first lines of an output that differ by more than numbers."""
    lines = {re.sub(r"\d+", "", line): line[:400] for line in reversed(output.splitlines())}
    return "\n" + "\n".join(list(reversed(lines.values()))[:30])


def kcat(brokers, properties, *args, **options):
    """Runs kcat; returns its output."""
    return support.run("kcat", "-b", brokers, *flags(properties), *args, **options)[0]


class OnSasl(unittest.TestCase):
    """One broker with all the listeners."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program(certificates.PROGRAM)
        support.need_program("kcat")
        cls.parts = sasl.parts()
        cls.kafka = support.cluster(1, listeners=cls.parts.listeners, java_options=cls.parts.java_options())
        cls.parts.prepare(cls.kafka)

    def topic(self, what, partitions=2):
        name = support.topic_name(f"sasl-{what}")
        self.kafka.create_topic(name, partitions, replication=1)
        return name

    @staticmethod
    def start(brokers, seconds, *properties):
        """Starts the program that prints a client's errors."""
        return support.start(support.compiled(PROGRAM), brokers, seconds, *properties, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)

    def said(self, listener, own, *more, seconds=20):
        """Returns the lines of the program that prints a client's errors."""
        properties = self.parts.properties(listener, own)
        process = self.start(self.kafka.bootstrap_of(listener), seconds, *properties, *more)
        return process.communicate(timeout=seconds + 20)[0].splitlines()


class Kcat(OnSasl):
    """Debian's kcat, which knows nothing of the library's SASL but its properties."""

    def check_round_trip(self, listener, own):
        topic, sent = self.topic(listener.lower()), support.lines(COUNT)
        brokers, properties = self.kafka.bootstrap_of(listener), self.parts.properties(listener, own)
        kcat(brokers, properties, "-P", "-t", topic, stdin=sent)
        rows = kcat(brokers, properties, "-C", "-t", topic, "-e", "-q", "-o", "beginning")
        self.assertEqual(sorted(rows.splitlines()), sorted(sent.splitlines()))

    def check(self, name):
        way = self.parts.way(name)
        for listener in filter(None, (way.listener, way.secured)):
            with self.subTest(listener=listener):
                self.check_round_trip(listener, way.properties)

    def test_plain(self):
        self.check("PLAIN")

    def test_scram_sha_256(self):
        self.check("SCRAM-SHA-256")

    def test_scram_sha_512(self):
        self.check("SCRAM-SHA-512")

    def test_unsecured_tokens(self):
        self.check("OAUTHBEARER")

    def test_tokens_of_an_identity_server(self):
        self.check("OIDC")

    def test_kerberos(self):
        self.check("GSSAPI")

    def test_user_with_commas_and_equals_signs_and_a_password_beyond_ascii(self):
        for mechanism in sasl.SCRAM:
            with self.subTest(mechanism=mechanism):
                self.check_round_trip("SASL", sasl.by_password(mechanism, sasl.ODD_USER, sasl.ODD_PASSWORD))

    def test_java_reads_what_was_written_by_every_mechanism(self):
        prefix, sent = support.topic_name("sasl-java"), {}
        for name, way in self.parts.ways.items():
            topic = f"{prefix}-{name}"
            self.kafka.create_topic(topic, 1, replication=1)
            sent[topic] = support.lines(COUNT, prefix=name)
            properties = self.parts.properties(way.listener, way.properties)
            kcat(self.kafka.bootstrap_of(way.listener), properties, "-P", "-t", topic, "-z", "lz4", stdin=sent[topic])
        read = kafka.tool(
            "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", self.kafka.bootstrap_of("SASLSSL"),
            "--command-config", self.parts.java_properties("SASLSSL", "SCRAM-SHA-512"), "--include", f"{prefix}-.*",
            "--from-beginning", "--max-messages", COUNT * len(sent), "--timeout-ms", 20_000)
        self.assertEqual(sorted(read.splitlines()), sorted(b"".join(sent.values()).splitlines()))


class Programs(OnSasl):
    """Programs in C: a producer that receives delivery reports, and a member of a group."""

    def check(self, name):
        way = self.parts.way(name)
        topic, group = self.topic("group"), support.topic_name("sasl-group")
        own = [f"bootstrap.servers={self.kafka.bootstrap_of(way.listener)}",
               *self.parts.properties(way.listener, way.properties)]
        member = groups.Member(0, self.kafka, group, topic, own)
        try:
            run = Run(self.kafka, topic, COUNT, 10 * COUNT, "enable.idempotence=true", *own)
            self.assertEqual((run.finish(60), len(run.acked)), (0, COUNT), run.errors)
            end = time.monotonic() + 30
            while len(member.messages) < COUNT and time.monotonic() < end:
                time.sleep(0.05)
        finally:
            member.leave()
            member.wait()
        self.assertEqual(len(member.messages), COUNT)
        self.assertEqual((dict(member.errors), member.strange), ({}, []))

    def test_plain(self):
        self.check("PLAIN")

    def test_scram(self):
        self.check("SCRAM-SHA-512")

    def test_unsecured_tokens(self):
        self.check("OAUTHBEARER")

    def test_tokens_of_an_identity_server(self):
        self.check("OIDC")

    def test_kerberos(self):
        self.check("GSSAPI")

    def test_application_renews_tokens(self):
        self.parts.way("OIDC")
        file = self.parts.tls.folder / "token"
        file.write_text(self.parts.token())
        own = self.parts.properties("OIDC", ["sasl.mechanisms=OAUTHBEARER", f"sasl.oauthbearer.config={file}"])
        count, started = TOKENS_S * TOKENS_PER_S, {}
        for mode in ("poll", "background", "event"):
            started[mode] = support.start(
                support.compiled("tests/real/token_callback.c"), mode, self.kafka.bootstrap_of("OIDC"), self.topic("token"), count,
                TOKENS_PER_S, *own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        outputs = {mode: process.communicate(timeout=60) for mode, process in started.items()}
        for mode, (out, err) in outputs.items():
            with self.subTest(mode=mode):
                # A third time when a pause of the machine has prolonged the run.
                self.assertRegex(out, rf"^delivered {count} refreshed [23]\n$", err)
                self.assertEqual(err, "")

    def test_messages_wait_until_the_password_is_set(self):
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            with self.subTest(mechanism=mechanism):
                wrong = self.parts.properties("SASL", self.parts.ways[mechanism].wrong)
                run = Run(self.kafka, self.topic("late"), COUNT, COUNT, f"bootstrap.servers={self.kafka.bootstrap_of('SASL')}",
                          *wrong, follows_credentials=True)
                time.sleep(1)
                self.assertEqual(len(run.acked), 0)
                run.set_credentials(sasl.USER, sasl.PASSWORD)
                self.assertEqual((run.finish(60), len(run.acked)), (0, COUNT), run.errors)


class Sessions(OnSasl):
    """A listener that ends sessions after eight seconds, below producers that are not disturbed."""

    def test_sessions_are_renewed_by_every_mechanism(self):
        runs = {}
        for name in ("PLAIN", "SCRAM-SHA-256", "OIDC", "GSSAPI"):
            if name not in self.parts.missing:
                own = self.parts.properties("REAUTH", self.parts.ways[name].properties)
                runs[name] = Run(self.kafka, self.topic("reauth"), round(REAUTH_S * REAUTH_PER_S), REAUTH_PER_S,
                                 "enable.idempotence=true", f"bootstrap.servers={self.kafka.bootstrap_of('REAUTH')}", *own)
        begin = time.monotonic()
        results = {name: (run.finish(60), len(run.acked)) for name, run in runs.items()}
        self.assertGreater(time.monotonic() - begin, REAUTH_S - 1)
        for name, run in runs.items():
            with self.subTest(way=name):
                self.assertEqual(results[name], (0, round(REAUTH_S * REAUTH_PER_S)))
                errors = [line for line in run.errors.splitlines() if line.startswith("error")]
                self.assertEqual(errors, [])
                # Neither is a connection replaced: a disconnection would be logged.
                self.assertNotIn("FAIL", run.errors)

    def test_idle_client_reports_no_error(self):
        properties = self.parts.properties("REAUTH", self.parts.ways["PLAIN"].properties)
        process = self.start(self.kafka.bootstrap_of("REAUTH"), REAUTH_S, "--stay", *properties)
        lines = process.communicate(timeout=REAUTH_S + 20)[0].splitlines()
        self.assertIn("metadata 1", lines)
        self.assertEqual([line for line in lines if re.match("error|log [0-4]", line)], [])


@dataclass
class Case:
    """A client that cannot authenticate: where to, how, and the error that it must report."""

    listener: str
    properties: list
    # Patterns that the text contains, in any order.
    texts: list
    code: str = "_AUTHENTICATION"
    # Connections that are attempted at least; with none, the client waits for a token.
    attempts: int = 2
    # Which the output does not contain.
    secrets: tuple = ()
    # In place of the listener's addresses.
    brokers: str = ""


class TokenEndpoint(http.server.BaseHTTPRequestHandler):
    """Refuses every request for a token."""

    def do_POST(self):
        body = json.dumps({"error": "invalid_client", "error_description": "no such secret here"}).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Errors(OnSasl):
    """One error for an outage, with the broker's words, however often the client tries; and no secret in the log."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        endpoint = http.server.ThreadingHTTPServer((kafka.HOST, 0), TokenEndpoint)
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        cls.addClassCleanup(endpoint.server_close)
        cls.addClassCleanup(endpoint.shutdown)
        cls.refusing = f"http://{kafka.HOST}:{endpoint.server_address[1]}/token"
        (port,) = kafka.free_ports(1)
        cls.closed = f"http://{kafka.HOST}:{port}/token"
        cls.cases = cls.make_cases()
        started = {name: cls.start(cls.brokers(case), ERRORS_S, *case.properties, "debug=broker,security,protocol",
                                   "reconnect.backoff.max.ms=400")
                   for name, case in cls.cases.items()}
        cls.outputs = {name: process.communicate(timeout=60)[0] for name, process in started.items()}

    @classmethod
    def brokers(cls, case):
        if case.listener == "PLAINTEXT":
            return cls.kafka.bootstrap.replace(kafka.HOST, "localhost")
        return case.brokers or cls.kafka.bootstrap_of(case.listener)

    @classmethod
    def make_cases(cls):
        parts, ways = cls.parts, cls.parts.ways

        def refused(listener, name, *texts, **options):
            return Case(listener, parts.properties(listener, ways[name].wrong), list(texts), secrets=ways[name].secrets, **options)

        credentials = "SASL authentication error: Authentication failed during authentication due to invalid credentials with "
        trusting = f"ssl.ca.location={parts.tls.ca.certificate}"
        plain = ways["PLAIN"].properties
        cases = {
            "plain": refused("SASL", "PLAIN", "SASL authentication error: Authentication failed: Invalid username or password"),
            "plain, ssl": refused("SASLSSL", "PLAIN", "SASL authentication error: Authentication failed: Invalid username"),
            "scram 256": refused("SASL", "SCRAM-SHA-256", f"{credentials}SASL mechanism SCRAM-SHA-256"),
            "scram 512": refused("SASL", "SCRAM-SHA-512", f"{credentials}SASL mechanism SCRAM-SHA-512"),
            "scram, unknown user": Case("SASL", parts.properties("SASL", sasl.by_password("SCRAM-SHA-256", "carol")),
                                        [f"{credentials}SASL mechanism SCRAM-SHA-256"]),
            "scope": refused("SASL", "OAUTHBEARER", r'SASL authentication error: \{"status":"insufficient_scope"'),
            "mechanism": Case("PLAINONLY", parts.properties("PLAINONLY", ways["SCRAM-SHA-256"].properties), [
                "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: "
                "broker's supported mechanisms: PLAIN"], secrets=(sasl.PASSWORD,)),
            "no sasl on the listener": Case("PLAINTEXT", parts.properties("SASL", plain), [
                "SASL PLAIN mechanism handshake failed: ", r"the listener does not use SASL \(security\.protocol\)"]),
            "no sasl on the client": Case("SASL", ["security.protocol=plaintext"], [
                r"may require SASL \(security\.protocol\)"], "_TRANSPORT"),
            "no sasl on the client, ssl": Case("SASLSSL", ["security.protocol=ssl", trusting], [
                r"may require SASL \(security\.protocol\)"], "_TRANSPORT"),
            "no tls on the listener": Case("SASL", ["security.protocol=sasl_ssl", trusting, *plain], [
                "SSL handshake failed: ", "PLAINTEXT broker listener"], "_TRANSPORT"),
            "no tls on the client": Case("SASLSSL", ["security.protocol=sasl_plaintext", *plain], [
                "this is an SSL listener", "with SASL sasl_ssl"], "_BAD_MSG"),
            "token endpoint": Case("SASL", parts.properties("SASL", sasl.Parts.by_endpoint(cls.refusing)), [
                "Failed to acquire SASL OAUTHBEARER token: ", re.escape(cls.refusing), "401", "invalid_client",
                "no such secret here"], attempts=0, secrets=(sasl.PASSWORD,)),
            "token endpoint is down": Case("SASL", parts.properties("SASL", sasl.Parts.by_endpoint(cls.closed)), [
                "Failed to acquire SASL OAUTHBEARER token: ", re.escape(cls.closed), "[Cc]onnection refused"], attempts=0,
                secrets=(sasl.PASSWORD,)),
        }
        if parts.oidc:
            cases["token"] = refused("OIDC", "OIDC", r'SASL authentication error: \{"status":"invalid_token"')
        if parts.kdc:
            by_address = cls.kafka.bootstrap_of("SASL").replace("localhost", kafka.HOST)
            kerberos = parts.properties("SASL", ways["GSSAPI"].properties)
            cases["kerberos"] = refused("SASL", "GSSAPI", "[Pp]reauthentication failed", "old@TEST.LOCAL", r"old\.keytab", attempts=0)
            cases["kerberos by address"] = Case("SASL", kerberos, [
                r"kafka/127\.0\.0\.1@TEST\.LOCAL", "not found in Kerberos database"], brokers=by_address)
        return cases

    def check(self, name):
        case, lines, output = self.cases[name], self.outputs[name].splitlines(), self.outputs[name]
        errors = [line.split(" ", 2)[1:] for line in lines if line.startswith("error ")]
        causes = [(code, text) for code, text in errors if code != "_ALL_BROKERS_DOWN"]
        attempts = sum(1 for line in lines if " CONNECT " in line and "Connecting to " in line)
        self.assertNotIn("metadata 1", lines)
        self.assertEqual(len(causes), 1, shown(output))
        self.assertGreaterEqual(attempts, case.attempts, shown(output))
        (code, text), = causes
        self.assertEqual(code, case.code, text)
        if case.attempts:
            self.assertIn(f"{self.brokers(case)}/bootstrap", text)
        for pattern in case.texts:
            self.assertRegex(text, pattern)
        for secret in case.secrets:
            self.assertNotIn(secret, output)
        # The log has the same line once.
        failures = [line for line in lines if re.match(r"log [0-5] ", line) and text in line]
        self.assertEqual(len(failures), 1, shown(output))

    def test_password_is_wrong(self):
        for name in ("plain", "plain, ssl", "scram 256", "scram 512", "scram, unknown user"):
            with self.subTest(name=name):
                self.check(name)

    def test_token_is_refused(self):
        self.check("scope")
        self.parts.way("OIDC")
        self.check("token")

    def test_token_endpoint_refuses_the_client(self):
        self.check("token endpoint")

    def test_token_endpoint_is_down(self):
        self.check("token endpoint is down")

    def test_key_of_the_keytab_is_old(self):
        self.parts.way("GSSAPI")
        self.check("kerberos")

    def test_broker_has_no_kerberos_principal(self):
        self.parts.way("GSSAPI")
        self.check("kerberos by address")

    def test_mechanism_is_not_enabled(self):
        self.check("mechanism")

    def test_listener_is_without_sasl(self):
        self.check("no sasl on the listener")

    def test_client_is_without_sasl(self):
        self.check("no sasl on the client")
        self.check("no sasl on the client, ssl")

    def test_listener_is_without_tls(self):
        self.check("no tls on the listener")

    def test_client_is_without_tls(self):
        self.check("no tls on the client")


class OldBrokers(unittest.TestCase):
    """Brokers of Kafka 0.10 to 2.8: those before 1.0 have the handshake of version 0, whose tokens have no headers."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")

    def check(self, version):
        user = generations.Sasl(version, sasl.USER, sasl.PASSWORD)
        try:
            with generations.broker(version, user) as brokers:
                for mechanism in user.mechanisms:
                    with self.subTest(mechanism=mechanism):
                        self.check_mechanism(version, brokers, mechanism)
        except kafka.Unavailable as e:
            self.skipTest(str(e))

    def check_mechanism(self, version, brokers, mechanism):
        own = ["security.protocol=sasl_plaintext", *sasl.by_password(mechanism)]
        topic, sent = support.topic_name("sasl"), support.lines(COUNT)
        kcat(brokers, own, "-P", "-t", topic, stdin=sent)
        rows = kcat(brokers, own, "-C", "-t", topic, "-e", "-q", "-o", "beginning")
        self.assertEqual(sorted(rows.splitlines()), sorted(sent.splitlines()))
        wrong = ["security.protocol=sasl_plaintext", *sasl.by_password(mechanism, password="wrong secret")]
        out, _ = support.run(support.compiled(PROGRAM), brokers, 5, *wrong)
        errors = [line for line in out.decode().splitlines() if line.startswith("error _AUTHENTICATION")]
        self.assertEqual(len(errors), 1, shown(out.decode()))
        if generations.numbers(version) < (1,):
            # The broker closes the connection without a reason.
            self.assertIn(f"SASL {mechanism} authentication failed: the broker closed the connection", errors[0])
        else:
            self.assertIn("SASL authentication error: Authentication failed", errors[0])

    def test_0_10_0(self):
        self.check("0.10.0.1")

    def test_0_10_2(self):
        self.check("0.10.2.2")

    def test_1_1(self):
        self.check("1.1.1")

    def test_2_8(self):
        self.check("2.8.2")


class Refused(unittest.TestCase):
    """Properties that cannot be used refuse the client: the error names the property. Needs no broker."""

    @classmethod
    def setUpClass(cls):
        support.need_library()

    def check(self, properties, *parts):
        _, err = support.run(support.compiled(PROGRAM), "localhost:1", 1, "security.protocol=sasl_plaintext", *properties, status=2)
        for part in parts:
            self.assertIn(part, err.decode())

    def test_password_is_missing(self):
        for mechanism in sasl.PASSWORDS:
            self.check([f"sasl.mechanisms={mechanism}", "sasl.username=alice"], "sasl.username and sasl.password")

    def test_mechanism_is_unknown(self):
        self.check(["sasl.mechanisms=DIGEST-MD5"], "sasl.mechanisms=DIGEST-MD5")

    def test_several_mechanisms(self):
        self.check(["sasl.mechanisms=PLAIN,SCRAM-SHA-256"], "sasl.mechanisms")

    def test_token_endpoint_is_missing(self):
        self.check(["sasl.mechanisms=OAUTHBEARER", "sasl.oauthbearer.method=oidc"], "sasl.oauthbearer.token.endpoint.url")


if __name__ == "__main__":
    unittest.main()
