#!/bin/sh
# Runs test programs one after the other and counts.
#
#   tools/run_tests.sh c PROGRAM...      cmocka programs; counts test functions
#   tools/run_tests.sh lua SCRIPT...     luajit scripts; counts scripts
#   tools/run_tests.sh sh SCRIPT...      shell scripts; counts scripts
#   tools/run_tests.sh fuzz PROGRAM...   replay drivers; counts corpus files
#
# Output is shown for programs that fail. The last line is the closing line
# that tools/step.sh reads.
kind=$1
shift
passed=0 failed=0 skipped=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

# report NAME PASSED FAILED SKIPPED [WHY]: one line per program.
report() {
    passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
    if [ "$3" -eq 0 ]; then
        echo "ok    $1 ($2)"
    else
        cat "$out"
        echo "FAIL  $1 ($2 passed, $3 failed)${5:+: $5}"
    fi
}

# cmocka announces each group ("Running 7 test(s)"), each test and the result
# of each. Fewer results than announced: the program ended early.
count_c() {
    awk '
        /^\[==========\].*Running [0-9]+ test/ {
            for (i = 1; i < NF; i++) if ($i == "Running") planned += $(i + 1)
        }
        /^\[ +RUN +\]/ { open = 1 }
        open && /^\[ +OK +\]/ { ok++; open = 0 }
        open && /^\[ +SKIPPED +\]/ { skipped++; open = 0 }
        END {
            ok += 0; skipped += 0; bad = planned - ok - skipped
            print ok, (bad < 0 ? 1 : bad), skipped
        }' "$out"
}

run_c() {
    "$1" >"$out" 2>&1
    status=$?
    # shellcheck disable=SC2046 # three numbers
    set -- "$1" $(count_c)
    if [ "$status" -ne 0 ] && [ "$3" -eq 0 ]; then
        report "$1" "$2" 1 "$4" "exit status $status"
    elif [ "$(($2 + $3 + $4))" -eq 0 ]; then
        report "$1" 0 1 0 "no test was run"
    else
        report "$1" "$2" "$3" "$4" "exit status $status"
    fi
}

# A script that returns has passed. tools/run_script.lua prints a mark after
# that, so a script that leaves by os.exit(0) half-way is found out.
run_lua() {
    "${LUAJIT:-luajit}" tools/run_script.lua "$1" >"$out" 2>&1
    status=$?
    if [ "$status" -ne 0 ]; then
        report "$1" 0 1 0 "exit status $status"
    elif [ "$(tail -n 1 "$out")" != "script: done" ]; then
        report "$1" 0 1 0 "ended early; scripts return, or raise to fail"
    else
        report "$1" 1 0 0
    fi
}

run_sh() {
    sh "$1" >"$out" 2>&1
    status=$?
    case $status in
    0) report "$1" 1 0 0 ;;
    77)
        cat "$out"
        echo "SKIP  $1"
        report "$1" 0 0 1
        ;;
    *) report "$1" 0 1 0 "exit status $status" ;;
    esac
}

# A driver runs each file it is given, prints "replayed N" last, and fails when
# a stage of its target was never reached.
run_fuzz() {
    name=$(basename "$1")
    count=$(find "fuzz/corpus/$name" -type f 2>/dev/null | wc -l)
    if [ "$count" -eq 0 ]; then
        : >"$out"
        report "$name" 0 1 0 "fuzz/corpus/$name is empty"
        return
    fi
    find "fuzz/corpus/$name" -type f | LC_ALL=C sort |
        xargs -s 1000000 "$1" >"$out" 2>&1
    status=$?
    if [ "$status" -ne 0 ]; then
        report "$name" 0 1 0 "exit status $status"
    elif [ "$(tail -n 1 "$out")" != "replayed $count" ]; then
        report "$name" 0 1 0 "ended early: no \"replayed $count\""
    else
        report "$name" "$count" 0 0
    fi
}

for program in "$@"; do
    "run_$kind" "$program"
done
echo "closing: passed=$passed failed=$failed skipped=$skipped"
[ "$failed" -eq 0 ]
