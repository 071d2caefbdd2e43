"""The Python package of the wheel confluent-kafka, compiled for librdkafka 2.16, with this library in place of its own."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import kafka
import reference
import support
import wire
from test_python import ROUND_TRIP

RECORDS = 1_000

SHARE = """
import json, sys, time
import confluent_kafka as ck

bootstrap, topic, group = sys.argv[1:]
COUNT = 1000
producer = ck.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
for n in range(COUNT):
    producer.produce(topic, value=f"value {n}", key=f"key {n}", headers=[("n", str(n))])
left = producer.flush(30)

results = []
consumer = ck.ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group, "share.acknowledgement.mode": "explicit",
                             "log_level": 3})
consumer.set_acknowledgement_commit_callback(lambda *result: results.append(result))
errors = {}
try:
    consumer.poll(0)
except Exception as e:
    errors["not subscribed"] = f"{type(e).__name__}: {e}"
consumer.subscribe([topic])
read, released, end = [], set(), time.monotonic() + 60
while len(read) < COUNT and time.monotonic() < end:
    for message in consumer.poll(1.0):
        if message.error():
            raise SystemExit(str(message.error()))
        # Every tenth record is released at its first delivery.
        again = message.offset() in released
        if message.offset() % 10 or again:
            consumer.acknowledge(message)
            read.append([message.key().decode(), message.value().decode(), message.delivery_count() if
                         hasattr(message, "delivery_count") else 1 + again])
        else:
            released.add(message.offset())
            consumer.acknowledge(message, ck.AcknowledgeType.RELEASE)
committed = consumer.commit_sync(10)
subscription = consumer.subscription()
consumer.close()
try:
    consumer.poll(0)
except Exception as e:
    errors["closed"] = type(e).__name__
print(json.dumps({"left": left, "read": sorted(read), "released": len(released), "errors": errors,
                  "subscription": subscription, "committed": [str(e) for e in committed.values()],
                  "results": len(results)}))
"""

LIBRARY = """
import confluent_kafka as ck

# The library in use is the one that is named in the process's mappings.
with open("/proc/self/maps") as maps:
    print(ck.libversion()[0], sorted({line.split()[-1] for line in maps if "librdkafka" in line}))
"""


def package_with(folder, library):
    """Copies the wheel's package to `folder`, with a library in place of librdkafka."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(reference.package(), folder)
    libs = folder / "confluent_kafka.libs"
    own = libs / reference.bundled(libs)
    own.unlink()
    own.symlink_to(library)
    return folder


class PythonWheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        library = (support.LIB_DIR / "librdkafka.so.1").resolve()
        try:
            cls.package = package_with(kafka.WORK / f"wheel-{os.getpid()}", library)
        except reference.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None
        cls.addClassCleanup(shutil.rmtree, cls.package, ignore_errors=True)
        cls.library = library
        cls.kafka = support.cluster(2)

    def run_python(self, program, *args):
        env = {**os.environ, "PYTHONPATH": str(self.package), "PYTHONNOUSERSITE": "1", "LC_ALL": "C"}
        env.pop("LD_LIBRARY_PATH", None)
        done = subprocess.run([sys.executable, "-c", program, *args], env=env, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout

    def topic(self, what):
        name = support.topic_name(f"wheel-{what}")
        self.kafka.create_topic(name, partitions=1, replication=1)
        return name

    def test_package_loads_the_library(self):
        version, _, path = self.run_python(LIBRARY).strip().partition(" ")
        self.assertEqual((version, path), ("2.16.0", str([str(self.library)])))

    def test_produces_and_reads_back(self):
        topic = self.topic("trip")
        found = json.loads(self.run_python(ROUND_TRIP, self.kafka.bootstrap, topic, support.topic_name("group")))
        self.assertEqual((found["left"], found["failed"]), (0, []))
        self.assertEqual(found["offsets"], list(range(RECORDS)))
        sent = [[f"key {n}", f"value {n}", [["n", str(n)], ["n", "again"]]] for n in range(RECORDS)]
        self.assertEqual(found["read"], sorted(sent))
        self.assertEqual(found["committed"], [RECORDS])

    def test_share_consumer(self):
        topic, group = self.topic("share"), support.topic_name("share-group")
        wire.set_group_config(self.kafka.address(), group, {"share.auto.offset.reset": "earliest"})
        found = json.loads(self.run_python(SHARE, self.kafka.bootstrap, topic, group))
        self.assertEqual(found["left"], 0)
        expected = [[f"key {n}", f"value {n}", 1 if n % 10 else 2] for n in range(RECORDS)]
        self.assertEqual(found["read"], sorted(expected))
        self.assertEqual(found["released"], RECORDS // 10)
        self.assertEqual(found["errors"], {
            "not subscribed": "IllegalStateException: Consumer is not subscribed to any topics", "closed": "IllegalStateException"})
        self.assertEqual(found["subscription"], [topic])
        self.assertEqual(set(found["committed"]), {"None"})
        self.assertGreater(found["results"], 0)


if __name__ == "__main__":
    unittest.main()
