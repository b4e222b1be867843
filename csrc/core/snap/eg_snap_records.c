/* SPDX-License-Identifier: MIT */
/* The records of a snapshot: sets of components with their rows. */
#include <string.h>

#include "core/base/eg_assert.h"
#include "core/snap/eg_keyset.h"
#include "core/snap/eg_snap_verify.h"

enum {
    INDEX_MIN = 5,   /* bytes of an encoded number, at least */
    ROW_MIN = 10,    /* mode 1: an id and a mask */
    MASKS_FROM = 64, /* rows that make masks worth while */
    RUN = 64         /* ids taken at once: the bits of a word of slots */
};

/* -- ids ------------------------------------------------------------------- */

/* Checks an id by its bits, marks its slot. */
static int take_id(eg_snap *s, egi_reader *r, size_t at, uint64_t bits)
{
    double id;
    int64_t n; /* signed: the conversion is one instruction */
    uint32_t slot;

    if (bits - EGI_ID_BITS_FIRST > EGI_ID_BITS_LAST - EGI_ID_BITS_FIRST)
        return EGI_CORRUPT_AT(r, at, "not an entity id");
    memcpy(&id, &bits, sizeof id);
    n = (int64_t)id;
    slot = (uint32_t)(n & EG_MAX_ENTITIES);
    if ((double)n != id || slot == 0)
        return EGI_CORRUPT_AT(r, at, "not an entity id");
    if (!egi_snap_mark(s, slot))
        return EGI_CORRUPT_AT(r, at, "two ids for one slot");
    return EG_OK;
}

/* Marks RUN slots in a row; 0, and nothing is marked, when one was before. */
static int mark_run(eg_snap *s, uint32_t slot)
{
    uint64_t *word = &s->slots[slot / RUN];
    uint32_t shift = slot % RUN;
    uint64_t low = ~UINT64_C(0) << shift;
    uint64_t high = ~low;

    if ((word[0] & low) != 0 || (high != 0 && (word[1] & high) != 0))
        return 0;
    word[0] |= low;
    if (high != 0)
        word[1] |= high;
    if (slot + RUN - 1 > s->slots_high)
        s->slots_high = slot + RUN - 1;
    return 1;
}

/* Spawn order, the usual one: takes RUN ids that count up by one all together.
 * Returns 0 when they are not like that, and nothing was taken. */
static int take_run(eg_snap *s, const uint8_t *p)
{
    uint64_t bits = egi_load_u64(p);
    uint64_t other = 0;
    double id;
    uint32_t slot;

    if (bits - EGI_ID_BITS_FIRST > EGI_ID_BITS_LAST - EGI_ID_BITS_FIRST)
        return 0;
    memcpy(&id, &bits, sizeof id);
    slot = (uint32_t)((int64_t)id & EG_MAX_ENTITIES);
    if ((double)(int64_t)id != id || slot == 0 || slot > EG_MAX_ENTITIES - RUN)
        return 0;
    for (size_t i = 0; i < RUN; i++) {
        double next = id + (double)(int)i;

        memcpy(&bits, &next, sizeof bits);
        other |= bits ^ egi_load_u64(p + 8 * i);
    }
    return other == 0 && mark_run(s, slot);
}

static int read_raw_ids(eg_snap *s, egi_reader *r, uint32_t rows)
{
    const uint8_t *p;
    uint32_t i = 0;

    if (egi_read_raw(r, (size_t)rows * 8, &p) != EG_OK)
        return r->error;
    while (i < rows) {
        uint32_t end = rows - i < RUN ? rows : i + RUN;

        if (rows - i >= RUN && take_run(s, p + (size_t)i * 8)) {
            i = end;
            continue;
        }
        for (; i < end; i++) {
            const uint8_t *at = p + (size_t)i * 8;

            if (take_id(s, r, (size_t)(at - r->data), egi_load_u64(at)) !=
                EG_OK)
                return r->error;
        }
    }
    return EG_OK;
}

/* An id that is an encoded number. */
static int read_id(eg_snap *s, egi_reader *r)
{
    double id;
    uint64_t bits;

    if (egi_read_number(r, &id) != EG_OK)
        return r->error;
    memcpy(&bits, &id, sizeof bits);
    return take_id(s, r, r->mark, bits);
}

/* -- columns --------------------------------------------------------------- */

