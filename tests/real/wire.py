"""A minimal Kafka client with the requests that the test harness sends.

Starting a Java tool takes one to two seconds, a request one millisecond. The harness
also remains independent of the library under test.
"""

import hashlib
import os
import socket
import struct
import time


class WireError(Exception):
    """An error code in a broker's response, or a missing response."""

    def __init__(self, what, code=None):
        super().__init__(what if code is None else f"{what}: error code {code}")
        self.code = code


PRODUCE = (0, 7)
CREATE_TOPICS = (19, 4)
DELETE_TOPICS = (20, 3)
LIST_OFFSETS = (2, 1)
METADATA = (3, 4)
ALTER_CONFIGS = (44, 1)
DESCRIBE_SCRAM_CREDENTIALS = (50, 0)
ALTER_SCRAM_CREDENTIALS = (51, 0)

NOT_LEADER_OR_FOLLOWER = 6
TOPIC_ALREADY_EXISTS = 36
LATEST = -1
EARLIEST = -2

# Kafka's numbers for a group in requests about settings, and for an assignment.
RESOURCE_GROUP = 32
CONFIG_SET = 0

# Kafka's numbers for the SCRAM mechanisms, and their hash functions.
SCRAM = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
RESOURCE_NOT_FOUND = 91


def string(text):
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


def varint(number):
    """Returns an unsigned number as flexible versions of requests encode lengths."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def compact(data):
    """Returns bytes, or a string, with their length as flexible versions encode it."""
    data = data.encode() if isinstance(data, str) else data
    return varint(len(data) + 1) + data


def compact_array(items):
    """Returns an array of structures without tagged fields."""
    return varint(len(items) + 1) + b"".join(item + b"\0" for item in items)


class Answer:
    """Reads the fields of a response one after the other."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        (value,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return value

    def string(self):
        length = self.take("h")
        if length < 0:
            return None
        text = self.data[self.at:self.at + length].decode()
        self.at += length
        return text

    def array(self, read):
        return [read() for _ in range(self.take("i"))]

    # -- flexible versions, whose tagged fields are expected to be absent

    def varint(self):
        number = shift = 0
        while True:
            byte = self.take("B")
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    def compact_string(self):
        length = self.varint() - 1
        if length < 0:
            return None
        self.at += length
        return self.data[self.at - length:self.at].decode()

    def compact_array(self, read):
        found = []
        for _ in range(self.varint() - 1):
            found.append(read())
            self.varint()
        return found


def call(address, api, body, timeout_s=10.0, flexible=False):
    """Sends one request on a new connection; returns the response's fields. `flexible`: the version has tagged fields."""
    key, version = api
    tags = b"\0" if flexible else b""
    request = struct.pack(">hhi", key, version, 1) + string("ottla-harness") + tags + body + tags
    host, port = address
    with socket.create_connection((host, port), timeout=timeout_s) as conn:
        conn.sendall(struct.pack(">i", len(request)) + request)
        (length,) = struct.unpack(">i", exactly(conn, 4))
        answer = Answer(exactly(conn, length))
    answer.take("i")
    if flexible:
        answer.varint()
    return answer


def exactly(conn, count):
    data = b""
    while len(data) < count:
        more = conn.recv(count - len(data))
        if not more:
            raise WireError("the broker closed the connection")
        data += more
    return data


def metadata(address, topics=None, timeout_s=10.0):
    """Returns (brokers {id: (host, port)}, controller id, topics {name: {partition: leader}})."""
    names = struct.pack(">i", -1) if topics is None else array([string(t) for t in topics])
    answer = call(address, METADATA, names + b"\0", timeout_s)
    answer.take("i")  # throttle time
    brokers = {}
    for node, host, port, _rack in answer.array(
        lambda: (answer.take("i"), answer.string(), answer.take("i"), answer.string())
    ):
        brokers[node] = (host, port)
    answer.string()  # cluster id
    controller = answer.take("i")

    def partition():
        error, index, leader = answer.take("h"), answer.take("i"), answer.take("i")
        answer.array(lambda: answer.take("i"))
        answer.array(lambda: answer.take("i"))
        return index, leader if error == 0 else -1

    def topic():
        answer.take("h")
        name = answer.string()
        answer.take("b")
        return name, dict(answer.array(partition))

    return brokers, controller, dict(answer.array(topic))


def create_topic(address, name, partitions, replication, config=None, timeout_s=30.0):
    """Creates a topic and waits until every partition has a leader."""
    settings = array([string(k) + string(str(v)) for k, v in (config or {}).items()])
    topic = string(name) + struct.pack(">ih", partitions, replication) + array([]) + settings
    body = array([topic]) + struct.pack(">ib", int(timeout_s * 1000), 0)
    answer = call(address, CREATE_TOPICS, body, timeout_s)
    answer.take("i")
    for topic_name, code, message in answer.array(
        lambda: (answer.string(), answer.take("h"), answer.string())
    ):
        if code not in (0, TOPIC_ALREADY_EXISTS):
            raise WireError(f"create topic {topic_name}: {message}", code)
    wait_for_leaders(address, name, partitions, timeout_s)


def wait_for_leaders(address, name, partitions, timeout_s=30.0):
    end = time.monotonic() + timeout_s
    while True:
        _, _, topics = metadata(address, [name])
        leaders = topics.get(name, {})
        if len(leaders) == partitions and all(leader >= 0 for leader in leaders.values()):
            return leaders
        if time.monotonic() > end:
            raise WireError(f"topic {name} has no leader on every partition: {leaders}")
        time.sleep(0.05)


