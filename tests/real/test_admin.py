"""The admin API on real brokers, beside Kafka's own admin client: what one does the other sees, and errors are the same."""

import contextlib
import subprocess
import time
import unittest

import admin_calls
import groups
import kafka
import sasl
import support

# Kafka's numbers.
TOPIC, GROUP, CLUSTER = 2, 3, 4
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
ALL, READ, WRITE, DESCRIBE = 2, 3, 4, 8
DENY, ALLOW = 2, 3
SHA_256, SHA_512 = 1, 2

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC, INVALID_TOPIC, UNKNOWN_MEMBER, GROUP_DENIED, CLUSTER_DENIED = 1, 3, 17, 25, 30, 31
TOPIC_DENIED, TOPIC_EXISTS, INVALID_PARTITIONS, INVALID_REPLICATION, INVALID_CONFIG = 29, 36, 37, 38, 40
NON_EMPTY_GROUP, GROUP_NOT_FOUND, NO_PREFERRED_LEADER, ELECTION_NOT_NEEDED = 68, 69, 80, 84
SUBSCRIBED, NO_SUCH_USER = 86, 91
TIMED_OUT, UNKNOWN_PARTITION = -185, -190

# Brokers are fenced soon, so that leaders change within seconds. Members of groups send heartbeats often: they get their
# partitions with the second or third one.
CONFIG = {"broker.session.timeout.ms": 5000, "broker.heartbeat.interval.ms": 1000, "replica.lag.time.max.ms": 5000,
          "group.share.heartbeat.interval.ms": 500, "group.share.min.heartbeat.interval.ms": 500,
          "group.consumer.heartbeat.interval.ms": 500, "group.consumer.min.heartbeat.interval.ms": 500,
          "delegation.token.secret.key": "secret of the brokers"}


def listeners(_):
    """A listener with SCRAM beside the open one, on which every client is the super user."""
    module = f"{sasl.MODULES}.scram.ScramLoginModule required;"
    return [kafka.Listener("SASL", "SASL_PLAINTEXT", {
        "sasl.enabled.mechanisms": ",".join(sasl.SCRAM),
        **{f"{mechanism.lower()}.sasl.jaas.config": module for mechanism in sasl.SCRAM}})]


def cluster():
    """Returns the brokers of all tests of the admin API."""
    return support.cluster(3, listeners=listeners, config=CONFIG, log_dirs=2)


class OnKafka(unittest.TestCase):
    """Three brokers, and both clients on them."""

    @classmethod
    def setUpClass(cls):
        support.need_library()
        support.need_program("kcat")
        support.need_program("javac")
        cls.kafka = cluster()
        cls.ours, cls.java = admin_calls.Ours(cls.kafka.bootstrap), admin_calls.java(cls.kafka)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        status = cls.ours.close()
        if status != 0:
            raise AssertionError(f"exit status {status}")

    def same(self, operation, *arguments, **options):
        """Makes a call with both clients, whose results must be the same; returns ours."""
        ours, java = self.ours.call(operation, *arguments, **options), self.java.call(operation, *arguments, **options)
        both = [admin_calls.comparable(result) for result in (ours, java)]
        self.assertEqual(*both, f"{operation} {arguments}:\n{ours}\n{java}")
        return ours

    def same_once(self, condition, operation, *arguments, **options):
        """Repeats a call of both clients until their results are the same and a condition of the rows holds; returns ours.

        Brokers learn of a change at different times, and each client asks its own.
        """
        end = time.monotonic() + 30
        while True:
            try:
                result = self.same(operation, *arguments, **options)
                if result["code"] == 0 and condition(result["rows"]):
                    return result
                problem = f"not within 30 s: {result}"
            except AssertionError as e:
                problem = str(e)
            if time.monotonic() > end:
                self.fail(problem)
            time.sleep(0.1)

    def does(self, operation, *arguments, client=None, **options):
        """Makes a call, ours unless a client is given, whose rows have no error; returns the rows."""
        result = (client or self.ours).call(operation, *arguments, **options)
        self.assertEqual(result["code"], 0, result)
        self.assertEqual([row for row in result["rows"] if row.get("code")], [], result)
        return result["rows"]

    def eventually(self, condition, text, timeout_s=30):
        end = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > end:
                self.fail(f"not within {timeout_s} s: {text}")
            time.sleep(0.2)

    def topic(self, what, partitions=2, replication="3", *settings):
        """Creates a topic with the library, and waits until every broker has it; returns its name."""
        name = support.topic_name(f"admin-{what}")
        self.does("CreateTopics", "|".join([name, str(partitions), replication, *settings]))
        self.kafka.create_topic(name, partitions)
        return name

    def wait_for_changes(self):
        """Waits until every broker has applied all changes that were made up to now.

        Brokers apply changes in order, and topics first of those that arrive together: the second topic is later than those.
        """
        for _ in range(2):
            self.kafka.create_topic(support.topic_name("admin-later"), 1, replication=1)

    def fill(self, topic, count, partition=0):
        support.run("kcat", "-b", self.kafka.bootstrap, "-P", "-t", topic, "-p", partition, stdin=support.lines(count))

    def tool(self, main_class, *arguments):
        """Returns the output of one of Kafka's tools."""
        return self.java.tool(main_class, "--bootstrap-server", self.kafka.bootstrap, *arguments)


