"""The base of the tests of the manual."""

import time
import unittest

import librdkafka
from broker import Cluster
from differences import DIFFERENCES


class ManualTest(unittest.TestCase):
    """One statement of the manual for each test. Clients and clusters made here are closed with it."""

    longMessage = True

    def cluster(self, brokers=1, **configuration):
        cluster = Cluster(brokers, **configuration)
        self.addCleanup(cluster.close)
        return cluster

    def listener(self, kind):
        listener = kind()
        self.addCleanup(listener.close)
        return listener

    def producer(self, cluster, settings=None):
        """A producer that sends at once. `cluster` may be a list of addresses as well."""
        return self._client(librdkafka.Producer, cluster, {"linger.ms": 0, **(settings or {})})

    def consumer(self, cluster, settings=None, legacy=False):
        base = {"group.id": "group", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 50}
        if legacy:
            del base["auto.offset.reset"]
        return self._client(lambda s: librdkafka.Consumer(s, legacy), cluster, {**base, **(settings or {})})

    def _client(self, kind, cluster, settings):
        servers = cluster if isinstance(cluster, str) else cluster.bootstrap
        client = kind({"bootstrap.servers": servers, **settings})
        self.addCleanup(client.close)
        return client

    def fill(self, cluster, topic, *values, partition=0):
        """Writes messages with a separate producer, one request each."""
        producer = librdkafka.Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0,
                                        "batch.num.messages": 1, "client.id": "filler"})
        producer.must_produce(topic, *values, partition=partition)
        self.assertEqual(producer.flush(10), "NO_ERROR")
        producer.close()

    def differs(self, here, librdkafka_does):
        """The outcome that the library under test must have, where the two differ on purpose."""
        name = self._testMethodName
        self.assertIn(name, DIFFERENCES, "a difference that is not in the table")
        return librdkafka_does if librdkafka.REFERENCE else here

    def assert_delivered(self, reports, count):
        self.assertEqual([r.err for r in reports], ["NO_ERROR"] * count)

    def assert_took(self, seconds, least, most):
        self.assertGreaterEqual(seconds, least, "too early")
        self.assertLessEqual(seconds, most, "too late")


def now():
    return time.monotonic()
