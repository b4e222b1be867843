/* SPDX-License-Identifier: MIT */
#include "ops_model.h"

#include <string.h>

enum { IDLE, DESPAWNS, SPAWNS, MOVES };

int ops_stage_room(const ops_model *m)
{
    return m->change_count < OPS_ITEMS && m->despawn_count < OPS_ITEMS &&
           m->batch_count < OPS_ITEMS &&
           m->change_count + m->batch_count < OPS_ITEMS;
}

int ops_is_staged(const ops_model *m, uint32_t slot)
{
    const ops_slot *s = &m->slots[slot];

    return s->change >= 0 || s->batch >= 0 || s->gone;
}

static ops_change *add_change(ops_model *m, uint32_t slot)
{
    ops_change *c = &m->changes[m->change_count];

    memset(c, 0, sizeof *c);
    c->slot = slot;
    c->staged = OPS_NONE;
    c->seq = ++m->seq;
    m->slots[slot].change = m->change_count++;
    return c;
}

/* Values of components that are not staged are forgotten. */
static void set_staged(ops_change *c, int staged)
{
    for (int i = 0; i < OPS_COMPONENTS; i++)
        if (staged == OPS_NONE || !ops_has((uint32_t)staged, i))
            memset(c->cells.of[i], 0, OPS_CELL);
    c->staged = staged;
}

void ops_stage_spawn(ops_model *m, uint32_t slot, uint32_t target, int staged)
{
    ops_change *c = add_change(m, slot);

    m->slots[slot].state = OPS_PENDING;
    m->slots[slot].set = target;
    c->spawn = 1;
    c->target = target;
    set_staged(c, staged);
}

void ops_stage_change(ops_model *m, uint32_t slot, uint32_t target, int staged)
{
    ops_change *c = m->slots[slot].change >= 0
                        ? &m->changes[m->slots[slot].change]
                        : add_change(m, slot);

    c->target = target;
    set_staged(c, staged);
}

void ops_stage_despawn(ops_model *m, uint32_t slot)
{
    ops_slot *s = &m->slots[slot];

    if (s->gone)
        return;
    if (s->change >= 0)
        m->changes[s->change].slot = 0;
    s->change = s->batch = -1;
    s->gone = 1;
    m->despawns[m->despawn_count++] = ops_id_of(m, slot);
}

ops_batch *ops_stage_batch(ops_model *m, uint32_t set, uint32_t token,
                           int chosen)
{
    ops_batch *b = &m->batches[m->batch_count++];

    memset(b, 0, sizeof *b);
    b->set = set;
    b->token = token;
    b->chosen = chosen;
    b->seq = ++m->seq;
    return b;
}

void ops_stage_pend(ops_model *m, ops_batch *b, uint32_t slot)
{
    m->slots[slot].state = OPS_PENDING;
    m->slots[slot].set = b->set;
    m->slots[slot].batch = (int)(b - m->batches);
    b->ids[b->count++] = ops_id_of(m, slot);
}

int ops_pending(const ops_model *m)
{
    return m->phase != IDLE ||
           m->change_count + m->despawn_count + m->batch_count > 0;
}

void ops_stage_reset(ops_model *m)
{
    m->change_count = m->change_from = m->change_to = 0;
    m->despawn_count = m->despawn_to = 0;
    m->batch_count = m->batch_from = m->batch_to = 0;
    m->order_count = 0;
    m->phase = IDLE;
    m->seq = 0;
}

/* Items of one archetype and one kind, in call order. */
static void put_group(ops_model *m, const ops_item *items, int count,
                      uint32_t set, int batch, int chosen)
{
    for (int i = 0; i < count; i++)
        if (items[i].set == set && items[i].batch == batch &&
            (!batch || m->batches[items[i].index].chosen == chosen))
            m->order[m->order_count++] = items[i];
}

/* All spawns of the wave by seq; then grouped, groups by their first one. */
static void put_order(ops_model *m, ops_item *items)
{
    int count = 0, i = m->change_from, k = m->batch_from, seen[OPS_SETS] = {0};

    while (i < m->change_to || k < m->batch_to) {
        int batch = i == m->change_to ||
                    (k < m->batch_to && m->batches[k].seq < m->changes[i].seq);
        ops_item *item = &items[count];

        item->batch = batch;
        item->index = batch ? k++ : i++;
        item->set = batch ? m->batches[item->index].set
                          : m->changes[item->index].target;
        count += batch || (m->changes[item->index].slot != 0 &&
                           m->changes[item->index].spawn);
    }
    m->order_count = 0;
    for (i = 0; i < count; i++) {
        if (seen[items[i].set]++ != 0)
            continue;
        put_group(m, items, count, items[i].set, 1, 0);
        put_group(m, items, count, items[i].set, 1, 1);
        put_group(m, items, count, items[i].set, 0, 0);
    }
}

void ops_wave_begin(ops_model *m)
{
    ops_item items[OPS_ITEMS + 1];

    if (m->phase != IDLE)
        return;
    m->change_from = m->change_to;
    m->change_to = m->change_count;
    m->batch_from = m->batch_to;
    m->batch_to = m->batch_count;
    put_order(m, items);
    m->cursor = m->despawn_to;
    m->despawn_to = m->despawn_count;
    m->phase = DESPAWNS;
}

