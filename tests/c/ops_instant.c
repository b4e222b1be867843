/* SPDX-License-Identifier: MIT */
/* Operations that are done when their call returns. */
#include "ops_run.h"

#include <string.h>

static void write_entity(run *r, uint32_t slot, uint32_t which)
{
    ops_slot *s = &r->m.slots[slot];

    ops_write(r, r->m.archetype[0][s->set], ops_row(&r->m, slot),
              which & s->set, &s->cells);
}

static void do_spawn(run *r)
{
    uint32_t set = ops_any_set(r), a = ops_archetype(r, set, 0), slot;
    double id;

    if (a == 0)
        return;
    id = eg_entity_spawn(r->x.w, a);
    if (ops_given_up(r, id))
        return;
    if (r->m.free_count == 0) {
        MUST_BE(id, EG_EFULL);
        return;
    }
    slot = ops_take(&r->m);
    ops_append(&r->m, slot, set);
    MUST_BE(id, ops_id_of(&r->m, slot));
    write_entity(r, slot, set);
    ops_did(r, OPS_SPAWN);
}

static void do_spawn_at(run *r)
{
    uint32_t set = ops_any_set(r), a = ops_archetype(r, set, 0), slot;
    double id = ops_chosen_id(r);
    int err;

    if (a == 0)
        return;
    err = eg_entity_spawn_at(r->x.w, id, a);
    if (ops_given_up(r, err))
        return;
    MUST_BE(err, ops_check_id(&r->m, id));
    if (err != EG_OK)
        return;
    slot = ops_take_at(&r->m, id);
    ops_append(&r->m, slot, set);
    write_entity(r, slot, set);
    ops_did(r, OPS_SPAWN_AT);
}

static void do_spawn_many(run *r)
{
    uint32_t set = ops_any_set(r), a = ops_archetype(r, set, 0), first = 0;
    uint32_t count = ops_byte(r) % 8;
    double ids[8];
    int err;

    if (a == 0)
        return;
    err = eg_entity_spawn_many(r->x.w, a, count, ids, &first);
    if (ops_given_up(r, err))
        return;
    MUST_BE(err, count > r->m.free_count ? EG_EFULL : EG_OK);
    if (err != EG_OK)
        return;
    MUST_BE(first, r->m.row_count[set] + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = ops_take(&r->m);

        ops_append(&r->m, slot, set);
        memset(&r->m.slots[slot].cells, 0, sizeof r->m.slots[slot].cells);
        MUST_BE(ids[i], ops_id_of(&r->m, slot));
    }
    ops_did(r, OPS_SPAWN_MANY);
}

static void do_despawn(run *r)
{
    double id = ops_any_id(r);
    uint32_t slot = ops_find(&r->m, id);
    int err = eg_entity_despawn(r->x.w, id);

    if (slot == 0) {
        MUST_BE(err, EG_EDEAD);
        return;
    }
    MUST_BE(err, ops_is_staged(&r->m, slot) ? EG_EBUSY : EG_OK);
    if (err != EG_OK)
        return;
    ops_remove(&r->m, slot);
    ops_release(&r->m, slot);
    ops_did(r, OPS_DESPAWN);
}

/* Learns the archetype a call may have made by itself. */
static void learn(run *r, uint32_t set)
{
    r->fail_at = -1;
    MUST(ops_archetype(r, set, 0) != 0, "no archetype");
}

static void do_add(run *r)
{
    double id = ops_any_id(r);
    int i = (int)(ops_byte(r) % OPS_COMPONENTS);
    uint32_t slot = ops_find(&r->m, id), set;
    void *out = r;
    int err = eg_entity_add(r->x.w, id, r->x.component[i], &out);

    if (slot == 0)
        MUST_BE(err, EG_EDEAD);
    if (slot == 0)
        return;
    set = r->m.slots[slot].set | 1U << i;
    if (ops_given_up(r, err)) {
        MUST(out == r, "a failed call wrote its result");
        return;
    }
    MUST_BE(err, EG_OK);
    if (!ops_has(r->m.slots[slot].set, i))
        memset(r->m.slots[slot].cells.of[i], 0, OPS_CELL);
    ops_move(&r->m, slot, set);
    learn(r, set);
    MUST(out == eg_entity_get(r->x.w, id, r->x.component[i]),
         "another cell than that of the component");
    ops_did(r, OPS_ADD);
}

static void do_remove(run *r)
{
    double id = ops_any_id(r);
    int i = (int)(ops_byte(r) % OPS_COMPONENTS);
    uint32_t slot = ops_find(&r->m, id), set;
    int err = eg_entity_remove(r->x.w, id, r->x.component[i]);

    if (slot == 0)
        MUST_BE(err, EG_EDEAD);
    if (slot == 0 || ops_given_up(r, err))
        return;
    MUST_BE(err, EG_OK);
    set = r->m.slots[slot].set & ~(1U << i);
    ops_move(&r->m, slot, set);
    learn(r, set);
    ops_did(r, OPS_REMOVE);
}

static void do_move(run *r)
{
    double id = ops_any_id(r);
    uint32_t set = ops_any_set(r), a = ops_archetype(r, set, 0);
    uint32_t slot = ops_find(&r->m, id), old;
    int err;

    if (a == 0)
        return;
    err = eg_entity_move(r->x.w, id, a);
    if (ops_given_up(r, err))
        return;
    MUST_BE(err, slot == 0 ? EG_EDEAD : EG_OK);
    if (slot == 0)
        return;
    old = r->m.slots[slot].set;
    ops_move(&r->m, slot, set);
    write_entity(r, slot, set & ~old);
    ops_did(r, OPS_MOVE);
}

static void do_write(run *r)
{
    double id = ops_any_id(r);
    uint32_t slot = ops_find(&r->m, id), which = ops_any_set(r);

    for (int i = 0; i < OPS_COMPONENTS; i++) {
        int there =
            slot != 0 && ops_has(r->m.slots[slot].set, i) && ops_size[i] > 0;

        MUST((eg_entity_get(r->x.w, id, r->x.component[i]) != NULL) == there,
             "a cell is there in one only");
    }
    if (slot == 0)
        return;
    write_entity(r, slot, which);
    ops_did(r, OPS_WRITE);
}

void ops_instant(run *r)
{
    switch (r->kind) {
    case OPS_SPAWN:
        do_spawn(r);
        break;
    case OPS_SPAWN_AT:
        do_spawn_at(r);
        break;
    case OPS_SPAWN_MANY:
        do_spawn_many(r);
        break;
    case OPS_DESPAWN:
        do_despawn(r);
        break;
    case OPS_ADD:
        do_add(r);
        break;
    case OPS_REMOVE:
        do_remove(r);
        break;
    case OPS_MOVE:
        do_move(r);
        break;
    case OPS_WRITE:
        do_write(r);
        break;
    default:
        break;
    }
}
