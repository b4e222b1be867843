/* SPDX-License-Identifier: MIT */
/* Applying what was staged: a pull-style state machine.
 *
 * A wave runs despawns, spawns and moves over the part of each list that was
 * there when it began. Every step reserves before it changes anything, so a
 * step that fails can be asked for again, and a caller that was interrupted
 * between two steps goes on where it stopped. */
#include "core/cmd/eg_cmd_store.h"

#include <string.h>

#define BATCH_BIT 0x80000000U

static void wave_take(egi_list *list)
{
    list->from = list->to;
    list->to = list->count;
}

/* Group number of an archetype in this wave, by first staging. */
static uint32_t group_of(eg_world *w, uint32_t archetype, uint32_t *groups)
{
    egi_archetype *a = w->archetypes[archetype];

    if (a->stage_wave != w->cmd->wave) {
        a->stage_wave = w->cmd->wave;
        a->stage_order = (*groups)++;
        w->cmd->groups[a->stage_order] = 0;
    }
    return a->stage_order;
}

/* Numbers the groups: both lists ascend by seq, so walk them side by side. */
static uint32_t groups_number(eg_world *w)
{
    egi_cmd *c = w->cmd;
    uint32_t i = c->change_list.from, k = c->batch_list.from, groups = 0;

    for (;;) {
        const egi_change *change;

        while (i < c->change_list.to && c->changes[i].kind != EGI_SPAWN)
            i++;
        change = i < c->change_list.to ? &c->changes[i] : NULL;
        if (k < c->batch_list.to &&
            (change == NULL || c->batches[k].seq < change->seq)) {
            c->groups[group_of(w, c->batches[k].archetype, &groups)]++;
            k++;
        } else if (change != NULL) {
            c->groups[group_of(w, change->target, &groups)]++;
            i++;
        } else {
            return groups;
        }
    }
}

static void order_put(eg_world *w, uint32_t archetype, uint32_t item)
{
    egi_cmd *c = w->cmd;

    c->order[c->groups[w->archetypes[archetype]->stage_order]++] = item;
}

/* Sorts the wave's spawns: by group, then batches, batches with chosen ids,
 * single spawns, each in call order. A counting sort; it cannot fail once its
 * arrays are large enough. */
static int spawns_sort(eg_world *w)
{
    egi_cmd *c = w->cmd;
    uint32_t total = c->change_list.to - c->change_list.from +
                     (c->batch_list.to - c->batch_list.from);
    uint32_t groups, at = 0;

    if (egi_grow(&w->allocator, (void **)&c->order, &c->order_capacity, total,
                 sizeof *c->order) != EG_OK ||
        egi_grow(&w->allocator, (void **)&c->groups, &c->groups_capacity,
                 total, sizeof *c->groups) != EG_OK)
        return EG_ENOMEM;
    c->wave++;
    groups = groups_number(w);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t count = c->groups[g];

        c->groups[g] = at;
        at += count;
    }
    c->order_count = at;
    for (uint32_t chosen = 0; chosen < 2; chosen++)
        for (uint32_t k = c->batch_list.from; k < c->batch_list.to; k++)
            if (c->batches[k].chosen == chosen)
                order_put(w, c->batches[k].archetype, k | BATCH_BIT);
    for (uint32_t i = c->change_list.from; i < c->change_list.to; i++)
        if (c->changes[i].kind == EGI_SPAWN)
            order_put(w, c->changes[i].target, i);
    return EG_OK;
}

int eg_drain_begin(eg_world *w)
{
    egi_cmd *c = w->cmd;
    egi_list changes, batches;

    if (c == NULL || c->phase != EGI_IDLE)
        return EG_OK;
    changes = c->change_list;
    batches = c->batch_list;
    wave_take(&c->change_list);
    wave_take(&c->batch_list);
    if (spawns_sort(w) != EG_OK) {
        c->change_list = changes;
        c->batch_list = batches;
        return EG_ENOMEM;
    }
    wave_take(&c->despawn_list);
    c->phase = EGI_DESPAWNS;
    c->cursor = c->despawn_list.from;
    return EG_OK;
}

