/* SPDX-License-Identifier: MIT */
#include "ops_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const ops_kind_names[OPS_KINDS + 1] = {
    "spawn",        "spawn at",       "spawn many",   "despawn",
    "add",          "remove",         "move",         "write",
    "stage spawn",  "stage spawn at", "stage batch",  "stage batch at",
    "stage change", "stage despawn",  "drain",        "drain in part",
    "clear",        "compact",        "reserve",      "query",
    "attend",       "follow",         "memory fails", NULL};

/* -- memory --------------------------------------------------------------- */

static int refuse(run *r)
{
    int fails = r->fail_at >= 0 && r->requests == r->fail_at;

    r->requests++;
    r->failed |= fails;
    return fails;
}

/* A new block each time: stale addresses are found. */
static void *run_resize(void *ctx, void *p, size_t old_size, size_t size)
{
    run *r = ctx;
    void *fresh;

    if (size > 0 && refuse(r))
        return NULL;
    fresh = size > 0 ? malloc(size) : NULL;
    if (size > 0 && fresh == NULL)
        return NULL;
    if (fresh != NULL)
        memset(fresh, 0xa5, size);
    if (p != NULL && fresh != NULL)
        memcpy(fresh, p, old_size < size ? old_size : size);
    r->held += size - (p != NULL ? old_size : 0);
    free(p);
    return fresh;
}

static void *run_map(void *ctx, size_t size)
{
    run *r = ctx;

    if (refuse(r))
        return NULL;
    r->held += size;
    return calloc(1, size);
}

static void run_unmap(void *ctx, void *p, size_t size)
{
    ((run *)ctx)->held -= size;
    free(p);
}

/* -- what every operation uses -------------------------------------------- */

void ops_stop(run *r, const char *fault, int line)
{
    r->report->fault = fault;
    r->report->kind = ops_kind_names[r->kind];
    r->report->line = line;
    longjmp(r->out, 1);
}

uint32_t ops_byte(run *r)
{
    return r->at < r->size ? r->data[r->at++] : 0;
}

int ops_given_up(run *r, double result)
{
    if (result != EG_ENOMEM)
        return 0;
    MUST(r->failed, "a call fails for no reason");
    return 1;
}

void ops_did(run *r, enum ops_kind kind)
{
    r->report->done[kind]++;
}

uint32_t ops_archetype(run *r, uint32_t set, int staging)
{
    uint32_t ids[OPS_COMPONENTS], count = 0, out = 0;
    int err;

    for (int i = OPS_COMPONENTS - 1; i >= 0; i--)
        if (ops_has(set, i))
            ids[count++] = r->x.component[i];
    err = eg_archetype_get(r->x.w, ids, count, staging, &out);
    if (ops_given_up(r, err))
        return 0;
    MUST_BE(err, EG_OK);
    if (r->m.archetype[staging][set] == 0)
        for (uint32_t k = 0; k < OPS_SETS; k++)
            MUST(r->m.archetype[0][k] != out && r->m.archetype[1][k] != out,
                 "two sets have one archetype");
    else
        MUST_BE(out, r->m.archetype[staging][set]);
    if (r->m.archetype[staging][set] == 0)
        for (int i = 0; i < OPS_COMPONENTS; i++)
            r->x.column[staging][set][i] =
                eg_archetype_column(r->x.w, out, r->x.component[i]);
    r->m.archetype[staging][set] = out;
    return out;
}

uint32_t ops_any_set(run *r)
{
    return ops_byte(r) % OPS_SETS;
}

double ops_any_id(run *r)
{
    static const double junk[] = {0,     -1,  0.5,       OPS_SLOTS + 1,
                                  1e300, NAN, 4194304.0, -4194304.0};
    uint32_t b = ops_byte(r), slot = 1 + b % OPS_SLOTS;

    if (b < 240)
        return ops_id_of(&r->m, slot);
    if (b < 248)
        return ops_id_of(&r->m, slot) + (b % 2 ? 4194304.0 : 0.5);
    return junk[b - 248];
}

double ops_chosen_id(run *r)
{
    uint32_t b = ops_byte(r), slot = 1 + b % OPS_SLOTS, how = ops_byte(r);
    int64_t next = r->m.slots[slot].highest + 1;

    if (how < 8)
        return ops_any_id(r);
    if (how < 12)
        return ops_id(slot, UINT32_C(2147483647) - how % 2);
    if (how < 100 || next > INT64_C(2147483646))
        return ops_id(slot, how % 4);
    return ops_id(slot, (uint32_t)next + how % 2);
}

