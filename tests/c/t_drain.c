/* SPDX-License-Identifier: MIT */
/* Draining: the order of a wave, what is reported, what a wave leaves for the
 * next one, interruptions, and that steady frames need no memory. */
#include "core_util.h"

#include <string.h>

/* The archetypes most tests use: entities and staged rows of three sets. */
typedef struct places {
    core_world c;
    uint32_t p, v, pv;
    uint32_t sp, sv, spv;
} places;

static void open_places(places *x)
{
    core_open(&x->c, 1000);
    x->p = core_set(x->c.w, 0, x->c.pos, 0, 0);
    x->v = core_set(x->c.w, 0, x->c.vel, 0, 0);
    x->pv = core_set(x->c.w, 0, x->c.pos, x->c.vel, 0);
    x->sp = core_set(x->c.w, 1, x->c.pos, 0, 0);
    x->sv = core_set(x->c.w, 1, x->c.vel, 0, 0);
    x->spv = core_set(x->c.w, 1, x->c.pos, x->c.vel, 0);
}

/* Every step is reported. */
static void attend_all(places *x)
{
    for (uint32_t id = 1; id <= eg_archetype_count(x->c.w); id++)
        eg_archetype_attend(x->c.w, id, 1);
}

static double stage_p(places *x, double value)
{
    double id = eg_stage_spawn(x->c.w, x->p, x->sp);
    eg_stage_state state;

    assert_true(id > 0);
    eg_stage_find(x->c.w, id, &state);
    core_staged(x->c.w, x->sp, x->c.pos, state.staged_row)[0] = value;
    return id;
}

static void expect_step(places *x, int32_t kind, double entity, uint32_t to)
{
    eg_drain_op op;

    assert_int_equal(eg_drain_next(x->c.w, &op), kind);
    assert_int_equal(op.kind, kind);
    assert_id(op.entity, entity);
    assert_int_equal(op.to, to);
    assert_sound(x->c.w);
}

static void staged_values_reach_their_rows(void **state)
{
    places x;
    double a, b;
    uint32_t row;

    (void)state;
    open_places(&x);
    a = stage_p(&x, 5);
    b = eg_entity_spawn(x.c.w, x.p);
    core_cell(x.c.w, b, x.c.pos)[0] = 6;
    assert_int_equal(eg_stage_change(x.c.w, b, x.pv, x.sv, &row), EG_OK);
    core_staged(x.c.w, x.sv, x.c.vel, row)[1] = 7;
    assert_int_equal(core_drain(x.c.w), 1);
    assert_true(core_cell(x.c.w, a, x.c.pos)[0] == 5);
    assert_true(core_cell(x.c.w, b, x.c.pos)[0] == 6);
    assert_true(core_cell(x.c.w, b, x.c.vel)[1] == 7);
    assert_int_equal(core_archetype(x.c.w, b), x.pv);
    assert_int_equal(core_rows(x.c.w, x.sp) + core_rows(x.c.w, x.sv), 0);
    core_close(&x.c);
}

static void cells_without_a_staged_value_are_zero(void **state)
{
    places x;
    double a, b;

    (void)state;
    open_places(&x);
    /* Rows that held something else before. */
    for (int i = 0; i < 4; i++) {
        double id = eg_entity_spawn(x.c.w, x.pv);

        memset(core_cell(x.c.w, id, x.c.pos), 0x7f, 16);
        memset(core_cell(x.c.w, id, x.c.vel), 0x7f, 16);
    }
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(eg_entity_despawn(x.c.w, i), EG_OK);
    a = stage_p(&x, 5);
    assert_int_equal(eg_stage_change(x.c.w, a, x.pv, x.sp, NULL), EG_OK);
    b = eg_entity_spawn(x.c.w, x.p);
    core_cell(x.c.w, b, x.c.pos)[0] = 6;
    assert_int_equal(eg_stage_change(x.c.w, b, x.pv, 0, NULL), EG_OK);
    assert_int_equal(core_drain(x.c.w), 1);
    assert_true(core_cell(x.c.w, a, x.c.pos)[0] == 5);
    assert_true(core_cell(x.c.w, a, x.c.vel)[0] == 0);
    assert_true(core_cell(x.c.w, b, x.c.pos)[0] == 6);
    assert_true(core_cell(x.c.w, b, x.c.vel)[1] == 0);
    core_close(&x.c);
}

