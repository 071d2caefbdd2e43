#!/usr/bin/env python3
"""Writes certificates, revocation lists and cases of their verification, with OpenSSL's verdict on each.

    python3 crates/tls/testdata/verify/generate.py

Needs the command `openssl` and libcrypto of version 3.0. The tests need neither: they read the files that this program writes,

    certificates.txt   NAME BASE64            certificates in DER
    lists.txt          NAME BASE64            revocation lists in DER
    keys.txt           NAME BASE64            private keys of some leaves in PKCS#8, for handshakes
    names.txt          NAME SUBJECT           subjects as OpenSSL prints them in the form of RFC 2253
    cases.txt          NAME FIELD=VALUE ...   trusted, chain (leaf first), host, at (seconds since 1970), lists, and
                                              openssl: the calls of OpenSSL's callback, CODE@DEPTH for a fault, @DEPTH for a
                                              certificate that has been reached

OpenSSL is asked twice: by `openssl verify`, and through libcrypto with a callback that accepts everything, which shows the order
of the calls. Both must agree.
"""

import base64
import ctypes
import ctypes.util
import datetime
import itertools
import os
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOW = int(datetime.datetime(2026, 6, 1, tzinfo=datetime.timezone.utc).timestamp())
DAY = 86400
HOST = "kafka1.example.com"

CONFIG = """
[req]
distinguished_name = dn
string_mask = {mask}
utf8 = yes
[dn]
[ca]
default_ca = own
[own]
database = {dir}/index.txt
new_certs_dir = {dir}
serial = {dir}/serial
default_md = sha256
policy = anything
unique_subject = no
{crlnumber}
[anything]
commonName = optional
organizationName = optional
organizationalUnitName = optional
countryName = optional
"""

CA = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=hash\n"
INTERMEDIATE = CA + "authorityKeyIdentifier=keyid\n"
LEAF = (
    "basicConstraints=CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n"
    "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
)


def date(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y%m%d%H%M%SZ")


class Maker:
    """Creates keys, certificates and revocation lists in a temporary folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.certificates, self.lists, self.key_of, self.keys = {}, {}, {}, {}
        (self.folder / "serial").write_text("1001\n")
        self.pool = {}

    def path(self, name):
        return self.folder / name

    def run(self, *args, data=None):
        done = subprocess.run(["openssl", *map(str, args)], input=data, capture_output=True)
        if done.returncode:
            raise SystemExit(f"openssl {' '.join(map(str, args))}: {done.stderr.decode()}")
        return done.stdout

    def config(self, mask="utf8only", crlnumber="", database=None):
        text = CONFIG.format(dir=self.folder, mask=mask, crlnumber=crlnumber)
        if database:
            text = text.replace(f"{self.folder}/index.txt", str(database))
        else:
            (self.folder / "index.txt").write_text("")
        path = self.folder / "openssl.cnf"
        path.write_text(text)
        return path

    def key(self, name, kind="P-256"):
        if name not in self.keys:
            path = self.path(f"{name}.key")
            if kind.startswith("rsa"):
                args = ["-algorithm", "RSA", "-pkeyopt", f"rsa_keygen_bits:{kind[3:]}"]
            elif kind in ("ED25519", "ED448"):
                args = ["-algorithm", kind]
            else:
                args = ["-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{kind}"]
            self.run("genpkey", *args, "-out", path)
            self.keys[name] = path
        return self.keys[name]

    def issue(self, name, subject, issuer=None, extensions=LEAF, key="leaf", kind="P-256", start=-100, end=1000,
              digest="sha256", mask="utf8only", options=()):
        """Creates a certificate; without an issuer it is self-signed, without extensions it has version 1."""
        key_path = self.key(key, kind)
        config = self.config(mask)
        request, out = self.path("request.pem"), self.path(f"{name}.pem")
        self.run("req", "-new", "-config", config, "-key", key_path, "-subj", subject, "-multivalue-rdn",
                 "-out", request, *([] if kind.startswith("ED") else ["-sha256"]))
        args = ["ca", "-batch", "-notext", "-preserveDN", "-config", config, "-in", request, "-out", out,
                "-startdate", date(NOW + start * DAY), "-enddate", date(NOW + end * DAY)]
        issuer_key = self.key_of[issuer] if issuer else key
        args += ["-keyfile", self.keys[issuer_key]]
        args += ["-cert", self.path(f"{issuer}.pem")] if issuer else ["-selfsign"]
        if digest:
            args += ["-md", digest]
        for option in options:
            args += ["-sigopt", option]
        if extensions:
            (self.folder / "extensions").write_text("[own_ext]\n" + extensions)
            args += ["-extfile", self.path("extensions"), "-extensions", "own_ext"]
        self.run(*args)
        self.key_of[name] = key
        self.certificates[name] = self.run("x509", "-in", out, "-outform", "DER")
        return name

    def add_bytes(self, name, der, key):
        """Adds changed bytes as a certificate."""
        self.certificates[name] = der
        self.key_of[name] = key
        self.path(f"{name}.pem").write_text(self.pem("CERTIFICATE", der))
        return name

    @staticmethod
    def pem(kind, der):
        return f"-----BEGIN {kind}-----\n{base64.encodebytes(der).decode()}-----END {kind}-----\n"

    def serial(self, name):
        return self.run("x509", "-in", self.path(f"{name}.pem"), "-noout", "-serial").decode().strip().split("=")[1]

    def revoke(self, name, issuer, revoked=(), start=-10, end=10, extensions="authorityKeyIdentifier=keyid\n", number=True,
               reason="", damaged=False):
        """Creates a revocation list; without extensions and number it has version 1."""
        database = self.path(f"{name}.index")
        at = datetime.datetime.fromtimestamp(NOW - 20 * DAY, datetime.timezone.utc).strftime("%y%m%d%H%M%SZ")
        rows = [f"R\t400101000000Z\t{at}{reason}\t{self.serial(each)}\tunknown\t/CN=revoked\n" for each in revoked]
        database.write_text("".join(rows))
        Path(f"{database}.attr").write_text("unique_subject = no\n")
        self.path("crlnumber").write_text("01\n")
        config = self.config(crlnumber=f"crlnumber = {self.folder}/crlnumber" if number else "", database=database)
        args = ["ca", "-gencrl", "-config", config, "-cert", self.path(f"{issuer}.pem"),
                "-keyfile", self.keys[self.key_of[issuer]], "-out", self.path(f"{name}.crl"),
                "-crl_lastupdate", date(NOW + start * DAY), "-crl_nextupdate", date(NOW + end * DAY), "-md", "sha256"]
        if extensions:
            with open(config, "a") as file:
                file.write("[own_ext]\n" + extensions)
            args += ["-crlexts", "own_ext"]
        self.run(*args)
        der = bytearray(self.run("crl", "-in", self.path(f"{name}.crl"), "-outform", "DER"))
        der[-1] ^= damaged
        self.lists[name] = bytes(der)
        self.path(f"{name}.crl").write_text(self.pem("X509 CRL", der))
        return name


class Reference:
    """OpenSSL's verification."""

    def __init__(self, maker):
        self.maker = maker
        self.c = ctypes.CDLL("libcrypto.so.3")
        for name in ("X509_STORE_new X509_STORE_CTX_new d2i_X509 d2i_X509_CRL OPENSSL_sk_new_null X509_STORE_CTX_get0_param "
                     "X509_VERIFY_PARAM_new").split():
            getattr(self.c, name).restype = ctypes.c_void_p
        self.callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)

    def certificate(self, name):
        return self.parse(self.c.d2i_X509, self.maker.certificates[name])

    def parse(self, function, der):
        buffer = ctypes.create_string_buffer(der, len(der))
        pointer = ctypes.c_void_p(ctypes.addressof(buffer))
        return function(None, ctypes.byref(pointer), ctypes.c_long(len(der)))

    def trace(self, case):
        """Returns the calls of the callback."""
        c, pointer = self.c, ctypes.c_void_p
        store = c.X509_STORE_new()
        for name in case["trusted"]:
            c.X509_STORE_add_cert(pointer(store), pointer(self.certificate(name)))
        for name in case["lists"]:
            c.X509_STORE_add_crl(pointer(store), pointer(self.parse(c.d2i_X509_CRL, self.maker.lists[name])))
        untrusted = c.OPENSSL_sk_new_null()
        for name in case["chain"][1:]:
            parsed = self.certificate(name)
            if parsed:
                c.OPENSSL_sk_push(pointer(untrusted), pointer(parsed))
        leaf = self.certificate(case["chain"][0])
        if not leaf:
            return ["unreadable"]
        context = c.X509_STORE_CTX_new()
        assert c.X509_STORE_CTX_init(pointer(context), pointer(store), pointer(leaf), pointer(untrusted)) == 1
        c.X509_STORE_CTX_set_default(pointer(context), b"ssl_server")
        param = pointer(c.X509_STORE_CTX_get0_param(pointer(context)))
        c.X509_VERIFY_PARAM_set_time(param, ctypes.c_long(case["at"]))
        c.X509_VERIFY_PARAM_set_auth_level(param, 2)
        c.X509_VERIFY_PARAM_set_hostflags(param, 4)  # X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, as librdkafka
        if case["lists"] or case.get("no_list"):
            c.X509_VERIFY_PARAM_set_flags(param, ctypes.c_ulong(4))  # X509_V_FLAG_CRL_CHECK
        host = case["host"].encode()
        if host:
            # As SSL_set1_host: an address if it is one, else a name.
            if not c.X509_VERIFY_PARAM_set1_ip_asc(param, host):
                assert c.X509_VERIFY_PARAM_set1_host(param, host, ctypes.c_size_t(0)) == 1
        calls = []

        def call(ok, at):
            depth = c.X509_STORE_CTX_get_error_depth(pointer(at))
            error = c.X509_STORE_CTX_get_error(pointer(at))
            calls.append(f"@{depth}" if ok else f"{error}@{depth}")
            return 1

        keep = self.callback_type(call)
        c.X509_STORE_CTX_set_verify_cb(pointer(context), keep)
        c.X509_verify_cert(pointer(context))
        return calls

    def verdict(self, case):
        """Returns whether `openssl verify` accepts."""
        folder = self.maker.folder
        bundle = lambda names: "".join((folder / f"{name}.pem").read_text() for name in names)
        (folder / "trusted").write_text(bundle(case["trusted"]))
        readable = [name for name in case["chain"][1:] if self.certificate(name)]
        (folder / "untrusted").write_text(bundle(readable))
        args = ["verify", "-no-CAfile", "-no-CApath", "-no-CAstore", "-purpose", "sslserver", "-auth_level", "2",
                "-attime", case["at"]]
        if case["trusted"]:
            args = ["verify", *args[2:], "-CAfile", folder / "trusted"]
        if readable:
            args += ["-untrusted", folder / "untrusted"]
        if case["lists"] or case.get("no_list"):
            args += ["-crl_check"]
        for name in case["lists"]:
            args += ["-CRLfile", folder / f"{name}.crl"]
        if case["host"]:
            is_address = all(c in "0123456789." for c in case["host"]) or ":" in case["host"]
            args += ["-verify_ip" if is_address else "-verify_hostname", case["host"]]
        args.append(folder / f"{case['chain'][0]}.pem")
        return subprocess.run(["openssl", *map(str, args)], capture_output=True).returncode == 0


