"""The admin API on brokers before KRaft: what a broker can do is done, and the rest is refused with its reason."""

import time
import unittest
from dataclasses import dataclass, field

import admin_calls
import generations
import kafka
import support
from test_admin import ALLOW, ANY, GROUP_NOT_FOUND, LITERAL, PREFIXED, READ, SHA_256, TOPIC, UNKNOWN_TOPIC

VERSIONS = ("0.11.0.3", "1.1.1", "2.8.2")
UNSUPPORTED = -165
INVALID_CONFIG, ELECTION_NOT_NEEDED = 40, 84


@dataclass
class Call:
    """A call, the errors of its rows, and the first version of Kafka that serves it. `refusal`: the text on earlier ones."""

    operation: str
    arguments: tuple = ()
    codes: tuple = (0,)
    since: tuple = (0,)
    refusal: str = ""
    options: dict = field(default_factory=dict)


def unsupported(api):
    return f"the broker does not support {api}"


ACL = f"{TOPIC}|acl|{LITERAL}|User:one|*|{READ}|{ALLOW}"
CALLS = (
    Call("DescribeCluster", codes=(None,)),
    Call("DescribeCluster", (), (None,), (2, 3), "the broker has no authorized operations of the cluster (KIP-430): that "
         "requires Kafka 2.3", {"authorized": 1}),
    Call("CreateTopics", ("t|2|1|retention.ms=5000", "u|1|1"), (0, 0)),
    Call("CreateTopics", ("v|1|1", "w|1|1|x=y"), (0, INVALID_CONFIG), options={"validate": 1}),
    Call("CreateTopics", ("d|1|-1",), (0,), (2, 4), "topic d: the broker has no default for partitions and replicas (KIP-464): "
         "that requires Kafka 2.4"),
    Call("DescribeTopics", ("t", "v"), (0, UNKNOWN_TOPIC)),
    Call("DescribeTopics", ("t",), (0,), (2, 3), "the broker has no authorized operations of topics (KIP-430): that requires "
         "Kafka 2.3", {"authorized": 1}),
    Call("CreatePartitions", ("u|3",), (0,), (1, 0), unsupported("CreatePartitions")),
    Call("DescribeConfigs", ("topic|t|retention.ms", "broker|0|num.partitions"), (0, 0)),
    Call("AlterConfigs", ("topic|t|retention.ms=7000",)),
    Call("IncrementalAlterConfigs", ("topic|t|=retention.ms=8000",), (0,), (2, 3), unsupported("IncrementalAlterConfigs")),
    Call("ListOffsets", ("t|0|-1", "t|1|-2"), (0, 0)),
    Call("ListOffsets", ("t|0|-1",), options={"isolation": 1}),
    Call("ListOffsets", ("t|0|-3",), (0,), (3, 0), unsupported("ListOffsets for this kind of offset")),
    Call("DeleteRecords", ("t|0|-1",)),
    Call("AlterConsumerGroupOffsets", ("g|t:0:4|t:1:5", "h|t:0:6"), (0, 0)),
    Call("ListConsumerGroupOffsets", ("g", "h|t:0|t:1"), (0, 0)),
    Call("ListConsumerGroupOffsets", ("g",), (0,), (2, 5), "the broker cannot require stable offsets (KIP-447): that requires "
         "Kafka 2.5", {"stable": 1}),
    Call("DescribeConsumerGroups", ("g", "unknown"), (0, 0)),
    Call("DescribeConsumerGroups", ("g",), (0,), (2, 3), "the broker has no authorized operations of groups (KIP-430): that "
         "requires Kafka 2.3", {"authorized": 1}),
    Call("ListConsumerGroups", (), (None, None)),
    Call("ListConsumerGroups", (), (None, None), (2, 6), "the broker cannot filter groups by state (KIP-518): that requires "
         "Kafka 2.6", {"states": "Empty"}),
    # These brokers have only classic groups.
    Call("ListConsumerGroups", (), (None, None), options={"types": "Classic"}),
    Call("ListConsumerGroups", (), (None, None), (3, 8), "the broker cannot filter groups by type (KIP-848): that requires "
         "Kafka 3.8", {"types": "Consumer"}),
    Call("DeleteConsumerGroupOffsets", ("g|t:0",), (0,), (2, 4), unsupported("OffsetDelete")),
    Call("DeleteGroups", ("h", "unknown"), (0, GROUP_NOT_FOUND), (1, 1), unsupported("DeleteGroups")),
    Call("ElectLeaders", ("preferred", "t|0"), (ELECTION_NOT_NEEDED,), (2, 2), unsupported("ElectLeaders")),
    Call("ElectLeaders", ("unclean", "t|0"), (ELECTION_NOT_NEEDED,), (2, 4), unsupported("ElectLeaders")),
    Call("CreateAcls", (ACL, f"{TOPIC}|acl|{LITERAL}|User:two|10.0.0.1|{READ}|{ALLOW}"), (0, 0)),
    Call("CreateAcls", (f"{TOPIC}|acl|{PREFIXED}|User:one|*|{READ}|{ALLOW}",), (0,), (2, 0),
         "the broker has no types of patterns in access control entries (KIP-290): that requires Kafka 2.0"),
    Call("DescribeAcls", (f"{TOPIC}|acl|{LITERAL}|||{ANY}|{ANY}",), (None, None)),
    Call("DeleteAcls", (f"{TOPIC}|acl|{LITERAL}|User:one||{ANY}|{ANY}",)),
    Call("DescribeAcls", (f"{TOPIC}|acl|{LITERAL}|||{ANY}|{ANY}",), (None,)),
    Call("AlterUserScramCredentials", (f"user|{SHA_256}|4096|secret",), (0,), (2, 7), unsupported("AlterUserScramCredentials")),
    Call("DescribeUserScramCredentials", ("user",), (0,), (2, 7), unsupported("DescribeUserScramCredentials")),
    Call("DeleteTopics", ("u", "v"), (0, UNKNOWN_TOPIC)),
)


