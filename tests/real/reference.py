"""librdkafka for comparison: the library in the wheel confluent-kafka on PyPI.

    python3 tests/real/reference.py      fetches it and prints its folder

The folder contains it as librdkafka.so.1, so that LD_LIBRARY_PATH selects it for
a program. `package` is the folder of the whole wheel, whose Python package test_python_wheel.py runs.
"""

import os
import shutil
import subprocess
import sys
import zipfile

import kafka

# This wheel carries librdkafka 2.16.0.
WHEEL = "confluent-kafka==2.16.1"
FOLDER = kafka.ROOT / ".cache" / "reference"
PACKAGE = kafka.ROOT / ".cache" / "reference-package"


class Unavailable(Exception):
    """The wheel is not available; the text is the reason."""


def fetch():
    """Returns the folder with librdkafka.so.1; downloads the wheel with pip unless it is in the cache."""
    lib = FOLDER / "lib"
    if (lib / "librdkafka.so.1").exists():
        return lib
    # The library and its bundled dependencies, which are looked up in the same folder.
    fresh = _unpacked("confluent_kafka.libs/")
    (fresh / "confluent_kafka.libs").rename(fresh / "lib")
    # Programs load it by this name; the file keeps the name in the wheel.
    (fresh / "lib" / "librdkafka.so.1").symlink_to(bundled(fresh / "lib"))
    (fresh / "lib" / "librdkafka.so").symlink_to(bundled(fresh / "lib"))
    shutil.rmtree(FOLDER, ignore_errors=True)
    fresh.rename(FOLDER)
    return lib


def package():
    """Returns the folder with the wheel's whole content, the Python package and the library; downloads it like `fetch`."""
    if not PACKAGE.exists():
        _unpacked("").rename(PACKAGE)
    return PACKAGE


def bundled(folder):
    """Returns the file name of librdkafka in the wheel."""
    names = [name for name in os.listdir(folder) if name.startswith("librdkafka-")]
    if len(names) != 1:
        raise Unavailable(f"{WHEEL} bundles {names}, not one librdkafka")
    return names[0]


def _unpacked(prefix):
    """Returns a fresh folder with the wheel's files whose path starts with `prefix`."""
    fresh = FOLDER.with_name("reference-fetching")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
               "-d", str(fresh), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    wheels = list(fresh.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise Unavailable(f"pip could not download {WHEEL}: {done.stderr.strip()[-300:]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(fresh, [name for name in wheel.namelist() if name.startswith(prefix)])
    wheels[0].unlink()
    return fresh


if __name__ == "__main__":
    try:
        print(fetch())
    except Unavailable as e:
        sys.exit(f"reference.py: {e}")
