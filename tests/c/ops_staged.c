/* SPDX-License-Identifier: MIT */
/* Operations that are written down, and the drain that does them. */
#include "ops_run.h"

/* Values of the staged components in `which`. */
static void write_staged(run *r, uint32_t slot, uint32_t which)
{
    ops_change *c = &r->m.changes[r->m.slots[slot].change];
    eg_stage_state state;

    if (c->staged == OPS_NONE)
        return;
    eg_stage_find(r->x.w, ops_id_of(&r->m, slot), &state);
    MUST(state.staged == r->m.archetype[1][c->staged], "staged elsewhere");
    ops_write(r, state.staged, state.staged_row, which & (uint32_t)c->staged,
              &c->cells);
}

static void do_stage_spawn(run *r, int chosen)
{
    uint32_t set = ops_any_set(r), staged = ops_any_set(r), slot;
    uint32_t a, s;
    double id = chosen ? ops_chosen_id(r) : 0;
    int err = chosen                 ? ops_check_id(&r->m, id)
              : r->m.free_count == 0 ? EG_EFULL
                                     : EG_OK;
    double got;

    if (staged % 4 != 0) /* the rule: all values */
        staged = set;
    a = ops_archetype(r, set, 0);
    s = a != 0 ? ops_archetype(r, staged, 1) : 0;
    if (s == 0 || !ops_stage_room(&r->m))
        return;
    got = chosen ? eg_stage_spawn_at(r->x.w, id, a, s)
                 : eg_stage_spawn(r->x.w, a, s);
    if (ops_given_up(r, got))
        return;
    if (err != EG_OK || chosen)
        MUST_BE(got, err);
    if (err != EG_OK)
        return;
    slot = chosen ? ops_take_at(&r->m, id) : ops_take(&r->m);
    ops_stage_spawn(&r->m, slot, set, (int)staged);
    MUST(chosen || got == ops_id_of(&r->m, slot), "another id");
    write_staged(r, slot, staged);
    ops_did(r, chosen ? OPS_STAGE_AT : OPS_STAGE_SPAWN);
}

static void do_stage_batch(run *r)
{
    uint32_t set = ops_any_set(r), a = ops_archetype(r, set, 0),
             count = ops_byte(r) % 8;
    uint32_t token = ops_byte(r);
    double ids[8];
    ops_batch *b;
    int err;

    if (a == 0 || !ops_stage_room(&r->m))
        return;
    err = eg_stage_batch(r->x.w, a, count, ids, token);
    if (ops_given_up(r, err))
        return;
    MUST_BE(err, count > r->m.free_count ? EG_EFULL : EG_OK);
    if (err != EG_OK)
        return;
    b = ops_stage_batch(&r->m, set, token, 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = ops_take(&r->m);

        ops_stage_pend(&r->m, b, slot);
        MUST_BE(ids[i], ops_id_of(&r->m, slot));
    }
    ops_did(r, OPS_STAGE_BATCH);
}

static void do_batch_at(run *r)
{
    uint32_t set = ops_any_set(r), a = ops_archetype(r, set, 0),
             count = ops_byte(r) % 5;
    uint32_t bad = 99, wanted = 99;
    double ids[5];
    ops_batch *b;
    int err, want = EG_OK;

    for (uint32_t i = 0; i < count; i++)
        ids[i] = ops_chosen_id(r);
    if (a == 0 || !ops_stage_room(&r->m))
        return;
    err = eg_stage_batch_at(r->x.w, a, count, ids, 7, &bad);
    for (uint32_t i = 0; i < count && want == EG_OK; i++)
        want = ops_check_id(&r->m, ids[wanted = i]);
    for (uint32_t i = 0; i < count && want == EG_OK; i++)
        for (uint32_t k = 0; k < i && want == EG_OK; k++)
            if ((int64_t)ids[k] % 4194304 == (int64_t)ids[i] % 4194304) {
                want = EG_EALIVE;
                wanted = i;
            }
    if (ops_given_up(r, err))
        return;
    MUST_BE(err, want);
    MUST_BE(bad, want == EG_OK ? 99 : wanted);
    if (want != EG_OK)
        return;
    b = ops_stage_batch(&r->m, set, 7, 1);
    for (uint32_t i = 0; i < count; i++)
        ops_stage_pend(&r->m, b, ops_take_at(&r->m, ids[i]));
    ops_did(r, OPS_BATCH_AT);
}

