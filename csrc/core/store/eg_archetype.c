/* SPDX-License-Identifier: MIT */
/* Archetype shells: their component sets, and how a set is found.
 *
 * Sets are found through an open-addressing table keyed by an order-free sum
 * of mixed ids, so the hash of a neighbouring set costs one addition whatever
 * the number of components. Sets have no fixed width. */
#include "core/store/eg_store.h"

#include <string.h>

enum { STAGING_SALT = 0x5bd1e995 };

static uint32_t set_hash(const uint32_t *components, uint32_t count,
                         int staging)
{
    uint32_t h = staging ? STAGING_SALT : 0;

    for (uint32_t i = 0; i < count; i++)
        h += egi_mix32(components[i]);
    return h;
}

static int set_is(const egi_archetype *a, const uint32_t *components,
                  uint32_t count, int staging)
{
    return a->count == count && a->staging == staging &&
           (count == 0 ||
            memcmp(a->components, components, count * sizeof *components) == 0);
}

egi_archetype *egi_archetype_find(const eg_world *w, const uint32_t *components,
                                  uint32_t count, int staging)
{
    uint32_t mask = w->set_capacity - 1;
    uint32_t h = egi_mix32(set_hash(components, count, staging));

    if (w->set_capacity == 0)
        return NULL;
    for (uint32_t i = h & mask; w->sets[i] != 0; i = (i + 1) & mask) {
        egi_archetype *a = w->archetypes[w->sets[i]];

        if (set_is(a, components, count, staging))
            return a;
    }
    return NULL;
}

static void set_put(eg_world *w, const egi_archetype *a)
{
    uint32_t mask = w->set_capacity - 1;
    uint32_t i = egi_mix32(a->hash) & mask;

    while (w->sets[i] != 0)
        i = (i + 1) & mask;
    w->sets[i] = a->id;
}

/* Empties the place of an archetype and puts the run behind it in again. */
static void set_remove(eg_world *w, const egi_archetype *a)
{
    uint32_t mask = w->set_capacity - 1;
    uint32_t i = egi_mix32(a->hash) & mask;

    while (w->sets[i] != a->id)
        i = (i + 1) & mask;
    w->sets[i] = 0;
    w->set_count--;
    for (i = (i + 1) & mask; w->sets[i] != 0; i = (i + 1) & mask) {
        uint32_t id = w->sets[i];

        w->sets[i] = 0;
        set_put(w, w->archetypes[id]);
    }
}

static int sets_reserve(eg_world *w)
{
    uint32_t old = w->set_capacity;
    uint32_t capacity = old == 0 ? 64 : old * 2;
    uint32_t *sets;

    if (w->set_count + 1 <= old / 2)
        return EG_OK;
    sets = egi_zalloc(&w->allocator, capacity * sizeof *sets);
    if (sets == NULL)
        return EG_ENOMEM;
    egi_free(&w->allocator, w->sets, old * sizeof *sets);
    w->sets = sets;
    w->set_capacity = capacity;
    for (uint32_t id = 1; id <= w->archetype_count; id++)
        if (w->archetypes[id] != NULL)
            set_put(w, w->archetypes[id]);
    return EG_OK;
}

/* Counts the components of an archetype that came or went; for coming there
 * must be room. */
static void held_count(eg_world *w, const egi_archetype *a, int by)
{
    for (uint32_t i = 0; i < a->count && !a->staging; i++) {
        uint32_t c = a->components[i];
        uint32_t n = egi_map32_get(&w->held, c) + (uint32_t)by;

        if (n == 0)
            egi_map32_remove(&w->held, c);
        else
            (void)egi_map32_set(&w->held, &w->allocator, c, n);
    }
}

/* Rows of both contents and the shell table grow together. */
static int table_reserve(eg_world *w)
{
    uint32_t old = w->archetype_capacity, capacity;
    egi_archetype **shells;

    if (w->archetype_count + 2 <= old)
        return EG_OK;
    capacity = old == 0 ? 16 : old * 2;
    for (int i = 0; i < 2; i++) {
        egi_rows *rows = w->content[i].rows;
        rows = egi_resize(&w->allocator, rows,
                          w->content[i].rows_capacity * sizeof *rows,
                          capacity * sizeof *rows);
        if (rows == NULL)
            return EG_ENOMEM;
        for (uint32_t k = w->content[i].rows_capacity; k < capacity; k++) {
            memset(&rows[k], 0, sizeof rows[k]);
            rows[k].ids = w->empty;
        }
        w->content[i].rows = rows;
        w->content[i].rows_capacity = capacity;
    }
    shells = egi_resize(&w->allocator, w->archetypes, old * sizeof *shells,
                        capacity * sizeof *shells);
    if (shells == NULL)
        return EG_ENOMEM;
    memset(shells + old, 0, (capacity - old) * sizeof *shells);
    w->archetypes = shells;
    w->archetype_capacity = capacity;
    return EG_OK;
}

