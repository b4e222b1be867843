/* SPDX-License-Identifier: MIT */
/* A load job: the document being built into a world. eg_snap_load.c drives,
 * eg_load_slots.c rebuilds the slot index, eg_load_columns.c and
 * eg_load_scalars.c fill columns.
 * May include: store, snap. */
#ifndef EGI_LOAD_H
#define EGI_LOAD_H

#include "core/snap/eg_schema.h"
#include "core/snap/eg_snap_verify.h"
#include "core/store/eg_store.h"

/* How a component of the document becomes one of the registry. */
typedef struct egi_load_way {
    const eg_component_def *def;   /* NULL: left out */
    uint32_t component;
    uint32_t kind;                 /* enum egi_load_kind */
    egi_column column;             /* EGI_LOAD_SAME, its memory is the job's */
    egi_schema_plan plan;          /* EGI_LOAD_MAPPED */
    const void *defaults;
} egi_load_way;

enum egi_load_kind {
    EGI_LOAD_SKIP,     /* left out */
    EGI_LOAD_SAME,     /* raw bytes of the present layout */
    EGI_LOAD_MAPPED,   /* raw bytes of another layout */
    EGI_LOAD_NUMBER,
    EGI_LOAD_BOOLEAN,
    EGI_LOAD_TAG,
    EGI_LOAD_HOST      /* the host decodes */
};

struct eg_load {
    eg_allocator alloc;
    eg_world *world;
    eg_snap *snap;
    const eg_load_map *map;
    egi_load_way *ways;
    uint32_t way_count, way_capacity;
    eg_load_column *hosted;
    uint32_t hosted_count, hosted_capacity;
    egi_buffer kept;               /* EG_LOAD_COPY: bytes of hosted columns */
    eg_snap_error error;
    uint32_t clash_index, clash_from, clash_to;
};

/* Records a failure at an offset of the document; returns the code. */
int egi_load_fail(eg_load *l, int code, uint64_t at, const char *why);

/* Decides a way for every component of the document. */
int egi_load_ways(eg_load *l);
void egi_load_ways_fini(eg_load *l);
/* Fills the columns of one record, whose rows `first` .. are in place. */
int egi_load_columns(eg_load *l, uint32_t record, egi_archetype *a,
                     uint32_t first);
/* Fills rows of a number or boolean column; `row` is the first. */
int egi_load_scalars(eg_load *l, const egi_load_way *way,
                     const egi_snap_column *column, unsigned char *row,
                     uint32_t rows);
/* Writes ids and slots of one record's rows. EG_ELIMIT, EG_ENOMEM. */
int egi_load_ids(eg_load *l, const egi_snap_record *r, egi_archetype *a,
                 uint32_t *first);
/* Free list, generations, retired slots and floors, when all ids are in. */
int egi_load_slots(eg_load *l);

#endif
