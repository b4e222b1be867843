/* SPDX-License-Identifier: MIT */
/* The walk over one encoded value: a loop with a stack of open tables.
 *
 * Keys are remembered in cells, two per pair. A table of up to SMALL pairs
 * compares each new key with those before it: the first cell holds the number,
 * or the first bytes of the string and its length, the second one the offset
 * and the kind. A larger table uses its cells as the slots of a keyset. Cells
 * form a stack as well; tables close in reverse order. */
#include "core/snap/eg_shape.h"
#include "core/snap/eg_value.h"

#include <string.h>

#include "core/base/eg_assert.h"
#include "core/snap/eg_key.h"

enum { SMALL = 16, FRAMES_FIRST = 16, CELLS_FIRST = 64 };

/* One open table. */
typedef struct egi_walk_frame {
    size_t cells;  /* index of its first cell */
    size_t probes; /* state of its keyset */
    uint32_t key;
    uint32_t slots; /* array values still to come */
    uint32_t pairs; /* pairs still to come */
    uint32_t pairs_all;
    uint32_t first; /* keys of the array part: first .. first + n - 1 */
    uint32_t slots_all;
} egi_walk_frame;

typedef struct walk {
    egi_reader *r;
    egi_walker *w;
    size_t open;   /* frames in use */
    size_t cells;  /* cells in use */
    uint64_t owed; /* bytes that open tables need at least */
} walk;

void egi_walker_init(egi_walker *w, const eg_allocator *alloc, uint32_t depth)
{
    memset(w, 0, sizeof *w);
    w->alloc = alloc;
    w->depth = depth;
}

void egi_walker_fini(egi_walker *w)
{
    if (w->frames != NULL)
        egi_free(w->alloc, w->frames, w->frame_capacity * sizeof *w->frames);
    if (w->cells != NULL)
        egi_free(w->alloc, w->cells, w->cell_capacity * sizeof *w->cells);
    egi_walker_init(w, w->alloc, w->depth);
}

static int out_of_memory(egi_reader *r)
{
    return egi_reader_fail(r, EG_ENOMEM, r->mark, "out of memory", EGI_LINE);
}

/* Grows an array of `size`-byte elements to hold `need`, at least doubling. */
static int grow(walk *k, void **p, size_t *capacity, size_t need, size_t first,
                size_t size)
{
    size_t wanted = *capacity == 0 ? first : *capacity;
    size_t bytes;
    void *grown;

    if (need <= *capacity)
        return EG_OK;
    if (wanted < need && egi_mul_size(wanted, 2, &wanted) != EG_OK)
        return out_of_memory(k->r);
    if (wanted < need)
        wanted = need;
    if (egi_mul_size(wanted, size, &bytes) != EG_OK)
        return out_of_memory(k->r);
    grown = egi_resize(k->w->alloc, *p, *capacity * size, bytes);
    if (grown == NULL)
        return out_of_memory(k->r);
    *p = grown;
    *capacity = wanted;
    return EG_OK;
}

/* The keyset of a large table, put together from its frame. */
static egi_keyset keyset_of(const walk *k, const egi_walk_frame *f)
{
    egi_keyset set;

    set.ops = &egi_key_ops;
    set.ctx = k->r;
    set.alloc = k->w->alloc;
    set.slots = k->w->cells + f->cells;
    set.capacity = (size_t)f->pairs_all * 2;
    set.probes = f->probes;
    set.key = f->key;
    return set;
}

static int add_large(walk *k, egi_walk_frame *f, size_t at)
{
    egi_keyset set = keyset_of(k, f);
    int result = egi_keyset_add(&set, at);

    f->probes = set.probes;
    f->key = set.key;
    if (result == EGI_KEYSET_NEW)
        return EG_OK;
    if (result == EG_ENOMEM)
        return out_of_memory(k->r);
    return EGI_CORRUPT(k->r, result == EGI_KEYSET_TWICE
                                 ? "key comes twice"
                                 : "keys made to collide");
}

