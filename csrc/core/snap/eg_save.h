/* SPDX-License-Identifier: MIT */
/* A save job: what will be written, in writing order.
 *
 * eg_save_plan.c decides (records, columns, table), eg_snap_save.c measures and
 * writes. A job keeps its memory from save to save. May include: store. */
#ifndef EGI_SAVE_H
#define EGI_SAVE_H

#include "core/snap/eg_column.h"
#include "core/snap/eg_writer.h"
#include "core/store/eg_store.h"
#include "include/eg_snapshot.h"

/* How the rows of a column get their bytes. */
enum egi_save_kind {
    EGI_SAVE_RAW,     /* the struct's bytes */
    EGI_SAVE_NUMBER,  /* {value = double} */
    EGI_SAVE_BOOLEAN, /* {value = bool} */
    EGI_SAVE_TAG,     /* true */
    EGI_SAVE_HOST     /* the host encodes them */
};

/* One archetype of a record. */
typedef struct egi_save_part {
    uint32_t archetype;
    uint32_t rows;
    uint32_t hosted;  /* index of its first column in `hosted` */
} egi_save_part;

/* One record: archetypes with one saved set. Its columns are the saved
 * components of its first part, in table order. */
typedef struct egi_save_record {
    uint32_t part;
    uint32_t part_count;
    uint32_t column;
    uint32_t column_count;
    uint32_t rows;
} egi_save_record;

struct eg_save {
    eg_allocator alloc;
    eg_world *world;
    egi_save_part *parts;
    egi_save_record *records;
    uint32_t *columns;            /* component ids */
    uint32_t *table;              /* component ids by name */
    uint32_t *index_of;           /* component id → 1-based table index */
    eg_save_column *hosted;
    egi_column *layouts;          /* by component id; size 0: not yet */
    uint32_t part_count, part_capacity;
    uint32_t record_count, record_capacity;
    uint32_t column_count, column_capacity;
    uint32_t table_count, table_capacity;
    uint32_t hosted_count, hosted_capacity;
    uint32_t index_capacity, layout_capacity;
    egi_buffer head;              /* prelude */
    egi_buffer tail;              /* data: the allocator entry */
    const void *data;             /* data: what the host adds */
    size_t data_len;
    size_t size;                  /* of the whole snapshot */
};

/* Is a component written at all? */
int egi_save_wanted(const eg_component_def *def);
/* Its kind; for wanted components. */
int egi_save_kind_of(const eg_component_def *def);
/* Fills parts, records, columns, table and hosted. EG_ENOMEM. */
int egi_save_plan(eg_save *s);
/* Appends the value of __engram.allocator. */
int egi_save_allocator(eg_save *s, egi_buffer *out);

#endif
