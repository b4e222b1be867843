/* SPDX-License-Identifier: MIT */
/* Staging: what is written down, what eg_stage_find says about it, and what is
 * refused. Draining is in t_drain.c. */
#include "core_util.h"

#include <string.h>

enum { SPAWN = 1, CHANGE = 2, GONE = 3, BATCH = 4 };

static void expect_state(core_world *c, double id, uint32_t kind,
                         uint32_t target, uint32_t staged)
{
    eg_stage_state state;

    assert_sound(c->w);
    eg_stage_find(c->w, id, &state);
    assert_int_equal(state.kind, kind);
    assert_int_equal(state.target, target);
    assert_int_equal(state.staged, staged);
    assert_int_equal(state.staged_row != 0, staged != 0);
}

static void a_staged_spawn_is_pending(void **state)
{
    core_world c;
    uint32_t a, s;
    eg_stats stats;
    double id;

    (void)state;
    core_open(&c, 10);
    a = core_set(c.w, 0, c.pos, 0, 0);
    s = core_set(c.w, 1, c.pos, 0, 0);
    assert_false(eg_stage_pending(c.w));
    id = eg_stage_spawn(c.w, a, s);
    assert_id(id, 1);
    assert_true(eg_stage_pending(c.w));
    assert_false(eg_entity_alive(c.w, id));
    assert_null(eg_entity_get(c.w, id, c.pos));
    assert_int_equal(eg_entity_despawn(c.w, id), EG_EDEAD);
    assert_int_equal(eg_entity_move(c.w, id, a), EG_EDEAD);
    assert_int_equal(eg_entity_spawn_at(c.w, id, a), EG_EALIVE);
    expect_state(&c, id, SPAWN, a, s);
    assert_int_equal(core_rows(c.w, a), 0);
    eg_world_stats(c.w, &stats);
    assert_int_equal(stats.entities, 0);
    /* Its record names the archetype, and the next id is another one. */
    assert_int_equal(eg_world_slots(c.w)[1].archetype, a);
    assert_id(eg_entity_spawn(c.w, a), 2);
    expect_state(&c, 2, 0, 0, 0);
    expect_state(&c, 3, 0, 0, 0);
    expect_state(&c, 0.5, 0, 0, 0);
    core_close(&c);
}

static void a_staged_change_leaves_the_entity_where_it_is(void **state)
{
    core_world c;
    uint32_t p, pv, sv, row = 0;
    double id;

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    sv = core_set(c.w, 1, c.vel, 0, 0);
    id = eg_entity_spawn(c.w, p);
    assert_int_equal(eg_stage_change(c.w, id, pv, sv, &row), EG_OK);
    assert_int_equal(row, 1);
    assert_int_equal(core_archetype(c.w, id), p);
    assert_true(eg_entity_alive(c.w, id));
    expect_state(&c, id, CHANGE, pv, sv);
    assert_int_equal(eg_stage_change(c.w, id, p, 0, &row), EG_OK);
    assert_int_equal(row, 0);
    expect_state(&c, id, CHANGE, p, 0);
    assert_int_equal(core_rows(c.w, sv), 0);
    core_close(&c);
}

static void values_staged_before_are_carried_over(void **state)
{
    core_world c;
    uint32_t p, pvn, sp, spv, sv, row = 0;
    double id;

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    pvn = core_set(c.w, 0, c.pos, c.vel, c.number);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    spv = core_set(c.w, 1, c.pos, c.vel, 0);
    sv = core_set(c.w, 1, c.vel, c.number, 0);
    id = eg_stage_spawn(c.w, p, sp);
    core_staged(c.w, sp, c.pos, 1)[1] = 11;
    assert_int_equal(eg_stage_change(c.w, id, pvn, spv, &row), EG_OK);
    assert_true(core_staged(c.w, spv, c.pos, row)[1] == 11);
    core_staged(c.w, spv, c.vel, row)[0] = 22;
    assert_int_equal(core_rows(c.w, sp), 0);
    assert_int_equal(eg_stage_change(c.w, id, pvn, sv, &row), EG_OK);
    assert_true(core_staged(c.w, sv, c.vel, row)[0] == 22);
    expect_state(&c, id, SPAWN, pvn, sv);
    core_close(&c);
}

