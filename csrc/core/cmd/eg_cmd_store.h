/* SPDX-License-Identifier: MIT */
/* What is staged in a world: the lists behind eg_cmd.h.
 *
 * `of_slot` maps a slot to its entry in `changes` (index + 1), or to one of the
 * two marks below. A wave is the range [wave_from, wave_to) of each list; what
 * callers stage meanwhile is appended behind it. Lists empty when nothing is
 * left. May include: store. */
#ifndef EGI_CMD_STORE_H
#define EGI_CMD_STORE_H

#include "core/store/eg_store.h"
#include "include/eg_cmd.h"

enum {
    EGI_MARK_BATCH = -1,  /* pending id of a batch, nothing staged for it */
    EGI_MARK_GONE = -2    /* in the despawn list */
};

enum egi_change_kind { EGI_NONE, EGI_SPAWN, EGI_CHANGE };

typedef struct egi_change {
    double id;
    uint32_t target;
    uint32_t staged;      /* staging archetype, 0 none */
    uint32_t row;         /* its row */
    uint32_t kind;        /* EGI_NONE once applied or given up */
    uint32_t seq;         /* order of first staging, shared with batches */
} egi_change;

typedef struct egi_batch {
    uint32_t archetype;
    uint32_t first;       /* index into batch_ids */
    uint32_t count;
    uint32_t token;
    uint32_t seq;
    uint32_t chosen;      /* 1: ids were chosen by the caller */
} egi_batch;

/* A growing array and the part of it that a wave has taken. */
typedef struct egi_list {
    uint32_t count;
    uint32_t capacity;
    uint32_t from;
    uint32_t to;
} egi_list;

enum egi_phase { EGI_IDLE, EGI_DESPAWNS, EGI_SPAWNS, EGI_MOVES };

struct egi_cmd {
    int32_t *of_slot;     /* max_entities + 1, mapped lazily */
    egi_change *changes;
    double *despawns;
    egi_batch *batches;
    double *batch_ids;
    egi_list change_list, despawn_list, batch_list, batch_id_list;
    uint32_t *order;      /* spawns of the wave, grouped; high bit: a batch */
    uint32_t order_count;
    uint32_t order_capacity;
    uint32_t *groups;     /* scratch: rows per group */
    uint32_t groups_capacity;
    uint32_t wave;        /* stamp of the current wave */
    uint32_t phase;       /* enum egi_phase */
    uint32_t cursor;
    uint32_t seq;
};

/* Makes the world's egi_cmd on first use. EG_ENOMEM. */
int egi_cmd_open(eg_world *w);
/* Frees a staged row; when no row of its archetype is left, all are reused. */
void egi_staged_free(eg_world *w, uint32_t staged, uint32_t row);
/* Empties all lists; rows and slots are the caller's concern. */
void egi_cmd_reset(egi_cmd *c);

#endif
