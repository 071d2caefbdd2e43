"""Providers of tokens on a real OpenID Connect server, and tokens for Amazon MSK compared with those of AWS's signer."""

import functools
import json
import os
import subprocess
import tempfile
import time
import unittest
from base64 import urlsafe_b64decode
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import aws_signer
import certificates
import kafka
import oidc
import support

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@functools.cache
def program():
    """Builds the program that acquires one token; returns its path."""
    command = [os.environ.get("CARGO", "cargo"), "build", "-q", "-p", "ottla-tokens", "--example", "token"]
    subprocess.run(command, cwd=kafka.ROOT, check=True, timeout=900)
    target = Path(os.environ.get("CARGO_TARGET_DIR") or kafka.ROOT / "target")
    return target / "debug" / "examples" / "token"


def acquire(kind, properties, environment=None):
    """Acquires a token; returns (attributes by name, or None; the text of the error)."""
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and "AWS" not in name}
    command = [str(program()), kind, *(f"{name}={value}" for name, value in properties.items())]
    done = subprocess.run(command, env={**own, **(environment or {})}, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return dict(line.split(" ", 1) for line in done.stdout.splitlines()), ""


def claims_of(token):
    """Returns the claims of a JWT."""
    part = token.split(".")[1]
    return json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))


class OnOidc(unittest.TestCase):
    """One server for all tests, which may end and start it."""

    @classmethod
    def setUpClass(cls):
        try:
            cls.server = oidc.Server(subject="alice", expires_s=120).start()
        except kafka.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def properties(self, **changes):
        made = {"token.endpoint.url": self.server.token_url, "client.id": "app", "client.secret": "secret&more+%"}
        made.update({name.replace("_", "."): value for name, value in changes.items()})
        return {name: value for name, value in made.items() if value is not None}

    def acquired(self, properties):
        token, error = acquire("oidc", properties)
        self.assertEqual(error, "")
        claims = claims_of(token["value"])
        self.assertEqual(int(token["expires_ms"]), claims["exp"] * 1000)
        self.assertGreater(int(token["expires_ms"]), time.time() * 1000)
        return token, claims

    def test_client_credentials(self):
        token, claims = self.acquired(self.properties(scope="read write&more", extensions="a=b"))
        self.assertEqual((token["principal"], claims["sub"], token["extension"]), ("alice", "alice", "a b"))

    def assertions(self, folder, algorithm):
        key = Path(folder) / f"{algorithm}.pem"
        kind = ["RSA"] if algorithm == "RS256" else ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        subprocess.run(["openssl", "genpkey", "-out", str(key), "-algorithm", *kind], check=True, capture_output=True)
        return {"assertion.private.key.file": str(key), "assertion.algorithm": algorithm}

    def test_signed_assertions_of_both_algorithms_and_grants(self):
        with tempfile.TemporaryDirectory() as folder:
            for algorithm in ("RS256", "ES256"):
                own = self.assertions(folder, algorithm)
                with self.subTest(algorithm, grant="client_credentials"):
                    token, _ = self.acquired(self.properties(**own, client_secret=None))
                    self.assertEqual(token["principal"], "alice")
                # This server demands that the client authenticates itself as well, and a scope.
                with self.subTest(algorithm, grant="jwt-bearer"):
                    own |= {"grant.type": JWT_BEARER, "assertion.claim.sub": "bob", "assertion.claim.aud": "kafka", "scope": "s"}
                    token, _ = self.acquired(self.properties(**own))
                    self.assertEqual(token["principal"], "alice")

    def test_a_server_that_is_away_is_an_error_until_it_is_back(self):
        self.server.stop()
        try:
            _, error = acquire("oidc", self.properties())
            expected = f'Failed to retrieve OIDC token from "{self.server.token_url}": '
            self.assertTrue(error.startswith(expected) and "refused" in error, error)
        finally:
            self.server.start()
        self.acquired(self.properties())

    def test_an_unknown_path_has_its_status(self):
        _, error = acquire("oidc", self.properties(**{"token.endpoint.url": f"{self.server.base}/default/nothing"}))
        self.assertRegex(error, r'^Failed to retrieve OIDC token from "\S+": HTTP status 40\d ')

    def test_a_server_that_hangs_is_given_up_after_20_seconds(self):
        self.server.freeze()
        try:
            begin = time.monotonic()
            _, error = acquire("oidc", self.properties())
            self.assertTrue(error.endswith("no answer within 20 s"), error)
            self.assertLess(time.monotonic() - begin, 25)
        finally:
            self.server.thaw()
        self.acquired(self.properties())


