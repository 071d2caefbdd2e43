"""librdkafka for comparison: the library in the wheel confluent-kafka on PyPI.

    python3 tests/real/reference.py      fetches it and prints its folder

The folder contains it as librdkafka.so.1, so that LD_LIBRARY_PATH selects it for
a program.
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


class Unavailable(Exception):
    """The wheel is not available; the text is the reason."""


def fetch():
    """Returns the folder with librdkafka.so.1; downloads it with pip unless it is in the cache."""
    lib = FOLDER / "lib"
    if (lib / "librdkafka.so.1").exists():
        return lib
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
        # The library and its bundled dependencies, which are looked up in the same folder.
        names = [name for name in wheel.namelist() if name.startswith("confluent_kafka.libs/")]
        wheel.extractall(fresh, names)
    wheels[0].unlink()
    bundled = [name for name in os.listdir(fresh / "confluent_kafka.libs") if name.startswith("librdkafka")]
    if len(bundled) != 1:
        raise Unavailable(f"{WHEEL} bundles {bundled}, not one librdkafka")
    (fresh / "confluent_kafka.libs").rename(fresh / "lib")
    # Programs load it by this name; the file keeps the name in the wheel.
    (fresh / "lib" / "librdkafka.so.1").symlink_to(bundled[0])
    (fresh / "lib" / "librdkafka.so").symlink_to(bundled[0])
    shutil.rmtree(FOLDER, ignore_errors=True)
    fresh.rename(FOLDER)
    return lib


if __name__ == "__main__":
    try:
        print(fetch())
    except Unavailable as e:
        sys.exit(f"reference.py: {e}")