class Cases:
    def __init__(self):
        self.all = {}

    def add(self, name, trusted, chain, host=HOST, at=NOW, lists="", no_list=False):
        assert name not in self.all, name
        self.all[name] = {"trusted": trusted.split(), "chain": chain.split(), "host": host, "at": at,
                          "lists": lists.split(), "no_list": no_list}


def san(*names):
    return LEAF + "subjectAltName=" + ",".join(names) + "\n"


def hierarchy(m):
    """Creates the CAs that most cases share."""
    for name, start, end in (("root", -1000, 3000), ("root-expired", -1000, -1), ("root-future", 1, 3000)):
        m.issue(name, "/O=Ottla/CN=Root", extensions=CA, key="root", start=start, end=end)
    m.issue("root-other-key", "/O=Ottla/CN=Root", extensions=CA, key="root2", start=-1000, end=3000)
    m.issue("root-other-name", "/O=Ottla/CN=Other root", extensions=CA, key="root3", start=-1000, end=3000)
    m.issue("int", "/O=Ottla/CN=Intermediate", "root", INTERMEDIATE, "int")
    m.issue("int-expired", "/O=Ottla/CN=Intermediate", "root", INTERMEDIATE, "int", end=-1)
    m.issue("int-future", "/O=Ottla/CN=Intermediate", "root", INTERMEDIATE, "int", start=1)
    m.issue("int-other-root", "/O=Ottla/CN=Intermediate", "root-other-name", INTERMEDIATE, "int")
    m.issue("sub", "/O=Ottla/CN=Sub", "int", INTERMEDIATE, "sub")
    m.issue("leaf", f"/O=Ottla/CN=broker", "root", san(f"DNS:{HOST}"))
    m.issue("leaf-int", f"/O=Ottla/CN=broker", "int", san(f"DNS:{HOST}"))
    m.issue("leaf-sub", f"/O=Ottla/CN=broker", "sub", san(f"DNS:{HOST}"))