/* -- steps: 1 when the step is reported ------------------------------------ */

static int despawn(ops_model *m, eg_drain_op *op)
{
    double id = m->despawns[m->cursor++];
    uint32_t slot = ops_find_held(m, id), set = m->slots[slot].set;

    op->entity = id;
    op->kind = EG_DRAIN_CANCEL;
    if (m->slots[slot].state == OPS_LIVE) {
        op->kind = EG_DRAIN_DESPAWN;
        op->from = m->archetype[0][set];
        op->row = ops_row(m, slot);
        op->last = m->row_count[set];
        ops_remove(m, slot);
        m->touched[set] = 1;
    }
    m->slots[slot].gone = 0;
    ops_release(m, slot);
    return m->attended[0][set];
}

static int place_batch(ops_model *m, const ops_item *item, eg_drain_op *op)
{
    const ops_batch *b = &m->batches[item->index];

    op->kind = EG_DRAIN_BATCH;
    op->token = b->token;
    op->to = m->archetype[0][b->set];
    op->to_row = m->row_count[b->set] + 1;
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t slot = ops_find_held(m, b->ids[i]);

        if (slot == 0 || m->slots[slot].batch != item->index)
            continue;
        m->slots[slot].batch = -1;
        memset(&m->slots[slot].cells, 0, sizeof m->slots[slot].cells);
        ops_append(m, slot, b->set);
        op->count++;
    }
    m->touched[b->set] = 1;
    return 1;
}

/* Gives a slot its new set; cells are staged, kept, or zero, in this order. */
static void settle(ops_model *m, ops_change *c, uint32_t kept)
{
    ops_slot *s = &m->slots[c->slot];

    for (int i = 0; i < OPS_COMPONENTS; i++) {
        if (c->staged != OPS_NONE && ops_has((uint32_t)c->staged, i))
            memcpy(s->cells.of[i], c->cells.of[i], OPS_CELL);
        else if (!ops_has(kept, i))
            memset(s->cells.of[i], 0, OPS_CELL);
    }
    m->touched[c->target] = 1;
    s->change = -1;
    c->slot = 0;
}

static int reported(const ops_model *m, const ops_change *c, uint32_t from)
{
    return m->attended[0][c->target] || m->attended[0][from] ||
           (c->staged != OPS_NONE && m->attended[1][c->staged]);
}

static int place(ops_model *m, ops_change *c, eg_drain_op *op)
{
    op->kind = EG_DRAIN_SPAWN;
    op->entity = ops_id_of(m, c->slot);
    op->to = m->archetype[0][c->target];
    op->to_row = m->row_count[c->target] + 1;
    op->staged = c->staged == OPS_NONE ? 0 : m->archetype[1][c->staged];
    ops_append(m, c->slot, c->target);
    settle(m, c, 0);
    return reported(m, c, c->target);
}

static int move(ops_model *m, ops_change *c, eg_drain_op *op)
{
    uint32_t slot = c->slot, from = m->slots[slot].set;

    if (from == c->target && c->staged == OPS_NONE) {
        m->slots[slot].change = -1;
        c->slot = 0;
        return 0;
    }
    op->kind = EG_DRAIN_MOVE;
    op->entity = ops_id_of(m, slot);
    op->from = m->archetype[0][from];
    op->row = ops_row(m, slot);
    op->last = m->row_count[from];
    op->to = m->archetype[0][c->target];
    op->staged = c->staged == OPS_NONE ? 0 : m->archetype[1][c->staged];
    m->touched[from] = 1;
    ops_move(m, slot, c->target);
    op->to_row = ops_row(m, slot);
    settle(m, c, from);
    return reported(m, c, from);
}

static int one_step(ops_model *m, eg_drain_op *op)
{
    memset(op, 0, sizeof *op);
    if (m->phase == DESPAWNS && m->cursor < m->despawn_to)
        return despawn(m, op);
    if (m->phase == SPAWNS && m->cursor < m->order_count) {
        const ops_item *item = &m->order[m->cursor++];
        ops_change *c = item->batch ? NULL : &m->changes[item->index];

        if (item->batch)
            return place_batch(m, item, op);
        return c->slot != 0 && c->spawn ? place(m, c, op) : 0;
    }
    if (m->phase == MOVES && m->cursor < m->change_to) {
        ops_change *c = &m->changes[m->cursor++];

        return c->slot != 0 && !c->spawn ? move(m, c, op) : 0;
    }
    m->phase = m->phase == MOVES ? IDLE : m->phase + 1;
    m->cursor = m->phase == MOVES ? m->change_from : 0;
    if (m->phase == IDLE && m->change_to == m->change_count &&
        m->despawn_to == m->despawn_count && m->batch_to == m->batch_count)
        ops_stage_reset(m);
    return 0;
}

int ops_wave_next(ops_model *m, eg_drain_op *op)
{
    while (m->phase != IDLE)
        if (one_step(m, op))
            return op->kind;
    memset(op, 0, sizeof *op);
    return EG_DRAIN_DONE;
}