/* Each step returns 1 when it filled `op` and the caller must hear of it. */

static int step_despawn(eg_world *w, eg_drain_op *op)
{
    egi_cmd *c = w->cmd;
    double id = c->despawns[c->cursor++];
    uint32_t s = egi_slot_of(id);
    eg_slot *slot = &w->now->slots[s];
    egi_archetype *a = w->archetypes[slot->archetype];

    c->of_slot[s] = 0;
    op->entity = id;
    if (slot->id != id) {
        op->kind = EG_DRAIN_CANCEL;
        egi_slot_release(w, id);
        w->now->pending--;
        return a->attended;
    }
    op->kind = EG_DRAIN_DESPAWN;
    op->from = a->id;
    op->row = (uint32_t)slot->row;
    op->last = egi_count(egi_rows_of(w, a->id));
    egi_touch(w, a, EG_TOUCHED_ROWS);
    egi_row_remove(w, a, op->row);
    egi_slot_release(w, id);
    w->now->live--;
    return a->attended;
}

static void commit(eg_world *w, double id, uint32_t archetype, uint32_t row)
{
    eg_slot *slot = &w->now->slots[egi_slot_of(id)];

    slot->id = id;
    slot->archetype = (int32_t)archetype;
    slot->row = (int32_t)row;
    w->now->pending--;
    w->now->live++;
}

/* Copies staged cells to a row and frees the staged row. */
static int unstage(eg_world *w, egi_change *change, uint32_t archetype,
                   uint32_t row, eg_drain_op *op)
{
    const egi_archetype *staged = egi_archetype_at(w, change->staged);

    op->staged = change->staged;
    op->staged_row = change->row;
    change->kind = EGI_NONE;
    w->cmd->of_slot[egi_slot_of(change->id)] = 0;
    if (staged == NULL)
        return 0;
    egi_row_copy(staged, egi_rows_of(w, staged->id), change->row,
                 w->archetypes[archetype], egi_rows_of(w, archetype), row);
    egi_staged_free(w, change->staged, change->row);
    return staged->attended;
}

static int step_spawn(eg_world *w, egi_change *change, eg_drain_op *op)
{
    egi_archetype *a = w->archetypes[change->target];
    int attended;

    egi_touch(w, a, EG_TOUCHED_ROWS);
    op->kind = EG_DRAIN_SPAWN;
    op->entity = change->id;
    op->to = a->id;
    op->to_row = egi_row_append(egi_rows_of(w, a->id), change->id);
    commit(w, change->id, a->id, op->to_row);
    attended = unstage(w, change, a->id, op->to_row, op);
    return attended || a->attended;
}

static void step_batch(eg_world *w, const egi_batch *b, eg_drain_op *op)
{
    egi_cmd *c = w->cmd;
    egi_archetype *a = w->archetypes[b->archetype];
    egi_rows *r = egi_rows_of(w, a->id);

    egi_touch(w, a, EG_TOUCHED_ROWS);
    op->kind = EG_DRAIN_BATCH;
    op->token = b->token;
    op->to = a->id;
    op->to_row = egi_count(r) + 1;
    for (uint32_t i = 0; i < b->count; i++) {
        double id = c->batch_ids[b->first + i];
        uint32_t s = egi_slot_of(id);

        if (w->now->slots[s].id != -id || c->of_slot[s] == EGI_MARK_GONE)
            continue;
        commit(w, id, a->id, egi_row_append(r, id));
        if (c->of_slot[s] == EGI_MARK_BATCH)
            c->of_slot[s] = 0;
        op->count++;
    }
    egi_rows_zero(a, r, op->to_row, op->count);
}

