"""Real Kafka brokers for tests and benchmarks.

In a test:

    with Cluster(brokers=2) as kafka:
        kafka.create_topic("t", partitions=4)
        ... kafka.bootstrap ...

and with listeners beside the plaintext one:

    def secured(folder):
        ... writes certificates into the cluster's folder ...
        return [Listener("TLS", "SSL", {"ssl.keystore.type": "PEM", "ssl.keystore.location": folder / "broker.pem"})]

    with Cluster(brokers=1, listeners=secured) as kafka:
        ... kafka.bootstrap_of("TLS") ...

By hand (the brokers run until `stop`):

    python3 tests/real/kafka.py start --brokers 2 --base-port 9092 --topic test2:2
    python3 tests/real/kafka.py status
    python3 tests/real/kafka.py stop

The first start downloads Kafka from Maven Central into .cache/kafka/VERSION; later
starts need no network. OTTLA_KAFKA_VERSION selects a version.
"""

import argparse
import atexit
import ctypes
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path

import wire

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "kafka"
WORK = ROOT / "build" / "real"

# Newest first: the first available version is used.
VERSIONS = ["4.3.0", "4.2.0", "4.1.1"]

# Start of a record batch: base offset, length, leader epoch, magic, CRC, attributes.
BATCH_HEADER = struct.Struct(">qiibIh")
CODEC_NAMES = ["none", "gzip", "snappy", "lz4", "zstd"]

HOST = "127.0.0.1"
START_TIMEOUT_S = 90

# Without the last one, brokers and tools write no log.
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>kafka</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{0}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{0}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.4</version>
    </dependency>
  </dependencies>
</project>
"""

LOG4J = """<Configuration status="ERROR">
  <Appenders>
    <Console name="out"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers><Root level="{0}"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


class Unavailable(Exception):
    """Kafka is not available here; the text is the reason."""


class StartFailed(Exception):
    """A broker did not start; the text is the end of its log."""


# ---- downloading Kafka -------------------------------------------------------


def fetch(version=None):
    """Returns (version, folder of its jars); downloads them with Maven unless they are in the cache."""
    if shutil.which("java") is None:
        raise Unavailable("java is not installed (make deps, or apt-get install openjdk-17-jre-headless)")
    version = version or os.environ.get("OTTLA_KAFKA_VERSION")
    wanted = [version] if version else VERSIONS
    problems = []
    for candidate in wanted:
        libs, problem = jars(candidate, POM.format(candidate))
        if not problem:
            return candidate, libs
        problems.append(f"{candidate}: {problem}")
    raise Unavailable("Kafka could not be fetched: " + "; ".join(problems))


def jars(version, pom):
    """Returns (folder of a version's jars, error or None); downloads them by `pom` unless they are in the cache."""
    libs = CACHE / version / "libs"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return libs, None if libs.is_dir() else maven(pom, libs)


