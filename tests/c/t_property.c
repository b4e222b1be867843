/* SPDX-License-Identifier: MIT */
/* Random operations on a world and on a naive model (ops_model.h). EG_SEED=
 * replays a run, EG_OPS= sets its length. */
#include "snap_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops_model.h"

enum { OPERATIONS = 200000, MOST_BYTES = 6000 };

static unsigned long operations(void)
{
    const char *text = getenv("EG_OPS");

    return text != NULL ? strtoul(text, NULL, 10) : OPERATIONS;
}

/* Worlds live for some bytes each: short ones meet every beginning, long ones
 * grow old. */
static void a_world_does_what_the_model_says(void **state)
{
    uint64_t seed = snap_seed();
    unsigned long wanted = operations();
    uint8_t *bytes = test_malloc(MOST_BYTES);
    ops_report report;

    (void)state;
    memset(&report, 0, sizeof report);
    for (uint32_t round = 0; report.operations < wanted; round++) {
        uint64_t start = seed;
        size_t size = 50 + snap_below(&seed, MOST_BYTES - 50);

        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)snap_random(&seed);
        if (ops_run(bytes, size, &report) != NULL)
            fail_msg("EG_SEED=%llu, operation %lu, %s, line %d: %s",
                     (unsigned long long)start, report.operations, report.kind,
                     report.line, report.fault);
    }
    test_free(bytes);
    for (int k = 0; k < OPS_KINDS; k++) {
        printf("%-16s %lu\n", ops_kind_names[k], report.done[k]);
        if (wanted >= OPERATIONS)
            assert_true(report.done[k] > 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_does_what_the_model_says),
    };

    return cmocka_run_group_tests_name("property", tests, NULL, NULL);
}
