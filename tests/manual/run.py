"""Runs the tests of the manual, each in a separate process, several at a time.

    python3 tests/manual/run.py [--jobs N] [TEST...]

TEST is part of a test's name. OTTLA_LIB_DIR chooses the library, build/lib by default. The scripted broker is built
first. The output is unittest's: the failures, then "Ran N tests", then OK or FAILED.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# A test that runs longer hangs.
TEST_TIMEOUT_S = 60


def names():
    """The names of all tests, as in test_delivery.Reports.test_name."""
    found = []
    for path in sorted(FOLDER.glob("test_*.py")):
        loaded = unittest.defaultTestLoader.loadTestsFromName(path.stem)
        for suite in loaded:
            found += [test.id() for test in suite]
    return found


def run(name):
    """Runs a test. Returns (name, seconds, what went wrong or None)."""
    start = time.monotonic()
    process = subprocess.Popen([sys.executable, "-m", "unittest", name], cwd=FOLDER, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = process.communicate(timeout=TEST_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        output += f"\nFAIL: {name}: stopped after {TEST_TIMEOUT_S} s"
    seconds = time.monotonic() - start
    if process.returncode == 0:
        return name, seconds, None
    if process.returncode < 0:
        output += f"\nFAIL: {name}: killed by signal {-process.returncode}"
    # Without the summary of the single test: the total follows at the end.
    report, _, _ = output.partition("-" * 70 + "\nRan 1 test")
    return name, seconds, report[report.find("=" * 70):].strip() if "=" * 70 in report else report.strip()


def main():
    parser = argparse.ArgumentParser(description="Run the tests of the manual")
    parser.add_argument("--jobs", type=int, default=8, help="tests at a time; most of their time they wait")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    args = parser.parse_args()
    build = [os.environ.get("CARGO", "cargo"), "build", "-q", "-p", "ottla-mock", "--example", "scripted_broker"]
    if subprocess.run(build, cwd=FOLDER).returncode != 0:
        return 1
    sys.path.insert(0, str(FOLDER))
    chosen = [name for name in names() if not args.tests or any(part in name for part in args.tests)]
    start, failures = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, seconds, wrong in pool.map(run, chosen):
            print(f"{name} ({seconds:.1f} s) ... {'FAIL' if wrong else 'ok'}", flush=True)
            if wrong:
                failures.append(wrong)
    for wrong in failures:
        print("\n" + wrong)
    print("-" * 70)
    print(f"Ran {len(chosen)} tests in {time.monotonic() - start:.1f}s\n")
    print(f"FAILED (failures={len(failures)})" if failures else "OK")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
