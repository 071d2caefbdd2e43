"""The simulated application of docs/TESTING.md. The output depends on every detail of the client, so a change of the client
changes its numbers: the test compares what they mean. The suite sim has built the program."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "examples")]

import document  # noqa: E402

PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "sim" / "examples" / "invoices"

NUMBER = re.compile(r"\d+")
# Lines that the document has left out.
LEFT_OUT = "  ..."


class Simulation(unittest.TestCase):
    def test_the_invoices_have_the_output_of_the_document(self):
        blocks = document.blocks("TESTING.md", "Simulated worlds")
        self.assertIn("--example invoices", blocks[0][1])
        described = blocks[1][1].splitlines()
        done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        written = {shape(line) for line in done.stdout.splitlines()}
        self.assertIn(LEFT_OUT, described)
        for line in described:
            if line != LEFT_OUT:
                self.assertIn(shape(line), written)


def shape(line):
    """Returns a line without its numbers, truth values and alignment."""
    return " ".join(NUMBER.sub("0", line).replace("false", "true").split())


if __name__ == "__main__":
    unittest.main()
