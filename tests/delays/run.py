"""Runs the C and C++ test programs while their threads are delayed at random (delays.c), with one seed after the other.

    python3 tests/delays/run.py [--minutes N] [--seed N] [PROGRAM...]

PROGRAM is the file of a program below tests/, such as c/group. Prints the failed cases with the command that repeats
them: it makes the same delays, which cause the failure again in most runs. Exit status 1 when a case failed.
"""

import argparse
import concurrent.futures
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from run_tests import CC, CXX, LIB_DIR, ROOT, SKIPPED, compiled, execute

BUILD = ROOT / "build" / "test" / "delays"
COMPILERS = {"c": [CC, "-std=gnu11"], "cpp": [CXX, "-std=c++17"]}
LIBRARIES = {"c": ["-lrdkafka"], "cpp": ["-lrdkafka++", "-lrdkafka"]}
TIMEOUT_S = 600

# Cases that measure how soon something happens, which delays change.
MEASURES_TIME = {"report_after_idle_time", "report_during_metadata_refreshes", "linger_is_no_longer_than_asked_for"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="begin no further seed after this time (10)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first seed (the clock)")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    args = parser.parse_args()
    programs = sources()
    missing = set(args.programs) - set(programs)
    if missing:
        parser.error(f"no such program: {', '.join(sorted(missing))}")
    programs = [programs[name] for name in args.programs or programs]
    BUILD.mkdir(parents=True, exist_ok=True)
    shim = BUILD / "delays.so"
    must_succeed(compiled(ROOT / "tests" / "delays" / "delays.c", shim, [*COMPILERS["c"], "-fPIC", "-shared"], ["-ldl"]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        targets = list(pool.map(build, programs))
    # More programs than processors: the machine is loaded as well.
    end, runs, failures = time.monotonic() + args.minutes * 60, 0, 0
    with concurrent.futures.ThreadPoolExecutor(3 * (os.cpu_count() or 1)) as pool:
        seed = args.seed
        while True:
            for failure in pool.map(lambda target: run(target, shim, seed), targets):
                runs += 1
                if failure:
                    failures += 1
                    print(failure, flush=True)
            seed += 1
            if time.monotonic() >= end:
                break
    print(f"seeds {args.seed} to {seed - 1}: {runs} runs, {failures} failed")
    return 1 if failures else 0


def sources():
    """Returns the sources of the test programs by their names."""
    found = sorted((ROOT / "tests" / "c").glob("*.c")) + sorted((ROOT / "tests" / "cpp").glob("*.cpp"))
    return {f"{source.parent.name}/{source.stem}": source for source in found}


def build(source):
    folder = source.parent.name
    target = BUILD / folder / source.stem
    target.parent.mkdir(exist_ok=True)
    must_succeed(compiled(source, target, COMPILERS[folder], LIBRARIES[folder]))
    return target


def must_succeed(compilation):
    """Ends the program with the errors of a compiler."""
    status, output = compilation
    if status:
        sys.exit(output)


def run(target, shim, seed):
    """Runs a program once. Returns a description of its failure, or None."""
    env = {"LD_LIBRARY_PATH": str(LIB_DIR), "LD_PRELOAD": str(shim), "DELAYS_SEED": str(seed)}
    status, output = execute([str(target)], TIMEOUT_S, env)
    lines = [line for line in output.splitlines() if not line.startswith(("ok ", "1.."))]
    failed = {line.split(" - ")[-1] for line in lines if line.startswith("not ok ")}
    if status in (0, SKIPPED) or (status == 1 and failed and failed <= MEASURES_TIME):
        return None
    name = f"{target.parent.name}/{target.name}"
    return "\n     ".join([f"FAIL {name}, status {status}: python3 tests/delays/run.py --minutes 0 --seed {seed} {name}",
                           *lines[-20:]])


if __name__ == "__main__":
    sys.exit(main())