def shapes(m, cases):
    add = cases.add
    add("shape-direct", "root", "leaf")
    add("shape-direct-root-sent", "root", "leaf root")
    add("shape-one-intermediate", "root", "leaf-int int")
    add("shape-two-intermediates", "root", "leaf-sub sub int")
    add("shape-wrong-order", "root", "leaf-sub int sub")
    add("shape-root-sent", "root", "leaf-sub sub int root")
    add("shape-duplicates", "root", "leaf-sub sub sub int int leaf-sub")
    add("shape-unrelated-sent", "root", "leaf-int root-other-name leaf int")
    add("shape-intermediate-missing", "root", "leaf-int")
    add("shape-first-intermediate-missing", "root", "leaf-sub int")
    add("shape-second-intermediate-missing", "root", "leaf-sub sub")
    add("shape-nothing-trusted", "", "leaf")
    add("shape-nothing-trusted-chain", "", "leaf-int int")
    add("shape-nothing-trusted-root-sent", "", "leaf-int int root")
    add("shape-other-root-trusted", "root-other-name", "leaf-int int")
    add("shape-other-root-trusted-root-sent", "root-other-name", "leaf-int int root")
    add("shape-same-name-other-key", "root-other-key", "leaf")
    add("shape-same-name-both", "root-other-key root", "leaf")
    add("shape-intermediate-trusted", "int", "leaf-int")
    add("shape-intermediate-trusted-and-sent", "int", "leaf-int int")
    add("shape-intermediate-and-root-trusted", "int root", "leaf-int")
    add("shape-sub-trusted", "sub", "leaf-sub")
    add("shape-int-trusted-sub-sent", "int", "leaf-sub sub")
    add("shape-leaf-trusted", "leaf", "leaf")
    add("shape-leaf-of-intermediate-trusted", "leaf-int", "leaf-int")
    add("shape-leaf-and-root-trusted", "leaf root", "leaf")
    add("shape-cross-signed-first", "root-other-name", "leaf-int int-other-root int")
    add("shape-cross-signed-second", "root-other-name", "leaf-int int int-other-root")
    add("shape-renewed-root", "root-expired root", "leaf")
    add("shape-renewed-intermediate", "root", "leaf-int int-expired int")
    add("shape-ca-as-leaf-trusted", "root", "root", host="")
    # A new key of the same CA, signed with the old one.
    m.issue("rollover", "/O=Ottla/CN=Root", "root", INTERMEDIATE, "rollover")
    m.issue("leaf-rollover", "/O=Ottla/CN=broker", "rollover", san(f"DNS:{HOST}"))
    add("shape-rollover", "root", "leaf-rollover rollover")
    add("shape-rollover-missing", "root", "leaf-rollover")
    # Without key identifiers the names alone lead.
    plain = "basicConstraints=critical,CA:TRUE\n"
    m.issue("root-plain", "/CN=Plain", extensions=plain, key="plain")
    m.issue("root-plain-2", "/CN=Plain", extensions=plain, key="plain2")
    m.issue("leaf-plain", "/CN=broker", "root-plain", f"subjectAltName=DNS:{HOST}\n")
    # OpenSSL takes a CA without key usage; the next one has none either.
    add("shape-plain", "root-plain", "leaf-plain")
    add("shape-plain-other-key", "root-plain-2", "leaf-plain")
    add("shape-plain-both", "root-plain root-plain-2", "leaf-plain")
    add("shape-plain-self-sent", "", "leaf-plain root-plain")
    # The same name in two types of strings.
    m.issue("int-utf8", "/O=Ottla/CN=Two types", "root", INTERMEDIATE, "int-types")
    m.issue("int-printable", "/O=Ottla/CN=Two types", "root", INTERMEDIATE, "int-types", mask="default")
    m.issue("leaf-utf8", "/CN=broker", "int-utf8", san(f"DNS:{HOST}"))
    add("shape-same-types-of-strings", "root", "leaf-utf8 int-utf8")
    add("shape-other-types-of-strings", "root", "leaf-utf8 int-printable")
    long = ["root"]
    for depth in range(1, 10):
        long.append(m.issue(f"long{depth}", f"/CN=Long {depth}", long[-1], INTERMEDIATE, f"long{depth}"))
    for depth in (5, 6, 7, 9):
        m.issue(f"leaf-long{depth}", "/CN=broker", f"long{depth}", san(f"DNS:{HOST}"))
        add(f"shape-{depth}-intermediates", "root", " ".join([f"leaf-long{depth}", *reversed(long[1:depth + 1])]))


def dates(m, cases):
    for name, start, end in (("expired", -100, -1), ("future", 1, 100), ("reversed", 10, -10)):
        m.issue(f"leaf-{name}", "/O=Ottla/CN=broker", "root", san(f"DNS:{HOST}"), start=start, end=end)
        m.issue(f"leaf-int-{name}", "/O=Ottla/CN=broker", "int", san(f"DNS:{HOST}"), start=start, end=end)
        cases.add(f"date-leaf-{name}", "root", f"leaf-{name}")
        cases.add(f"date-leaf-{name}-below-intermediate", "root", f"leaf-int-{name} int")
    for kind in ("expired", "future"):
        cases.add(f"date-root-{kind}", f"root-{kind}", "leaf")
        cases.add(f"date-root-{kind}-chain", f"root-{kind}", "leaf-int int")
        cases.add(f"date-intermediate-{kind}", "root", f"leaf-int int-{kind}")
        cases.add(f"date-all-{kind}", f"root-{kind}", f"leaf-int-{kind} int-{kind}")
        cases.add(f"date-intermediate-{kind}-trusted", f"int-{kind}", "leaf-int")
    for name, at in (("before-begin", -100 * DAY - 1), ("at-begin", -100 * DAY), ("at-end", 1000 * DAY),
                     ("before-end", 1000 * DAY - 1), ("after-end", 1000 * DAY + 1)):
        cases.add(f"date-{name}", "root", "leaf", at=NOW + at)
    m.issue("leaf-2060", "/O=Ottla/CN=broker", "root", san(f"DNS:{HOST}"), end=12500)
    cases.add("date-generalized-time", "root", "leaf-2060")