class Topics(OnKafka):
    def test_topics_are_created_described_and_deleted(self):
        one, two, three = (support.topic_name("admin-topic") for _ in range(3))
        made = [f"{one}|4|3", f"{two}|2|a1.2/2.3|retention.ms=5000|cleanup.policy=compact,delete"]
        result = self.ours.call("CreateTopics", *made, f"{three}|1|9", "bad topic|1|1", f"{three}x|1|1|x=1")
        self.assertEqual(admin_calls.codes(result), [0, 0, INVALID_REPLICATION, INVALID_TOPIC, INVALID_CONFIG])
        for topic, count in ((one, 4), (two, 2)):
            self.kafka.create_topic(topic, count)
        found = admin_calls.rows_by("topic", self.same("DescribeTopics", one, two, three, authorized=1))
        self.assertEqual([p["replicas"] for p in found[two]["partitions"]], [[1, 2], [2, 3]])
        self.assertEqual((len(found[one]["partitions"]), found[three]["code"]), (4, UNKNOWN_TOPIC))
        self.same("DescribeConfigs", f"topic|{two}")
        text = self.tool("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", f"{one}|{two}")
        self.assertIn(f"Topic: {one}", text)
        self.assertRegex(text, rf"{two}\s.*PartitionCount: 2\s.*cleanup.policy=compact,delete,retention.ms=5000|"
                               rf"{two}\s.*retention.ms=5000,cleanup.policy=compact,delete")
        again = self.same("CreateTopics", f"{one}|1|1", "bad topic|1|1")
        self.assertEqual(admin_calls.codes(again), [TOPIC_EXISTS, INVALID_TOPIC])
        self.assertEqual(admin_calls.codes(self.ours.call("DeleteTopics", one, three, two)), [0, UNKNOWN_TOPIC, 0])
        self.eventually(lambda: admin_calls.codes(self.java.call("DescribeTopics", one, two)) == 2 * [UNKNOWN_TOPIC], "deleted")

    def test_topics_of_java_are_seen(self):
        name = support.topic_name("admin-java")
        self.does("CreateTopics", f"{name}|3|2|segment.bytes=1048576", client=self.java)
        self.kafka.create_topic(name, 3)
        self.same("DescribeTopics", name)
        self.does("DeleteTopics", name, client=self.java)
        self.eventually(lambda: admin_calls.codes(self.ours.call("DescribeTopics", name)) == [UNKNOWN_TOPIC], "deleted")

    def test_validation_creates_nothing(self):
        name = support.topic_name("admin-not")
        self.assertEqual(admin_calls.codes(self.same("CreateTopics", f"{name}|3|2", f"{name}y|1|9", validate=1)),
                         [0, INVALID_REPLICATION])
        self.assertEqual(admin_calls.codes(self.same("DescribeTopics", name)), [UNKNOWN_TOPIC])

    def test_partitions_are_added(self):
        one, two = self.topic("more"), self.topic("fewer", 4)
        self.assertEqual(admin_calls.codes(self.ours.call("CreatePartitions", f"{one}|5", f"{two}|3", "nope|2")),
                         [0, INVALID_PARTITIONS, UNKNOWN_TOPIC])
        self.kafka.create_topic(one, 5)
        found = admin_calls.rows_by("topic", self.same("DescribeTopics", one, two))
        self.assertEqual([len(found[topic]["partitions"]) for topic in (one, two)], [5, 4])
        self.same("CreatePartitions", f"{two}|3", "nope|2")

    def test_cluster_is_described(self):
        (row, java) = (self.does("DescribeCluster", client=client, authorized=1)[0] for client in (self.ours, self.java))
        self.assertEqual([node["id"] for node in row["nodes"]], [1, 2, 3])
        # Brokers name any broker, which forwards to the controller.
        self.assertLessEqual({row.pop("controller"), java.pop("controller")}, {1, 2, 3})
        self.assertEqual(admin_calls.in_order(row), admin_calls.in_order(java))
        self.assertGreater(len(row["operations"]), 5)
        self.assertIsNone(self.does("DescribeCluster")[0]["operations"])

    def test_records_are_deleted(self):
        topic = self.topic("records", 3)
        for partition in (0, 1):
            self.fill(topic, 20, partition)
        rows = self.ours.call("DeleteRecords", f"{topic}|0|5", f"{topic}|1|-1", f"{topic}|2|7", "nope|0|1")["rows"]
        self.assertEqual([(row["code"], row["low"]) for row in rows[:2]], [(0, 5), (0, 20)])
        self.assertEqual([row["code"] for row in rows[2:]], [OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC])
        self.assertEqual(self.earliest(topic), [5, 20, 0])
        self.does("DeleteRecords", f"{topic}|0|8", client=self.java)
        self.assertEqual(self.earliest(topic), [8, 20, 0])

    def earliest(self, topic):
        rows = self.same("ListOffsets", *(f"{topic}|{p}|-2" for p in range(3)))["rows"]
        return [row["offset"] for row in rows]

    def test_offsets_are_listed(self):
        topic = self.topic("offsets", 3)
        self.fill(topic, 30)
        time.sleep(0.05)
        between = int(time.time() * 1000)
        time.sleep(0.05)
        self.fill(topic, 10)
        for spec, offset in ((-1, 40), (-2, 0), (between, 30)):
            (row, empty) = self.same("ListOffsets", f"{topic}|0|{spec}", f"{topic}|1|{spec}")["rows"]
            self.assertEqual((row["offset"], empty["offset"]), (offset, -1 if spec > 0 else 0))
        (row, empty) = self.same("ListOffsets", f"{topic}|0|-3", f"{topic}|1|-3")["rows"]
        self.assertGreaterEqual(row["offset"], 30)
        self.assertGreaterEqual(row["timestamp"], between)
        self.assertEqual((empty["offset"], empty["timestamp"]), (-1, -1))
        # Java looks for such a partition until its deadline.
        self.assertEqual(admin_calls.codes(self.ours.call("ListOffsets", f"{topic}|0|-1", f"{topic}|7|-1", "nope|0|-1")),
                         [0, UNKNOWN_PARTITION, UNKNOWN_TOPIC])
        text = self.tool("org.apache.kafka.tools.GetOffsetShell", "--topic", topic)
        ours = [f"{topic}:{row['partition']}:{row['offset']}" for row in self.does("ListOffsets", f"{topic}|0-2|-1")]
        self.assertEqual(text.split(), ours)

    def test_offsets_before_an_open_transaction(self):
        topic = self.topic("transaction", 1)
        self.fill(topic, 5)
        producer = support.start(support.compiled("tests/real/transactional_producer.c"), self.kafka.bootstrap, topic,
                                 f"{topic}-id", 0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(producer.stdout.readline(), "begun\n")
        for isolation, offset in ((0, 6), (1, 5)):
            (row,) = self.same("ListOffsets", f"{topic}|0|-1", isolation=isolation)["rows"]
            self.assertEqual(row["offset"], offset)
        producer.communicate("go\n", timeout=60)
        self.eventually(lambda: self.same("ListOffsets", f"{topic}|0|-1", isolation=1)["rows"][0]["offset"] == 7, "committed")


class Settings(OnKafka):
    def check(self, resource, *changes):
        """Changes settings with the library, as validation first; both clients describe the same afterwards."""
        before = self.same("DescribeConfigs", resource)["rows"][0]["entries"]
        changed = "|".join([resource, *changes])
        self.does("IncrementalAlterConfigs", changed, validate=1)
        names = "|".join([resource, *(change[1:].partition("=")[0] for change in changes)])
        entries = self.does("DescribeConfigs", names)[0]["entries"]
        self.assertEqual({name: before[name]["value"] for name in entries}, {n: e["value"] for n, e in entries.items()})
        self.does("IncrementalAlterConfigs", changed)
        self.wait_for_changes()
        rows = self.same_once(lambda rows: True, "DescribeConfigs", names)["rows"]
        return {name: entry["value"] for name, entry in rows[0]["entries"].items()}

    def test_topic(self):
        topic = self.topic("settings", 1, "1", "cleanup.policy=compact", "retention.ms=77777")
        found = self.check(f"topic|{topic}", "+cleanup.policy=delete", "-retention.ms=", "=max.message.bytes=4321")
        self.assertEqual(found, {"cleanup.policy": "compact,delete", "retention.ms": "604800000", "max.message.bytes": "4321"})
        self.does("IncrementalAlterConfigs", f"topic|{topic}|~cleanup.policy=compact", client=self.java)
        self.eventually(lambda: self.does("DescribeConfigs", f"topic|{topic}|cleanup.policy")[0]["entries"]["cleanup.policy"]
                        ["value"] == "delete", "Java's change")
        # Replaces all settings.
        self.does("AlterConfigs", f"topic|{topic}|retention.ms=9999")
        self.same_once(lambda rows: {name for name, entry in rows[0]["entries"].items() if entry["source"] == 1}
                       == {"retention.ms"}, "DescribeConfigs", f"topic|{topic}")
        self.wait_for_changes()
        text = self.tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "topics", "--entity-name", topic)
        self.assertIn("retention.ms=9999", text)
        self.assertNotIn("max.message.bytes", text)

    def test_broker_and_group(self):
        group = support.topic_name("admin-group")
        found = self.check("broker|2", "=log.cleaner.threads=2")
        self.assertEqual(found, {"log.cleaner.threads": "2"})
        self.does("IncrementalAlterConfigs", "broker|2|-log.cleaner.threads=", client=self.java)
        found = self.check(f"group|{group}", "=consumer.session.timeout.ms=50000", "=share.record.lock.duration.ms=20000")
        self.assertEqual(found, {"consumer.session.timeout.ms": "50000", "share.record.lock.duration.ms": "20000"})

    def test_errors(self):
        topic = self.topic("bad", 1)
        self.same("IncrementalAlterConfigs", f"topic|{topic}|=retention.ms=x", f"topic|{topic}x|=retention.ms=1",
                  "broker|2|=broker.rack=a")
        for operation, change in (("DescribeConfigs", "broker|9"), ("IncrementalAlterConfigs", "broker|9|=num.io.threads=2")):
            result = self.ours.call(operation, change, timeout=2000)
            reason = "Failed while waiting for broker 9: Local: Timed out"
            self.assertEqual((result["code"], result["text"]), (TIMED_OUT, reason))
        self.same("DescribeConfigs", f"topic|{topic}x")
        self.assertEqual(admin_calls.codes(self.ours.call("AlterConfigs", f"topic|{topic}|x=1")), [INVALID_CONFIG])


