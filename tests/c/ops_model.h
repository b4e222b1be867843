/* SPDX-License-Identifier: MIT */
/* Bytes as operations on a world, and a naive model of what must come of them.
 *
 *   ops_run.c      reads bytes, does each operation on the world and the model
 *                  (ops_instant.c, ops_staged.c, ops_rest.c)
 *   ops_model.c    the model: arrays of slots, rows and cells, no hashing, no
 *                  links, no storage; the rules of eg_world.h word for word
 *   ops_waves.c    the model's staged work and waves, after eg_cmd.h
 *   ops_compare.c  everything that can be asked of the world, asked
 *
 * Used by the property test (random bytes) and by fuzz/fz_ops.c. No part of it
 * depends on a test library: a difference ends the run with a text. */
#ifndef OPS_MODEL_H
#define OPS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "include/eg.h"

enum {
    OPS_SLOTS = 40,          /* entities at once: small, so worlds are full */
    OPS_COMPONENTS = 6,
    OPS_SETS = 1 << OPS_COMPONENTS,
    OPS_CELL = 16,           /* bytes of the largest cell */
    OPS_QUERIES = 4,
    OPS_NONE = -1            /* staged: no values */
};

enum ops_state { OPS_FREE, OPS_LIVE, OPS_PENDING, OPS_RETIRED };

/* Cells of one entity, by component. */
typedef struct ops_cells {
    unsigned char of[OPS_COMPONENTS][OPS_CELL];
} ops_cells;

typedef struct ops_slot {
    enum ops_state state;
    int64_t highest;         /* highest generation ever held, -1 never used */
    uint32_t generation;     /* held now */
    uint32_t set;            /* live: of its row; pending: as first staged */
    ops_cells cells;
    int change;              /* staged change, or -1 */
    int batch;               /* batch that has yet to place it, or -1 */
    int gone;                /* staged for despawn */
} ops_slot;

typedef struct ops_change {
    uint32_t slot;           /* 0: applied or given up */
    int spawn;
    uint32_t target;
    int staged;              /* set of the staged values, or OPS_NONE */
    ops_cells cells;
    uint32_t seq;
} ops_change;

typedef struct ops_batch {
    uint32_t set;
    uint32_t count;
    double ids[OPS_SLOTS];
    uint32_t token;
    int chosen;
    uint32_t seq;
} ops_batch;

enum { OPS_ITEMS = 512 };    /* staged at once; operations stop before */

/* An item of the wave's order of spawns: a change, or a batch. */
typedef struct ops_item {
    int batch;
    int index;
    uint32_t set;
    uint32_t seq;
} ops_item;

typedef struct ops_model {
    ops_slot slots[OPS_SLOTS + 1];
    uint32_t free[OPS_SLOTS];             /* slots, next one first */
    uint32_t free_count;
    uint32_t rows[OPS_SETS][OPS_SLOTS];   /* slots, row 1 first */
    uint32_t row_count[OPS_SETS];
    uint32_t high;
    /* staged work; the parts from .. to are those of the wave */
    ops_change changes[OPS_ITEMS];
    double despawns[OPS_ITEMS];
    ops_batch batches[OPS_ITEMS];
    int change_count, change_from, change_to;
    int despawn_count, despawn_to;
    int batch_count, batch_from, batch_to;
    ops_item order[OPS_ITEMS];
    int order_count;
    int phase;                            /* 0 none, despawns, spawns, moves */
    int cursor;
    uint32_t seq;
    /* what the world calls things, and what was asked of it */
    uint32_t archetype[2][OPS_SETS];      /* by staging and set, 0 unknown */
    int attended[2][OPS_SETS];
    int touched[OPS_SETS];                /* rows changed by a drain */
} ops_model;

/* Bytes of a component's cell, 0 for tags and host components. */
extern const uint32_t ops_size[OPS_COMPONENTS];

/* -- ops_model.c: the store ------------------------------------------------ */

