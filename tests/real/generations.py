"""Tests the library on brokers of every generation that requires ZooKeeper, 0.8.2 to 2.8.

    make generations [VERSIONS="0.9.0.1 1.1.1"]    or
    python3 tests/real/generations.py [VERSION]...

For each version one broker is started, and generations_client.py runs in Debian's
Python with this library: operations that the broker supports must succeed, the others
must fail with an error that names the reason. Brokers before 0.10 do not report their
API versions; `broker.version.fallback` configures them. Exit status 1 when a check fails.

The first run downloads Kafka from Maven Central into .cache/kafka/VERSION; it needs Java 17.
"""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import debian
import debian_python
import kafka
import support

# Kafka version: (Scala version of its jars, additional dependencies).
ARTIFACTS = {
    "0.8.2.2": ("2.10", ()),
    "0.9.0.1": ("2.11", ()),
    "0.10.0.1": ("2.11", ()),
    "0.10.2.2": ("2.11", ("javax.xml.bind:jaxb-api:2.3.1",)),
    "0.11.0.3": ("2.11", ("javax.xml.bind:jaxb-api:2.3.1",)),
    "1.1.1": ("2.12", ("org.slf4j:slf4j-log4j12:1.7.25",)),
    "2.8.2": ("2.13", ()),
}
# Versions that are tested by default: 0.10.0 differs from 0.10.2 in SASL, which test_sasl.py tests.
VERSIONS = [version for version in ARTIFACTS if version != "0.10.0.1"]
# Dependencies that are neither available nor needed.
EXCLUDED = ("com.sun.jdmk:jmxtools", "com.sun.jmx:jmxri", "javax.jms:jms")

CLIENT = Path(__file__).with_name("generations_client.py")
CLIENT_TIMEOUT_S = 300

LOG4J = """log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


def numbers(version):
    return tuple(int(part) for part in version.split("."))


# ---- downloading the brokers -------------------------------------------------


def dependency(coordinates, more=""):
    group, name, version = coordinates.split(":")
    return (f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
            f"{more}</dependency>")


def exclusion(coordinates):
    group, name = coordinates.split(":")
    return f"<exclusion><groupId>{group}</groupId><artifactId>{name}</artifactId></exclusion>"


def pom(version):
    scala, besides = ARTIFACTS[version]
    exclusions = "<exclusions>" + "".join(map(exclusion, EXCLUDED)) + "</exclusions>"
    dependencies = dependency(f"org.apache.kafka:kafka_{scala}:{version}", exclusions) + "".join(map(dependency, besides))
    return ('<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>local</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>"
            f"<dependencies>{dependencies}</dependencies></project>")


def fetch(version):
    """Returns the folder of a version's jars."""
    libs, problem = kafka.jars(version, pom(version))
    if problem:
        raise kafka.Unavailable(f"Kafka {version} could not be fetched: {problem}")
    return libs


# ---- starting the brokers ----------------------------------------------------


# The first version with SCRAM.
SCRAM_SINCE = (0, 10, 2)


class Sasl:
    """A user of a broker's listener with SASL, by PLAIN and, where the broker has it, by SCRAM."""

    def __init__(self, version, user, password):
        self.user, self.password = user, password
        self.scram = ["SCRAM-SHA-256", "SCRAM-SHA-512"] if numbers(version) >= SCRAM_SINCE else []

    @property
    def mechanisms(self):
        return ["PLAIN", *self.scram]

    def login(self):
        """Returns the broker's login configuration."""
        modules = "org.apache.kafka.common.security"
        plain = f'{modules}.plain.PlainLoginModule required user_{self.user}="{self.password}";'
        scram = f"{modules}.scram.ScramLoginModule required;" if self.scram else ""
        return f"KafkaServer {{ {plain} {scram} }};\n"

    def create_user(self, libs, options, zookeeper):
        """Stores the SCRAM passwords with Kafka's own tool."""
        if not self.scram:
            return
        changes = ",".join(f"{mechanism}=[password={self.password}]" for mechanism in self.scram)
        command = kafka.java_command(libs, "kafka.admin.ConfigCommand", options) + [
            "--zookeeper", f"{kafka.HOST}:{zookeeper}", "--alter", "--entity-type", "users", "--entity-name", self.user,
            "--add-config", changes]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise kafka.StartFailed(f"kafka.admin.ConfigCommand exited with {done.returncode}:\n{done.stderr[-2000:]}")


def authorizer(version):
    """Returns the settings of a broker that keeps access control entries."""
    name = "kafka.security.auth.SimpleAclAuthorizer" if numbers(version) < (2, 4) else "kafka.security.authorizer.AclAuthorizer"
    return {"authorizer.class.name": name, "super.users": "User:ANONYMOUS"}