NAMES = {
    # certificate: (common names, alternative names, hosts)
    "one": ("other", "DNS:kafka1.example.com", "kafka1.example.com KAFKA1.Example.COM kafka2.example.com example.com "
            "x.kafka1.example.com other localhost 10.0.0.1 kafka1"),
    "upper": ("other", "DNS:KAFKA1.EXAMPLE.COM", "kafka1.example.com"),
    "several": ("other", "DNS:a.example.com,DNS:b.example.com,IP:10.0.0.1,IP:fd00::1",
                "a.example.com b.example.com c.example.com 10.0.0.1 10.0.0.2 fd00::1 fd00::2"),
    "wildcard": ("other", "DNS:*.example.com", "kafka1.example.com example.com a.b.example.com .example.com "
                 "kafka_1.example.com xn--kafka-1.example.com -.example.com kafka1.example.org"),
    "wildcard-deep": ("other", "DNS:*.b.example.com", "a.b.example.com b.example.com x.a.b.example.com"),
    "wildcard-short": ("other", "DNS:*.com", "example.com com"),
    "wildcard-alone": ("other", "DNS:*", "localhost example.com"),
    "wildcard-partial": ("other", "DNS:kafka*.example.com", "kafka1.example.com"),
    "wildcard-suffix": ("other", "DNS:*1.example.com", "kafka1.example.com"),
    "wildcard-inner": ("other", "DNS:kafka1.*.com", "kafka1.example.com"),
    "wildcard-two": ("other", "DNS:*.*.com", "kafka1.example.com"),
    "wildcard-idna": ("other", "DNS:*.xn--bcher-kva.example", "kafka1.xn--bcher-kva.example"),
    "wildcard-hyphen": ("other", "DNS:*.-a.example.com", "x.-a.example.com"),
    "wildcard-underscore": ("other", "DNS:*.my_net.example", "x.my_net.example"),
    "wildcard-dots": ("other", "DNS:*..example.com", "x..example.com"),
    "wildcard-dot-end": ("other", "DNS:*.example.com.", "kafka1.example.com"),
    "underscore": ("other", "DNS:kafka_1.example.com", "kafka_1.example.com"),
    "dot-end": ("other", "DNS:kafka1.example.com.", "kafka1.example.com"),
    "short": ("other", "DNS:localhost", "localhost"),
    "address-as-dns": ("other", "DNS:10.0.0.1", "10.0.0.1"),
    "address-only": ("kafka1.example.com", "IP:10.0.0.1", "10.0.0.1 kafka1.example.com 10.0.0.2"),
    "address-6": ("other", "IP:fd00::1", "fd00::1 fd00:0:0:0:0:0:0:1 10.0.0.1"),
    "mail-only": ("kafka1.example.com", "email:a@example.com", "kafka1.example.com"),
    "uri-only": ("kafka1.example.com", "URI:https://kafka1.example.com/", "kafka1.example.com kafka2.example.com"),
    "dns-and-cn": ("kafka1.example.com", "DNS:kafka2.example.com", "kafka1.example.com kafka2.example.com"),
    "cn": ("kafka1.example.com", "", "kafka1.example.com KAFKA1.example.com kafka2.example.com 10.0.0.1"),
    "cn-wildcard": ("*.example.com", "", "kafka1.example.com example.com"),
    "cn-address": ("10.0.0.1", "", "10.0.0.1"),
    "cn-address-6": ("fd00::1", "", "fd00::1"),
    "cn-space": ("broker one", "", "broker"),
    "cn-umlaut": ("käfka.example.com", "", "xn--kfka-loa.example.com"),
    "cn-two": ("kafka1.example.com|kafka2.example.com", "", "kafka1.example.com kafka2.example.com kafka3.example.com"),
    "cn-joined": ("kafka1.example.com+kafka2.example.com", "", "kafka1.example.com kafka2.example.com"),
    "none": (None, "", "kafka1.example.com"),
}


def host_names(m, cases):
    for name, (common, alternative, hosts) in NAMES.items():
        subject = "/O=Ottla"
        if common:
            subject += "".join("/CN=" + each.replace("+", "+CN=") for each in common.split("|"))
        extensions = LEAF + (f"subjectAltName={alternative}\n" if alternative else "")
        m.issue(f"name-{name}", subject, "root", extensions)
        for host in hosts.split():
            cases.add(f"name-{name}-{host.lower() if host == host.lower() else host.lower() + '-upper'}", "root",
                      f"name-{name}", host)
    cases.add("name-unchecked", "root", "name-one", host="")


SUBJECTS = [
    "/C=CZ/ST=Praha/L=Praha/O=Ottla, s.r.o./OU=a+OU=b/CN=broker", "/CN= leading space", "/CN=#hash", "/CN=a\"b;c<d>e=f",
    "/CN=back\\\\slash", "/emailAddress=a@example.com/CN=mail", "/DC=org/DC=example/CN=domain", "/CN=Žižka/O=日本",
    "/UID=1/GN=Jan/SN=Novák/title=x/CN=all", "/serialNumber=77/street=Long street 1/CN=rest", "/CN=a+O=b/CN=c", "/CN=plus\\+sign",
]


def subjects(m, cases):
    for number, subject in enumerate(SUBJECTS):
        name = m.issue(f"subject-{number}", subject, "root", san(f"DNS:{HOST}"))
        cases.add(name, "root", name)


def purposes(m, cases):
    base = f"basicConstraints=CA:FALSE\nauthorityKeyIdentifier=keyid\nsubjectAltName=DNS:{HOST}\n"
    for name, usage in {
        "server": "serverAuth", "client": "clientAuth", "both": "clientAuth,serverAuth", "any": "anyExtendedKeyUsage",
        "code": "codeSigning", "sgc": "msSGC", "any-client": "anyExtendedKeyUsage,clientAuth", "own": "1.2.3.4",
        "critical-server": "critical,serverAuth", "critical-client": "critical,clientAuth",
    }.items():
        m.issue(f"leaf-eku-{name}", "/CN=broker", "root", base + f"extendedKeyUsage={usage}\n")
        cases.add(f"purpose-leaf-{name}", "root", f"leaf-eku-{name}")
        if name in ("server", "client", "any", "code", "both"):
            m.issue(f"int-eku-{name}", "/CN=EKU " + name, "root", INTERMEDIATE + f"extendedKeyUsage={usage}\n", f"eku-{name}")
            m.issue(f"leaf-int-eku-{name}", "/CN=broker", f"int-eku-{name}", san(f"DNS:{HOST}"))
            cases.add(f"purpose-intermediate-{name}", "root", f"leaf-int-eku-{name} int-eku-{name}")
            cases.add(f"purpose-trusted-intermediate-{name}", f"int-eku-{name}", f"leaf-int-eku-{name}")
            m.issue(f"root-eku-{name}", "/CN=EKU root " + name, None, CA + f"extendedKeyUsage={usage}\n", f"reku-{name}")
            m.issue(f"leaf-root-eku-{name}", "/CN=broker", f"root-eku-{name}", san(f"DNS:{HOST}"))
            cases.add(f"purpose-root-{name}", f"root-eku-{name}", f"leaf-root-eku-{name}")
    for usage in ("digitalSignature", "keyEncipherment", "keyAgreement", "nonRepudiation", "keyCertSign", "dataEncipherment",
                  "digitalSignature,keyEncipherment", "cRLSign", "decipherOnly", "keyAgreement,decipherOnly"):
        name = usage.replace(",", "-")
        m.issue(f"leaf-ku-{name}", "/CN=broker", "root", base + f"keyUsage={usage}\n")
        cases.add(f"usage-leaf-{name}", "root", f"leaf-ku-{name}")
    m.issue("leaf-no-extensions", "/CN=broker", "root", f"subjectAltName=DNS:{HOST}\n")
    cases.add("usage-leaf-only-name", "root", "leaf-no-extensions")
    kinds = {
        "no-basic": "keyUsage=keyCertSign\nsubjectKeyIdentifier=hash\n",
        "no-basic-no-usage": "subjectKeyIdentifier=hash\n",
        "not-ca": "basicConstraints=CA:FALSE\nkeyUsage=keyCertSign\nsubjectKeyIdentifier=hash\n",
        "not-ca-no-usage": "basicConstraints=CA:FALSE\nsubjectKeyIdentifier=hash\n",
        "no-cert-sign": "basicConstraints=CA:TRUE\nkeyUsage=cRLSign\nsubjectKeyIdentifier=hash\n",
        "no-usage": "basicConstraints=CA:TRUE\nsubjectKeyIdentifier=hash\n",
        "version-1": "",
    }
    for name, extensions in kinds.items():
        for place, issuer in (("intermediate", "root"), ("root", None)):
            ca = m.issue(f"{place}-{name}", f"/CN={place} {name}", issuer, extensions, f"{place}-{name}")
            leaf = m.issue(f"leaf-{place}-{name}", "/CN=broker", ca, san(f"DNS:{HOST}").replace(
                "authorityKeyIdentifier=keyid\n", ""))
            cases.add(f"ca-{place}-{name}", "root" if issuer else ca, f"{leaf} {ca}" if issuer else leaf)
            if issuer:
                cases.add(f"ca-{place}-{name}-trusted", ca, leaf)
    # The holder of a trusted broker's key must not issue for others.
    m.issue("pinned", "/CN=broker", None, san(f"DNS:{HOST}").replace("authorityKeyIdentifier=keyid\n", ""), "pinned")
    m.issue("leaf-pinned", "/CN=evil", "pinned", san(f"DNS:{HOST}"))
    cases.add("ca-pinned-broker-issues", "pinned", "leaf-pinned")


