/* SPDX-License-Identifier: MIT */
/* Plans a save: which archetypes form which record, in an order that depends
 * on names alone, so equal worlds give equal bytes in any process. */
#include "core/snap/eg_save.h"

#include <string.h>

int egi_save_wanted(const eg_component_def *def)
{
    return (def->flags & EG_TRANSIENT) == 0;
}

int egi_save_kind_of(const eg_component_def *def)
{
    if (def->flags & EG_HOST_CODEC)
        return EGI_SAVE_HOST;
    switch (def->storage) {
    case EG_RAW:
        return EGI_SAVE_RAW;
    case EG_NUMBER:
        return EGI_SAVE_NUMBER;
    case EG_BOOLEAN:
        return EGI_SAVE_BOOLEAN;
    case EG_TAG:
        return EGI_SAVE_TAG;
    default:
        return EGI_SAVE_HOST;
    }
}

static const eg_component_def *def_of(const eg_save *s, uint32_t component)
{
    return s->world->registry->defs[component - 1];
}

/* Compares two archetypes by their saved components, in canonical order. */
static int saved_compare(const eg_save *s, const egi_archetype *a,
                         const egi_archetype *b)
{
    uint32_t i = 0, k = 0;

    for (;;) {
        int order;

        while (i < a->count && !egi_save_wanted(def_of(s, a->canonical[i])))
            i++;
        while (k < b->count && !egi_save_wanted(def_of(s, b->canonical[k])))
            k++;
        if (i == a->count || k == b->count)
            return (i < a->count) - (k < b->count);
        if (a->canonical[i] != b->canonical[k]) {
            order = egi_component_compare(s->world->registry, a->canonical[i],
                                          b->canonical[k]);
            if (order != 0)
                return order;
        }
        i++;
        k++;
    }
}

static int part_compare(const eg_save *s, const egi_save_part *x,
                        const egi_save_part *y)
{
    const egi_archetype *a = s->world->archetypes[x->archetype];
    const egi_archetype *b = s->world->archetypes[y->archetype];
    int order = saved_compare(s, a, b);

    return order != 0 ? order : egi_archetype_compare(s->world, a, b);
}

/* Heap sort: no recursion, no worst case, and no state outside the job. */
static void sift(const eg_save *s, egi_save_part *p, uint32_t i, uint32_t n)
{
    for (;;) {
        uint32_t k = 2 * i + 1;
        egi_save_part swap;

        if (k >= n)
            return;
        if (k + 1 < n && part_compare(s, &p[k], &p[k + 1]) < 0)
            k++;
        if (part_compare(s, &p[i], &p[k]) >= 0)
            return;
        swap = p[i];
        p[i] = p[k];
        p[k] = swap;
        i = k;
    }
}

static void parts_sort(eg_save *s)
{
    egi_save_part *p = s->parts;

    for (uint32_t i = s->part_count / 2; i-- > 0;)
        sift(s, p, i, s->part_count);
    for (uint32_t n = s->part_count; n > 1;) {
        egi_save_part swap = p[--n];

        p[n] = p[0];
        p[0] = swap;
        sift(s, p, 0, n);
    }
}

static int collect_parts(eg_save *s)
{
    const eg_world *w = s->world;

    s->part_count = 0;
    for (uint32_t id = 1; id <= w->archetype_count; id++) {
        const egi_archetype *a = w->archetypes[id];
        uint32_t rows;

        if (a == NULL || a->staging)
            continue;
        rows = egi_count(egi_rows_of(w, id));
        if (rows == 0)
            continue;
        if (egi_grow(&s->alloc, (void **)&s->parts, &s->part_capacity,
                     s->part_count + 1, sizeof *s->parts) != EG_OK)
            return EG_ENOMEM;
        s->parts[s->part_count].archetype = id;
        s->parts[s->part_count++].rows = rows;
    }
    parts_sort(s);
    return EG_OK;
}

static int name_before(const eg_save *s, uint32_t a, uint32_t b)
{
    const eg_component_def *x = def_of(s, a), *y = def_of(s, b);
    uint32_t n = x->name_len < y->name_len ? x->name_len : y->name_len;
    int order = memcmp(x->name, y->name, n);

    return order != 0 ? order < 0 : x->name_len < y->name_len;
}

/* Inserts into an array that is sorted by name; there must be room. */
static void insert_by_name(const eg_save *s, uint32_t *list, uint32_t count,
                           uint32_t component)
{
    uint32_t lo = 0, hi = count;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (name_before(s, list[mid], component))
            lo = mid + 1;
        else
            hi = mid;
    }
    memmove(list + lo + 1, list + lo, (count - lo) * sizeof *list);
    list[lo] = component;
}

