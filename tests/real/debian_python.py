"""Debian's python3-confluent-kafka, which links librdkafka.so.1 dynamically, without installing it.

    python3 tests/real/debian_python.py      fetches it and prints its folder

The package and Debian's own librdkafka1 are unpacked in .cache/debian; the binding then runs on
any library through LD_LIBRARY_PATH.
"""

import functools
import os
import subprocess
import sys

import debian
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
    """Returns the environment of a program that runs on the binding and the library in `lib_dir`."""
    return {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": str(lib_dir),
            "PYTHONPATH": str(_binding().parents[1]), "PYTHONNOUSERSITE": "1"}


if __name__ == "__main__":
    try:
        print(fetch())
    except Unavailable as e:
        sys.exit(f"debian_python.py: {e}")
