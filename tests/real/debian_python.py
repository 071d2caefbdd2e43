"""Debian's python3-confluent-kafka, which links librdkafka.so.1 dynamically, without installing it.

    python3 tests/real/debian_python.py      fetches it and prints its folder

The package and Debian's own librdkafka1 are unpacked in .cache/debian; the binding then runs on
any library through LD_LIBRARY_PATH.
"""

import functools
import os
import subprocess
import sys
from pathlib import Path

import debian
import kafka
from debian import Unavailable

PACKAGES = ["python3-confluent-kafka", "librdkafka1"]
# It is compiled for Debian's Python, not for any other that may come first in PATH.
INTERPRETER = "/usr/bin/python3"


def fetch():
    """Returns the folder into which both packages are unpacked."""
    return debian.unpacked("debian", PACKAGES)


def own_library():
    """The folder of Debian's librdkafka.so.1."""
    (library,) = (fetch() / "usr" / "lib").glob("*/librdkafka.so.1")
    return library.parent


def _binding():
    (binding,) = (fetch() / "usr/lib/python3/dist-packages/confluent_kafka").glob("cimpl.*.so")
    return binding


@functools.cache
def interpreter():
    """Debian's Python, when the binding is made for it."""
    command = [INTERPRETER, "-c", "import sys; print(sys.implementation.cache_tag)"]
    try:
        tag = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except OSError as e:
        raise Unavailable(f"{INTERPRETER}: {e}") from None
    if tag not in _binding().name:
        raise Unavailable(f"{_binding().name} is not for {INTERPRETER}, which is {tag or 'nothing that runs'}")
    return INTERPRETER


def environment(lib_dir):
    """What a program needs in its environment to run on the binding and the library in `lib_dir`."""
    env = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": str(lib_dir),
           "PYTHONPATH": str(_binding().parents[1]), "PYTHONNOUSERSITE": "1"}
    stand_in = _stand_in(Path(lib_dir))
    if stand_in:
        env["LD_PRELOAD"] = str(stand_in)
    return env


def missing(lib_dir):
    """Functions that the binding links and the library in `lib_dir` does not have."""
    wanted = {name for name in _symbols(_binding(), "--undefined-only") if name.startswith("rd_kafka_")}
    return sorted(wanted - _symbols(Path(lib_dir) / "librdkafka.so.1", "--defined-only"))


def _symbols(library, which):
    done = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Unavailable(f"nm {library}: {done.stderr.strip()}")
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


@functools.cache
def _stand_in(lib_dir):
    """A library with the functions that are missing, each of which ends the process; None when none is.

    The binding is linked with BIND_NOW: it does not load while one function is missing, needed or not.
    """
    names = missing(lib_dir)
    if not names:
        return None
    kafka.WORK.mkdir(parents=True, exist_ok=True)
    source = kafka.WORK / f"stand_in-{os.getpid()}.c"
    target = source.with_suffix(".so")
    bodies = (f'void {name}(void) {{ fputs("{name}: not in this library\\n", stderr); abort(); }}\n' for name in names)
    source.write_text("#include <stdio.h>\n#include <stdlib.h>\n" + "".join(bodies))
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", target, source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{source} does not compile:\n{done.stderr}")
    return target


if __name__ == "__main__":
    try:
        print(fetch())
    except Unavailable as e:
        sys.exit(f"debian_python.py: {e}")
