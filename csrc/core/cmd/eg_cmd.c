/* SPDX-License-Identifier: MIT */
/* The lists of staged work themselves: made on first use, grown, emptied; and
 * the rows of staging archetypes, which hold values until they are placed. */
#include "core/cmd/eg_cmd_store.h"

#include <string.h>

void egi_cmd_reset(eg_world *w)
{
    egi_cmd *c = w->cmd;

    w->staged = 0;
    c->change_list.count = c->change_list.from = c->change_list.to = 0;
    c->despawn_list.count = c->despawn_list.from = c->despawn_list.to = 0;
    c->batch_list.count = c->batch_list.from = c->batch_list.to = 0;
    c->batch_id_list.count = 0;
    c->phase = EGI_IDLE;
    c->seq = 0;
}

static size_t of_slot_bytes(const eg_world *w)
{
    return ((size_t)w->max_entities + 1) * sizeof(int32_t);
}

static void cmd_free(eg_world *w)
{
    egi_cmd *c = w->cmd;
    const eg_allocator *a = &w->allocator;

    egi_unmap(a, c->of_slot, of_slot_bytes(w));
    egi_free(a, c->changes, c->change_list.capacity * sizeof *c->changes);
    egi_free(a, c->despawns, c->despawn_list.capacity * sizeof *c->despawns);
    egi_free(a, c->batches, c->batch_list.capacity * sizeof *c->batches);
    egi_free(a, c->batch_ids, c->batch_id_list.capacity * sizeof(double));
    egi_free(a, c->order, c->order_capacity * sizeof *c->order);
    egi_free(a, c->groups, c->groups_capacity * sizeof *c->groups);
    egi_free(a, c, sizeof *c);
}

/* 1 when something is staged for a committed entity. */
static int cmd_holds(const eg_world *w, double id)
{
    return w->cmd->of_slot[egi_slot_of(id)] != 0;
}

/* Forgets everything staged; the store clears rows and slots itself. */
static void cmd_clear(eg_world *w)
{
    egi_cmd *c = w->cmd;

    for (uint32_t i = 0; i < c->change_list.count; i++)
        c->of_slot[egi_slot_of(c->changes[i].id)] = 0;
    for (uint32_t i = 0; i < c->despawn_list.count; i++)
        c->of_slot[egi_slot_of(c->despawns[i])] = 0;
    for (uint32_t i = 0; i < c->batch_id_list.count; i++)
        c->of_slot[egi_slot_of(c->batch_ids[i])] = 0;
    for (uint32_t id = 1; id <= w->archetype_count; id++)
        if (w->archetypes[id] != NULL && w->archetypes[id]->staging)
            egi_rows_of(w, id)->used = 0;
    egi_cmd_reset(w);
}

int egi_cmd_open(eg_world *w)
{
    egi_cmd *c;

    if (w->cmd != NULL)
        return EG_OK;
    c = egi_zalloc(&w->allocator, sizeof *c);
    if (c == NULL)
        return EG_ENOMEM;
    c->of_slot = egi_map(&w->allocator, of_slot_bytes(w));
    if (c->of_slot == NULL) {
        egi_free(&w->allocator, c, sizeof *c);
        return EG_ENOMEM;
    }
    w->cmd = c;
    w->cmd_free = cmd_free;
    w->cmd_clear = cmd_clear;
    w->cmd_holds = cmd_holds;
    w->cmd_check = egi_cmd_check;
    return EG_OK;
}

int egi_cmd_reserve(eg_world *w, void **items, egi_list *list, uint32_t more,
                    size_t size)
{
    if (more > UINT32_MAX / 4 - list->count)
        return EG_ENOMEM;
    return egi_grow(&w->allocator, items, &list->capacity, list->count + more,
                    size);
}

uint32_t egi_staged_take(eg_world *w, uint32_t staged, double id)
{
    egi_rows *r = egi_rows_of(w, staged);

    r->used++;
    return egi_row_append(r, id);
}

void egi_staged_free(eg_world *w, uint32_t staged, uint32_t row)
{
    egi_rows *r = egi_rows_of(w, staged);
    uint32_t count = egi_count(r);

    egi_assert(row >= 1 && row <= count && r->ids[row] != 0.0);
    r->ids[row] = 0.0;
    r->used--;
    while (count > 0 && r->ids[count] == 0.0)
        count--;
    r->ids[0] = count;
}

int eg_stage_pending(const eg_world *w)
{
    const egi_cmd *c = w->cmd;

    return c != NULL && (c->phase != EGI_IDLE || c->change_list.count > 0 ||
                         c->despawn_list.count > 0 || c->batch_list.count > 0);
}
