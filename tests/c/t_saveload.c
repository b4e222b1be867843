/* SPDX-License-Identifier: MIT */
/* Saving and loading without a host language: every storage round-trips, a
 * failed load changes nothing, and no allocation that fails is fatal. */
#include "core_util.h"

#include <stdlib.h>
#include <string.h>

#include "include/eg_snapshot.h"

/* As core_open, but what is saved has fields. */
static void open_world(core_world *c, uint32_t max_entities)
{
    static const eg_field fields[] = {
        {"x", 1, EG_F64, 0, {0, 0}, 1},
        {"y", 1, EG_F64, 8, {0, 0}, 1},
    };
    eg_component_def def;

    core_open(c, max_entities);
    memset(&def, 0, sizeof def);
    def.storage = EG_RAW;
    def.size = 16;
    def.align = 8;
    def.fields = fields;
    def.field_count = 2;
    def.name_len = 5;
    def.name = "Point";
    assert_int_equal(eg_component_register(c->registry, &def, &c->pos), EG_OK);
    def.name = "Speed";
    assert_int_equal(eg_component_register(c->registry, &def, &c->vel), EG_OK);
}

typedef struct tools {
    eg_save *save;
    eg_load *load;
    eg_snap *snap;
    uint8_t *bytes;
    size_t size;
} tools;

static void tools_free(tools *t)
{
    eg_save_free(t->save);
    eg_load_free(t->load);
    eg_snap_close(t->snap);
    free(t->bytes);
    memset(t, 0, sizeof *t);
}

/* Saves a world; host columns are written as one `true` per row. */
static int save_world(core_world *c, tools *t)
{
    static uint8_t trues[256];
    eg_save_column *hosted;
    uint64_t size;
    int err = eg_save_begin(c->w, &t->save);

    if (err != EG_OK)
        return err;
    memset(trues, 2, sizeof trues);
    for (uint32_t i = eg_save_hosted(t->save, &hosted); i > 0; i--) {
        hosted[i - 1].data = trues;
        hosted[i - 1].size = hosted[i - 1].rows;
    }
    err = eg_save_measure(t->save, NULL, 0, &size);
    if (err != EG_OK)
        return err;
    free(t->bytes);
    t->size = (size_t)size;
    t->bytes = malloc(t->size);
    assert_non_null(t->bytes);
    assert_int_equal(eg_save_write(t->save, t->bytes, size - 1), EG_ELIMIT);
    return eg_save_write(t->save, t->bytes, size);
}

/* Loads with components by name, unknown ones left out. */
static int load_world(core_world *c, tools *t, eg_snap_error *err)
{
    eg_load_map map = {NULL, NULL, NULL};
    uint32_t components[16], archetypes[16], set[16];
    uint32_t mark = eg_archetype_count(c->w);
    eg_snap_prelude p;
    int code =
        eg_load_open(&c->memory.alloc, t->bytes, t->size, NULL, &t->snap, err);

    if (code != EG_OK)
        return code;
    eg_snap_prelude_of(t->snap, &p);
    for (uint32_t i = 0; i < p.components; i++) {
        eg_snap_component sc;

        assert_int_equal(eg_snap_component_at(t->snap, i, &sc), EG_OK);
        components[i] = eg_component_find(c->registry, sc.name, sc.name_len);
    }
    for (uint32_t i = 0; i < p.records; i++) {
        eg_snap_record r;
        uint32_t n = 0;

        assert_int_equal(eg_snap_record_at(t->snap, i, &r), EG_OK);
        for (uint32_t k = 0; k < r.columns; k++) {
            eg_snap_column col;

            assert_int_equal(eg_snap_column_at(t->snap, i, k, &col), EG_OK);
            if (components[col.component] != 0)
                set[n++] = components[col.component];
        }
        code = eg_archetype_get(c->w, set, n, 0, &archetypes[i]);
        if (code != EG_OK) {
            eg_load_rollback(c->w, mark);
            return code;
        }
    }
    map.components = components;
    map.archetypes = archetypes;
    return eg_load_begin(c->w, t->snap, &map, mark, EG_LOAD_COPY, &t->load,
                         err);
}

static void populate(core_world *c)
{
    uint32_t a = core_set(c->w, 0, c->pos, c->number, c->flag);
    uint32_t b = core_set(c->w, 0, c->pos, c->host, c->tag);

    for (int i = 1; i <= 20; i++) {
        double id = eg_entity_spawn(c->w, i % 2 ? a : b);

        core_cell(c->w, id, c->pos)[0] = i * 1.5;
        core_cell(c->w, id, c->pos)[1] = -0.0;
        if (i % 2) {
            core_cell(c->w, id, c->number)[0] = i % 3 ? i : i / 8.0;
            *(uint8_t *)eg_entity_get(c->w, id, c->flag) = i % 4 == 1;
        }
    }
    for (int i = 3; i <= 18; i += 5)
        assert_int_equal(eg_entity_despawn(c->w, i), EG_OK);
    assert_int_equal(eg_entity_spawn_at(c->w, 60, a), EG_OK);
    memset(eg_entity_get(c->w, 60, c->pos), 0, 16);
    memset(eg_entity_get(c->w, 60, c->number), 0, 8);
    memset(eg_entity_get(c->w, 60, c->flag), 0, 1);
}