static void a_despawn_cancels_what_was_staged(void **state)
{
    core_world c;
    uint32_t p, pv, sp, sv, row;
    double live, pending, ids[2];

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    sv = core_set(c.w, 1, c.vel, 0, 0);
    live = eg_entity_spawn(c.w, p);
    pending = eg_stage_spawn(c.w, p, sp);
    assert_int_equal(eg_stage_batch(c.w, p, 2, ids, 9), EG_OK);
    expect_state(&c, ids[0], BATCH, p, 0);
    assert_int_equal(eg_stage_change(c.w, live, pv, sv, &row), EG_OK);
    assert_int_equal(eg_stage_despawn(c.w, live), EG_OK);
    assert_int_equal(eg_stage_despawn(c.w, pending), EG_OK);
    assert_int_equal(eg_stage_despawn(c.w, ids[0]), EG_OK);
    for (int i = 0; i < 2; i++) {
        expect_state(&c, live, GONE, p, 0);
        expect_state(&c, pending, GONE, p, 0);
        expect_state(&c, ids[0], GONE, p, 0);
        assert_int_equal(eg_stage_change(c.w, live, pv, sv, &row), EG_EDEAD);
        assert_int_equal(eg_stage_change(c.w, pending, pv, sv, &row), EG_EDEAD);
        assert_int_equal(eg_stage_despawn(c.w, live), EG_OK);
        assert_int_equal(eg_stage_despawn(c.w, pending), EG_OK);
        assert_int_equal(eg_stage_despawn(c.w, ids[0]), EG_OK);
    }
    assert_int_equal(core_rows(c.w, sp) + core_rows(c.w, sv), 0);
    assert_int_equal(core_drain(c.w), 1);
    assert_int_equal(core_rows(c.w, p), 1);
    assert_true(eg_entity_alive(c.w, ids[1]));
    assert_false(eg_entity_alive(c.w, live));
    assert_int_equal(eg_stage_despawn(c.w, live), EG_EDEAD);
    assert_int_equal(eg_stage_despawn(c.w, pending), EG_EDEAD);
    assert_int_equal(eg_stage_change(c.w, pending, pv, 0, &row), EG_EDEAD);
    core_close(&c);
}

static void bad_archetypes_are_refused(void **state)
{
    core_world c;
    uint32_t p, sp, row = 77, bad = 77;
    double id, ids[1] = {5};

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    id = eg_entity_spawn(c.w, p);
    assert_id(eg_stage_spawn(c.w, sp, sp), EG_EINVAL);
    assert_id(eg_stage_spawn(c.w, p, p), EG_EINVAL);
    assert_id(eg_stage_spawn(c.w, p, 0), EG_EINVAL);
    assert_int_equal(eg_stage_spawn_at(c.w, 5, sp, sp), EG_EINVAL);
    assert_int_equal(eg_stage_spawn_at(c.w, 5, p, 99), EG_EINVAL);
    assert_int_equal(eg_stage_change(c.w, id, sp, 0, &row), EG_EINVAL);
    assert_int_equal(eg_stage_change(c.w, id, 99, 0, &row), EG_EINVAL);
    assert_int_equal(eg_stage_change(c.w, id, p, p, &row), EG_EINVAL);
    assert_int_equal(eg_stage_batch(c.w, sp, 1, ids, 0), EG_EINVAL);
    assert_int_equal(eg_stage_batch_at(c.w, 99, 1, ids, 0, &bad), EG_EINVAL);
    assert_int_equal(row, 77);
    assert_int_equal(bad, 77);
    assert_false(eg_stage_pending(c.w));
    expect_state(&c, id, 0, 0, 0);
    core_close(&c);
}

