"""Admin calls while brokers are killed and restarted: each ends within its deadline, and Java sees done what ended well."""

import sys
import threading
import time
import unittest

import admin_calls
import support
import test_admin
from test_admin import ALLOW, ANY, LITERAL, READ, SHA_256, TOPIC

DEADLINE_MS = 20_000
# Of a machine that is busy.
LATE_MS = 5_000
# A broker that starts takes longer than the rest of its session: the others elect leaders in any case.
DOWN_S = 3
# Calls, of all that were made, which may fail: of a broker that is away, or after a request that is not repeated.
FAILED_AT_MOST = 0.05
# Of partitions whose preferred leader is away.
EXPECTED = {("ElectLeaders", test_admin.NO_PREFERRED_LEADER)}


class Worker(threading.Thread):
    """Makes calls in a loop, and notes what they have done. `known`: {name: what Java must see}, without what is uncertain."""

    def __init__(self, cluster, prefix):
        super().__init__(daemon=True)
        self.prefix = prefix
        self.ours = admin_calls.Ours(cluster.bootstrap)
        self.steps = 0
        self.stopped = False
        self.known = {}
        self.calls = 0
        self.failed = []
        self.late = []
        self.broken = None

    def run(self):
        try:
            while not self.stopped:
                self.step(f"{self.prefix}-{self.steps}", self.steps)
                self.steps += 1
        except AssertionError as e:
            self.broken = e

    def does(self, operation, *arguments, **options):
        """Returns the rows of a call without errors; None when it failed."""
        result = self.ours.call(operation, *arguments, timeout=DEADLINE_MS, **options)
        self.calls += 1
        if result["ms"] > DEADLINE_MS + LATE_MS:
            self.late.append(result)
        errors = [result] if result["code"] else [row for row in result["rows"] if row.get("code")]
        errors += [p for row in result.get("rows", ()) for p in row.get("partitions", ()) if p.get("code")]
        errors = [error for error in errors if (operation, error["code"]) not in EXPECTED]
        if errors:
            self.failed.append((operation, errors[0]["code"], errors[0]["text"], round(result["ms"])))
            return None
        return result["rows"]

    def note(self, name, value, rows):
        """Notes what a change of `name` has done; what a failed call has done is uncertain."""
        if rows is None:
            self.known.pop(name, None)
        else:
            self.known[name] = value
        return rows is not None


class Topics(Worker):
    """Values: the number of partitions and retention.ms; None for a topic that was deleted."""

    def step(self, name, number):
        retention = 1_000_000 + number
        if not self.note(name, (2, None), self.does("CreateTopics", f"{name}|2|2")):
            return
        if self.note(name, (2, retention), self.does("IncrementalAlterConfigs", f"topic|{name}|=retention.ms={retention}")):
            self.note(name, (3, retention), self.does("CreatePartitions", f"{name}|3"))
        self.does("ListOffsets", f"{name}|0-1|-1")
        self.does("DeleteRecords", f"{name}|0|0")
        self.does("DescribeTopics", name)
        self.does("DescribeConfigs", f"topic|{name}|retention.ms")
        if number % 3 == 0:
            self.note(name, None, self.does("DeleteTopics", name))

    def seen(self, java, names):
        topics = admin_calls.rows_by("topic", java.call("DescribeTopics", *names))
        alive = [name for name in names if topics[name]["code"] == 0]
        settings = admin_calls.rows_by("name", java.call("DescribeConfigs", *(f"topic|{name}|retention.ms" for name in alive)))
        found = {}
        for name in names:
            if name in alive:
                entry = settings[name]["entries"]["retention.ms"]
                found[name] = (len(topics[name]["partitions"]), int(entry["value"]) if entry["source"] == 1 else None)
            else:
                found[name] = None if topics[name]["code"] == test_admin.UNKNOWN_TOPIC else topics[name]
        return found


class Groups(Worker):
    """Values: the committed offset of partition 0; None for a group that was deleted or cleared."""

    topic = None

    def step(self, name, number):
        if not self.note(name, number, self.does("AlterConsumerGroupOffsets", f"{name}|{self.topic}:0:{number}")):
            return
        rows = self.does("ListConsumerGroupOffsets", name)
        if rows is not None and [p["offset"] for p in rows[0]["partitions"]] != [number]:
            raise AssertionError(f"{name}: committed {number}, read {rows}")
        self.does("DescribeConsumerGroups", name)
        self.does("ListConsumerGroups")
        if number % 3 == 0:
            self.note(name, None, self.does("DeleteConsumerGroupOffsets", f"{name}|{self.topic}:0"))
        elif number % 3 == 1:
            self.note(name, None, self.does("DeleteGroups", name))

    def seen(self, java, names):
        groups = admin_calls.rows_by("group", java.call("ListConsumerGroupOffsets", *names))
        return {name: next((p["offset"] for p in groups[name]["partitions"]), None) for name in names}


