/* SPDX-License-Identifier: MIT */
/* The order of a wave's spawns: by archetype, archetypes by the first thing
 * staged for them; in each, batches, batches with chosen ids, single spawns,
 * each in call order. */
#include "core/cmd/eg_cmd_store.h"

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
int egi_wave_order(eg_world *w)
{
    egi_cmd *c = w->cmd;
    uint32_t total = c->change_list.to - c->change_list.from +
                     (c->batch_list.to - c->batch_list.from);
    uint32_t groups, at = 0;

    if (egi_grow(&w->allocator, (void **)&c->order, &c->order_capacity, total,
                 sizeof *c->order) != EG_OK ||
        egi_grow(&w->allocator, (void **)&c->groups, &c->groups_capacity, total,
                 sizeof *c->groups) != EG_OK)
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
                order_put(w, c->batches[k].archetype, k | EGI_ORDER_BATCH);
    for (uint32_t i = c->change_list.from; i < c->change_list.to; i++)
        if (c->changes[i].kind == EGI_SPAWN)
            order_put(w, c->changes[i].target, i);
    return EG_OK;
}
