"""A Kerberos realm for tests: MIT's KDC, run from Debian's packages without installing them.

    with Kdc() as kdc:
        broker = kdc.keytab("broker", kdc.add("kafka/localhost"))
        client = kdc.keytab("client", kdc.add("client"))
        Cluster(listeners=lambda folder: [kafka.Listener("KRB", "SASL_PLAINTEXT", kdc.listener_settings(broker))],
                java_options=kdc.java_options())
        run(client program, env={**os.environ, **kdc.environment()})

Constructing a Kdc downloads and unpacks the packages (`Unavailable`: the reason to skip a test). All its files are in
build/real, and nothing of the system's Kerberos configuration is used.

    kdc.add(name, life_s=None)      creates a principal with a random key; tickets end after life_s. Returns NAME@REALM
    kdc.change_key(principal)       gives it another key: keytabs written before are out of date
    kdc.remove(principal)
    kdc.keytab(file, *principals)   writes a keytab; returns its path
    kdc.kinit(principal, keytab, cache="FILE:…", life_s=None)   fills a credentials cache; default: that of environment()
    kdc.listener_settings(keytab)   settings of a Kafka listener that accepts GSSAPI
    kdc.java_options(), kdc.environment()   what brokers and clients need to find the realm
    kdc.programs                    folder with kinit, klist and kdestroy, for PATH
    kdc.configure(**libdefaults)    rewrites krb5.conf with these settings of its first section, such as kdc_timesync=0
    kdc.freeze(), kdc.thaw()        SIGSTOP, SIGCONT: connections open, but no answer
    kdc.stop(), kdc.start(clock_s=0)   the database remains; clock_s sets the KDC's clock that many seconds ahead
"""

import atexit
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
import uuid

import debian
import kafka
from debian import Unavailable

PACKAGES = ["krb5-kdc", "krb5-admin-server", "krb5-user", "libkrb5-3", "libk5crypto3", "libkrb5support0",
            "libgssapi-krb5-2", "libkadm5srv-mit12", "libkadm5clnt-mit12", "libkdb5-10", "libgssrpc4", "libverto1",
            "libverto-libev1", "libev4", "libss2", "libkeyutils1", "libcom-err2", "libfaketime"]

REALM = "TEST.LOCAL"
START_TIMEOUT_S = 20
PROGRAM_TIMEOUT_S = 60

KRB5_CONF = """[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  default_ccache_name = FILE:{folder}/default-cache
  default_keytab_name = FILE:{folder}/default-keytab
  default_client_keytab_name = FILE:{folder}/default-client-keytab
{more}
[realms]
  {realm} = {{
    kdc = {host}:{port}
  }}
"""

KDC_CONF = """[kdcdefaults]
  kdc_listen = {host}:{port}
  kdc_tcp_listen = {host}:{port}
[realms]
  {realm} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/kadm5.acl
    max_life = 10h
    max_renewable_life = 1d
    default_principal_flags = +preauth
  }}
[dbmodules]
  db_module_dir = {plugins}
[logging]
  kdc = FILE:{folder}/kdc.log
  admin_server = FILE:{folder}/kadmin.log
"""


class Failed(Exception):
    """A program of Kerberos failed; the text is its output."""


