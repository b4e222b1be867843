/* SPDX-License-Identifier: MIT */
/* The core without Lua, through its public headers alone: a rain of particles.
 * They fall, hit the ground, become puddles, and puddles dry up; structure
 * changes inside the loops that find out about it, so it is staged. */
#include "include/eg.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

typedef struct position {
    double x, y;
} position;

typedef struct velocity {
    float dx, dy;
} velocity;

typedef struct rain {
    eg_registry *registry;
    eg_world *world;
    uint32_t position, velocity, puddle, wet; /* components */
    uint32_t drops, puddles;                  /* archetypes */
    uint32_t staged_puddle;                   /* values of a landing */
    eg_query *falling, *lying;
} rain;

enum { DROPS = 500, STEPS = 400, DRY_AFTER = 20 };

static uint32_t component(rain *r, const char *name, int32_t storage,
                          uint32_t size, uint32_t align)
{
    eg_component_def def;
    uint32_t id = 0;

    memset(&def, 0, sizeof def);
    def.name = name;
    def.name_len = (uint32_t)strlen(name);
    def.storage = storage;
    def.size = size;
    def.align = align;
    assert_int_equal(eg_component_register(r->registry, &def, &id), EG_OK);
    return id;
}

static uint32_t archetype(rain *r, int staging, const uint32_t *set,
                          uint32_t count)
{
    uint32_t id = 0;

    assert_int_equal(eg_archetype_get(r->world, set, count, staging, &id),
                     EG_OK);
    return id;
}

static eg_query *query(rain *r, uint32_t include, uint32_t exclude)
{
    eg_query_def def;
    eg_query *q = NULL;

    memset(&def, 0, sizeof def);
    def.include = &include;
    def.include_count = 1;
    def.exclude = &exclude;
    def.exclude_count = 1;
    assert_int_equal(eg_query_new(r->world, &def, &q), EG_OK);
    return q;
}

static void rain_open(rain *r)
{
    memset(r, 0, sizeof *r);
    assert_int_equal(eg_abi_version(), EG_ABI);
    assert_int_equal(eg_registry_new(NULL, &r->registry), EG_OK);
    r->position = component(r, "Position", EG_RAW, sizeof(position), 8);
    r->velocity = component(r, "Velocity", EG_RAW, sizeof(velocity), 4);
    r->puddle = component(r, "Puddle", EG_NUMBER, 0, 0);
    r->wet = component(r, "Wet", EG_TAG, 0, 0);
    assert_int_equal(eg_world_new(r->registry, 2 * DROPS, NULL, &r->world),
                     EG_OK);
    r->drops = archetype(r, 0, (uint32_t[]){r->position, r->velocity}, 2);
    r->puddles =
        archetype(r, 0, (uint32_t[]){r->position, r->puddle, r->wet}, 3);
    r->staged_puddle = archetype(r, 1, &r->puddle, 1);
    r->falling = query(r, r->velocity, r->puddle);
    r->lying = query(r, r->puddle, r->velocity);
}

static void rain_close(rain *r)
{
    assert_null(eg_world_check(r->world));
    eg_query_free(r->world, r->lying);
    eg_world_free(r->world);
    eg_registry_release(r->registry);
}

/* Drops start at heights 10, 10.1, 10.2, … */
static void rain_fill(rain *r)
{
    uint32_t first = 0;
    position *at;
    velocity *v;

    assert_int_equal(
        eg_entity_spawn_many(r->world, r->drops, DROPS, NULL, &first), EG_OK);
    at = eg_archetype_column(r->world, r->drops, r->position);
    v = eg_archetype_column(r->world, r->drops, r->velocity);
    for (uint32_t row = first; row < first + DROPS; row++) {
        at[row].x = row;
        at[row].y = 10.0 + 0.1 * (row - first);
        v[row].dx = 0.0f;
        v[row].dy = -0.5f;
    }
}

