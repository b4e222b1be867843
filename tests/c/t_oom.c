/* SPDX-License-Identifier: MIT */
/* Every public call of the store, of queries and of staged changes while
 * memory runs out: the i-th request fails, for i = 0, 1, 2, … until a run needs
 * no more than i. A call that fails has changed nothing that can be seen; asked
 * again it works, and the script ends in the same state as without failures. */
#include "oom_script.h"

#include <string.h>

enum { CALLS = 800 };

/* A step that failed is asked for again, with memory at hand. */
static void failed(oom_script *s, oom_step call, uint32_t n, uint64_t before)
{
    if (s->w != NULL)
        assert_sound(s->w);
    assert_true(oom_seen(s) == before);
    if (s->memory.fail_on) { /* more failures of the same kind */
        for (int i = 0; i < 3; i++)
            assert_int_equal(call(s, n), EG_ENOMEM);
        assert_true(oom_seen(s) == before);
        s->memory.fail_at = -1;
    }
    assert_int_equal(call(s, n), EG_OK);
}

/* What a run without failures asks for: requests made when each call of the
 * script has returned, and the final state. */
typedef struct ledger {
    long after[CALLS];
    uint64_t end;
} ledger;

static void finish(oom_script *s, uint64_t *end)
{
    assert_sound(s->w);
    *end = oom_seen(s);
    eg_query_free(s->w, s->q[0]);
    eg_world_free(s->w);
    eg_registry_release(s->registry);
    snap_memory_fini(&s->memory);
}

/* The run without failures; returns the number of requests. */
static long run_plain(ledger *l)
{
    oom_script s;
    int k = 0;

    memset(&s, 0, sizeof s);
    snap_memory_init(&s.memory);
    for (size_t i = 0; i < oom_step_count; i++)
        for (uint32_t n = 0; n < oom_steps[i].times; n++) {
            assert_int_equal(oom_steps[i].call(&s, n), EG_OK);
            assert_true(k < CALLS);
            l->after[k++] = s.memory.calls;
        }
    finish(&s, &l->end);
    return l->after[k - 1];
}

/* Request fail_at is made by call k, or by one before it: then a failure was
 * absorbed, as that of a cache is, and later calls may still fail. */
static int may_fail(const ledger *l, int k, long fail_at, int fail_on)
{
    return l->after[k] > fail_at &&
           (fail_on || k == 0 || l->after[k - 1] <= fail_at);
}

static void run_failing(const ledger *l, long fail_at, int fail_on)
{
    oom_script s;
    uint64_t end;
    int k = 0, done = 0;

    memset(&s, 0, sizeof s);
    snap_memory_init(&s.memory);
    s.memory.fail_at = fail_at;
    s.memory.fail_on = fail_on;
    for (size_t i = 0; i < oom_step_count; i++)
        for (uint32_t n = 0; n < oom_steps[i].times; n++) {
            int may = !done && may_fail(l, k++, fail_at, fail_on);
            uint64_t before = may ? oom_seen(&s) : 0;
            int err = oom_steps[i].call(&s, n);

            if (err != EG_OK) {
                assert_int_equal(err, EG_ENOMEM);
                assert_true(may);
                failed(&s, oom_steps[i].call, n, before);
                done = 1;
            }
        }
    finish(&s, &end);
    if (end != l->end)
        fail_msg("another end after request %ld failed", fail_at);
}

static void sweep(int fail_on)
{
    ledger l;
    long requests = run_plain(&l);

    assert_in_range(requests, 150, 2000);
    for (long i = 0; i < requests; i++)
        run_failing(&l, i, fail_on);
}

static void a_failed_request_changes_nothing(void **state)
{
    (void)state;
    sweep(0);
}

static void failing_requests_change_nothing(void **state)
{
    (void)state;
    sweep(1);
}

/* Given up at the first failure, everything is freed. */
static void giving_up_leaks_nothing(void **state)
{
    ledger l;
    long requests = run_plain(&l);

    (void)state;
    for (long fail_at = 0; fail_at < requests; fail_at++) {
        oom_script s;
        int err = EG_OK;

        memset(&s, 0, sizeof s);
        snap_memory_init(&s.memory);
        s.memory.fail_at = fail_at;
        s.memory.fail_on = 1;
        for (size_t i = 0; i < oom_step_count; i++)
            for (uint32_t n = 0; n < oom_steps[i].times && err == EG_OK; n++)
                err = oom_steps[i].call(&s, n);
        eg_world_free(s.w);
        eg_registry_release(s.registry);
        snap_memory_fini(&s.memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_request_changes_nothing),
        cmocka_unit_test(failing_requests_change_nothing),
        cmocka_unit_test(giving_up_leaks_nothing),
    };

    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
