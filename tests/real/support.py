"""Shared parts of the real-Kafka tests: the library under test, one cluster at a time,
programs that run with the library.

OTTLA_LIB_DIR names the folder of the library under test (default build/lib): with
another librdkafka.so.1 the tests themselves are verified.
OTTLA_INCLUDE_DIR names the folder of its rdkafka.h (default include).
"""

import atexit
import functools
import os
import shutil
import socket
import subprocess
import sys
import unittest
import uuid
from pathlib import Path

import kafka

ROOT = kafka.ROOT
LIB_DIR = Path(os.environ.get("OTTLA_LIB_DIR") or ROOT / "build" / "lib").resolve()
INCLUDE_DIR = Path(os.environ.get("OTTLA_INCLUDE_DIR") or ROOT / "include").resolve()
BIN_DIR = ROOT / "build" / "real" / "bin"
# The folder of client.h.
HERE = Path(__file__).resolve().parent

CODECS = kafka.CODEC_NAMES

_cluster = None
_unavailable = None


def cluster(brokers, ports_from=None, **options):
    """Returns a running cluster of `brokers` nodes: the current one when it matches, else a new one.

    Only one cluster runs at a time. With `ports_from` the first broker listens on that port. `options` are further ones
    of kafka.Cluster: listeners, java_options, log_dirs.
    """
    global _cluster, _unavailable
    if _unavailable:
        raise unittest.SkipTest(_unavailable)
    if _cluster is not None:
        fits = (_cluster.count == brokers and ports_from in (None, _cluster.ports[0])
                and _cluster.make_listeners == options.get("listeners")
                and _cluster.log_dir_count == options.get("log_dirs", 1))
        if fits and len(_cluster.processes) == brokers:
            return _cluster
        _cluster.stop()
        _cluster = None
    if ports_from is not None and not port_is_free(ports_from):
        raise unittest.SkipTest(f"port {ports_from} is in use")
    try:
        _cluster = kafka.Cluster(brokers, base_port=ports_from, **options).start()
    except kafka.Unavailable as e:
        _unavailable = str(e)
        raise unittest.SkipTest(_unavailable) from None
    return _cluster


@atexit.register
def stop():
    if _cluster is not None:
        _cluster.stop()


def port_is_free(port):
    with socket.socket() as s:
        return s.connect_ex((kafka.HOST, port)) != 0


def need_library():
    """Fails when the library under test is missing: an error, not a reason to skip."""
    library = LIB_DIR / "librdkafka.so.1"
    if not library.exists():
        raise AssertionError(f"{library} does not exist: run make first")


def need_program(name):
    if shutil.which(name) is None:
        raise unittest.SkipTest(f"{name} is not installed (make deps)")


def end_soak(found, seed):
    """Prints the complaints of a soak test, and exits with 1 when there are any."""
    for text in found:
        print(f"WRONG: {text}")
    print(f"{len(found)} complaints (seed {seed})")
    sys.exit(1 if found else 0)


def topic_name(what):
    return f"{what}-{uuid.uuid4().hex[:8]}"


def environment():
    return {**os.environ, "LD_LIBRARY_PATH": str(LIB_DIR), "LC_ALL": "C"}


def run(*command, stdin=None, timeout_s=60, status=0):
    """Runs a program on the library under test; returns (stdout, stderr) as bytes."""
    done = subprocess.run(
        [str(part) for part in command], input=stdin, capture_output=True, timeout=timeout_s, env=environment())
    if status is not None and done.returncode != status:
        raise AssertionError(
            f"{' '.join(map(str, command))}: exit status {done.returncode}, not {status}\n"
            f"{done.stdout[-1500:].decode(errors='replace')}\n{done.stderr[-1500:].decode(errors='replace')}")
    return done.stdout, done.stderr


def start(*command, env=None, **options):
    """Starts a program on the library under test, in the background."""
    return subprocess.Popen([str(part) for part in command], env={**environment(), **(env or {})}, **options)


def credentials(follows):
    """Returns the options of `start` for a program that takes credentials from its standard input, credentials.h."""
    return {"stdin": subprocess.PIPE, "env": {"CREDENTIALS": "1"}} if follows else {}


def send_credentials(process, user, password):
    process.stdin.write(f"{user}\t{password}\n")
    process.stdin.flush()


@functools.cache
def compiled(source):
    """Compiles one C program against the library under test; returns its path."""
    compiler = [os.environ.get("CC", "cc"), "-std=gnu11"]
    return compiled_with(compiler, source, ["-l:librdkafka.so.1"])


CXX11 = [os.environ.get("CXX", "c++"), "-std=c++11"]
CPP_LIBRARIES = ["-l:librdkafka++.so.1", "-l:librdkafka.so.1"]


def need_cpp_library():
    if not (LIB_DIR / "librdkafka++.so.1").is_file():
        raise unittest.SkipTest(f"no librdkafka++.so.1 in {LIB_DIR}")


@functools.cache
def compiled_cpp(source):
    """Compiles one C++ program against the library under test; returns its path."""
    need_cpp_library()
    return compiled_with(CXX11, source, CPP_LIBRARIES)


def compiled_with(compiler, source, libraries, include_dir=INCLUDE_DIR, lib_dir=LIB_DIR, kind=""):
    """Compiles a program against the headers and libraries in these folders; returns its path."""
    source = ROOT / source
    target = BIN_DIR / kind / source.suffix[1:] / source.stem
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [*compiler, "-O2", "-g", "-Wall", "-Wextra",
               f"-I{include_dir}", f"-I{HERE}", "-o", target, source,
               "-L", lib_dir, *libraries, "-Wl,--allow-shlib-undefined", "-lpthread", "-lm"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{source} does not compile:\n{done.stderr}")
    return target


def lines(count, seed=1, prefix="line"):
    """Returns `count` different text lines of varying length, which compress like logs."""
    state = seed
    made = []
    for number in range(count):
        state = (state * 1103515245 + 12345) % (1 << 31)
        made.append(f"{prefix} {number} {'abcdefgh ' * (state % 12)}{state:x}\n")
    return "".join(made).encode()
