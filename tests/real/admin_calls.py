"""Clients of the admin API: the library under test, and Kafka's own Java client, which understand the same calls.

    ours = admin_calls.Ours(cluster.bootstrap)
    ours.call("CreateTopics", "t|4|3|retention.ms=5000", timeout=5000)["rows"]

admin/program.h and AdminCheck.java describe the calls and the results.
"""

import atexit
import functools
import json
import subprocess
import threading
import time

import kafka
import support

PROGRAM = "tests/real/admin_client.c"
# With the operations that librdkafka does not have.
FURTHER = "tests/real/admin_further.c"
CHECK = [kafka.ROOT / "tests" / "real" / name for name in ("AdminCheck.java", "AdminFurther.java", "StreamsMember.java")]
RESULT_S = 90


class Lost(AssertionError):
    """A call without a result."""


class Session:
    """A program that serves calls until `close`. Calls may be made by several threads."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, preexec_fn=kafka.end_with_parent, **options)
        self.changed = threading.Condition()
        self.results = {}
        # Errors of the client itself.
        self.errors = []
        self.last = 0
        self.has_ended = False
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            for line in self.process.stdout:
                self._take(json.loads(line))
        finally:
            with self.changed:
                self.has_ended = True
                self.changed.notify_all()

    def _take(self, result):
        with self.changed:
            if result["id"] is None:
                self.errors.append(result)
            else:
                self.results[result["id"]] = result
            self.changed.notify_all()

    def begin(self, operation, *arguments, **options):
        """Makes a call; returns its id."""
        with self.changed:
            self.last += 1
            number = str(self.last)
            fields = [number, operation, *(f"@{name}={value}" for name, value in options.items()), *map(str, arguments)]
            self.process.stdin.write("\t".join(fields) + "\n")
            self.process.stdin.flush()
        return number

    def result(self, number, timeout_s=RESULT_S):
        """Waits for the result of a call."""
        end = time.monotonic() + timeout_s
        with self.changed:
            while number not in self.results:
                if self.has_ended or not self.changed.wait(end - time.monotonic()):
                    raise Lost(f"call {number} has no result: the program {'ended' if self.has_ended else 'still runs'}")
            return self.results.pop(number)

    def call(self, operation, *arguments, **options):
        return self.result(self.begin(operation, *arguments, **options))

    def close(self, timeout_s=60):
        """Ends the program once every call has its result; returns its exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Lost(f"the program still runs {timeout_s} s after its last call") from None
        finally:
            self.reader.join()
            self.process.stdout.close()


class Ours(Session):
    """The library under test. `properties`: PROPERTY=VALUE."""

    def __init__(self, bootstrap, *properties, program=PROGRAM):
        super().__init__([support.compiled(program), bootstrap, *properties], env=support.environment())


class Java(Session):
    """Kafka's own client."""

    def __init__(self, bootstrap, *properties):
        super().__init__([*java_command(), bootstrap, *properties], stderr=subprocess.DEVNULL)

    def tool(self, main_class, *arguments):
        """Returns the output of one of Kafka's tools, which runs in the program's process."""
        result = self.call("Tool", main_class, *arguments)
        if codes(result) != [0]:
            raise AssertionError(f"{main_class}: {result}")
        return result["rows"][0]["output"]

    def user(self, bootstrap, name, password, is_token=False):
        """Returns a client with SCRAM-SHA-256, in the program's process."""
        return User(self, "|".join([bootstrap, name, password, *(["token"] if is_token else [])]))


class User:
    """A client of the Java program with its own login."""

    def __init__(self, session, login):
        self.session = session
        self.login = login

    def call(self, operation, *arguments, **options):
        return self.session.call(operation, *arguments, login=self.login, **options)


_java = None


def java(cluster):
    """Returns Java's client on a cluster. It runs until another cluster is used, or the tests end."""
    global _java
    if _java is None or _java[0] is not cluster:
        close_java()
        _java = cluster, Java(cluster.bootstrap)
    return _java[1]


@atexit.register
def close_java():
    global _java
    if _java is not None:
        _java[1].close()
    _java = None


@functools.cache
def java_command():
    """Compiles the Java program; returns the command that runs it."""
    _, libs = kafka.fetch()
    classes = support.BIN_DIR / "java"
    classes.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["javac", "-nowarn", "-cp", f"{libs}/*", "-d", str(classes), *map(str, CHECK)],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"AdminCheck.java does not compile:\n{done.stderr}")
    return kafka.java_command(libs, "AdminCheck", kafka.tool_options(), classes)


def codes(result):
    """Returns the error codes of the rows, or that of the call."""
    return [row["code"] for row in result["rows"]] if result["code"] == 0 else result["code"]


def rows_by(key, result):
    """Returns the rows of a successful call by one of their fields."""
    assert result["code"] == 0, result
    return {row[key]: row for row in result["rows"]}


def comparable(result):
    """Returns the error and the rows of a result, in order and without texts."""
    return result["code"], in_order(result.get("rows"))


def in_order(value):
    if isinstance(value, dict):
        return {key: in_order(each) for key, each in value.items() if key != "text"}
    if isinstance(value, list):
        return sorted(map(in_order, value), key=lambda each: json.dumps(each, sort_keys=True))
    return value