def first_error(result):
    """Returns (code, text) of the call's error, or else of its first row with one."""
    rows = [result, *result.get("rows", ())]
    return next(((row["code"], row["text"]) for row in rows if row.get("code")), None)


class Generations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()

    def check_version(self, version):
        settings = generations.authorizer(version) | {"delete.topic.enable": "true"}
        try:
            started = generations.broker(version, settings=settings)
            bootstrap = self.enterContext(started)
        except kafka.Unavailable as e:
            self.skipTest(str(e))
        ours = admin_calls.Ours(bootstrap)
        results = []
        for call in CALLS:
            result = ours.call(call.operation, *call.arguments, timeout=30_000, **call.options)
            results.append(result)
            with self.subTest(version=version, call=call.operation, arguments=call.arguments, options=call.options):
                self.check(version, call, result)
            if call.operation == "CreateTopics":
                time.sleep(0.5)
        self.check_rows(version, results)
        self.assertEqual(ours.close(), 0)

    def check(self, version, call, result):
        if generations.numbers(version) >= call.since:
            self.assertEqual(result["code"], 0, result)
            self.assertEqual(tuple(row.get("code") for row in result["rows"]), call.codes, result)
            return
        code, text = first_error(result)
        self.assertEqual(code, UNSUPPORTED, result)
        self.assertTrue(text == call.refusal or text.startswith(f"{call.refusal}: that requires version"), text)

    def check_rows(self, version, results):
        """Checks that results contain what earlier calls have done."""
        known = generations.numbers(version)
        by_operation = {}
        for call, result in zip(CALLS, results, strict=True):
            by_operation.setdefault(call.operation, []).append(result.get("rows"))
        topic, _ = by_operation["DescribeTopics"][0]
        self.assertEqual([p["leader"] for p in topic["partitions"]], [0, 0])
        entry = by_operation["DescribeConfigs"][0][0]["entries"]["retention.ms"]
        self.assertEqual((entry["value"], entry["default"]), ("5000", 0))
        offsets = [sorted((p["partition"], p["offset"]) for p in row["partitions"])
                   for row in by_operation["ListConsumerGroupOffsets"][0]]
        self.assertEqual(offsets, [[(0, 4), (1, 5)], [(0, 6), (1, -1001)]])
        self.assertEqual([row["state"] for row in by_operation["DescribeConsumerGroups"][0]], ["Empty", "Dead"])
        self.assertEqual([row["group"] for row in by_operation["ListConsumerGroups"][0]], ["g", "h"])
        self.assertEqual([acl["principal"] for acl in by_operation["DescribeAcls"][1]], ["User:two"])
        (cluster,) = by_operation["DescribeCluster"][0]
        self.assertEqual((cluster["controller"], [node["id"] for node in cluster["nodes"]]), (0, [0]))
        if known >= (2, 7):
            self.assertEqual(by_operation["DescribeUserScramCredentials"][0][0]["credentials"], [[SHA_256, 4096]])


def check_of(version):
    return lambda self: self.check_version(version)


for each in VERSIONS:
    setattr(Generations, f"test_kafka_{each.replace('.', '_')}", check_of(each))


if __name__ == "__main__":
    unittest.main()
