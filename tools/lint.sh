#!/bin/sh
# All source checks, one line each; a tool that is not installed is skipped.
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT

# files FOLDERS... -- NAMES...: what is there.
files() {
    dirs=
    while [ "$1" != -- ]; do
        [ -d "$1" ] && dirs="$dirs $1"
        shift
    done
    shift
    [ -n "$dirs" ] || return
    for pattern in "$@"; do
        # shellcheck disable=SC2086 # a list of folders
        find $dirs -type f -name "$pattern"
    done | LC_ALL=C sort
}

# check NAME COMMAND...: runs it and counts; the output is shown on failure,
# and on success where the check has something to warn about.
check() {
    name=$1
    shift
    if "$@" >"$out/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok    $name"
        grep '^warning: ' "$out/log"
    else
        failed=$((failed + 1))
        cat "$out/log"
        echo "FAIL  $name"
    fi
}

# check_with TOOL NAME COMMAND...: the same, if the tool is installed.
check_with() {
    if command -v "$1" >/dev/null; then
        shift
        check "$@"
    else
        skipped=$((skipped + 1))
        echo "skip  $2 ($1 is not installed)"
    fi
}

lua_files() { files lua spec examples bench tools tests/lua -- '*.lua'; }
c_files() { files csrc -- '*.c' '*.h'; }
c_sources() { files csrc tests/c fuzz -- '*.c'; }

# Generated files say so in their first line and may be of any length.
length_of_files() {
    files csrc lua spec tests fuzz bench examples tools docs -- \
        '*.c' '*.h' '*.lua' '*.sh' '*.md' | xargs awk '
        FNR == 1 { generated = /[Gg]enerated/ }
        { lines[FILENAME] = generated ? 0 : FNR }
        END {
            for (f in lines)
                if (lines[f] > 600) {
                    print f ": " lines[f] " lines, more than 600"
                    bad = 1
                } else if (lines[f] > 350 && f !~ /\.md$/)
                    print "warning: " f " has " lines[f] " lines"
            exit bad
        }'
}

# Lines of code up to 80 characters, no tabs, no blanks at the end. Lua is
# left to luacheck; Makefiles need tabs.
layout() {
    ! c_files | LC_ALL=C.UTF-8 xargs grep -nP '^.{81,}$|\t|[ ]+$'
}

cdef_is_current() {
    luajit tools/gen_cdef.lua "$out/cdef.lua" || return 1
    diff -u lua/engram/cdef.lua "$out/cdef.lua" ||
        { echo "lua/engram/cdef.lua is out of date: make cdef"; return 1; }
}

c_format() { c_sources | xargs clang-format --dry-run -Werror; }

# Tests and fuzzers are left out. cppcheck thinks that mmap needs a file.
cpp_check() {
    cppcheck --quiet --std=c99 --enable=warning,performance,portability \
        --inline-suppr --error-exitcode=1 --library=posix -j 2 \
        --suppress=missingIncludeSystem \
        --suppress=invalidFunctionArg:*eg_pages_posix.c \
        -Icsrc csrc/core
}

tidy() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    files csrc -- '*.c' | xargs -P 2 -n 4 sh -c \
        'clang-tidy --quiet "$@" -- -std=c99 -Icsrc $LUA_INC' tidy
}
LUA_INC=$(pkg-config --cflags luajit)
export LUA_INC

lua_check() {
    # shellcheck disable=SC2046 # a list of files
    luacheck -q --no-color $(lua_files) engram-scm-1.rockspec
}

shells() {
    for file in $(files tools tests .ci -- '*.sh' run); do
        sh -n "$file" || return 1
    done
}

check_with luacheck luacheck lua_check
# shellcheck disable=SC2046 # lists of files
{
    check layers luajit tools/check_layers.lua $(c_files)
    check pairs luajit tools/check_pairs.lua $(lua_files)
    check code-from-text luajit tools/check_lua.lua $(files lua -- '*.lua')
}
check length length_of_files
check layout layout
check cdef cdef_is_current
check shell shells
check_with clang-format format c_format
check_with cppcheck cppcheck cpp_check
check_with clang-tidy clang-tidy tidy

echo "closing: passed=$passed failed=$failed skipped=$skipped"
[ "$failed" -eq 0 ]
