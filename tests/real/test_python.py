"""Debian's python3-confluent-kafka, compiled for librdkafka, on this library."""

import json
import subprocess
import unittest

import debian_python
import support

ROUND_TRIP = """
import json, sys
import confluent_kafka as ck

bootstrap, topic, group = sys.argv[1:]
reports = []
producer = ck.Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
for n in range(1000):
    producer.produce(topic, value=f"value {n}", key=f"key {n}", headers=[("n", str(n)), ("n", "again")],
                     on_delivery=lambda error, m: reports.append((error and str(error), m.offset())))
    producer.poll(0)
left = producer.flush(30)

consumer = ck.Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                        "enable.auto.commit": False})
consumer.subscribe([topic])
read, empty = [], 0
while len(read) < 1000 and empty < 30:
    message = consumer.poll(1.0)
    if message is None:
        empty += 1
    elif message.error():
        raise SystemExit(str(message.error()))
    else:
        read.append((message.key().decode(), message.value().decode(), [(k, v.decode()) for k, v in message.headers()]))
committed = consumer.commit(asynchronous=False)
consumer.close()
print(json.dumps({"version": ck.libversion()[0], "left": left, "failed": [e for e, _ in reports if e],
                  "offsets": sorted(o for _, o in reports), "read": sorted(read),
                  "committed": [p.offset for p in committed]}))
"""

ERRORS = """
import sys
import confluent_kafka as ck

try:
    ck.Producer({"bootstrap.servers": sys.argv[1], "no.such.property": 1})
except ck.KafkaException as e:
    print("conf", e.args[0].name())
producer = ck.Producer({"bootstrap.servers": sys.argv[1], "message.max.bytes": 1000})
try:
    producer.produce(sys.argv[2], b"x" * 2000)
except ck.KafkaException as e:
    print("size", e.args[0].name())
reports = []
producer = ck.Producer({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 300, "log_level": 0})
producer.produce(sys.argv[2], b"x", on_delivery=lambda error, m: reports.append(error.name()))
producer.flush(10)
print("report", reports[0])
"""

# The results of the steps, one per line.
ADMIN = """
import sys
import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

bootstrap, topic = sys.argv[1:]
admin = AdminClient({"bootstrap.servers": bootstrap})


def outcome(futures, of=None):
    (future,) = futures.values() if of is None else [futures[of]]
    try:
        return future.result(30)
    except ck.KafkaException as e:
        return e.args[0].name()


def settings(**expected):
    # A broker gets changes a little later than the controller.
    while True:
        told = outcome(admin.describe_configs([ConfigResource("topic", topic)]))
        if not isinstance(told, str) and all(told[name.replace("_", ".")].value == v for name, v in expected.items()):
            return {name: (entry.value, entry.is_default) for name, entry in told.items()}


def partitions():
    return len(admin.list_topics(topic, timeout=30).topics[topic].partitions)


new = NewTopic(topic, num_partitions=2, replication_factor=2, config={"retention.ms": "600000"})
print("check", outcome(admin.create_topics([new], validate_only=True)))
print("create", outcome(admin.create_topics([new], operation_timeout=30, request_timeout=30)))
print("again", outcome(admin.create_topics([new])))
print("retention", *settings(retention_ms="600000")["retention.ms"])
resource = ConfigResource("topic", topic, set_config={"retention.ms": "700000", "max.message.bytes": "2000000"})
print("alter", outcome(admin.alter_configs([resource])))
altered = settings(retention_ms="700000")
print("altered", *altered["retention.ms"], *altered["max.message.bytes"])
print("wrong", outcome(admin.alter_configs([ConfigResource("topic", topic, set_config={"retention.ms": "x"})])))
print("grow", outcome(admin.create_partitions([NewPartitions(topic, 5)])))
print("fewer", outcome(admin.create_partitions([NewPartitions(topic, 1)])))
while partitions() != 5:
    pass
broker = ConfigResource("broker", str(next(iter(admin.list_topics(timeout=30).brokers))))
print("broker", outcome(admin.describe_configs([broker]))["broker.id"].value == broker.name)
print("delete", outcome(admin.delete_topics([topic], operation_timeout=30)))
print("gone", outcome(admin.delete_topics([topic])))
"""


class Python(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        try:
            cls.python = debian_python.interpreter()
            cls.env = debian_python.environment(support.LIB_DIR)
        except debian_python.Unavailable as e:
            raise unittest.SkipTest(str(e)) from None
        cls.kafka = support.cluster(2)

    def run_python(self, program, *args):
        done = subprocess.run([self.python, "-c", program, *args], env=self.env, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout

    def topic(self, what):
        name = support.topic_name(f"python-{what}")
        self.kafka.create_topic(name, partitions=1, replication=1)
        return name

    def test_produces_and_reads_back(self):
        topic = self.topic("trip")
        said = json.loads(self.run_python(ROUND_TRIP, self.kafka.bootstrap, topic, support.topic_name("group")))
        self.assertEqual((said["left"], said["failed"]), (0, []))
        self.assertEqual(said["offsets"], list(range(1000)))
        sent = [[f"key {n}", f"value {n}", [["n", str(n)], ["n", "again"]]] for n in range(1000)]
        self.assertEqual(said["read"], sorted(sent))
        self.assertEqual(said["committed"], [1000])

    def test_errors_have_the_names_that_programs_look_for(self):
        out = self.run_python(ERRORS, self.kafka.bootstrap, self.topic("errors"))
        self.assertEqual(out.splitlines(), ["conf _INVALID_ARG", "size MSG_SIZE_TOO_LARGE", "report _MSG_TIMED_OUT"])

    def test_administers_topics_and_settings(self):
        out = self.run_python(ADMIN, self.kafka.bootstrap, support.topic_name("python-admin"))
        self.assertEqual(out.splitlines(), [
            "check None",
            "create None",
            "again TOPIC_ALREADY_EXISTS",
            "retention 600000 False",
            "alter None",
            "altered 700000 False 2000000 False",
            "wrong INVALID_CONFIG",
            "grow None",
            "fewer INVALID_PARTITIONS",
            "broker True",
            "delete None",
            "gone UNKNOWN_TOPIC_OR_PART",
        ])


if __name__ == "__main__":
    unittest.main()
