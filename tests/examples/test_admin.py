"""The admin examples in C and in Rust, on an embedded cluster: both have the same arguments, output and exit status."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "manual"), str(ROOT / "tests" / "real")]

import broker  # noqa: E402
import support  # noqa: E402

CARGO = os.environ.get("CARGO", "cargo")
RUST_PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "debug" / "examples"

# Arguments that are wrong, and errors of the brokers.
USAGE, REFUSED = 2, 1


def setUpModule():
    for package in ("ottla-mock", "ottla"):
        subprocess.run([CARGO, "build", "-q", "-p", package, "--examples"], cwd=ROOT, check=True, timeout=900)


class Examples:
    """One language. Every test has a cluster of its own."""

    def setUp(self):
        self.cluster = broker.Cluster(brokers=2, auto_create=False)
        self.addCleanup(self.cluster.close)

    def run_example(self, name, *arguments, status=0, brokers=None):
        """Returns the lines of the output, of the errors if `status` is not 0."""
        command = (self.program(name), brokers or self.cluster.bootstrap, *arguments)
        out, err = support.run(*command, status=status)
        return (err if status else out).decode().splitlines()

    # -- admin_topics

    def topics(self, *arguments, **options):
        return self.run_example("admin_topics", *arguments, **options)

    def test_topics_are_created_listed_described_altered_and_deleted(self):
        self.topics("create", "b", "2", "2", "retention.ms=600000", "cleanup.policy=compact")
        self.topics("create", "a", "1", "-1")
        self.assertEqual(sorted(self.topics("list")), ["a", "b"])
        title, *lines = self.topics("describe", "b")
        self.assertEqual(title, "b: 2 partitions")
        partitions, settings = lines[:2], set(lines[2:])
        for number, line in enumerate(partitions):
            self.assertRegex(line, rf"^  partition {number}: leader [12], replicas( [12]){{2}}, in sync( [12]){{2}}$")
        self.assertEqual(settings, {"  retention.ms=600000", "  cleanup.policy=compact"})
        self.topics("set", "b", "retention.ms", "max.message.bytes=2000")
        settings = set(self.topics("describe", "b")[3:])
        self.assertEqual(settings, {"  max.message.bytes=2000", "  cleanup.policy=compact"})
        self.topics("alter", "b", "5")
        self.assertEqual(self.topics("describe", "b")[0], "b: 5 partitions")
        self.topics("delete", "b", "a")
        self.assertEqual(self.topics("list"), [])

    def test_each_topic_has_its_error_and_the_others_are_described(self):
        self.topics("create", "t", "1", "1")
        refused = "refused by the broker"
        self.assertRegex(self.topics("create", "t", "1", "1", status=REFUSED)[0], f"^admin_topics: t: {refused}: ")
        self.assertRegex(self.topics("alter", "t", "1", status=REFUSED)[0], f"^admin_topics: t: {refused}: ")
        out, err = support.run(
            self.program("admin_topics"), self.cluster.bootstrap, "describe", "nowhere", "t", status=REFUSED)
        self.assertTrue(out.startswith(b"t: 1 partitions"), out)
        self.assertRegex(err.decode(), f"^admin_topics: nowhere: {refused}: ")
        errors = self.topics("delete", "nowhere", "t", status=REFUSED)
        self.assertEqual(len(errors), 1)
        self.assertEqual(self.topics("list"), [])

    def test_wrong_arguments_of_topics_are_the_callers_fault(self):
        for arguments in (["create", "t"], ["create", "t", "x", "1"], ["create", "t", "1", "1", "name"], ["vanish"], []):
            errors = self.topics(*arguments, status=USAGE)
            self.assertEqual(len(errors), 1, errors)

    # -- admin_acls

    def acls(self, *arguments, **options):
        return self.run_example("admin_acls", *arguments, **options)

    def test_entries_are_added_listed_and_removed(self):
        alice = ["--principal", "User:alice"]
        self.acls("add", "--topic", "t", *alice, "--operation", "Read", "--operation", "describe-configs")
        self.acls("add", "--group", "g", "--prefixed", "--principal", "User:bob", "--operation", "READ", "--deny",
                  "--host", "10.0.0.1")
        self.acls("add", "--cluster", *alice, "--operation", "create")
        of_topic = ["TOPIC LITERAL t: User:alice ALLOW DESCRIBE_CONFIGS from *",
                    "TOPIC LITERAL t: User:alice ALLOW READ from *"]
        of_group = "GROUP PREFIXED g: User:bob DENY READ from 10.0.0.1"
        of_cluster = "CLUSTER LITERAL kafka-cluster: User:alice ALLOW CREATE from *"
        self.assertEqual(sorted(self.acls("list")), sorted([*of_topic, of_group, of_cluster]))
        self.assertEqual(self.acls("list", "--deny"), [of_group])
        self.assertEqual(self.acls("list", "--cluster", *alice), [of_cluster])
        self.assertEqual(self.acls("remove", "--topic", "t", "--operation", "Read"), [of_topic[1]])
        self.assertEqual(self.acls("remove", "--topic", "other"), [])
        self.assertEqual(sorted(self.acls("list")), sorted([of_topic[0], of_group, of_cluster]))

    def test_wrong_arguments_of_entries_are_the_callers_fault(self):
        for arguments in (["add", "--topic", "t"], ["add", "--cluster", "--principal", "User:a", "--operation", "Fly"],
                          ["remove"], ["remove", "--principal", "User:a"], ["list", "--topic"], ["list", "--speed", "1"],
                          ["list", "--operation", "Read", "--operation", "Write"], ["forget"]):
            errors = self.acls(*arguments, status=USAGE)
            self.assertEqual(len(errors), 1, errors)
            self.assertRegex(errors[0], "^admin_acls: wrong arguments: ")

    # -- reset_offsets

    def reset(self, *arguments, **options):
        return self.run_example("reset_offsets", *arguments, **options)

    def fill(self, topic, count):
        """Creates a topic with two partitions, the first with `count` records."""
        self.topics("create", topic, "2", "1")
        out = support.run(
            support.compiled("examples/c/rdkafka_performance.c"), "-P", "-b", self.cluster.bootstrap, "-t", topic, "-p", "0",
            "-s", "10", "-c", count)[0]
        self.assertIn(b"0 failed", out)

    def test_offsets_are_reset_only_with_execute(self):
        self.fill("t", 10)
        to_latest = ["t [0]: none -> 10", "t [1]: none -> 0"]
        self.assertEqual(self.reset("g", "--to-latest", "--topic", "t"), to_latest)
        self.assertEqual(self.reset("g", "--to-latest", "--topic", "t", "--execute"), to_latest)
        self.assertEqual(self.reset("g", "--to-earliest"), ["t [0]: 10 -> 0", "t [1]: 0 -> 0"])
        self.assertEqual(self.reset("g", "--shift-by", "-3", "--execute"), ["t [0]: 10 -> 7", "t [1]: 0 -> 0"])
        self.assertEqual(self.reset("g", "--shift-by", str(2**63 - 1)), ["t [0]: 7 -> 10", "t [1]: 0 -> 0"])
        self.assertEqual(self.reset("g", "--shift-by", str(-2**63)), ["t [0]: 7 -> 0", "t [1]: 0 -> 0"])
        self.assertEqual(self.reset("g", "--to-time", "0"), ["t [0]: 7 -> 0", "t [1]: 0 -> 0"])
        after_all = ["t [0]: 7 -> 10", "t [1]: 0 -> 0"]
        self.assertEqual(self.reset("g", "--to-time", "99999999999999", "--execute"), after_all)
        self.assertEqual(self.reset("g", "--to-latest"), ["t [0]: 10 -> 10", "t [1]: 0 -> 0"])
        self.assertEqual(self.reset(), ["g Empty"])

    def test_a_group_with_members_is_left_alone(self):
        self.fill("t", 10)
        performance = support.compiled("examples/c/rdkafka_performance.c")
        member = support.start(performance, "-G", "g", "-b", self.cluster.bootstrap, "-t", "t", "-X",
                               "auto.offset.reset=earliest", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.assertTrue(broker.wait(lambda: "g Stable" in self.reset(), 30))
            (error,) = self.reset("g", "--to-earliest", "--topic", "t", "--execute", status=USAGE)
            self.assertEqual(
                error, "reset_offsets: wrong arguments: g: the group has members: stop its consumers first")
        finally:
            member.kill()
            member.wait()

    def test_wrong_arguments_of_offsets_are_the_callers_fault(self):
        self.fill("t", 1)
        for arguments in (["g"], ["g", "--to-earliest"], ["g", "--shift-by", "x"], ["g", "--shift-by", "1", "--topic", "t"],
                          ["g", "--sideways"]):
            errors = self.reset(*arguments, status=USAGE)
            self.assertTrue(re.match("reset_offsets: wrong arguments: ", errors[-1]), errors)
        (error,) = self.reset("g", "--to-latest", "--topic", "nowhere", status=REFUSED)
        self.assertRegex(error, "^reset_offsets: nowhere: refused by the broker: ")


class C(Examples, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()

    @staticmethod
    def program(name):
        return support.compiled(f"examples/c/{name}.c")


class Rust(Examples, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        support.need_library()

    @staticmethod
    def program(name):
        return RUST_PROGRAMS / name


class Guide(unittest.TestCase):
    """The examples of docs/ADMIN.md; cargo runs those in Rust."""

    def compile(self, language, command):
        text = (ROOT / "docs" / "ADMIN.md").read_text()
        blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
        self.assertEqual(len(blocks), 1)
        with tempfile.TemporaryDirectory() as folder:
            # The headers are included as after an installation.
            (Path(folder) / "librdkafka").symlink_to(support.INCLUDE_DIR)
            command = [*command, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", folder, "-"]
            done = subprocess.run(command, input=blocks[0], text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_example_in_c_compiles(self):
        self.compile("c", [os.environ.get("CC", "cc"), "-std=c99", "-x", "c"])

    def test_the_example_in_cpp_compiles(self):
        self.compile("cpp", [*support.CXX11, "-x", "c++"])


if __name__ == "__main__":
    unittest.main()