def path_lengths(m, cases):
    def ca(length):
        return INTERMEDIATE.replace("CA:TRUE", f"CA:TRUE,pathlen:{length}")
    for limit in (0, 1, 2):
        root = m.issue(f"root-len{limit}", f"/CN=Root length {limit}", None, ca(limit).replace(
            "authorityKeyIdentifier=keyid\n", ""), f"root-len{limit}")
        chain = [root]
        for depth in range(3):
            leaf = m.issue(f"leaf-len{limit}-{depth}", "/CN=broker", chain[-1], san(f"DNS:{HOST}"))
            cases.add(f"length-root-{limit}-with-{depth}", root, " ".join([leaf, *reversed(chain[1:])]))
            chain.append(m.issue(f"int-len{limit}-{depth}", f"/CN=Length {limit} {depth}", chain[-1], INTERMEDIATE,
                                 f"int-len{limit}-{depth}"))
        top = m.issue(f"int-limited{limit}", f"/CN=Limited {limit}", "root", ca(limit), f"int-limited{limit}")
        chain = [top]
        for depth in range(3):
            leaf = m.issue(f"leaf-limited{limit}-{depth}", "/CN=broker", chain[-1], san(f"DNS:{HOST}"))
            cases.add(f"length-intermediate-{limit}-with-{depth}", "root", " ".join([leaf, *reversed(chain)]))
            chain.append(m.issue(f"int-limited{limit}-{depth}", f"/CN=Limited {limit} {depth}", chain[-1], INTERMEDIATE,
                                 f"int-limited{limit}-{depth}"))
    # Certificates that a CA issues to itself do not count.
    m.issue("int-limited0-self", "/CN=Limited 0", "int-limited0", INTERMEDIATE, "int-limited0-self")
    m.issue("leaf-limited0-self", "/CN=broker", "int-limited0-self", san(f"DNS:{HOST}"))
    cases.add("length-self-issued", "root", "leaf-limited0-self int-limited0-self int-limited0")


def algorithms(m, cases):
    keys = {"rsa1024": "sha256", "rsa2047": "sha256", "rsa2048": "sha256", "rsa3072": "sha384", "rsa4096": "sha512", "P-256": "sha256", "P-384": "sha384",
            "P-521": "sha512", "ED25519": None, "ED448": None, "P-224": "sha256", "secp256k1": "sha256",
            "brainpoolP256r1": "sha256"}
    for kind, digest in keys.items():
        root = m.issue(f"root-{kind}", f"/CN=Root {kind}", None, CA, f"root-{kind}", kind, digest=digest or "null")
        leaf = m.issue(f"leaf-of-{kind}", "/CN=broker", root, san(f"DNS:{HOST}"), digest=digest or "null")
        cases.add(f"algorithm-root-{kind}", root, leaf)
        own = m.issue(f"leaf-with-{kind}", "/CN=broker", "root", san(f"DNS:{HOST}"), f"leaf-{kind}", kind)
        cases.add(f"algorithm-leaf-{kind}", "root", own)
        if kind in ("rsa1024", "ED448", "P-384"):
            ca = m.issue(f"int-{kind}", f"/CN=Int {kind}", "root", INTERMEDIATE, f"int-{kind}", kind)
            leaf = m.issue(f"leaf-int-{kind}", "/CN=broker", ca, san(f"DNS:{HOST}"), digest=digest or "null")
            cases.add(f"algorithm-intermediate-{kind}", "root", f"{leaf} {ca}")
    for digest in ("md5", "sha1", "sha224", "sha384", "sha512"):
        for issuer in ("root-rsa2048", "root"):
            if digest == "md5" and issuer == "root":
                continue
            leaf = m.issue(f"leaf-{digest}-{issuer}", "/CN=broker", issuer, san(f"DNS:{HOST}"), digest=digest)
            cases.add(f"algorithm-{digest}-{'rsa' if 'rsa' in issuer else 'ecdsa'}", issuer, leaf)
    m.issue("root-sha1", "/CN=Root SHA-1", None, CA, "root-sha1", "rsa2048", digest="sha1")
    m.issue("leaf-of-sha1", "/CN=broker", "root-sha1", san(f"DNS:{HOST}"))
    cases.add("algorithm-root-sha1", "root-sha1", "leaf-of-sha1")
    m.issue("int-sha1", "/CN=Int SHA-1", "root-rsa2048", INTERMEDIATE, "int-sha1", "rsa2048", digest="sha1")
    m.issue("leaf-of-int-sha1", "/CN=broker", "int-sha1", san(f"DNS:{HOST}"))
    cases.add("algorithm-intermediate-sha1", "root-rsa2048", "leaf-of-int-sha1 int-sha1")
    cases.add("algorithm-intermediate-sha1-trusted", "int-sha1", "leaf-of-int-sha1")
    for digest in ("sha256", "sha384", "sha512"):
        leaf = m.issue(f"leaf-pss-{digest}", "/CN=broker", "root-rsa2048", san(f"DNS:{HOST}"), digest=digest,
                       options=("rsa_padding_mode:pss", "rsa_pss_saltlen:digest"))
        cases.add(f"algorithm-pss-{digest}", "root-rsa2048", leaf)
    leaf = m.issue("leaf-pss-salt", "/CN=broker", "root-rsa2048", san(f"DNS:{HOST}"),
                   options=("rsa_padding_mode:pss", "rsa_pss_saltlen:20"))
    cases.add("algorithm-pss-other-salt", "root-rsa2048", leaf)


