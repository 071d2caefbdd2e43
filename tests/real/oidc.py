"""An OpenID Connect server for tests: mock-oauth2-server, from Maven Central.

    with oidc.Server(subject="alice", audience="kafka", expires_s=120) as server:
        server.token_url    # for sasl.oauthbearer.token.endpoint.url
        server.jwks_url     # for a broker's sasl.oauthbearer.jwks.endpoint.url
        server.issuer       # for a broker's sasl.oauthbearer.expected.issuer
        server.java_option  # lets a broker read server.jwks_url: kafka.Cluster(java_options=[server.java_option])

It issues tokens signed by RS256 for any client id and secret, and for assertions without a check of their signature. For the
grant jwt-bearer it demands client id and secret, and a scope, besides the assertion. It decodes id and secret of the Basic
header as RFC 6749 requires. The issuer follows the URL that is asked: use these URLs, not localhost.

`stop`, `start` end and restart it, with the same port and other keys; `freeze` stops it without closing its port, as a hanging
server, until `thaw`. `set_tokens` changes subject, audience, life and further claims of later tokens, by a restart.
With `keystore=(file, password)` (PKCS#12) it speaks HTTPS. Unavailable is kafka.Unavailable.

By hand, until it is interrupted:

    python3 tests/real/oidc.py [--port N]
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid

import kafka

VERSION = "6.0.2"
CACHE = kafka.ROOT / ".cache" / "oidc"
ISSUER_ID = "default"
START_TIMEOUT_S = 60

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>oidc</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>no.nav.security</groupId><artifactId>mock-oauth2-server</artifactId><version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


def fetch():
    """Returns the folder of the server's jars; downloads them with Maven unless they are in the cache."""
    if shutil.which("java") is None:
        raise kafka.Unavailable("java is not installed (make deps, or apt-get install openjdk-17-jre-headless)")
    libs = CACHE / VERSION / "libs"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        problem = None if libs.is_dir() else kafka.maven(POM, libs)
    if problem:
        raise kafka.Unavailable(f"mock-oauth2-server could not be fetched: {problem}")
    return libs


class Server:
    """One server on a port of 127.0.0.1. See the module's text."""

    def __init__(self, subject="alice", audience="kafka", expires_s=120, claims=None, port=None, keystore=None):
        self.libs = fetch()
        self.port = port or kafka.free_ports(1)[0]
        self.keystore = keystore
        self.folder = kafka.WORK / f"oidc-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self.process = None
        self._tokens = {"subject": subject, "audience": audience, "expires_s": expires_s, "claims": claims or {}}

    @property
    def base(self):
        return f"{'https' if self.keystore else 'http'}://{kafka.HOST}:{self.port}"

    @property
    def issuer(self):
        return f"{self.base}/{ISSUER_ID}"

    @property
    def token_url(self):
        return f"{self.issuer}/token"

    @property
    def jwks_url(self):
        return f"{self.issuer}/jwks"

    @property
    def java_option(self):
        """The option that lets a broker's JVM read the keys from this server."""
        return f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self.jwks_url}"

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def set_tokens(self, **changes):
        """Changes subject, audience, expires_s or claims of later tokens; restarts a running server."""
        unknown = set(changes) - set(self._tokens)
        if unknown:
            raise ValueError(f"unknown: {unknown}")
        self._tokens.update(changes)
        if self.process is not None:
            self.stop()
            self.start()

    def _config(self):
        tokens = self._tokens
        claims = {"sub": tokens["subject"], "aud": [tokens["audience"]], **tokens["claims"]}
        mapping = {"requestParam": "grant_type", "match": "*", "claims": claims}
        callback = {"issuerId": ISSUER_ID, "tokenExpiry": tokens["expires_s"], "requestMappings": [mapping]}
        config = {"interactiveLogin": False, "tokenCallbacks": [callback]}
        if self.keystore:
            file, password = self.keystore
            ssl = {"keystoreFile": str(file), "keystoreType": "PKCS12", "keystorePassword": password, "keyPassword": password}
            config["httpServer"] = {"type": "NettyWrapper", "ssl": ssl}
        return config

    def start(self):
        """Starts the server and waits until it answers; does nothing if it runs."""
        if self.process is not None:
            return self
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "oidc.json"
        config.write_text(json.dumps(self._config()))
        command = kafka.java_command(self.libs, "no.nav.security.mock.oauth2.StandaloneMockOAuth2ServerKt", kafka.TOOL_OPTIONS)
        environment = {**os.environ, "SERVER_HOSTNAME": kafka.HOST, "SERVER_PORT": str(self.port), "JSON_CONFIG_PATH": str(config)}
        with open(self.folder / "oidc.log", "ab") as log:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True, preexec_fn=kafka.end_with_parent,
            )
        end = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            problem = None
            if self.process.poll() is not None:
                problem = f"exited with {self.process.returncode}"
            elif time.monotonic() > end:
                problem = f"did not answer within {START_TIMEOUT_S} s"
            if problem:
                self.stop()
                raise kafka.StartFailed(f"the OIDC server {problem}:\n{self.log()[-2000:]}")
            time.sleep(0.1)
        return self

    def _answers(self):
        try:
            if self.keystore:
                # The keys' certificate is not known here: a listening port suffices.
                with socket.create_connection((kafka.HOST, self.port), timeout=1):
                    return True
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self.jwks_url, timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self):
        """Ends the server at once; does nothing if it does not run."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self):
        """Suspends the server: connections are accepted by the system, and requests are not answered."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def log(self):
        """Returns the server's output of all its runs."""
        path = self.folder / "oidc.log"
        return path.read_text(errors="replace") if path.exists() else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    with Server(port=parser.parse_args().port) as server:
        print(f"token URL {server.token_url}, keys {server.jwks_url}; Ctrl-C ends it", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
