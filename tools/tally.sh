#!/bin/sh
# Adds up what tools/step.sh recorded.
#
#   tools/tally.sh TALLY-FOLDER STEP...          a table
#   tools/tally.sh --line TALLY-FOLDER STEP...   "P passed, F failed" alone
#
# A step without a record (its build failed) counts as one failure. The exit
# status is 0 only if everything passed.
line=
[ "$1" = --line ] && line=1 && shift
tally=$1
shift
passed=0 failed=0 skipped=0

row() {
    [ -n "$line" ] || printf '%-20s %8s %8s %8s\n' "$@"
}

row step passed failed skipped
for step in "$@"; do
    if [ -f "$tally/$step" ]; then
        read -r p f s <"$tally/$step"
    else
        p=0 f=1 s=0
    fi
    note=$step
    [ -f "$tally/$step" ] || note="$step (none)"
    row "$note" "$p" "$f" "$s"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
row total "$passed" "$failed" "$skipped"
[ -z "$line" ] || echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
