"""The programs and commands of docs/TESTING.md, with their output. cargo runs its programs in Rust, the suite sim its
simulation."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "real")]

import document  # noqa: E402
import support  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()


class Guide(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_commands(self, commands, folder=None):
        """Runs a block of commands; returns its standard output. Without `folder`, in one that has the libraries and
        programs where the project has them."""
        command = ["sh", "-e", "-c", commands]
        done = subprocess.run(
            command, cwd=folder or self.folder, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def link(self, path, target):
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).symlink_to(target)

    def test_the_first_test_in_c_has_the_output_of_the_document(self):
        support.need_library()
        support.need_program("pkg-config")
        blocks = document.blocks("TESTING.md", "A first test in C")
        self.link("build/lib", support.LIB_DIR)
        (self.folder / "first_test.c").write_text(document.single(blocks, "c"))
        output = self.run_commands(document.single(blocks, "sh"))
        self.assertEqual(output, document.single(blocks, "text"))

    def test_the_first_test_in_c_compiles_without_warnings(self):
        program = document.single(document.blocks("TESTING.md", "A first test in C"), "c")
        self.link("librdkafka", support.INCLUDE_DIR)
        compiler = os.environ.get("CC", "cc")
        done = subprocess.run(
            [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", self.folder, "-x", "c", "-"],
            input=program, text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_script_with_kcat_has_the_output_of_the_document(self):
        support.need_program("kcat")
        blocks = document.blocks("TESTING.md", "Any client over TCP")
        build, script = (text for kind, text in blocks if kind == "sh")
        self.run_commands(build, ROOT)
        self.link("target", TARGET)
        output = self.run_commands(script)
        self.assertEqual(without_time(output), without_time(document.single(blocks, "text")))


def without_time(output):
    """Returns an output without the timestamps of records."""
    return re.sub(r'("timestamp":)\d+', r"\1", output)


if __name__ == "__main__":
    unittest.main()