static void land(rain *r, double id, double age)
{
    uint32_t row = 0;
    double *cells;

    assert_int_equal(
        eg_stage_change(r->world, id, r->puddles, r->staged_puddle, &row),
        EG_OK);
    cells = eg_archetype_column(r->world, r->staged_puddle, r->puddle);
    cells[row] = age;
}

static void fall(rain *r)
{
    const uint32_t *list;
    uint32_t matches = eg_query_list(r->falling, &list);

    for (uint32_t i = 0; i < matches; i++) {
        eg_archetype_view view;
        position *at = eg_archetype_column(r->world, list[i], r->position);
        const velocity *v = eg_archetype_column(r->world, list[i], r->velocity);
        uint32_t count;

        assert_int_equal(eg_archetype_read(r->world, list[i], &view), 1);
        count = (uint32_t)view.entities[0];
        for (uint32_t row = 1; row <= count; row++) {
            at[row].x += (double)v[row].dx;
            at[row].y += (double)v[row].dy;
            if (at[row].y <= 0.0)
                land(r, view.entities[row], 0.0);
        }
        assert_int_equal((uint32_t)view.entities[0], count);
    }
}

static void dry(rain *r)
{
    const uint32_t *list;
    uint32_t matches = eg_query_list(r->lying, &list);

    for (uint32_t i = 0; i < matches; i++) {
        eg_archetype_view view;
        double *age = eg_archetype_column(r->world, list[i], r->puddle);

        assert_int_equal(eg_archetype_read(r->world, list[i], &view), 1);
        for (uint32_t row = 1; row <= (uint32_t)view.entities[0]; row++) {
            age[row] += 1.0;
            if (age[row] > DRY_AFTER)
                assert_int_equal(eg_stage_despawn(r->world, view.entities[row]),
                                 EG_OK);
        }
    }
}

static void drain(rain *r)
{
    eg_drain_op op;

    while (eg_stage_pending(r->world)) {
        assert_int_equal(eg_drain_begin(r->world), EG_OK);
        while (eg_drain_next(r->world, &op) > 0)
            continue;
    }
}

/* Steps until a drop from this height touches the ground. */
static uint32_t steps_to_fall(double y)
{
    uint32_t steps = 0;

    for (; y > 0.0; steps++)
        y += (double)-0.5f;
    return steps;
}

static void rain_falls_lies_and_dries(void **state)
{
    rain r;
    eg_stats stats;

    (void)state;
    rain_open(&r);
    rain_fill(&r);
    for (uint32_t step = 1; step <= STEPS; step++) {
        uint32_t falling = 0, lying = 0;

        fall(&r);
        dry(&r);
        drain(&r);
        assert_null(eg_world_check(r.world));
        for (uint32_t i = 0; i < DROPS; i++) {
            uint32_t landed = steps_to_fall(10.0 + 0.1 * i);

            falling += step < landed;
            lying += step >= landed && step <= landed + DRY_AFTER;
        }
        assert_int_equal(eg_query_rows(r.world, r.falling), falling);
        assert_int_equal(eg_query_rows(r.world, r.lying), lying);
    }
    eg_world_stats(r.world, &stats);
    assert_int_equal(stats.entities, 0);
    assert_int_equal(stats.high_slot, DROPS);
    rain_close(&r);
}

static void landing_keeps_the_place(void **state)
{
    rain r;
    double id;
    position *at;

    (void)state;
    rain_open(&r);
    id = eg_entity_spawn(r.world, r.drops);
    assert_true(id > 0);
    at = eg_entity_get(r.world, id, r.position);
    at->x = 3.0;
    at->y = -1.0;
    land(&r, id, 7.0);
    drain(&r);
    at = eg_entity_get(r.world, id, r.position);
    assert_non_null(at);
    assert_true(at->x == 3.0 && at->y == -1.0);
    assert_true(*(double *)eg_entity_get(r.world, id, r.puddle) == 7.0);
    assert_null(eg_entity_get(r.world, id, r.velocity));
    rain_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rain_falls_lies_and_dries),
        cmocka_unit_test(landing_keeps_the_place),
    };

    return cmocka_run_group_tests_name("standalone", tests, NULL, NULL);
}