/* Adds a record's columns, and its new components to the table. */
static int add_columns(eg_save *s, egi_save_record *r, const egi_archetype *a)
{
    r->column = s->column_count;
    r->column_count = 0;
    if (egi_grow(&s->alloc, (void **)&s->columns, &s->column_capacity,
                 s->column_count + a->count, sizeof *s->columns) != EG_OK ||
        egi_grow(&s->alloc, (void **)&s->table, &s->table_capacity,
                 s->table_count + a->count, sizeof *s->table) != EG_OK)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t component = a->components[i];

        if (!egi_save_wanted(def_of(s, component)))
            continue;
        insert_by_name(s, s->columns + r->column, r->column_count++, component);
        if (s->index_of[component] == 0) {
            insert_by_name(s, s->table, s->table_count++, component);
            s->index_of[component] = 1;
        }
    }
    s->column_count += r->column_count;
    return EG_OK;
}

static int build_records(eg_save *s)
{
    s->record_count = s->column_count = s->table_count = 0;
    for (uint32_t i = 0; i < s->part_count; i++) {
        const egi_archetype *a = s->world->archetypes[s->parts[i].archetype];
        egi_save_record *r;

        if (i > 0 &&
            saved_compare(s, s->world->archetypes[s->parts[i - 1].archetype],
                          a) == 0) {
            r = &s->records[s->record_count - 1];
        } else {
            if (egi_grow(&s->alloc, (void **)&s->records, &s->record_capacity,
                         s->record_count + 1, sizeof *s->records) != EG_OK)
                return EG_ENOMEM;
            r = &s->records[s->record_count];
            r->part = i;
            r->part_count = r->rows = 0;
            if (add_columns(s, r, a) != EG_OK)
                return EG_ENOMEM;
            s->record_count++;
        }
        r->part_count++;
        r->rows += s->parts[i].rows;
    }
    for (uint32_t i = 0; i < s->table_count; i++)
        s->index_of[s->table[i]] = i + 1;
    return EG_OK;
}

/* Lists the columns that the host encodes: per record, column, part. */
static int list_hosted(eg_save *s)
{
    s->hosted_count = 0;
    for (uint32_t i = 0; i < s->record_count; i++) {
        const egi_save_record *r = &s->records[i];
        uint32_t more = r->column_count * r->part_count;

        if (egi_grow(&s->alloc, (void **)&s->hosted, &s->hosted_capacity,
                     s->hosted_count + more, sizeof *s->hosted) != EG_OK)
            return EG_ENOMEM;
        for (uint32_t k = 0; k < r->column_count; k++) {
            uint32_t component = s->columns[r->column + k];

            if (egi_save_kind_of(def_of(s, component)) != EGI_SAVE_HOST)
                continue;
            for (uint32_t p = 0; p < r->part_count; p++) {
                eg_save_column *h = &s->hosted[s->hosted_count++];

                memset(h, 0, sizeof *h);
                h->component = component;
                h->archetype = s->parts[r->part + p].archetype;
                h->rows = s->parts[r->part + p].rows;
            }
        }
    }
    return EG_OK;
}

static int index_reserve(eg_save *s)
{
    uint32_t count = s->world->registry->count + 1;
    uint32_t old = s->layout_capacity;

    if (egi_grow(&s->alloc, (void **)&s->index_of, &s->index_capacity, count,
                 sizeof *s->index_of) != EG_OK ||
        egi_grow(&s->alloc, (void **)&s->layouts, &s->layout_capacity, count,
                 sizeof *s->layouts) != EG_OK)
        return EG_ENOMEM;
    memset(s->layouts + old, 0,
           (s->layout_capacity - old) * sizeof *s->layouts);
    memset(s->index_of, 0, count * sizeof *s->index_of);
    return EG_OK;
}

/* Raw columns are written through a description of their layout, made once
 * per component for the life of the job. */
static int layouts_make(eg_save *s)
{
    for (uint32_t i = 0; i < s->table_count; i++) {
        const eg_component_def *def = def_of(s, s->table[i]);
        egi_column *layout = &s->layouts[s->table[i]];

        if (egi_save_kind_of(def) != EGI_SAVE_RAW || layout->size != 0)
            continue;
        if (egi_column_init(layout, &s->alloc, def->fields, def->field_count,
                            def->size) != EG_OK) {
            memset(layout, 0, sizeof *layout);
            return EG_ENOMEM;
        }
    }
    return EG_OK;
}

int egi_save_plan(eg_save *s)
{
    if (index_reserve(s) != EG_OK || collect_parts(s) != EG_OK ||
        build_records(s) != EG_OK || list_hosted(s) != EG_OK)
        return EG_ENOMEM;
    return layouts_make(s);
}