def delete_topic(address, name, timeout_s=30.0):
    body = array([string(name)]) + struct.pack(">i", int(timeout_s * 1000))
    answer = call(address, DELETE_TOPICS, body, timeout_s)
    answer.take("i")
    for topic_name, code in answer.array(lambda: (answer.string(), answer.take("h"))):
        if code != 0:
            raise WireError(f"delete topic {topic_name}", code)


def offset(address, topic, partition, timestamp=LATEST):
    """Requests an offset from the partition's leader: the one for a timestamp, LATEST or EARLIEST."""
    wanted = string(topic) + array([struct.pack(">iq", partition, timestamp)])
    answer = call(address, LIST_OFFSETS, struct.pack(">i", -1) + array([wanted]))
    answer.take("i")
    answer.string()
    answer.take("i")
    answer.take("i")
    code, _, found = answer.take("h"), answer.take("q"), answer.take("q")
    if code != 0:
        raise WireError(f"offsets of {topic} [{partition}]", code)
    return found


def end_offsets(address, topic):
    """Returns {partition: end offset}, each requested from the partition's leader."""
    deadline = time.monotonic() + 10
    while True:
        brokers, _, topics = metadata(address, [topic])
        try:
            return {p: offset(brokers[leader], topic, p) for p, leader in sorted(topics[topic].items())}
        except WireError as e:
            # The leader may change between the two requests.
            if e.code != NOT_LEADER_OR_FOLLOWER or time.monotonic() > deadline:
                raise
        time.sleep(0.5)


# ---- records of a transaction that no coordinator knows ----------------------


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def transactional_batch(producer, value, timestamp_ms):
    """Returns a record batch with one record, the first one of a producer in its transaction."""
    # Lengths are small and positive: twice the number.
    record = b"\0\0\0\1" + varint(2 * len(value)) + value + b"\0"
    body = struct.pack(">hiqqqhii", 0x10, 0, timestamp_ms, timestamp_ms, producer, 0, 0, 1) + varint(2 * len(record)) + record
    head = struct.pack(">ibI", -1, 2, crc32c(body))
    return struct.pack(">qi", 0, len(head) + len(body)) + head + body


def begin_hanging_transaction(address, topic, partition, producer, age_s):
    """Writes a record of that age in a transaction, without its coordinator, to the partition's leader.

    The leader's setting transaction.partition.verification.enable must be false.
    """
    batch = transactional_batch(producer, b"hanging", int((time.time() - age_s) * 1000))
    rows = array([string(topic) + array([struct.pack(">ii", partition, len(batch)) + batch])])
    answer = call(address, PRODUCE, string(f"{topic}-hanging") + struct.pack(">hi", -1, 10_000) + rows)
    answer.take("i")
    answer.string()
    answer.take("i")
    answer.take("i")
    code = answer.take("h")
    if code != 0:
        raise WireError(f"a record of a transaction for {topic} [{partition}]", code)


# ---- settings of groups ------------------------------------------------------


def set_group_config(address, group, config, timeout_s=30.0):
    """Sets settings of a group, such as share.auto.offset.reset. A broker applies them a little after the response."""
    rows = [compact(name) + struct.pack(">b", CONFIG_SET) + compact(str(value)) for name, value in config.items()]
    resource = struct.pack(">b", RESOURCE_GROUP) + compact(group) + compact_array(rows)
    answer = call(address, ALTER_CONFIGS, compact_array([resource]) + b"\0", timeout_s, flexible=True)
    answer.take("i")
    for code, message, _, name in answer.compact_array(
        lambda: (answer.take("h"), answer.compact_string(), answer.take("b"), answer.compact_string())
    ):
        if code != 0:
            raise WireError(f"settings of group {name}: {message}", code)


# ---- users -------------------------------------------------------------------


def set_scram_password(address, user, mechanism, password, iterations=4096, timeout_s=30.0):
    """Sets a user's password for a SCRAM mechanism, and waits until the broker at `address` has the user."""
    number, digest = SCRAM[mechanism]
    salt = os.urandom(24)
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    changed = compact(user) + struct.pack(">bi", number, iterations) + compact(salt) + compact(salted)
    body = compact_array([]) + compact_array([changed])
    answer = call(address, ALTER_SCRAM_CREDENTIALS, body, timeout_s, flexible=True)
    answer.take("i")
    for name, code, message in answer.compact_array(
        lambda: (answer.compact_string(), answer.take("h"), answer.compact_string())
    ):
        if code != 0:
            raise WireError(f"{mechanism} password of {name}: {message}", code)
    wait_for_scram_password(address, user, mechanism, iterations, timeout_s)


def wait_for_scram_password(address, user, mechanism, iterations, timeout_s=30.0):
    """Waits until the broker at `address` has a user's password with that many iterations."""
    number, _ = SCRAM[mechanism]
    end = time.monotonic() + timeout_s
    while scram_iterations(address, user).get(number) != iterations:
        if time.monotonic() > end:
            raise WireError(f"no {mechanism} password of {user} after {timeout_s} s")
        time.sleep(0.05)


def scram_iterations(address, user):
    """Returns {number of a mechanism: iterations} of a user's passwords."""
    answer = call(address, DESCRIBE_SCRAM_CREDENTIALS, compact_array([compact(user)]), flexible=True)
    answer.take("i")
    code, message = answer.take("h"), answer.compact_string()
    if code != 0:
        raise WireError(f"SCRAM passwords of {user}: {message}", code)

    def passwords():
        return dict(answer.compact_array(lambda: (answer.take("b"), answer.take("i"))))

    rows = answer.compact_array(
        lambda: (answer.compact_string(), answer.take("h"), answer.compact_string(), passwords()))
    for name, code, message, found in rows:
        if code not in (0, RESOURCE_NOT_FOUND):
            raise WireError(f"SCRAM passwords of {name}: {message}", code)
        return found
    return {}
