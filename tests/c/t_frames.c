/* SPDX-License-Identifier: MIT */
/* What a running game asks of memory: after a few frames of the same work
 * nothing, and nothing more after hours than after seconds. */
#include "core_util.h"

#include <string.h>

enum { ENTITIES = 600, CHURN = 37 };

typedef struct game {
    core_world c;
    uint32_t p, pv, sp, sv;
    uint64_t seed;
    double ids[ENTITIES];
} game;

static void open_game(game *g)
{
    core_open(&g->c, 2 * ENTITIES);
    g->p = core_set(g->c.w, 0, g->c.pos, 0, 0);
    g->pv = core_set(g->c.w, 0, g->c.pos, g->c.vel, 0);
    g->sp = core_set(g->c.w, 1, g->c.pos, 0, 0);
    g->sv = core_set(g->c.w, 1, g->c.vel, 0, 0);
    g->seed = snap_seed();
    for (int i = 0; i < ENTITIES; i++)
        g->ids[i] = eg_entity_spawn(g->c.w, g->p);
}

/* One scope: some die, as many come, some change, a batch comes and goes. */
static void staged_frame(game *g)
{
    eg_world *w = g->c.w;
    double batch[CHURN];
    uint32_t flags;

    for (int i = 0; i < CHURN; i++) {
        uint32_t k = snap_below(&g->seed, ENTITIES);
        uint32_t row;

        assert_int_equal(eg_stage_despawn(w, g->ids[k]), EG_OK);
        g->ids[k] = eg_stage_spawn(w, g->p, g->sp);
        k = snap_below(&g->seed, ENTITIES);
        if (!eg_entity_alive(w, g->ids[k]))
            continue;
        assert_int_equal(eg_stage_change(w, g->ids[k], g->pv, g->sv, &row),
                         EG_OK);
        if (i % 2)
            assert_int_equal(eg_stage_change(w, g->ids[k], g->p, 0, &row),
                             EG_OK);
    }
    assert_int_equal(eg_stage_batch(w, g->pv, CHURN, batch, 1), EG_OK);
    (void)core_drain(w);
    for (int i = 0; i < CHURN; i++)
        assert_int_equal(eg_stage_despawn(w, batch[i]), EG_OK);
    (void)core_drain(w);
    while (eg_archetype_touched(w, &flags) != 0)
        continue;
}

static void instant_frame(game *g)
{
    eg_world *w = g->c.w;
    eg_stats stats;

    for (int i = 0; i < CHURN; i++) {
        uint32_t k = snap_below(&g->seed, ENTITIES);
        void *out;

        assert_int_equal(eg_entity_despawn(w, g->ids[k]), EG_OK);
        g->ids[k] = eg_entity_spawn(w, g->p);
        k = snap_below(&g->seed, ENTITIES);
        assert_int_equal(eg_entity_add(w, g->ids[k], g->c.vel, &out), EG_OK);
        k = snap_below(&g->seed, ENTITIES);
        assert_int_equal(eg_entity_remove(w, g->ids[k], g->c.vel), EG_OK);
    }
    eg_world_stats(w, &stats);
    assert_int_equal(stats.entities, ENTITIES);
}

static void run(void (*frame)(game *g))
{
    game g;
    size_t live, mapped;

    open_game(&g);
    /* Room for the worst distribution over the two archetypes. */
    assert_int_equal(eg_archetype_reserve(g.c.w, g.pv, 2 * ENTITIES), EG_OK);
    for (int i = 0; i < 20; i++)
        frame(&g);
    live = g.c.memory.live;
    mapped = g.c.memory.mapped;
    g.c.memory.fail_at = g.c.memory.calls;
    g.c.memory.fail_on = 1;
    for (int i = 0; i < 200; i++)
        frame(&g);
    assert_int_equal(g.c.memory.calls, g.c.memory.fail_at);
    assert_int_equal(g.c.memory.live, live);
    assert_int_equal(g.c.memory.mapped, mapped);
    core_close(&g.c);
}

static void steady_staged_frames_do_not_allocate(void **state)
{
    (void)state;
    run(staged_frame);
}

static void steady_instant_frames_do_not_allocate(void **state)
{
    (void)state;
    run(instant_frame);
}

/* Values staged for rows that are there: no row is asked for, full or not. */
static void staged_values_alone_never_grow_an_archetype(void **state)
{
    core_world c;
    uint32_t p, sp, row;
    eg_archetype_view view;

    (void)state;
    core_open(&c, 100);
    p = core_set(c.w, 0, c.pos, 0, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    for (uint32_t i = 1; i <= 40; i++)
        assert_id(eg_entity_spawn(c.w, p), i);
    (void)eg_world_compact(c.w);
    for (uint32_t i = 1; i <= 40; i++)
        assert_int_equal(eg_stage_change(c.w, i, p, sp, &row), EG_OK);
    (void)core_drain(c.w);
    assert_int_equal(eg_archetype_read(c.w, p, &view), 1);
    assert_int_equal(view.capacity, 40);
    core_close(&c);
}

static void staged_rows_are_reused(void **state)
{
    core_world c;
    uint32_t p, sp, row;
    eg_archetype_view view;

    (void)state;
    core_open(&c, 100);
    p = core_set(c.w, 0, c.pos, 0, 0);
    sp = core_set(c.w, 1, c.pos, 0, 0);
    assert_id(eg_entity_spawn(c.w, p), 1);
    /* In one scope: staged and given up, over and over. */
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(eg_stage_change(c.w, 1, p, sp, &row), EG_OK);
        assert_int_equal(row, 1);
        assert_int_equal(eg_stage_change(c.w, 1, p, 0, &row), EG_OK);
    }
    (void)core_drain(c.w);
    /* Over many scopes, freed in another order than taken. */
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 10; k++)
            assert_true(eg_stage_spawn(c.w, p, sp) > 0);
        assert_int_equal(eg_stage_despawn(c.w, core_at(c.w, sp, 3)), EG_OK);
        assert_int_equal(eg_stage_despawn(c.w, core_at(c.w, sp, 10)), EG_OK);
        assert_int_equal(core_rows(c.w, sp), 9);
        (void)core_drain(c.w);
        while (core_rows(c.w, p) > 0)
            (void)eg_entity_despawn(c.w, core_at(c.w, p, 1));
    }
    assert_int_equal(eg_archetype_read(c.w, sp, &view), 1);
    assert_int_equal(view.capacity, 16);
    core_close(&c);
}

static void a_long_run_ends_with_the_memory_it_began_with(void **state)
{
    game g;
    size_t live;

    (void)state;
    open_game(&g);
    for (int i = 0; i < 50; i++)
        staged_frame(&g);
    eg_world_clear(g.c.w);
    (void)eg_world_compact(g.c.w);
    live = g.c.memory.live;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < ENTITIES; i++)
            g.ids[i] = eg_entity_spawn(g.c.w, g.p);
        for (int i = 0; i < 10; i++)
            staged_frame(&g);
        eg_world_clear(g.c.w);
        (void)eg_world_compact(g.c.w);
        assert_int_equal(g.c.memory.live, live);
        assert_sound(g.c.w);
    }
    core_close(&g.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_staged_frames_do_not_allocate),
        cmocka_unit_test(steady_instant_frames_do_not_allocate),
        cmocka_unit_test(staged_values_alone_never_grow_an_archetype),
        cmocka_unit_test(staged_rows_are_reused),
        cmocka_unit_test(a_long_run_ends_with_the_memory_it_began_with),
    };

    return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
