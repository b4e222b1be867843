/* SPDX-License-Identifier: MIT */
/* Applying what was staged: a pull-style state machine.
 *
 * A wave runs despawns, spawns and moves over the part of each list that was
 * there when it began. Every step reserves before it changes anything, so a
 * step that fails can be asked for again, and a caller that was interrupted
 * between two steps goes on where it stopped. */
#include "core/cmd/eg_cmd_store.h"

#include <string.h>

static void wave_take(egi_list *list)
{
    list->from = list->to;
    list->to = list->count;
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
    if (egi_wave_order(w) != EG_OK) {
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
        egi_slot_release(w->now, id);
        w->now->pending--;
        return a->attended;
    }
    op->kind = EG_DRAIN_DESPAWN;
    op->from = a->id;
    op->row = (uint32_t)slot->row;
    op->last = egi_count(egi_rows_of(w, a->id));
    egi_touch(w, a, EG_TOUCHED_ROWS);
    egi_row_remove(w, a, op->row);
    egi_slot_release(w->now, id);
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

/* Copies staged cells to a row that came from op->from, and frees the staged
 * row. Cells that nobody gave a value are zeroed. */
static int unstage(eg_world *w, egi_change *change, uint32_t archetype,
                   uint32_t row, eg_drain_op *op)
{
    const egi_archetype *staged = egi_archetype_at(w, change->staged);

    op->staged = change->staged;
    op->staged_row = change->row;
    change->kind = EGI_NONE;
    w->cmd->of_slot[egi_slot_of(change->id)] = 0;
    egi_row_fill(staged, staged ? egi_rows_of(w, staged->id) : NULL,
                 change->row, egi_archetype_at(w, op->from),
                 w->archetypes[archetype], egi_rows_of(w, archetype), row);
    if (staged == NULL)
        return 0;
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

/* Takes the mark of batch `mark` off a pending id; 0 when the id is not, or no
 * longer, of that batch: cancelled, and perhaps staged anew since. */
static int batch_owns(egi_cmd *c, uint32_t s, int32_t mark)
{
    int32_t *own = &c->of_slot[s];

    if (*own > 0)
        own = &c->changes[*own - 1].batch;
    if (*own != mark)
        return 0;
    *own = 0;
    return 1;
}

static void step_batch(eg_world *w, const egi_batch *b, eg_drain_op *op)
{
    egi_cmd *c = w->cmd;
    int32_t mark = EGI_MARK_BATCH - (int32_t)(b - c->batches);
    egi_archetype *a = w->archetypes[b->archetype];
    egi_rows *r = egi_rows_of(w, a->id);

    egi_touch(w, a, EG_TOUCHED_ROWS);
    op->kind = EG_DRAIN_BATCH;
    op->token = b->token;
    op->to = a->id;
    op->to_row = egi_count(r) + 1;
    for (uint32_t i = 0; i < b->count; i++) {
        double id = c->batch_ids[b->first + i];

        if (!batch_owns(c, egi_slot_of(id), mark))
            continue;
        commit(w, id, a->id, egi_row_append(r, id));
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

    if (from == to && change->staged == 0) {
        /* Added and removed again: it is where it was. */
        change->kind = EGI_NONE;
        w->cmd->of_slot[egi_slot_of(change->id)] = 0;
        return 0;
    }
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
        int batch = (item & EGI_ORDER_BATCH) != 0;
        const egi_batch *b = batch ? &c->batches[item - EGI_ORDER_BATCH] : NULL;
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
        const eg_slot *slot = &w->now->slots[egi_slot_of(change->id)];

        if (change->kind != EGI_CHANGE) {
            c->cursor++;
            continue;
        }
        if ((uint32_t)slot->archetype != change->target &&
            egi_rows_reserve(w, w->archetypes[change->target], 1) != EG_OK)
            return EG_ENOMEM;
        c->cursor++;
        memset(op, 0, sizeof *op);
        if (step_move(w, change, op))
            return 1;
    }
    return 0;
}

/* Ends a phase. After the last one the lists start anew if nothing is left. */
static void next_phase(eg_world *w)
{
    egi_cmd *c = w->cmd;

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
            egi_cmd_reset(w);
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
        next_phase(w);
    }
    memset(op, 0, sizeof *op);
    return EG_DRAIN_DONE;
}
