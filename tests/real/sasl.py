"""Listeners with SASL for real brokers, with the users, the Kerberos realm and the identity server that they need, and the
properties with which a client reaches them.

    parts = sasl.parts()
    cluster = support.cluster(1, listeners=parts.listeners, java_options=parts.java_options())
    parts.prepare(cluster)
    ... cluster.bootstrap_of("SASL"), parts.ways["SCRAM-SHA-256"].properties ...
"""

import atexit
import contextlib
import functools
import json
import os
import unittest
import urllib.parse
import urllib.request
from dataclasses import dataclass, field

import kafka
import kdc
import oidc
import tls
import wire

USER, PASSWORD = "alice", "secret of alice"
# Characters that SCRAM escapes, and one outside of ASCII, which Kafka accepts in passwords only.
ODD_USER, ODD_PASSWORD = "bob,b=b b", "secret=of,b\u00f6b"
SCRAM = {"SCRAM-SHA-256": 4096, "SCRAM-SHA-512": 8192}
AUDIENCE, CLIENT_ID = "kafka", "ottla-tests"

MODULES = "org.apache.kafka.common.security"
TOKENS = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"
# Mechanisms with a user's name and password.
PASSWORDS = ("PLAIN", *SCRAM)
# Sessions of the listener REAUTH end after that time.
SESSION_MS = 8000

# Listeners: SASL and SASLSSL have all mechanisms with unsecured tokens; OIDC has signed ones; REAUTH has all mechanisms with
# signed tokens, and short sessions; PLAINONLY has one mechanism.
PROTOCOLS = {"SASL": "SASL_PLAINTEXT", "SASLSSL": "SASL_SSL", "OIDC": "SASL_PLAINTEXT", "REAUTH": "SASL_PLAINTEXT",
             "PLAINONLY": "SASL_PLAINTEXT"}


@dataclass(frozen=True)
class Way:
    """A way to authenticate: the listener, its counterpart with TLS, the properties without security.protocol, and the
    properties with a wrong secret."""

    listener: str
    properties: list
    wrong: list
    secured: str | None = "SASLSSL"
    # Of Kafka's Java clients.
    java: dict = field(default_factory=dict)
    # Secrets that no log contains.
    secrets: tuple = ()


def by_password(mechanism, user=USER, password=PASSWORD):
    """Returns the properties of a client with a user's name and password."""
    return [f"sasl.mechanisms={mechanism}", f"sasl.username={user}", f"sasl.password={password}"]


def password_way(mechanism):
    module = f"{MODULES}.plain.PlainLoginModule" if mechanism == "PLAIN" else f"{MODULES}.scram.ScramLoginModule"
    java = {"sasl.mechanism": mechanism, "sasl.jaas.config": f'{module} required username="{USER}" password="{PASSWORD}";'}
    return Way("SASL", by_password(mechanism), by_password(mechanism, password="wrong secret"), java=java,
               secrets=(PASSWORD, "wrong secret"))


def create_users(cluster):
    """Sets the users' passwords for SCRAM."""
    for user, password in ((USER, PASSWORD), (ODD_USER, ODD_PASSWORD)):
        for mechanism, iterations in SCRAM.items():
            wire.set_scram_password(cluster.address(), user, mechanism, password, iterations)


