"""The table of deliberate differences agrees with the tests."""

import re
import unittest
from pathlib import Path

from differences import DIFFERENCES

FOLDER = Path(__file__).resolve().parent


class Table(unittest.TestCase):
    def test_each_difference_has_a_test(self):
        """A test is in the table if it calls differs(), by itself or by a method of its class; and only then."""
        asking = set()
        for path in FOLDER.glob("test_*.py"):
            methods = dict(re.findall(r"^    def (\w+)\(self.*?\n(.*?)(?=^    def |^class |\Z)", path.read_text(), re.M | re.S))
            helpers = [name for name, body in methods.items() if "self.differs(" in body]
            calls = [f"self.{name}(" for name in helpers if not name.startswith("test_")] + ["self.differs("]
            asking |= {name for name, body in methods.items()
                       if name.startswith("test_") and any(call in body for call in calls)}
        asking.discard(self._testMethodName)
        self.assertEqual(asking, set(DIFFERENCES))


if __name__ == "__main__":
    unittest.main()
