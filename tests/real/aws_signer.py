"""AWS's own signer of tokens for Amazon MSK, from PyPI, in a virtual environment in .cache.

    python3 tests/real/aws_signer.py      fetches it and prints its Python
"""

import fcntl
import subprocess
import sys

import kafka

VERSION = "1.0.2"
CACHE = kafka.ROOT / ".cache" / "aws-signer"

# Signs with fixed credentials at a fixed time: the function takes both from botocore.
SIGN = """
import base64, datetime, json, sys
import botocore.auth
from botocore.credentials import CredentialProvider, Credentials
from aws_msk_iam_sasl_signer import MSKAuthTokenProvider

region, date, key, secret, token = json.load(sys.stdin)
now = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
botocore.auth.get_current_datetime = lambda *_, **__: now

class Fixed(CredentialProvider):
    def load(self):
        return Credentials(key, secret, token)

signed, expires_ms = MSKAuthTokenProvider.generate_auth_token_from_credentials_provider(region, Fixed())
json.dump([signed, expires_ms], sys.stdout)
"""


def fetch():
    """Returns the Python that has the signer; installs it with pip unless it is in the cache."""
    folder = CACHE / VERSION
    python = folder / "bin" / "python"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "complete").exists():
            return python
        for command in ([sys.executable, "-m", "venv", "--clear", folder],
                        [python, "-m", "pip", "install", "-q", f"aws-msk-iam-sasl-signer-python=={VERSION}"]):
            try:
                done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
            except (OSError, subprocess.TimeoutExpired) as e:
                raise kafka.Unavailable(f"AWS's signer could not be fetched: {e}") from None
            if done.returncode != 0:
                raise kafka.Unavailable(f"AWS's signer could not be fetched: {(done.stdout + done.stderr)[-300:]}")
        (folder / "complete").touch()
    return python


if __name__ == "__main__":
    print(fetch())
