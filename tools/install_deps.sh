#!/bin/sh
# Installs what is missing, with apt-get, and says what.
#
#   tools/install_deps.sh build    compile the module and run it
#   tools/install_deps.sh test     also run the tests
#   tools/install_deps.sh check    also lint, sanitizers, fuzzing
#
# With everything present it does nothing and needs no network. Elsewhere than
# on Debian and its kin it lists what to install by hand.
group=${1:-build}
missing=

# need PACKAGE TEST...: the package is missing when the test fails.
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
tool() { command -v "$1"; }
library() { pkg-config --exists "$1"; }
# libFuzzer's runtime lies in clang's own folder.
fuzzer() {
    find "$(clang -print-resource-dir)/lib" -name 'libclang_rt.fuzzer*' |
        grep -q .
}

need gcc tool cc
need libc6-dev test -e /usr/include/stdlib.h
need make tool make
need pkg-config tool pkg-config
need luajit tool luajit
need libluajit-5.1-dev library luajit
if [ "$group" != build ]; then
    need lua-busted tool busted
    need libcmocka-dev library cmocka
    need luarocks tool luarocks
fi
if [ "$group" = check ]; then
    need lua-check tool luacheck
    need cppcheck tool cppcheck
    need clang tool clang
    need clang-format tool clang-format
    need clang-tidy tool clang-tidy
    need libclang-rt-dev fuzzer
fi
[ -n "$missing" ] || exit 0

root=
if [ "$(id -u)" -ne 0 ]; then
    root=sudo
fi
if ! command -v apt-get >/dev/null; then
    echo "engram needs these (names of Debian packages):$missing" >&2
    echo "There is no apt-get here; please install them by hand." >&2
    exit 1
elif [ -n "$root" ] && ! command -v sudo >/dev/null; then
    echo "engram needs these packages:$missing" >&2
    echo "Please run as root: apt-get install$missing" >&2
    exit 1
fi

echo "engram: installing with ${root:+$root }apt-get:$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of packages
$root apt-get update -q >/dev/null &&
    $root apt-get install -q -y --no-install-recommends $missing || {
    echo "engram: apt-get could not install:$missing" >&2
    exit 1
}