class Kdc:
    """A realm with one KDC, at a free port of this machine."""

    def __init__(self, realm=REALM):
        self.realm = realm
        self.root = debian.unpacked("debian-krb5", PACKAGES)
        kinit = self._program("kinit")
        # The packages of the libraries are of the same version as the programs, which the installed ones may not be.
        (library,) = self.root.glob("usr/lib/*/libkrb5.so.3")
        base = [folder for folder in self.root.glob("lib/*") if folder.is_dir()]
        self.libraries = library.parent
        self.library_path = ":".join(map(str, [self.libraries, *base]))
        (self.faketime,) = self.root.glob("usr/lib/*/faketime/libfaketime.so.1")
        self.folder = kafka.WORK / f"kdc-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self.programs = self.folder / "bin"
        (self.port,) = kafka.free_ports(1)
        self.process = None
        self.created = False
        if subprocess.run([kinit, "-V", "-?"], env=self._own_environment(), capture_output=True).returncode == 127:
            raise Unavailable(f"{kinit} does not run here")

    # -- start and stop

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_):
        self.close()

    def start(self, clock_s=0):
        """Starts the KDC, with the principals that it had. `clock_s`: seconds that its clock is ahead."""
        if not self.created:
            self._create()
        environment = self._own_environment()
        if clock_s:
            environment |= {"LD_PRELOAD": str(self.faketime), "FAKETIME": f"{clock_s:+d}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        with open(self.folder / "krb5kdc.log", "ab") as log:
            self.process = subprocess.Popen(
                [self._program("krb5kdc"), "-n"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                start_new_session=True, preexec_fn=kafka.end_with_parent)
        self._wait_until_up()
        return self

    def _wait_until_up(self):
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            with socket.socket() as s:
                if s.connect_ex((kafka.HOST, self.port)) == 0:
                    return
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"krb5kdc is not up: {(self.folder / 'krb5kdc.log').read_text()[-1500:]}")
            time.sleep(0.02)

    def stop(self):
        """Kills the KDC: connections to its port are refused."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None

    def close(self):
        """Kills the KDC and removes its files."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def freeze(self):
        """Stops the KDC with SIGSTOP: the kernel accepts connections, but no answer comes."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def _create(self):
        """Writes the configuration, an empty database and the folder of programs."""
        self.programs.mkdir(parents=True)
        atexit.register(self.close)
        self.configure()
        (plugins,) = self.root.glob("usr/lib/*/krb5/plugins/kdb")
        values = {"host": kafka.HOST, "port": self.port, "realm": self.realm, "folder": self.folder, "plugins": plugins}
        (self.folder / "kdc.conf").write_text(KDC_CONF.format(**values))
        self._run("kdb5_util", "create", "-s", "-r", self.realm, "-P", uuid.uuid4().hex)
        for name in ("kinit", "klist", "kdestroy"):
            script = self.programs / name
            command = shlex.join(["env", f"LD_LIBRARY_PATH={self.library_path}", str(self._program(name))])
            script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            script.chmod(0o755)
        self.created = True

    def configure(self, **libdefaults):
        """Writes krb5.conf, with further settings of the section libdefaults. Clients that start later read it."""
        more = "".join(f"  {key} = {value}\n" for key, value in libdefaults.items())
        values = {"host": kafka.HOST, "port": self.port, "realm": self.realm, "folder": self.folder, "more": more}
        (self.folder / "krb5.conf").write_text(KRB5_CONF.format(**values))

    # -- principals, keytabs and tickets

    def full_name(self, principal):
        return principal if "@" in principal else f"{principal}@{self.realm}"

    def add(self, principal, life_s=None):
        """Creates a principal with a random key; returns its full name. `life_s`: maximum life of its tickets."""
        limit = f"-maxlife {life_s}s " if life_s else ""
        self._admin(f"addprinc -randkey {limit}{self.full_name(principal)}")
        return self.full_name(principal)

    def remove(self, principal):
        self._admin(f"delprinc -force {self.full_name(principal)}")

    def change_key(self, principal):
        """Sets another random key: the KDC refuses keytabs that were written before."""
        self._admin(f"cpw -randkey {self.full_name(principal)}")

    def keytab(self, file, *principals):
        """Writes the keys of principals into a file of the KDC's folder, in that order; returns its path."""
        path = self.folder / f"{file}.keytab"
        path.unlink(missing_ok=True)
        for principal in principals:
            self._admin(f"ktadd -norandkey -k {path} {self.full_name(principal)}")
        return path

    def kinit(self, principal, keytab, cache=None, life_s=None):
        """Fills a credentials cache with kinit; without `cache`, the default one of `environment`."""
        options = ["-c", cache] if cache else []
        options += ["-l", f"{life_s}s"] if life_s else []
        return self._run("kinit", *options, "-k", "-t", keytab, self.full_name(principal))

    # -- how brokers and clients find the realm

    def environment(self):
        """Returns the variables of a client's environment."""
        return {"KRB5_CONFIG": str(self.folder / "krb5.conf")}

    def java_options(self):
        """Returns the options of brokers' processes."""
        return (f"-Djava.security.krb5.conf={self.folder / 'krb5.conf'}",)

    def listener_settings(self, keytab, principal="kafka/localhost", service="kafka"):
        """Returns the settings of a Kafka listener that accepts GSSAPI with the broker's keytab."""
        module = (f'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true isInitiator=false '
                  f'keyTab="{keytab}" principal="{self.full_name(principal)}";')
        return {"sasl.enabled.mechanisms": "GSSAPI", "gssapi.sasl.jaas.config": module,
                "sasl.kerberos.service.name": service}

    # -- programs

    def log(self):
        """Returns the KDC's log: one line for each request, with its result."""
        return (self.folder / "kdc.log").read_text(errors="replace")

    def _program(self, name):
        found = [path for folder in ("usr/sbin", "usr/bin") if (path := self.root / folder / name).exists()]
        if not found:
            raise Unavailable(f"{name} is not in Debian's packages of Kerberos")
        return found[0]

    def _own_environment(self):
        return {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": self.library_path,
                "KRB5_CONFIG": str(self.folder / "krb5.conf"), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}

    def _run(self, name, *arguments):
        command = [str(self._program(name)), *map(str, arguments)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PROGRAM_TIMEOUT_S, env=self._own_environment())
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {done.stdout[-700:]}{done.stderr[-700:]}")
        return done.stdout + done.stderr

    def _admin(self, query):
        """Runs a command of kadmin, which has the exit status 0 for an unknown principal as well."""
        output = self._run("kadmin.local", "-r", self.realm, "-q", query)
        if "while " in output:
            raise Failed(f"{query}: {output[-1000:]}")