static void a_world_round_trips_into_another(void **state)
{
    core_world c, d;
    tools t = {0}, u = {0};
    eg_snap_error err;

    (void)state;
    open_world(&c, 100);
    open_world(&d, 100);
    populate(&c);
    assert_true(eg_entity_spawn(d.w, core_set(d.w, 0, d.vel, 0, 0)) > 0);
    assert_int_equal(save_world(&c, &t), EG_OK);
    u.bytes = malloc(t.size);
    u.size = t.size;
    memcpy(u.bytes, t.bytes, t.size);
    assert_int_equal(load_world(&d, &u, &err), EG_OK);
    eg_load_commit(d.w);
    assert_sound(d.w);
    assert_true(core_cell(d.w, 1, d.pos)[0] == 1.5);
    assert_true(core_cell(d.w, 9, d.number)[0] == 9 / 8.0);
    assert_false(eg_entity_alive(d.w, 3));
    assert_int_equal(save_world(&d, &u), EG_OK);
    assert_int_equal(u.size, t.size);
    assert_memory_equal(u.bytes, t.bytes, t.size);
    /* The next ids are those of the original world. */
    for (int i = 0; i < 50; i++)
        assert_id(eg_entity_spawn(c.w, core_set(c.w, 0, c.pos, 0, 0)),
                  eg_entity_spawn(d.w, core_set(d.w, 0, d.pos, 0, 0)));
    tools_free(&t);
    tools_free(&u);
    core_close(&c);
    core_close(&d);
}

static void a_rollback_puts_everything_back(void **state)
{
    core_world c;
    tools t = {0}, before = {0}, after = {0};
    eg_snap_error err;
    uint32_t mark;

    (void)state;
    open_world(&c, 100);
    populate(&c);
    assert_int_equal(save_world(&c, &t), EG_OK);
    eg_world_clear(c.w);
    assert_true(eg_entity_spawn(c.w, core_set(c.w, 0, c.vel, 0, 0)) > 0);
    memset(eg_entity_get(c.w, core_at(c.w, core_set(c.w, 0, c.vel, 0, 0), 1),
                         c.vel),
           0, 16);
    assert_int_equal(save_world(&c, &before), EG_OK);
    mark = eg_archetype_count(c.w);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(load_world(&c, &t, &err), EG_OK);
        assert_int_equal(load_world(&c, &t, &err), EG_EBUSY);
        assert_sound(c.w);
        eg_load_rollback(c.w, mark);
        assert_sound(c.w);
        assert_int_equal(save_world(&c, &after), EG_OK);
        assert_int_equal(after.size, before.size);
        assert_memory_equal(after.bytes, before.bytes, before.size);
    }
    tools_free(&t);
    tools_free(&before);
    tools_free(&after);
    core_close(&c);
}

/* Fails allocation i of a load; returns 1 when the load succeeded. */
static int load_failing(core_world *c, tools *t, long i, int on)
{
    eg_snap_error err;
    int code;

    c->memory.fail_at = c->memory.calls + i;
    c->memory.fail_on = on;
    code = load_world(c, t, &err);
    c->memory.fail_at = -1;
    assert_true(code == EG_OK || code == EG_ENOMEM);
    assert_sound(c->w);
    if (code == EG_OK)
        eg_load_commit(c->w);
    return code == EG_OK;
}

static void a_load_survives_every_failing_allocation(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        long i = 0;
        int done = 0;

        while (!done) {
            core_world c;
            tools t = {0}, before = {0}, after = {0};

            open_world(&c, 100);
            populate(&c);
            assert_int_equal(save_world(&c, &t), EG_OK);
            eg_world_clear(c.w);
            (void)eg_entity_spawn(c.w, core_set(c.w, 0, c.tag, 0, 0));
            assert_int_equal(save_world(&c, &before), EG_OK);
            done = load_failing(&c, &t, i++, on);
            if (!done) {
                assert_int_equal(save_world(&c, &after), EG_OK);
                assert_int_equal(after.size, before.size);
                assert_memory_equal(after.bytes, before.bytes, before.size);
            }
            tools_free(&t);
            tools_free(&before);
            tools_free(&after);
            core_close(&c);
        }
        assert_true(i > 5);
    }
}

static void a_save_survives_every_failing_allocation(void **state)
{
    core_world c;
    long i = 0;
    int code = EG_ENOMEM;

    (void)state;
    open_world(&c, 100);
    populate(&c);
    for (; code != EG_OK; i++) {
        tools t = {0};

        c.memory.fail_at = c.memory.calls + i;
        c.memory.fail_on = 0;
        code = save_world(&c, &t);
        c.memory.fail_at = -1;
        assert_true(code == EG_OK || code == EG_ENOMEM);
        tools_free(&t);
        assert_sound(c.w);
    }
    assert_true(i > 5);
    core_close(&c);
}

static void a_slot_above_the_world_is_refused(void **state)
{
    core_world c, d;
    tools t = {0}, u = {0};
    eg_snap_error err;

    (void)state;
    open_world(&c, 100);
    open_world(&d, 59);
    populate(&c);
    assert_int_equal(save_world(&c, &t), EG_OK);
    u.bytes = malloc(t.size);
    u.size = t.size;
    memcpy(u.bytes, t.bytes, t.size);
    assert_int_equal(load_world(&d, &u, &err), EG_ELIMIT);
    assert_string_equal(err.reason, "a slot above maxEntities");
    assert_sound(d.w);
    tools_free(&t);
    tools_free(&u);
    core_close(&c);
    core_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_world_round_trips_into_another),
        cmocka_unit_test(a_rollback_puts_everything_back),
        cmocka_unit_test(a_load_survives_every_failing_allocation),
        cmocka_unit_test(a_save_survives_every_failing_allocation),
        cmocka_unit_test(a_slot_above_the_world_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
