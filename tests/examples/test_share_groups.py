"""The work queue of share consumers in C, C++ and Rust, on an embedded cluster, with the same arguments, output and exit status;
and the programs of docs/SHARE.md in C and C++. cargo runs those in Rust."""

import collections
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
import document  # noqa: E402
import support  # noqa: E402

CARGO = os.environ.get("CARGO", "cargo")
RUST_PROGRAMS = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "debug" / "examples"
LINE = re.compile(r"worker (\d+): (accepted|released|rejected) (.*) \(delivery (\d+)\)")


def setUpModule():
    for package in ("ottla-mock", "ottla"):
        subprocess.run([CARGO, "build", "-q", "-p", package, "--examples"], cwd=ROOT, check=True, timeout=900)


class Workers:
    """One language."""

    @classmethod
    def setUpClass(cls):
        support.need_library()

    def setUp(self):
        self.cluster = broker.Cluster(brokers=2, auto_create=False, share_earliest=True)
        self.addCleanup(self.cluster.close)

    def produce(self, jobs):
        self.cluster.topic("jobs", partitions=2)
        text = "".join(f"{job}\n" for job in jobs).encode()
        support.run(support.compiled("examples/c/producer.c"), self.cluster.bootstrap, "jobs", stdin=text)

    def work(self, *numbers):
        """Returns what the workers did with each job, in order: (what, delivery count)."""
        out, err = support.run(self.program(), self.cluster.bootstrap, "workers", "jobs", *numbers, timeout_s=120)
        self.assertEqual(err, b"")
        done = collections.defaultdict(list)
        for line in out.decode().splitlines():
            _, what, job, count = LINE.fullmatch(line).groups()
            done[job].append((int(count), what))
        return {job: sorted(events) for job, events in done.items()}

    def test_jobs_are_done_tried_again_and_rejected(self):
        good = [f"job {number}" for number in range(100)]
        self.produce([*good, "flaky", "fail"])
        expected = {job: [(1, "accepted")] for job in good}
        expected["flaky"] = [(1, "released"), (2, "accepted")]
        expected["fail"] = [(1, "released"), (2, "released"), (3, "rejected")]
        self.assertEqual(self.work(4, 3, 4), expected)
        # All of them are acknowledged.
        self.assertEqual(self.work(1, 3, 3), {})

    def test_wrong_arguments(self):
        for numbers in ([], ["g"], ["g", "t", "x"], ["g", "t", "1", "2", "3", "4"], ["g", "t", "1", "99999"]):
            out, err = support.run(self.program(), self.cluster.bootstrap, *numbers, status=2)
            self.assertRegex(err.decode(), "^usage: share_workers BROKERS GROUP TOPIC ")


class C(Workers, unittest.TestCase):
    @staticmethod
    def program():
        return support.compiled("examples/c/share_workers.c")


class Cpp(Workers, unittest.TestCase):
    @staticmethod
    def program():
        return support.compiled_cpp("examples/cpp/share_workers.cpp")


class Rust(Workers, unittest.TestCase):
    @staticmethod
    def program():
        return RUST_PROGRAMS / "share_workers"


class Guide(unittest.TestCase):
    """The programs of docs/SHARE.md."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compile(self, compiler, program):
        # The headers are included as after an installation.
        (self.folder / "librdkafka").symlink_to(support.INCLUDE_DIR)
        done = subprocess.run(
            [*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", self.folder, "-"],
            input=program, text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_first_program_has_the_output_of_the_document(self):
        support.need_library()
        support.need_program("pkg-config")
        blocks = document.blocks("SHARE.md", "A first program")
        (self.folder / "build").mkdir()
        (self.folder / "build" / "lib").symlink_to(support.LIB_DIR)
        (self.folder / "first_share.c").write_text(document.single(blocks, "c"))
        done = subprocess.run(["sh", "-e", "-c", document.single(blocks, "sh")], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, document.single(blocks, "text"))

    def test_the_first_program_compiles_without_warnings(self):
        program = document.single(document.blocks("SHARE.md", "A first program"), "c")
        self.compile([os.environ.get("CC", "cc"), "-std=c99", "-x", "c"], program)

    def test_the_loop_in_cpp_compiles(self):
        program = document.single(document.blocks("SHARE.md", "The same loop in C++"), "cpp")
        self.compile([*support.CXX11, "-x", "c++"], program)


if __name__ == "__main__":
    unittest.main()
