/* SPDX-License-Identifier: MIT */
/* Any bytes as operations on a world: it does what the naive model of
 * tests/c/ops_model.h says, and every invariant holds after each of them. The
 * stages are the kinds of operation that had an effect. */
#include "fz_target.h"

#include <stdio.h>
#include <stdlib.h>

#include "../tests/c/ops_model.h"

const char *const fz_stages[OPS_KINDS + 1] = {
    "spawn",        "spawn at",       "spawn many",   "despawn",
    "add",          "remove",         "move",         "write",
    "stage spawn",  "stage spawn at", "stage batch",  "stage batch at",
    "stage change", "stage despawn",  "drain",        "drain in part",
    "clear",        "compact",        "reserve",      "query",
    "attend",       "follow",         "memory fails", NULL};
unsigned long fz_reached[OPS_KINDS];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ops_report report = {{0}, 0, NULL, NULL, 0};

    if (ops_run(data, size, &report) != NULL) {
        fprintf(stderr, "operation %lu, %s, line %d: %s\n", report.operations,
                report.kind, report.line, report.fault);
        abort();
    }
    for (int k = 0; k < OPS_KINDS; k++)
        fz_reached[k] += report.done[k];
    return 0;
}
