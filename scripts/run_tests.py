"""Runs the project's tests: prints one line for each suite, and details only of failures.

    python3 scripts/run_tests.py [--fast] [--list] [SUITE...]

The last line is "N passed, N failed". A suite that cannot run prints SKIP and the reason;
with CI=true in the environment a skipped suite that needs Kafka is a failure. Exit status 1
when a test failed or none ran. Full output of each suite: build/test/SUITE.log.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "test"
LIB_DIR = Path(os.environ.get("OTTLA_LIB_DIR") or ROOT / "build" / "lib")
CARGO = os.environ.get("CARGO", "cargo")
CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")

# Exit status of a test program that cannot run on this machine.
SKIPPED = 77
FAILURE_LINES_MAX = 60


class Result:
    """The result of a suite. `skipped` is the reason for which it, or a part of it, did not run."""

    def __init__(self, passed=0, failed=0, output="", skipped=""):
        self.passed = int(passed)
        self.failed = int(failed)
        self.output = output
        self.skipped = skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.output += other.output
        self.skipped = "; ".join(filter(None, [self.skipped, other.skipped]))


# Processes of the running suites of all lanes.
_running = set()


def execute(command, timeout_s, env=None):
    """Runs a command in a separate process group; returns (status, output)."""
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, **(env or {})}, start_new_session=True,
    )
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=timeout_s)
        status = process.returncode
    except BaseException as e:
        end(process)
        if not isinstance(e, subprocess.TimeoutExpired):
            raise
        output, _ = process.communicate()
        output += f"\nstopped after {timeout_s} s\n".encode()
        status = -1
    finally:
        _running.discard(process)
    return status, output.decode(errors="replace")


def end(process):
    """Ends the process group: SIGTERM first, since the real-Kafka tests stop their brokers on it."""
    for number, grace_s in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(grace_s)
            break
        except subprocess.TimeoutExpired:
            continue


def single(*command, timeout_s=900):
    """Returns a suite that runs one command and counts as one test."""
    def run():
        status, output = execute(list(command), timeout_s)
        return Result(int(status == 0), int(status != 0), output)
    return run


def rust():
    """Runs the workspace's unit, integration and documentation tests."""
    status, output = execute([CARGO, "test", "--workspace", "--no-fail-fast"], 1500)
    counts = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed", output, re.M)
    passed = sum(int(p) for p, _ in counts)
    failed = sum(int(f) for _, f in counts)
    if status != 0 and failed == 0:
        failed = 1  # a compilation error, or a test process that crashed
    return Result(passed, failed, output if failed == 0 else rust_failures(output))


def models():
    """Runs the thread models, in a separate target folder: their flags would cause rebuilds of everything."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "models"
    flags = f"{os.environ.get('RUSTFLAGS', '')} --cfg ottla_loom".strip()
    status, output = execute(
        [CARGO, "test", "-p", "ottla-core", "--lib", "--profile", "models", "--target-dir", str(target),
         "model_tests", "--", "--nocapture"], 3600, {"RUSTFLAGS": flags, "RUST_BACKTRACE": "0"})
    counts = re.search(r"^test result: \w+\. (\d+) passed; (\d+) failed", output, re.M)
    passed, failed = map(int, counts.groups()) if counts else (0, 0)
    if status != 0 and failed == 0:
        failed = 1
    return Result(passed, failed, output)


def rust_failures(output):
    """Returns the part of cargo's output that describes the failures."""
    kept = [part for part in re.findall(r"^failures:\n(.*?)^test result", output, re.M | re.S)]
    errors = [line for line in output.splitlines() if line.startswith(("error", "test result: FAILED"))]
    return output if not kept else "\n".join(kept) + "\n" + "\n".join(errors)


def programs(folder, build, libraries):
    """Returns a suite of the sources of tests/FOLDER, each a program that links the library and exits with 0 on success.
    `build` is the compiler's command without file names."""
    def suite():
        suffix = ".cpp" if folder == "cpp" else ".c"
        sources = sorted((ROOT / "tests" / folder).glob("*" + suffix))
        total = Result()
        if not sources:
            total.skipped = f"tests/{folder} contains no program"
        for source in sources:
            total.add(program(source, build, libraries))
        return total
    return suite