void ops_write(run *r, uint32_t archetype, uint32_t row, uint32_t which,
               ops_cells *model)
{
    uint32_t value = ops_byte(r);

    for (int i = 0; i < OPS_COMPONENTS; i++) {
        unsigned char *column;

        if (!ops_has(which, i) || ops_size[i] == 0)
            continue;
        for (uint32_t k = 0; k < ops_size[i]; k++)
            model->of[i][k] = (unsigned char)(value + k * 3 + (uint32_t)i);
        column = eg_archetype_column(r->x.w, archetype, r->x.component[i]);
        MUST(column != NULL, "a column is missing");
        memcpy(column + (size_t)row * ops_size[i], model->of[i], ops_size[i]);
    }
}

/* One operation. The kinds that matter most come most often. */
static void operate(run *r)
{
    static const unsigned char kinds[] = {
        OPS_SPAWN,         OPS_SPAWN,        OPS_SPAWN,
        OPS_SPAWN_AT,      OPS_SPAWN_MANY,   OPS_DESPAWN,
        OPS_DESPAWN,       OPS_DESPAWN,      OPS_ADD,
        OPS_ADD,           OPS_REMOVE,       OPS_REMOVE,
        OPS_MOVE,          OPS_WRITE,        OPS_WRITE,
        OPS_STAGE_SPAWN,   OPS_STAGE_SPAWN,  OPS_STAGE_AT,
        OPS_STAGE_BATCH,   OPS_BATCH_AT,     OPS_STAGE_CHANGE,
        OPS_STAGE_CHANGE,  OPS_STAGE_CHANGE, OPS_STAGE_DESPAWN,
        OPS_STAGE_DESPAWN, OPS_DRAIN,        OPS_DRAIN,
        OPS_PAUSE,         OPS_PAUSE,        OPS_COMPACT,
        OPS_RESERVE,       OPS_QUERY,        OPS_ATTEND,
        OPS_SYNC,          OPS_FAIL,         OPS_FAIL,
        OPS_CLEAR,
    };
    uint32_t b = ops_byte(r);

    r->kind = kinds[b % sizeof kinds];
    if (r->kind == OPS_CLEAR && b >= sizeof kinds)
        r->kind = OPS_WRITE; /* rare: worlds should grow old */
    if (r->kind == OPS_FAIL) {
        /* One of the next requests fails, if the next operation makes it. */
        r->fail_at = r->requests + (long)(ops_byte(r) % 4);
        ops_did(r, OPS_FAIL);
        return;
    }
    ops_instant(r);
    ops_staged(r);
    ops_rest(r);
    r->fail_at = -1;
}

static void open_world(run *r)
{
    static const struct {
        const char *name;
        int32_t storage;
        uint32_t size, align;
    } defs[OPS_COMPONENTS] = {
        {"Tag", EG_TAG, 0, 0},       {"Flag", EG_BOOLEAN, 0, 0},
        {"Number", EG_NUMBER, 0, 0}, {"Odd", EG_RAW, 12, 4},
        {"Even", EG_RAW, 16, 8},     {"Bag", EG_HOST, 0, 0},
    };

    r->alloc.resize = run_resize;
    r->alloc.map = run_map;
    r->alloc.unmap = run_unmap;
    r->alloc.ctx = r;
    r->fail_at = -1;
    MUST_BE(eg_registry_new(&r->alloc, &r->x.registry), EG_OK);
    for (int i = 0; i < OPS_COMPONENTS; i++) {
        eg_component_def def;

        memset(&def, 0, sizeof def);
        def.name = defs[i].name;
        def.name_len = (uint32_t)strlen(defs[i].name);
        def.storage = defs[i].storage;
        def.size = defs[i].size;
        def.align = defs[i].align;
        MUST_BE(eg_component_register(r->x.registry, &def, &r->x.component[i]),
                EG_OK);
    }
    MUST_BE(eg_world_new(r->x.registry, OPS_SLOTS, &r->alloc, &r->x.w), EG_OK);
    ops_model_init(&r->m);
}

/* Ends early at the first difference; what the run holds is left then. */
static void attempt(run *r)
{
    if (setjmp(r->out) != 0)
        return;
    open_world(r);
    while (r->at < r->size) {
        const char *fault;

        r->failed = 0;
        operate(r);
        r->report->operations++;
        fault = ops_compare(&r->m, &r->x);
        MUST(fault == NULL, fault);
    }
    eg_world_free(r->x.w);
    eg_registry_release(r->x.registry);
    MUST(r->held == 0, "memory is not given back");
}

const char *ops_run(const uint8_t *data, size_t size, ops_report *report)
{
    run *r = calloc(1, sizeof *r);

    report->fault = NULL;
    if (r == NULL)
        return NULL;
    r->data = data;
    r->size = size;
    r->report = report;
    attempt(r);
    free(r);
    return report->fault;
}