int egi_snap_use_masks(eg_snap *s, egi_snap_schema *schema, size_t rows)
{
    egi_column *c = &schema->column;
    size_t words = egi_column_mask_words(c);

    if (words == 0)
        return EG_OK;
    if (schema->masks == 0) {
        /* Short columns are gone through field by field. So masks never take
         * more memory, nor time, than the columns they serve. */
        if (rows < MASKS_FROM || rows * c->size < words * sizeof(uint64_t))
            return EG_OK;
        if (egi_pool_reserve(&s->alloc, &s->masks, words, sizeof(uint64_t)) !=
            EG_OK)
            return EG_ENOMEM;
        schema->masks = s->masks.count + 1;
        s->masks.count += words;
        egi_column_use_masks(c, (uint64_t *)s->masks.data + schema->masks - 1);
    }
    /* The pool may have moved since. */
    c->masks = (uint64_t *)s->masks.data + schema->masks - 1;
    return EG_OK;
}

static int read_raw_column(eg_snap *s, egi_reader *r, egi_snap_schema *schema,
                           uint32_t rows, unsigned flags)
{
    const uint8_t *p;
    size_t bytes;
    size_t bad = 0;
    int err;

    if (egi_mul_size(rows, schema->column.size, &bytes) != EG_OK)
        return EGI_TRUNCATED(r, r->pos, "column longer than the address space");
    if (egi_read_raw(r, bytes, &p) != EG_OK)
        return r->error;
    if ((flags & EGI_SNAP_DEFER) || !schema->column.checks)
        return EG_OK;
    if (egi_snap_use_masks(s, schema, rows) != EG_OK)
        return egi_snap_no_memory(r);
    err = egi_column_check(&schema->column, p, rows, &bad);
    schema->column.masks = NULL;
    if (err != EG_OK)
        return EGI_CORRUPT_AT(r, (size_t)(p - r->data) + bad,
                              "bad value in a raw column");
    return EG_OK;
}

static int read_column(eg_snap *s, egi_reader *r, const egi_snap_record *rec,
                       size_t index, unsigned flags)
{
    egi_snap_schema *schema = egi_snap_schema_of(s, egi_snap_ids(s)[index]);
    egi_snap_column *c = &egi_snap_columns(s)[index];
    int err;

    c->offset = r->pos;
    err = schema != NULL ? read_raw_column(s, r, schema, rec->rows, flags)
                         : egi_value_skip_many(r, &s->walker, rec->rows);
    c->length = r->pos - c->offset;
    return err;
}

static int read_by_columns(eg_snap *s, egi_reader *r,
                           const egi_snap_record *rec, unsigned flags)
{
    if (read_raw_ids(s, r, rec->rows) != EG_OK)
        return r->error;
    for (uint32_t i = 0; i < rec->column_count; i++) {
        if (read_column(s, r, rec, rec->columns + i, flags) != EG_OK)
            return r->error;
    }
    return EG_OK;
}

static int read_by_rows(eg_snap *s, egi_reader *r, const egi_snap_record *rec)
{
    uint64_t most = (UINT64_C(1) << rec->column_count) - 1;
    uint64_t mask;

    for (uint32_t i = 0; i < rec->rows; i++) {
        size_t values = 0;

        if (read_id(s, r) != EG_OK ||
            egi_read_count(r, most, &mask, "bad presence mask") != EG_OK)
            return r->error;
        for (; mask != 0; mask &= mask - 1)
            values++;
        if (egi_value_skip_many(r, &s->walker, values) != EG_OK)
            return r->error;
    }
    return EG_OK;
}

/* -- records --------------------------------------------------------------- */

/* The component indices of a record, strictly ascending. */
static int read_indices(eg_snap *s, egi_reader *r, egi_snap_record *rec)
{
    uint64_t last = 0;
    uint64_t index;

    if (egi_pool_reserve(&s->alloc, &s->ids, rec->column_count,
                         sizeof(uint32_t)) != EG_OK ||
        egi_pool_reserve(&s->alloc, &s->columns, rec->column_count,
                         sizeof(egi_snap_column)) != EG_OK)
        return egi_snap_no_memory(r);
    rec->columns = s->ids.count;
    for (uint32_t i = 0; i < rec->column_count; i++) {
        egi_snap_column *c = &egi_snap_columns(s)[rec->columns + i];

        if (egi_read_count(r, s->components.count, &index,
                           "bad component index") != EG_OK)
            return r->error;
        if (index <= last)
            return EGI_CORRUPT(r, "component indices do not ascend");
        last = index;
        egi_snap_ids(s)[rec->columns + i] = (uint32_t)index - 1;
        c->offset = 0;
        c->length = 0;
    }
    s->ids.count += rec->column_count;
    s->columns.count += rec->column_count;
    return EG_OK;
}

