/* SPDX-License-Identifier: MIT */
/* Entities: placement and movement of single rows. Every function checks what
 * can fail first, and cannot fail after its first change. */
#include "core/store/eg_store.h"

#include <string.h>

/* Writes the record and the row of an id whose slot was just taken. */
static uint32_t place(eg_world *w, double id, const egi_archetype *a)
{
    eg_slot *slot = &w->now->slots[egi_slot_of(id)];
    uint32_t row = egi_row_append(egi_rows_of(w, a->id), id);

    slot->id = id;
    slot->archetype = (int32_t)a->id;
    slot->row = (int32_t)row;
    w->now->live++;
    return row;
}

double eg_entity_spawn(eg_world *w, uint32_t archetype)
{
    egi_archetype *a = egi_archetype_at(w, archetype);
    double id;
    int err;

    if (a == NULL || a->staging)
        return EG_EINVAL;
    if (egi_rows_reserve(w, a, 1) != EG_OK)
        return EG_ENOMEM;
    err = egi_slot_take(w, &id);
    if (err != EG_OK)
        return err;
    place(w, id, a);
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
    if (egi_rows_reserve(w, a, 1) != EG_OK || egi_slots_reserve(w, 1) != EG_OK)
        return EG_ENOMEM;
    egi_slot_take_at(w, id);
    place(w, id, a);
    return EG_OK;
}

uint32_t egi_slots_free(const eg_world *w)
{
    const egi_content *c = w->now;

    return w->max_entities - c->live - c->pending - c->retired;
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
    for (uint32_t i = 0; i < count; i++) {
        double id;
        int err = egi_slot_take(w, &id);

        egi_assert(err == EG_OK);
        (void)err;
        place(w, id, a);
        if (ids != NULL)
            ids[i] = id;
    }
    return EG_OK;
}

int eg_entity_despawn(eg_world *w, double id)
{
    eg_slot *slot = egi_find(w, id);

    if (slot == NULL)
        return EG_EDEAD;
    egi_row_remove(w, w->archetypes[slot->archetype], (uint32_t)slot->row);
    egi_slot_release(w, id);
    w->now->live--;
    return EG_OK;
}

uint32_t egi_entity_transfer(eg_world *w, eg_slot *slot, egi_archetype *to)
{
    const egi_archetype *from = w->archetypes[slot->archetype];
    egi_rows *fr = egi_rows_of(w, from->id), *tr = egi_rows_of(w, to->id);
    uint32_t row = (uint32_t)slot->row;
    uint32_t to_row = egi_row_append(tr, slot->id);

    egi_row_copy(from, fr, row, to, tr, to_row);
    egi_row_remove(w, from, row);
    slot->archetype = (int32_t)to->id;
    slot->row = (int32_t)to_row;
    return to_row;
}

int eg_entity_move(eg_world *w, double id, uint32_t archetype)
{
    egi_archetype *to = egi_archetype_at(w, archetype);
    eg_slot *slot = egi_find(w, id);

    if (slot == NULL)
        return EG_EDEAD;
    if (to == NULL || to->staging)
        return EG_EINVAL;
    if ((uint32_t)slot->archetype == archetype)
        return EG_OK;
    if (egi_rows_reserve(w, to, 1) != EG_OK)
        return EG_ENOMEM;
    egi_entity_transfer(w, slot, to);
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
