/* SPDX-License-Identifier: MIT */
/* Ids and slots of a load. The document was verified: ids are integers with
 * distinct slots, and its allocator entry, if any, covers the slots 1 .. high
 * exactly once. */
#include "core/snap/eg_load.h"

#include "core/snap/eg_wire.h"

#include <string.h>

int egi_load_ids(eg_load *l, const egi_snap_record *r, egi_archetype *a,
                 uint32_t *first)
{
    eg_world *w = l->world;
    egi_content *c = w->now;
    egi_rows *rows;
    double *ids;
    uint32_t row;

    if (egi_rows_reserve(w, a, r->rows) != EG_OK)
        return EG_ENOMEM;
    rows = egi_rows_of(w, a->id);
    if (r->rows == 0)
        return EG_OK;
    row = egi_count(rows) + 1;
    *first = row;
    ids = rows->ids + row;
    memcpy(ids, l->snap->data + r->at, (size_t)r->rows * sizeof(double));
    for (uint32_t i = 0; i < r->rows; i++) {
        uint32_t s = egi_slot_of(ids[i]);
        eg_slot *slot = &c->slots[s];

        slot->id = ids[i];
        slot->archetype = (int32_t)a->id;
        slot->row = (int32_t)(row + i);
    }
    rows->ids[0] = row + r->rows - 1;
    c->live += r->rows;
    return EG_OK;
}

/* The list being built: `last` is its end so far, 0 at the start. */
static void link_slot(egi_content *c, uint32_t *last, uint32_t slot)
{
    if (*last == 0)
        c->free_head = slot;
    else
        c->slots[*last].archetype = (int32_t)slot - ((int32_t)*last + 1);
    c->slots[slot].row = (int32_t)*last - ((int32_t)slot - 1);
    *last = slot;
}

static void link_free(egi_content *c, uint32_t *last, uint32_t slot,
                      uint32_t generation)
{
    link_slot(c, last, slot);
    c->slots[slot].id = -(double)generation * EGI_SLOT_COUNT;
    c->slots[slot].archetype = 0;
}

/* A snapshot without an allocator: gaps are free, lowest slot first. */
static void slots_from_gaps(eg_load *l)
{
    egi_content *c = l->world->now;
    uint32_t last = 0;

    for (uint32_t s = 1; s <= c->high; s++)
        if (c->slots[s].id == 0.0)
            link_free(c, &last, s, 0);
    link_slot(c, &last, c->high + 1);
}

static const uint8_t *take_free_item(egi_content *c, const uint8_t *at,
                                     uint32_t *last, uint32_t *left)
{
    uint32_t slot = egi_load_u32(at), generation = egi_load_u32(at + 4);
    uint32_t count = 1;

    at += 8;
    if (generation & EGI_ALLOCATOR_RUN) {
        generation &= ~EGI_ALLOCATOR_RUN;
        count = egi_load_u32(at);
        at += 4;
    }
    for (uint32_t i = 0; i < count; i++)
        link_free(c, last, slot + i, generation);
    *left -= count;
    return at;
}

/* A floor says more than the id itself only when it is above it. */
static void set_floors(eg_load *l)
{
    const egi_snap_allocator *sa = &l->snap->allocator;
    eg_world *w = l->world;

    for (uint32_t i = 0; i < sa->floor_count; i++) {
        const uint8_t *f = l->snap->data + sa->floors_at + i * (size_t)8;
        uint32_t slot = egi_load_u32(f), highest = egi_load_u32(f + 4);

        if (highest * EGI_SLOT_COUNT + slot > w->now->slots[slot].id)
            (void)egi_map32_set(&w->now->floors, &w->allocator, slot, highest);
    }
}

int egi_load_slots(eg_load *l)
{
    const egi_snap_allocator *sa = &l->snap->allocator;
    eg_world *w = l->world;
    egi_content *c = w->now;
    const uint8_t *at = l->snap->data + sa->free_at;
    uint32_t last = 0, left = sa->free_count;

    if (!sa->present) {
        slots_from_gaps(l);
        return EG_OK;
    }
    if (egi_slots_reserve(w, sa->floor_count) != EG_OK)
        return EG_ENOMEM;
    c->retired = sa->retired_count;
    while (left > 0)
        at = take_free_item(c, at, &last, &left);
    link_slot(c, &last, c->high + 1);
    for (uint32_t i = 0; i < sa->retired_count; i++) {
        uint32_t s =
            egi_load_u32(l->snap->data + sa->retired_at + i * (size_t)4);

        c->slots[s].id = -2147483648.0 * EGI_SLOT_COUNT;
        c->slots[s].archetype = c->slots[s].row = 0;
    }
    set_floors(l);
    return EG_OK;
}