static int add_small(walk *k, const egi_walk_frame *f, const egi_key *key,
                     size_t at)
{
    uint64_t *cell = k->w->cells + f->cells;
    size_t seen = f->pairs_all - f->pairs - 1;
    uint64_t kind = (uint64_t)key->kind;

    for (size_t i = 0; i < seen; i++, cell += 2) {
        if (cell[0] != key->bits || (cell[1] & 3) != kind)
            continue;
        if (kind != EGI_KEY_LONG ||
            egi_key_equal(k->r, cell[1] >> EGI_KEY_KIND_BITS, at))
            return EGI_CORRUPT(k->r, "key comes twice");
    }
    cell[0] = key->bits;
    cell[1] = (uint64_t)at << EGI_KEY_KIND_BITS | kind;
    return EG_OK;
}

/* 1 when the key is one of the array part's. */
static int in_array(const egi_walk_frame *f, const egi_key *key)
{
    double v;

    if (key->kind != EGI_KEY_NUMBER || f->slots_all == 0)
        return 0;
    memcpy(&v, &key->bits, sizeof v);
    return v >= (double)f->first &&
           v < (double)f->first + (double)f->slots_all &&
           (double)(uint64_t)v == v;
}

/* Reads the key of the next pair, whose frame counts it already. */
static int walk_key(walk *k, egi_walk_frame *f)
{
    egi_reader *r = k->r;
    size_t at = r->pos;
    egi_key key;

    if (egi_key_read(r, &key) != EG_OK)
        return r->error;
    if (in_array(f, &key))
        return EGI_CORRUPT(r, "key is in the array part as well");
    if (f->pairs_all <= SMALL)
        return add_small(k, f, &key, at);
    return add_large(k, f, at);
}

/* Opens a table whose head has been read. */
static int walk_table(walk *k, const egi_head *h)
{
    egi_reader *r = k->r;
    size_t left = egi_reader_left(r);
    uint64_t need = (uint64_t)h->slots + (uint64_t)h->pairs * 2;
    size_t cells = (size_t)h->pairs * 2;
    egi_walk_frame *f;

    if (k->open >= k->w->depth)
        return EGI_OVER_LIMIT(r, r->mark, "nested too deep");
    if (need > left || k->owed > left - need)
        return EGI_TRUNCATED(r, r->mark,
                             "table needs more bytes than are left");
    if (need == 0)
        return EG_OK;
    if (grow(k, (void **)&k->w->frames, &k->w->frame_capacity, k->open + 1,
             FRAMES_FIRST, sizeof *f) != EG_OK ||
        grow(k, (void **)&k->w->cells, &k->w->cell_capacity, k->cells + cells,
             CELLS_FIRST, sizeof *k->w->cells) != EG_OK)
        return r->error;
    f = &k->w->frames[k->open++];
    f->cells = k->cells;
    f->slots = f->slots_all = h->slots;
    f->pairs = f->pairs_all = h->pairs;
    f->first = h->first;
    k->cells += cells;
    k->owed += need;
    if (h->pairs > SMALL) {
        egi_keyset set = keyset_of(k, f);

        egi_keyset_init(&set);
        f->probes = set.probes;
        f->key = set.key;
    }
    return EG_OK;
}

/* Size of the scalar at p, or 0 where the general code must look: a table, a
 * string of a long head, anything that is wrong. p < end. */
static inline size_t simple_size(const uint8_t *p, const uint8_t *end)
{
    unsigned tag = p[0];
    size_t left = (size_t)(end - p);
    size_t size = 0;

    if (tag >= EGI_TAG_STRING)
        size = tag < EGI_U_TWO ? tag - EGI_TAG_STRING + 1 : 0;
    else if (tag <= EGI_TAG_TRUE)
        size = 1;
    else if (tag == EGI_TAG_INT32)
        size = 5;
    else if (tag == EGI_TAG_DOUBLE && left >= 9)
        size = egi_is_nan64(egi_load_u64(p + 1)) ? 0 : 9;
    return size <= left ? size : 0;
}

/* Steps over up to `count` simple values; returns how many there were. */
static size_t run_values(egi_reader *r, size_t count)
{
    const uint8_t *p = r->data + r->pos;
    const uint8_t *end = r->data + r->len;
    size_t n = 0;

    for (; n < count && p < end; n++) {
        size_t size = simple_size(p, end);

        if (size == 0)
            break;
        p += size;
    }
    r->pos = (size_t)(p - r->data);
    return n;
}

