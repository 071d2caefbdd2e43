"""Downloads Debian packages and unpacks them in .cache, without an installation."""

import os
import shutil
import subprocess

import kafka


class Unavailable(Exception):
    """A Debian package cannot be fetched or run here; the text is the reason."""


def unpacked(name, packages):
    """Returns the folder .cache/NAME with the unpacked packages; downloads them with apt-get when it does not exist."""
    folder = kafka.ROOT / ".cache" / name
    if folder.exists():
        return folder
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed: Debian's packages cannot be downloaded")
    fresh = folder.with_name(f"{name}-fetching")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    done = _download(fresh, packages)
    if done.returncode != 0 and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], capture_output=True, timeout=120)
        done = _download(fresh, packages)
    archives = list(fresh.glob("*.deb"))
    if done.returncode != 0 or len(archives) != len(packages):
        raise Unavailable(f"apt-get could not download {' '.join(packages)}: {done.stderr.strip()[-300:]}")
    for archive in archives:
        subprocess.run(["dpkg", "-x", archive, fresh], check=True, timeout=60)
        archive.unlink()
    fresh.rename(folder)
    return folder


def _download(folder, packages):
    return subprocess.run(["apt-get", "download", "-qq", *packages], cwd=folder, capture_output=True, text=True,
                          timeout=120)