void ops_model_init(ops_model *m);
double ops_id(uint32_t slot, uint32_t generation);
/* The id a slot holds, or held last, or would hold first. */
double ops_id_of(const ops_model *m, uint32_t slot);
/* Slot of a committed (or pending) id; 0 when it is none. */
uint32_t ops_find(const ops_model *m, double id);
uint32_t ops_find_held(const ops_model *m, double id);
int ops_has(uint32_t set, int component);
/* Takes the next slot, or a chosen one; releases one. */
uint32_t ops_take(ops_model *m);
int ops_check_id(const ops_model *m, double id);
uint32_t ops_take_at(ops_model *m, double id);
void ops_release(ops_model *m, uint32_t slot);
/* Row of a live entity, from 1; appends and removes rows. */
uint32_t ops_row(const ops_model *m, uint32_t slot);
void ops_append(ops_model *m, uint32_t slot, uint32_t set);
void ops_remove(ops_model *m, uint32_t slot);
void ops_move(ops_model *m, uint32_t slot, uint32_t set);
void ops_clear(ops_model *m);

/* -- ops_waves.c: staged work ---------------------------------------------- */

/* 1 while there is room for another call. */
int ops_stage_room(const ops_model *m);
/* Something is staged for the slot. */
int ops_is_staged(const ops_model *m, uint32_t slot);
void ops_stage_spawn(ops_model *m, uint32_t slot, uint32_t target, int staged);
void ops_stage_change(ops_model *m, uint32_t slot, uint32_t target,
                      int staged);
void ops_stage_despawn(ops_model *m, uint32_t slot);
ops_batch *ops_stage_batch(ops_model *m, uint32_t set, uint32_t token,
                           int chosen);
void ops_stage_pend(ops_model *m, ops_batch *b, uint32_t slot);
int ops_pending(const ops_model *m);
/* Forgets all of it. */
void ops_stage_reset(ops_model *m);
void ops_wave_begin(ops_model *m);
/* Applies steps up to one that is reported; returns its kind. */
int ops_wave_next(ops_model *m, eg_drain_op *op);

/* -- ops_run.c, ops_compare.c ---------------------------------------------- */

/* What of the world a run keeps. */
typedef struct ops_world {
    eg_registry *registry;
    eg_world *w;
    uint32_t component[OPS_COMPONENTS];
    eg_query *query[OPS_QUERIES];
    uint32_t include[OPS_QUERIES], exclude[OPS_QUERIES], any[OPS_QUERIES];
    const void *column[2][OPS_SETS][OPS_COMPONENTS]; /* as last reported */
} ops_world;

/* NULL, or what differs. */
const char *ops_compare(const ops_model *m, ops_world *x);
/* The same for one step of a drain. */
const char *ops_compare_step(const eg_drain_op *got, const eg_drain_op *wanted);

/* What a run did, for tests that it reaches everything. */
enum ops_kind {
    OPS_SPAWN, OPS_SPAWN_AT, OPS_SPAWN_MANY, OPS_DESPAWN, OPS_ADD, OPS_REMOVE,
    OPS_MOVE, OPS_WRITE, OPS_STAGE_SPAWN, OPS_STAGE_AT, OPS_STAGE_BATCH,
    OPS_BATCH_AT, OPS_STAGE_CHANGE, OPS_STAGE_DESPAWN, OPS_DRAIN, OPS_PAUSE,
    OPS_CLEAR, OPS_COMPACT, OPS_RESERVE, OPS_QUERY, OPS_ATTEND, OPS_SYNC,
    OPS_FAIL, OPS_KINDS
};
extern const char *const ops_kind_names[OPS_KINDS + 1];

typedef struct ops_report {
    unsigned long done[OPS_KINDS];  /* operations that had an effect */
    unsigned long operations;       /* all */
    const char *fault;              /* NULL: the world did as the model */
    const char *kind;               /* of the operation at fault */
    int line;                       /* of ops_run.c */
} ops_report;

/* Runs `size` bytes on a new world. Counts are added to those in `report`.
 * @return NULL, or report->fault */
const char *ops_run(const uint8_t *data, size_t size, ops_report *report);

#endif
