"""Admin operations that librdkafka does not have, on real brokers, beside Kafka's own admin client."""

import base64
import json
import subprocess
import unittest

import admin_calls
import groups
import sasl
import support
import test_admin
import wire

UNKNOWN_TOPIC, REPLICA_NOT_AVAILABLE, UNSUPPORTED_VERSION, LOG_DIR_NOT_FOUND = 3, 9, 35, 57
TOKEN_NOT_FOUND, TOKEN_OWNER_MISMATCH, TOKEN_NOT_ALLOWED, TOKEN_DENIED = 62, 63, 64, 65
NON_EMPTY_GROUP, GROUP_NOT_FOUND, NO_REASSIGNMENT, INVALID_UPDATE, NOT_REGISTERED = 68, 69, 85, 95, 102
GROUP_RESOURCE, TOPIC_RESOURCE = 32, 2
USER_RESOURCE, CREATE_TOKENS = 7, 13
UPGRADE, SAFE_DOWNGRADE = 1, 2
TOOLS = "org.apache.kafka.tools"


class OnKafka(test_admin.OnKafka):
    """Three brokers, both clients, and the library's further operations."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain, cls.ours = cls.ours, admin_calls.Ours(cls.kafka.bootstrap, program=admin_calls.FURTHER)

    @classmethod
    def end(cls):
        status = cls.plain.close()
        super().end()
        if status != 0:
            raise AssertionError(f"exit status {status}")

    def topic(self, what, partitions=2, replication="3", *settings):
        """Creates a topic; returns its name."""
        name = support.topic_name(f"admin-{what}")
        self.does("CreateTopics", "|".join([name, str(partitions), replication, *settings]), client=self.plain)
        self.kafka.create_topic(name, partitions)
        return name


class Cluster(OnKafka):
    def test_log_directories(self):
        topic = self.topic("log-dirs", 2, "2")
        self.fill(topic, 100)
        sizes = []
        for client in (self.ours, self.java):
            rows = self.does("DescribeLogDirs", 1, 2, 3, client=client)
            self.assertEqual([row["broker"] for row in rows], [1, 2, 3])
            sizes.append(admin_calls.in_order([[row["broker"], dir["path"], dir["total"], replica] for row in rows
                                               for dir in row["dirs"] for replica in dir["replicas"]
                                               if replica["topic"] == topic]))
        self.assertEqual(*sizes)
        self.assertEqual(len(sizes[0]), 4)
        self.assertEqual(sum(replica["size"] for *_, replica in sizes[0]), self.kafka.stored_bytes(topic))
        text = self.tool(f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", topic, "--broker-list", "1,2,3")
        described = {(broker["broker"], dir["logDir"], replica["partition"]): replica["size"]
                     for broker in json.loads(text.splitlines()[-1])["brokers"] for dir in broker["logDirs"]
                     for replica in dir["partitions"]}
        self.assertEqual(described, {(row["broker"], dir["path"], f"{topic}-{replica['partition']}"): replica["size"]
                                     for row in self.does("DescribeLogDirs", 1, 2, 3) for dir in row["dirs"]
                                     for replica in dir["replicas"] if replica["topic"] == topic})

    def places(self, topic, client):
        """Returns {(broker, partition): (path, whether the replica moves there)} of a topic."""
        return {(row["broker"], replica["partition"]): (dir["path"], replica["future"])
                for row in self.does("DescribeLogDirs", 1, 2, 3, client=client) for dir in row["dirs"]
                for replica in dir["replicas"] if replica["topic"] == topic}

    def test_replicas_move_between_log_directories(self):
        topic = self.topic("move-dir", 2, "a1.2/2.3")
        self.fill(topic, 1000)
        before = self.places(topic, self.ours)
        first, second = map(str, self.kafka.log_dirs(1))
        other = second if before[1, 0][0] == first else first
        (row,) = self.does("AlterReplicaLogDirs", f"1|{topic}|0|{other}")
        self.assertEqual((row["broker"], row["partition"]), (1, 0))
        wanted = {**before, (1, 0): (other, 0)}
        self.eventually(lambda: self.places(topic, self.ours) == self.places(topic, self.java) == wanted, "moved")
        self.assertTrue(list(self.kafka.logs.glob(f"{other}/{topic}-0/*.log".removeprefix(f"{self.kafka.logs}/"))))
        # Java moves it back, and sees the same errors.
        self.does("AlterReplicaLogDirs", f"1|{topic}|0|{before[1, 0][0]}", client=self.java)
        self.eventually(lambda: self.places(topic, self.ours) == before, "moved back")
        wrong = self.same("AlterReplicaLogDirs", f"1|{topic}|0|/nowhere", f"1|{topic}|1|{first}", f"2|{topic}|7|{first}x",
                          f"3|{topic}-unknown|0|{self.kafka.log_dirs(3)[1]}")
        self.assertEqual(admin_calls.codes(wrong), [LOG_DIR_NOT_FOUND, REPLICA_NOT_AVAILABLE, LOG_DIR_NOT_FOUND,
                                                    UNKNOWN_TOPIC])

    def test_quotas(self):
        user = support.topic_name("admin-quota")
        pair, default = f"user={user},client-id=app", "user=,client-id="
        self.does("AlterClientQuotas", f"{pair}|producer_byte_rate=1000|request_percentage=50.25",
                  f"user={user}|consumer_byte_rate=5")
        self.does("AlterClientQuotas", f"{default}|producer_byte_rate=7", client=self.java)
        self.addCleanup(self.does, "AlterClientQuotas", f"{default}|producer_byte_rate=")
        self.same_once(lambda rows: len(rows) == 2, "DescribeClientQuotas", f"user={user}")
        (row,) = self.same("DescribeClientQuotas", f"user={user}", "client-id")["rows"]
        self.assertEqual(row["quotas"], {"producer_byte_rate": 1000, "request_percentage": 50.25})
        (row,) = self.same_once(lambda rows: len(rows) == 1, "DescribeClientQuotas", "user=", "client-id=")["rows"]
        self.assertEqual(row["quotas"], {"producer_byte_rate": 7})
        self.wait_for_changes()
        text = self.tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "users", "--entity-name", user)
        self.assertIn("consumer_byte_rate=5.0", text)
        self.does("AlterClientQuotas", f"{pair}|request_percentage=", f"user={user}|consumer_byte_rate=")
        self.same_once(lambda rows: len(rows) == 1, "DescribeClientQuotas", f"user={user}")
        self.same("AlterClientQuotas", f"{pair}|nope=1")
        self.same("AlterClientQuotas", f"{pair}|producer_byte_rate=5", validate=1)

    def test_reassignments(self):
        topic = self.topic("move", 1, "a1.2", "leader.replication.throttled.replicas=*")
        # More than the first response of a replication contains.
        self.fill(topic, 60_000)
        self.does("AlterPartitionReassignments", f"{topic}|0|2.3")
        self.eventually(lambda: self.replicas(topic) == [2, 3], "moved")
        plan = self.kafka.folder / "reassignment.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [2, 3]}]}))
        text = self.tool(f"{TOOLS}.reassign.ReassignPartitionsCommand", "--verify", "--preserve-throttles",
                         "--reassignment-json-file", plan)
        self.assertIn(f"Reassignment of partition {topic}-0 is completed.", text)
        self.same_once(lambda rows: rows == [], "ListPartitionReassignments", f"{topic}|0")
        wrong = self.same("AlterPartitionReassignments", f"{topic}|0|", f"{topic}|7|1.2", "nope|0|1")
        self.assertEqual(admin_calls.codes(wrong), [NO_REASSIGNMENT, UNKNOWN_TOPIC, UNKNOWN_TOPIC])
        # The leader replicates one byte a second: the reassignment stays under way.
        rate = "leader.replication.throttled.rate"
        self.does("IncrementalAlterConfigs", f"broker|2|={rate}=1", client=self.plain)
        self.addCleanup(self.does, "IncrementalAlterConfigs", f"broker|2|-{rate}=", client=self.plain)
        # Brokers do not describe this setting.
        self.wait_for_changes()
        self.does("AlterPartitionReassignments", f"{topic}|0|2.1")
        (row,) = self.same("ListPartitionReassignments", f"{topic}|0")["rows"]
        self.assertEqual((row["adding"], row["removing"]), ([1], [3]))
        self.assertIn(row, self.same("ListPartitionReassignments")["rows"])
        text = self.tool(f"{TOOLS}.reassign.ReassignPartitionsCommand", "--list")
        self.assertRegex(text, rf"{topic}-0: replicas: 2,1,3. adding: 1. removing: 3.")
        self.does("AlterPartitionReassignments", f"{topic}|0|")
        self.same_once(lambda rows: rows == [], "ListPartitionReassignments", f"{topic}|0")
        self.eventually(lambda: self.replicas(topic) == [2, 3], "as before")

    def replicas(self, topic):
        return self.does("DescribeTopics", topic, client=self.java)[0]["partitions"][0]["replicas"]

    def test_resources_with_settings(self):
        topic, group = self.topic("resources", 1), support.topic_name("admin-group")
        self.does("IncrementalAlterConfigs", f"group|{group}|=consumer.session.timeout.ms=50000", client=self.plain)
        wanted = {"type": GROUP_RESOURCE, "name": group}
        self.same_once(lambda rows: wanted in rows, "ListConfigResources", GROUP_RESOURCE)
        self.same_once(lambda rows: {"type": TOPIC_RESOURCE, "name": topic} in rows, "ListConfigResources")

    def test_quorum(self):
        rows = [self.does("DescribeMetadataQuorum", client=client)[0] for client in (self.ours, self.java)]
        marks = [row.pop("high_watermark") for row in rows]
        self.assertEqual(*map(admin_calls.in_order, rows))
        self.assertEqual(rows[0]["voters"], [1, 2, 3])
        self.assertLess(0, marks[0])
        self.assertLessEqual(*marks)
        # Voters of this cluster are those of its configuration.
        for operation, argument in (("AddRaftVoter", "4|1|2|CONTROLLER|localhost|9093"), ("RemoveRaftVoter", "3|1|2")):
            self.assertEqual(self.same(operation, argument)["code"], UNSUPPORTED_VERSION)
        self.assertEqual(self.same("UnregisterBroker", 9)["code"], NOT_REGISTERED)

    def features(self):
        """Returns {feature: level} of the cluster, the same for both clients."""
        (row,) = self.same_once(lambda rows: True, "DescribeFeatures")["rows"]
        return {name: level for name, _, level in row["finalized"]}

    def test_features(self):
        name, level = "streams.version", self.features()["streams.version"]
        self.assertLess(0, level)
        self.assertIn("metadata.version", self.features())
        lower, higher = f"{name}|0|{SAFE_DOWNGRADE}", f"{name}|{level}|{UPGRADE}"
        self.assertEqual(admin_calls.codes(self.same("UpdateFeatures", lower, validate=1)), [0])
        self.assertEqual(self.features()[name], level)
        self.does("UpdateFeatures", lower)
        self.eventually(lambda: self.features().get(name, 0) == 0, "the downgrade")
        text = self.tool(f"{TOOLS}.FeatureCommand", "describe")
        self.assertRegex(text, rf"Feature: {name}\s.*FinalizedVersionLevel: 0\s")
        self.does("UpdateFeatures", higher)
        self.eventually(lambda: self.features().get(name) == level, "the upgrade")
        self.does("UpdateFeatures", lower, client=self.java)
        self.eventually(lambda: self.features().get(name, 0) == 0, "Java's downgrade")
        self.does("UpdateFeatures", higher, client=self.java)
        self.eventually(lambda: self.features().get(name) == level, "Java's upgrade")
        # A level that no broker has, a downgrade as an upgrade, an unknown feature.
        for wrong in (f"{name}|99|{UPGRADE}", f"metadata.version|7|{UPGRADE}", f"nope|1|{UPGRADE}"):
            result = self.same("UpdateFeatures", wrong)
            self.assertEqual(admin_calls.codes(result), [INVALID_UPDATE], result)


class Transactions(OnKafka):
    def open_transaction(self, topic):
        """Starts a producer with a transaction that stays open; returns (the process, its transactional id)."""
        producer = support.start(support.compiled("tests/real/transactional_producer.c"), self.kafka.bootstrap, topic,
                                 f"{topic}-id", 0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(producer.communicate)
        self.addCleanup(producer.kill)
        self.assertEqual(producer.stdout.readline(), "begun\n")
        return producer, f"{topic}-id"

    def check_ended(self, name):
        """The transaction was aborted, and the id has a new epoch."""
        self.eventually(lambda: self.same("DescribeTransactions", name)["rows"][0]["state"] in ("CompleteAbort", "Empty"),
                        "aborted")

    def end_of(self, producer):
        """Lets the producer commit; returns its error."""
        return producer.communicate("go\n", timeout=60)[0].split()[0]

    def test_transaction_is_listed_and_described_and_its_producer_fenced(self):
        topic = self.topic("transaction", 1)
        producer, name = self.open_transaction(topic)
        self.assertIn((name, "Ongoing"), [(row["transaction"], row["state"]) for row in self.same("ListTransactions")["rows"]])
        (row,) = self.same("DescribeTransactions", name)["rows"]
        self.assertEqual((row["state"], row["partitions"]), ("Ongoing", [[topic, 0]]))
        (state,) = self.same("DescribeProducers", f"{topic}|0")["rows"][0]["producers"]
        self.assertEqual((state["producer"], state["epoch"], state["start"]), (row["producer"], row["epoch"], 0))
        text = self.tool(f"{TOOLS}.TransactionsCommand", "list")
        self.assertRegex(text, rf"{name}\s+{row['coordinator']}\s+{row['producer']}\s+Ongoing")
        (fenced,) = self.does("FenceProducers", name)
        self.assertEqual(fenced["producer"], row["producer"])
        self.assertGreater(fenced["epoch"], row["epoch"])
        self.check_ended(name)
        self.assertIn(self.end_of(producer), ("_FENCED", "INVALID_PRODUCER_EPOCH"))
        self.same("DescribeTransactions", f"{name}-unknown")

    def test_transaction_is_aborted_on_its_partition(self):
        topic = self.topic("abort", 1)
        self.open_transaction(topic)
        (state,) = self.does("DescribeProducers", f"{topic}|0")[0]["producers"]
        self.assertEqual(state["start"], 0)
        self.does("AbortTransaction", f"{topic}|0|{state['producer']}|{state['epoch']}|{max(state['coordinator_epoch'], 0)}")
        (row,) = self.does("ListOffsets", f"{topic}|0|-1", client=self.plain, isolation=1)
        self.assertEqual(row["offset"], 2)
        (state,) = self.same("DescribeProducers", f"{topic}|0")["rows"][0]["producers"]
        self.assertEqual(state["start"], -1)

    def hanging(self, topic):
        """Returns the partitions of the topic with a hanging transaction, as Kafka's tool finds them."""
        text = self.tool(f"{TOOLS}.TransactionsCommand", "find-hanging", "--topic", topic)
        rows = [line.split() for line in text.splitlines()[1:]]
        return {int(row[1]): int(row[2]) for row in rows if row[0] == topic}

    def begin_hanging(self, topic, partition, producer):
        """Returns true when the leader, broker 1, has taken a record of a transaction without a coordinator."""
        try:
            wire.begin_hanging_transaction(self.kafka.address(1), topic, partition, producer, age_s=3600)
        except wire.WireError:
            return False
        return True

    def test_hanging_transactions_are_found_and_aborted(self):
        topic = self.topic("hanging", 2, "a1.2/1.2")
        check = "transaction.partition.verification.enable"
        self.does("IncrementalAlterConfigs", f"broker|1|={check}=false", client=self.plain)
        self.addCleanup(self.does, "IncrementalAlterConfigs", f"broker|1|-{check}=", client=self.plain)
        producers = {0: 700_000, 1: 700_001}
        for partition, producer in producers.items():
            self.eventually(lambda: self.begin_hanging(topic, partition, producer), "the record is written")
        self.assertEqual(self.hanging(topic), producers)
        rows = self.same("DescribeProducers", f"{topic}|0", f"{topic}|1")["rows"]
        self.assertEqual([(row["producers"][0]["producer"], row["producers"][0]["start"]) for row in rows],
                         [(700_000, 0), (700_001, 0)])
        self.does("AbortTransaction", f"{topic}|0|{producers[0]}|0|0")
        self.assertEqual(self.hanging(topic), {1: producers[1]})
        self.tool(f"{TOOLS}.TransactionsCommand", "abort", "--topic", topic, "--partition", 1, "--start-offset", 0)
        rows = self.same("DescribeProducers", f"{topic}|0", f"{topic}|1")["rows"]
        # The two wrote the same markers.
        states = [{name: value for name, value in row["producers"][0].items() if name not in ("producer", "timestamp")}
                  for row in rows]
        self.assertEqual(states[0], states[1])
        self.assertEqual(states[0]["start"], -1)
        rows = self.does("ListOffsets", f"{topic}|0|-1", f"{topic}|1|-1", client=self.plain, isolation=1)
        self.assertEqual([row["offset"] for row in rows], [2, 2])

    def test_transaction_is_terminated(self):
        topic = self.topic("terminate", 1)
        producer, name = self.open_transaction(topic)
        self.does("ForceTerminateTransaction", name)
        self.check_ended(name)
        self.assertNotEqual(self.end_of(producer), "NO_ERROR")