def compiled(source, target, build, libraries):
    """Compiles a test program; returns (status, output)."""
    return execute(
        [*build, "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Iinclude", f"-Itests/{source.parent.name}",
         "-o", str(target), str(source), f"-L{LIB_DIR}", *libraries, "-lpthread", "-lm"], 120)


def program(source, build, libraries):
    folder = source.parent.name
    target = ROOT / "build" / "test" / folder / source.stem
    target.parent.mkdir(parents=True, exist_ok=True)
    status, output = compiled(source, target, build, libraries)
    if status == 0:
        status, output = execute([str(target)], 180, {"LD_LIBRARY_PATH": str(LIB_DIR)})
    if status == SKIPPED:
        return Result(output=output, skipped=f"{source.name}: {last_line(output)}")
    passed = len(re.findall(r"^ok\b", output, re.M))
    failed = len(re.findall(r"^not ok\b", output, re.M))
    if status != 0 and failed == 0:
        failed = 1
        output += f"\n{source.name}: " + (f"killed by signal {-status}" if status < 0 else f"exit status {status}")
    if status == 0 and passed + failed == 0:
        passed = 1
    target.with_suffix(".log").write_text(output)
    if failed:
        # Successful cases are only in the program's own log.
        output = "\n".join(line for line in output.splitlines() if not line.startswith("ok "))
    return Result(passed, failed, f"--- {source.name}\n{output}\n" if failed else "")


# The reports of sanitizers.
SANITIZER_REPORT = re.compile(r"ERROR: \w+Sanitizer|: runtime error: ")


def memory():
    """Runs the C tests with AddressSanitizer, whose allocator also serves the library: detects leaks on either side, invalid
    frees, and use after free or out of bounds by the programs or the C library's functions. Only sanitizer reports and
    crashes are failures: failed cases are left to the suite c, since timing differs under the sanitizer."""
    # With sanitizers the compiler analyses other paths and warns differently; the suite c compiles without this option.
    build = [CC, "-std=gnu11", "-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-Wno-format-truncation"]
    canary = ROOT / "tests" / "c" / "canary" / "leak.c"
    status, output = sanitized(canary, build)
    if not SANITIZER_REPORT.search(output):
        return Result(0, 1, f"the leak of {canary.name} was not reported (status {status}):\n{output}")
    total = Result(1)
    for source in sorted((ROOT / "tests" / "c").glob("*.c")):
        status, output = sanitized(source, build)
        if status < 0 or SANITIZER_REPORT.search(output):
            total.add(Result(0, 1, f"--- {source.name}: status {status}\n{output}\n"))
        else:
            total.add(Result(1))
    return total


def sanitized(source, build):
    """Builds and runs a program under sanitizers; returns (status, output)."""
    target = ROOT / "build" / "test" / "memory" / source.stem
    target.parent.mkdir(parents=True, exist_ok=True)
    status, output = compiled(source, target, build, ["-lrdkafka"])
    if status != 0:
        return -1, output
    return execute([str(target)], 300, {"LD_LIBRARY_PATH": str(LIB_DIR)})


def cpp():
    """Tests the C++ interface: the programs in C++11, the oldest supported standard, with the C++ library under
    AddressSanitizer; the programs in C++17; and the header against the list of declarations that programs use."""
    if shutil.which(CXX) is None:
        return Result(skipped=f"no C++ compiler {CXX} (make deps)")
    sanitize = "-fsanitize=address,undefined"
    folder = "build/test/sanitized"
    library = f"{folder}/lib/librdkafka++.a"
    status, output = execute(
        ["make", "--no-print-directory", f"BUILD={folder}", f"CXX={CXX}",
         f"CXXFLAGS=-O1 -g -Werror -fno-omit-frame-pointer {sanitize}", library], 600)
    if status != 0:
        return Result(0, 1, output)
    total = programs("cpp", [CXX, "-std=c++11", sanitize], [library, "-lrdkafka"])()
    total.add(programs("cpp", [CXX, "-std=c++17"], ["-lrdkafka++", "-lrdkafka"])())
    total.add(python_tests("tests/cpp")())
    return total


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"


def python_tests(folder, timeout_s=900):
    """Returns a suite of the unittest files test_*.py of a folder."""
    def run():
        status, output = execute(
            [sys.executable, "-m", "unittest", "discover", "-v", "-s", folder, "-t", folder], timeout_s)
        return unittest_result(status, output)
    return run


