/* SPDX-License-Identifier: MIT */
#include "core_util.h"

#include <string.h>

uint32_t core_component(eg_registry *r, const char *name, int32_t storage,
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
    assert_int_equal(eg_component_register(r, &def, &id), EG_OK);
    return id;
}

void core_open(core_world *c, uint32_t max_entities)
{
    memset(c, 0, sizeof *c);
    snap_memory_init(&c->memory);
    assert_int_equal(eg_registry_new(&c->memory.alloc, &c->registry), EG_OK);
    c->tag = core_component(c->registry, "Tag", EG_TAG, 0, 0);
    c->flag = core_component(c->registry, "Flag", EG_BOOLEAN, 0, 0);
    c->number = core_component(c->registry, "Number", EG_NUMBER, 0, 0);
    c->host = core_component(c->registry, "Host", EG_HOST, 0, 0);
    c->pos = core_component(c->registry, "Pos", EG_RAW, 16, 8);
    c->vel = core_component(c->registry, "Vel", EG_RAW, 16, 8);
    c->odd = core_component(c->registry, "Odd", EG_RAW, 12, 4);
    c->wide = core_component(c->registry, "Wide", EG_RAW, 64, 64);
    assert_int_equal(
        eg_world_new(c->registry, max_entities, &c->memory.alloc, &c->w),
        EG_OK);
}

void core_close(core_world *c)
{
    assert_sound(c->w);
    eg_world_free(c->w);
    eg_registry_release(c->registry);
    snap_memory_fini(&c->memory);
}

void core_sound(eg_world *w, const char *file, int line)
{
    const char *fault = eg_world_check(w);

    if (fault != NULL)
        fail_msg("%s:%d: %s", file, line, fault);
}

uint32_t core_set(eg_world *w, int staging, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t ids[3], out = 0;
    uint32_t n = 0;

    ids[n] = a;
    n += a != 0;
    ids[n] = b;
    n += b != 0;
    ids[n] = c;
    n += c != 0;
    assert_int_equal(eg_archetype_get(w, ids, n, staging, &out), EG_OK);
    assert_int_not_equal(out, 0);
    return out;
}

static const eg_slot *record(eg_world *w, double id)
{
    const eg_slot *slot = &eg_world_slots(w)[(uint64_t)id & EG_MAX_ENTITIES];

    assert_id(slot->id, id);
    return slot;
}

uint32_t core_row(eg_world *w, double id)
{
    return (uint32_t)record(w, id)->row;
}

uint32_t core_archetype(eg_world *w, double id)
{
    return (uint32_t)record(w, id)->archetype;
}

static void view_of(eg_world *w, uint32_t archetype, eg_archetype_view *view)
{
    assert_int_equal(eg_archetype_read(w, archetype, view), 1);
}

uint32_t core_rows(eg_world *w, uint32_t archetype)
{
    eg_archetype_view view;

    view_of(w, archetype, &view);
    return (uint32_t)view.entities[0];
}

double core_at(eg_world *w, uint32_t archetype, uint32_t row)
{
    eg_archetype_view view;

    view_of(w, archetype, &view);
    assert_in_range(row, 1, (uint32_t)view.entities[0]);
    return view.entities[row];
}

double *core_cell(eg_world *w, double id, uint32_t component)
{
    double *cell = eg_entity_get(w, id, component);

    assert_non_null(cell);
    return cell;
}

double *core_staged(eg_world *w, uint32_t staged, uint32_t component,
                    uint32_t row)
{
    unsigned char *column = eg_archetype_column(w, staged, component);
    const eg_component_def *def = eg_component_info(w->registry, component);

    assert_non_null(column);
    return (double *)(void *)(column + (size_t)row * def->size);
}

uint32_t core_drain(eg_world *w)
{
    eg_drain_op op;
    uint32_t waves = 0;

    while (eg_stage_pending(w)) {
        assert_int_equal(eg_drain_begin(w), EG_OK);
        while (eg_drain_next(w, &op) != EG_DRAIN_DONE)
            assert_true(op.kind > 0);
        assert_sound(w);
        waves++;
        assert_true(waves < 100);
    }
    return waves;
}
