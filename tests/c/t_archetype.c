/* SPDX-License-Identifier: MIT */
/* Archetypes: found by their set, joined by edges, put in canonical order. */
#include "core_util.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 4000 };

static uint32_t get(core_world *c, const uint32_t *set, uint32_t n, int staging)
{
    uint32_t out = 0;

    assert_int_equal(eg_archetype_get(c->w, set, n, staging, &out), EG_OK);
    return out;
}

static void a_set_has_one_archetype_however_it_is_written(void **state)
{
    core_world c;
    uint32_t a;

    (void)state;
    core_open(&c, 10);
    a = core_set(c.w, 0, c.pos, c.vel, c.tag);
    assert_int_equal(a, 1);
    assert_int_equal(core_set(c.w, 0, c.tag, c.vel, c.pos), a);
    assert_int_equal(
        get(&c, (uint32_t[]){c.vel, c.pos, c.vel, c.tag, c.tag, c.pos}, 6, 0),
        a);
    assert_int_equal(core_set(c.w, 0, c.pos, c.vel, 0), 2);
    assert_int_equal(core_set(c.w, 0, 0, 0, 0), 3);
    assert_int_equal(get(&c, NULL, 0, 0), 3);
    assert_int_equal(eg_archetype_count(c.w), 3);
    core_close(&c);
}

static void staged_rows_have_archetypes_of_their_own(void **state)
{
    core_world c;
    uint32_t a, s;
    eg_archetype_view view;

    (void)state;
    core_open(&c, 10);
    a = core_set(c.w, 0, c.pos, 0, 0);
    s = core_set(c.w, 1, c.pos, 0, 0);
    assert_int_not_equal(a, s);
    assert_int_equal(core_set(c.w, 7, c.pos, 0, 0), s);
    assert_int_equal(eg_archetype_read(c.w, a, &view), 1);
    assert_int_equal(view.staging, 0);
    assert_int_equal(eg_archetype_read(c.w, s, &view), 1);
    assert_int_equal(view.staging, 1);
    assert_id(eg_entity_spawn(c.w, s), EG_EINVAL);
    assert_int_equal(eg_entity_spawn_at(c.w, 1, s), EG_EINVAL);
    assert_int_equal(eg_entity_spawn_many(c.w, s, 1, NULL, &a), EG_EINVAL);
    core_close(&c);
}

static void unknown_components_and_archetypes_are_refused(void **state)
{
    core_world c;
    uint32_t out = 77, a, bad;

    (void)state;
    core_open(&c, 10);
    a = core_set(c.w, 0, c.pos, 0, 0);
    bad = eg_component_count(c.registry) + 1;
    assert_int_equal(
        eg_archetype_get(c.w, (uint32_t[]){c.pos, bad}, 2, 0, &out), EG_EINVAL);
    assert_int_equal(eg_archetype_get(c.w, (uint32_t[]){0}, 1, 0, &out),
                     EG_EINVAL);
    assert_int_equal(eg_archetype_add(c.w, a, bad, &out), EG_EINVAL);
    assert_int_equal(eg_archetype_add(c.w, a, 0, &out), EG_EINVAL);
    assert_int_equal(eg_archetype_add(c.w, 0, c.vel, &out), EG_EINVAL);
    assert_int_equal(eg_archetype_add(c.w, a + 1, c.vel, &out), EG_EINVAL);
    assert_int_equal(eg_archetype_remove(c.w, a + 1, c.vel, &out), EG_EINVAL);
    assert_int_equal(eg_archetype_reserve(c.w, a + 1, 1), EG_EINVAL);
    assert_id(eg_entity_spawn(c.w, 0), EG_EINVAL);
    assert_id(eg_entity_spawn(c.w, a + 1), EG_EINVAL);
    assert_int_equal(out, 77);
    assert_int_equal(eg_archetype_count(c.w), 1);
    core_close(&c);
}

