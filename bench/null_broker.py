"""A broker that drops what is produced to it, for measurements in which the broker is not to be the limit.

    python3 bench/null_broker.py [--partitions 8]      prints its address and serves until its input ends

It knows one broker (itself), any topic, and the requests of a producer: ApiVersions, Metadata and Produce, in versions from
before the flexible ones. Record batches are discarded in the kernel (MSG_TRUNC), so that a message costs it next to nothing;
all of them are acknowledged. librdkafka and Ottla connect to it alike.
"""

import argparse
import selectors
import socket
import struct
import sys

PRODUCE, METADATA, API_VERSIONS = 0, 3, 18
# The versions that are served. ApiVersions is answered in version 0 whatever was asked, as KIP-511 has it.
VERSIONS = {PRODUCE: (3, 7), METADATA: (1, 4), API_VERSIONS: (0, 0)}
UNSUPPORTED_VERSION = 35
# A Produce request is read up to the first record batch of each partition, the batch is discarded.
DISCARD_MAX = 1 << 20


def string(text):
    return struct.pack(">h", len(text)) + text.encode()


class Connection:
    """A connection of a client, served request by request. Blocking: a client sends whole requests."""

    def __init__(self, sock, broker):
        self.sock, self.broker = sock, broker
        self.scrap = memoryview(bytearray(DISCARD_MAX))
        self.left = 0

    def read(self, size):
        data = self.sock.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionError("the client closed the connection")
        self.left -= size
        return data

    def number(self, kind):
        return struct.unpack(">" + kind, self.read(struct.calcsize(kind)))[0]

    def text(self):
        size = self.number("h")
        return self.read(size).decode() if size >= 0 else None

    def discard(self, size):
        self.left -= size
        while size > 0:
            dropped = self.sock.recv_into(self.scrap, min(size, DISCARD_MAX), socket.MSG_TRUNC)
            if dropped == 0:
                raise ConnectionError("the client closed the connection")
            size -= dropped

    def serve(self):
        """Answers one request."""
        self.left = 4
        self.left = self.number("i")
        api, version, correlation = self.number("h"), self.number("h"), self.number("i")
        self.text()
        body = {PRODUCE: self.produce, METADATA: self.metadata, API_VERSIONS: self.api_versions}[api](version)
        self.discard(self.left)
        if body is not None:
            self.sock.sendall(struct.pack(">ii", 4 + len(body), correlation) + body)

    def api_versions(self, version):
        rows = b"".join(struct.pack(">hhh", api, *versions) for api, versions in VERSIONS.items())
        return struct.pack(">hi", UNSUPPORTED_VERSION if version > 0 else 0, len(VERSIONS)) + rows

    def metadata(self, version):
        topics = [self.text() for _ in range(max(0, self.number("i")))]
        host, port = self.broker.address
        body = struct.pack(">i", 0) if version >= 3 else b""
        body += struct.pack(">ii", 1, 1) + string(host) + struct.pack(">ih", port, -1)
        body += (string("null") if version >= 2 else b"") + struct.pack(">ii", 1, len(topics))
        for topic in topics:
            body += struct.pack(">h", 0) + string(topic) + struct.pack(">bi", 0, self.broker.partitions)
            for partition in range(self.broker.partitions):
                body += struct.pack(">hiiiiii", 0, partition, 1, 1, 1, 1, 1)
        return body

    def produce(self, version):
        self.text()
        acks, _ = self.number("h"), self.number("i")
        count = self.number("i")
        body = struct.pack(">i", count)
        for _ in range(count):
            topic, partitions = self.text(), self.number("i")
            body += string(topic) + struct.pack(">i", partitions)
            for _ in range(partitions):
                partition = self.number("i")
                self.discard(self.number("i"))
                body += struct.pack(">ihqq", partition, 0, 0, -1) + (struct.pack(">q", 0) if version >= 5 else b"")
        return body + struct.pack(">i", 0) if acks else None


class NullBroker:
    """The broker; its address is bound at once."""

    def __init__(self, partitions):
        self.partitions = partitions
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()

    def serve(self):
        """Serves until the input ends."""
        ready = selectors.DefaultSelector()
        ready.register(sys.stdin, selectors.EVENT_READ)
        ready.register(self.listener, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is sys.stdin:
                    return
                if key.fileobj is self.listener:
                    sock, _ = self.listener.accept()
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    ready.register(sock, selectors.EVENT_READ, Connection(sock, self))
                    continue
                try:
                    key.data.serve()
                except (ConnectionError, struct.error):
                    ready.unregister(key.fileobj)
                    key.fileobj.close()


def main():
    parser = argparse.ArgumentParser(description="A broker that drops what is produced to it")
    parser.add_argument("--partitions", type=int, default=8)
    broker = NullBroker(parser.parse_args().partitions)
    print("{}:{}".format(*broker.address), flush=True)
    broker.serve()


if __name__ == "__main__":
    main()
