/* SPDX-License-Identifier: MIT */
/* Queries keep a sorted list of matching archetypes. Matching happens once per
 * pair of query and archetype: when the query is made, and when an archetype
 * is. Iterating therefore costs nothing but the list. May include: store. */
#include "core/store/eg_store.h"
#include "include/eg_query.h"

#include <string.h>

struct eg_query {
    eg_query_def def; /* its arrays follow this struct */
    size_t size;
    uint32_t *matches; /* archetype ids, canonical order */
    uint32_t count;
    uint32_t capacity;
    double version;
};

static int holds_all(const egi_archetype *a, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!egi_archetype_holds(a, ids[i]))
            return 0;
    return 1;
}

static int holds_any(const egi_archetype *a, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (egi_archetype_holds(a, ids[i]))
            return 1;
    return 0;
}

static int matches(const eg_query *q, const egi_archetype *a)
{
    const eg_query_def *d = &q->def;

    return !a->staging && holds_all(a, d->include, d->include_count) &&
           !holds_any(a, d->exclude, d->exclude_count) &&
           (d->any_count == 0 || holds_any(a, d->any, d->any_count));
}

static int reserve(eg_world *w, eg_query *q)
{
    return egi_grow(&w->allocator, (void **)&q->matches, &q->capacity,
                    q->count + 1, sizeof *q->matches);
}

/* There must be room. */
static void insert(const eg_world *w, eg_query *q, const egi_archetype *a)
{
    uint32_t lo = 0, hi = q->count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (egi_archetype_compare(w, w->archetypes[q->matches[mid]], a) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    memmove(q->matches + lo + 1, q->matches + lo,
            (q->count - lo) * sizeof *q->matches);
    q->matches[lo] = a->id;
    q->count++;
    q->version += 1.0;
}

static int offer(eg_world *w, egi_archetype *a)
{
    for (uint32_t i = 0; i < w->query_count; i++)
        if (matches(w->queries[i], a) && reserve(w, w->queries[i]) != EG_OK)
            return EG_ENOMEM;
    for (uint32_t i = 0; i < w->query_count; i++)
        if (matches(w->queries[i], a))
            insert(w, w->queries[i], a);
    return EG_OK;
}

static void withdraw(eg_world *w, egi_archetype *a)
{
    for (uint32_t i = 0; i < w->query_count; i++) {
        eg_query *q = w->queries[i];
        uint32_t n = 0;

        for (uint32_t k = 0; k < q->count; k++)
            if (q->matches[k] != a->id)
                q->matches[n++] = q->matches[k];
        if (n != q->count)
            q->version += 1.0;
        q->count = n;
    }
}

static void query_release(eg_world *w, eg_query *q)
{
    egi_free(&w->allocator, q->matches, q->capacity * sizeof *q->matches);
    egi_free(&w->allocator, q, q->size);
}

static void free_all(eg_world *w)
{
    for (uint32_t i = 0; i < w->query_count; i++)
        query_release(w, w->queries[i]);
    egi_free(&w->allocator, w->queries, w->query_capacity * sizeof(eg_query *));
}

/* For eg_world_check: exactly what matches is listed, and in order. */
static const char *check_all(const eg_world *w)
{
    for (uint32_t i = 0; i < w->query_count; i++) {
        const eg_query *q = w->queries[i];
        uint32_t count = 0;

        for (uint32_t id = 1; id <= w->archetype_count; id++)
            count += w->archetypes[id] != NULL && matches(q, w->archetypes[id]);
        if (count != q->count)
            return "a query misses or repeats archetypes";
        for (uint32_t k = 0; k < q->count; k++) {
            const egi_archetype *a = egi_archetype_at(w, q->matches[k]);

            if (a == NULL || !matches(q, a))
                return "a query lists an archetype that does not match";
            if (k > 0 && egi_archetype_compare(
                             w, w->archetypes[q->matches[k - 1]], a) >= 0)
                return "a query's archetypes are out of order";
        }
    }
    return NULL;
}

static int ids_valid(const eg_world *w, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == 0 || ids[i] > w->registry->count)
            return 0;
    return 1;
}

static const uint32_t *put_ids(uint32_t **at, const uint32_t *ids, uint32_t n)
{
    uint32_t *to = *at;

    if (n > 0)
        memcpy(to, ids, n * sizeof *ids);
    *at = to + n;
    return to;
}

static eg_query *query_alloc(eg_world *w, const eg_query_def *def)
{
    size_t count =
        (size_t)def->include_count + def->exclude_count + def->any_count;
    size_t size = sizeof(eg_query) + count * sizeof(uint32_t);
    eg_query *q = egi_zalloc(&w->allocator, size);
    uint32_t *at;

    if (q == NULL)
        return NULL;
    q->size = size;
    q->def = *def;
    at = (uint32_t *)(void *)(q + 1);
    q->def.include = put_ids(&at, def->include, def->include_count);
    q->def.exclude = put_ids(&at, def->exclude, def->exclude_count);
    q->def.any = put_ids(&at, def->any, def->any_count);
    return q;
}

int eg_query_new(eg_world *w, const eg_query_def *def, eg_query **out)
{
    eg_query *q;

    if (w == NULL || def == NULL || out == NULL ||
        !ids_valid(w, def->include, def->include_count) ||
        !ids_valid(w, def->exclude, def->exclude_count) ||
        !ids_valid(w, def->any, def->any_count))
        return EG_EINVAL;
    w->on_archetype = offer;
    w->on_drop = withdraw;
    w->queries_free = free_all;
    w->queries_check = check_all;
    if (egi_grow(&w->allocator, (void **)&w->queries, &w->query_capacity,
                 w->query_count + 1, sizeof *w->queries) != EG_OK)
        return EG_ENOMEM;
    q = query_alloc(w, def);
    if (q == NULL)
        return EG_ENOMEM;
    for (uint32_t id = 1; id <= w->archetype_count; id++) {
        const egi_archetype *a = w->archetypes[id];

        if (a == NULL || !matches(q, a))
            continue;
        if (reserve(w, q) != EG_OK) {
            query_release(w, q);
            return EG_ENOMEM;
        }
        insert(w, q, a);
    }
    w->queries[w->query_count++] = q;
    *out = q;
    return EG_OK;
}

void eg_query_free(eg_world *w, eg_query *q)
{
    for (uint32_t i = 0; q != NULL && i < w->query_count; i++)
        if (w->queries[i] == q) {
            w->queries[i] = w->queries[--w->query_count];
            query_release(w, q);
            return;
        }
}

uint32_t eg_query_list(const eg_query *q, const uint32_t **out)
{
    *out = q->matches;
    return q->count;
}

double eg_query_version(const eg_query *q)
{
    return q->version;
}

uint32_t eg_query_rows(eg_world *w, const eg_query *q)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < q->count; i++)
        rows += egi_count(egi_rows_of(w, q->matches[i]));
    return rows;
}

int eg_archetype_before(const eg_world *w, uint32_t a, uint32_t b)
{
    const egi_archetype *x = egi_archetype_at(w, a);
    const egi_archetype *y = egi_archetype_at(w, b);

    return x != NULL && y != NULL && egi_archetype_compare(w, x, y) < 0;
}
