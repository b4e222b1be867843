/* SPDX-License-Identifier: MIT */
/* Writing batches down: many pending ids of one archetype, placed as one range
 * of rows. Each call reserves all it needs before its first change. */
#include "core/cmd/eg_cmd_store.h"

static int batch_reserve(eg_world *w, uint32_t count)
{
    egi_cmd *c;

    if (egi_cmd_open(w) != EG_OK)
        return EG_ENOMEM;
    c = w->cmd;
    if (egi_cmd_reserve(w, (void **)&c->batches, &c->batch_list, 1,
                        sizeof *c->batches) != EG_OK ||
        egi_cmd_reserve(w, (void **)&c->batch_ids, &c->batch_id_list, count,
                        sizeof *c->batch_ids) != EG_OK)
        return EG_ENOMEM;
    return EG_OK;
}

/* The mark of the batch that is staged next. */
static int32_t batch_mark(const egi_cmd *c)
{
    return EGI_MARK_BATCH - (int32_t)c->batch_list.count;
}

static void batch_write(eg_world *w, uint32_t archetype, uint32_t count,
                        const double *ids, uint32_t token, int chosen)
{
    egi_cmd *c = w->cmd;
    int32_t mark = batch_mark(c);
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
        c->of_slot[s] = mark;
        c->batch_ids[c->batch_id_list.count++] = ids[i];
    }
    w->now->pending += count;
    w->staged = 1;
}

int eg_stage_batch(eg_world *w, uint32_t archetype, uint32_t count, double *ids,
                   uint32_t token)
{
    if (!egi_placeable(w, archetype))
        return EG_EINVAL;
    if (count > egi_slots_free(w))
        return EG_EFULL;
    if (batch_reserve(w, count) != EG_OK)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        (void)egi_slot_take(w->now, &ids[i]);
    batch_write(w, archetype, count, ids, token, 0);
    return EG_OK;
}

int eg_stage_batch_at(eg_world *w, uint32_t archetype, uint32_t count,
                      const double *ids, uint32_t token, uint32_t *bad)
{
    int32_t mark;
    uint32_t i;

    if (!egi_placeable(w, archetype))
        return EG_EINVAL;
    for (i = 0; i < count; i++) {
        int err = egi_slot_check(w, ids[i]);

        if (err != EG_OK) {
            *bad = i;
            return err;
        }
    }
    if (batch_reserve(w, count) != EG_OK ||
        egi_slots_reserve(w, count) != EG_OK)
        return EG_ENOMEM;
    /* Marking the slots as they are taken shows an id that occurs twice. */
    mark = batch_mark(w->cmd);
    for (i = 0; i < count; i++) {
        uint32_t s = egi_slot_of(ids[i]);

        if (w->cmd->of_slot[s] == mark)
            break;
        w->cmd->of_slot[s] = mark;
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
