/* SPDX-License-Identifier: MIT */
/* What is staged in a world: the lists behind eg_cmd.h.
 *
 * `of_slot` maps a slot to its entry in `changes` (index + 1), or to one of the
 * marks below. A wave is the range [wave_from, wave_to) of each list; what
 * callers stage meanwhile is appended behind it. Lists empty when nothing is
 * left. May include: store. */
#ifndef EGI_CMD_STORE_H
#define EGI_CMD_STORE_H

#include "core/store/eg_store.h"
#include "include/eg_cmd.h"

enum {
    EGI_MARK_GONE = -1,   /* in the despawn list */
    EGI_MARK_BATCH = -2   /* pending id of batch 0, nothing staged for it;
                           * -3 of batch 1, and so on */
};

enum egi_change_kind { EGI_NONE, EGI_SPAWN, EGI_CHANGE };

typedef struct egi_change {
    double id;
    uint32_t target;
    uint32_t staged;      /* staging archetype, 0 none */
    uint32_t row;         /* its row */
    uint32_t kind;        /* EGI_NONE once applied or given up */
    int32_t batch;        /* mark of the batch that has yet to place id, or 0 */
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
    uint32_t *order;      /* spawns of the wave, grouped; EGI_ORDER_BATCH */
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
/* Makes room in a list for `more` items of `size` bytes. EG_ENOMEM. */
int egi_cmd_reserve(eg_world *w, void **items, egi_list *list, uint32_t more,
                    size_t size);
/* Empties all lists; rows and slots are the caller's concern. */
void egi_cmd_reset(eg_world *w);
/* For eg_world_check: the lists, the marks and the staged rows agree. */
const char *egi_cmd_check(const eg_world *w);

/* Takes the next row of a staging archetype; there must be room. */
uint32_t egi_staged_take(eg_world *w, uint32_t staged, double id);
/* Frees a staged row; when no row of its archetype is left, all are reused. */
void egi_staged_free(eg_world *w, uint32_t staged, uint32_t row);

/* Puts the spawns of the wave that begins in order. EG_ENOMEM. */
int egi_wave_order(eg_world *w);
enum { EGI_ORDER_BATCH = 1 << 30 }; /* an item of `order`: index of a batch */

/* 1 for an archetype that entities can be in, unlike one of staged rows. */
static inline int egi_placeable(const eg_world *w, uint32_t archetype)
{
    const egi_archetype *a = egi_archetype_at(w, archetype);

    return a != NULL && !a->staging;
}

#endif