/* 1 when one of `n` cells holds these bits as a short string. */
static inline int seen_short(const uint64_t *cell, size_t n, uint64_t bits)
{
    for (size_t i = 0; i < n; i++) {
        if (cell[2 * i] == bits && (cell[2 * i + 1] & 3) == EGI_KEY_SHORT)
            return 1;
    }
    return 0;
}

/* The usual case, rows of a few named scalars: steps over pairs of a small
 * table as long as the key is a short string and the value is simple. */
static void run_pairs(walk *k, egi_walk_frame *f)
{
    egi_reader *r = k->r;
    const uint8_t *p = r->data + r->pos;
    const uint8_t *end = r->data + r->len;
    uint64_t *cell = k->w->cells + f->cells;

    while (f->pairs > 0 && end - p > 9) {
        size_t len = (size_t)p[0] - EGI_TAG_STRING;
        size_t seen = f->pairs_all - f->pairs;
        uint64_t bits;
        size_t size;

        if (p[0] < EGI_TAG_STRING || len >= 8)
            break;
        bits = egi_key_word(p + 1, len, 8);
        size = simple_size(p + 1 + len, end);
        if (size == 0 || seen_short(cell, seen, bits))
            break;
        cell[2 * seen] = bits;
        cell[2 * seen + 1] = EGI_KEY_SHORT;
        p += 1 + len + size;
        f->pairs--;
        k->owed -= 2;
    }
    r->pos = (size_t)(p - r->data);
}

/* Reads one scalar, or opens one table. */
static int walk_value(walk *k)
{
    egi_reader *r = k->r;
    egi_head h;

    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    if (h.tag == EGI_TAG_STRING) {
        r->pos += h.len;
        return EG_OK;
    }
    if (h.tag >= EGI_TAG_TABLE && h.tag <= EGI_TAG_TABLE_LAST)
        return walk_table(k, &h);
    return EG_OK;
}

/* Moves on to the next value that is due: closes tables that are complete and
 * reads the key of a pair. */
static int walk_next(walk *k)
{
    while (k->open > 0) {
        egi_walk_frame *f = &k->w->frames[k->open - 1];

        if (f->slots > 0) {
            uint32_t n = (uint32_t)run_values(k->r, f->slots);

            f->slots -= n;
            k->owed -= n;
        }
        if (f->slots == 0 && f->pairs > 0 && f->pairs_all <= SMALL)
            run_pairs(k, f);
        if (f->slots > 0) {
            f->slots--;
            k->owed--;
            return EG_OK;
        }
        if (f->pairs > 0) {
            f->pairs--;
            k->owed -= 2;
            return walk_key(k, f);
        }
        k->cells = f->cells;
        k->open--;
    }
    return EG_OK;
}

int egi_value_skip(egi_reader *r, egi_walker *w)
{
    walk k;

    k.r = r;
    k.w = w;
    k.open = 0;
    k.cells = 0;
    k.owed = 0;
    if (r->len > EGI_KEYSET_ITEM_MAX)
        return EGI_OVER_LIMIT(r, r->pos, "input of more than 1 TiB");
    do {
        if (walk_value(&k) != EG_OK || walk_next(&k) != EG_OK)
            return r->error;
    } while (k.open > 0);
    return EG_OK;
}

int egi_value_skip_many(egi_reader *r, egi_walker *w, size_t count)
{
    egi_shape shape;

    shape.count = 0;
    if (r->error != EG_OK)
        return r->error;
    if (count > egi_reader_left(r))
        return EGI_TRUNCATED(r, r->pos, "more values than bytes left");
    while (count > 0) {
        size_t at;

        count -= run_values(r, count);
        count -= egi_shape_run(&shape, r, count);
        at = r->pos;
        if (count > 0 && egi_value_skip(r, w) != EG_OK)
            return r->error;
        count -= count > 0;
        egi_shape_learn(&shape, r, at);
    }
    return EG_OK;
}
