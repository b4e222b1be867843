/* SPDX-License-Identifier: MIT */
/* Staged structural changes.
 *
 * Inside a scope nothing may move. What callers ask for is written down: values
 * go to rows of *staging archetypes* (one per component set, invisible to
 * queries), and a list says which entity goes where. When the outermost scope
 * closes, eg_drain_* applies the list in waves: despawns, then spawns by
 * archetype, then moves. The caller pulls: eg_drain_next applies steps until
 * one concerns an archetype that it attends (eg_archetype_attend), and reports
 * it, so values kept beside the rows can follow. Nothing here allocates once
 * its arrays have grown to the size of a frame's work. Since 0.1. */
#ifndef EG_CMD_H
#define EG_CMD_H

#include "include/eg_types.h"

/* What a drain step did. */
enum eg_drain_kind {
    EG_DRAIN_DONE = 0,     /* the wave has ended */
    EG_DRAIN_DESPAWN = 1,  /* row `row` of `from` left */
    EG_DRAIN_CANCEL = 2,   /* a staged spawn was given up; staged row freed */
    EG_DRAIN_SPAWN = 3,    /* staged row went to row `to_row` of `to` */
    EG_DRAIN_MOVE = 4,     /* left `from`, entered `to`, staged row applied */
    EG_DRAIN_BATCH = 5     /* rows to_row .. to_row + count - 1 of `to` */
};

/* One step. Rows are those before the step; in `from`, row `last` filled the
 * hole at `row` (equal: there was no hole). staged 0: no staged values. */
typedef struct eg_drain_op {
    double entity;
    int32_t kind;          /* enum eg_drain_kind */
    uint32_t from;         /* archetype left, 0 none */
    uint32_t row;
    uint32_t last;
    uint32_t to;           /* archetype entered; = from when values only */
    uint32_t to_row;
    uint32_t staged;       /* staging archetype with the values, 0 none */
    uint32_t staged_row;
    uint32_t count;        /* EG_DRAIN_BATCH: rows placed, may be 0 */
    uint32_t token;        /* EG_DRAIN_BATCH: what eg_stage_batch was given */
} eg_drain_op;

/* Where a staged entity stands, from eg_stage_find. */
typedef struct eg_stage_state {
    uint32_t kind;         /* 0 nothing staged, 1 spawn, 2 change, 3 despawn,
                            * 4 batch id without staged changes */
    uint32_t target;       /* archetype it will have */
    uint32_t staged;       /* staging archetype of its values, 0 none */
    uint32_t staged_row;
} eg_stage_state;

/** Stages a spawn into `archetype`; its values are row count + 1 of the
 *  staging archetype `staged` (same set), stored before or after the call.
 *  @return the pending id, or EG_EFULL, EG_ENOMEM */
EG_API double eg_stage_spawn(eg_world *w, uint32_t archetype,
                             uint32_t staged);
/** The same under a chosen dead id; errors of eg_entity_spawn_at. */
EG_API int eg_stage_spawn_at(eg_world *w, double id, uint32_t archetype,
                             uint32_t staged);
/** Reserves `count` pending ids for `archetype`, placed as one EG_DRAIN_BATCH
 *  that carries `token`. `ids` is filled. */
EG_API int eg_stage_batch(eg_world *w, uint32_t archetype, uint32_t count,
                          double *ids, uint32_t token);
/** The same with chosen ids, all checked before anything changes; *bad
 *  receives the index of the first one refused, on EG_ERETIRED, EG_EALIVE (in
 *  use, or given twice) and when EG_EINVAL is about an id. */
EG_API int eg_stage_batch_at(eg_world *w, uint32_t archetype, uint32_t count,
                             const double *ids, uint32_t token, uint32_t *bad);
/** What is staged for a committed or pending entity. */
EG_API void eg_stage_find(const eg_world *w, double id, eg_stage_state *out);
/** Says that an entity, committed or pending, shall have archetype `target`,
 *  and that its staged values shall lie in staging archetype `staged` (0:
 *  none). Values staged before are carried over where both sets have them; the
 *  staged row is freed and a new one taken when the set differs. Components
 *  new to the entity without a staged value are zeroed in the drain; a change
 *  that leads back to where the entity is, without values, is dropped there.
 *  @param row  out: the staged row, 0 without one
 *  @return EG_OK; EG_EDEAD dead or staged for despawn; EG_EINVAL no such
 *  archetype; EG_ENOMEM */
EG_API int eg_stage_change(eg_world *w, double id, uint32_t target,
                           uint32_t staged, uint32_t *row);
/** Stages a despawn. Twice: nothing happens.
 *  @return EG_OK, EG_EDEAD, EG_ENOMEM */
EG_API int eg_stage_despawn(eg_world *w, double id);
/** 1 when there is anything to drain, an interrupted wave included. */
EG_API int eg_stage_pending(const eg_world *w);

/** Starts a wave with what is staged now; later calls belong to the next one.
 *  While a wave is under way this only says so.
 *  @return EG_OK; EG_ENOMEM, and the staged work stays */
EG_API int eg_drain_begin(eg_world *w);
/** Applies steps until one must be reported or the wave ends.
 *  @return the kind, or EG_ENOMEM: the step was not taken and can be retried */
EG_API int eg_drain_next(eg_world *w, eg_drain_op *op);

#endif
