/* SPDX-License-Identifier: MIT */
/* The walk over one encoded value: a loop with a stack of open tables.
 *
 * Keys are remembered in cells, two per pair. A table of up to SMALL pairs
 * compares each new key with those before it: the first cell holds the number,
 * or the first bytes of the string and its length, the second one the offset
 * and the kind. A larger table uses its cells as the slots of a keyset. Cells
 * form a stack as well; tables close in reverse order. */
#include "core/snap/eg_value.h"

#include <string.h>

#include "core/base/eg_assert.h"
#include "core/snap/eg_keyset.h"

enum { SMALL = 16, FRAMES_FIRST = 16, CELLS_FIRST = 64 };

enum key_kind { KEY_NUMBER, KEY_BOOL, KEY_SHORT, KEY_LONG, KEY_KIND_BITS = 2 };

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

/* A key, told apart by its first two members unless it is a long string. */
typedef struct table_key {
    uint64_t bits;
    enum key_kind kind;
    const uint8_t *bytes; /* long string */
    size_t len;
} table_key;

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

/* 0 and -0 are one key. */
static uint64_t number_bits(const egi_head *h)
{
    double v = egi_head_number(h) + 0.0;
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The first bytes of a string in one word; `left` bytes can be read. */
static uint64_t word_of(const uint8_t *p, size_t len, size_t left)
{
    uint64_t v = 0;

    if (len >= 8)
        return egi_load_u64(p) ^ (uint64_t)len * UINT64_C(0x9e3779b97f4a7c15);
    if (left >= 8)
        v = egi_load_u64(p) & ((UINT64_C(1) << (8 * len)) - 1);
    else
        for (size_t i = 0; i < len; i++)
            v |= (uint64_t)p[i] << (8 * i);
    return v | (uint64_t)len << 56;
}

static int read_key(egi_reader *r, table_key *key)
{
    static const table_key none = {0, KEY_NUMBER, NULL, 0};
    egi_head h;

    *key = none;
    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    switch (h.tag) {
    case EGI_TAG_STRING:
        key->bytes = r->data + r->pos;
        key->len = h.len;
        key->bits = word_of(key->bytes, h.len, egi_reader_left(r));
        key->kind = h.len < 8 ? KEY_SHORT : KEY_LONG;
        r->pos += h.len;
        return EG_OK;
    case EGI_TAG_INT32:
    case EGI_TAG_DOUBLE:
        key->bits = number_bits(&h);
        key->kind = KEY_NUMBER;
        if (egi_is_nan64(key->bits))
            return EGI_CORRUPT(r, "NaN as a key");
        return EG_OK;
    case EGI_TAG_FALSE:
    case EGI_TAG_TRUE:
        key->bits = h.tag;
        key->kind = KEY_BOOL;
        return EG_OK;
    case EGI_TAG_NIL:
        return EGI_CORRUPT(r, "nil as a key");
    case EGI_TAG_INT64:
    case EGI_TAG_UINT64:
        return EGI_CORRUPT(r, "64-bit integer as a key");
    default:
        return EGI_CORRUPT(r, "table as a key");
    }
}

/* Reads a key again that a walk has accepted. */
static void key_at(const egi_reader *r, uint64_t at, table_key *key)
{
    egi_reader again = *r;
    int err;

    again.pos = (size_t)at;
    err = read_key(&again, key);
    egi_assert(err == EG_OK);
    (void)err;
}

static int same_key(const table_key *a, const table_key *b)
{
    if (a->kind != b->kind || a->bits != b->bits)
        return 0;
    return a->kind != KEY_LONG ||
           (a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0);
}

static uint64_t hash_key(const void *ctx, uint64_t item, uint64_t seed)
{
    table_key key;

    key_at(ctx, item, &key);
    if (key.kind == KEY_LONG)
        return egi_keyed_hash(key.bytes, key.len, seed);
    return egi_keyed_hash(&key.bits, sizeof key.bits,
                          seed ^ (uint64_t)key.kind << 32);
}

static int equal_keys(const void *ctx, uint64_t a, uint64_t b)
{
    table_key x;
    table_key y;

    key_at(ctx, a, &x);
    key_at(ctx, b, &y);
    return same_key(&x, &y);
}

static const egi_keyset_ops key_ops = {hash_key, equal_keys};

/* The keyset of a large table, put together from its frame. */
static egi_keyset keyset_of(const walk *k, const egi_walk_frame *f)
{
    egi_keyset set;

    set.ops = &key_ops;
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

static int add_small(walk *k, const egi_walk_frame *f, const table_key *key,
                     size_t at)
{
    uint64_t *cell = k->w->cells + f->cells;
    size_t seen = f->pairs_all - f->pairs - 1;
    uint64_t kind = (uint64_t)key->kind;

    for (size_t i = 0; i < seen; i++, cell += 2) {
        if (cell[0] != key->bits || (cell[1] & 3) != kind)
            continue;
        if (kind != KEY_LONG || equal_keys(k->r, cell[1] >> KEY_KIND_BITS, at))
            return EGI_CORRUPT(k->r, "key comes twice");
    }
    cell[0] = key->bits;
    cell[1] = (uint64_t)at << KEY_KIND_BITS | kind;
    return EG_OK;
}

/* 1 when the key is one of the array part's. */
static int in_array(const egi_walk_frame *f, const table_key *key)
{
    double v;

    if (key->kind != KEY_NUMBER || f->slots_all == 0)
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
    table_key key;

    if (read_key(r, &key) != EG_OK)
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
        if (cell[2 * i] == bits && (cell[2 * i + 1] & 3) == KEY_SHORT)
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
        bits = word_of(p + 1, len, 8);
        size = simple_size(p + 1 + len, end);
        if (size == 0 || seen_short(cell, seen, bits))
            break;
        cell[2 * seen] = bits;
        cell[2 * seen + 1] = KEY_SHORT;
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
    if (r->error != EG_OK)
        return r->error;
    if (count > egi_reader_left(r))
        return EGI_TRUNCATED(r, r->pos, "more values than bytes left");
    while (count > 0) {
        count -= run_values(r, count);
        if (count > 0 && egi_value_skip(r, w) != EG_OK)
            return r->error;
        count -= count > 0;
    }
    return EG_OK;
}