/* Insertion sort: sets are small, and mostly sorted already. */
static void canonical_sort(const eg_world *w, egi_archetype *a)
{
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t c = a->components[i], k = i;

        while (k > 0 &&
               egi_component_compare(w->registry, a->canonical[k - 1], c) > 0) {
            a->canonical[k] = a->canonical[k - 1];
            k--;
        }
        a->canonical[k] = c;
    }
}

static egi_archetype *shell_new(eg_world *w, const uint32_t *components,
                                uint32_t count, int staging)
{
    size_t size = sizeof(egi_archetype) +
                  count * (2 * sizeof(uint32_t) + sizeof(egi_byte_column));
    egi_archetype *a = egi_zalloc(&w->allocator, size);

    if (a == NULL)
        return NULL;
    a->size = size;
    a->bytes = (egi_byte_column *)(void *)(a + 1);
    a->components = (uint32_t *)(void *)(a->bytes + count);
    a->canonical = a->components + count;
    a->count = count;
    a->staging = (uint8_t)staging;
    a->hash = set_hash(components, count, staging);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size_of = w->registry->defs[components[i] - 1]->size;

        a->components[i] = components[i];
        if (size_of > 0) {
            a->bytes[a->byte_count].component = components[i];
            a->bytes[a->byte_count++].size = size_of;
        }
    }
    canonical_sort(w, a);
    return a;
}

void egi_archetype_free(eg_world *w, egi_archetype *a)
{
    if (a == NULL)
        return;
    egi_map32_fini(&a->add, &w->allocator);
    egi_map32_fini(&a->remove, &w->allocator);
    egi_free(&w->allocator, a, a->size);
}

void egi_archetype_drop(eg_world *w, uint32_t id)
{
    egi_archetype *a = egi_archetype_at(w, id);

    if (a == NULL)
        return;
    egi_assert(egi_count(egi_rows_of(w, id)) == 0);
    for (int i = 0; i < 2; i++)
        egi_rows_free(w, &w->content[i].rows[id]);
    if (w->on_drop != NULL)
        w->on_drop(w, a);
    egi_untouch(w, a);
    set_remove(w, a);
    held_count(w, a, -1);
    w->archetypes[id] = NULL;
    egi_archetype_free(w, a);
}

/* `components` ascending and distinct. */
static int get_sorted(eg_world *w, const uint32_t *components, uint32_t count,
                      int staging, uint32_t *out)
{
    egi_archetype *a = egi_archetype_find(w, components, count, staging);

    if (a == NULL) {
        if (sets_reserve(w) != EG_OK || table_reserve(w) != EG_OK ||
            egi_map32_reserve(&w->held, &w->allocator, count) != EG_OK)
            return EG_ENOMEM;
        a = shell_new(w, components, count, staging);
        if (a == NULL)
            return EG_ENOMEM;
        a->id = w->archetype_count + 1;
        w->archetypes[a->id] = a;
        w->archetype_count = a->id;
        if (w->on_archetype != NULL && !staging &&
            w->on_archetype(w, a) != EG_OK) {
            w->archetypes[a->id] = NULL;
            w->archetype_count--;
            egi_archetype_free(w, a);
            return EG_ENOMEM;
        }
        set_put(w, a);
        w->set_count++;
        held_count(w, a, 1);
    }
    *out = a->id;
    return EG_OK;
}

int eg_archetype_get(eg_world *w, const uint32_t *components, uint32_t count,
                     int staging, uint32_t *out)
{
    uint32_t *sorted, n = 0;
    size_t bytes;
    int err;

    for (uint32_t i = 0; i < count; i++)
        if (components[i] == 0 || components[i] > w->registry->count)
            return EG_EINVAL;
    if (count == 0)
        return get_sorted(w, NULL, 0, staging != 0, out);
    if (egi_mul_size(count, sizeof *sorted, &bytes) != EG_OK)
        return EG_ENOMEM;
    sorted = egi_alloc(&w->allocator, bytes);
    if (sorted == NULL)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = n;

        while (k > 0 && sorted[k - 1] > components[i])
            k--;
        if (k > 0 && sorted[k - 1] == components[i])
            continue;
        memmove(sorted + k + 1, sorted + k, (n - k) * sizeof *sorted);
        sorted[k] = components[i];
        n++;
    }
    err = get_sorted(w, sorted, n, staging != 0, out);
    egi_free(&w->allocator, sorted, bytes);
    return err;
}

int egi_archetype_holds(const egi_archetype *a, uint32_t component)
{
    uint32_t lo = 0, hi = a->count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (a->components[mid] < component)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < a->count && a->components[lo] == component;
}

int egi_archetype_compare(const eg_world *w, const egi_archetype *a,
                          const egi_archetype *b)
{
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        int order;

        if (a->canonical[i] == b->canonical[i])
            continue;
        order = egi_component_compare(w->registry, a->canonical[i],
                                      b->canonical[i]);
        if (order != 0)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}
