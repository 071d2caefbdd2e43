"""Runs the C and C++ test programs while their threads are delayed at random (delays.c), with one seed after the other.

    python3 tests/delays/run.py [--minutes N] [--seed N] [PROGRAM...]

PROGRAM is the file of a program below tests/, such as c/group. Prints the failed cases with the command that repeats
them: it makes the same delays, which cause the failure again in most runs. Exit status 1 when a case failed.
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "test" / "delays"
LIB_DIR = Path(os.environ.get("OTTLA_LIB_DIR") or ROOT / "build" / "lib")
COMPILERS = {
    "c": [os.environ.get("CC", "cc"), "-std=gnu11"],
    "cpp": [os.environ.get("CXX", "c++"), "-std=c++17"],
}
LIBRARIES = {"c": ["-lrdkafka"], "cpp": ["-lrdkafka++", "-lrdkafka"]}

# Exit status of a test program that cannot run on this machine.
SKIPPED = 77
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
    compile_source([*COMPILERS["c"], "-O1", "-fPIC", "-shared", "-o", shim, ROOT / "tests" / "delays" / "delays.c", "-ldl"])
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
    compile_source([*COMPILERS[folder], "-g", "-O1", "-Iinclude", f"-Itests/{folder}", source, "-o", target,
                    f"-L{LIB_DIR}", *LIBRARIES[folder], "-lpthread"])
    return target


def compile_source(command):
    """Runs a compiler, or ends the program with its errors."""
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}")


def run(target, shim, seed):
    """Runs a program once. Returns a description of its failure, or None."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(LIB_DIR), "LD_PRELOAD": str(shim), "DELAYS_SEED": str(seed)}
    try:
        done = subprocess.run([target], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        status, output = done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as e:
        status, output = f"none after {TIMEOUT_S} s", (e.stdout or b"").decode(errors="replace")
    lines = [line for line in output.splitlines() if not line.startswith(("ok ", "1.."))]
    failed = {line.split(" - ")[-1] for line in lines if line.startswith("not ok ")}
    if status in (0, SKIPPED) or (status == 1 and failed and failed <= MEASURES_TIME):
        return None
    name = f"{target.parent.name}/{target.name}"
    return "\n     ".join([f"FAIL {name}, status {status}: python3 tests/delays/run.py --minutes 0 --seed {seed} {name}",
                           *lines[-20:]])


if __name__ == "__main__":
    sys.exit(main())