class Parts:
    """The processes and files behind the listeners. `missing`: {way: the reason for which it cannot be had here}."""

    def __init__(self):
        self.missing = {}
        self.tls = None
        self.prepared = None
        self.ways = {mechanism: password_way(mechanism) for mechanism in PASSWORDS}
        unsecured = ["sasl.mechanisms=OAUTHBEARER", "enable.sasl.oauthbearer.unsecure.jwt=true"]
        self.ways["OAUTHBEARER"] = Way(
            "SASL", [*unsecured, f"sasl.oauthbearer.config=principal={USER} scope=kafka"],
            [*unsecured, f"sasl.oauthbearer.config=principal={USER} scope=other"],
            java={"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": (
                f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USER}" '
                'unsecuredLoginStringClaim_scope="kafka";')})
        started = contextlib.ExitStack()
        atexit.register(started.close)
        self.kdc, self.broker_keytab = None, None
        try:
            self.kdc = started.enter_context(kdc.Kdc())
            self.ways["GSSAPI"] = self._kerberos_way()
        except kdc.Unavailable as e:
            self.missing["GSSAPI"] = str(e)
        self.oidc = None
        try:
            self.oidc = started.enter_context(oidc.Server(subject=USER, audience=AUDIENCE))
            self.ways["OIDC"] = self._oidc_way()
        except kafka.Unavailable as e:
            self.missing["OIDC"] = str(e)

    def way(self, name):
        """Returns a way; skips the test where it cannot be had."""
        if name in self.missing:
            raise unittest.SkipTest(self.missing[name])
        return self.ways[name]

    # -- Kerberos

    def _kerberos_way(self):
        self.broker_keytab = self.kdc.keytab("broker", self.kdc.add("kafka/localhost"))
        # Clients are started later, as children of this process.
        os.environ.update(self.kdc.environment())
        own = self.kdc.keytab("client", self.kdc.add(USER))
        # A principal whose key was changed after its keytab had been written.
        old = self.kdc.keytab("old", self.kdc.add("old"))
        self.kdc.change_key("old")
        module = (f'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true '
                  f'keyTab="{own}" principal="{self.kdc.full_name(USER)}";')
        java = {"sasl.mechanism": "GSSAPI", "sasl.kerberos.service.name": "kafka", "sasl.jaas.config": module}
        return Way("SASL", self.by_keytab(USER, own), self.by_keytab("old", old), java=java)

    def by_keytab(self, principal, keytab):
        """Returns the properties of a client with a principal's keytab."""
        return ["sasl.mechanisms=GSSAPI", f"sasl.kerberos.principal={self.kdc.full_name(principal)}",
                f"sasl.kerberos.keytab={keytab}"]

    # -- the identity server

    def _oidc_way(self):
        # An unsecured token is wrong there.
        java = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": self.oidc.token_url,
                "sasl.login.callback.handler.class": f"{MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler",
                "sasl.jaas.config": TOKENS.replace(";", f' clientId="{CLIENT_ID}" clientSecret="{PASSWORD}";')}
        return Way("OIDC", self.by_endpoint(self.oidc.token_url), self.ways["OAUTHBEARER"].properties, secured=None, java=java,
                   secrets=(PASSWORD,))

    @staticmethod
    def by_endpoint(url):
        """Returns the properties of a client that fetches tokens."""
        return ["sasl.mechanisms=OAUTHBEARER", "sasl.oauthbearer.method=oidc", f"sasl.oauthbearer.client.id={CLIENT_ID}",
                f"sasl.oauthbearer.client.secret={PASSWORD}", f"sasl.oauthbearer.token.endpoint.url={url}"]

    def token(self):
        """Returns a token that the listeners OIDC and REAUTH accept."""
        form = urllib.parse.urlencode({"grant_type": "client_credentials", "client_id": CLIENT_ID, "client_secret": PASSWORD})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.oidc.token_url, form.encode(), timeout=20) as answer:
            return json.load(answer)["access_token"]

    def _validator(self):
        """Returns the settings of a listener that checks the server's signatures and the audience."""
        # A restarted server signs with another key of the same name.
        return {"oauthbearer.sasl.server.callback.handler.class": f"{MODULES}.oauthbearer.OAuthBearerValidatorCallbackHandler",
                "oauthbearer.sasl.oauthbearer.jwks.endpoint.url": self.oidc.jwks_url,
                "oauthbearer.sasl.oauthbearer.jwks.endpoint.refresh.ms": 5000,
                "oauthbearer.sasl.oauthbearer.expected.issuer": self.oidc.issuer,
                "oauthbearer.sasl.oauthbearer.expected.audience": AUDIENCE}

    # -- the brokers

    def listeners(self, folder):
        """Makes certificates in the cluster's folder; returns the listeners."""
        self.tls = tls.Materials(folder)
        return [kafka.Listener(name, protocol, self._settings(name)) for name, protocol in PROTOCOLS.items()
                if name != "OIDC" or self.oidc]

    def _settings(self, name):
        module = f'{MODULES}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
        modules = {"PLAIN": module} if name != "OIDC" else {}
        if name in ("SASL", "SASLSSL", "REAUTH"):
            modules |= {mechanism: f"{MODULES}.scram.ScramLoginModule required;" for mechanism in SCRAM}
        if name in ("SASL", "SASLSSL"):
            # With options the module also wants a token of its own.
            modules["OAUTHBEARER"] = TOKENS.replace(
                ";", ' unsecuredValidatorRequiredScope="kafka" unsecuredLoginStringClaim_sub="broker";')
        settings = {}
        if name in ("OIDC", "REAUTH") and self.oidc:
            modules["OAUTHBEARER"] = TOKENS
            settings |= self._validator()
        if name in ("SASL", "SASLSSL", "REAUTH") and self.kdc:
            modules["GSSAPI"] = ""
            settings |= self.kdc.listener_settings(self.broker_keytab)
        settings["sasl.enabled.mechanisms"] = ",".join(modules)
        for mechanism, module in modules.items():
            if module:
                settings[f"{mechanism.lower()}.sasl.jaas.config"] = module
            if name == "REAUTH":
                settings[f"{mechanism.lower()}.connections.max.reauth.ms"] = SESSION_MS
        if PROTOCOLS[name] == "SASL_SSL":
            settings |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.tls.broker.keystore}
        return settings

    def java_options(self):
        """Returns the options of the brokers' processes."""
        return (*(self.kdc.java_options() if self.kdc else ()), *((self.oidc.java_option,) if self.oidc else ()))

    def prepare(self, cluster):
        """Creates the users of a cluster that has just started."""
        if self.prepared is not cluster:
            create_users(cluster)
        self.prepared = cluster

    # -- clients

    def properties(self, listener, own):
        """Returns the properties of a client of a listener; `own`: those of the mechanism."""
        protocol = PROTOCOLS[listener]
        trusted = [f"ssl.ca.location={self.tls.ca.certificate}"] if protocol == "SASL_SSL" else []
        return [f"security.protocol={protocol}", *trusted, *own]

    def java_properties(self, listener, way):
        """Writes the properties of a Java client of a listener; returns the file."""
        settings = {"security.protocol": PROTOCOLS[listener], **self.ways[way].java}
        if PROTOCOLS[listener] == "SASL_SSL":
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.tls.ca.certificate}
        path = self.tls.folder / f"java-{listener}-{way}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path


@functools.cache
def parts():
    """Returns the parts that all tests of this process share."""
    return Parts()
