/* SPDX-License-Identifier: MIT */
/* Operations on the world as a whole, and on its queries. */
#include "ops_run.h"

#include <string.h>

static void do_query(run *r)
{
    int q = (int)(ops_byte(r) % OPS_QUERIES);
    uint32_t sets[3], ids[3][OPS_COMPONENTS], n[3] = {0, 0, 0};
    eg_query_def def;
    int err;

    for (int k = 0; k < 3; k++) {
        sets[k] = ops_any_set(r) & (k == 0 ? UINT32_MAX : ops_any_set(r));
        for (int i = 0; i < OPS_COMPONENTS; i++)
            if (ops_has(sets[k], i))
                ids[k][n[k]++] = r->x.component[i];
    }
    memset(&def, 0, sizeof def);
    def.include = ids[0];
    def.include_count = n[0];
    def.exclude = ids[1];
    def.exclude_count = n[1];
    def.any = ids[2];
    def.any_count = n[2];
    eg_query_free(r->x.w, r->x.query[q]);
    r->x.query[q] = NULL;
    err = eg_query_new(r->x.w, &def, &r->x.query[q]);
    if (ops_given_up(r, err))
        return;
    MUST_BE(err, EG_OK);
    r->x.include[q] = sets[0];
    r->x.exclude[q] = sets[1];
    r->x.any[q] = sets[2];
    ops_did(r, OPS_QUERY);
}

static void do_attend(run *r)
{
    uint32_t set = ops_any_set(r), b = ops_byte(r);
    int staging = b % 2;

    if (r->m.archetype[staging][set] == 0)
        return;
    r->m.attended[staging][set] = b % 4 < 2;
    eg_archetype_attend(r->x.w, r->m.archetype[staging][set], b % 4 < 2);
    ops_did(r, OPS_ATTEND);
}

static void do_reserve(run *r)
{
    uint32_t set = ops_any_set(r), b = ops_byte(r);
    uint32_t a = r->m.archetype[b % 2][set];
    int err = eg_archetype_reserve(r->x.w, a, b);

    if (ops_given_up(r, err))
        return;
    MUST_BE(err, a == 0 ? EG_EINVAL : EG_OK);
    ops_did(r, OPS_RESERVE);
}

/* A caller that keeps addresses hears of each change, and nothing else moves;
 * what drains do to rows is reported too. */
static void do_sync(run *r)
{
    uint32_t id, flags, told[2][OPS_SETS], listed = 0;

    memset(told, 0, sizeof told);
    while ((id = eg_archetype_touched(r->x.w, &flags)) != 0) {
        MUST(++listed <= 2 * OPS_SETS, "touched archetypes without end");
        for (uint32_t k = 0; k < 2 * OPS_SETS; k++)
            if (r->m.archetype[k / OPS_SETS][k % OPS_SETS] == id)
                told[k / OPS_SETS][k % OPS_SETS] = flags;
    }
    for (uint32_t k = 0; k < 2 * OPS_SETS; k++) {
        uint32_t staging = k / OPS_SETS, set = k % OPS_SETS;
        int rows = (told[staging][set] & EG_TOUCHED_ROWS) != 0;

        if (r->m.archetype[staging][set] == 0)
            continue;
        MUST(rows == (staging == 0 && r->m.touched[set]),
             "changed rows are reported in one only");
        for (int i = 0; i < OPS_COMPONENTS; i++) {
            const void *now = eg_archetype_column(
                r->x.w, r->m.archetype[staging][set], r->x.component[i]);

            MUST(now == r->x.column[staging][set][i] ||
                     (told[staging][set] & EG_TOUCHED_STORAGE) != 0,
                 "a column moved and nobody was told");
            r->x.column[staging][set][i] = now;
        }
    }
    memset(r->m.touched, 0, sizeof r->m.touched);
    ops_did(r, OPS_SYNC);
}

void ops_rest(run *r)
{
    switch (r->kind) {
    case OPS_RESERVE:
        do_reserve(r);
        break;
    case OPS_QUERY:
        do_query(r);
        break;
    case OPS_ATTEND:
        do_attend(r);
        break;
    case OPS_SYNC:
        do_sync(r);
        break;
    case OPS_COMPACT:
        (void)eg_world_compact(r->x.w);
        ops_did(r, OPS_COMPACT);
        break;
    case OPS_CLEAR:
        eg_world_clear(r->x.w);
        ops_clear(&r->m);
        ops_did(r, OPS_CLEAR);
        break;
    default:
        break;
    }
}