class Groups(OnKafka):
    def test_members_are_removed(self):
        topic, group = self.topic("members", 4), support.topic_name("admin-group")
        running = [groups.Member(n, self.kafka, group, topic, ["group.protocol=classic"]) for n in (0, 1)]
        try:
            self.eventually(lambda: len(self.members(group)) == 2, "two members")
            before = self.members(group)
            (row,) = self.same("DescribeClassicGroups", group, authorized=1)["rows"]
            self.assertEqual((row["protocol"], row["data"], row["state"]), ("consumer", "range", "Stable"))
            self.assertEqual({member["id"] for member in row["members"]}, before)
            self.assertEqual(sorted(p for member in row["members"] for p in member["assignment"]),
                             [[topic, partition] for partition in range(4)])
            self.assertGreater(len(row["operations"]), 2)
            rows = self.does("RemoveMembersFromConsumerGroup", group)
            self.assertEqual(len(rows), 2)
            # The members notice it, and join again.
            self.eventually(lambda: len(self.members(group) - before) == 2, "new members")
        finally:
            for member in running:
                member.leave()
            for member in running:
                member.wait()
        self.assertEqual(self.does("RemoveMembersFromConsumerGroup", group), [])
        unknown = self.same("DescribeClassicGroups", group, f"{group}-unknown")
        self.assertEqual(admin_calls.codes(unknown), [0, GROUP_NOT_FOUND])

    def members(self, group):
        (row,) = self.does("DescribeConsumerGroups", group, client=self.plain)
        return {member["id"] for member in row["members"]} if row["state"] == "Stable" else set()

    def test_share_group_is_described_and_its_offsets_are_changed(self):
        topic, group = self.topic("share", 2), support.topic_name("admin-share")
        self.fill(topic, 30)
        self.does("IncrementalAlterConfigs", f"group|{group}|=share.auto.offset.reset=earliest", client=self.plain)
        self.does("JoinShareGroup", group, topic, client=self.java, stay=1)
        self.check_share_member(group, topic)
        (row,) = self.does("LeaveShareGroup", group, 30, client=self.java)
        self.assertGreaterEqual(row["records"], 30)
        self.same_once(lambda rows: [p["lag"] for p in rows[0]["partitions"] if p["partition"] == 0] == [0],
                       "ListShareGroupOffsets", group)
        self.eventually(lambda: self.share_group(group)["state"] == "Empty", "empty")

        self.does("AlterShareGroupOffsets", f"{group}|{topic}:0:7", f"{group}-new|{topic}:0:3|{topic}:1:0")
        self.same_once(lambda rows: self.share_offsets(rows) == {0: 7}, "ListShareGroupOffsets", f"{group}|{topic}:0")
        self.same_once(lambda rows: self.share_offsets(rows) == {0: 3, 1: 0}, "ListShareGroupOffsets", f"{group}-new")
        self.does("AlterShareGroupOffsets", f"{group}|{topic}:0:11", client=self.java)
        self.same_once(lambda rows: self.share_offsets(rows) == {0: 11}, "ListShareGroupOffsets", f"{group}|{topic}:0")
        self.check_errors_of_share_offsets(group, topic)

        self.does("DeleteShareGroupOffsets", f"{group}|{topic}")
        self.does("DeleteShareGroupOffsets", f"{group}-new|{topic}", client=self.java)
        for each in (group, f"{group}-new"):
            self.same_once(lambda rows: rows[0]["partitions"] == [], "ListShareGroupOffsets", each)
        self.assertEqual(admin_calls.codes(self.plain.call("DeleteGroups", group, f"{group}-new")), [0, 0])
        self.assertEqual(admin_calls.codes(self.same("DescribeShareGroups", group)), [GROUP_NOT_FOUND])

    @staticmethod
    def share_offsets(rows):
        return {p["partition"]: p["offset"] for p in rows[0].get("partitions", ())}

    def share_group(self, group, *topics):
        """Returns a share group, whose members subscribe to topics, by Java's description, which is that of the library."""
        (ours,), (java,) = (self.does("DescribeShareGroups", group, client=client, authorized=1)
                            for client in (self.ours, self.java))
        # Java has neither the assignor nor the topics.
        self.assertEqual(ours.pop("assignor"), "simple")
        for member in ours["members"]:
            self.assertEqual(member.pop("topics"), list(topics))
        self.assertEqual(admin_calls.in_order(ours), admin_calls.in_order(java))
        return java

    def check_share_member(self, group, topic):
        """A share group with a member is described as by Java, and its offsets are not changed."""
        row = self.share_group(group, topic)
        self.assertEqual((row["state"], len(row["members"])), ("Stable", 1))
        self.assertEqual(sorted(row["members"][0]["assignment"]), [[topic, 0], [topic, 1]])
        self.assertGreater(len(row["operations"]), 2)
        for operation, argument, parts in (("AlterShareGroupOffsets", f"{group}|{topic}:0:7", "partitions"),
                                           ("DeleteShareGroupOffsets", f"{group}|{topic}", "topics")):
            # An error of the group is that of each part in Java.
            self.assertEqual(admin_calls.codes(self.ours.call(operation, argument)), [NON_EMPTY_GROUP])
            (row,) = self.java.call(operation, argument)["rows"]
            self.assertEqual([each["code"] for each in row[parts]], [NON_EMPTY_GROUP])

    def check_errors_of_share_offsets(self, group, topic):
        unknown = f"{group}-unknown"
        self.assertEqual(admin_calls.codes(self.same("DescribeShareGroups", unknown)), [GROUP_NOT_FOUND])
        # Brokers do not distinguish an unknown group from one without offsets.
        (row,) = self.same("ListShareGroupOffsets", unknown)["rows"]
        self.assertEqual((row["code"], row["partitions"]), (0, []))
        (row,) = self.same("ListShareGroupOffsets", f"{unknown}|{topic}:1")["rows"]
        self.assertEqual([(p["offset"], p["code"]) for p in row["partitions"]], [(-1001, 0)])
        calls = {
            ("AlterShareGroupOffsets", f"{group}|{topic}-unknown:0:1"): UNKNOWN_TOPIC,
            ("DeleteShareGroupOffsets", f"{group}|{topic}-unknown"): UNKNOWN_TOPIC,
        }
        for call, code in calls.items():
            for client in (self.ours, self.java):
                (row,) = client.call(*call)["rows"]
                self.assertEqual([each["code"] for each in row.get("partitions") or row["topics"]], [code], row)
        # An error of the group is that of each topic in Java.
        unknown = "DeleteShareGroupOffsets", f"{unknown}|{topic}"
        self.assertEqual(admin_calls.codes(self.ours.call(*unknown)), [GROUP_NOT_FOUND])
        (row,) = self.java.call(*unknown)["rows"]
        self.assertEqual([each["code"] for each in row["topics"]], [GROUP_NOT_FOUND])

    def test_streams_group_is_described(self):
        topic, group = self.topic("streams", 2), support.topic_name("admin-streams")
        self.does("JoinStreamsGroup", group, topic, client=self.java)
        (row,) = self.same("DescribeStreamsGroups", group)["rows"]
        self.assertEqual((row["state"], row["topology"]), ("Stable", 0))
        self.assertEqual([(part["sources"], part["changelogs"]) for part in row["parts"]],
                         [([topic], [f"{group}-counts-changelog"])])
        (member,) = row["members"]
        self.assertEqual((member["process"], member["tags"]), (f"process-of-{group}", {"zone": "a"}))
        self.assertEqual([(tasks["part"], sorted(tasks["partitions"])) for tasks in member["active"]], [("0", [0, 1])])
        self.assertEqual(admin_calls.rows_by("group", self.same("ListGroups"))[group]["type"], "Streams")
        self.does("LeaveStreamsGroup", group, client=self.java)
        self.eventually(lambda: self.same("DescribeStreamsGroups", group)["rows"][0]["state"] == "Empty", "empty")
        wrong = self.same("DescribeStreamsGroups", f"{group}-unknown")
        self.assertEqual(admin_calls.codes(wrong), [GROUP_NOT_FOUND])

    def test_groups_of_all_types_are_listed(self):
        topic, share, simple = self.topic("types", 1), support.topic_name("admin-share"), support.topic_name("admin-group")
        self.does("JoinShareGroup", share, topic, client=self.java)
        self.does("AlterConsumerGroupOffsets", f"{simple}|{topic}:0:1", client=self.plain)
        rows = admin_calls.rows_by("group", self.same("ListGroups"))
        self.assertEqual((rows[share]["type"], rows[simple]["type"]), ("Share", "Classic"))
        self.assertEqual((rows[share]["simple"], rows[simple]["simple"]), (0, 1))
        # Each group has another type than the operation.
        for operation, group in (("DescribeClassicGroups", share), ("DescribeShareGroups", simple),
                                 ("DescribeStreamsGroups", share)):
            self.assertEqual(admin_calls.codes(self.same(operation, group)), [GROUP_NOT_FOUND], operation)
        (row,) = self.same("ListShareGroupOffsets", simple)["rows"]
        self.assertEqual((row["code"], row["partitions"]), (0, []))
        self.assertEqual(admin_calls.codes(self.ours.call("AlterShareGroupOffsets", f"{simple}|{topic}:0:1")), [GROUP_NOT_FOUND])
        (row,) = self.java.call("AlterShareGroupOffsets", f"{simple}|{topic}:0:1")["rows"]
        self.assertEqual([p["code"] for p in row["partitions"]], [GROUP_NOT_FOUND])


