/* SPDX-License-Identifier: MIT */
#include "ops_model.h"

#include <string.h>

#define SLOT_COUNT 4194304.0
#define LAST_GENERATION INT64_C(2147483647)

const uint32_t ops_size[OPS_COMPONENTS] = {0, 1, 8, 12, 16, 0};

void ops_model_init(ops_model *m)
{
    memset(m, 0, sizeof *m);
    for (uint32_t s = 1; s <= OPS_SLOTS; s++) {
        m->free[m->free_count++] = s;
        m->slots[s].highest = -1;
        m->slots[s].change = m->slots[s].batch = -1;
    }
}

double ops_id(uint32_t slot, uint32_t generation)
{
    return (double)generation * SLOT_COUNT + (double)slot;
}

double ops_id_of(const ops_model *m, uint32_t slot)
{
    const ops_slot *s = &m->slots[slot];

    if (s->state == OPS_LIVE || s->state == OPS_PENDING)
        return ops_id(slot, s->generation);
    return ops_id(slot, s->highest < 0 ? 0 : (uint32_t)s->highest);
}

int ops_has(uint32_t set, int component)
{
    return (set >> component & 1U) != 0;
}

uint32_t ops_find_held(const ops_model *m, double id)
{
    for (uint32_t s = 1; s <= OPS_SLOTS; s++)
        if ((m->slots[s].state == OPS_LIVE ||
             m->slots[s].state == OPS_PENDING) &&
            ops_id(s, m->slots[s].generation) == id)
            return s;
    return 0;
}

uint32_t ops_find(const ops_model *m, double id)
{
    uint32_t s = ops_find_held(m, id);

    return s != 0 && m->slots[s].state == OPS_LIVE ? s : 0;
}

static void hold(ops_model *m, uint32_t slot, uint32_t generation)
{
    ops_slot *s = &m->slots[slot];
    uint32_t i = 0;

    while (m->free[i] != slot)
        i++;
    m->free_count--;
    memmove(&m->free[i], &m->free[i + 1],
            (m->free_count - i) * sizeof m->free[0]);
    s->generation = generation;
    if (s->highest < (int64_t)generation)
        s->highest = generation;
    if (slot > m->high)
        m->high = slot;
}

uint32_t ops_take(ops_model *m)
{
    uint32_t slot = m->free[0];

    hold(m, slot, (uint32_t)(m->slots[slot].highest + 1));
    return slot;
}

int ops_check_id(const ops_model *m, double id)
{
    double generation, slot;

    if (!(id >= 1.0 && id < 9007199254740992.0))
        return EG_EINVAL;
    generation = (double)(int64_t)(id / SLOT_COUNT);
    slot = id - generation * SLOT_COUNT;
    if (slot < 1.0 || slot > OPS_SLOTS || slot != (double)(int)slot)
        return EG_EINVAL;
    switch (m->slots[(int)slot].state) {
    case OPS_FREE:
        return EG_OK;
    case OPS_RETIRED:
        return EG_ERETIRED;
    default:
        return EG_EALIVE;
    }
}

uint32_t ops_take_at(ops_model *m, double id)
{
    uint32_t generation = (uint32_t)(id / SLOT_COUNT);
    uint32_t slot = (uint32_t)(id - (double)generation * SLOT_COUNT);

    hold(m, slot, generation);
    return slot;
}

void ops_release(ops_model *m, uint32_t slot)
{
    ops_slot *s = &m->slots[slot];

    if (s->highest == LAST_GENERATION) {
        s->state = OPS_RETIRED;
        return;
    }
    s->state = OPS_FREE;
    memmove(&m->free[1], &m->free[0], m->free_count * sizeof m->free[0]);
    m->free[0] = slot;
    m->free_count++;
}

uint32_t ops_row(const ops_model *m, uint32_t slot)
{
    const uint32_t *rows = m->rows[m->slots[slot].set];
    uint32_t row = 1;

    while (rows[row - 1] != slot)
        row++;
    return row;
}

void ops_append(ops_model *m, uint32_t slot, uint32_t set)
{
    m->slots[slot].state = OPS_LIVE;
    m->slots[slot].set = set;
    m->rows[set][m->row_count[set]++] = slot;
}

void ops_remove(ops_model *m, uint32_t slot)
{
    uint32_t set = m->slots[slot].set, row = ops_row(m, slot);

    m->rows[set][row - 1] = m->rows[set][--m->row_count[set]];
}

void ops_move(ops_model *m, uint32_t slot, uint32_t set)
{
    if (m->slots[slot].set == set)
        return;
    ops_remove(m, slot);
    ops_append(m, slot, set);
}

void ops_clear(ops_model *m)
{
    ops_stage_reset(m);
    m->free_count = 0;
    memset(m->row_count, 0, sizeof m->row_count);
    for (uint32_t s = OPS_SLOTS; s >= 1; s--) {
        m->slots[s].change = m->slots[s].batch = -1;
        m->slots[s].gone = 0;
        if (m->slots[s].state != OPS_RETIRED)
            ops_release(m, s);
    }
}