static void a_wave_is_despawns_then_spawns_then_moves(void **state)
{
    places x;
    double a, b, d, e, chosen[1] = {90}, ids[2];
    uint32_t bad;

    (void)state;
    open_places(&x);
    attend_all(&x);
    a = eg_entity_spawn(x.c.w, x.p);
    b = eg_entity_spawn(x.c.w, x.p);
    /* Staged the wrong way round; v comes first among the spawns. */
    assert_int_equal(eg_stage_change(x.c.w, b, x.pv, 0, NULL), EG_OK);
    d = eg_stage_spawn(x.c.w, x.v, x.sv);
    e = stage_p(&x, 1);
    assert_int_equal(eg_stage_batch_at(x.c.w, x.p, 1, chosen, 7, &bad), EG_OK);
    assert_int_equal(eg_stage_batch(x.c.w, x.p, 2, ids, 8), EG_OK);
    assert_int_equal(eg_stage_despawn(x.c.w, a), EG_OK);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    expect_step(&x, EG_DRAIN_DESPAWN, a, 0);
    expect_step(&x, EG_DRAIN_SPAWN, d, x.v);
    expect_step(&x, EG_DRAIN_BATCH, 0, x.p);
    expect_step(&x, EG_DRAIN_BATCH, 0, x.p);
    expect_step(&x, EG_DRAIN_SPAWN, e, x.p);
    expect_step(&x, EG_DRAIN_MOVE, b, x.pv);
    expect_step(&x, EG_DRAIN_DONE, 0, 0);
    expect_step(&x, EG_DRAIN_DONE, 0, 0);
    /* b was at row 1, filling the hole of a, until it left. */
    assert_id(core_at(x.c.w, x.p, 1), e);
    assert_id(core_at(x.c.w, x.p, 2), ids[0]);
    assert_id(core_at(x.c.w, x.p, 3), ids[1]);
    assert_id(core_at(x.c.w, x.p, 4), 90);
    assert_false(eg_stage_pending(x.c.w));
    core_close(&x.c);
}

static void a_step_tells_rows_as_they_were(void **state)
{
    places x;
    eg_drain_op op;
    uint32_t row;

    (void)state;
    open_places(&x);
    attend_all(&x);
    for (int i = 0; i < 4; i++)
        (void)eg_entity_spawn(x.c.w, x.p);
    assert_int_equal(eg_stage_despawn(x.c.w, 2), EG_OK);
    assert_int_equal(eg_stage_change(x.c.w, 1, x.pv, x.sv, &row), EG_OK);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DESPAWN);
    assert_int_equal(op.from, x.p);
    assert_int_equal(op.row, 2);
    assert_int_equal(op.last, 4);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_MOVE);
    assert_int_equal(op.from, x.p);
    assert_int_equal(op.row, 1);
    assert_int_equal(op.last, 3);
    assert_int_equal(op.to, x.pv);
    assert_int_equal(op.to_row, 1);
    assert_int_equal(op.staged, x.sv);
    assert_int_equal(op.staged_row, row);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DONE);
    core_close(&x.c);
}

static void only_attended_archetypes_are_reported(void **state)
{
    places x;
    eg_drain_op op;
    double a, b;

    (void)state;
    open_places(&x);
    eg_archetype_attend(x.c.w, x.sv, 1);
    a = stage_p(&x, 1);
    b = eg_stage_spawn(x.c.w, x.v, x.sv);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_SPAWN);
    assert_id(op.entity, b);
    assert_true(eg_entity_alive(x.c.w, a));
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DONE);
    eg_archetype_attend(x.c.w, x.sv, 0);
    (void)eg_stage_spawn(x.c.w, x.v, x.sv);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DONE);
    core_close(&x.c);
}

