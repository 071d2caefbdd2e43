"""Controls the scripted broker (crates/mock/examples/scripted_broker.rs) and reads its record.

Commands are methods; their fields are keyword arguments, described at the program's head. It also has listeners that do
not behave like Kafka brokers.
"""

import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "debug" / "examples" / "scripted_broker"

# Error codes of brokers that tests use.
OFFSET_OUT_OF_RANGE = 1
CORRUPT_MESSAGE = 2
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
MESSAGE_TOO_LARGE = 10
NOT_COORDINATOR = 16
RECORD_LIST_TOO_LARGE = 18
NOT_ENOUGH_REPLICAS = 19
NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
INVALID_REQUIRED_ACKS = 21
TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
CLUSTER_AUTHORIZATION_FAILED = 31
UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
OUT_OF_ORDER_SEQUENCE_NUMBER = 45
DUPLICATE_SEQUENCE_NUMBER = 46
UNKNOWN_PRODUCER_ID = 59


class Request:
    """A request, connection or disconnection as the brokers saw it. Times are milliseconds of the cluster's clock."""

    def __init__(self, fields):
        self.fields = fields

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def values(self, field, topic=None):
        """One field of all parts, of one topic or of all."""
        return [part[field] for part in self.parts if topic in (None, part["topic"])]

    def __repr__(self):
        what = self.fields.get("api") or self.event
        return f"<{self.at:.0f} ms: {what} at {self.broker} on {self.connection} {self.fields.get('parts', '')}>"


class Cluster:
    """Brokers 1 to `brokers`. `topic()` or a client's Metadata request creates topics."""

    def __init__(self, brokers=1, **configuration):
        self._process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._lock = threading.Lock()
        answer = self._send({"brokers": brokers, "partitions": 1, **configuration})
        self.bootstrap = answer["bootstrap"]
        self.addresses = dict(enumerate(self.bootstrap.split(","), 1))

    def _send(self, command):
        with self._lock:
            self._process.stdin.write(json.dumps(command) + "\n")
            line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the scripted broker ended at {command}")
        answer = json.loads(line)
        if "failed" in answer:
            raise AssertionError(f"{command}: {answer['failed']}")
        return answer

    def do(self, command, **fields):
        return self._send({"do": command, **fields})

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def topic(self, name, partitions=1, leaders=None):
        """Makes a topic; `leaders` has one broker id per partition, each partition's only replica."""
        replicas = {"leaders": [[leader] for leader in leaders]} if leaders else {}
        self.do("topic", name=name, partitions=partitions, **replicas)
        return name

    def rule(self, api=None, action="serve", **fields):
        """Adds a rule; by default for all matching requests."""
        return self.do("rule", api=api, action=action, **fields)["rule"]

    def fail(self, api, error, times=None, **fields):
        """Answers requests with an error."""
        return self.rule(api, "error", error=error, times=times, **fields)

    def remove(self, rule):
        self.do("remove_rule", rule=rule)

    def move_leader(self, topic, partition, broker):
        self.do("leader", topic=topic, partition=partition, broker=broker)

    def log(self, topic, partition=0):
        """The values of a partition's records, by offset."""
        return [record["value"] for record in self.do("log", topic=topic, partition=partition)["records"]]

    def exists(self, topic):
        try:
            self.log(topic)
            return True
        except AssertionError:
            return False

    def now(self):
        return self.do("now")["now"]

    def seen(self, event=None, **fields):
        """The record, narrowed by fields."""
        entries = [Request(entry) for entry in self.do("seen")["seen"]]
        wanted = {**({"event": event} if event else {}), **fields}
        return [e for e in entries if all(e.fields.get(name) == value for name, value in wanted.items())]

    def requests(self, api, **fields):
        return self.seen("request", api=api, **fields)

    def produced(self, topic=None, **fields):
        """The Produce requests for a topic."""
        return [r for r in self.requests("Produce", **fields) if topic is None or topic in r.values("topic")]

    def connections(self, **fields):
        return self.seen("connected", **fields)

    def wait(self, condition, seconds=10.0):
        """Waits, without serving any client, until a condition holds. Returns whether it did in time."""
        return wait(condition, seconds)


def wait(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Slammer:
    """A port that accepts connections and closes them at once."""

    def __init__(self):
        self.accepted = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.accepted.append(time.monotonic())
            connection.close()

    def close(self):
        self._socket.close()


class Deaf:
    """A port where connecting neither succeeds nor fails: its queue of connections is full."""

    def __init__(self):
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(0)
        port = self._socket.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self._fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            self._fillers.append(filler)

    def close(self):
        for filler in self._fillers:
            filler.close()
        self._socket.close()


def free_address():
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"127.0.0.1:{taken.getsockname()[1]}"
