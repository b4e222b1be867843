/* SPDX-License-Identifier: MIT */
/* The slot index: who holds which slot, and which slot comes next.
 *
 * A free slot's record holds -(next generation) * 2^22 as its id and the two
 * links of the list as deltas: next = slot + 1 + archetype, previous =
 * slot - 1 + row. Untouched memory therefore reads as "never used, generation
 * 0, followed by the next slot". The `previous` of the head is never read, so
 * taking a slot does not write to its neighbour. */
#include "core/store/eg_store.h"

int egi_id_valid(const eg_world *w, double id)
{
    uint32_t slot;

    if (!(id >= 1.0 && id < EGI_ID_LIMIT) || (double)(int64_t)id != id)
        return 0;
    slot = egi_slot_of(id);
    return slot >= 1 && slot <= w->max_entities;
}

/* 1 when nothing holds the slot and it was not retired. */
static int slot_is_free(const eg_slot *slot)
{
    return slot->id <= 0.0 && slot->id > EGI_RETIRED &&
           egi_slot_of(-slot->id) == 0;
}

int egi_slot_check(const eg_world *w, double id)
{
    const eg_slot *slot;

    if (!egi_id_valid(w, id))
        return EG_EINVAL;
    slot = &w->now->slots[egi_slot_of(id)];
    if (slot->id <= EGI_RETIRED)
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
    double next = egi_next_generation(id);
    double wanted = -c->slots[s].id;

    unlink_slot(c, s);
    if (next < wanted) {
        int err = egi_map32_set(&c->floors, &w->allocator, s,
                                (uint32_t)(wanted / EGI_SLOT_COUNT) - 1);
        egi_assert(err == EG_OK);
        (void)err;
    }
    if (s > c->high)
        c->high = s;
}

void egi_slot_release_floored(egi_content *c, double id)
{
    uint32_t s = egi_slot_of(id);
    double floor = egi_map32_get(&c->floors, s);
    double next = egi_next_generation(id);

    egi_map32_remove(&c->floors, s);
    if ((floor + 1.0) * EGI_SLOT_COUNT > next)
        next = (floor + 1.0) * EGI_SLOT_COUNT;
    egi_slot_free(c, s, next);
}

void egi_slots_clear(eg_world *w)
{
    egi_content *c = w->now;
    uint32_t above = c->high + 1; /* never-used slots link themselves */

    c->free_head = above;
    for (uint32_t s = c->high; s >= 1; s--) {
        eg_slot *slot = &c->slots[s];

        if (slot->id > 0.0 || egi_slot_of(-slot->id) != 0) {
            egi_slot_release(c, slot->id > 0.0 ? slot->id : -slot->id);
        } else if (slot_is_free(slot)) {
            egi_slot_link(c, s);
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
