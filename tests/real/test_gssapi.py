"""GSSAPI against real brokers and a KDC: the exchange, tickets and their renewal, and the error of each thing that goes wrong.

The program crates/core/examples/kerberos.rs authenticates with the client's own mechanism.
"""

import functools
import os
import re
import subprocess
import time
import unittest
from pathlib import Path

import kafka
import kdc
import support

PROGRAM = "kerberos"
LISTENER = "KERBEROS"
SERVICE = "kafka/localhost"
NAME = "localhost"
# A run that cannot end by itself is an error after this time.
ANSWER_S = 120


def build():
    """Builds the program; returns its path."""
    command = [os.environ.get("CARGO", "cargo"), "build", "-q", "-p", "ottla-core", "--example", PROGRAM]
    subprocess.run(command, cwd=support.ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or support.ROOT / "target")
    return target / "debug" / "examples" / PROGRAM


class Client:
    """A running program: one source of credentials, for one exchange after another."""

    def __init__(self, realm, program, port, keytab=None, principal=None, environment=None):
        variables = {**os.environ, **realm.environment(), "LD_LIBRARY_PATH": realm.library_path, "LC_ALL": "C"}
        variables.pop("KRB5CCNAME", None)
        self.port = port
        self.process = subprocess.Popen(
            [program, "kafka", keytab or "-", principal or "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**variables, **(environment or {})}, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(ANSWER_S)

    def authenticate(self, name="", unframed=False):
        """Authenticates once; returns (accepted, error, seconds)."""
        words = [NAME, str(self.port), name, "unframed" if unframed else ""]
        print(" ".join(word for word in words if word), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        result, ms, error = re.fullmatch(r"(accepted|failed) \((\d+) ms\)(?:: (.*))?\n", line).groups()
        return result == "accepted", error, int(ms) / 1000


@functools.cache
def realm():
    """Returns the KDC of all tests here, which runs until the end of the process."""
    try:
        return kdc.Kdc().start()
    except kdc.Unavailable as e:
        raise unittest.SkipTest(str(e)) from None


@functools.cache
def service_keytab():
    return realm().keytab("broker", realm().add(SERVICE))


@functools.cache
def client_keytab():
    return realm().keytab("client", realm().add("client"))


def listeners(_folder):
    return [kafka.Listener(LISTENER, "SASL_PLAINTEXT", realm().listener_settings(service_keytab()))]


class OnKerberos(unittest.TestCase):
    """One broker and one KDC. Tests that stop or change the KDC start it again."""

    @classmethod
    def setUpClass(cls):
        cls.kdc, cls.keytab = realm(), client_keytab()
        cls.program = build()
        cls.kafka = support.cluster(1, listeners=listeners, java_options=cls.kdc.java_options())
        cls.port = cls.kafka.listener_ports[LISTENER][0]

    def client(self, keytab=None, principal=None, **environment):
        """Starts a client, which ends with the test. `keytab`: a path; None for the default cache."""
        client = Client(self.kdc, self.program, self.port, keytab, principal, environment)
        client.__enter__()
        self.addCleanup(client.__exit__)
        return client

    def issued(self, principal="client"):
        """Returns how many tickets of the KDC and how many tickets for brokers a principal has acquired."""
        issues = [line for line in self.kdc.log().splitlines() if "ISSUE" in line and f" {principal}@" in line]
        return sum("AS_REQ" in line for line in issues), sum("TGS_REQ" in line for line in issues)

    def check_accepted(self, client, **how):
        accepted, error, seconds = client.authenticate(**how)
        self.assertTrue(accepted, error)
        return seconds

    def check_refused(self, client, *texts, **how):
        accepted, error, seconds = client.authenticate(**how)
        self.assertFalse(accepted)
        for text in texts:
            self.assertIn(text, error)
        return seconds


class Exchanges(OnKerberos):
    def test_one_ticket_serves_all_exchanges_of_a_client(self):
        before = self.issued()
        client = self.client(self.keytab)
        for _ in range(5):
            self.check_accepted(client)
        self.assertEqual([n - m for n, m in zip(self.issued(), before)], [1, 1])
        self.assertFalse((self.kdc.folder / "default-cache").exists(), "the tickets are in memory")

    def test_without_a_keytab_the_default_cache_is_used_as_it_is_at_each_exchange(self):
        client = self.client()
        self.check_refused(client, "No Kerberos credentials available", "sasl.kerberos.keytab")
        self.addCleanup((self.kdc.folder / "default-cache").unlink)
        self.kdc.kinit("client", self.keytab)
        self.check_accepted(client)
        cache = f"FILE:{self.kdc.folder}/other-cache"
        self.kdc.kinit("client", self.keytab, cache=cache)
        self.check_accepted(self.client(KRB5CCNAME=cache))

    def test_the_principal_chooses_a_key_of_the_keytab(self):
        names = [self.kdc.add(name) for name in ("first", "second")]
        keytab = self.kdc.keytab("several", *names)
        self.check_accepted(self.client(keytab))
        self.assertEqual((self.issued("first"), self.issued("second")), ((1, 1), (0, 0)))
        for form in ("second", names[1]):
            self.check_accepted(self.client(keytab, form))
        self.assertEqual((self.issued("first"), self.issued("second")), ((1, 1), (2, 2)))

    def test_a_dot_at_the_end_of_the_brokers_name_is_not_part_of_the_principal(self):
        self.check_accepted(self.client(self.keytab), name=NAME + ".")

    def test_a_broker_without_framing_does_not_answer_the_last_token(self):
        client, before = self.client(self.keytab), self.issued()
        for _ in range(2):
            self.check_accepted(client, unframed=True)
        self.assertEqual(self.issued()[0], before[0] + 1, "the ticket is not taken to be refused")


class Renewal(OnKerberos):
    def test_expired_tickets_are_replaced(self):
        client = self.client(self.kdc.keytab("short", self.kdc.add("short", life_s=2)))
        for count in (1, 2):
            self.check_accepted(client)
            self.assertEqual(self.issued("short"), (count, count))
            time.sleep(2.5)

    def test_tickets_are_used_until_they_expire_when_the_kdc_is_away(self):
        client = self.client(self.kdc.keytab("away", self.kdc.add("away", life_s=30)))
        self.check_accepted(client)
        self.addCleanup(self.kdc.start)
        self.kdc.stop()
        self.check_accepted(client)
        # Less than a fifth of the life is left.
        time.sleep(25)
        self.check_accepted(client)
        time.sleep(6)
        self.check_refused(client, "Cannot contact any KDC for realm 'TEST.LOCAL'", "krb5.conf")

    def test_the_key_of_a_broker_changes(self):
        client = self.client(self.keytab)
        self.check_accepted(client)
        self.kdc.change_key(SERVICE)
        self.kdc.keytab("broker", SERVICE)
        # The ticket is for the old key. The refusal leads to another.
        self.check_refused(client, "the broker does not accept the Kerberos ticket")
        self.check_accepted(client)

    def test_the_key_of_a_client_changes(self):
        keytab = self.kdc.keytab("rotated", self.kdc.add("rotated", life_s=2))
        client = self.client(keytab)
        self.check_accepted(client)
        self.kdc.change_key("rotated")
        time.sleep(2.5)
        self.check_refused(client, "Preauthentication failed", f"the key in the keytab {keytab} is not the key of")
        self.kdc.keytab("rotated", "rotated")
        self.check_accepted(client)


class Refusals(OnKerberos):
    def test_unknown_service(self):
        client = self.client(self.keytab)
        expected = "(Server kafka/127.0.0.1@TEST.LOCAL not found in Kerberos database): "
        self.check_refused(client, "GSSAPI Error: ", expected, "name brokers", "not by address", name="127.0.0.1")
        # The client's own ticket is not at fault.
        before = self.issued()
        self.check_accepted(client)
        self.assertEqual(self.issued()[0], before[0])

    def test_keytabs_that_cannot_be_used(self):
        missing, folder = "/nonexistent/client.keytab", self.kdc.folder
        self.check_refused(self.client(missing), f"sasl.kerberos.keytab {missing} cannot be read: No such file")
        self.check_refused(self.client(folder), "cannot be read: Is a directory")
        self.check_refused(self.client(folder / "krb5.conf"), "krb5.conf is not a keytab")
        self.check_refused(self.client(self.keytab, "nosuch"), "must have a key of sasl.kerberos.principal nosuch")

    def test_unknown_client(self):
        keytab = self.kdc.keytab("removed", self.kdc.add("removed"))
        self.kdc.remove("removed")
        self.check_refused(self.client(keytab), "(Client 'removed@TEST.LOCAL' not found in Kerberos database): ",
                           "sasl.kerberos.principal")

    def test_expired_tickets_of_the_default_cache(self):
        cache = f"FILE:{self.kdc.folder}/expired-cache"
        self.kdc.kinit("client", self.keytab, cache=cache, life_s=1)
        time.sleep(1.5)
        self.check_refused(self.client(KRB5CCNAME=cache), "expired", "run kinit")

    def test_no_configuration_of_the_realm(self):
        client = self.client(self.keytab, KRB5_CONFIG="/nonexistent")
        self.check_refused(client, 'Cannot find KDC for realm "TEST.LOCAL"', "[realms]")

    def test_a_kdc_that_does_not_answer(self):
        self.addCleanup(self.kdc.thaw)
        self.kdc.freeze()
        seconds = self.check_refused(self.client(self.keytab), "Cannot contact any KDC for realm 'TEST.LOCAL'")
        self.assertGreater(seconds, 3, "the KDC is waited for")

    def test_clocks_that_differ(self):
        def restore():
            self.kdc.configure()
            self.kdc.stop()
            self.kdc.start()

        self.addCleanup(restore)
        self.kdc.stop()
        self.kdc.start(clock_s=3600)
        # The client follows the KDC's clock, and the broker its own.
        self.check_refused(self.client(self.keytab), "the broker does not accept the Kerberos ticket", "clock")
        self.kdc.configure(kdc_timesync=0)
        self.check_refused(self.client(self.keytab), "Clock skew too great", "NTP")


if __name__ == "__main__":
    unittest.main()
