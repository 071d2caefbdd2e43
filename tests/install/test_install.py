"""Tests of `make install`: the installed files, pkg-config, and programs that build with them."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc")
CXX = os.environ.get("CXX", "c++")
CARGO = os.environ.get("CARGO", "cargo")

PROGRAM = r"""
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
int main(void) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char value[64] = "";
    size_t size = sizeof(value);
    if (rd_kafka_conf_set(conf, "client.id", "installed", NULL, 0) != RD_KAFKA_CONF_OK ||
        rd_kafka_conf_get(conf, "client.id", value, &size) != RD_KAFKA_CONF_OK)
        return 1;
    rd_kafka_conf_destroy(conf);
    printf("%x %x %s\n", RD_KAFKA_VERSION, (unsigned)rd_kafka_version(), value);
    return 0;
}
"""

# A client of an embedded cluster with TLS, in a program that has OpenSSL as well.
TLS_PROGRAM = r"""
#include <librdkafka/rdkafka.h>
#include <openssl/ssl.h>
#include <stdio.h>
int main(void) {
    char errstr[256];
    const struct rd_kafka_metadata *metadata;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "test.mock.num.brokers", "1", NULL, 0);
    if (!context || rd_kafka_conf_set(conf, "test.mock.ssl", "true", errstr, sizeof(errstr)) != RD_KAFKA_CONF_OK)
        return 1;
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
    if (!rk || rd_kafka_metadata(rk, 0, NULL, &metadata, 20000))
        return 2;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_destroy(rk);
    SSL_CTX_free(context);
    printf("both\n");
    return 0;
}
"""

CPP_PROGRAM = r"""
#include <librdkafka/rdkafkacpp.h>
#include <iostream>
#include <memory>
int main() {
    std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
    std::string errstr, value;
    if (conf->set("client.id", "installed", errstr) || conf->get("client.id", value))
        return 1;
    std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(conf.get(), errstr));
    if (!producer)
        return 1;
    std::cout << std::hex << RD_KAFKA_VERSION << " " << RdKafka::version() << " " << value << std::endl;
    return 0;
}
"""

INSTALLED = {
    "include/librdkafka/rdkafka.h",
    "include/librdkafka/rdkafka_mock.h",
    "include/librdkafka/rdkafkacpp.h",
    "include/librdkafka/ottla.h",
    "include/librdkafka/ottla_admin.h",
    "include/librdkafka/ottla_share.h",
    "include/librdkafka/ottla_adminpp.h",
    "include/librdkafka/ottla_adminpp_cluster.h",
    "include/librdkafka/ottla_adminpp_convert.h",
    "include/librdkafka/ottla_adminpp_extended.h",
    "include/librdkafka/ottla_adminpp_groups.h",
    "include/librdkafka/ottla_adminpp_transactions.h",
    "include/librdkafka/ottla_adminpp_types.h",
    "include/librdkafka/ottla_sharepp.h",
    "lib/librdkafka++.a",
    "lib/librdkafka++.so",
    "lib/librdkafka++.so.1",
    "lib/librdkafka.a",
    "lib/librdkafka.so",
    "lib/librdkafka.so.1",
    "lib/pkgconfig/rdkafka++-static.pc",
    "lib/pkgconfig/rdkafka++.pc",
    "lib/pkgconfig/rdkafka-static.pc",
    "lib/pkgconfig/rdkafka.pc",
}


def run(*command, env=None):
    done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, timeout=900)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def make(*args):
    # Independent of a make that may have started these tests.
    return run("make", "--no-print-directory", *args, env={"MAKEFLAGS": "", "MAKELEVEL": ""})


def target_folder():
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def files(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="ottla-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "prefix"
        make("install", f"PREFIX={cls.prefix}")
        cls.source = cls.folder / "program.c"
        cls.source.write_text(PROGRAM)
        cls.cpp_source = cls.folder / "program.cpp"
        cls.cpp_source.write_text(CPP_PROGRAM)
        cls.version = cls.version_in("rdkafka.h")

    @classmethod
    def version_in(cls, header):
        text = (cls.prefix / "include" / "librdkafka" / header).read_text()
        return int(re.search(r"#define RD_KAFKA_VERSION\s+(0x[0-9a-f]+)", text).group(1), 16)

    def pkg_config(self, *args, env=None):
        if shutil.which("pkg-config") is None:
            self.skipTest("pkg-config is not installed (make deps)")
        env = {"PKG_CONFIG_PATH": str(self.prefix / "lib" / "pkgconfig"), **(env or {})}
        return run("pkg-config", *args, env=env).split()

    def build(self, name, flags, *before):
        target = self.folder / name
        run(CC, "-Wall", "-Wextra", "-Werror", "-o", target, self.source, *before, *flags)
        return target

    def build_cpp(self, name, flags):
        target = self.folder / name
        run(CXX, "-std=c++11", "-Wall", "-Wextra", "-Werror", "-o", target, self.cpp_source, *flags)
        return target

    def check_runs(self, target, env=None, header="rdkafka.h"):
        self.assertEqual(run(target, env=env), f"{self.version_in(header):x} {self.version:x} installed\n")

    def test_files(self):
        self.assertEqual(files(self.prefix), INSTALLED)
        self.assertEqual(os.readlink(self.prefix / "lib" / "librdkafka.so"), "librdkafka.so.1")
        dynamic = run("readelf", "-d", self.prefix / "lib" / "librdkafka.so.1")
        self.assertIn("soname: [librdkafka.so.1]", dynamic)
        self.assertEqual(os.readlink(self.prefix / "lib" / "librdkafka++.so"), "librdkafka++.so.1")
        dynamic = run("readelf", "-d", self.prefix / "lib" / "librdkafka++.so.1")
        self.assertIn("soname: [librdkafka++.so.1]", dynamic)
        self.assertIn("Shared library: [librdkafka.so.1]", dynamic)

    def test_a_shared_program(self):
        target = self.build("shared", self.pkg_config("--cflags", "--libs", "rdkafka"))
        self.check_runs(target, {"LD_LIBRARY_PATH": str(self.prefix / "lib")})
        self.assertIn("librdkafka.so.1", run("readelf", "-d", target))

    def test_a_program_with_the_static_library(self):
        target = self.build("static", self.pkg_config("--cflags", "--libs", "rdkafka-static"))
        self.check_runs(target)
        self.assertNotIn("librdkafka", run("readelf", "-d", target))

    def test_a_fully_static_program(self):
        flags = self.pkg_config("--cflags", "--libs", "rdkafka-static")
        # glibc warns that getaddrinfo needs its shared parts at run time.
        self.check_runs(self.build("all-static", ["-static", *flags]))

    def test_a_shared_cpp_program(self):
        target = self.build_cpp("shared-cpp", self.pkg_config("--cflags", "--libs", "rdkafka++"))
        self.check_runs(target, {"LD_LIBRARY_PATH": str(self.prefix / "lib")}, "rdkafkacpp.h")
        self.assertIn("librdkafka++.so.1", run("readelf", "-d", target))

    def test_a_cpp_program_with_the_static_libraries(self):
        flags = self.pkg_config("--cflags", "--libs", "rdkafka++-static")
        target = self.build_cpp("static-cpp", flags)
        self.check_runs(target, header="rdkafkacpp.h")
        self.assertNotIn("librdkafka", run("readelf", "-d", target))
        self.check_runs(self.build_cpp("all-static-cpp", ["-static", *flags]), header="rdkafkacpp.h")

    def test_a_program_with_another_rust_library(self):
        other = self.folder / "other.rs"
        other.write_text('#[unsafe(no_mangle)] pub extern "C" fn other(n: i32) -> i32 {\n'
                         '    std::panic::catch_unwind(|| vec![1][n as usize]).unwrap_or(-1)\n}\n')
        library = self.folder / "libother.a"
        run("rustc", "--edition", "2024", "--crate-type", "staticlib", "-o", library, other)
        user = self.folder / "user.c"
        user.write_text("int other(int);\nint user(void) { return other(7); }\n")
        flags = self.pkg_config("--cflags", "--libs", "rdkafka-static")
        self.check_runs(self.build("both", flags, user, library))

    def test_a_static_program_with_tls_beside_openssl_and_another_rustls(self):
        if not Path("/usr/include/openssl/ssl.h").is_file():
            self.skipTest("the headers of OpenSSL are not installed (libssl-dev)")
        source = self.folder / "tls.c"
        source.write_text(TLS_PROGRAM)
        # An archive of all of rustls and its cryptography, as another Rust library brings it.
        run(CARGO, "rustc", "-q", "-p", "ottla-tls", "--lib", "--crate-type", "staticlib")
        other = target_folder() / "debug" / "libottla_tls.a"
        flags = self.pkg_config("--cflags", "--libs", "rdkafka-static")
        for name, libraries in (("openssl", ["-lssl", "-lcrypto"]),
                                ("openssl-static", ["-l:libssl.a", "-l:libcrypto.a"])):
            target = self.folder / name
            run(CC, "-Wall", "-Wextra", "-Werror", "-o", target, source, *libraries,
                "-Wl,--whole-archive", other, "-Wl,--no-whole-archive", *flags)
            self.assertEqual(run(target), "both\n")

    def test_a_staged_installation_names_its_final_prefix(self):
        stage = self.folder / "stage"
        make("install", f"DESTDIR={stage}", "PREFIX=/opt/kafka")
        self.assertEqual(files(stage / "opt" / "kafka"), INSTALLED)
        self.assertEqual(files(stage), {"opt/kafka/" + name for name in INSTALLED})
        text = (stage / "opt/kafka/lib/pkgconfig/rdkafka.pc").read_text()
        self.assertIn("prefix=/opt/kafka\n", text)
        self.assertNotIn(str(stage), text)
        # Cross builds use it through a system root.
        staged = {"PKG_CONFIG_PATH": str(stage / "opt/kafka/lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(stage)}
        target = self.build("staged", self.pkg_config("--cflags", "--libs", "rdkafka-static", env=staged))
        self.check_runs(target)
        make("uninstall", f"DESTDIR={stage}", "PREFIX=/opt/kafka")
        self.assertEqual(files(stage), set())

    def test_the_version_equals_the_headers(self):
        major, minor, revision = (self.version >> 24, self.version >> 16 & 0xff, self.version >> 8 & 0xff)
        for name in ("rdkafka", "rdkafka-static", "rdkafka++", "rdkafka++-static"):
            self.assertEqual(self.pkg_config("--modversion", name), [f"{major}.{minor}.{revision}"])

    def test_only_the_api_is_visible(self):
        shared = run("nm", "-D", "--defined-only", self.prefix / "lib" / "librdkafka.so.1").splitlines()
        static = run("nm", "--extern-only", "--defined-only", self.prefix / "lib" / "librdkafka.a").splitlines()
        for listing in (shared, static):
            names = {line.split()[-1] for line in listing if len(line.split()) == 3}
            self.assertGreater(len(names), 50)
            self.assertEqual({n for n in names if not n.startswith("rd_kafka_")}, set())

    def test_headers_compile_as_c99_and_cpp(self):
        source = self.folder / "only.c"
        source.write_text("#include <librdkafka/rdkafka.h>\n#include <librdkafka/rdkafka_mock.h>\n")
        include = f"-I{self.prefix / 'include'}"
        run(CC, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", include, source)
        run(CXX, "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", include, source)

    def test_the_cpp_header_compiles_in_every_cpp_and_beside_the_c_header(self):
        c, cpp = ("#include <librdkafka/rdkafka.h>\n", "#include <librdkafka/rdkafkacpp.h>\n")
        flags = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{self.prefix / 'include'}"]
        for standard, texts in (("98", [cpp]), ("11", [cpp, c + cpp, cpp + c]), ("20", [c + cpp])):
            for text in texts:
                source = self.folder / "only.cpp"
                source.write_text(text)
                run(CXX, f"-std=c++{standard}", *flags, source)


class Readme(unittest.TestCase):
    """Compiles the README's examples."""

    def check_compiles(self, language, compiler, libraries):
        text = (ROOT / "README.md").read_text()
        examples = re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)
        self.assertEqual(len(examples), 1)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"example.{language}"
            source.write_text(examples[0])
            run(*compiler, "-Wall", "-Wextra", "-Werror", "-o", Path(folder) / "example", source,
                f"-I{ROOT / 'build' / 'include'}", f"-L{ROOT / 'build' / 'lib'}", *libraries)

    def test_the_example_compiles(self):
        self.check_compiles("c", [CC], ["-lrdkafka"])

    def test_the_cpp_example_compiles(self):
        self.check_compiles("cpp", [CXX, "-std=c++11"], ["-lrdkafka++", "-lrdkafka"])

    def test_the_readme_begins_with_make_demo_and_make_test(self):
        text = (ROOT / "README.md").read_text()
        first = re.search(r"^```sh\n(.*?)^```", text, re.M | re.S).group(1)
        commands = [line.split("#")[0].strip() for line in first.splitlines() if line.strip()]
        self.assertEqual(commands[:2], ["make demo", "make test"])
        ci = (ROOT / ".ci" / "run").read_text()
        self.assertRegex(ci, r"(?m)^exec make test$")


if __name__ == "__main__":
    unittest.main()