def unusual_leaves(m, cases):
    add = cases.add
    for issuer in ("root", "int", "root-other-name", "root-rsa2048"):
        m.issue(f"v1-{issuer}", f"/CN={HOST}", issuer, "", "v1")
    m.issue("v1-expired", f"/CN={HOST}", "root", "", "v1", end=-1)
    m.issue("v1-future", f"/CN={HOST}", "root", "", "v1", start=1)
    m.issue("v1-other-name", "/CN=other", "root", "", "v1")
    m.issue("v1-no-name", "/O=Ottla", "root", "", "v1")
    m.issue("v1-sha1", f"/CN={HOST}", "root-rsa2048", "", "v1", digest="sha1")
    m.issue("v1-rsa", f"/CN={HOST}", "root-rsa2048", "", "v1-rsa", "rsa2048")
    m.issue("v1-rsa1024", f"/CN={HOST}", "root-rsa2048", "", "v1-rsa1024", "rsa1024")
    m.issue("v1-of-plain", f"/CN={HOST}", "root-plain", "", "v1")
    m.issue("v1-of-root-version-1", f"/CN={HOST}", "root-version-1", "", "v1")
    m.issue("v1-of-client-root", f"/CN={HOST}", "root-eku-client", "", "v1")
    m.issue("v1-of-not-ca", f"/CN={HOST}", "root-not-ca", "", "v1")
    add("v1-direct", "root", "v1-root")
    add("v1-direct-root-sent", "root", "v1-root root")
    add("v1-rsa", "root-rsa2048", "v1-rsa")
    add("v1-rsa-issuer", "root-rsa2048", "v1-root-rsa2048")
    add("v1-other-host", "root", "v1-root", "kafka2.example.com")
    add("v1-address", "root", "v1-root", "10.0.0.1")
    add("v1-no-check", "root", "v1-other-name", "")
    add("v1-other-name", "root", "v1-other-name")
    add("v1-no-name", "root", "v1-no-name")
    add("v1-expired", "root", "v1-expired")
    add("v1-future", "root", "v1-future")
    add("v1-issuer-expired", "root-expired", "v1-root")
    add("v1-issuer-future", "root-future", "v1-root")
    add("v1-unknown-issuer", "root-other-name", "v1-root")
    add("v1-nothing-trusted", "", "v1-root")
    add("v1-nothing-trusted-root-sent", "", "v1-root root")
    add("v1-same-name-other-key", "root-other-key", "v1-root")
    add("v1-same-name-both", "root-other-key root", "v1-root")
    add("v1-intermediate-sent", "root", "v1-int int")
    add("v1-intermediate-trusted", "int", "v1-int")
    add("v1-intermediate-missing", "root", "v1-int")
    add("v1-sha1", "root-rsa2048", "v1-sha1")
    add("v1-short-key", "root-rsa2048", "v1-rsa1024")
    add("v1-plain-issuer", "root-plain", "v1-of-plain")
    add("v1-plain-issuer-both", "root-plain-2 root-plain", "v1-of-plain")
    add("v1-plain-issuer-other-key", "root-plain-2", "v1-of-plain")
    add("v1-version-1-issuer", "root-version-1", "v1-of-root-version-1")
    add("v1-client-issuer", "root-eku-client", "v1-of-client-root")
    add("v1-not-ca-issuer", "root-not-ca", "v1-of-not-ca")
    # openssl req -x509 by default.
    default = f"subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid:always\nbasicConstraints=critical,CA:TRUE\n"
    kinds = {
        "default": (f"/CN={HOST}", default), "with-name": ("/CN=broker", default + f"subjectAltName=DNS:{HOST}\n"),
        "not-ca": ("/CN=broker", f"basicConstraints=CA:FALSE\nsubjectAltName=DNS:{HOST}\n"),
        "keytool": (f"/CN={HOST}", "subjectKeyIdentifier=hash\n"), "version-1": (f"/CN={HOST}", ""),
        "client": (f"/CN={HOST}", default + "extendedKeyUsage=clientAuth\n"),
        "cert-sign": (f"/CN={HOST}", default + "keyUsage=keyCertSign\n"),
        "other-name": ("/CN=other", default),
        "critical": (f"/CN={HOST}", default + "1.2.3.4=critical,ASN1:NULL\n"),
    }
    for name, (subject, extensions) in kinds.items():
        m.issue(f"self-{name}", subject, None, extensions, f"self-{name}")
        add(f"self-{name}-trusted", f"self-{name}", f"self-{name}")
        add(f"self-{name}-untrusted", "root", f"self-{name}")
        add(f"self-{name}-nothing-trusted", "", f"self-{name}")
    m.issue("self-default-again", f"/CN={HOST}", None, default, "self-again")
    m.issue("self-default-same-key", f"/CN={HOST}", None, default, "self-default", start=-50)
    m.issue("self-expired", f"/CN={HOST}", None, default, "self-default", end=-1)
    m.issue("self-future", f"/CN={HOST}", None, default, "self-default", start=1)
    m.issue("self-sha1", f"/CN={HOST}", None, default, "self-sha1", "rsa2048", digest="sha1")
    m.issue("self-rsa1024", f"/CN={HOST}", None, default, "self-rsa1024", "rsa1024")
    add("self-same-name-other-key", "self-default-again", "self-default")
    add("self-renewed-same-key", "self-default", "self-default-same-key")
    add("self-twice-sent", "self-default", "self-default self-default")
    for kind in ("expired", "future", "sha1", "rsa1024"):
        add(f"self-{kind}-trusted", f"self-{kind}", f"self-{kind}")
    add("self-other-host", "self-with-name", "self-with-name", "kafka2.example.com")
    # Certificates with the flag of a CA.
    for issuer in ("root", "int"):
        m.issue(f"ca-leaf-{issuer}", "/CN=broker", issuer, INTERMEDIATE.replace(
            "keyCertSign,cRLSign", "keyCertSign,digitalSignature") + f"subjectAltName=DNS:{HOST}\n")
    add("ca-leaf-direct", "root", "ca-leaf-root")
    add("ca-leaf-below-intermediate", "root", "ca-leaf-int int")
    add("ca-leaf-trusted-intermediate", "int", "ca-leaf-int")
    add("ca-leaf-other-host", "root", "ca-leaf-root", "kafka2.example.com")
    add("ca-leaf-other-root", "root-other-name", "ca-leaf-root")
    m.issue("ca-leaf-no-usage", "/CN=broker", "root", f"basicConstraints=CA:TRUE\nsubjectAltName=DNS:{HOST}\n")
    add("ca-leaf-no-usage", "root", "ca-leaf-no-usage")
    m.issue("ca-leaf-expired", "/CN=broker", "root", f"basicConstraints=CA:TRUE\nsubjectAltName=DNS:{HOST}\n", end=-1)
    add("ca-leaf-expired", "root", "ca-leaf-expired")


