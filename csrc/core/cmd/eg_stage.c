/* SPDX-License-Identifier: MIT */
/* Writing changes down: spawns, changes and despawns inside a scope. Each call
 * reserves all it needs before its first change. Batches are in
 * eg_stage_batch.c. */
#include "core/cmd/eg_cmd_store.h"

#include <string.h>

static int changes_reserve(eg_world *w)
{
    egi_cmd *c = w->cmd;

    return egi_cmd_reserve(w, (void **)&c->changes, &c->change_list, 1,
                           sizeof *c->changes);
}

static egi_archetype *staging_at(const eg_world *w, uint32_t id)
{
    egi_archetype *a = egi_archetype_at(w, id);

    return a != NULL && a->staging ? a : NULL;
}

/* There must be room. */
static egi_change *change_add(eg_world *w, double id, uint32_t kind)
{
    egi_cmd *c = w->cmd;
    egi_change *change = &c->changes[c->change_list.count++];
    int32_t *mark = &c->of_slot[egi_slot_of(id)];

    memset(change, 0, sizeof *change);
    change->id = id;
    change->kind = kind;
    change->batch = *mark;
    change->seq = ++c->seq;
    *mark = (int32_t)c->change_list.count;
    w->staged = 1;
    return change;
}

/* Reserves all a staged spawn needs. */
static int spawn_reserve(eg_world *w, uint32_t staged)
{
    if (egi_cmd_open(w) != EG_OK || changes_reserve(w) != EG_OK ||
        egi_rows_reserve(w, w->archetypes[staged], 1) != EG_OK)
        return EG_ENOMEM;
    return EG_OK;
}

static void spawn_write(eg_world *w, double id, uint32_t archetype,
                        uint32_t staged)
{
    eg_slot *slot = &w->now->slots[egi_slot_of(id)];
    egi_change *change = change_add(w, id, EGI_SPAWN);

    change->target = archetype;
    change->staged = staged;
    change->row = egi_staged_take(w, staged, id);
    slot->id = -id;
    slot->archetype = (int32_t)archetype;
    slot->row = 0;
    w->now->pending++;
}

double eg_stage_spawn(eg_world *w, uint32_t archetype, uint32_t staged)
{
    double id;

    if (!egi_placeable(w, archetype) || staging_at(w, staged) == NULL)
        return EG_EINVAL;
    if (egi_slots_full(w))
        return EG_EFULL;
    if (spawn_reserve(w, staged) != EG_OK)
        return EG_ENOMEM;
    (void)egi_slot_take(w->now, &id);
    spawn_write(w, id, archetype, staged);
    return id;
}

int eg_stage_spawn_at(eg_world *w, double id, uint32_t archetype,
                      uint32_t staged)
{
    int err = egi_slot_check(w, id);

    if (!egi_placeable(w, archetype) || staging_at(w, staged) == NULL)
        return EG_EINVAL;
    if (err != EG_OK)
        return err;
    if (egi_slots_reserve(w, 1) != EG_OK || spawn_reserve(w, staged) != EG_OK)
        return EG_ENOMEM;
    egi_slot_take_at(w, id);
    spawn_write(w, id, archetype, staged);
    return EG_OK;
}

void eg_stage_find(const eg_world *w, double id, eg_stage_state *out)
{
    const egi_cmd *c = w->cmd;
    const eg_slot *slot = egi_find_held(w, id);
    int32_t mark = c != NULL && slot != NULL ? c->of_slot[egi_slot_of(id)] : 0;

    memset(out, 0, sizeof *out);
    if (mark == 0)
        return;
    out->target = (uint32_t)slot->archetype;
    if (mark == EGI_MARK_GONE) {
        out->kind = 3;
    } else if (mark < 0) {
        out->kind = 4;
    } else {
        const egi_change *change = &c->changes[mark - 1];

        out->kind = change->kind == EGI_SPAWN ? 1 : 2;
        out->target = change->target;
        out->staged = change->staged;
        out->staged_row = change->row;
    }
}

/* Takes a row in another staging archetype and carries common cells over. */
static void restage(eg_world *w, egi_change *change, uint32_t staged)
{
    uint32_t row = 0;

    if (staged != 0) {
        row = egi_staged_take(w, staged, change->id);
        if (change->staged != 0)
            egi_row_copy(w->archetypes[change->staged],
                         egi_rows_of(w, change->staged), change->row,
                         w->archetypes[staged], egi_rows_of(w, staged), row);
    }
    if (change->staged != 0)
        egi_staged_free(w, change->staged, change->row);
    change->staged = staged;
    change->row = row;
}

int eg_stage_change(eg_world *w, double id, uint32_t target, uint32_t staged,
                    uint32_t *row)
{
    const eg_slot *slot = egi_find_held(w, id);
    egi_archetype *s = staging_at(w, staged);
    egi_change *change;
    int32_t mark;

    if (slot == NULL)
        return EG_EDEAD;
    if (!egi_placeable(w, target) || (staged != 0 && s == NULL))
        return EG_EINVAL;
    if (egi_cmd_open(w) != EG_OK)
        return EG_ENOMEM;
    mark = w->cmd->of_slot[egi_slot_of(id)];
    if (mark == EGI_MARK_GONE)
        return EG_EDEAD;
    change = mark > 0 ? &w->cmd->changes[mark - 1] : NULL;
    if (change == NULL && changes_reserve(w) != EG_OK)
        return EG_ENOMEM;
    if (s != NULL && (change == NULL || change->staged != staged) &&
        egi_rows_reserve(w, s, 1) != EG_OK)
        return EG_ENOMEM;
    if (change == NULL)
        change = change_add(w, id, EGI_CHANGE);
    change->target = target;
    if (change->staged != staged)
        restage(w, change, staged);
    if (row != NULL)
        *row = change->row;
    return EG_OK;
}

int eg_stage_despawn(eg_world *w, double id)
{
    egi_cmd *c;
    int32_t *mark;

    if (egi_find_held(w, id) == NULL)
        return EG_EDEAD;
    if (egi_cmd_open(w) != EG_OK)
        return EG_ENOMEM;
    c = w->cmd;
    mark = &c->of_slot[egi_slot_of(id)];
    if (*mark == EGI_MARK_GONE)
        return EG_OK;
    if (egi_cmd_reserve(w, (void **)&c->despawns, &c->despawn_list, 1,
                        sizeof *c->despawns) != EG_OK)
        return EG_ENOMEM;
    if (*mark > 0) {
        egi_change *change = &c->changes[*mark - 1];

        if (change->staged != 0)
            egi_staged_free(w, change->staged, change->row);
        change->kind = EGI_NONE;
    }
    *mark = EGI_MARK_GONE;
    c->despawns[c->despawn_list.count++] = id;
    w->staged = 1;
    return EG_OK;
}
