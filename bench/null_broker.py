"""Brokers that cost next to nothing, for measurements in which brokers are not to be the limit.

    python3 bench/null_broker.py [--brokers 1] [--partitions 8]    prints its addresses and serves until its input ends

One process listens on an address for each broker. It knows any topic, and spreads its partitions over the brokers. It keeps
one record batch of a partition, the one with the most records before the first Fetch; the others are discarded in the kernel
(MSG_TRUNC) after their header, so that a message costs next to nothing. All are acknowledged. A consumer reads the kept batch
again and again, each time with the next base offset, until it has at least as many records as were produced: the last batch is
whole.

Served are the requests of producers and of consumers without a group, in versions from before the flexible ones. librdkafka
and Ottla connect to it alike. Fetch waits for a batch, as if its min_bytes were 1, and opens no sessions.
"""

import argparse
import os
import socket
import struct
import subprocess
import sys
import threading

import real_kafka  # noqa: F401
import wire
from wire import array, string

PRODUCE, FETCH, LIST_OFFSETS, METADATA, FIND_COORDINATOR, API_VERSIONS, DELETE_TOPICS = 0, 1, 2, 3, 10, 18, 20
# The versions that are served. ApiVersions is answered in version 0 whatever was asked, as KIP-511 has it. librdkafka uses
# zstd only with brokers that serve Fetch 10, and lz4 only with brokers that serve FindCoordinator.
VERSIONS = {PRODUCE: (3, 7), FETCH: (4, 11), LIST_OFFSETS: (1, 3), METADATA: (1, 4), FIND_COORDINATOR: (0, 0),
            API_VERSIONS: (0, 0), DELETE_TOPICS: (1, 3)}
OFFSET_OUT_OF_RANGE, UNSUPPORTED_VERSION = 1, 35
# The fields of a record batch up to the offset of its last record, relative to the base offset, which is the first field.
BATCH_HEADER = struct.Struct(">qiibIhi")
BASE_OFFSET = struct.Struct(">q")
# The kernel writes nothing into the buffer of what it discards.
DISCARD_MAX = 1 << 20
SCRAP = memoryview(bytearray(DISCARD_MAX))
# The most buffers of one sendmsg().
BUFFERS_MAX = os.sysconf("SC_IOV_MAX")


def send_all(sock, buffers):
    """Sends the buffers without copying them in this process."""
    at = 0
    while at < len(buffers):
        sent = sock.sendmsg(buffers[at:at + BUFFERS_MAX])
        while at < len(buffers) and sent >= len(buffers[at]):
            sent -= len(buffers[at])
            at += 1
        if sent:
            buffers[at] = memoryview(buffers[at])[sent:]


