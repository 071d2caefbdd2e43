"""Puts tests/real on the module path: brokers and helpers that benchmarks and soaks share with the tests. Import it first."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "real"))
