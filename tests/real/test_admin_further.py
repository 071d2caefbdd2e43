"""Admin operations that librdkafka does not have, on real brokers, beside Kafka's own admin client."""

import subprocess
import time
import unittest

import admin_calls
import groups
import support
import test_admin

UNKNOWN_TOPIC, NO_REASSIGNMENT = 3, 85
GROUP_RESOURCE, TOPIC_RESOURCE = 32, 2


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

    def test_quotas(self):
        user = support.topic_name("admin-quota")
        pair, default = f"user={user},client-id=app", "user=,client-id="
        self.does("AlterClientQuotas", f"{pair}|producer_byte_rate=1000|request_percentage=50.25",
                  f"user={user}|consumer_byte_rate=5")
        self.does("AlterClientQuotas", f"{default}|producer_byte_rate=7", client=self.java)
        self.addCleanup(self.does, "AlterClientQuotas", f"{default}|producer_byte_rate=")
        self.eventually(lambda: len(self.same("DescribeClientQuotas", f"user={user}")["rows"]) == 2, "the user's quotas")
        (row,) = self.same("DescribeClientQuotas", f"user={user}", "client-id")["rows"]
        self.assertEqual(row["quotas"], {"producer_byte_rate": 1000, "request_percentage": 50.25})
        (row,) = self.same("DescribeClientQuotas", "user=", "client-id=")["rows"]
        self.assertEqual(row["quotas"], {"producer_byte_rate": 7})
        text = self.tool("kafka.admin.ConfigCommand", "--describe", "--entity-type", "users", "--entity-name", user)
        self.assertIn("consumer_byte_rate=5.0", text)
        self.does("AlterClientQuotas", f"{pair}|request_percentage=", f"user={user}|consumer_byte_rate=")
        self.eventually(lambda: len(self.same("DescribeClientQuotas", f"user={user}")["rows"]) == 1, "removed")
        self.same("AlterClientQuotas", f"{pair}|nope=1")
        self.same("AlterClientQuotas", f"{pair}|producer_byte_rate=5", validate=1)

    def test_reassignments(self):
        topic = self.topic("move", 1, "a1.2", "leader.replication.throttled.replicas=*")
        # More than the first response of a replication contains.
        self.fill(topic, 60_000)
        self.does("AlterPartitionReassignments", f"{topic}|0|2.3")
        self.eventually(lambda: self.replicas(topic) == [2, 3], "moved")
        self.eventually(lambda: self.same("ListPartitionReassignments", f"{topic}|0")["rows"] == [], "no reassignment")
        wrong = self.same("AlterPartitionReassignments", f"{topic}|0|", f"{topic}|7|1.2", "nope|0|1")
        self.assertEqual(admin_calls.codes(wrong), [NO_REASSIGNMENT, UNKNOWN_TOPIC, UNKNOWN_TOPIC])
        # The leader replicates one byte a second: the reassignment stays under way.
        rate = "leader.replication.throttled.rate"
        self.does("IncrementalAlterConfigs", f"broker|2|={rate}=1", client=self.plain)
        self.addCleanup(self.does, "IncrementalAlterConfigs", f"broker|2|-{rate}=", client=self.plain)
        # Brokers do not describe this setting.
        time.sleep(1)
        self.does("AlterPartitionReassignments", f"{topic}|0|2.1")
        (row,) = self.same("ListPartitionReassignments", f"{topic}|0")["rows"]
        self.assertEqual((row["adding"], row["removing"]), ([1], [3]))
        self.assertIn(row, self.same("ListPartitionReassignments")["rows"])
        self.does("AlterPartitionReassignments", f"{topic}|0|")
        self.eventually(lambda: self.same("ListPartitionReassignments", f"{topic}|0")["rows"] == [], "cancelled")
        self.eventually(lambda: self.replicas(topic) == [2, 3], "as before")

    def replicas(self, topic):
        return self.does("DescribeTopics", topic, client=self.java)[0]["partitions"][0]["replicas"]

    def test_resources_with_settings(self):
        topic, group = self.topic("resources", 1), support.topic_name("admin-group")
        self.does("IncrementalAlterConfigs", f"group|{group}|=consumer.session.timeout.ms=50000", client=self.plain)
        wanted = {"type": GROUP_RESOURCE, "name": group}
        self.eventually(lambda: wanted in self.same("ListConfigResources", GROUP_RESOURCE)["rows"], "the group")
        self.assertIn({"type": TOPIC_RESOURCE, "name": topic}, self.same("ListConfigResources")["rows"])

    def test_quorum_and_features(self):
        rows = [self.does("DescribeMetadataQuorum", client=client)[0] for client in (self.ours, self.java)]
        marks = [row.pop("high_watermark") for row in rows]
        self.assertEqual(*map(admin_calls.in_order, rows))
        self.assertEqual(rows[0]["voters"], [1, 2, 3])
        self.assertLess(0, marks[0])
        self.assertLessEqual(*marks)
        (row,) = self.same("DescribeFeatures")["rows"]
        levels = {name: level for name, _, level in row["finalized"]}
        self.assertIn("metadata.version", levels)
        name = "group.version"
        self.assertEqual(admin_calls.codes(self.ours.call("UpdateFeatures", f"{name}|{levels[name]}|1", validate=1)), [0])
        self.assertNotEqual(self.ours.call("UpdateFeatures", "nope|1|1")["code"], None)


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

    def members(self, group):
        (row,) = self.does("DescribeConsumerGroups", group, client=self.plain)
        return {member["id"] for member in row["members"]} if row["state"] == "Stable" else set()

    def test_groups_of_all_types_are_listed(self):
        topic, share, consumer = self.topic("types", 1), support.topic_name("admin-share"), support.topic_name("admin-group")
        self.does("JoinShareGroup", share, topic, client=self.java)
        self.does("AlterConsumerGroupOffsets", f"{consumer}|{topic}:0:1", client=self.plain)
        rows = admin_calls.rows_by("group", self.same("ListGroups"))
        self.assertEqual((rows[share]["type"], rows[consumer]["type"]), ("Share", "Classic"))
        self.assertEqual((rows[share]["simple"], rows[consumer]["simple"]), (0, 1))


if __name__ == "__main__":
    unittest.main()
