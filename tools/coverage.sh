#!/bin/sh
# Lines of each C file of the core and the binding that the tests reached.
#
#   tools/coverage.sh OBJECT-FOLDER      built with --coverage, after a run
set -e
find "$1/csrc" -name '*.gcda' | LC_ALL=C sort | xargs gcov -n 2>/dev/null |
    awk -F "'|:|%| of " '
        /^File / { file = $2 }
        /^Lines executed/ && file ~ /^csrc/ && file ~ /\.c$/ {
            printf "%6.1f %%  %5d  %s\n", $2, $4, file
            reached += $2 * $4 / 100; lines += $4; file = ""
        }
        END {
            if (lines == 0) { print "coverage: nothing was run"; exit 1 }
            printf "%6.1f %%  %5d  total\n", 100 * reached / lines, lines
        }'