class OnHttps(unittest.TestCase):
    """A server with a certificate of its own CA."""

    def test_the_server_is_verified_by_https_ca_location(self):
        support.need_program(certificates.PROGRAM)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            ca, other = certificates.Authority(folder, "ca"), certificates.Authority(folder, "other", "Other CA")
            store = ca.issue("server", names=certificates.LOCAL).pkcs12("store-password")
            try:
                server = oidc.Server(keystore=(store, "store-password"))
            except kafka.Unavailable as e:
                self.skipTest(str(e))
            with server:
                properties = {"token.endpoint.url": server.token_url, "client.id": "app", "client.secret": "secret"}
                token, error = acquire("oidc", {**properties, "https.ca.location": str(ca.certificate)})
                self.assertEqual(error, "")
                self.assertEqual(token["principal"], "alice")
                # The system does not trust it either.
                for trust in ({"https.ca.location": str(other.certificate)}, {}):
                    _, error = acquire("oidc", {**properties, **trust})
                    start = f'Failed to retrieve OIDC token from "{server.token_url}": SSL handshake failed: '
                    self.assertTrue(error.startswith(start) and "certificate verify failed" in error, error)
                    for location in trust.values():
                        self.assertIn(f"1 trusted CA certificate from https.ca.location={location}", error)


class OfAws(unittest.TestCase):
    """Tokens of the same credentials and second."""

    def test_tokens_are_those_of_awss_signer(self):
        try:
            python = aws_signer.fetch()
        except kafka.Unavailable as e:
            self.skipTest(str(e))
        for region, key, secret, session in (("eu-north-1", "AKIDEXAMPLE", "wJalr/XUt+nFEMI", "to/ken+=="),
                                             ("us-east-1", "AKIDOTHER", "abc", None)):
            environment = {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": region}
            if session:
                environment["AWS_SESSION_TOKEN"] = session
            with self.subTest(region):
                own, error = acquire("aws_iam", {}, environment)
                self.assertEqual(error, "")
                url, parameters = self.parts(own["value"])
                given = json.dumps([region, parameters["X-Amz-Date"], key, secret, session])
                done = subprocess.run([str(python), "-c", aws_signer.SIGN], input=given, capture_output=True, text=True,
                                      timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                theirs, expires_ms = json.loads(done.stdout)
                their_url, their_parameters = self.parts(theirs)
                self.assertEqual(url, their_url)
                # The name of the signing program is not part of the signature.
                self.assertTrue(parameters.pop("User-Agent") and their_parameters.pop("User-Agent"))
                self.assertEqual(parameters, their_parameters)
                self.assertEqual(int(own["expires_ms"]), expires_ms)
                self.assertEqual(own["principal"], key)

    def parts(self, token):
        """Returns URL without query, and parameters."""
        self.assertRegex(token, r"^[A-Za-z0-9_-]+$")
        url = urlsplit(urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
        pairs = parse_qsl(url.query, strict_parsing=True)
        self.assertEqual(len(pairs), len(dict(pairs)), "no parameter twice")
        return f"{url.scheme}://{url.netloc}{url.path}", dict(pairs)


if __name__ == "__main__":
    unittest.main()