def broker_properties(version, folder, port, zookeeper, sasl=None, more=None):
    settings = {
        "broker.id": 0,
        "log.dirs": folder / "logs",
        "zookeeper.connect": f"{kafka.HOST}:{zookeeper}",
        "num.partitions": 3,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "auto.create.topics.enable": "true",
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0,
    }
    if sasl:
        settings["listeners"] = f"SASL_PLAINTEXT://{kafka.HOST}:{port},PLAINTEXT://{kafka.HOST}:0"
        settings["sasl.enabled.mechanisms"] = ",".join(sasl.mechanisms)
    elif numbers(version) < (2,):
        settings |= {"port": port, "host.name": kafka.HOST, "advertised.host.name": kafka.HOST}
    else:
        settings["listeners"] = f"PLAINTEXT://{kafka.HOST}:{port}"
    settings |= more or {}
    return "".join(f"{key}={value}\n" for key, value in settings.items())


@contextlib.contextmanager
def broker(version, sasl=None, settings=None):
    """Runs a broker with its ZooKeeper; yields its address, that of the listener with SASL if there is one.

    `settings`: further ones of the broker."""
    libs = fetch(version)
    folder = kafka.WORK / f"generation-{version}{'-sasl' if sasl else ''}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    zookeeper, port = kafka.free_ports(2)
    (folder / "log4j.properties").write_text(LOG4J)
    (folder / "zookeeper.properties").write_text(
        f"dataDir={folder / 'zookeeper'}\nclientPort={zookeeper}\nadmin.enableServer=false\n")
    (folder / "server.properties").write_text(broker_properties(version, folder, port, zookeeper, sasl, settings))
    # These versions do not recognize versions of Java after 8.
    options = ("-Xmx512m", "-Djava.specification.version=1.8", f"-Dlog4j.configuration=file:{folder}/log4j.properties")
    if sasl:
        (folder / "login.conf").write_text(sasl.login())
        options += (f"-Djava.security.auth.login.config={folder}/login.conf", "-Dzookeeper.sasl.client=false")
    processes = []
    try:
        for main_class, name, listens in (
                ("org.apache.zookeeper.server.quorum.QuorumPeerMain", "zookeeper", zookeeper),
                ("kafka.Kafka", "server", port)):
            log = folder / f"{name}.log"
            with open(log, "wb") as output:
                processes.append(subprocess.Popen(
                    kafka.java_command(libs, main_class, options) + [str(folder / f"{name}.properties")], cwd=folder,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output, preexec_fn=kafka.end_with_parent))
            wait_for(processes[-1], listens, log)
        if sasl:
            sasl.create_user(libs, options, zookeeper)
        yield f"{kafka.HOST}:{port}"
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for data in ("logs", "zookeeper"):
            shutil.rmtree(folder / data, ignore_errors=True)


def wait_for(process, port, log):
    end = time.monotonic() + kafka.START_TIMEOUT_S
    while True:
        with socket.socket() as s:
            if s.connect_ex((kafka.HOST, port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > end:
            raise kafka.StartFailed(f"{log.stem} is not up:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


# ---- running the client ------------------------------------------------------


def run(version):
    """Runs the client on a broker of this version. Returns true when every check passed."""
    properties = {}
    if numbers(version) < (0, 10):
        properties = {"api.version.request": False, "broker.version.fallback": version, "log_level": 3}
    begin = time.monotonic()
    with broker(version) as bootstrap:
        command = [debian_python.interpreter(), str(CLIENT), bootstrap, version, json.dumps(properties)]
        try:
            done = subprocess.run(command, env=debian_python.environment(support.LIB_DIR), timeout=CLIENT_TIMEOUT_S)
            good = done.returncode == 0
        except subprocess.TimeoutExpired:
            print(f"FAIL the client did not end in {CLIENT_TIMEOUT_S} s")
            good = False
    print(f"{'ok  ' if good else 'FAIL'} Kafka {version}: {time.monotonic() - begin:.0f} s", flush=True)
    return good


def main():
    versions = sys.argv[1:] or VERSIONS
    unknown = [version for version in versions if version not in ARTIFACTS]
    if unknown:
        sys.exit(f"generations.py: {', '.join(unknown)}: none of {', '.join(ARTIFACTS)}")
    try:
        good = [run(version) for version in versions]
    except (kafka.Unavailable, kafka.StartFailed, debian.Unavailable) as e:
        sys.exit(f"generations.py: {e}")
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
