"""Consumer groups on real brokers: members that join, leave and crash; groups in other tools; a paused consumer."""

import json
import re
import time
import unittest

import groups
import kafka
import steady
import support

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


class Groups(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()
        cls.kafka = support.cluster(2)

    def filled(self, what, partitions, messages):
        topic = support.topic_name(what)
        self.kafka.create_topic(topic, partitions, replication=1)
        run = steady.Run(self.kafka, topic, messages, 1_000_000)
        self.assertEqual(run.finish(), 0, run.errors)
        return topic

    def describe(self, group, *options):
        """The rows that Kafka's own tool has of a group, as a dictionary each."""
        out = kafka.tool(TOOL, "--bootstrap-server", self.kafka.bootstrap, "--describe", "--group", group, *options)
        lines = [line.split() for line in out.decode().splitlines() if line.strip()]
        head = next((i for i, words in enumerate(lines) if words[0] == "GROUP"), None)
        if head is None:
            return []
        # "COORDINATOR (ID)" is one column's name and its value has two words, too.
        return [dict(zip(lines[head], words)) for words in lines[head + 1:]]

    def wait_for(self, what, condition, timeout_s=60):
        end = time.monotonic() + timeout_s
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.1)

    def wait_until_committed(self, group):
        """Waits until Kafka's tool has a lag of 0 everywhere: the last commits may still be under way."""
        self.wait_for("all is committed", lambda: {row["LAG"] for row in self.describe(group)} == {"0"})

    def test_members_come_and_go(self):
        for protocol in ("range", "consumer"):
            with self.subTest(protocol=protocol):
                # These brokers keep a dead member of the consumer protocol for 45 s.
                churn = groups.Churn(self.kafka, protocol, members=5, per_second=300, seed=int(time.time()),
                                     kills=protocol != "consumer", pause_max_s=8)
                churn.run(8)
                found = churn.complaints()
                self.assertFalse(found, "\n".join([churn.summary(), *found[:20]]))
                self.assertGreater(sum(churn.events.values()), 2)

    def test_kafkas_tool_sees_the_group(self):
        topic = self.filled("seen", partitions=4, messages=400)
        group = f"{topic}-group"
        members = [groups.Member(n, self.kafka, group, topic, (*groups.PROTOCOLS["range"], f"client.id=member-{n}"))
                   for n in range(2)]
        try:
            self.wait_for("all is processed", lambda: sum(len(m.messages) for m in members) >= 400)
            self.wait_for("two partitions each", lambda: [len(m.held) for m in members] == [2, 2])
            self.wait_until_committed(group)
            rows = self.describe(group)
            self.assertEqual(sorted(row["PARTITION"] for row in rows), ["0", "1", "2", "3"])
            for row in rows:
                self.assertEqual((row["TOPIC"], row["LAG"]), (topic, "0"), row)
                self.assertEqual(row["CURRENT-OFFSET"], row["LOG-END-OFFSET"], row)
                owner = next(m for m in members if int(row["PARTITION"]) in m.held)
                self.assertEqual(row["CLIENT-ID"], f"member-{owner.number}", row)
            seen = self.describe(group, "--members", "--verbose")
            self.assertEqual(sorted((row["CLIENT-ID"], row["#PARTITIONS"]) for row in seen),
                             [("member-0", "2"), ("member-1", "2")])
            [state] = self.describe(group, "--state")
            self.assertIn("Stable", state.values())
            self.assertIn("range", state.values())
        finally:
            for member in members:
                member.leave()
            for member in members:
                member.wait()
        self.assertEqual([text for m in members for text in m.strange], [])
        [state] = self.describe(group, "--state")
        self.assertIn("Empty", state.values())
        self.assertEqual({row["LAG"] for row in self.describe(group)}, {"0"})

    def test_members_of_the_consumer_protocol_come_and_go(self):
        topic = self.filled("kip848", partitions=6, messages=600)
        group = f"{topic}-group"
        members = []

        def join(*properties):
            members.append(groups.Member(len(members), self.kafka, group, topic, properties))

        def shares():
            return sorted(len(m.held) for m in members if m.process.poll() is None)

        try:
            join("group.protocol=consumer", "client.id=member-0")
            self.wait_for("the first has all", lambda: shares() == [6])
            join("group.protocol=consumer", "client.id=member-1", "client.rack=somewhere")
            join("group.protocol=consumer", "client.id=member-2", "group.remote.assignor=range")
            self.wait_for("two partitions each", lambda: shares() == [2, 2, 2])
            self.wait_for("all is processed", lambda: sum(len(m.messages) for m in members) >= 600)
            self.wait_until_committed(group)
            [state] = self.describe(group, "--state")
            self.assertIn("Stable", state.values())
            seen = self.describe(group, "--members")
            self.assertEqual(sorted((row["CLIENT-ID"], row["#PARTITIONS"]) for row in seen),
                             [(f"member-{n}", "2") for n in range(3)])
            self.assertEqual({row["LAG"] for row in self.describe(group)}, {"0"})
            self.assertEqual(self.kind(group), "Consumer")
            members[1].leave()
            members[1].wait()
            self.wait_for("the others have all", lambda: shares() == [3, 3])
            members[2].kill()
            self.wait_for("one has all", lambda: shares() == [6], timeout_s=90)
        finally:
            for member in members:
                member.leave()
            for member in members:
                member.wait()
        self.assertEqual([text for m in members for text in m.strange], [])
        self.assertEqual([m.errors for m in members], [{}, {}, {}])
        # Processed records were committed before the revocation.
        self.assertEqual(sum(len(m.messages) for m in members), 600)

    def test_a_group_changes_its_protocol_while_it_works(self):
        topic = self.filled("upgrade", partitions=4, messages=400)
        group = f"{topic}-group"
        members = []
        try:
            for number, protocol in enumerate(["range", "range", "consumer", "consumer"]):
                members.append(groups.Member(number, self.kafka, group, topic, groups.PROTOCOLS[protocol]))
                if number == 1:
                    self.wait_for("two each", lambda: [len(m.held) for m in members] == [2, 2])
                    self.assertEqual(self.kind(group), "Classic")
            self.wait_for("one each", lambda: [len(m.held) for m in members] == [1, 1, 1, 1])
            self.assertEqual(self.kind(group), "Consumer")
            for member in members[:2]:
                member.leave()
                member.wait()
            self.wait_for("the others have all", lambda: [len(m.held) for m in members[2:]] == [2, 2])
            self.wait_for("all is processed", lambda: sum(len(m.messages) for m in members) >= 400)
        finally:
            for member in members:
                member.leave()
            for member in members:
                member.wait()
        self.assertEqual([text for m in members for text in m.strange], [])

    def kind(self, group):
        """The group's type, as Kafka's own tool has it."""
        out = kafka.tool(TOOL, "--bootstrap-server", self.kafka.bootstrap, "--list", "--type").decode()
        return dict(line.split() for line in out.splitlines() if line.strip())[group]

    def test_kcat_shares_a_group_with_a_member(self):
        support.need_program("kcat")
        topic = self.filled("kcat-group", partitions=4, messages=400)
        group = f"{topic}-group"
        member = groups.Member(0, self.kafka, group, topic, groups.PROTOCOLS["range"])
        try:
            self.wait_for("the member is alone", lambda: len(member.held) == 4)
            # kcat may read records that are not committed when it joins.
            self.wait_for("all is committed", lambda: sum(stay.commits[-1][1] for stay in member.stays if stay.commits) == 400)
            out, err = support.run("kcat", "-b", self.kafka.bootstrap, "-G", group, "-X", "auto.offset.reset=earliest",
                                   "-X", "session.timeout.ms=6000", "-e", topic, "-f", "%p %o\n", timeout_s=60)
            self.assertIsNotNone(re.search(r"Group \S+ rebalanced.*: assigned: ", err.decode()), err)
            self.wait_for("the member has all again", lambda: len(member.held) == 4)
        finally:
            member.leave()
            member.wait()
        self.assertEqual(member.strange, [])
        # The member had committed everything before kcat joined: there was nothing to read, and kcat ended.
        self.assertEqual((out, len(member.messages)), (b"", 400))

    def test_a_paused_consumer_of_1000_partitions_keeps_its_limit(self):
        limit_kib, base_kib = 8192, 24 * 1024
        topic = support.topic_name("paused")
        self.kafka.create_topic(topic, 1000, replication=1)
        count = 60_000
        # Without a sticky partition each record goes to a random one.
        support.run(support.compiled("examples/c/rdkafka_performance.c"), "-P", "-b", self.kafka.bootstrap, "-t", topic,
                    "-c", count, "-s", 1000, "-X", "sticky.partitioning.linger.ms=0", timeout_s=120)
        self.assertEqual(self.kafka.message_count(topic), count)
        out, _ = support.run(support.compiled("tests/real/paused_consumer.c"), self.kafka.bootstrap, topic, 1000, count,
                             f"queued.max.messages.kbytes={limit_kib}", timeout_s=120)
        found = json.loads(out)
        self.assertEqual(found["messages"], count, found)
        self.assertEqual(found["while_paused"], 0, found)
        for stage in ("full_kib", "paused_kib", "peak_kib"):
            self.assertLess(found[stage], base_kib + limit_kib, found)
        self.kafka.delete_topic(topic)


if __name__ == "__main__":
    unittest.main()