class Groups(OnKafka):
    def offsets(self, *arguments):
        """Returns {group: {partition: offset}} of committed offsets, the same for both clients."""
        rows = self.same("ListConsumerGroupOffsets", *arguments)["rows"]
        return {row["group"]: {p["partition"]: p["offset"] for p in row["partitions"]} for row in rows}

    def test_committed_offsets(self):
        topic = self.topic("commits", 3)
        self.fill(topic, 50)
        one, two, none = (support.topic_name("admin-group") for _ in range(3))
        rows = self.does("AlterConsumerGroupOffsets", f"{one}|{topic}:0:10|{topic}:1:20:0", f"{two}|{topic}:2:7|{topic}:9:1")
        self.assertEqual([row["group"] for row in rows], [one, two])
        self.assertEqual([p["code"] for row in rows for p in row["partitions"]], [0, 0, 0, UNKNOWN_TOPIC])
        self.assertEqual(self.offsets(one, two, none), {one: {0: 10, 1: 20}, two: {2: 7}, none: {}})
        self.assertEqual(self.offsets(f"{one}|{topic}:1|{topic}:2"), {one: {1: 20, 2: -1001}})
        text = self.tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--describe", "--group", one)
        self.assertRegex(text, rf"{one}\s+{topic}\s+0\s+10\s+50\s+40")
        self.does("AlterConsumerGroupOffsets", f"{one}|{topic}:0:11", client=self.java)
        self.assertEqual(self.offsets(f"{one}|{topic}:0"), {one: {0: 11}})
        result = self.ours.call("DeleteConsumerGroupOffsets", f"{one}|{topic}:0|nope:0", f"{none}|{topic}:0")
        self.assertEqual([row["code"] for row in result["rows"]], [0, GROUP_NOT_FOUND])
        self.assertEqual([p["code"] for p in result["rows"][0]["partitions"]], [0, UNKNOWN_TOPIC])
        self.assertEqual(self.offsets(one), {one: {1: 20}})
        self.does("DeleteConsumerGroupOffsets", f"{one}|{topic}:1", client=self.java)
        self.eventually(lambda: self.offsets(one) == {one: {}}, "Java's deletion")
        self.assertEqual(admin_calls.codes(self.ours.call("DeleteGroups", two, none)), [0, GROUP_NOT_FOUND])
        self.assertEqual(admin_calls.codes(self.java.call("DescribeConsumerGroups", two)), [GROUP_NOT_FOUND])

    @contextlib.contextmanager
    def members(self, topic, *properties):
        """Runs two members of a group until all partitions of the topic are assigned; yields the group."""
        group = support.topic_name("admin-group")
        running = [groups.Member(n, self.kafka, group, topic, [*properties, f"client.id=member-{n}"]) for n in (0, 1)]
        try:
            self.eventually(lambda: sorted(p for member in running for p in member.held) == [0, 1, 2, 3]
                            and all(member.held for member in running), "assigned")
            yield group
        finally:
            for member in running:
                member.leave()
            for member in running:
                member.wait()

    def check_live_group(self, protocol, assignor):
        topic = self.topic("live", 4)
        self.fill(topic, 5)
        with self.members(topic, f"group.protocol={protocol}") as group:
            self.eventually(lambda: self.does("DescribeConsumerGroups", group)[0]["state"] == "Stable", "stable")
            (row,) = self.same("DescribeConsumerGroups", group, authorized=1)["rows"]
            self.assertEqual((row["type"].lower(), row["assignor"], len(row["members"])), (protocol, assignor, 2))
            self.assertEqual([member["client"] for member in sorted(row["members"], key=lambda m: m["client"])],
                             ["member-0", "member-1"])
            self.assertGreater(len(row["operations"]), 2)
            (row,) = self.listed(group)
            self.assertEqual((row["state"], row["type"].lower()), ("Stable", protocol))
            self.assertEqual(admin_calls.codes(self.same("DeleteGroups", group)), [NON_EMPTY_GROUP])
            for operation, code in (("AlterConsumerGroupOffsets", UNKNOWN_MEMBER), ("DeleteConsumerGroupOffsets", SUBSCRIBED)):
                for client in (self.ours, self.java):
                    (row,) = client.call(operation, f"{group}|{topic}:0:1")["rows"]
                    self.assertEqual([p["code"] for p in row["partitions"]], [code], row)
        self.eventually(lambda: self.does("DescribeConsumerGroups", group)[0]["state"] == "Empty", "empty")
        self.same("DescribeConsumerGroups", group)
        self.assertEqual(self.listed(group, states="Stable"), [])
        self.assertEqual(len(self.listed(group, states="Stable,Empty", types=protocol.capitalize())), 1)
        self.assertEqual(self.listed(group, types="Classic" if protocol == "consumer" else "Consumer"), [])
        self.assertEqual(admin_calls.codes(self.ours.call("DeleteGroups", group)), [0])
        self.assertEqual(self.listed(group), [])

    def listed(self, group, **options):
        """Returns the rows of a group in the list of groups, without options the same for both clients."""
        rows = (self.does if options else lambda name: self.same(name)["rows"])("ListConsumerGroups", **options)
        return [row for row in rows if row["group"] == group]

    def test_classic_protocol(self):
        self.check_live_group("classic", "range")

    def test_consumer_protocol(self):
        self.check_live_group("consumer", "uniform")

    def test_group_that_is_not_a_consumer_group(self):
        topic, group = self.topic("share", 1), support.topic_name("admin-share")
        self.does("JoinShareGroup", group, topic, client=self.java)
        self.assertEqual(self.listed(group), [])
        self.check_dead(group)

    def test_unknown_group_is_dead(self):
        self.check_dead(support.topic_name("admin-none"))

    def check_dead(self, group):
        """The group is dead as in librdkafka, and not found as in Java."""
        (row,) = self.does("DescribeConsumerGroups", group)
        self.assertEqual((row["state"], row["members"]), ("Dead", []))
        self.assertEqual(admin_calls.codes(self.java.call("DescribeConsumerGroups", group)), [GROUP_NOT_FOUND])


