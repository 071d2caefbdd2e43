"""The loop that people write first: produce one message, flush, repeat.

    sync_producer.py BOOTSTRAP TOPIC [PROPERTY=VALUE]...

Runs on Debian's Python and its confluent_kafka. Prints the library's version, then for each line of
standard input, a number of messages, one JSON object: each round trip in microseconds, messages a
second, CPU time and context switches a message.
"""

import json
import resource
import sys
import time

import confluent_kafka


class Loop:
    def __init__(self, bootstrap, topic, properties):
        config = {"bootstrap.servers": bootstrap, "acks": "all", **dict(p.split("=", 1) for p in properties)}
        self.producer = confluent_kafka.Producer(config)
        self.topic = topic
        self.number = 0

    def on_delivery(self, error, _message):
        if error is not None:
            raise SystemExit(f"not delivered: {error}")

    def send(self):
        self.number += 1
        self.producer.produce(self.topic, b"%d %s" % (self.number, b"x" * 90), on_delivery=self.on_delivery)
        self.producer.flush()

    def run(self, count):
        times_us = []
        before = resource.getrusage(resource.RUSAGE_SELF)
        begin = time.perf_counter()
        for _ in range(count):
            start = time.perf_counter_ns()
            self.send()
            times_us.append((time.perf_counter_ns() - start) / 1000)
        wall_s = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"times_us": times_us, "per_s": count / wall_s, "cpu_us": cpu_s * 1e6 / count,
                "switches": (after.ru_nvcsw - before.ru_nvcsw) / count}


def main():
    loop = Loop(sys.argv[1], sys.argv[2], sys.argv[3:])
    print(confluent_kafka.libversion()[0], flush=True)
    for line in sys.stdin:
        print(json.dumps(loop.run(int(line))), flush=True)


if __name__ == "__main__":
    main()
