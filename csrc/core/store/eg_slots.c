/* SPDX-License-Identifier: MIT */
/* The slot index: who holds which slot, and which slot comes next.
 *
 * A free slot's record holds -(next generation) * 2^22 as its id and the two
 * links of the list as deltas: next = slot + 1 + archetype, previous =
 * slot - 1 + row. Untouched memory therefore reads as "never used, generation
 * 0, followed by the next slot". The `previous` of the head is never read, so
 * taking a slot does not write to its neighbour. */
#include "core/store/eg_store.h"

#include <string.h>

#define GENERATION_LIMIT 2147483648.0 /* 2^31: the first that is none */

int egi_id_valid(const eg_world *w, double id)
{
    uint32_t slot;

    if (!(id >= 1.0 && id < EGI_ID_LIMIT) || (double)(uint64_t)id != id)
        return 0;
    slot = egi_slot_of(id);
    return slot >= 1 && slot <= w->max_entities;
}

eg_slot *egi_find(const eg_world *w, double id)
{
    eg_slot *slot;

    if (!egi_id_valid(w, id))
        return NULL;
    slot = &w->now->slots[egi_slot_of(id)];
    return slot->id == id ? slot : NULL;
}

eg_slot *egi_find_held(const eg_world *w, double id)
{
    eg_slot *slot;

    if (!egi_id_valid(w, id))
        return NULL;
    slot = &w->now->slots[egi_slot_of(id)];
    return slot->id == id || slot->id == -id ? slot : NULL;
}

int egi_slot_take(eg_world *w, double *id)
{
    egi_content *c = w->now;
    uint32_t s = c->free_head;
    const eg_slot *slot;

    if (s > w->max_entities)
        return EG_EFULL;
    slot = &c->slots[s];
    *id = (double)s - slot->id;
    c->free_head = (uint32_t)((int32_t)s + 1 + slot->archetype);
    if (s > c->high)
        c->high = s;
    return EG_OK;
}

/* 1 when nothing holds the slot and it was not retired. */
static int slot_is_free(const eg_slot *slot)
{
    return slot->id <= 0.0 && slot->id > -GENERATION_LIMIT * EGI_SLOT_COUNT &&
           egi_slot_of(-slot->id) == 0;
}

static double generation_of(double id)
{
    return (id - (double)egi_slot_of(id)) / EGI_SLOT_COUNT;
}

int egi_slot_check(const eg_world *w, double id)
{
    const eg_slot *slot;

    if (!egi_id_valid(w, id))
        return EG_EINVAL;
    slot = &w->now->slots[egi_slot_of(id)];
    if (slot->id <= -GENERATION_LIMIT * EGI_SLOT_COUNT)
        return EG_ERETIRED;
    if (!slot_is_free(slot))
        return EG_EALIVE;
    return EG_OK;
}

static void unlink_slot(egi_content *c, uint32_t s)
{
    eg_slot *slot = &c->slots[s];
    int32_t next = (int32_t)s + 1 + slot->archetype;
    int32_t prev = (int32_t)s - 1 + slot->row;

    if (c->free_head == s) {
        c->free_head = (uint32_t)next;
        return;
    }
    c->slots[prev].archetype = next - (prev + 1);
    c->slots[next].row = prev - (next - 1);
}

int egi_slots_reserve(eg_world *w, uint32_t count)
{
    return egi_map32_reserve(&w->now->floors, &w->allocator, count);
}

void egi_slot_take_at(eg_world *w, double id)
{
    egi_content *c = w->now;
    uint32_t s = egi_slot_of(id);
    double highest = -c->slots[s].id / EGI_SLOT_COUNT - 1.0;

    unlink_slot(c, s);
    if (generation_of(id) < highest) {
        int err = egi_map32_set(&c->floors, &w->allocator, s,
                                (uint32_t)highest);
        egi_assert(err == EG_OK);
        (void)err;
    }
    if (s > c->high)
        c->high = s;
}

void egi_slot_release(eg_world *w, double id)
{
    egi_content *c = w->now;
    uint32_t s = egi_slot_of(id);
    double next = generation_of(id) + 1.0;
    eg_slot *slot = &c->slots[s];

    if (c->floors.count != 0) {
        double floor = egi_map32_get(&c->floors, s);

        egi_map32_remove(&c->floors, s);
        if (floor >= next)
            next = floor + 1.0;
    }
    slot->id = -next * EGI_SLOT_COUNT;
    slot->archetype = 0;
    slot->row = 0;
    if (next >= GENERATION_LIMIT) {
        c->retired++;
        return;
    }
    slot->archetype = (int32_t)c->free_head - ((int32_t)s + 1);
    c->slots[c->free_head].row = (int32_t)s - ((int32_t)c->free_head - 1);
    c->free_head = s;
}

void egi_slots_clear(eg_world *w)
{
    egi_content *c = w->now;
    uint32_t above = c->high + 1; /* never-used slots link themselves */

    c->free_head = above;
    for (uint32_t s = c->high; s >= 1; s--) {
        eg_slot *slot = &c->slots[s];

        if (slot->id > 0.0 || egi_slot_of(-slot->id) != 0) {
            egi_slot_release(w, slot->id > 0.0 ? slot->id : -slot->id);
        } else if (slot_is_free(slot)) {
            slot->archetype = (int32_t)c->free_head - ((int32_t)s + 1);
            c->slots[c->free_head].row =
                (int32_t)s - ((int32_t)c->free_head - 1);
            c->free_head = s;
        }
    }
    c->live = 0;
    c->pending = 0;
    egi_map32_clear(&c->floors);
}

size_t egi_slots_bytes(const eg_world *w)
{
    return ((size_t)w->max_entities + 2) * sizeof(eg_slot);
}