def extensions(m, cases):
    for name, text in {
        "unknown": "1.2.3.4=ASN1:NULL\n", "unknown-critical": "1.2.3.4=critical,ASN1:NULL\n",
        "policies": "certificatePolicies=critical,1.2.3.4\n", "policy-constraints":
        "policyConstraints=critical,requireExplicitPolicy:0\n", "must-staple": "tlsfeature=status_request\n",
        "must-staple-critical": "tlsfeature=critical,status_request\n", "ns-client": "nsCertType=client\n",
        "ns-server": "nsCertType=server\n", "inhibit": "inhibitAnyPolicy=critical,0\n",
    }.items():
        m.issue(f"leaf-ext-{name}", "/CN=broker", "root", san(f"DNS:{HOST}") + text)
        cases.add(f"extension-leaf-{name}", "root", f"leaf-ext-{name}")
        m.issue(f"int-ext-{name}", f"/CN=Ext {name}", "root", INTERMEDIATE + text, "int-ext")
        m.issue(f"leaf-int-ext-{name}", "/CN=broker", f"int-ext-{name}", san(f"DNS:{HOST}"))
        cases.add(f"extension-intermediate-{name}", "root", f"leaf-int-ext-{name} int-ext-{name}")
        if name in ("unknown", "unknown-critical", "policy-constraints"):
            m.issue(f"root-ext-{name}", f"/CN=Root ext {name}", None, CA + text, "root-ext")
            m.issue(f"leaf-root-ext-{name}", "/CN=broker", f"root-ext-{name}", san(f"DNS:{HOST}"))
            cases.add(f"extension-root-{name}", f"root-ext-{name}", f"leaf-root-ext-{name}")
    for name, constraint in {
        "permitted": "permitted;DNS:example.com", "not-permitted": "permitted;DNS:example.org",
        "excluded": "excluded;DNS:example.com", "not-excluded": "excluded;DNS:example.org",
        "address": "permitted;IP:10.0.0.0/255.0.0.0", "address-excluded": "excluded;IP:10.0.0.0/255.0.0.0",
    }.items():
        for place, issuer, base in (("intermediate", "root", INTERMEDIATE), ("root", None, CA)):
            ca = m.issue(f"{place}-nc-{name}", f"/CN={place} NC {name}", issuer,
                         base + f"nameConstraints=critical,{constraint}\n", f"{place}-nc")
            leaf = m.issue(f"leaf-{place}-nc-{name}", "/CN=broker", ca, san(f"DNS:{HOST}", "IP:10.0.0.1"))
            chain = f"{leaf} {ca}" if issuer else leaf
            cases.add(f"constraint-{place}-{name}", "root" if issuer else ca, chain)
            cases.add(f"constraint-{place}-{name}-expired", "root" if issuer else ca, chain, at=NOW + 1001 * DAY)
            v1 = m.issue(f"v1-{place}-nc-{name}", f"/CN={HOST}", ca, "", "v1")
            cases.add(f"constraint-{place}-{name}-v1", ca, v1)


def damaged(m, cases):
    def changed(name, source, change):
        return m.add_bytes(name, change(bytearray(m.certificates[source])), m.key_of[source])

    def flip(at):
        def change(der):
            der[at] ^= 1
            return bytes(der)
        return change

    for source, trusted, rest in (("leaf", "root", ""), ("leaf-int", "root", "int"), ("v1-root", "root", ""),
                                  ("self-default", "root", "")):
        for name, at in (("signature", -1), ("signature-begin", -40)):
            cases.add(f"damaged-{source}-{name}", trusted, f"{changed(f'{source}-bad-{name}', source, flip(at))} {rest}")
        cut = changed(f"{source}-cut", source, lambda der: bytes(der[:-1]))
        longer = changed(f"{source}-longer", source, lambda der: bytes(der) + b"\0")
        cases.add(f"damaged-{source}-cut", trusted, f"{cut} {rest}")
        cases.add(f"damaged-{source}-longer", trusted, f"{longer} {rest}")
        name = changed(f"{source}-renamed", source, lambda der: bytes(der).replace(b"kafka1", b"kafka2"))
        cases.add(f"damaged-{source}-renamed", trusted, f"{name} {rest}", "kafka2.example.com")
    cases.add("damaged-intermediate", "root", "leaf-int " + changed("int-bad", "int", flip(-1)))
    cases.add("damaged-intermediate-and-whole", "root", "leaf-int int-bad int")
    cases.add("damaged-root-signature", changed("root-bad", "root", flip(-1)), "leaf")
    cases.add("damaged-self-trusted-whole", "self-default", "self-default-bad-signature")
    cases.add("damaged-intermediate-cut", "root", "leaf-int " + changed("int-cut", "int", lambda der: bytes(der[:-1])))


