/* SPDX-License-Identifier: MIT */
/* Queries: which archetypes hold the components asked for.
 *
 * A query keeps the list of its matches, in canonical order; each new archetype
 * is offered once to each query of its world. Staging archetypes are never
 * offered. Canonical order compares the lists of component names, name by name
 * and by bytes, so it is the same in every process.
 *
 * A query belongs to its world and to the thread that uses that. Pointers are
 * borrowed for the call and not NULL, unless a function says otherwise; a call
 * that fails has changed nothing. Since 0.1. */
#ifndef EG_QUERY_H
#define EG_QUERY_H

#include "include/eg_types.h"

typedef struct eg_query eg_query;

/* What to match: all of `include`, none of `exclude`, and at least one of
 * `any` when it is not empty. The arrays are copied. */
typedef struct eg_query_def {
    const uint32_t *include;
    const uint32_t *exclude;
    const uint32_t *any;
    uint32_t include_count;
    uint32_t exclude_count;
    uint32_t any_count;
} eg_query_def;

/** Makes a query, matched against every archetype there is.
 *  @param def  what to match; arrays of length 0 may be NULL
 *  @param out  out: the query. It belongs to the world and lives as long, or
 *              until eg_query_free
 *  @return EG_OK; EG_EINVAL unknown component, or an argument is NULL;
 *          EG_ENOMEM
 *  O(archetypes x components of def); each match moves those behind it. */
EG_API int eg_query_new(eg_world *w, const eg_query_def *def, eg_query **out);
/** Frees a query before its world. NULL, and what is no query of this world, is
 *  ignored. O(queries). */
EG_API void eg_query_free(eg_world *w, eg_query *q);
/** Matches, empty archetypes included, in canonical order. O(1).
 *  @param out  out: their ids; owned by the query, valid until
 *              eg_query_version changes
 *  @return their number */
EG_API uint32_t eg_query_list(const eg_query *q, const uint32_t **out);
/** A count that grows whenever the list changes: an archetype was made, or
 *  dropped by a failed load. O(1). */
EG_API double eg_query_version(const eg_query *q);
/** Number of rows in all matches, which is that of matching entities.
 *  O(matches). */
EG_API uint32_t eg_query_rows(eg_world *w, const eg_query *q);
/** 1 when archetype `a` sorts before `b` in canonical order, else 0, and when
 *  either does not exist. O(components). */
EG_API int eg_archetype_before(const eg_world *w, uint32_t a, uint32_t b);

#endif
