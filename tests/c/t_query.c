/* SPDX-License-Identifier: MIT */
/* Queries: what matches, in which order, and how the list follows. */
#include "core_util.h"

#include <stdio.h>
#include <string.h>

/* A query over up to two components each way, 0 for none. */
static eg_query *query(core_world *c, uint32_t in1, uint32_t in2, uint32_t out1,
                       uint32_t any1, uint32_t any2)
{
    uint32_t in[2], out[1], any[2];
    eg_query_def def;
    eg_query *q = NULL;

    memset(&def, 0, sizeof def);
    in[0] = in1;
    in[1] = in2;
    def.include = in;
    def.include_count = (uint32_t)(in1 != 0) + (in2 != 0);
    out[0] = out1;
    def.exclude = out;
    def.exclude_count = out1 != 0;
    any[0] = any1;
    any[1] = any2;
    def.any = any;
    def.any_count = (uint32_t)(any1 != 0) + (any2 != 0);
    assert_int_equal(eg_query_new(c->w, &def, &q), EG_OK);
    memset(in, 0xff, sizeof in); /* copied: what the caller does is no matter */
    return q;
}

static void expect_list(core_world *c, const eg_query *q, uint32_t n,
                        const uint32_t *wanted)
{
    const uint32_t *list = NULL;

    assert_sound(c->w);
    assert_int_equal(eg_query_list(q, &list), n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(list[i], wanted[i]);
}

#define LIST(n, ...)                                                           \
    (n), (const uint32_t[])                                                    \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

static void a_query_asks_for_all_none_and_any(void **state)
{
    core_world c;
    uint32_t p, pv, pt, v, none;

    (void)state;
    core_open(&c, 10);
    none = core_set(c.w, 0, 0, 0, 0);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    v = core_set(c.w, 0, c.vel, 0, 0);
    pt = core_set(c.w, 0, c.pos, c.tag, 0);
    p = core_set(c.w, 0, c.pos, 0, 0);
    expect_list(&c, query(&c, 0, 0, 0, 0, 0), LIST(5, none, p, pt, pv, v));
    expect_list(&c, query(&c, c.pos, 0, 0, 0, 0), LIST(3, p, pt, pv));
    expect_list(&c, query(&c, c.pos, c.vel, 0, 0, 0), LIST(1, pv));
    expect_list(&c, query(&c, c.pos, 0, c.vel, 0, 0), LIST(2, p, pt));
    expect_list(&c, query(&c, 0, 0, c.pos, 0, 0), LIST(2, none, v));
    expect_list(&c, query(&c, 0, 0, 0, c.vel, c.tag), LIST(3, pt, pv, v));
    expect_list(&c, query(&c, c.pos, 0, c.tag, c.vel, c.tag), LIST(1, pv));
    expect_list(&c, query(&c, c.wide, 0, 0, 0, 0), LIST(0, 0));
    expect_list(&c, query(&c, c.pos, 0, c.pos, 0, 0), LIST(0, 0));
    core_close(&c);
}

static void a_new_archetype_is_offered_once(void **state)
{
    core_world c;
    eg_query *q, *other;
    uint32_t pv, p, ptv;
    double version;

    (void)state;
    core_open(&c, 10);
    q = query(&c, c.pos, 0, 0, 0, 0);
    other = query(&c, c.wide, 0, 0, 0, 0);
    expect_list(&c, q, LIST(0, 0));
    version = eg_query_version(q);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    assert_true(eg_query_version(q) != version);
    version = eg_query_version(q);
    expect_list(&c, q, LIST(1, pv));
    (void)core_set(c.w, 0, c.vel, c.pos, 0);
    (void)core_set(c.w, 0, c.vel, 0, 0);
    (void)core_set(c.w, 1, c.pos, 0, 0);
    expect_list(&c, q, LIST(1, pv));
    assert_true(eg_query_version(q) == version);
    /* By an edge, and in front of the one that is there. */
    assert_int_equal(eg_archetype_remove(c.w, pv, c.vel, &p), EG_OK);
    assert_int_equal(eg_archetype_add(c.w, pv, c.tag, &ptv), EG_OK);
    expect_list(&c, q, LIST(3, p, ptv, pv));
    expect_list(&c, other, LIST(0, 0));
    core_close(&c);
}

static void staging_archetypes_never_match(void **state)
{
    core_world c;
    uint32_t p;

    (void)state;
    core_open(&c, 10);
    (void)core_set(c.w, 1, c.pos, c.vel, 0);
    p = core_set(c.w, 0, c.pos, 0, 0);
    expect_list(&c, query(&c, c.pos, 0, 0, 0, 0), LIST(1, p));
    core_close(&c);
}

static void a_dropped_archetype_leaves_the_list(void **state)
{
    core_world c;
    eg_query *q;
    uint32_t p, pv, pt;
    double version;

    (void)state;
    core_open(&c, 10);
    q = query(&c, c.pos, 0, 0, 0, 0);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    pt = core_set(c.w, 0, c.pos, c.tag, 0);
    p = core_set(c.w, 0, c.pos, 0, 0);
    version = eg_query_version(q);
    egi_archetype_drop(c.w, pt);
    expect_list(&c, q, LIST(2, p, pv));
    assert_true(eg_query_version(q) != version);
    version = eg_query_version(q);
    egi_archetype_drop(c.w, core_set(c.w, 0, c.vel, 0, 0));
    assert_true(eg_query_version(q) == version);
    pt = core_set(c.w, 0, c.pos, c.tag, 0);
    expect_list(&c, q, LIST(3, p, pt, pv));
    /* A query made afterwards does not see what is gone. */
    egi_archetype_drop(c.w, p);
    expect_list(&c, query(&c, c.pos, 0, 0, 0, 0), LIST(2, pt, pv));
    core_close(&c);
}

static void rows_are_counted_over_all_matches(void **state)
{
    core_world c;
    eg_query *q;
    uint32_t p, pv, first;

    (void)state;
    core_open(&c, 100);
    q = query(&c, c.pos, 0, 0, 0, 0);
    assert_int_equal(eg_query_rows(c.w, q), 0);
    p = core_set(c.w, 0, c.pos, 0, 0);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    assert_int_equal(eg_query_rows(c.w, q), 0);
    assert_int_equal(eg_entity_spawn_many(c.w, p, 7, NULL, &first), EG_OK);
    assert_int_equal(eg_entity_spawn_many(c.w, pv, 5, NULL, &first), EG_OK);
    (void)eg_entity_spawn(c.w, core_set(c.w, 0, c.vel, 0, 0));
    assert_int_equal(eg_query_rows(c.w, q), 12);
    core_close(&c);
}

static void freeing_one_query_leaves_the_others(void **state)
{
    core_world c;
    eg_query *q[3];
    uint32_t p;

    (void)state;
    core_open(&c, 10);
    for (int i = 0; i < 3; i++)
        q[i] = query(&c, c.pos, 0, 0, 0, 0);
    eg_query_free(c.w, q[0]);
    eg_query_free(c.w, NULL);
    p = core_set(c.w, 0, c.pos, 0, 0);
    expect_list(&c, q[1], LIST(1, p));
    expect_list(&c, q[2], LIST(1, p));
    eg_query_free(c.w, q[2]);
    eg_query_free(c.w, q[1]);
    (void)core_set(c.w, 0, c.pos, c.vel, 0);
    core_close(&c);
}

static void unknown_components_are_refused(void **state)
{
    core_world c;
    uint32_t bad;
    eg_query_def def;
    eg_query *q = NULL;

    (void)state;
    core_open(&c, 10);
    bad = eg_component_count(c.registry) + 1;
    memset(&def, 0, sizeof def);
    def.include = &bad;
    def.include_count = 1;
    assert_int_equal(eg_query_new(c.w, &def, &q), EG_EINVAL);
    bad = 0;
    assert_int_equal(eg_query_new(c.w, &def, &q), EG_EINVAL);
    def.exclude = def.any = def.include;
    def.include_count = 0;
    def.exclude_count = 1;
    assert_int_equal(eg_query_new(c.w, &def, &q), EG_EINVAL);
    def.exclude_count = 0;
    def.any_count = 1;
    assert_int_equal(eg_query_new(c.w, &def, &q), EG_EINVAL);
    assert_int_equal(eg_query_new(c.w, NULL, &q), EG_EINVAL);
    assert_int_equal(eg_query_new(NULL, &def, &q), EG_EINVAL);
    assert_int_equal(eg_query_new(c.w, &def, NULL), EG_EINVAL);
    assert_null(q);
    core_close(&c);
}

static void the_list_is_sorted_however_many_there_are(void **state)
{
    core_world c;
    eg_query *early;
    uint64_t seed = snap_seed();
    uint32_t tags[40];
    const uint32_t *list;

    (void)state;
    core_open(&c, 10);
    early = query(&c, c.pos, 0, 0, 0, 0);
    for (uint32_t i = 0; i < 40; i++) {
        char name[8];

        snprintf(name, sizeof name, "%c%u", 'A' + (int)(i % 26), (unsigned)i);
        tags[i] = core_component(c.registry, name, EG_TAG, 0, 0);
    }
    for (int i = 0; i < 300; i++)
        (void)core_set(c.w, 0, c.pos, tags[snap_below(&seed, 40)],
                       tags[snap_below(&seed, 40)]);
    for (int k = 0; k < 2; k++) {
        const eg_query *q = k ? early : query(&c, c.pos, 0, 0, 0, 0);
        uint32_t n = eg_query_list(q, &list);

        assert_int_equal(n, eg_archetype_count(c.w));
        for (uint32_t i = 1; i < n; i++)
            assert_true(eg_archetype_before(c.w, list[i - 1], list[i]));
    }
    core_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_query_asks_for_all_none_and_any),
        cmocka_unit_test(a_new_archetype_is_offered_once),
        cmocka_unit_test(staging_archetypes_never_match),
        cmocka_unit_test(a_dropped_archetype_leaves_the_list),
        cmocka_unit_test(rows_are_counted_over_all_matches),
        cmocka_unit_test(freeing_one_query_leaves_the_others),
        cmocka_unit_test(unknown_components_are_refused),
        cmocka_unit_test(the_list_is_sorted_however_many_there_are),
    };

    return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