static int read_head(eg_snap *s, egi_reader *r, egi_snap_record *rec)
{
    uint64_t columns;
    uint64_t rows;
    uint64_t mode;

    if (egi_read_count(r, s->components.count, &columns, "bad column count") !=
        EG_OK)
        return r->error;
    if (columns > egi_reader_left(r) / INDEX_MIN)
        return EGI_TRUNCATED(r, r->mark, "more columns than bytes left");
    if (egi_read_count(r, EG_MAX_ENTITIES, &rows, "bad row count") != EG_OK)
        return r->error;
    if (rows > s->entities - s->rows)
        return EGI_CORRUPT(r, "more rows than the prelude states");
    rec->column_count = (uint32_t)columns;
    rec->rows = (uint32_t)rows;
    if (read_indices(s, r, rec) != EG_OK ||
        egi_read_count(r, EGI_MODE_ROWS, &mode, "unknown mode") != EG_OK)
        return r->error;
    rec->mode = (uint32_t)mode;
    if (mode == EGI_MODE_ROWS && columns > EGI_MODE_ROWS_MAX)
        return EGI_CORRUPT(r, "more than 52 columns by rows");
    if (rows > egi_reader_left(r) / (mode == EGI_MODE_ROWS ? ROW_MIN : 8))
        return EGI_TRUNCATED(r, r->mark, "more rows than bytes left");
    return EG_OK;
}

static int read_record(eg_snap *s, egi_reader *r, unsigned flags)
{
    egi_snap_record rec = {0, 0, 0, 0, 0, 0};
    int err;

    if (read_head(s, r, &rec) != EG_OK)
        return r->error;
    rec.at = r->pos;
    err = rec.mode == EGI_MODE_ROWS ? read_by_rows(s, r, &rec)
                                    : read_by_columns(s, r, &rec, flags);
    if (err != EG_OK)
        return err;
    rec.end = r->pos;
    s->rows += rec.rows;
    egi_snap_records(s)[s->records.count++] = rec;
    return EG_OK;
}

/* The set of a record as bytes. */
static const void *set_of(const eg_snap *s, const egi_snap_record *rec)
{
    static const uint32_t none = 0;

    return rec->column_count > 0 ? egi_snap_ids(s) + rec->columns : &none;
}

static uint64_t hash_set(const void *ctx, uint64_t item, uint64_t seed)
{
    const eg_snap *s = ctx;
    const egi_snap_record *rec = &egi_snap_records(s)[item];

    return egi_keyed_hash(set_of(s, rec), rec->column_count * sizeof(uint32_t),
                          seed);
}

static int equal_sets(const void *ctx, uint64_t a, uint64_t b)
{
    const eg_snap *s = ctx;
    const egi_snap_record *x = &egi_snap_records(s)[a];
    const egi_snap_record *y = &egi_snap_records(s)[b];

    return x->column_count == y->column_count &&
           memcmp(set_of(s, x), set_of(s, y),
                  x->column_count * sizeof(uint32_t)) == 0;
}

/* Adds the record just read to those before it. */
static int check_set(eg_snap *s, egi_reader *r, egi_keyset *set, size_t at)
{
    int result = egi_keyset_add(set, s->records.count - 1);

    if (result == EGI_KEYSET_NEW)
        return EG_OK;
    if (result == EG_ENOMEM)
        return egi_snap_no_memory(r);
    return EGI_CORRUPT_AT(r, at,
                          result == EGI_KEYSET_TWICE
                              ? "two archetypes with one set of columns"
                              : "sets of columns made to collide");
}

int egi_snap_read_records(eg_snap *s, egi_reader *r, unsigned flags)
{
    static const egi_keyset_ops ops = {hash_set, equal_sets};
    size_t n = s->stated_records;
    egi_keyset set = {&ops, s, &s->alloc, NULL, 2 * n + 2, 0, 0};

    if (egi_pool_reserve(&s->alloc, &s->records, n, sizeof(egi_snap_record)) !=
            EG_OK ||
        egi_pool_reserve(&s->alloc, &s->set, set.capacity, sizeof *set.slots) !=
            EG_OK)
        return egi_snap_no_memory(r);
    set.slots = s->set.data;
    egi_keyset_init(&set);
    for (size_t i = 0; i < n; i++) {
        size_t at = r->pos;

        if (read_record(s, r, flags) != EG_OK ||
            check_set(s, r, &set, at) != EG_OK)
            return r->error;
    }
    if (s->rows != s->entities)
        return EGI_CORRUPT_AT(r, r->pos, "fewer rows than the prelude states");
    s->high_slot = s->slots_high;
    return EG_OK;
}