static void edges_lead_both_ways(void **state)
{
    core_world c;
    uint32_t p, pv, out = 0;

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    assert_int_equal(eg_archetype_add(c.w, p, c.vel, &pv), EG_OK);
    assert_int_equal(pv, core_set(c.w, 0, c.pos, c.vel, 0));
    c.memory.fail_at = c.memory.calls; /* cached: nothing is asked for */
    assert_int_equal(eg_archetype_add(c.w, p, c.vel, &out), EG_OK);
    assert_int_equal(out, pv);
    assert_int_equal(eg_archetype_remove(c.w, pv, c.vel, &out), EG_OK);
    assert_int_equal(out, p);
    assert_int_equal(eg_archetype_add(c.w, pv, c.vel, &out), EG_OK);
    assert_int_equal(out, pv);
    assert_int_equal(eg_archetype_remove(c.w, p, c.vel, &out), EG_OK);
    assert_int_equal(out, p);
    assert_true(eg_archetype_has(c.w, pv, c.vel));
    assert_false(eg_archetype_has(c.w, p, c.vel));
    assert_false(eg_archetype_has(c.w, 99, c.vel));
    core_close(&c);
}

static void edges_of_staging_archetypes_stay_among_them(void **state)
{
    core_world c;
    eg_archetype_view view;
    uint32_t s, out;

    (void)state;
    core_open(&c, 10);
    s = core_set(c.w, 1, c.pos, 0, 0);
    assert_int_equal(eg_archetype_add(c.w, s, c.vel, &out), EG_OK);
    assert_int_equal(eg_archetype_read(c.w, out, &view), 1);
    assert_int_equal(view.staging, 1);
    assert_int_equal(out, core_set(c.w, 1, c.vel, c.pos, 0));
    core_close(&c);
}

static void an_edge_to_a_dropped_archetype_is_made_anew(void **state)
{
    core_world c;
    uint32_t p, pv, out;

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    assert_int_equal(eg_archetype_add(c.w, p, c.vel, &pv), EG_OK);
    egi_archetype_drop(c.w, pv);
    egi_archetype_drop(c.w, pv);
    assert_sound(c.w);
    assert_int_equal(eg_archetype_read(c.w, pv, &(eg_archetype_view){0}), 0);
    assert_null(eg_archetype_column(c.w, pv, c.vel));
    assert_int_equal(eg_archetype_remove(c.w, pv, c.vel, &out), EG_EINVAL);
    assert_int_equal(eg_archetype_add(c.w, p, c.vel, &out), EG_OK);
    assert_int_equal(out, pv + 1);
    assert_int_equal(core_set(c.w, 0, c.pos, c.vel, 0), pv + 1);
    core_close(&c);
}

/* Found by sets that share most of their members, over a table that was full
 * of dropped ones. */
static void dropped_archetypes_leave_the_others_findable(void **state)
{
    core_world c;
    uint32_t kept[64];

    (void)state;
    core_open(&c, 10);
    for (uint32_t i = 0; i < 64; i++) {
        char name[16];
        uint32_t id;

        snprintf(name, sizeof name, "X%u", (unsigned)i);
        id = core_component(c.registry, name, EG_TAG, 0, 0);
        kept[i] = core_set(c.w, 0, c.pos, id, 0);
        for (uint32_t k = 0; k < 5; k++) {
            uint32_t gone = core_set(c.w, 0, c.vel, id, 0);

            egi_archetype_drop(c.w, gone);
        }
    }
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(core_set(c.w, 0, c.pos, c.wide + 1 + i, 0), kept[i]);
    assert_int_equal(eg_archetype_count(c.w), 64 * 6);
    core_close(&c);
}

/* One archetype per target, as dense relationships make them. */
static void thousands_of_components_are_found_again(void **state)
{
    core_world c;
    uint32_t first, *set, big;

    (void)state;
    core_open(&c, 10);
    first = eg_component_count(c.registry) + 1;
    set = test_malloc(MANY * sizeof *set);
    for (uint32_t i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof name, "R%u", (unsigned)i);
        set[i] = core_component(c.registry, name, EG_TAG, 0, 0);
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(core_set(c.w, 0, c.pos, set[i], 0), i + 1);
    for (uint32_t i = MANY; i-- > 0;)
        assert_int_equal(core_set(c.w, 0, first + i, c.pos, 0), i + 1);
    big = get(&c, set, MANY, 0);
    assert_int_equal(big, MANY + 1);
    assert_true(eg_archetype_has(c.w, big, first));
    assert_true(eg_archetype_has(c.w, big, first + MANY - 1));
    assert_false(eg_archetype_has(c.w, big, c.pos));
    test_free(set);
    core_close(&c);
}

