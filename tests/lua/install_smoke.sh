#!/bin/sh
# Installs engram into throw-away trees, with luarocks and with make, and runs
# tests/lua/smoke.lua from another folder with nothing but the installed files.
# Needs no network. Exit status 77: luarocks is not there.
set -e
root=$(pwd)
[ -f "$root/engram-scm-1.rockspec" ] || { echo "run from the root" >&2; exit 1; }
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
# A build folder of its own: others may be building in this tree.
BUILD=$here/build
export BUILD
unset MAKEFLAGS MFLAGS

# smoke LUADIR LIBDIR: the installed module, and no other.
smoke() {
    cp "$root/tests/lua/smoke.lua" "$here/smoke.lua"
    (cd "$here" && env LUA_PATH="$1/?.lua;$1/?/init.lua" LUA_CPATH="$2/?.so" \
        luajit smoke.lua)
}

echo "make install"
make --no-print-directory -s install PREFIX="$here/made"
smoke "$here/made/share/lua/5.1" "$here/made/lib/lua/5.1"
make --no-print-directory -s uninstall PREFIX="$here/made"
if find "$here/made" -type f -o -type l | grep .; then
    echo "make uninstall left files behind" >&2
    exit 1
fi

if ! command -v luarocks >/dev/null; then
    echo "luarocks is not installed: its part was left out" >&2
    exit 77
fi
echo "luarocks make"
include=$(pkg-config --variable=includedir luajit)
unset LUA_PATH LUA_CPATH
HOME=$here luarocks --lua-version=5.1 make --tree="$here/rocks" \
    engram-scm-1.rockspec LUA_INCDIR="$include"
smoke "$here/rocks/share/lua/5.1" "$here/rocks/lib/lua/5.1"
