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


if __name__ == "__main__":
    unittest.main()