class Partition:
    """The kept record batch of a partition, without its base offset, its records, and those of all batches."""

    def __init__(self):
        self.kept, self.records, self.produced, self.fetched = None, 0, 0, False

    def wants(self, records):
        """Returns true if a batch of so many records is to be kept. The offsets of fetched batches do not change."""
        return self.kept is None or records > self.records and not self.fetched

    @property
    def end(self):
        return -(-self.produced // self.records) * self.records if self.records else 0

    def batches(self, offset, room, need_one):
        """Returns the buffers of the batches from `offset` on that are in `room` bytes, but of one at least if one is needed,
        and their size."""
        if not 0 <= offset < self.end:
            return [], 0
        base, size = offset - offset % self.records, BASE_OFFSET.size + len(self.kept)
        count = min(max(room // size, int(need_one)), (self.end - base) // self.records)
        bases = range(base, base + count * self.records, self.records)
        return [buffer for base in bases for buffer in (BASE_OFFSET.pack(base), self.kept)], count * size


class Connection:
    """A connection of a client, served request by request. Blocking: a client sends whole requests, and has a thread here."""

    def __init__(self, sock, cluster):
        self.sock, self.cluster = sock, cluster
        self.left = 0
        self.handlers = {
            PRODUCE: self.produce, FETCH: self.fetch, LIST_OFFSETS: self.list_offsets, METADATA: self.metadata,
            FIND_COORDINATOR: self.find_coordinator, API_VERSIONS: self.api_versions, DELETE_TOPICS: self.delete_topics}

    def read(self, size):
        data = self.sock.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionError("the client closed the connection")
        self.left -= size
        return data

    def fields(self, kinds):
        return struct.unpack(">" + kinds, self.read(struct.calcsize(">" + kinds)))

    def number(self, kind):
        return self.fields(kind)[0]

    def text(self):
        size = self.number("h")
        return self.read(size).decode() if size >= 0 else None

    def topics(self, row):
        """Reads an array of topics with an array of partitions each, which `row` reads; returns the rows by topic."""
        found = []
        for _ in range(self.number("i")):
            topic = self.text()
            found.append((topic, [row(topic) for _ in range(self.number("i"))]))
        return found

    def discard(self, size):
        self.left -= size
        while size > 0:
            dropped = self.sock.recv_into(SCRAP, min(size, DISCARD_MAX), socket.MSG_TRUNC)
            if dropped == 0:
                raise ConnectionError("the client closed the connection")
            size -= dropped

    def serve(self):
        """Answers requests until the client closes the connection."""
        with self.sock:
            try:
                while True:
                    self.answer()
            except ConnectionError:
                pass

    def answer(self):
        """Answers one request. Handlers return the buffers of the body, or None."""
        self.left = 4
        self.left = self.number("i")
        api, version, correlation = self.fields("hhi")
        self.text()
        body = self.handlers[api](version)
        self.discard(self.left)
        if body is not None:
            send_all(self.sock, [struct.pack(">ii", 4 + sum(map(len, body)), correlation), *body])

    def api_versions(self, version):
        rows = [struct.pack(">hhh", api, *versions) for api, versions in VERSIONS.items()]
        return [struct.pack(">h", UNSUPPORTED_VERSION if version > 0 else 0) + array(rows)]

    def metadata(self, version):
        topics = [self.text() for _ in range(max(0, self.number("i")))]
        count = len(self.cluster.addresses)
        brokers = [struct.pack(">i", node) + string(host) + struct.pack(">ih", port, -1)
                   for node, (host, port) in enumerate(self.cluster.addresses, 1)]
        leaders = [(partition, partition % count + 1) for partition in range(self.cluster.partitions)]
        partitions = array([struct.pack(">hiiiiii", 0, partition, node, 1, node, 1, node) for partition, node in leaders])
        body = struct.pack(">i", 0) if version >= 3 else b""
        body += array(brokers) + (string("null") if version >= 2 else b"") + struct.pack(">i", 1)
        return [body + array([struct.pack(">h", 0) + string(topic) + b"\0" + partitions for topic in topics])]

    def find_coordinator(self, _):
        host, port = self.cluster.addresses[0]
        return [struct.pack(">hi", 0, 1) + string(host) + struct.pack(">i", port)]

    def delete_topics(self, _):
        topics = [self.text() for _ in range(self.number("i"))]
        self.cluster.delete(topics)
        return [struct.pack(">i", 0) + array([string(topic) + struct.pack(">h", 0) for topic in topics])]

    def produce(self, version):
        def row(topic):
            number, size = self.fields("ii")
            partition = self.cluster.partition(topic, number)
            header = self.read(BATCH_HEADER.size)
            records, size = BATCH_HEADER.unpack(header)[-1] + 1, size - len(header)
            wanted = partition.wants(records)
            body = self.read(size) if wanted else self.discard(size)
            self.cluster.append(partition, records, header[BASE_OFFSET.size:] + body if wanted else None)
            return struct.pack(">ihqq", number, 0, 0, -1) + (struct.pack(">q", 0) if version >= 5 else b"")

        self.text()
        acks, _ = self.fields("hi")
        rows = self.topics(row)
        return [array([string(topic) + array(some) for topic, some in rows]) + struct.pack(">i", 0)] if acks else None

    def list_offsets(self, version):
        def row(topic):
            number, timestamp = self.fields("iq")
            offset = 0 if timestamp == wire.EARLIEST else self.cluster.partition(topic, number).end
            return struct.pack(">ihqq", number, 0, -1, offset)

        self.fields("ib" if version >= 2 else "i")
        rows = self.topics(row)
        throttle = struct.pack(">i", 0) if version >= 2 else b""
        return [throttle + array([string(topic) + array(some) for topic, some in rows])]

    def fetch(self, version):
        def row(topic):
            number, *_ = self.fields("ii" if version >= 9 else "i")
            offset, *_ = self.fields("qq" if version >= 5 else "q")
            return number, self.cluster.fetched(topic, number), offset, self.number("i")

        _, wait_ms, _, room, _ = self.fields("iiiib")
        if version >= 7:
            self.fields("ii")
        topics = self.topics(row)
        self.cluster.wait([(partition, offset) for _, rows in topics for _, partition, offset, _ in rows], wait_ms / 1000)
        body, empty = [struct.pack(">ihii", 0, 0, 0, len(topics)) if version >= 7 else struct.pack(">ii", 0, len(topics))], True
        for topic, rows in topics:
            body.append(string(topic) + struct.pack(">i", len(rows)))
            for number, partition, offset, room_here in rows:
                end = partition.end
                buffers, size = partition.batches(offset, min(room, room_here), empty)
                room, empty = max(0, room - size), empty and size == 0
                error = 0 if 0 <= offset <= end else OFFSET_OUT_OF_RANGE
                # The log's start; no aborted transactions; no replica to prefer.
                body.append(struct.pack(">ihqq", number, error, end, end) + (struct.pack(">q", 0) if version >= 5 else b"")
                            + struct.pack(">i", 0) + (struct.pack(">i", -1) if version >= 11 else b"") + struct.pack(">i", size))
                body += buffers
        return body


class NullBrokers:
    """The brokers and their partitions; their addresses are bound at once. Each connection has a thread."""

    def __init__(self, brokers, partitions):
        self.partitions = partitions
        self.listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(brokers)]
        self.addresses = [listener.getsockname() for listener in self.listeners]
        self.logs = {}
        self.appended = threading.Condition()

    def partition(self, topic, number):
        return self.logs.setdefault((topic, number), Partition())

    def fetched(self, topic, number):
        """Returns the partition, whose batch is no longer replaced."""
        partition = self.partition(topic, number)
        with self.appended:
            partition.fetched = True
        return partition

    def append(self, partition, records, batch):
        """Counts the records of a batch, and keeps `batch`, its bytes after the base offset, if it is there and still wanted."""
        with self.appended:
            if batch and partition.wants(records):
                partition.kept, partition.records = batch, records
            partition.produced += records
            self.appended.notify_all()

    def wait(self, positions, timeout_s):
        """Waits until one of the partitions has something at its offset, which may be that it is out of range."""
        with self.appended:
            self.appended.wait_for(lambda: any(offset != partition.end for partition, offset in positions), timeout_s)

    def delete(self, topics):
        with self.appended:
            self.logs = {key: partition for key, partition in self.logs.items() if key[0] not in topics}

    def accept(self, listener):
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=Connection(sock, self).serve, daemon=True).start()

    def serve(self):
        """Serves until the input ends."""
        for listener in self.listeners:
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()
        sys.stdin.read()


class Cluster:
    """These brokers in a process of their own, with those parts of kafka.Cluster's interface that benchmarks use."""

    def __init__(self, brokers, partitions):
        command = [sys.executable, __file__, "--brokers", str(brokers), "--partitions", str(partitions)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes = {1: process}
        self.bootstrap = process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def create_topic(self, *_, **__):
        """Does nothing: any topic exists."""

    def delete_topic(self, name):
        host, port = self.bootstrap.split(",")[0].split(":")
        wire.delete_topic((host, int(port)), name)

    def stop(self):
        process = self.processes.pop(1)
        process.stdin.close()
        process.stdout.close()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description="Brokers that cost next to nothing")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=8, help="partitions of each topic")
    args = parser.parse_args()
    brokers = NullBrokers(args.brokers, args.partitions)
    print(",".join("{}:{}".format(*address) for address in brokers.addresses), flush=True)
    brokers.serve()


if __name__ == "__main__":
    main()
