/* SPDX-License-Identifier: MIT */
/* Entities: placement and movement of single rows. Every function checks what
 * can fail first, and cannot fail after its first change. */
#include "core/store/eg_store.h"

#include <string.h>

/* Gives an id, whose record was just taken, the next row; there is room. */
static inline void place(egi_content *c, eg_slot *slot, double id,
                         uint32_t archetype)
{
    slot->id = id;
    slot->archetype = (int32_t)archetype;
    slot->row = (int32_t)egi_row_append(&c->rows[archetype], id);
    c->live++;
}

double eg_entity_spawn(eg_world *w, uint32_t archetype)
{
    egi_archetype *a = egi_archetype_at(w, archetype);
    eg_slot *slot;
    double id;

    if (a == NULL || a->staging)
        return EG_EINVAL;
    if (egi_slots_full(w))
        return EG_EFULL;
    if (egi_rows_reserve(w, a, 1) != EG_OK)
        return EG_ENOMEM;
    slot = egi_slot_take(w->now, &id);
    place(w->now, slot, id, archetype);
    return id;
}

int eg_entity_spawn_at(eg_world *w, double id, uint32_t archetype)
{
    egi_archetype *a = egi_archetype_at(w, archetype);
    int err;

    if (a == NULL || a->staging)
        return EG_EINVAL;
    err = egi_slot_check(w, id);
    if (err != EG_OK)
        return err;
    if (egi_slots_reserve(w, 1) != EG_OK || egi_rows_reserve(w, a, 1) != EG_OK)
        return EG_ENOMEM;
    egi_slot_take_at(w, id);
    place(w->now, &w->now->slots[egi_slot_of(id)], id, archetype);
    return EG_OK;
}

uint32_t egi_slots_free(const eg_world *w)
{
    const egi_content *c = w->now;

    return w->max_entities - c->live - c->pending - c->retired;
}

/* Places `count` new entities as the rows after the last. Mostly the next slot
 * is the neighbour: a loop for that alone need not wait for the link that says
 * so, which is half of its time. */
static void place_many(egi_content *c, uint32_t archetype, uint32_t count)
{
    egi_rows *r = &c->rows[archetype];
    uint32_t row = egi_count(r), end = row + count, s = c->free_head;

    r->ids[0] = end;
    c->live += count;
    while (row < end) {
        int32_t delta = 0;

        for (; row < end && delta == 0; s++) {
            eg_slot *slot = &c->slots[s];

            delta = slot->archetype;
            slot->id = (double)s - slot->id;
            slot->archetype = (int32_t)archetype;
            slot->row = (int32_t)++row;
            r->ids[row] = slot->id;
        }
        if (s - 1 > c->high)
            c->high = s - 1;
        s = (uint32_t)((int32_t)s + delta);
    }
    c->free_head = s;
}

int eg_entity_spawn_many(eg_world *w, uint32_t archetype, uint32_t count,
                         double *ids, uint32_t *first)
{
    egi_archetype *a = egi_archetype_at(w, archetype);
    egi_rows *r;

    if (a == NULL || a->staging)
        return EG_EINVAL;
    if (count > egi_slots_free(w))
        return EG_EFULL;
    if (egi_rows_reserve(w, a, count) != EG_OK)
        return EG_ENOMEM;
    r = egi_rows_of(w, archetype);
    *first = egi_count(r) + 1;
    egi_rows_zero(a, r, *first, count);
    place_many(w->now, archetype, count);
    if (ids != NULL && count > 0)
        memcpy(ids, r->ids + *first, count * sizeof *ids);
    return EG_OK;
}

int eg_entity_alive(const eg_world *w, double id)
{
    return egi_find(w, id) != NULL;
}

void *eg_entity_get(eg_world *w, double id, uint32_t component)
{
    const eg_slot *slot = egi_find(w, id);
    const egi_archetype *a;
    int i;

    if (slot == NULL)
        return NULL;
    a = w->archetypes[slot->archetype];
    i = egi_byte_index(a, component);
    if (i < 0)
        return NULL;
    return egi_rows_of(w, a->id)->columns[i] +
           (size_t)slot->row * a->bytes[i].size;
}

int eg_entity_add(eg_world *w, double id, uint32_t component, void **out)
{
    const eg_slot *slot = egi_find(w, id);
    uint32_t from, to;
    int err;
    void *cell;

    if (slot == NULL)
        return EG_EDEAD;
    from = (uint32_t)slot->archetype;
    err = eg_archetype_add(w, from, component, &to);
    if (err == EG_OK)
        err = eg_entity_move(w, id, to);
    if (err != EG_OK)
        return err;
    cell = eg_entity_get(w, id, component);
    if (to != from && cell != NULL)
        memset(cell, 0, w->registry->defs[component - 1]->size);
    if (out != NULL)
        *out = cell;
    return EG_OK;
}

int eg_entity_remove(eg_world *w, double id, uint32_t component)
{
    const eg_slot *slot = egi_find(w, id);
    uint32_t to;
    int err;

    if (slot == NULL)
        return EG_EDEAD;
    err = eg_archetype_remove(w, (uint32_t)slot->archetype, component, &to);
    return err == EG_OK ? eg_entity_move(w, id, to) : err;
}
