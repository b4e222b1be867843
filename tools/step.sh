#!/bin/sh
# Runs one step of the tests and keeps its counts.
#
#   tools/step.sh TALLY-FOLDER NAME COMMAND...
#
# Every runner ends by printing "closing: passed=P failed=F skipped=S". A
# command that ended without it was cut short (an os.exit(0) in a spec, a
# crash), and one that passed nothing found nothing to run: both have failed,
# whatever their exit status.
tally=$1 name=$2
shift 2
mkdir -p "$tally" || exit 1
log=$tally/$name.log
rm -f "$tally/$name"
started=$(date +%s)

echo "== $name"
{
    timeout --foreground "${EG_STEP_SECONDS:-900}" "$@" </dev/null
    echo $? >"$tally/$name.status"
} 2>&1 | tee "$log" | sed '/^closing: /d'
status=$(cat "$tally/$name.status")
rm -f "$tally/$name.status"

closing=$(grep -a '^closing: passed=[0-9]* failed=[0-9]* skipped=[0-9]*$' \
    "$log" | tail -n 1)
passed=0 failed=0 skipped=0 why=
if [ -n "$closing" ]; then
    closing=${closing#closing: }
    for pair in $closing; do
        case $pair in
        passed=*) passed=${pair#*=} ;;
        failed=*) failed=${pair#*=} ;;
        skipped=*) skipped=${pair#*=} ;;
        esac
    done
    if [ "$passed" -eq 0 ] && [ "$failed" -eq 0 ]; then
        why="nothing was run"
    elif [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
        why="exit status $status"
    fi
elif [ "$status" -eq 124 ]; then
    why="stopped after ${EG_STEP_SECONDS:-900} seconds"
else
    why="ended early, without its counts (exit status $status)"
fi
[ -n "$why" ] && failed=$((failed + 1))

[ -z "$(tail -c 1 "$log")" ] || echo # end the line a crash left open
echo "$passed $failed $skipped" >"$tally/$name"
echo "== $name: passed $passed, failed $failed, skipped $skipped," \
    "$(($(date +%s) - started)) s${why:+; $why}"
[ "$failed" -eq 0 ]
