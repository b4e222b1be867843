/* SPDX-License-Identifier: MIT */
/* A verified snapshot, as the loader sees it.
 *
 * The index is kept in pools of plain structs that hold offsets, never pointers
 * into the input, but for the names of fields. A document is filled in file
 * order by eg_snap_verify.c (prelude, data), eg_snap_records.c and
 * eg_snap_reserved.c; eg_snap_doc.c owns its memory and answers questions.
 *
 * Invariants of an open document: component names differ; every raw column has
 * a schema and lies within the input; every encoded value has been walked; ids
 * are integers below 2^53 with slots from 1 to EG_MAX_ENTITIES, no slot twice;
 * rows add up to `entities`; no two records have one set of components.
 *
 * May include: base. */
#ifndef EGI_SNAP_VERIFY_H
#define EGI_SNAP_VERIFY_H

#include "core/snap/eg_column.h"
#include "core/snap/eg_value.h"
#include "include/eg_snapshot.h"

/* Elements of one size that grow together. */
typedef struct egi_pool {
    void *data;
    size_t count;           /* elements in use */
    size_t bytes;           /* memory held */
} egi_pool;

typedef struct egi_snap_component {
    size_t name_at;
    size_t fingerprint_at;
    uint32_t name_len;
    uint32_t fingerprint_len;
    uint32_t schema;        /* index + 1 into schemas; 0: none */
} egi_snap_component;

/* A parsed fingerprint. Fields, parts and masks lie in the pools. */
typedef struct egi_snap_schema {
    size_t fields;          /* index of the first */
    size_t field_count;
    size_t masks;           /* index + 1 of the first word; 0: none yet */
    egi_column column;      /* without masks but in egi_snap_use_masks */
} egi_snap_schema;

typedef struct egi_snap_record {
    size_t at;
    size_t end;
    size_t columns;         /* index of the first in `columns`, `ids` */
    uint32_t column_count;
    uint32_t rows;
    uint32_t mode;
} egi_snap_record;

typedef struct egi_snap_column {
    size_t offset;
    size_t length;
} egi_snap_column;

typedef struct egi_snap_entry {
    size_t key_at;
    size_t value_at;
    size_t value_len;
    uint32_t key_len;
    uint32_t kind;
} egi_snap_entry;

/* The allocator entry: counts, and offsets of its lists in the input. */
typedef struct egi_snap_allocator {
    uint32_t present;       /* 0: the snapshot has none */
    uint32_t high;
    uint32_t free_count;    /* slots, not list items */
    uint32_t retired_count;
    uint32_t floor_count;
    size_t free_at;
    size_t retired_at;
    size_t floors_at;
} egi_snap_allocator;

struct eg_snap {
    eg_allocator alloc;
    const uint8_t *data;
    size_t len;
    double next_id;
    uint32_t entities;
    uint32_t stated_records;
    uint32_t high_slot;
    uint32_t rows;          /* of the records so far */
    uint32_t reserved;      /* bit per reserved kind that was seen */
    egi_snap_allocator allocator;
    egi_pool components;    /* egi_snap_component */
    egi_pool schemas;       /* egi_snap_schema */
    egi_pool fields;        /* eg_field */
    egi_pool parts;         /* egi_part */
    egi_pool names;         /* char: field names written with escapes */
    egi_pool masks;         /* uint64_t */
    egi_pool records;       /* egi_snap_record */
    egi_pool columns;       /* egi_snap_column */
    egi_pool ids;           /* uint32_t: component indices of the columns */
    egi_pool entries;       /* egi_snap_entry */
    egi_pool set;           /* uint64_t: slots of the keyset in use */
    uint64_t *slots;        /* one bit per slot, clear between documents */
    uint32_t slots_high;    /* highest bit that may be set */
    egi_walker walker;
};

enum egi_snap_flags {
    EGI_SNAP_PRELUDE = 1,   /* end after the component table */
    EGI_SNAP_DEFER = 2      /* raw columns are left to egi_column_load */
};

/* eg_snap_open with flags. */
int egi_snap_open(const eg_allocator *a, const void *data, size_t len,
                  const eg_limits *lim, unsigned flags, eg_snap **snap,
                  eg_snap_error *err);

/* -- memory (eg_snap_doc.c) ----------------------------------------------- */

/* Makes room for `more` elements behind those in use. EG_ENOMEM changes
 * nothing. */
int egi_pool_reserve(const eg_allocator *a, egi_pool *p, size_t more,
                     size_t size);
/* Makes a document with empty pools. */
int egi_snap_new(const eg_allocator *a, eg_snap **out);
/* Empties a document, keeps its memory. */
void egi_snap_reset(eg_snap *s);

static inline egi_snap_component *egi_snap_components(const eg_snap *s)
{
    return s->components.data;
}

static inline egi_snap_schema *egi_snap_schemas(const eg_snap *s)
{
    return s->schemas.data;
}

static inline egi_snap_record *egi_snap_records(const eg_snap *s)
{
    return s->records.data;
}

static inline egi_snap_column *egi_snap_columns(const eg_snap *s)
{
    return s->columns.data;
}

static inline uint32_t *egi_snap_ids(const eg_snap *s)
{
    return s->ids.data;
}

static inline egi_snap_entry *egi_snap_entries(const eg_snap *s)
{
    return s->entries.data;
}

/* The schema of a component, or NULL when its values are encoded. */
static inline egi_snap_schema *egi_snap_schema_of(const eg_snap *s,
                                                  uint32_t component)
{
    uint32_t schema = egi_snap_components(s)[component].schema;

    return schema != 0 ? &egi_snap_schemas(s)[schema - 1] : NULL;
}

/* Gives the column of a schema its masks for passes over `rows` rows, when they
 * are worth it; they hold until the next call for any schema of the document.
 * EG_ENOMEM. */
int egi_snap_use_masks(eg_snap *s, egi_snap_schema *schema, size_t rows);

/* -- parts of the walk; each returns the reader's sticky error ------------ */

/* The component table, its count read (eg_snap_table.c). */
int egi_snap_read_table(eg_snap *s, egi_reader *r, size_t count);
/* All records (eg_snap_records.c). */
int egi_snap_read_records(eg_snap *s, egi_reader *r, unsigned flags);
/* Kind of a data key. */
uint32_t egi_snap_key_kind(const uint8_t *key, size_t len);
/* Checks the value of a reserved entry, which has been walked
 * (eg_snap_reserved.c). */
int egi_snap_check_reserved(eg_snap *s, egi_reader *r,
                            const egi_snap_entry *e);
/* The value of the allocator entry (eg_snap_slots.c). */
int egi_snap_check_allocator(eg_snap *s, egi_reader *r, size_t at,
                             size_t len);

/* Reports a failed allocation. */
int egi_snap_no_memory(egi_reader *r);

/* -- slots ---------------------------------------------------------------- */

/* Marks a slot as seen; 0 when it was before. 1 <= slot <= EG_MAX_ENTITIES. */
static inline int egi_snap_mark(eg_snap *s, uint32_t slot)
{
    uint64_t bit = UINT64_C(1) << (slot & 63);
    uint64_t *word = &s->slots[slot >> 6];

    if (*word & bit)
        return 0;
    *word |= bit;
    if (slot > s->slots_high)
        s->slots_high = slot;
    return 1;
}

static inline int egi_snap_marked(const eg_snap *s, uint32_t slot)
{
    return (int)(s->slots[slot >> 6] >> (slot & 63) & 1);
}

#endif