static void do_stage_change(run *r)
{
    double id = ops_any_id(r);
    uint32_t set = ops_any_set(r), how = ops_byte(r), which = ops_any_set(r);
    uint32_t slot = ops_find_held(&r->m, id), row = 99, a, s = 0;
    int staged = how % 4 == 0 ? OPS_NONE : (int)(how & set), old = OPS_NONE;
    int err;

    a = ops_archetype(r, set, 0);
    if (a != 0 && staged != OPS_NONE)
        s = ops_archetype(r, (uint32_t)staged, 1);
    if (a == 0 || (staged != OPS_NONE && s == 0) || !ops_stage_room(&r->m))
        return;
    err = eg_stage_change(r->x.w, id, a, s, &row);
    if (ops_given_up(r, err))
        return;
    if (slot == 0 || r->m.slots[slot].gone) {
        MUST_BE(err, EG_EDEAD);
        return;
    }
    MUST_BE(err, EG_OK);
    MUST((row != 0) == (staged != OPS_NONE), "a staged row in one only");
    if (r->m.slots[slot].change >= 0)
        old = r->m.changes[r->m.slots[slot].change].staged;
    ops_stage_change(&r->m, slot, set, staged);
    if (old == OPS_NONE)
        old = 0;
    write_staged(r, slot, which | ~(uint32_t)old);
    ops_did(r, OPS_STAGE_CHANGE);
}

static void do_stage_despawn(run *r)
{
    double id = ops_any_id(r);
    uint32_t slot = ops_find_held(&r->m, id);
    int err;

    if (!ops_stage_room(&r->m))
        return;
    err = eg_stage_despawn(r->x.w, id);
    if (slot == 0)
        MUST_BE(err, EG_EDEAD);
    if (slot == 0 || ops_given_up(r, err))
        return;
    MUST_BE(err, EG_OK);
    ops_stage_despawn(&r->m, slot);
    ops_did(r, OPS_STAGE_DESPAWN);
}

static void stage_something(run *r)
{
    switch (ops_byte(r) % 8) {
    case 0:
        do_stage_spawn(r, 0);
        break;
    case 1:
        do_stage_spawn(r, 1);
        break;
    case 2:
        do_stage_batch(r);
        break;
    case 3:
        do_batch_at(r);
        break;
    case 4:
    case 5:
        do_stage_change(r);
        break;
    default:
        do_stage_despawn(r);
        break;
    }
}

/* One reported step, or the end of the wave; 0 when memory failed. */
static int step(run *r, int *kind)
{
    eg_drain_op got, want;
    const char *fault;

    *kind = eg_drain_next(r->x.w, &got);
    if (ops_given_up(r, *kind)) {
        /* What was not reported before is done; the failed step is not. */
        r->fail_at = -1;
        *kind = eg_drain_next(r->x.w, &got);
    }
    MUST(*kind >= 0, "a step fails for no reason");
    ops_wave_next(&r->m, &want);
    fault = ops_compare_step(&got, &want);
    MUST(fault == NULL, fault);
    return *kind != EG_DRAIN_DONE;
}

static void do_drain(run *r, uint32_t most)
{
    int kind = EG_DRAIN_DONE;
    uint32_t steps = 0;

    while (steps < most && (eg_stage_pending(r->x.w) || steps == 0)) {
        int err = eg_drain_begin(r->x.w);

        if (ops_given_up(r, err))
            return;
        MUST_BE(err, EG_OK);
        ops_wave_begin(&r->m);
        while (steps < most && step(r, &kind)) {
            const char *fault = ops_compare(&r->m, &r->x);

            MUST(fault == NULL, fault);
            /* What a caller stages while it answers. */
            if (ops_byte(r) % 4 == 3)
                stage_something(r);
            steps++;
        }
        steps++;
    }
    ops_did(r, most == UINT32_MAX ? OPS_DRAIN : OPS_PAUSE);
}

void ops_staged(run *r)
{
    switch (r->kind) {
    case OPS_STAGE_SPAWN:
        do_stage_spawn(r, 0);
        break;
    case OPS_STAGE_AT:
        do_stage_spawn(r, 1);
        break;
    case OPS_STAGE_BATCH:
        do_stage_batch(r);
        break;
    case OPS_BATCH_AT:
        do_batch_at(r);
        break;
    case OPS_STAGE_CHANGE:
        do_stage_change(r);
        break;
    case OPS_STAGE_DESPAWN:
        do_stage_despawn(r);
        break;
    case OPS_DRAIN:
        do_drain(r, UINT32_MAX);
        break;
    case OPS_PAUSE:
        do_drain(r, 1 + ops_byte(r) % 4);
        break;
    default:
        break;
    }
}