def unittest_result(status, output):
    ran = re.search(r"^Ran (\d+) tests? in", output, re.M)
    if not ran:
        return Result(0, 1, output)
    def count(what):
        found = re.search(rf"\b{what}=(\d+)", output)
        return int(found.group(1)) if found else 0
    failed = count("failures") + count("errors") + count("unexpected successes")
    skipped = sorted(set(re.findall(r"\.\.\. skipped ['\"](.*)['\"]$", output, re.M)))
    passed = max(0, int(ran.group(1)) - failed - count("skipped"))
    if status != 0 and failed == 0:
        failed = 1
    if failed:
        # Only the reports of the failures, not the list of all tests.
        _, _, output = output.partition("\n======")
    return Result(passed, failed, output, "; ".join(skipped))


# Where `make deny` installs cargo-deny, whose build takes minutes.
TOOLS = ROOT / ".cache" / "tools" / "bin"


def deny():
    """Checks the dependency policy, deny.toml. Advisories are checked only when their database is in cargo's home
    folder; it is not downloaded here."""
    path = f"{TOOLS}{os.pathsep}{os.environ.get('PATH', '')}"
    if shutil.which("cargo-deny", path=path) is None:
        return Result(skipped="cargo-deny is not installed (make deny)")
    checks = ["bans", "licenses", "sources"]
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    has_advisories = any(home.glob("advisory-db*/*"))
    status, output = execute([CARGO, "deny", "check", *checks], 300, {"PATH": path})
    if status == 0 and has_advisories:
        status, output = execute([CARGO, "deny", "--offline", "check", "advisories"], 300, {"PATH": path})
    skipped = "" if has_advisories else "advisories: no database (cargo deny fetch)"
    return Result(int(status == 0), int(status != 0), output, skipped)


def manuals():
    """Checks that the generated documents match the tables that they are generated from."""
    total = Result()
    for command in ("gen-config", "gen-stats", "gen-architecture"):
        total.add(single(CARGO, "xtask", command, "--check")())
    return total


# Number of worlds, with the same seeds in every run: a failure is caused by a change. `make soak` searches for new
# failures in worlds with seeds from the clock.
SIM_WORLDS = 600


def sim():
    """Runs the simulator: worlds from fixed seeds, worlds that failed in the past, and every deliberate bug, which the
    checks must detect; and the application of docs/TESTING.md."""
    status, output = execute([CARGO, "build", "-q", "--profile", "sim", "-p", "ottla-sim", "--bins", "--examples"], 900)
    if status != 0:
        return Result(0, 1, output)
    program = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target") / "sim" / "ottla-sim"
    jobs = ["--jobs", str(os.cpu_count() or 1)]
    total = Result()
    for options in (["--seeds", str(SIM_WORLDS)], ["--regressions"], ["--canaries"]):
        status, output = execute([str(program), *options, *jobs], 300)
        total.add(Result(int(status == 0), int(status != 0), f"ottla-sim {' '.join(options)}\n{output}\n"))
    total.add(python_tests("tests/sim")())
    return total


def manual():
    """Tests the statements of librdkafka's manual on a scripted broker, one test for each."""
    status, output = execute([sys.executable, "tests/manual/run.py"], 900)
    return unittest_result(status, output)


# Name, requirement besides a build ("kafka": brokers), function.
CHECKS = [
    ("fmt", "", single(CARGO, "fmt", "--all", "--check")),
    ("clippy", "", single(CARGO, "clippy", "-q", "--workspace", "--all-targets", "--", "-D", "warnings")),
    ("layers", "", single(CARGO, "xtask", "layers")),
    ("tidy", "", single(CARGO, "xtask", "tidy")),
    ("licences", "", single(CARGO, "xtask", "licences")),
    ("deny", "", deny),
    ("config", "", manuals),
]
LIBRARY = [
    ("lib", "", single("make", "--no-print-directory", "lib", "examples", timeout_s=1500)),
    ("header", "", single(CARGO, "xtask", "header")),
]
PROGRAMS = [
    ("rust", "", rust),
    ("c", "", programs("c", [CC, "-std=gnu11"], ["-lrdkafka"])),
    ("cpp", "", cpp),
    ("install", "", python_tests("tests/install")),
    ("examples", "", python_tests("tests/examples")),
    ("manual", "", manual),
]
REAL = [
    ("real", "kafka", python_tests("tests/real", timeout_s=2700)),
    ("bench", "kafka", python_tests("bench")),
]
# These do not look at the clock.
PROOFS = [("sim", "", sim), ("models", "", models), ("memory", "", memory)]

