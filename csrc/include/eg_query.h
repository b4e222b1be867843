/* SPDX-License-Identifier: MIT */
/* Queries: which archetypes hold the components asked for.
 *
 * A query keeps the list of its matches, in canonical archetype order; each new
 * archetype is offered once to each query of its world. Staging archetypes are
 * never offered. Since 0.1. */
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

/** Makes a query, matched against every archetype there is. It belongs to the
 *  world and lives as long, or until eg_query_free.
 *  @return EG_OK; EG_EINVAL unknown component; EG_ENOMEM. */
EG_API int eg_query_new(eg_world *w, const eg_query_def *def, eg_query **out);
/** Frees a query before its world. NULL is ignored. */
EG_API void eg_query_free(eg_world *w, eg_query *q);
/** Matches, empty archetypes included, in canonical order. The array is valid
 *  until eg_query_version changes.
 *  @return their number */
EG_API uint32_t eg_query_list(const eg_query *q, const uint32_t **out);
/** Changes whenever the list does. */
EG_API double eg_query_version(const eg_query *q);
/** Number of rows in all matches. */
EG_API uint32_t eg_query_rows(eg_world *w, const eg_query *q);
/** 1 when archetype `a` sorts before `b` in canonical order. */
EG_API int eg_archetype_before(const eg_world *w, uint32_t a, uint32_t b);

#endif