def maven(pom, libs):
    """Fetches the dependencies of a pom.xml into `libs`. Returns an error, or None."""
    if shutil.which("mvn") is None:
        return "mvn is not installed (make deps, or apt-get install maven)"
    fresh = libs.parent / "fetching"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    (fresh / "pom.xml").write_text(pom)
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=" + str(fresh / "libs")]
    try:
        done = subprocess.run(command, cwd=fresh, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "mvn took longer than 10 minutes"
    if done.returncode != 0:
        errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
        return errors[0][:300] if errors else "mvn failed"
    (fresh / "libs").rename(libs)
    shutil.rmtree(fresh, ignore_errors=True)
    return None


def java_command(libs, main_class, options=(), plugins=None):
    """Returns the command that runs a class. `plugins` is a folder of further classes."""
    return ["java", *options, "-cp", f"{libs}/*" + (f":{plugins}" if plugins else ""), main_class]


# Short-lived tools start faster without the optimising compiler.
TOOL_OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def tool_options(level="ERROR"):
    """Returns the options of a tool, which logs to its standard error."""
    WORK.mkdir(parents=True, exist_ok=True)
    config = WORK / f"tool-log4j2-{level}.xml"
    config.write_text(LOG4J.format(level).replace('name="out"', 'name="out" target="SYSTEM_ERR"'))
    return *TOOL_OPTIONS, f"-Dlog4j2.configurationFile={config}"


def tool(main_class, *args, stdin=None, timeout_s=120, level="ERROR"):
    """Runs one of Kafka's own command-line classes; returns its output as bytes."""
    _, libs = fetch()
    command = java_command(libs, main_class, tool_options(level)) + [str(a) for a in args]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout_s)
    if done.returncode != 0:
        raise RuntimeError(f"{main_class} exited with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return done.stdout


# ---- processes that end with the test runner ---------------------------------

_running = set()


def end_with_parent():
    """Requests SIGKILL for this process from the kernel when the test runner ends, even by a signal."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _stop_all():
    for cluster in list(_running):
        cluster.stop()


def _on_signal(number, _frame):
    _stop_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _install_cleanup():
    if getattr(_install_cleanup, "done", False):
        return
    _install_cleanup.done = True
    atexit.register(_stop_all)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _on_signal)


# Below the kernel's usual range (32768 and higher), from which other processes get the ports of their connections and
# listeners: a port of that range may be taken before the broker that it is for binds it, or while the broker is down.
PORTS = range(10_000, 32_000)


def free_ports(count):
    """Returns different free ports."""
    found = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if len(found) == count:
            return found
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind((HOST, port))
            except OSError:
                continue
            found.append(port)
    raise OSError(f"no {count} free ports from {PORTS.start} to {PORTS.stop}")


def kafka_uuid():
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")


# ---- the cluster -------------------------------------------------------------


@dataclass(frozen=True)
class Listener:
    """A listener that every node has beside PLAINTEXT, which remains the one between brokers.

    `protocol`: its security protocol. `settings`: the settings of this listener, without their prefix listener.name.NAME.
    `host`: the advertised name.
    """

    name: str
    protocol: str
    settings: dict = field(default_factory=dict)
    host: str = "localhost"


class Cluster:
    """Nodes that are both broker and controller (KRaft), numbered from 1.

    `logs`: a folder for the nodes' record logs, used by this cluster only and emptied at its start and end; by default
    they are in the cluster's folder in build/real, which always contains the nodes' other files.
    `listeners`: a function that returns further listeners; it is called with the cluster's folder, which is empty then,
    and writes the files that the listeners' settings name. `java_options`: of the nodes. `log_dirs`: the number of log
    directories of each node.
    """

    def __init__(self, brokers=1, base_port=None, name=None, config=None, detached=False, version=None, plugins=None,
                 logs=None, listeners=None, java_options=(), log_dirs=1):
        self.count = brokers
        self.log_dir_count = log_dirs
        self.config = dict(config or {})
        self.detached = detached
        self.plugins = plugins
        self.make_listeners = listeners
        self.listeners = {}
        self.listener_ports = {}
        self.java_options = tuple(java_options)
        self.version, self.libs = fetch(version)
        self.folder = WORK / (name or f"kafka-{os.getpid()}-{uuid.uuid4().hex[:6]}")
        self.logs = logs or self.folder
        ports = free_ports(2 * brokers)
        self.controller_ports = ports[:brokers]
        self.ports = [base_port + i for i in range(brokers)] if base_port else ports[brokers:]
        self.processes = {}
        self.stopped = set()

    # -- start and stop

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def bootstrap(self):
        return ",".join(f"{HOST}:{port}" for port in self.ports)

    def bootstrap_of(self, listener):
        """Returns the addresses of one of the further listeners, by the advertised name."""
        host = self.listeners[listener].host
        return ",".join(f"{host}:{port}" for port in self.listener_ports[listener])

    def address(self, node=None):
        """Returns the address of `node`; without a node, of one that runs."""
        if node is None:
            alive = [n for n in self.nodes() if n in self.processes and n not in self.stopped]
            node = alive[0] if alive else 1
        return HOST, self.ports[node - 1]

    def nodes(self):
        return range(1, self.count + 1)

    def log_dirs(self, node):
        """Returns the log directories of a node. The first one has the metadata too."""
        return [self.logs / (f"node-{node}" if n == 0 else f"node-{node}-{n}") for n in range(self.log_dir_count)]

    def start(self):
        for port in self.ports:
            with socket.socket() as s:
                if s.connect_ex((HOST, port)) == 0:
                    raise StartFailed(f"port {port} is in use")
        for folder in {self.folder, self.logs}:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        (self.folder / "log4j2.xml").write_text(LOG4J.format("WARN"))
        self._add_listeners()
        if not self.detached:
            _install_cleanup()
            _running.add(self)
        self._format()
        for node in self.nodes():
            self.start_node(node, wait=False)
        self.wait_until_up()
        return self

    def _add_listeners(self):
        if self.make_listeners is None:
            return
        self.listeners = {listener.name: listener for listener in self.make_listeners(self.folder)}
        taken = {*self.ports, *self.controller_ports}
        free = free_ports(self.count * len(self.listeners) + len(taken))
        ports = (port for port in free if port not in taken)
        self.listener_ports = {name: [next(ports) for _ in self.nodes()] for name in self.listeners}

    def _listener_settings(self, node):
        """Returns the settings for the node's listeners, all of them included."""
        bound = {"PLAINTEXT": self.ports[node - 1], **{n: ports[node - 1] for n, ports in self.listener_ports.items()}}
        hosts = {name: listener.host for name, listener in self.listeners.items()}
        protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
        protocols |= {name: listener.protocol for name, listener in self.listeners.items()}
        settings = {
            "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in
                                  [*bound.items(), ("CONTROLLER", self.controller_ports[node - 1])]),
            "advertised.listeners": ",".join(f"{n}://{hosts.get(n, HOST)}:{port}" for n, port in bound.items()),
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        }
        for name, listener in self.listeners.items():
            settings |= {f"listener.name.{name.lower()}.{key}": value for key, value in listener.settings.items()}
        return settings

    def _properties(self, node):
        voters = ",".join(f"{n}@{HOST}:{self.controller_ports[n - 1]}" for n in self.nodes())
        # Few partitions for offsets and transactions, for small machines.
        settings = {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": voters,
            **self._listener_settings(node),
            "log.dirs": ",".join(map(str, self.log_dirs(node))),
            "num.network.threads": 2,
            "num.io.threads": 4,
            "num.partitions": 1,
            "default.replication.factor": self.count,
            "offsets.topic.num.partitions": 4,
            "offsets.topic.replication.factor": self.count,
            "transaction.state.log.num.partitions": 4,
            "transaction.state.log.replication.factor": self.count,
            "transaction.state.log.min.isr": 1,
            "share.coordinator.state.topic.num.partitions": 2,
            "share.coordinator.state.topic.replication.factor": self.count,
            "share.coordinator.state.topic.min.isr": 1,
            # The first record of a new share group arrives after a heartbeat interval, which is five seconds by default.
            "group.share.heartbeat.interval.ms": 1000,
            "group.share.min.heartbeat.interval.ms": 1000,
            # Lets groups have locks that expire within a test.
            "group.share.min.record.lock.duration.ms": 1000,
            "group.share.min.session.timeout.ms": 5000,
            "group.initial.rebalance.delay.ms": 0,
            "auto.create.topics.enable": "true",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "allow.everyone.if.no.acl.found": "true",
        }
        settings.update(self.config)
        return "".join(f"{key}={value}\n" for key, value in settings.items())

    def _format(self):
        """Writes each node's configuration and its formatted, empty log folder.

        Formatting starts a JVM and writes only meta.properties, which names the
        node, and a first snapshot, which is the same for all nodes. It is done once
        for each version; the result is copied.
        """
        template = CACHE / self.version / "formatted"
        cluster_id = kafka_uuid()
        for node in self.nodes():
            (self.folder / f"node-{node}.properties").write_text(self._properties(node))
        if not template.is_dir():
            fresh = self.log_dirs(1)[0]
            command = java_command(self.libs, "kafka.tools.StorageTool", TOOL_OPTIONS)
            command += ["format", "-t", cluster_id, "-c", str(self.folder / "node-1.properties")]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise StartFailed("formatting failed:\n" + done.stdout + done.stderr)
            staged = template.with_name(f"formatted-{os.getpid()}")
            shutil.copytree(fresh, staged)
            try:
                staged.rename(template)
            except OSError:  # a concurrent run has created it
                shutil.rmtree(staged)
            shutil.rmtree(fresh)
        for node in self.nodes():
            folders = self.log_dirs(node)
            shutil.copytree(template, folders[0])
            lines = (folders[0] / "meta.properties").read_text().splitlines()
            values = dict(line.split("=", 1) for line in lines if "=" in line)
            for folder in folders:
                folder.mkdir(exist_ok=True)
                values.update({"cluster.id": cluster_id, "node.id": node, "directory.id": kafka_uuid()})
                (folder / "meta.properties").write_text("".join(f"{k}={v}\n" for k, v in values.items()))

    def start_node(self, node, wait=True):
        """Starts a stopped node with its existing data."""
        options = ("-Xmx512m", "-Xms512m", "-XX:+UseG1GC", f"-Dlog4j2.configurationFile={self.folder}/log4j2.xml",
                   *self.java_options)
        command = java_command(self.libs, "kafka.Kafka", options, self.plugins) + [str(self.folder / f"node-{node}.properties")]
        with open(self.folder / f"node-{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True, preexec_fn=None if self.detached else end_with_parent,
            )
        if wait:
            self.wait_until_up()

    def wait_until_up(self, timeout_s=START_TIMEOUT_S):
        """Waits until the metadata of every started node lists all started nodes; frozen nodes are left out."""
        end = time.monotonic() + timeout_s
        expected = {n for n in self.processes if n not in self.stopped}
        for node in sorted(expected):
            while True:
                if self.processes[node].poll() is not None:
                    raise StartFailed(f"node {node} exited:\n{self.log_tail(node)}")
                try:
                    brokers, _, _ = wire.metadata(self.address(node), [], timeout_s=5)
                    if expected <= set(brokers):
                        break
                except (OSError, wire.WireError):
                    pass
                if time.monotonic() > end:
                    raise StartFailed(f"node {node} is not up after {timeout_s} s:\n{self.log_tail(node)}")
                time.sleep(0.1)

    def log_tail(self, node, lines=30):
        try:
            text = (self.folder / f"node-{node}.log").read_text(errors="replace")
        except OSError as e:
            return str(e)
        return "\n".join(text.splitlines()[-lines:])

    def stop(self):
        """Kills every node and removes their data; their log files remain in build/real."""
        for node in list(self.processes):
            self.kill(node)
        _running.discard(self)
        for node in self.nodes():
            for folder in self.log_dirs(node):
                shutil.rmtree(folder, ignore_errors=True)
        if self.logs != self.folder:
            shutil.rmtree(self.logs, ignore_errors=True)

    # -- faults

    def _signal(self, node, number):
        process = self.processes.get(node)
        if process is not None and process.poll() is None:
            process.send_signal(number)

    def kill(self, node):
        """Kills a node with SIGKILL; `start_node` restarts it with its data."""
        self._signal(node, signal.SIGKILL)
        process = self.processes.pop(node, None)
        self.stopped.discard(node)
        if process is not None:
            process.wait()

    def shut_down(self, node, timeout_s=60):
        """Stops a node in order: its partitions' leadership moves to other nodes first."""
        self._signal(node, signal.SIGTERM)
        try:
            self.processes[node].wait(timeout_s)
        except subprocess.TimeoutExpired:
            pass
        self.kill(node)

    def restart(self, node, orderly=True):
        self.shut_down(node) if orderly else self.kill(node)
        self.start_node(node)

    def freeze(self, node):
        """Stops a node with SIGSTOP: its connections remain open, but it does not respond."""
        self.stopped.add(node)
        self._signal(node, signal.SIGSTOP)

    def thaw(self, node):
        self._signal(node, signal.SIGCONT)
        self.stopped.discard(node)

    # -- topics

    def set_feature(self, change, name, level):
        """Sets a feature of the cluster; `change`: upgrade or downgrade."""
        tool("org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", self.bootstrap, change, "--feature",
             f"{name}={level}")

    def create_topic(self, name, partitions=1, replication=None, config=None):
        wire.create_topic(self.address(), name, partitions, replication or self.count, config)
        # Every node must have the topic in its metadata: a client may use any of them.
        for node in self.processes:
            if node not in self.stopped:
                wire.wait_for_leaders(self.address(node), name, partitions)

    def delete_topic(self, name):
        wire.delete_topic(self.address(), name)

    def end_offsets(self, topic):
        return wire.end_offsets(self.address(), topic)

    def message_count(self, topic):
        return sum(self.end_offsets(topic).values())

    def stored_bytes(self, topic):
        """Returns the size in bytes of the topic's record batches in the brokers' log files, the sum of all replicas."""
        return sum(segment.stat().st_size for segment in self.logs.glob(f"node-*/{topic}-*/*.log"))

    def codecs(self, topic):
        """Returns the codecs of the topic's record batches in the brokers' log files."""
        found = set()
        for segment in self.logs.glob(f"node-*/{topic}-*/*.log"):
            data, at = segment.read_bytes(), 0
            while at + BATCH_HEADER.size <= len(data):
                _, length, _, _, _, attributes = BATCH_HEADER.unpack_from(data, at)
                found.add(CODEC_NAMES[attributes & 7])
                at += 12 + length
        return found

    def leader(self, topic, partition=0):
        _, _, topics = wire.metadata(self.address(), [topic])
        return topics[topic][partition]