class Security(OnKafka):
    def check_acls(self, count, *parts):
        """The filter of these parts finds that many entries, soon the same for both clients."""
        self.same_once(lambda rows: len(rows) == count, "DescribeAcls", "|".join(map(str, parts)))

    def test_access_control_entries(self):
        name = support.topic_name("admin-acl")
        exact = f"{TOPIC}|{name}-x|{LITERAL}|User:one|*|{READ}|{ALLOW}"
        prefix = f"{TOPIC}|{name}|{PREFIXED}|User:two|10.0.0.1|{WRITE}|{DENY}"
        group = f"{GROUP}|{name}|{LITERAL}|User:one|*|{DESCRIBE}|{ALLOW}"
        self.does("CreateAcls", exact, prefix)
        self.does("CreateAcls", group, client=self.java)
        self.check_acls(2, TOPIC, f"{name}-x", MATCH, "", "", ANY, ANY)
        self.check_acls(1, TOPIC, f"{name}-x", LITERAL, "", "", ANY, ANY)
        self.check_acls(2, ANY, name, ANY, "", "", ANY, ANY)
        self.wait_for_changes()
        text = self.tool("org.apache.kafka.tools.AclCommand", "--list")
        self.assertRegex(text, rf"(?s)name={name}, patternType=PREFIXED\)`:\s+\(principal=User:two, host=10.0.0.1, "
                               "operation=WRITE, permissionType=DENY")
        rows = self.does("DeleteAcls", f"{ANY}|{name}|{ANY}|||{ANY}|{ANY}", f"{TOPIC}|nope|{LITERAL}|||{ANY}|{ANY}")
        self.assertEqual([len(row["acls"]) for row in rows], [2, 0])
        self.check_acls(0, ANY, name, ANY, "", "", ANY, ANY)
        (row,) = self.does("DeleteAcls", f"{TOPIC}|{name}-x|{LITERAL}|||{ANY}|{ANY}", client=self.java)
        self.assertEqual(len(row["acls"]), 1)
        self.check_acls(0, TOPIC, f"{name}-x", ANY, "", "", ANY, ANY)

    def login(self, mechanism, user, password, timeout_ms=30_000):
        """Returns the error code of a call by a user."""
        own = sasl.by_password(mechanism, user, password)
        session = admin_calls.Ours(self.kafka.bootstrap_of("SASL"), "security.protocol=sasl_plaintext", *own)
        try:
            return session.call("DescribeCluster", timeout=timeout_ms)["code"]
        finally:
            session.close()

    def test_users_log_in_with_the_credentials_that_were_set(self):
        user, other = support.topic_name("admin-user"), support.topic_name("admin-user")
        rows = self.ours.call("AlterUserScramCredentials", f"{user}|{SHA_256}|4096|first secret",
                              f"{other}|{SHA_512}|5000|a", f"{user}x|{SHA_256}", f"{user}y|{SHA_512}|10|b")["rows"]
        self.assertEqual({row["user"]: row["code"] for row in rows if not row["code"]}, {user: 0, other: 0})
        self.assertEqual({row["user"]: row["code"] for row in rows}[f"{user}x"], NO_SUCH_USER)
        self.does("AlterUserScramCredentials", f"{user}|{SHA_512}|8192|other secret", client=self.java)
        both = [[SHA_256, 4096], [SHA_512, 8192]]
        (_, second, unknown) = self.same_once(lambda rows: sorted(rows[0]["credentials"]) == both,
                                              "DescribeUserScramCredentials", user, other, f"{user}x")["rows"]
        self.assertEqual((second["credentials"], unknown["code"]), ([[SHA_512, 5000]], NO_SUCH_USER))
        self.assertIn(user, [row["user"] for row in self.same("DescribeUserScramCredentials")["rows"]])
        self.wait_for_changes()
        self.assertEqual(self.login("SCRAM-SHA-256", user, "first secret"), 0)
        self.assertEqual(self.login("SCRAM-SHA-512", user, "other secret"), 0)
        self.assertNotEqual(self.login("SCRAM-SHA-256", user, "other secret", timeout_ms=3000), 0)
        self.does("AlterUserScramCredentials", f"{user}|{SHA_256}")
        self.wait_for_changes()
        (row,) = self.same("DescribeUserScramCredentials", user)["rows"]
        self.assertEqual(row["credentials"], [[SHA_512, 8192]])
        self.assertNotEqual(self.login("SCRAM-SHA-256", user, "first secret", timeout_ms=3000), 0)

    def test_errors_of_a_user_without_rights(self):
        user, secret, topic, group = "limited", "secret", self.topic("denied"), support.topic_name("admin-denied")
        self.does("AlterConsumerGroupOffsets", f"{group}|{topic}:0:1")
        self.does("AlterUserScramCredentials", f"{user}|{SHA_256}|4096|{secret}")
        denied = [f"{kind}|{name}|{LITERAL}|User:{user}|*|{ALL}|{DENY}"
                  for kind, name in ((TOPIC, "*"), (GROUP, "*"), (CLUSTER, "kafka-cluster"))]
        self.does("CreateAcls", *denied)
        self.addCleanup(self.does, "DeleteAcls", f"{ANY}||{ANY}|User:{user}||{ANY}|{ANY}")
        self.wait_for_changes()
        address = self.kafka.bootstrap_of("SASL")
        ours = admin_calls.Ours(address, "security.protocol=sasl_plaintext", *sasl.by_password("SCRAM-SHA-256", user, secret))
        try:
            self.check_denied(ours, self.java.user(address, user, secret), topic, group)
        finally:
            ours.close()

    def check_denied(self, ours, java, topic, group):
        """Makes every call as a user without rights: the errors are those that Java gets."""
        calls = {
            ("CreateTopics", "denied|1|1"): TOPIC_DENIED,
            ("DeleteTopics", topic): TOPIC_DENIED,
            ("CreatePartitions", f"{topic}|9"): TOPIC_DENIED,
            ("IncrementalAlterConfigs", f"topic|{topic}|=retention.ms=1"): TOPIC_DENIED,
            ("IncrementalAlterConfigs", "broker|1|=log.cleaner.threads=2"): CLUSTER_DENIED,
            ("DescribeConfigs", f"topic|{topic}"): TOPIC_DENIED,
            ("DescribeConfigs", "broker|1"): CLUSTER_DENIED,
            ("DeleteRecords", f"{topic}|0|0"): TOPIC_DENIED,
            ("ListOffsets", f"{topic}|0|-1"): TOPIC_DENIED,
            ("DescribeTopics", topic): TOPIC_DENIED,
            ("ElectLeaders", "preferred", f"{topic}|0"): CLUSTER_DENIED,
            ("DeleteGroups", group): GROUP_DENIED,
            ("DescribeConsumerGroups", group): GROUP_DENIED,
            ("ListConsumerGroupOffsets", group): GROUP_DENIED,
            ("CreateAcls", f"{TOPIC}|x|{LITERAL}|User:one|*|{READ}|{ALLOW}"): CLUSTER_DENIED,
            ("DescribeAcls", f"{ANY}||{ANY}|||{ANY}|{ANY}"): CLUSTER_DENIED,
            ("DeleteAcls", f"{ANY}||{ANY}|||{ANY}|{ANY}"): CLUSTER_DENIED,
            ("DescribeUserScramCredentials", "limited"): CLUSTER_DENIED,
            ("AlterUserScramCredentials", f"limited|{SHA_256}"): CLUSTER_DENIED,
        }
        for call, code in calls.items():
            with self.subTest(call=call):
                own, theirs = ours.call(*call), java.call(*call)
                self.assertIn(admin_calls.codes(own), (code, [code]), own)
                self.assertEqual(admin_calls.codes(own) if own["code"] == 0 else [own["code"]],
                                 admin_calls.codes(theirs) if theirs["code"] == 0 else [theirs["code"]], theirs)
        # The group has the error, of a deletion the call; in Java each partition has it.
        (row,) = ours.call("AlterConsumerGroupOffsets", f"{group}|{topic}:0:1")["rows"]
        self.assertEqual((row["code"], row["partitions"]), (GROUP_DENIED, []))
        self.assertEqual(ours.call("DeleteConsumerGroupOffsets", f"{group}|{topic}:0")["code"], GROUP_DENIED)
        (row,) = java.call("AlterConsumerGroupOffsets", f"{group}|{topic}:0:1")["rows"]
        self.assertEqual([p["code"] for p in row["partitions"]], [GROUP_DENIED])
        (cluster,) = self.does("DescribeCluster")
        (own,) = ours.call("DescribeCluster", authorized=1)["rows"]
        self.assertEqual((own["cluster"], own["operations"]), (cluster["cluster"], []))
        self.assertEqual(ours.call("ListConsumerGroups")["rows"], java.call("ListConsumerGroups")["rows"])


