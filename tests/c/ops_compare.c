/* SPDX-License-Identifier: MIT */
#include "ops_model.h"

#include <string.h>

#include "core/store/eg_store.h"

static const char *compare_slot(const ops_model *m, ops_world *x, uint32_t s)
{
    const ops_slot *want = &m->slots[s];
    const eg_slot *got = &eg_world_slots(x->w)[s];
    double id = ops_id_of(m, s);

    if (eg_entity_alive(x->w, id) != (want->state == OPS_LIVE))
        return "an id is alive in one only";
    if (want->state == OPS_LIVE &&
        (got->id != id ||
         (uint32_t)got->archetype != m->archetype[0][want->set] ||
         (uint32_t)got->row != ops_row(m, s)))
        return "a live entity is somewhere else";
    if (want->state == OPS_PENDING &&
        (got->id != -id ||
         (uint32_t)got->archetype != m->archetype[0][want->set]))
        return "a pending entity has another record";
    if (want->state == OPS_FREE &&
        got->id != -(double)(want->highest + 1) * EGI_SLOT_COUNT)
        return "a free slot has another generation";
    return NULL;
}

static const char *compare_free_list(const ops_model *m, const eg_world *w)
{
    uint32_t s = w->now->free_head;

    for (uint32_t i = 0; i < m->free_count; i++) {
        if (s != m->free[i])
            return "the free list has another order";
        s = (uint32_t)((int32_t)s + 1 + w->now->slots[s].archetype);
    }
    return NULL;
}

static const char *compare_cells(ops_world *x, uint32_t archetype, uint32_t row,
                                 uint32_t set, const ops_cells *want)
{
    for (int i = 0; i < OPS_COMPONENTS; i++) {
        const char *column;

        if (!ops_has(set, i) || ops_size[i] == 0)
            continue;
        column = eg_archetype_column(x->w, archetype, x->component[i]);
        if (column == NULL || memcmp(column + (size_t)row * ops_size[i],
                                     want->of[i], ops_size[i]) != 0)
            return "a cell has another value";
    }
    return NULL;
}

static const char *compare_rows(const ops_model *m, ops_world *x, uint32_t set)
{
    eg_archetype_view view;
    const char *fault = NULL;

    if (m->archetype[0][set] == 0)
        return m->row_count[set] == 0 ? NULL : "rows without an archetype";
    if (!eg_archetype_read(x->w, m->archetype[0][set], &view))
        return "an archetype is gone";
    if (view.entities[0] != m->row_count[set])
        return "an archetype has another number of rows";
    for (uint32_t i = 0; i < m->row_count[set] && fault == NULL; i++) {
        uint32_t s = m->rows[set][i];

        if (view.entities[i + 1] != ops_id_of(m, s))
            return "rows have another order";
        fault = compare_cells(x, view.id, i + 1, set, &m->slots[s].cells);
    }
    return fault;
}

static const char *compare_staged(const ops_model *m, ops_world *x, uint32_t s)
{
    const ops_slot *slot = &m->slots[s];
    const ops_change *c = slot->change >= 0 ? &m->changes[slot->change] : NULL;
    int held = slot->state == OPS_LIVE || slot->state == OPS_PENDING;
    eg_stage_state got;
    uint32_t kind, target;

    eg_stage_find(x->w, ops_id_of(m, s), &got);
    kind = !held              ? 0
           : c != NULL        ? 2 - (uint32_t)c->spawn
           : slot->gone       ? 3
           : slot->batch >= 0 ? 4
                              : 0;
    target = kind == 0   ? 0
             : c != NULL ? m->archetype[0][c->target]
                         : m->archetype[0][slot->set];
    if (got.kind != kind || got.target != target)
        return "something else is staged";
    if (c == NULL || c->staged == OPS_NONE)
        return got.staged == 0 && got.staged_row == 0
                   ? NULL
                   : "values are staged in one only";
    if (got.staged != m->archetype[1][c->staged] || got.staged_row == 0)
        return "values are staged somewhere else";
    return compare_cells(x, got.staged, got.staged_row, (uint32_t)c->staged,
                         &c->cells);
}

static int matches(const ops_world *x, int q, uint32_t set)
{
    return (set & x->include[q]) == x->include[q] &&
           (set & x->exclude[q]) == 0 &&
           (x->any[q] == 0 || (set & x->any[q]) != 0);
}

/* The walker checks the order; here it is what is listed. */
static const char *compare_query(const ops_model *m, ops_world *x, int q)
{
    const uint32_t *list;
    uint32_t count = eg_query_list(x->query[q], &list), rows = 0, known = 0;

    for (uint32_t set = 0; set < OPS_SETS; set++) {
        uint32_t found = 0;

        if (m->archetype[0][set] == 0)
            continue;
        for (uint32_t i = 0; i < count; i++)
            found += list[i] == m->archetype[0][set];
        if (found != (uint32_t)matches(x, q, set))
            return "a query lists other archetypes";
        known += found;
        rows += found * m->row_count[set];
    }
    /* The last call may have made some that the model has yet to hear of. */
    if (known > count || rows != eg_query_rows(x->w, x->query[q]))
        return "a query counts other rows";
    return NULL;
}

static const char *compare_stats(const ops_model *m, ops_world *x)
{
    eg_stats stats;
    uint32_t live = 0, retired = 0;

    eg_world_stats(x->w, &stats);
    for (uint32_t s = 1; s <= OPS_SLOTS; s++) {
        live += m->slots[s].state == OPS_LIVE;
        retired += m->slots[s].state == OPS_RETIRED;
    }
    if (stats.entities != live || stats.retired != retired ||
        stats.high_slot != m->high || stats.max_entities != OPS_SLOTS)
        return "the world counts otherwise";
    if (eg_stage_pending(x->w) != ops_pending(m))
        return "staged work is pending in one only";
    return NULL;
}

const char *ops_compare(const ops_model *m, ops_world *x)
{
    const char *fault = eg_world_check(x->w);

    if (fault == NULL)
        fault = compare_stats(m, x);
    for (uint32_t s = 1; s <= OPS_SLOTS && fault == NULL; s++) {
        fault = compare_slot(m, x, s);
        if (fault == NULL)
            fault = compare_staged(m, x, s);
    }
    if (fault == NULL)
        fault = compare_free_list(m, x->w);
    for (uint32_t set = 0; set < OPS_SETS && fault == NULL; set++)
        fault = compare_rows(m, x, set);
    for (int q = 0; q < OPS_QUERIES && fault == NULL; q++)
        if (x->query[q] != NULL)
            fault = compare_query(m, x, q);
    return fault;
}

const char *ops_compare_step(const eg_drain_op *got, const eg_drain_op *want)
{
    if (got->kind != want->kind)
        return "a step of another kind";
    if (got->entity != want->entity)
        return "a step of another entity";
    if (got->from != want->from || got->row != want->row ||
        got->last != want->last)
        return "a step from another place";
    if (got->to != want->to || got->to_row != want->to_row)
        return "a step to another place";
    if (got->staged != want->staged ||
        (got->staged_row != 0) != (want->staged != 0))
        return "a step with other values";
    if (got->count != want->count || got->token != want->token)
        return "a batch of another size";
    return NULL;
}
