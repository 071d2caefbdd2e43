"""Certificate authorities, certificates, revocation lists and keystores for tests, made with the openssl program.

    ca = Authority(folder, "ca")
    broker = ca.issue("broker", names=LOCAL, key=RSA)
    ... broker.certificate, broker.key (PEM, PKCS#8), broker.keystore (both, as Kafka reads them) ...
"""

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "openssl"

# Subject alternative names of this machine.
LOCAL = ("DNS:localhost", "IP:127.0.0.1")

# Arguments for a new private key. Keys on curves are made in a millisecond, RSA keys take a hundred.
EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")
RSA = ("-newkey", "rsa:2048")

DAY_S = 24 * 3600

# `openssl ca` is the only command of OpenSSL 3.0 that sets both dates, and it knows which certificates it has revoked.
SETTINGS = """[ca]
default_ca = own
[own]
database = {folder}/index
certificate = {folder}/{name}.crt
private_key = {folder}/{name}.key
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
default_days = 365
default_crl_days = 30
unique_subject = no
policy = own_policy
[own_policy]
commonName = supplied
"""


class Failed(Exception):
    """The openssl program failed; the text is its output."""


def available():
    return shutil.which(PROGRAM) is not None


def openssl(*arguments):
    """Runs an openssl command; returns its output."""
    command = [PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr[-1500:]}")
    return done.stdout


def date(ahead_s):
    """Returns a time that lies so many seconds ahead, as `openssl ca` reads it."""
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + ahead_s))


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and its key."""

    certificate: Path
    key: Path

    @property
    def keystore(self):
        """The file with key and certificate, which Kafka reads with ssl.keystore.type=PEM."""
        return self.certificate.with_suffix(".pem")

    def joined(self, *chain):
        """Writes the keystore: the key, the certificate, and those of `chain`. Replaces an existing one at once."""
        fresh = self.keystore.with_suffix(".fresh")
        fresh.write_text("".join(path.read_text() for path in (self.key, self.certificate, *chain)))
        fresh.rename(self.keystore)
        return self

    def dates(self):
        """Returns the first and the last second of validity, such as `2026-11-24 20:57:14 UTC`."""
        out = openssl("x509", "-in", self.certificate, "-noout", "-dates", "-dateopt", "iso_8601")
        found = dict(line.split("=", 1) for line in out.splitlines())
        return tuple(found[name].replace("Z", " UTC") for name in ("notBefore", "notAfter"))

    # -- the same key and certificate in other forms

    def encrypted_key(self, password, *options):
        """Writes the key as encrypted PKCS#8; returns the file, a different one for other `options`."""
        path = self.key.with_suffix(".".join(["", *(option.strip("-") for option in options), "encrypted"]))
        openssl("pkcs8", "-topk8", "-in", self.key, "-out", path, "-passout", f"pass:{password}", *options)
        return path

    def traditional_key(self, password):
        """Writes the RSA key in OpenSSL's encrypted form before PKCS#8 (DEK-Info); returns the file."""
        path = self.key.with_suffix(".traditional")
        openssl("rsa", "-aes128", "-traditional", "-in", self.key, "-out", path, "-passout", f"pass:{password}")
        return path

    def pkcs12(self, password, *options):
        """Writes a PKCS#12 keystore; returns the file, a different one for other `options`."""
        path = self.key.with_suffix(".".join(["", *(option.strip("-") for option in options), "p12"]))
        openssl("pkcs12", "-export", "-in", self.certificate, "-inkey", self.key, "-out", path, "-passout",
                f"pass:{password}", *options)
        return path


class Authority:
    """A certificate authority in a folder of its own, `folder/NAME`, with what it issues."""

    def __init__(self, folder, name, common_name="Test CA"):
        self.folder = Path(folder) / name
        self.folder.mkdir(parents=True)
        self.name = name
        self.certificate, self.key = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        self.settings = self.folder / "openssl.cnf"
        self.settings.write_text(SETTINGS.format(folder=self.folder, name=name))
        (self.folder / "index").touch()
        openssl("req", "-x509", *EC, "-nodes", "-days", 3650, "-subj", f"/CN={common_name}",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout", self.key, "-out", self.certificate)

    def _files(self, name):
        return Certificate(self.folder / f"{name}.crt", self.folder / f"{name}.key")

    def request(self, name, common_name, key):
        """Makes a private key, and a request for its certificate; returns the request's file."""
        request = self.folder / f"{name}.csr"
        openssl("req", *key, "-nodes", "-subj", f"/CN={common_name}", "-keyout", self.folder / f"{name}.key", "-out", request)
        return request

    def issue(self, name, common_name="localhost", names=(), usage="serverAuth", key=EC, begins_s=-DAY_S, ends_s=365 * DAY_S):
        """Issues a certificate for a new key, valid from and to so many seconds from now.

        `names` are subject alternative names; a certificate of the same `name` is replaced.
        """
        files = self._files(name)
        extensions = self.folder / f"{name}.ext"
        lines = ["basicConstraints=critical,CA:FALSE", f"extendedKeyUsage={usage}"]
        lines += [f"subjectAltName={','.join(names)}"] if names else []
        extensions.write_text("\n".join(lines) + "\n")
        openssl("ca", "-batch", "-notext", "-config", self.settings, "-in", self.request(name, common_name, key),
                "-out", files.certificate, "-extfile", extensions, "-startdate", date(begins_s), "-enddate", date(ends_s))
        return files.joined()

    def issue_version_1(self, name, common_name="localhost"):
        """Issues a certificate of X.509 version 1, which has no extensions, as older instructions do."""
        files = self._files(name)
        openssl("x509", "-req", "-in", self.request(name, common_name, RSA), "-CA", self.certificate, "-CAkey", self.key,
                "-CAcreateserial", "-days", 30, "-out", files.certificate)
        return files.joined()

    def revoke(self, certificate):
        openssl("ca", "-config", self.settings, "-revoke", certificate.certificate)

    def revocation_list(self):
        """Writes the list of revoked certificates; returns the file."""
        path = self.folder / f"{self.name}.crl"
        openssl("ca", "-config", self.settings, "-gencrl", "-out", path)
        return path


def self_signed(folder, name, common_name="localhost", names=LOCAL):
    """Makes a certificate that is its own authority, with OpenSSL's default extensions: CA:TRUE."""
    files = Certificate(Path(folder) / f"{name}.crt", Path(folder) / f"{name}.key")
    openssl("req", "-x509", *EC, "-nodes", "-days", 30, "-subj", f"/CN={common_name}",
            "-addext", f"subjectAltName={','.join(names)}", "-keyout", files.key, "-out", files.certificate)
    return files.joined()