def revocation(m, cases):
    m.issue("root-no-crl", "/CN=No CRL", None, CA.replace(",cRLSign", ""), "root-no-crl")
    m.issue("leaf-no-crl", "/CN=broker", "root-no-crl", san(f"DNS:{HOST}"))
    point = "crlDistributionPoints=URI:http://example.com/a.crl\n"
    m.issue("leaf-point", "/CN=broker", "root", san(f"DNS:{HOST}") + point)
    m.issue("leaf-point-revoked", "/CN=broker", "root", san(f"DNS:{HOST}") + point)
    m.issue("leaf-revoked", "/CN=broker", "root", san(f"DNS:{HOST}"))
    m.issue("leaf-int-revoked", "/CN=broker", "int", san(f"DNS:{HOST}"))
    m.issue("leaf-revoked-expired", "/CN=broker", "root", san(f"DNS:{HOST}"), end=-1)
    m.issue("v1-revoked", f"/CN={HOST}", "root", "", "v1")
    many = [m.issue(f"many{i}", "/CN=many", "root", LEAF) for i in range(5)]
    revoked = ["leaf-revoked", "v1-revoked", "leaf-revoked-expired", "leaf-point-revoked", "int-expired", *many]
    idp = "issuingDistributionPoint=critical,@idp\n[idp]\n"
    point = "fullname=URI:http://example.com/"
    lists = {
        "current": {}, "expired": {"start": -20, "end": -1}, "future": {"start": 1, "end": 10},
        "version-1": {"extensions": "", "number": False}, "no-extensions": {"extensions": ""},
        "superseded": {"reason": ",superseded"}, "hold": {"reason": ",holdInstruction,holdInstructionReject"},
        "damaged": {"damaged": True}, "empty": {"revoked": []},
        "users": {"extensions": idp + "onlyuser=TRUE\n"}, "cas": {"extensions": idp + "onlyCA=TRUE\n"},
        "attributes": {"extensions": idp + "onlyAA=TRUE\n"}, "indirect": {"extensions": idp + "indirectCRL=TRUE\n"},
        "reasons": {"extensions": idp + "onlysomereasons=keyCompromise\n"},
        "point": {"extensions": idp + point + "a.crl\n"}, "other-point": {"extensions": idp + point + "b.crl\n"},
        "critical": {"extensions": "1.2.3.4=critical,ASN1:NULL\n"}, "unknown": {"extensions": "1.2.3.4=ASN1:NULL\n"},
        "delta": {"extensions": "2.5.29.27=critical,ASN1:INTEGER:1\n"},
    }
    for name, options in lists.items():
        m.revoke(f"list-{name}", "root", **{"revoked": revoked, **options})
        for leaf in ("leaf", "leaf-revoked", "leaf-point", "leaf-point-revoked"):
            if "point" not in leaf or "point" in name:
                cases.add(f"list-{name}-{leaf}", "root", leaf, lists=f"list-{name}")
    m.revoke("list-int", "int", ["leaf-int-revoked"])
    m.revoke("list-root-with-int", "root", ["int"])
    m.revoke("list-other", "root-other-name")
    m.revoke("list-no-crl", "root-no-crl")
    m.revoke("list-old-empty", "root", start=-20)
    m.revoke("list-other-key-same-name", "root-other-key")
    add = cases.add
    add("list-none", "root", "leaf", no_list=True)
    add("list-of-other-ca", "root", "leaf", lists="list-other")
    add("list-two-cas", "root", "leaf-revoked", lists="list-other list-current")
    add("list-two-cas-good", "root", "leaf", lists="list-other list-current")
    add("list-old-and-new", "root", "leaf-revoked", lists="list-old-empty list-current")
    add("list-new-and-old", "root", "leaf-revoked", lists="list-current list-old-empty")
    add("list-expired-and-current", "root", "leaf", lists="list-expired list-empty")
    add("list-same-name-other-key", "root", "leaf", lists="list-other-key-same-name")
    add("list-same-name-both", "root", "leaf", lists="list-other-key-same-name list-current")
    add("list-same-name-both-revoked", "root", "leaf-revoked", lists="list-other-key-same-name list-current")
    add("list-intermediate-revoked", "root", "leaf-int int", lists="list-int list-root-with-int")
    add("list-leaf-of-intermediate", "root", "leaf-int int", lists="list-int")
    add("list-leaf-of-intermediate-revoked", "root", "leaf-int-revoked int", lists="list-int")
    add("list-leaf-of-intermediate-root-only", "root", "leaf-int int", lists="list-current")
    add("list-issuer-usage", "root-no-crl", "leaf-no-crl", lists="list-no-crl")
    add("list-revoked-and-expired", "root", "leaf-revoked-expired", lists="list-current")
    add("list-revoked-and-other-host", "root", "leaf-revoked", "kafka2.example.com", lists="list-current")
    add("list-revoked-and-unknown-issuer", "root-other-name", "leaf-revoked", lists="list-current")
    add("list-v1", "root", "v1-root", lists="list-current")
    add("list-v1-revoked", "root", "v1-revoked", lists="list-current")
    add("list-v1-no-list", "root", "v1-root", lists="list-other")
    add("list-trusted-intermediate", "int", "leaf-int", lists="list-int")
    add("list-trusted-intermediate-revoked", "int", "leaf-int-revoked", lists="list-int")
    for place, serial in enumerate(many):
        add(f"list-many-{place}", "root", serial, "", lists="list-current")
    m.revoke("list-self", "self-default", ["self-default"])
    add("list-self-signed-none", "self-default", "self-default", lists="list-current")
    add("list-self-signed-revoked", "self-default", "self-default", lists="list-self")


def combinations(m, cases):
    """Adds every combination of faults in a chain with one intermediate CA."""
    for (date_name, start, end), purpose in itertools.product(
            (("good", -100, 1000), ("expired", -100, -1), ("future", 1, 100)), ("server", "client")):
        text = san(f"DNS:{HOST}").replace("serverAuth", f"{purpose}Auth")
        m.issue(f"mix-{date_name}-{purpose}", "/CN=broker", "int", text, start=start, end=end)
        for host, ca, root in itertools.product((HOST, "kafka2.example.com"), ("int", "int-expired"),
                                                ("root", "root-expired", "root-other-name", "")):
            name = f"mix-{date_name}-{purpose}-{'name' if host == HOST else 'other'}-{ca}-{root or 'none'}"
            cases.add(name, root, f"mix-{date_name}-{purpose} {ca}", host)


def write(name, rows):
    (HERE / name).write_text("".join(f"{row}\n" for row in rows))


def main():
    os.environ["OPENSSL_CONF"] = "/dev/null"
    cases = Cases()
    with tempfile.TemporaryDirectory() as folder:
        m = Maker(folder)
        hierarchy(m)
        for part in (shapes, dates, host_names, subjects, purposes, path_lengths, algorithms, unusual_leaves, extensions, damaged,
                     revocation, combinations):
            part(m, cases)
        reference = Reference(m)
        rows = []
        for name, case in cases.all.items():
            trace = reference.trace(case)
            accepted = all(call.startswith("@") for call in trace)
            # The command has no option against partial wildcards, and stops at what cannot be read.
            if trace != ["unreadable"] and not name.startswith(("name-wildcard-partial", "name-wildcard-suffix")):
                assert reference.verdict(case) == accepted, (name, trace)
            lists = ",".join(case["lists"]) or ("-" if case["no_list"] else "")
            rows.append(f"{name} trusted={','.join(case['trusted'])} chain={','.join(case['chain'])} host={case['host']} "
                        f"at={case['at']} lists={lists} openssl={','.join(trace)}")
        used = {name for case in cases.all.values() for name in case["trusted"] + case["chain"]}
        encode = lambda der: base64.b64encode(der).decode()
        write("certificates.txt", (f"{name} {encode(der)}" for name, der in m.certificates.items() if name in used))
        write("lists.txt", (f"{name} {encode(der)}" for name, der in m.lists.items()))
        keys = {}
        for leaf in ("leaf", "v1-root", "v1-rsa", "self-default", "leaf-with-rsa2048", "leaf-with-P-384"):
            pem = m.keys[m.key_of[leaf]]
            keys[leaf] = m.run("pkcs8", "-topk8", "-nocrypt", "-in", pem, "-outform", "DER")
        write("keys.txt", (f"{name} {encode(der)}" for name, der in keys.items()))
        write("cases.txt", rows)
        printed = ((name, m.run("x509", "-in", m.path(f"{name}.pem"), "-noout", "-subject", "-nameopt",
                                "RFC2253,-esc_msb,utf8").decode().strip().removeprefix("subject="))
                   for name in m.certificates if name.startswith(("subject-", "name-")))
        write("names.txt", (f"{name} {subject}" for name, subject in printed))
    accepted = sum(1 for row in rows if all(call.startswith("@") for call in row.rsplit("openssl=", 1)[1].split(",")))
    print(f"{len(rows)} cases, {accepted} accepted by OpenSSL, {len(used)} certificates")


if __name__ == "__main__":
    main()