# ---- by hand -----------------------------------------------------------------

STATE = WORK / "manual.json"


def _alive(pid):
    """Returns true when `pid` is a running broker, not another process that reuses the number."""
    try:
        return b"kafka.Kafka" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _state():
    try:
        return json.loads(STATE.read_text())
    except (OSError, ValueError):
        return None


def manual_start(args):
    state = _state()
    if state and any(_alive(pid) for pid in state["pids"].values()):
        sys.exit(f"brokers run already at {state['bootstrap']}: stop them first")
    cluster = Cluster(args.brokers, args.base_port, name="manual", detached=True, version=args.kafka,
                      config=dict(setting.split("=", 1) for setting in args.set))
    try:
        cluster.start()
        for topic in args.topic:
            name, _, partitions = topic.partition(":")
            cluster.create_topic(name, int(partitions or 1), args.replication)
    except BaseException:
        cluster.stop()
        raise
    pids = {str(node): process.pid for node, process in cluster.processes.items()}
    STATE.write_text(json.dumps({"bootstrap": cluster.bootstrap, "pids": pids, "folder": str(cluster.folder)}))
    print(f"Kafka {cluster.version}: {cluster.bootstrap} (pids {', '.join(map(str, pids.values()))})")


def manual_stop(_args):
    state = _state()
    if state is None:
        print("no brokers")
        return
    pids = [pid for pid in state["pids"].values() if _alive(pid)]
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
        os.kill(pid, signal.SIGKILL)
    while any(_alive(pid) for pid in pids):
        time.sleep(0.05)
    for node in state["pids"]:
        shutil.rmtree(Path(state["folder"]) / f"node-{node}", ignore_errors=True)
    STATE.unlink()
    print(f"{len(pids)} brokers stopped")