static uint32_t grouped(core_world *c, const char *name, const char *group,
                        double key)
{
    eg_component_def def;
    uint32_t id = 0;

    memset(&def, 0, sizeof def);
    def.name = name;
    def.name_len = (uint32_t)strlen(name);
    def.group = group;
    def.group_len = (uint32_t)strlen(group);
    def.group_key = key;
    assert_int_equal(eg_component_register(c->registry, &def, &id), EG_OK);
    return id;
}

static void canonical_order_does_not_depend_on_registration(void **state)
{
    core_world c;
    eg_archetype_view view;
    uint32_t far, near, base, set[4];

    (void)state;
    core_open(&c, 10);
    far = grouped(&c, "Link>10", "Link", 10);
    near = grouped(&c, "Link>9", "Link", 9);
    base = core_component(c.registry, "Kin", EG_TAG, 0, 0);
    set[0] = c.pos;
    set[1] = far;
    set[2] = near;
    set[3] = base;
    assert_int_equal(eg_archetype_read(c.w, get(&c, set, 4, 0), &view), 1);
    assert_int_equal(view.component_count, 4);
    assert_int_equal(view.canonical[0], base);
    assert_int_equal(view.canonical[1], near);
    assert_int_equal(view.canonical[2], far);
    assert_int_equal(view.canonical[3], c.pos);
    for (uint32_t i = 1; i < 4; i++)
        assert_true(view.components[i - 1] < view.components[i]);
    core_close(&c);
}

static void archetypes_sort_by_their_first_difference(void **state)
{
    core_world c;
    uint32_t none, flag, flag_pos, pos, pos_vel;

    (void)state;
    core_open(&c, 10);
    pos_vel = core_set(c.w, 0, c.vel, c.pos, 0);
    pos = core_set(c.w, 0, c.pos, 0, 0);
    flag_pos = core_set(c.w, 0, c.pos, c.flag, 0);
    flag = core_set(c.w, 0, c.flag, 0, 0);
    none = core_set(c.w, 0, 0, 0, 0);
    assert_true(eg_archetype_before(c.w, none, flag));
    assert_true(eg_archetype_before(c.w, flag, flag_pos));
    assert_true(eg_archetype_before(c.w, flag_pos, pos));
    assert_true(eg_archetype_before(c.w, pos, pos_vel));
    assert_false(eg_archetype_before(c.w, pos_vel, none));
    assert_false(eg_archetype_before(c.w, pos, pos));
    assert_false(eg_archetype_before(c.w, pos, 99));
    core_close(&c);
}

static void stats_count_sets_and_their_components(void **state)
{
    core_world c;
    eg_stats stats;

    (void)state;
    core_open(&c, 10);
    eg_world_stats(c.w, &stats);
    assert_int_equal(stats.archetypes, 0);
    assert_int_equal(stats.components, 0);
    (void)core_set(c.w, 0, c.pos, c.vel, 0);
    (void)core_set(c.w, 0, c.pos, c.tag, 0);
    egi_archetype_drop(c.w, core_set(c.w, 0, c.pos, c.wide, 0));
    (void)core_set(c.w, 1, c.odd, 0, 0);
    c.memory.fail_at = c.memory.calls; /* it cannot fail: it asks for nothing */
    eg_world_stats(c.w, &stats);
    assert_int_equal(stats.archetypes, 2);
    assert_int_equal(stats.components, 3);
    assert_int_equal(stats.max_entities, 10);
    core_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_has_one_archetype_however_it_is_written),
        cmocka_unit_test(staged_rows_have_archetypes_of_their_own),
        cmocka_unit_test(unknown_components_and_archetypes_are_refused),
        cmocka_unit_test(edges_lead_both_ways),
        cmocka_unit_test(edges_of_staging_archetypes_stay_among_them),
        cmocka_unit_test(an_edge_to_a_dropped_archetype_is_made_anew),
        cmocka_unit_test(dropped_archetypes_leave_the_others_findable),
        cmocka_unit_test(thousands_of_components_are_found_again),
        cmocka_unit_test(canonical_order_does_not_depend_on_registration),
        cmocka_unit_test(archetypes_sort_by_their_first_difference),
        cmocka_unit_test(stats_count_sets_and_their_components),
    };

    return cmocka_run_group_tests_name("archetype", tests, NULL, NULL);
}