class Elections(OnKafka):
    def leader(self, topic):
        _, _, topics = kafka.wire.metadata(self.kafka.address(3), [topic])
        return topics[topic][0]

    def isr(self, topic):
        # Another broker may be frozen, and then answers after a minute.
        return sorted(self.does("DescribeTopics", topic, broker=3)[0]["partitions"][0]["isr"])

    def tearDown(self):
        for node in self.kafka.nodes():
            self.kafka.thaw(node)
            if node not in self.kafka.processes:
                self.kafka.start_node(node, wait=False)
        self.kafka.wait_until_up()

    def test_leaders_are_elected(self):
        topic = self.topic("election", 1, "a1.2", "min.insync.replicas=1")
        place = f"{topic}|0"
        self.assertEqual(admin_calls.codes(self.same("ElectLeaders", "preferred", place, f"{topic}|5")),
                         [ELECTION_NOT_NEEDED, UNKNOWN_TOPIC])
        # Broker 2 leaves the in-sync replicas, and then the leader stops.
        self.kafka.freeze(2)
        self.eventually(lambda: self.isr(topic) == [1], "broker 2 is fenced")
        self.kafka.kill(1)
        self.kafka.thaw(2)
        self.eventually(lambda: self.leader(topic) == -1, "no leader")
        self.assertEqual(admin_calls.codes(self.same("ElectLeaders", "preferred", place)), [NO_PREFERRED_LEADER])
        # One of the two elects, the other is not needed any more: each for itself.
        self.assertEqual(admin_calls.codes(self.ours.call("ElectLeaders", "unclean", place)), [0])
        self.assertEqual(admin_calls.codes(self.same("ElectLeaders", "unclean", place)), [ELECTION_NOT_NEEDED])
        self.assertEqual(self.leader(topic), 2)
        self.kafka.start_node(1)
        self.eventually(lambda: self.isr(topic) == [1, 2], "broker 1 is in sync")
        rows = {(row["topic"], row["partition"]): row["code"] for row in self.ours.call("ElectLeaders", "preferred")["rows"]}
        self.assertEqual(rows[topic, 0], 0)
        self.eventually(lambda: self.leader(topic) == 1, "the preferred leader")
        self.assertEqual(self.ours.call("ElectLeaders", "unclean")["rows"], self.java.call("ElectLeaders", "unclean")["rows"])


if __name__ == "__main__":
    unittest.main()
