/* SPDX-License-Identifier: MIT */
/* The part of eg_world_check that walks staged work. */
#include "core/cmd/eg_cmd_store.h"

static int list_sound(const egi_list *list)
{
    return list->from <= list->to && list->to <= list->count &&
           list->count <= list->capacity;
}

static int staged_row_is(const eg_world *w, const egi_change *change)
{
    const egi_archetype *a = egi_archetype_at(w, change->staged);
    const egi_rows *r;

    if (change->staged == 0)
        return change->row == 0;
    if (a == NULL || !a->staging)
        return 0;
    r = egi_rows_of(w, a->id);
    return change->row >= 1 && change->row <= egi_count(r) &&
           r->ids[change->row] == change->id;
}

static const char *check_changes(const eg_world *w, uint32_t *staged)
{
    const egi_cmd *c = w->cmd;

    for (uint32_t i = 0; i < c->change_list.count; i++) {
        const egi_change *change = &c->changes[i];
        const eg_slot *slot = egi_find_held(w, change->id);

        if (i > 0 && change->seq <= c->changes[i - 1].seq)
            return "staged changes are out of order";
        if (change->kind == EGI_NONE)
            continue;
        if (slot == NULL)
            return "a change is staged for a dead id";
        if (c->of_slot[egi_slot_of(change->id)] != (int32_t)i + 1)
            return "a staged change is not the one of its entity";
        if ((change->kind == EGI_SPAWN || change->batch != 0) ==
            (slot->id > 0.0))
            return "a staged change takes a live entity for a pending one";
        if (!egi_placeable(w, change->target))
            return "a staged change leads nowhere";
        if (!staged_row_is(w, change))
            return "a staged change has not the row it says";
        *staged += change->staged != 0;
    }
    return NULL;
}

static const char *check_despawns(const eg_world *w, uint32_t *gone)
{
    const egi_cmd *c = w->cmd;
    uint32_t i = c->phase == EGI_DESPAWNS ? c->cursor : c->despawn_list.to;

    for (; i < c->despawn_list.count; i++, ++*gone)
        if (egi_find_held(w, c->despawns[i]) == NULL ||
            c->of_slot[egi_slot_of(c->despawns[i])] != EGI_MARK_GONE)
            return "a staged despawn is not marked";
    return NULL;
}

/* Every mark is backed by a list, and every pending slot has a mark. */
static const char *check_marks(const eg_world *w, uint32_t gone)
{
    const egi_cmd *c = w->cmd;

    for (uint32_t s = 1; s <= w->now->high; s++) {
        int32_t mark = c->of_slot[s];
        double id = w->now->slots[s].id;
        int pending = id < 0.0 && egi_slot_of(-id) != 0;

        if (pending && mark == 0)
            return "nothing is staged for a pending id";
        if (mark > 0 && ((uint32_t)mark > c->change_list.count ||
                         c->changes[mark - 1].kind == EGI_NONE ||
                         egi_slot_of(c->changes[mark - 1].id) != s))
            return "a mark leads to no staged change";
        if (mark <= EGI_MARK_BATCH &&
            ((uint32_t)(EGI_MARK_BATCH - mark) >= c->batch_list.count ||
             !pending))
            return "a mark leads to no batch";
        gone -= mark == EGI_MARK_GONE;
    }
    return gone == 0 ? NULL : "marks of staged despawns are miscounted";
}

const char *egi_cmd_check(const eg_world *w)
{
    const egi_cmd *c = w->cmd;
    uint32_t staged = 0, gone = 0, used = 0;
    const char *fault;

    if (!list_sound(&c->change_list) || !list_sound(&c->despawn_list) ||
        !list_sound(&c->batch_list) || !list_sound(&c->batch_id_list))
        return "a list of staged work is out of bounds";
    if (!w->staged &&
        c->change_list.count + c->despawn_list.count + c->batch_list.count != 0)
        return "staged work is not announced";
    fault = check_changes(w, &staged);
    if (fault == NULL)
        fault = check_despawns(w, &gone);
    if (fault == NULL)
        fault = check_marks(w, gone);
    for (uint32_t id = 1; id <= w->archetype_count; id++)
        if (w->archetypes[id] != NULL && w->archetypes[id]->staging)
            used += egi_rows_of(w, id)->used;
    if (fault == NULL && used != staged)
        fault = "staged rows belong to no change";
    return fault;
}