static void a_batch_leaves_out_cancelled_ids(void **state)
{
    places x;
    eg_drain_op op;
    double ids[3], none[2];

    (void)state;
    open_places(&x);
    assert_int_equal(eg_stage_batch(x.c.w, x.p, 3, ids, 41), EG_OK);
    assert_int_equal(eg_stage_batch(x.c.w, x.p, 2, none, 42), EG_OK);
    assert_int_equal(eg_stage_batch(x.c.w, x.p, 0, NULL, 43), EG_OK);
    assert_int_equal(eg_stage_despawn(x.c.w, ids[1]), EG_OK);
    assert_int_equal(eg_stage_despawn(x.c.w, none[0]), EG_OK);
    assert_int_equal(eg_stage_despawn(x.c.w, none[1]), EG_OK);
    /* Other work on its ids comes after the batch. */
    assert_int_equal(eg_stage_change(x.c.w, ids[2], x.pv, 0, NULL), EG_OK);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_BATCH);
    assert_int_equal(op.token, 41);
    assert_int_equal(op.to_row, 1);
    assert_int_equal(op.count, 2);
    assert_id(core_at(x.c.w, x.p, 1), ids[0]);
    assert_id(core_at(x.c.w, x.p, 2), ids[2]);
    for (uint32_t token = 42; token <= 43; token++) {
        assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_BATCH);
        assert_int_equal(op.token, token);
        assert_int_equal(op.count, 0);
    }
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DONE);
    assert_int_equal(core_archetype(x.c.w, ids[2]), x.pv);
    core_close(&x.c);
}

/* The id of a cancelled one may be chosen again before its batch is placed. */
static void an_id_staged_anew_is_not_taken_for_the_old_one(void **state)
{
    places x;
    eg_drain_op op;
    const double chosen[] = {3, 4};
    uint32_t bad;

    (void)state;
    open_places(&x);
    attend_all(&x);
    assert_int_equal(eg_stage_batch_at(x.c.w, x.p, 2, chosen, 1, &bad), EG_OK);
    assert_int_equal(eg_stage_despawn(x.c.w, 3), EG_OK);
    assert_int_equal(eg_stage_despawn(x.c.w, 4), EG_OK);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_CANCEL);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_CANCEL);
    assert_int_equal(eg_stage_spawn_at(x.c.w, 3, x.v, x.sv), EG_OK);
    assert_int_equal(eg_stage_batch_at(x.c.w, x.v, 1, &chosen[1], 2, &bad),
                     EG_OK);
    assert_int_equal(eg_stage_change(x.c.w, 4, x.pv, 0, NULL), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_BATCH);
    assert_int_equal(op.count, 0);
    assert_sound(x.c.w);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DONE);
    assert_false(eg_entity_alive(x.c.w, 3));
    assert_int_equal(core_drain(x.c.w), 1);
    assert_int_equal(core_archetype(x.c.w, 3), x.v);
    assert_int_equal(core_archetype(x.c.w, 4), x.pv);
    core_close(&x.c);
}

static void what_is_staged_meanwhile_is_the_next_wave(void **state)
{
    places x;
    eg_drain_op op;
    double a, b, d;

    (void)state;
    open_places(&x);
    attend_all(&x);
    a = stage_p(&x, 1);
    b = stage_p(&x, 2);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_SPAWN);
    d = stage_p(&x, 3);
    assert_int_equal(eg_stage_despawn(x.c.w, a), EG_OK);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK); /* goes on with this one */
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_SPAWN);
    assert_id(op.entity, b);
    /* A spawn that still waits in this wave can be given up in it. */
    assert_int_equal(eg_stage_despawn(x.c.w, b), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DONE);
    assert_true(eg_entity_alive(x.c.w, a));
    assert_false(eg_entity_alive(x.c.w, d));
    assert_int_equal(core_drain(x.c.w), 1);
    assert_false(eg_entity_alive(x.c.w, a));
    assert_false(eg_entity_alive(x.c.w, b));
    assert_true(eg_entity_alive(x.c.w, d));
    core_close(&x.c);
}