class Tokens(OnKafka):
    """Delegation tokens of users with SCRAM."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address, cls.users = cls.kafka.bootstrap_of("SASL"), {}
        for name in ("owner", "stranger"):
            user = support.topic_name(f"admin-{name}")
            rows = cls.plain.call("AlterUserScramCredentials", f"{user}|{test_admin.SHA_256}|4096|secret")["rows"]
            assert rows[0]["code"] == 0, rows
            cls.users[name] = user
            for node in cls.kafka.nodes():
                wire.wait_for_scram_password(cls.kafka.address(node), user, "SCRAM-SHA-256", 4096)
        cls.no_login, cls.open_java = cls.ours, cls.java
        cls.ours, cls.stranger = (cls.login(user) for user in cls.users.values())
        cls.java = cls.open_java.user(cls.address, cls.users["owner"], "secret")

    @classmethod
    def login(cls, user):
        return admin_calls.Ours(cls.address, "security.protocol=sasl_plaintext", *sasl.by_password("SCRAM-SHA-256", user, "secret"),
                                program=admin_calls.FURTHER)

    @classmethod
    def end(cls):
        statuses = cls.stranger.close(), cls.no_login.close()
        super().end()
        if statuses != (0, 0):
            raise AssertionError(f"exit statuses {statuses}")

    def check_expiry(self, token, expiry):
        """Both clients describe the token with this expiry, and otherwise as it was created."""
        self.same_once(lambda rows: admin_calls.in_order({**token, "expiry": expiry}) in admin_calls.in_order(rows),
                       "DescribeDelegationToken", self.users["owner"])

    def token_of(self, client, renewer):
        """Creates a token with a client, which both clients describe soon; returns it."""
        (token,) = self.does("CreateDelegationToken", f"3600000||{renewer}", client=client)
        self.assertEqual((token["owner"], token["requester"], token["renewers"]),
                         (f"User:{self.users['owner']}", f"User:{self.users['owner']}", [f"User:{renewer}"]))
        self.assertEqual((token["max"] - token["issue"], len(token["hmac"])), (3_600_000, 128))
        self.same_once(lambda rows: token in rows, "DescribeDelegationToken")
        return token

    def test_token_is_created_described_renewed_and_expired(self):
        for creates, changes in ((self.ours, self.java), (self.java, self.ours)):
            token = self.token_of(creates, self.users["stranger"])
            hmac = token["hmac"]
            (row,) = self.does("RenewDelegationToken", f"{hmac}|600000", client=changes)
            self.assertLess(row["expiry"], token["expiry"])
            self.check_expiry(token, row["expiry"])
            (row,) = self.does("ExpireDelegationToken", f"{hmac}|300000", client=creates)
            self.check_expiry(token, row["expiry"])
            self.does("ExpireDelegationToken", f"{hmac}|-1", client=changes)
            self.same_once(lambda rows: hmac not in [row["hmac"] for row in rows], "DescribeDelegationToken")
            for operation in ("RenewDelegationToken", "ExpireDelegationToken"):
                self.assertEqual(self.same(operation, f"{hmac}|1000")["code"], TOKEN_NOT_FOUND)

    def test_token_for_another_owner(self):
        (token,) = self.does("CreateDelegationToken", f"-1|{self.users['owner']}|", client=self.stranger)
        self.addCleanup(self.does, "ExpireDelegationToken", f"{token['hmac']}|-1")
        self.assertEqual((token["owner"], token["requester"]), tuple(f"User:{user}" for user in self.users.values()))
        self.same_once(lambda rows: token in rows, "DescribeDelegationToken", self.users["stranger"])

    def test_login_with_a_token(self):
        token = self.token_of(self.ours, self.users["stranger"])
        self.addCleanup(self.does, "ExpireDelegationToken", f"{token['hmac']}|-1")
        password = base64.b64encode(bytes.fromhex(token["hmac"])).decode()
        bearer = self.open_java.user(self.address, token["id"], password, is_token=True)
        # Brokers learn of the token one after the other.
        self.eventually(lambda: bearer.call("DescribeCluster")["code"] == 0, "a login")
        self.assertEqual(bearer.call("CreateDelegationToken", "-1||")["code"], TOKEN_NOT_ALLOWED)

    def test_errors(self):
        token = self.token_of(self.ours, self.users["owner"])
        hmac = token["hmac"]
        self.addCleanup(self.does, "ExpireDelegationToken", f"{hmac}|-1")
        stranger = self.open_java.user(self.address, self.users["stranger"], "secret")
        owner, other = (f"User:{user}" for user in self.users.values())
        entry = f"{USER_RESOURCE}|{owner}|{test_admin.LITERAL}|{other}|*|{CREATE_TOKENS}"
        self.does("CreateAcls", f"{entry}|{test_admin.DENY}", client=self.open_java)
        self.addCleanup(self.does, "DeleteAcls", f"{entry}|{test_admin.DENY}", client=self.open_java)
        self.wait_for_changes()
        calls = {
            ("RenewDelegationToken", f"{hmac}|1000"): (self.stranger, stranger, TOKEN_OWNER_MISMATCH),
            ("ExpireDelegationToken", f"{hmac}|-1"): (self.stranger, stranger, TOKEN_OWNER_MISMATCH),
            ("CreateDelegationToken", "-1||"): (self.no_login, self.open_java, TOKEN_NOT_ALLOWED),
            ("DescribeDelegationToken",): (self.no_login, self.open_java, TOKEN_NOT_ALLOWED),
            ("CreateDelegationToken", f"-1|{self.users['owner']}|"): (self.stranger, stranger, TOKEN_DENIED),
        }
        for call, (ours, java, code) in calls.items():
            with self.subTest(call=call):
                results = ours.call(*call), java.call(*call)
                self.assertEqual([result["code"] for result in results], [code, code], results)


if __name__ == "__main__":
    unittest.main()
