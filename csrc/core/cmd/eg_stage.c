/* SPDX-License-Identifier: MIT */
/* Writing changes down: spawns, changes and despawns inside a scope. Each call
 * reserves all it needs before its first change. */
#include "core/cmd/eg_cmd_store.h"

#include <string.h>

void egi_cmd_reset(egi_cmd *c)
{
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
    egi_cmd_reset(c);
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
    return EG_OK;
}

static int list_reserve(eg_world *w, void **items, egi_list *list,
                        uint32_t more, size_t size)
{
    if (more > UINT32_MAX / 4 - list->count)
        return EG_ENOMEM;
    return egi_grow(&w->allocator, items, &list->capacity, list->count + more,
                    size);
}

static int changes_reserve(eg_world *w)
{
    egi_cmd *c = w->cmd;

    return list_reserve(w, (void **)&c->changes, &c->change_list, 1,
                        sizeof *c->changes);
}

static egi_archetype *staging_at(const eg_world *w, uint32_t id)
{
    egi_archetype *a = egi_archetype_at(w, id);

    return a != NULL && a->staging ? a : NULL;
}

static uint32_t staged_take(eg_world *w, uint32_t staged, double id)
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

/* There must be room. */
static egi_change *change_add(eg_world *w, double id, uint32_t kind)
{
    egi_cmd *c = w->cmd;
    egi_change *change = &c->changes[c->change_list.count++];

    memset(change, 0, sizeof *change);
    change->id = id;
    change->kind = kind;
    change->seq = ++c->seq;
    c->of_slot[egi_slot_of(id)] = (int32_t)c->change_list.count;
    return change;
}

/* Reserves all a staged spawn needs. */
static int spawn_reserve(eg_world *w, uint32_t archetype, uint32_t staged)
{
    const egi_archetype *a = egi_archetype_at(w, archetype);
    egi_archetype *s = staging_at(w, staged);

    if (a == NULL || a->staging || s == NULL)
        return EG_EINVAL;
    if (egi_cmd_open(w) != EG_OK || changes_reserve(w) != EG_OK ||
        egi_rows_reserve(w, s, 1) != EG_OK)
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
    change->row = staged_take(w, staged, id);
    slot->id = -id;
    slot->archetype = (int32_t)archetype;
    slot->row = 0;
    w->now->pending++;
}

double eg_stage_spawn(eg_world *w, uint32_t archetype, uint32_t staged)
{
    double id;
    int err = spawn_reserve(w, archetype, staged);

    if (err == EG_OK)
        err = egi_slot_take(w, &id);
    if (err != EG_OK)
        return err;
    spawn_write(w, id, archetype, staged);
    return id;
}

int eg_stage_spawn_at(eg_world *w, double id, uint32_t archetype,
                      uint32_t staged)
{
    int err = egi_slot_check(w, id);

    if (err == EG_OK)
        err = spawn_reserve(w, archetype, staged);
    if (err == EG_OK)
        err = egi_slots_reserve(w, 1);
    if (err != EG_OK)
        return err;
    egi_slot_take_at(w, id);
    spawn_write(w, id, archetype, staged);
    return EG_OK;
}

static int batch_reserve(eg_world *w, uint32_t archetype, uint32_t count)
{
    const egi_archetype *a = egi_archetype_at(w, archetype);
    egi_cmd *c;

    if (a == NULL || a->staging)
        return EG_EINVAL;
    if (count > egi_slots_free(w))
        return EG_EFULL;
    if (egi_cmd_open(w) != EG_OK)
        return EG_ENOMEM;
    c = w->cmd;
    if (list_reserve(w, (void **)&c->batches, &c->batch_list, 1,
                     sizeof *c->batches) != EG_OK ||
        list_reserve(w, (void **)&c->batch_ids, &c->batch_id_list, count,
                     sizeof *c->batch_ids) != EG_OK)
        return EG_ENOMEM;
    return EG_OK;
}

static void batch_write(eg_world *w, uint32_t archetype, uint32_t count,
                        const double *ids, uint32_t token, int chosen)
{
    egi_cmd *c = w->cmd;
    egi_batch *b = &c->batches[c->batch_list.count++];

    b->archetype = archetype;
    b->first = c->batch_id_list.count;
    b->count = count;
    b->token = token;
    b->chosen = (uint32_t)chosen;
    b->seq = ++c->seq;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = egi_slot_of(ids[i]);
        eg_slot *slot = &w->now->slots[s];

        slot->id = -ids[i];
        slot->archetype = (int32_t)archetype;
        slot->row = 0;
        c->of_slot[s] = EGI_MARK_BATCH;
        c->batch_ids[c->batch_id_list.count++] = ids[i];
    }
    w->now->pending += count;
}

int eg_stage_batch(eg_world *w, uint32_t archetype, uint32_t count,
                   double *ids, uint32_t token)
{
    int err = batch_reserve(w, archetype, count);

    if (err != EG_OK)
        return err;
    for (uint32_t i = 0; i < count; i++)
        (void)egi_slot_take(w, &ids[i]);
    batch_write(w, archetype, count, ids, token, 0);
    return EG_OK;
}

int eg_stage_batch_at(eg_world *w, uint32_t archetype, uint32_t count,
                      const double *ids, uint32_t token, uint32_t *bad)
{
    int err = EG_OK;
    uint32_t i;

    for (i = 0; i < count && err == EG_OK; i++)
        err = egi_slot_check(w, ids[i]);
    if (err == EG_OK)
        err = batch_reserve(w, archetype, count);
    if (err == EG_OK)
        err = egi_slots_reserve(w, count);
    if (err != EG_OK) {
        *bad = i > 0 ? i - 1 : 0;
        return err;
    }
    /* Marking the slots as they are taken shows an id that occurs twice. */
    for (i = 0; i < count; i++) {
        uint32_t s = egi_slot_of(ids[i]);

        if (w->cmd->of_slot[s] == EGI_MARK_BATCH)
            break;
        w->cmd->of_slot[s] = EGI_MARK_BATCH;
    }
    if (i < count) {
        *bad = i;
        while (i-- > 0)
            w->cmd->of_slot[egi_slot_of(ids[i])] = 0;
        return EG_EALIVE;
    }
    for (i = 0; i < count; i++)
        egi_slot_take_at(w, ids[i]);
    batch_write(w, archetype, count, ids, token, 1);
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
    } else if (mark == EGI_MARK_BATCH) {
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
        row = staged_take(w, staged, change->id);
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
    if (egi_archetype_at(w, target) == NULL || (staged != 0 && s == NULL))
        return EG_EINVAL;
    if (egi_cmd_open(w) != EG_OK || changes_reserve(w) != EG_OK)
        return EG_ENOMEM;
    if (s != NULL && egi_rows_reserve(w, s, 1) != EG_OK)
        return EG_ENOMEM;
    mark = w->cmd->of_slot[egi_slot_of(id)];
    if (mark == EGI_MARK_GONE)
        return EG_EDEAD;
    change = mark > 0 ? &w->cmd->changes[mark - 1]
                      : change_add(w, id, EGI_CHANGE);
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
    if (list_reserve(w, (void **)&c->despawns, &c->despawn_list, 1,
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
    return EG_OK;
}

int eg_stage_pending(const eg_world *w)
{
    const egi_cmd *c = w->cmd;

    return c != NULL && (c->phase != EGI_IDLE || c->change_list.count > 0 ||
                         c->despawn_list.count > 0 ||
                         c->batch_list.count > 0);
}
