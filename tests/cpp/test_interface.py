"""rdkafkacpp.h and librdkafka++.so.1 against interface.tsv: classes, types, places in vtables, exported names."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CXX = os.environ.get("CXX", "c++")
LIB_DIR = Path(os.environ.get("OTTLA_LIB_DIR") or ROOT / "build" / "lib")

PRELUDE = """
#include <rdkafkacpp.h>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

/* A pointer to a virtual method holds its place in the vtable (Itanium C++ ABI), plus 1. */
template <class Method> static void slot(const char *name, Method method, long wanted) {
    long words[2];
    static_assert(sizeof(method) == sizeof(words), "not the Itanium C++ ABI");
    std::memcpy(words, &method, sizeof(words));
    long got = words[0] & 1 ? words[0] / long(sizeof(void *)) : -1;
    if (got != wanted)
        std::printf("%s: at %ld in the vtable, must be at %ld\\n", name, got, wanted);
}

/* Only a base that is not virtual can be cast back statically. */
template <class Class, class Base, class = decltype(static_cast<Class *>(std::declval<Base *>()))>
constexpr bool casts_back(int) { return true; }
template <class Class, class Base> constexpr bool casts_back(...) { return false; }
"""


def rows(kind):
    for line in (ROOT / "tests" / "cpp" / "interface.tsv").read_text().splitlines():
        fields = line.split("\t")
        if fields[0] == kind:
            yield fields[1:]


def claim(condition, what):
    return f'static_assert({condition}, "{what}");'


def class_claims():
    for name, size, align, abstract, base in rows("class"):
        yield claim(f"sizeof({name}) == {size} && alignof({name}) == {align}", f"{name}: size or alignment")
        yield claim(f"std::is_abstract<{name}>::value == {str(abstract == 'abstract').lower()}", f"{name}: {abstract}")
        if base != "-":
            base = base.removeprefix("virtual ")
            yield claim(f"std::is_base_of<{base}, {name}>::value", f"{name}: base {base}")
            yield claim(f"!casts_back<{name}, {base}>(0)", f"{name}: its base must be virtual")
    for name, kind in rows("destructor"):
        yield claim(f"std::has_virtual_destructor<{name}>::value", f"{name}: {kind} destructor")
    for name, arguments in rows("constructor"):
        yield claim(f"std::is_constructible<{name}, {arguments}>::value", f"{name}({arguments})")
    for name, of, kind, offset in rows("field"):
        yield claim(f"offsetof({name}, {of}) == {offset} && std::is_same<decltype({name}::{of}), {kind}>::value",
                    f"{name}::{of}")
    for name, kind in rows("typedef"):
        yield claim(f"std::is_same<{name}, {kind}>::value", name)
    for name, kind, value in rows("enumerator"):
        yield claim(f"{name} == {value}", f"{name} = {value}")
        if kind != "-":
            yield claim(f"std::is_same<decltype({name}), {kind}>::value && sizeof({kind}) == 4", f"{name}: type")


def statements():
    for name, kind, place in rows("method"):
        method = f"static_cast<{kind}>(&{name})"
        yield f'slot("{name}", {method}, {place});' if place != "-" else f"(void){method};"
    for name, kind, value in rows("constant"):
        yield f'if (*static_cast<{kind} *>(&{name}) != {value}) std::puts("{name} must be {value}");'


@unittest.skipUnless(platform.machine() == "x86_64", "interface.tsv tells of x86-64")
@unittest.skipIf(shutil.which(CXX) is None, "no C++ compiler (make deps)")
class Interface(unittest.TestCase):
    def test_the_header(self):
        source = "\n".join([PRELUDE, *class_claims(), "int main() {", *statements(), "}", ""])
        self.assertGreater(source.count("\n"), 450)
        with tempfile.TemporaryDirectory() as folder:
            probe = Path(folder) / "probe.cpp"
            probe.write_text(source)
            built = subprocess.run(
                [CXX, "-std=c++11", "-Wall", "-Wno-invalid-offsetof", f"-I{ROOT / 'include'}", "-o",
                 f"{folder}/probe", str(probe), f"-L{LIB_DIR}", "-lrdkafka++", "-lrdkafka"],
                capture_output=True, text=True, timeout=300)
            self.assertEqual(built.returncode, 0, built.stderr)
            ran = subprocess.run([f"{folder}/probe"], capture_output=True, text=True, timeout=60,
                                 env={**os.environ, "LD_LIBRARY_PATH": str(LIB_DIR)})
            self.assertEqual((ran.returncode, ran.stdout), (0, ""))

    def test_every_method_is_documented(self):
        lines = (ROOT / "include" / "rdkafkacpp.h").read_text().splitlines()
        declarations = [(before, line) for before, line in zip(lines, lines[1:])
                        if re.match(r"(?! *//)(\s*(virtual|static|class RD_EXPORT|enum)|RD_EXPORT) ", line)
                        and "~" not in line]
        self.assertGreater(len(declarations), 250)
        self.assertEqual([line for before, line in declarations if not before.endswith("*/")], [])

    def test_the_exported_names(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", str(LIB_DIR / "librdkafka++.so.1")],
                                 capture_output=True, text=True, check=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in listing.splitlines()}
        wanted = {name for name, in rows("symbol")}
        self.assertGreater(len(wanted), 60)
        self.assertEqual(wanted - exported, set())
        # Nothing of the implementation, and of the C++ library.
        self.assertEqual({n for n in exported if not n.startswith("_Z") or "RdKafka" not in n}, set())
        self.assertEqual({n for n in exported if "ottla" in n or "Impl" in n}, set())


if __name__ == "__main__":
    unittest.main()
