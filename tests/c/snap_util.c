/* SPDX-License-Identifier: MIT */
#include "snap_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SNAP_BLOCK_MAX ((size_t)1 << 30) /* larger requests fail */

static int fails(snap_memory *m)
{
    long call = m->calls++;

    return m->fail_at >= 0 &&
           (call == m->fail_at || (m->fail_on && call > m->fail_at));
}

static void *test_resize(void *ctx, void *p, size_t old_size, size_t size)
{
    snap_memory *m = ctx;
    void *grown;

    if (size == 0) {
        m->live -= old_size;
        free(p);
        return NULL;
    }
    if (fails(m) || size > SNAP_BLOCK_MAX)
        return NULL;
    /* A new block each time, so that stale addresses are found. */
    grown = malloc(size);
    assert_non_null(grown);
    memset(grown, 0xa5, size);
    m->live += size;
    if (m->live > m->peak)
        m->peak = m->live;
    if (p != NULL) {
        memcpy(grown, p, old_size < size ? old_size : size);
        free(p);
        m->live -= old_size;
    }
    return grown;
}

static void *test_map(void *ctx, size_t size)
{
    snap_memory *m = ctx;
    void *p;

    if (fails(m))
        return NULL;
    p = calloc(1, size);
    assert_non_null(p);
    m->mapped += size;
    return p;
}

static void test_unmap(void *ctx, void *p, size_t size)
{
    snap_memory *m = ctx;

    m->mapped -= size;
    free(p);
}

void snap_memory_init(snap_memory *m)
{
    memset(m, 0, sizeof *m);
    m->alloc.resize = test_resize;
    m->alloc.map = test_map;
    m->alloc.unmap = test_unmap;
    m->alloc.ctx = m;
    m->fail_at = -1;
}

void snap_memory_fini(snap_memory *m)
{
    assert_int_equal(m->live, 0);
    assert_int_equal(m->mapped, 0);
}

uint64_t snap_seed(void)
{
    const char *text = getenv("EG_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 20240607;

    printf("seed: EG_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

uint64_t snap_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint32_t snap_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(snap_random(state) % n);
}

void snap_put_text(egi_writer *w, const char *text)
{
    egi_put_string(w, text, strlen(text));
}

void snap_put_raw_double(egi_writer *w, double v)
{
    egi_put_raw(w, &v, sizeof v);
}

double snap_id(uint32_t slot, uint32_t generation)
{
    return (double)generation * 4194304.0 + (double)slot;
}

void snap_put_prelude(egi_writer *w, double next, double entities,
                      double records, double components)
{
    egi_put_number(w, EG_SNAPSHOT_VERSION);
    egi_put_number(w, next);
    egi_put_number(w, entities);
    egi_put_number(w, records);
    egi_put_number(w, components);
}

void snap_put_component(egi_writer *w, const char *name,
                        const char *fingerprint)
{
    snap_put_text(w, name);
    snap_put_text(w, fingerprint);
}

void snap_put_key(egi_writer *w, const char *key)
{
    egi_put_bool(w, 1);
    snap_put_text(w, key);
}

void snap_put_fields(egi_writer *w, const uint32_t *fields, size_t n)
{
    egi_put_string_head(w, n * 4);
    for (size_t i = 0; i < n; i++)
        egi_put_u32(w, fields[i]);
}

/* Live: 1 2 3 4 6 9. Slot 9 once held a higher generation. */
const uint32_t snap_sample_allocator[] = {
    12, 5,           1,  1,          /* high, free, retired, floors */
    12, 3,                           /* free list */
    7,  0x80000000u, 2,              /* 7, 8: never used */
    5,  2,           11, 0x7fffffff, /* the last generation there is */
    10,                              /* retired */
    9,  7,                           /* floor */
};
const size_t snap_sample_allocator_count =
    sizeof snap_sample_allocator / sizeof snap_sample_allocator[0];

static void sample_records(egi_writer *w)
{
    static const uint8_t flags[16] = {1, 0, 0, 0, 0, 0, 0x80, 0x3f,
                                      0, 0, 0, 0, 0, 0, 0xc0, 0x7f};

    /* Name, Pos: one encoded and one raw column, three rows */
    egi_put_number(w, 2);
    egi_put_number(w, 3);
    egi_put_number(w, 2);
    egi_put_number(w, 3);
    egi_put_number(w, 0);
    snap_put_raw_double(w, snap_id(1, 0));
    snap_put_raw_double(w, snap_id(2, 1));
    snap_put_raw_double(w, snap_id(4, 0));
    for (int i = 0; i < 3; i++) {
        egi_put_hash(w, 2);
        snap_put_text(w, "hp");
        egi_put_number(w, i * 0.5);
        snap_put_text(w, "tags");
        egi_put_array(w, 2);
        snap_put_text(w, "a");
        egi_put_empty_table(w);
    }
    for (int i = 0; i < 6; i++)
        snap_put_raw_double(w, i + 0.25);
    /* Flags: raw with a bool, padding and the NaN */
    egi_put_number(w, 1);
    egi_put_number(w, 2);
    egi_put_number(w, 1);
    egi_put_number(w, 0);
    snap_put_raw_double(w, snap_id(6, 5));
    snap_put_raw_double(w, snap_id(3, 0));
    egi_put_raw(w, flags, sizeof flags);
    /* Name, Tag by rows */
    egi_put_number(w, 2);
    egi_put_number(w, 1);
    egi_put_number(w, 2);
    egi_put_number(w, 4);
    egi_put_number(w, 1);
    egi_put_number(w, snap_id(9, 2));
    egi_put_number(w, 2);
    egi_put_bool(w, 1);
}

static void sample_data(egi_writer *w)
{
    snap_put_key(w, "notes");
    egi_put_array(w, 3);
    egi_put_int64(w, -5);
    egi_put_uint64(w, UINT64_MAX);
    egi_put_nil(w);
    snap_put_key(w, "__engram.states");
    egi_put_array(w, 2);
    snap_put_text(w, "Menu");
    snap_put_text(w, "Game");
    snap_put_key(w, "__engram.pipeline");
    egi_put_hash(w, 3);
    snap_put_text(w, "accumulator");
    egi_put_number(w, 0.015);
    snap_put_text(w, "fixedStepCount");
    egi_put_number(w, 1234);
    snap_put_text(w, "phases");
    egi_put_hash(w, 1);
    snap_put_text(w, "Update");
    egi_put_bool(w, 0);
    snap_put_key(w, "__engram.versions");
    egi_put_hash(w, 1);
    snap_put_text(w, "Pos");
    egi_put_number(w, 3);
    snap_put_key(w, "__engram.allocator");
    snap_put_fields(w, snap_sample_allocator, snap_sample_allocator_count);
    snap_put_key(w, "__engram.later");
    egi_put_bool(w, 1);
    egi_put_bool(w, 0);
}

void snap_sample(egi_buffer *b)
{
    egi_writer w;

    egi_writer_init_buffer(&w, b);
    snap_put_prelude(&w, 13, 6, 3, 4);
    snap_put_component(&w, "Flags", "on:bool,w:f32|8");
    snap_put_component(&w, "Name", "");
    snap_put_component(&w, "Pos", "x:f64,y:f64|16");
    snap_put_component(&w, "Tag", "");
    sample_records(&w);
    sample_data(&w);
    assert_int_equal(egi_writer_end(&w), EG_OK);
}