class Security(Worker):
    """Values: whether an entry for the topic exists; of names with a point, the iterations of a user's password."""

    def step(self, name, number):
        exists = self.note(name, True, self.does("CreateAcls", f"{TOPIC}|{name}|{LITERAL}|User:one|*|{READ}|{ALLOW}"))
        self.does("DescribeAcls", f"{TOPIC}|{name}|{LITERAL}|||{ANY}|{ANY}")
        user = f"{name}.user"
        self.note(user, 4096 + number, self.does("AlterUserScramCredentials", f"{user}|{SHA_256}|{4096 + number}|secret"))
        self.does("DescribeUserScramCredentials")
        self.does("DescribeCluster")
        self.does("ElectLeaders", "preferred")
        if exists and number % 3 == 0:
            self.note(name, False, self.does("DeleteAcls", f"{TOPIC}|{name}|{LITERAL}|||{ANY}|{ANY}"))
        self.does("AlterConfigs", f"topic|{Groups.topic}|retention.ms={1_000_000 + number}")

    def seen(self, java, names):
        acls = {row["name"] for row in java.call("DescribeAcls", f"{TOPIC}||{LITERAL}|||{ANY}|{ANY}")["rows"]}
        users = admin_calls.rows_by("user", java.call("DescribeUserScramCredentials"))
        return {name: users[name]["credentials"][0][1] if name in users else name in acls for name in names}


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("javac")
        cls.kafka = test_admin.cluster()

    def tearDown(self):
        for node in self.kafka.nodes():
            if node not in self.kafka.processes:
                self.kafka.start_node(node)

    def wait_in_sync(self, client, timeout_s=60):
        end = time.monotonic() + timeout_s
        while True:
            result = client.call("DescribeTopics", "__consumer_offsets", Groups.topic)
            if all(len(p["isr"]) == 3 for row in result.get("rows", ()) for p in row.get("partitions", ())):
                return
            self.assertLess(time.monotonic(), end, f"not in sync after {timeout_s} s: {result}")
            time.sleep(0.5)

    def test_every_broker_is_killed_and_restarted(self):
        Groups.topic = support.topic_name("admin-faults")
        self.kafka.create_topic(Groups.topic, 1)
        watcher = admin_calls.Ours(self.kafka.bootstrap)
        workers = [kind(self.kafka, support.topic_name("admin-faults")) for kind in (Topics, Groups, Security)]
        for worker in workers:
            worker.start()
        self.wait_for_steps(workers)
        for node in self.kafka.nodes():
            self.kafka.kill(node)
            time.sleep(DOWN_S)
            self.kafka.start_node(node)
            self.wait_for_steps(workers)
            self.wait_in_sync(watcher)
        self.wait_for_steps_without_failure(workers)
        for worker in workers:
            worker.stopped = True
        for worker in workers:
            worker.join(2 * admin_calls.RESULT_S)
        self.assertEqual([worker.broken for worker in workers], [None] * 3)
        self.check(workers)
        self.assertEqual([client.close() for client in (watcher, *(worker.ours for worker in workers))], [0] * 4)

    def wait_for_steps_without_failure(self, workers, timeout_s=60):
        """Waits until every worker has gone through all its calls and none failed: brokers that have just started may refuse some."""
        end = time.monotonic() + timeout_s
        while True:
            failed = [len(worker.failed) for worker in workers]
            self.wait_for_steps(workers)
            later = [worker.failed[before:] for worker, before in zip(workers, failed)]
            if not any(later):
                return
            print("calls failed while all brokers ran:", later, file=sys.stderr)
            self.assertLess(time.monotonic(), end, f"calls still fail while all brokers run: {later}")

    def wait_for_steps(self, workers, timeout_s=60):
        """Waits until every worker has gone through all its calls."""
        end = time.monotonic() + timeout_s
        goals = {worker: worker.steps + 2 for worker in workers}
        while any(worker.steps < goal for worker, goal in goals.items()):
            self.assertEqual([str(worker.broken) for worker in workers if worker.broken], [])
            self.assertLess(time.monotonic(), end, [(worker.steps, worker.failed[-3:]) for worker in workers])
            time.sleep(0.05)

    def settled(self, worker, java, timeout_s=20):
        """What Java sees, once all brokers know of the last changes."""
        end = time.monotonic() + timeout_s
        while True:
            try:
                seen = worker.seen(java, list(worker.known))
            except KeyError as missing:
                seen = missing
            if seen == worker.known or time.monotonic() > end:
                return seen
            time.sleep(0.2)

    def check(self, workers):
        java = admin_calls.java(self.kafka)
        for worker in workers:
            self.assertEqual(worker.late, [])
            self.assertEqual(self.settled(worker, java), worker.known)
            self.assertLess(len(worker.failed), FAILED_AT_MOST * worker.calls, worker.failed)
            # Fewer where brokers start faster, since the test ends earlier.
            self.assertGreater(len(worker.known), 5)


if __name__ == "__main__":
    unittest.main()