static void an_interrupted_wave_goes_on_where_it_stopped(void **state)
{
    places x;
    eg_drain_op op;
    double ids[6];
    int steps = 0;

    (void)state;
    open_places(&x);
    attend_all(&x);
    for (int i = 0; i < 6; i++)
        ids[i] = stage_p(&x, i);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_SPAWN);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_SPAWN);
    assert_true(eg_stage_pending(x.c.w));
    assert_int_equal(eg_stage_despawn(x.c.w, ids[3]), EG_OK);
    assert_int_equal(eg_stage_change(x.c.w, ids[4], x.pv, x.sp, NULL), EG_OK);
    (void)eg_world_compact(x.c.w);
    while (eg_stage_pending(x.c.w)) {
        assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
        while (eg_drain_next(x.c.w, &op) != EG_DRAIN_DONE)
            steps++;
    }
    assert_int_equal(steps, 4); /* three spawns and a cancelled one */
    assert_sound(x.c.w);
    assert_int_equal(core_rows(x.c.w, x.p), 4);
    assert_int_equal(core_archetype(x.c.w, ids[4]), x.pv);
    assert_true(core_cell(x.c.w, ids[4], x.c.pos)[0] == 4);
    assert_true(core_cell(x.c.w, ids[5], x.c.pos)[0] == 5);
    core_close(&x.c);
}

static void removed_and_added_again_is_no_move(void **state)
{
    places x;
    eg_drain_op op;
    uint32_t row, flags;
    double id, other;

    (void)state;
    open_places(&x);
    attend_all(&x);
    id = eg_entity_spawn(x.c.w, x.pv);
    other = eg_entity_spawn(x.c.w, x.pv);
    core_cell(x.c.w, id, x.c.pos)[0] = 1;
    core_cell(x.c.w, other, x.c.vel)[0] = 2;
    while (eg_archetype_touched(x.c.w, &flags) != 0)
        continue;
    assert_int_equal(eg_stage_change(x.c.w, id, x.p, 0, &row), EG_OK);
    assert_int_equal(eg_stage_change(x.c.w, id, x.pv, x.sv, &row), EG_OK);
    core_staged(x.c.w, x.sv, x.c.vel, row)[0] = 9;
    assert_int_equal(eg_stage_change(x.c.w, other, x.p, 0, &row), EG_OK);
    assert_int_equal(eg_stage_change(x.c.w, other, x.pv, 0, &row), EG_OK);
    assert_int_equal(eg_drain_begin(x.c.w), EG_OK);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_MOVE);
    assert_id(op.entity, id);
    assert_int_equal(op.from, op.to);
    assert_int_equal(op.row, op.to_row);
    assert_int_equal(eg_drain_next(x.c.w, &op), EG_DRAIN_DONE);
    assert_int_equal(core_row(x.c.w, id), 1);
    assert_true(core_cell(x.c.w, id, x.c.pos)[0] == 1);
    assert_true(core_cell(x.c.w, id, x.c.vel)[0] == 9);
    assert_true(core_cell(x.c.w, other, x.c.vel)[0] == 2);
    core_close(&x.c);
}

static void a_change_that_nets_to_nothing_touches_nothing(void **state)
{
    places x;
    uint32_t flags;
    double id;

    (void)state;
    open_places(&x);
    id = eg_entity_spawn(x.c.w, x.pv);
    while (eg_archetype_touched(x.c.w, &flags) != 0)
        continue;
    assert_int_equal(eg_stage_change(x.c.w, id, x.p, 0, NULL), EG_OK);
    assert_int_equal(eg_stage_change(x.c.w, id, x.pv, 0, NULL), EG_OK);
    assert_int_equal(core_drain(x.c.w), 1);
    assert_int_equal(eg_archetype_touched(x.c.w, &flags), 0);
    core_close(&x.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staged_values_reach_their_rows),
        cmocka_unit_test(cells_without_a_staged_value_are_zero),
        cmocka_unit_test(a_wave_is_despawns_then_spawns_then_moves),
        cmocka_unit_test(a_step_tells_rows_as_they_were),
        cmocka_unit_test(only_attended_archetypes_are_reported),
        cmocka_unit_test(a_batch_leaves_out_cancelled_ids),
        cmocka_unit_test(an_id_staged_anew_is_not_taken_for_the_old_one),
        cmocka_unit_test(what_is_staged_meanwhile_is_the_next_wave),
        cmocka_unit_test(an_interrupted_wave_goes_on_where_it_stopped),
        cmocka_unit_test(removed_and_added_again_is_no_move),
        cmocka_unit_test(a_change_that_nets_to_nothing_touches_nothing),
    };

    return cmocka_run_group_tests_name("drain", tests, NULL, NULL);
}