def manual_status(_args):
    state = _state()
    pids = state["pids"] if state else {}
    for node, pid in pids.items():
        print(f"node {node}: pid {pid} {'runs' if _alive(pid) else 'is gone'}")
    print(state["bootstrap"] if state else "no brokers")


def main():
    parser = argparse.ArgumentParser(description="Kafka brokers for manual tests and benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="start brokers and leave them running")
    start.add_argument("--brokers", type=int, default=1)
    start.add_argument("--base-port", type=int, default=9092, help="the first broker's port")
    start.add_argument("--topic", action="append", default=[], metavar="NAME[:PARTITIONS]")
    start.add_argument("--replication", type=int, default=1, help="replication factor of these topics")
    start.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="broker setting")
    start.add_argument("--kafka", metavar="VERSION", help=f"default: the first of {', '.join(VERSIONS)}")
    start.set_defaults(run=manual_start)
    commands.add_parser("stop", help="stop the brokers").set_defaults(run=manual_stop)
    commands.add_parser("status", help="list the brokers and their states").set_defaults(run=manual_status)
    commands.add_parser("fetch", help="only download Kafka into .cache").set_defaults(run=lambda _: print(*fetch()))
    args = parser.parse_args()
    try:
        args.run(args)
    except (Unavailable, StartFailed) as e:
        sys.exit(f"kafka.py: {e}")


if __name__ == "__main__":
    main()