static int step_move(eg_world *w, egi_change *change, eg_drain_op *op)
{
    eg_slot *slot = &w->now->slots[egi_slot_of(change->id)];
    egi_archetype *from = w->archetypes[slot->archetype];
    egi_archetype *to = w->archetypes[change->target];
    int attended;

    egi_touch(w, from, EG_TOUCHED_ROWS);
    egi_touch(w, to, EG_TOUCHED_ROWS);
    op->kind = EG_DRAIN_MOVE;
    op->entity = change->id;
    op->from = from->id;
    op->row = (uint32_t)slot->row;
    op->last = egi_count(egi_rows_of(w, from->id));
    op->to = to->id;
    op->to_row = from == to ? op->row : egi_entity_transfer(w, slot, to);
    attended = unstage(w, change, to->id, op->to_row, op);
    return attended || from->attended || to->attended;
}

/* The phases: each returns 1 to report, 0 when the phase is over, or an error.
 * A step that cannot get memory leaves the cursor where it was. */

static int run_despawns(eg_world *w, eg_drain_op *op)
{
    while (w->cmd->cursor < w->cmd->despawn_list.to) {
        memset(op, 0, sizeof *op);
        if (step_despawn(w, op))
            return 1;
    }
    return 0;
}

static int run_spawns(eg_world *w, eg_drain_op *op)
{
    egi_cmd *c = w->cmd;

    while (c->cursor < c->order_count) {
        uint32_t item = c->order[c->cursor];
        int batch = (item & BATCH_BIT) != 0;
        const egi_batch *b = batch ? &c->batches[item & ~BATCH_BIT] : NULL;
        egi_change *change = batch ? NULL : &c->changes[item];
        uint32_t to = batch ? b->archetype : change->target;

        if (!batch && change->kind != EGI_SPAWN) {
            c->cursor++;
            continue;
        }
        if (egi_rows_reserve(w, w->archetypes[to], batch ? b->count : 1))
            return EG_ENOMEM;
        c->cursor++;
        memset(op, 0, sizeof *op);
        if (batch) {
            step_batch(w, b, op);
            return 1;
        }
        if (step_spawn(w, change, op))
            return 1;
    }
    return 0;
}

static int run_moves(eg_world *w, eg_drain_op *op)
{
    egi_cmd *c = w->cmd;

    while (c->cursor < c->change_list.to) {
        egi_change *change = &c->changes[c->cursor];

        if (change->kind != EGI_CHANGE) {
            c->cursor++;
            continue;
        }
        if (egi_rows_reserve(w, w->archetypes[change->target], 1) != EG_OK)
            return EG_ENOMEM;
        c->cursor++;
        memset(op, 0, sizeof *op);
        if (step_move(w, change, op))
            return 1;
    }
    return 0;
}

/* Ends a phase. After the last one the lists start anew if nothing is left. */
static void next_phase(egi_cmd *c)
{
    if (c->phase == EGI_DESPAWNS) {
        c->phase = EGI_SPAWNS;
        c->cursor = 0;
    } else if (c->phase == EGI_SPAWNS) {
        c->phase = EGI_MOVES;
        c->cursor = c->change_list.from;
    } else {
        c->phase = EGI_IDLE;
        if (c->change_list.to == c->change_list.count &&
            c->despawn_list.to == c->despawn_list.count &&
            c->batch_list.to == c->batch_list.count)
            egi_cmd_reset(c);
    }
}

int eg_drain_next(eg_world *w, eg_drain_op *op)
{
    egi_cmd *c = w->cmd;

    memset(op, 0, sizeof *op);
    while (c != NULL && c->phase != EGI_IDLE) {
        int result = c->phase == EGI_DESPAWNS ? run_despawns(w, op)
                     : c->phase == EGI_SPAWNS ? run_spawns(w, op)
                                              : run_moves(w, op);

        if (result < 0)
            return result;
        if (result > 0)
            return op->kind;
        next_phase(c);
    }
    memset(op, 0, sizeof *op);
    return EG_DRAIN_DONE;
}
