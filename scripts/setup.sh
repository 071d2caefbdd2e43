#!/bin/sh
# Installs the system packages that building and testing use with apt-get (as root),
# and lists the packages that are still missing.
# Exit status: 0 when everything that a build needs is installed.
#
#   scripts/setup.sh           install what is missing
#   scripts/setup.sh --check   only list what is missing
set -u

# program:Debian package:purpose (programs with the purpose "build" are required)
wanted='
cc:gcc:build
c++:g++:build
ld:binutils:build
pkg-config:pkg-config:tests of the installation
java:openjdk-17-jre-headless:real Kafka tests
mvn:maven:fetching Kafka
kcat:kcat:real Kafka tests
openssl:openssl:certificates of the real Kafka tests
valgrind:valgrind:memory tests of the C API
'

missing_programs() {
    echo "$wanted" | while IFS=: read -r program package purpose; do
        [ -n "$program" ] || continue
        command -v "$program" >/dev/null 2>&1 || echo "$program:$package:$purpose"
    done
}

missing=$(missing_programs)
if [ -n "$missing" ] && [ "${1:-}" != --check ]; then
    packages=$(echo "$missing" | cut -d: -f2 | tr '\n' ' ')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "setup: installing $packages"
        export DEBIAN_FRONTEND=noninteractive
        # shellcheck disable=SC2086  # one word for each package
        apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1 || {
            apt-get update -qq >/dev/null 2>&1
            # shellcheck disable=SC2086
            apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1
        }
        missing=$(missing_programs)
    fi
fi

status=0
if ! command -v cargo >/dev/null 2>&1; then
    echo "setup: cargo is missing: install Rust 1.95 or later from https://rustup.rs"
    status=1
fi
if [ -n "$missing" ]; then
    echo "$missing" | while IFS=: read -r program package purpose; do
        echo "setup: $program is missing ($purpose): apt-get install $package"
    done
    if echo "$missing" | grep -q ':build$'; then status=1; fi
fi
exit $status