# Stages run one after the other; the lanes of a stage run in parallel. Suites that measure time run alone. The exception
# are the tests on real brokers: they wait most of the time, have long timeouts, and run at a higher priority than the
# other lanes of their stage.
STAGES = [[CHECKS, LIBRARY], [PROGRAMS], [REAL, PROOFS]]

# The files that all suites write in a clean clone, in GB: almost all of them are in cargo's target folder.
DISK_GB = 15


def main():
    parser = argparse.ArgumentParser(description="Run the project's tests")
    parser.add_argument("--fast", action="store_true", help="leave out the suites that need Kafka brokers")
    parser.add_argument("--list", action="store_true", help="list the suites")
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    args = parser.parse_args()
    known = [name for stage in STAGES for lane in stage for name, _, _ in lane]
    if args.list:
        print("\n".join(known))
        return 0
    for name in args.suites:
        if name not in known:
            parser.error(f"no suite {name!r}: the suites are {', '.join(known)}")
    # SIGTERM ends the suites, so that no brokers remain.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if not args.suites:
        subprocess.run(["sh", str(ROOT / "scripts" / "setup.sh")], cwd=ROOT)
    LOGS.mkdir(parents=True, exist_ok=True)
    free_gb = shutil.disk_usage(ROOT).free / 1e9
    if not args.suites and free_gb < DISK_GB:
        print(f"note: {free_gb:.0f} GB of disk are free, and a run of all suites in a clean clone writes {DISK_GB} GB")
    tally = Tally()
    for stage in STAGES:
        run_stage([[s for s in lane if (not args.suites or s[0] in args.suites) and not (args.fast and s[1])]
                   for lane in stage], tally)
    return tally.end()


class Tally:
    """The results of all suites, printed as they end."""

    def __init__(self):
        self.passed = self.failed = 0
        self.begin = time.monotonic()
        self.in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
        self.lock = threading.Lock()

    def run(self, name, needs, suite):
        start = time.monotonic()
        try:
            result = suite()
        except Exception:
            result = Result(0, 1, traceback.format_exc())
        (LOGS / f"{name}.log").write_text(result.output)
        if result.skipped and self.in_ci and needs == "kafka":
            result.failed += 1
            result.output += f"\nskipped, which is a failure with CI=true: {result.skipped}\n"
        with self.lock:
            report(name, result, time.monotonic() - start)
            self.passed += result.passed
            self.failed += result.failed

    def end(self):
        print(f"total {time.monotonic() - self.begin:.0f} s; full output in {LOGS.relative_to(ROOT)}/")
        if self.passed + self.failed == 0:
            print("nothing ran")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or self.passed == 0 else 0


def run_stage(lanes, tally):
    """Runs the first lane in this thread and the others in further threads at a lower priority."""
    def lane(suites, nice):
        # Applies to this thread and to the processes that it starts.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
        for suite in suites:
            if not stopped.is_set():
                tally.run(*suite)

    stopped = threading.Event()
    threads = [threading.Thread(target=lane, args=(suites, 10)) for suites in lanes[1:] if suites]
    for thread in threads:
        thread.start()
    try:
        for suite in lanes[0]:
            tally.run(*suite)
    except BaseException:
        stopped.set()
        for process in list(_running):
            end(process)
        raise
    for thread in threads:
        thread.join()


def report(name, result, seconds):
    word = "FAIL" if result.failed else "ok" if result.passed else "SKIP"
    line = f"{word:<4} {name:<10} {seconds:6.1f} s  {result.passed} passed"
    if result.failed:
        line += f", {result.failed} failed"
    if result.skipped:
        line += f"  (SKIP: {result.skipped})"
    print(line, flush=True)
    if result.failed:
        lines = result.output.strip().splitlines()
        if len(lines) > FAILURE_LINES_MAX:
            print(f"     ... {len(lines) - FAILURE_LINES_MAX} lines before, in build/test/{name}.log")
        for text in lines[-FAILURE_LINES_MAX:]:
            print("     " + text)


if __name__ == "__main__":
    if shutil.which("make") is None:
        sys.exit("run_tests.py: make is missing: apt-get install make")
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
