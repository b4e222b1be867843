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
 * its arrays have grown to the size of a frame's work.
 *
 * What is a scope, and when the outermost one closes, the caller decides: these
 * functions stage whatever they are asked for. Pointers are borrowed for the
 * call and not NULL, unless a function says otherwise; out-parameters are
 * untouched on failure; a call that fails has changed nothing. Ids may be any
 * numbers. One thread at a time per world. Since 0.1. */
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

/** Stages a spawn. Its values are row count + 1 of the staging archetype, which
 *  may be stored before the call, or after it and before the drain.
 *  @param archetype  the archetype it will have, an ordinary one
 *  @param staged     the staging archetype of the same set
 *  @return the pending id, which is positive; or a negative enum eg_err:
 *          EG_EINVAL no such archetypes; EG_EFULL; EG_ENOMEM
 *  O(1), amortised; addresses of `staged` are invalid when it grows. */
EG_API double eg_stage_spawn(eg_world *w, uint32_t archetype,
                             uint32_t staged);
/** The same under a chosen dead id.
 *  @return EG_OK; EG_EINVAL no such archetypes, or no id of this world;
 *          EG_EALIVE; EG_ERETIRED; EG_ENOMEM */
EG_API int eg_stage_spawn_at(eg_world *w, double id, uint32_t archetype,
                             uint32_t staged);
/** Reserves pending ids, which the drain places as one range of rows. Those
 *  that were given up by then are left out. Bytes of the rows start as zeros.
 *  @param archetype  the archetype they will have, an ordinary one
 *  @param count      0 or more
 *  @param ids        out: the ids, `count` of them
 *  @param token      any number; comes back with EG_DRAIN_BATCH
 *  @return EG_OK; EG_EINVAL no such archetype; EG_EFULL; EG_ENOMEM. O(count) */
EG_API int eg_stage_batch(eg_world *w, uint32_t archetype, uint32_t count,
                          double *ids, uint32_t token);
/** The same with chosen ids, all checked before anything changes.
 *  @param ids  the ids; borrowed for the call
 *  @param bad  out: index of the first id that is refused, on EG_EALIVE,
 *              EG_ERETIRED and on EG_EINVAL for an id; else untouched
 *  @return EG_OK; EG_EINVAL no such archetype, or an id that is none of this
 *          world; EG_EALIVE in use or given twice; EG_ERETIRED; EG_ENOMEM */
EG_API int eg_stage_batch_at(eg_world *w, uint32_t archetype, uint32_t count,
                             const double *ids, uint32_t token, uint32_t *bad);
/** What is staged for an entity. Never fails: a dead id has nothing staged.
 *  O(1).
 *  @param out  out: all of it is filled in */
EG_API void eg_stage_find(const eg_world *w, double id, eg_stage_state *out);
/** Says that an entity, committed or pending, shall have archetype `target`,
 *  and that its staged values shall lie in staging archetype `staged`. Values
 *  staged before are carried over where both sets have them; when the set
 *  differs, the staged row is freed and a new one taken, whose other bytes are
 *  the caller's to fill in before the drain.
 *  @param target  an ordinary archetype; may be the one it has
 *  @param staged  a staging archetype, or 0: no values are staged
 *  @param row     out, may be NULL: the staged row, 0 without one
 *  @return EG_OK; EG_EDEAD dead, or staged for despawn; EG_EINVAL no such
 *          archetypes; EG_ENOMEM
 *  O(components staged). Staged rows of this entity are stale. */
EG_API int eg_stage_change(eg_world *w, double id, uint32_t target,
                           uint32_t staged, uint32_t *row);
/** Stages a despawn, and gives up what is staged for the entity; a pending one
 *  is never placed. Twice: nothing happens. O(1), amortised.
 *  @return EG_OK; EG_EDEAD neither committed nor pending; EG_ENOMEM */
EG_API int eg_stage_despawn(eg_world *w, double id);
/** 1 when there is anything to drain, an interrupted wave included, else 0.
 *  O(1). */
EG_API int eg_stage_pending(const eg_world *w);

/** Starts a wave with what is staged now; later calls belong to the next one.
 *  While a wave is under way it does nothing. O(staged work).
 *  @return EG_OK; EG_ENOMEM, and the staged work stays as it is */
EG_API int eg_drain_begin(eg_world *w);
/** Applies steps of the wave until one must be reported or the wave ends.
 *  Between two calls anything may be staged, but no row may be moved by other
 *  means. O(steps applied). Touched archetypes are on the list of
 *  eg_archetype_touched.
 *  @param op  out: the step; all zero with EG_DRAIN_DONE
 *  @return enum eg_drain_kind; or EG_ENOMEM: the steps before were applied, the
 *          next one was not taken and can be asked for again */
EG_API int eg_drain_next(eg_world *w, eg_drain_op *op);

#endif