static void a_chosen_id_must_be_free(void **state)
{
    core_world c;
    uint32_t p, sp;

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    (void)eg_entity_spawn(c.w, p);
    assert_int_equal(eg_stage_spawn_at(c.w, 1, p, sp), EG_EALIVE);
    assert_int_equal(eg_stage_spawn_at(c.w, 0, p, sp), EG_EINVAL);
    assert_int_equal(eg_stage_spawn_at(c.w, 11, p, sp), EG_EINVAL);
    assert_int_equal(eg_stage_spawn_at(c.w, 3, p, sp), EG_OK);
    assert_int_equal(eg_stage_spawn_at(c.w, 3, p, sp), EG_EALIVE);
    assert_int_equal(eg_stage_spawn_at(c.w, 4194304.0 + 3, p, sp), EG_EALIVE);
    expect_state(&c, 3, SPAWN, p, sp);
    assert_int_equal(core_drain(c.w), 1);
    assert_true(eg_entity_alive(c.w, 3));
    assert_id(eg_entity_spawn(c.w, p), 2);
    assert_id(eg_entity_spawn(c.w, p), 4);
    core_close(&c);
}

static void a_batch_with_a_bad_id_changes_nothing(void **state)
{
    static const struct {
        double ids[4];
        int error;
        uint32_t bad;
    } cases[] = {
        {{4, 5, 6, 4}, EG_EALIVE, 3},       {{4, 4, 6, 7}, EG_EALIVE, 1},
        {{4, 5, 0, 7}, EG_EINVAL, 2},       {{9, 5, 6, 7}, EG_EINVAL, 0},
        {{4, 1, 6, 7}, EG_EALIVE, 1},       {{4, 5, 6, 2}, EG_EALIVE, 3},
        {{4, 5, 6, 4194308}, EG_EALIVE, 3}, {{3, 5, 6, 7}, EG_ERETIRED, 0},
    };
    core_world c;
    uint32_t p, sp, bad;

    (void)state;
    core_open(&c, 8);
    p = core_set(c.w, 0, c.pos, 0, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    (void)eg_entity_spawn(c.w, p);
    (void)eg_stage_spawn(c.w, p, sp);
    assert_int_equal(eg_entity_spawn_at(c.w, 2147483647.0 * 4194304 + 3, p),
                     EG_OK);
    assert_int_equal(eg_entity_despawn(c.w, 2147483647.0 * 4194304 + 3), EG_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bad = 99;
        assert_int_equal(eg_stage_batch_at(c.w, p, 4, cases[i].ids, 1, &bad),
                         cases[i].error);
        assert_int_equal(bad, cases[i].bad);
        for (uint32_t id = 4; id <= 7; id++)
            expect_state(&c, id, 0, 0, 0);
    }
    assert_int_equal(core_drain(c.w), 1);
    assert_int_equal(core_rows(c.w, p), 2);
    core_close(&c);
}

/* As many ids as there are slots, one of them twice. */
static void a_duplicate_is_found_in_a_full_world_too(void **state)
{
    core_world c;
    uint32_t p, bad = 0;
    const double ids[] = {1, 2, 3, 2};

    (void)state;
    core_open(&c, 3);
    p = core_set(c.w, 0, c.pos, 0, 0);
    assert_int_equal(eg_stage_batch_at(c.w, p, 4, ids, 1, &bad), EG_EALIVE);
    assert_int_equal(bad, 3);
    assert_int_equal(eg_stage_batch_at(c.w, p, 3, ids, 1, &bad), EG_OK);
    assert_int_equal(core_drain(c.w), 1);
    assert_int_equal(core_rows(c.w, p), 3);
    core_close(&c);
}

static void pending_ids_take_slots(void **state)
{
    core_world c;
    uint32_t p, sp, capacity;
    eg_archetype_view view;
    double ids[20];

    (void)state;
    core_open(&c, 16);
    p = core_set(c.w, 0, c.pos, 0, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    for (int i = 0; i < 16; i++)
        assert_true(eg_stage_spawn(c.w, p, sp) > 0);
    assert_int_equal(eg_archetype_read(c.w, sp, &view), 1);
    capacity = view.capacity;
    assert_id(eg_stage_spawn(c.w, p, sp), EG_EFULL);
    assert_int_equal(eg_archetype_read(c.w, sp, &view), 1);
    assert_int_equal(view.capacity, capacity); /* refused before it grew */
    assert_id(eg_entity_spawn(c.w, p), EG_EFULL);
    assert_int_equal(eg_stage_batch(c.w, p, 1, ids, 0), EG_EFULL);
    assert_int_equal(eg_stage_despawn(c.w, 2), EG_OK);
    assert_id(eg_entity_spawn(c.w, p), EG_EFULL); /* freed in the drain */
    assert_int_equal(core_drain(c.w), 1);
    assert_id(eg_entity_spawn(c.w, p), 4194304.0 + 2);
    core_close(&c);
}

static void an_instant_despawn_of_a_staged_entity_is_refused(void **state)
{
    core_world c;
    uint32_t p, pv, row;
    double id, other;

    (void)state;
    core_open(&c, 10);
    p = core_set(c.w, 0, c.pos, 0, 0);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    id = eg_entity_spawn(c.w, p);
    other = eg_entity_spawn(c.w, p);
    assert_int_equal(eg_stage_change(c.w, id, pv, 0, &row), EG_OK);
    assert_int_equal(eg_entity_despawn(c.w, id), EG_EBUSY);
    assert_int_equal(eg_entity_despawn(c.w, other), EG_OK);
    assert_sound(c.w);
    assert_int_equal(core_drain(c.w), 1);
    assert_int_equal(eg_stage_despawn(c.w, id), EG_OK);
    assert_int_equal(eg_entity_despawn(c.w, id), EG_EBUSY);
    assert_int_equal(core_drain(c.w), 1);
    assert_int_equal(eg_entity_despawn(c.w, id), EG_EDEAD);
    id = eg_entity_spawn(c.w, p);
    assert_int_equal(eg_entity_despawn(c.w, id), EG_OK);
    core_close(&c);
}

static void clearing_forgets_all_staged_work(void **state)
{
    core_world c;
    uint32_t p, pv, sp, sv, row, bad;
    double id, ids[2];
    const double chosen[] = {9};

    (void)state;
    core_open(&c, 20);
    p = core_set(c.w, 0, c.pos, 0, 0);
    pv = core_set(c.w, 0, c.pos, c.vel, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    sv = core_set(c.w, 1, c.vel, 0, 0);
    id = eg_entity_spawn(c.w, p);
    (void)eg_entity_spawn(c.w, p);
    (void)eg_stage_spawn(c.w, p, sp);
    assert_int_equal(eg_stage_batch(c.w, p, 2, ids, 1), EG_OK);
    assert_int_equal(eg_stage_batch_at(c.w, p, 1, chosen, 1, &bad), EG_OK);
    assert_int_equal(eg_stage_change(c.w, id, pv, sv, &row), EG_OK);
    assert_int_equal(eg_stage_change(c.w, ids[0], pv, sv, &row), EG_OK);
    assert_int_equal(eg_stage_despawn(c.w, 2), EG_OK);
    eg_world_clear(c.w);
    assert_sound(c.w);
    assert_false(eg_stage_pending(c.w));
    assert_int_equal(core_drain(c.w), 0);
    for (uint32_t i = 1; i <= 5; i++)
        assert_id(eg_entity_spawn(c.w, p), 4194304.0 + i);
    assert_id(eg_entity_spawn(c.w, p), 6);
    expect_state(&c, 4194304.0 + 1, 0, 0, 0);
    core_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_staged_spawn_is_pending),
        cmocka_unit_test(a_staged_change_leaves_the_entity_where_it_is),
        cmocka_unit_test(values_staged_before_are_carried_over),
        cmocka_unit_test(a_despawn_cancels_what_was_staged),
        cmocka_unit_test(bad_archetypes_are_refused),
        cmocka_unit_test(a_chosen_id_must_be_free),
        cmocka_unit_test(a_batch_with_a_bad_id_changes_nothing),
        cmocka_unit_test(a_duplicate_is_found_in_a_full_world_too),
        cmocka_unit_test(pending_ids_take_slots),
        cmocka_unit_test(an_instant_despawn_of_a_staged_entity_is_refused),
        cmocka_unit_test(clearing_forgets_all_staged_work),
    };

    return cmocka_run_group_tests_name("cmd", tests, NULL, NULL);
}
