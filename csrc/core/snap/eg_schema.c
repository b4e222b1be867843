/* SPDX-License-Identifier: MIT */
/* Layouts, and plans that lead from one to another. See eg_schema.h.
 *
 * A plan is a list of steps made once and run for every row. Neighbouring
 * values that need no conversion become one step. */
#include "core/snap/eg_schema.h"

#include <string.h>

#include "core/base/eg_assert.h"
#include "core/snap/eg_column.h"
#include "core/snap/eg_keyset.h"
#include "core/snap/eg_reader.h"

enum { UNIQUE_PAIRWISE = 16 }; /* up to so many names are compared in pairs */

/* -- layouts --------------------------------------------------------------- */

static int same_name(const eg_field *a, const eg_field *b)
{
    return a->name_len == b->name_len &&
           memcmp(a->name, b->name, a->name_len) == 0;
}

static uint64_t hash_name(const void *ctx, uint64_t item, uint64_t seed)
{
    const eg_field *f = (const eg_field *)ctx + item;

    return egi_keyed_hash(f->name, f->name_len, seed);
}

static int equal_names(const void *ctx, uint64_t a, uint64_t b)
{
    const eg_field *fields = ctx;

    return same_name(&fields[a], &fields[b]);
}

static int unique_pairwise(const eg_field *fields, size_t n, size_t *twice)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (same_name(&fields[i], &fields[j])) {
                *twice = i;
                return EG_ECORRUPT;
            }
        }
    }
    return EG_OK;
}

int egi_fields_unique(const eg_allocator *alloc, const eg_field *fields,
                      size_t n, size_t *twice)
{
    static const egi_keyset_ops ops = {hash_name, equal_names};
    egi_keyset set = {&ops, fields, alloc, NULL, n * 2, 0, 0};
    size_t bytes;
    int result = EG_OK;
    size_t i = 0;

    if (n <= UNIQUE_PAIRWISE)
        return unique_pairwise(fields, n, twice);
    if (egi_mul_size(n, 2 * sizeof *set.slots, &bytes) != EG_OK)
        return EG_ENOMEM;
    set.slots = egi_alloc(alloc, bytes);
    if (set.slots == NULL)
        return EG_ENOMEM;
    egi_keyset_init(&set);
    while (i < n && (result = egi_keyset_add(&set, i)) == EGI_KEYSET_NEW)
        i++;
    egi_free(alloc, set.slots, bytes);
    if (result == EG_OK || result == EG_ENOMEM)
        return result;
    *twice = result == EGI_KEYSET_TWICE ? i : n;
    return EG_ECORRUPT;
}

int egi_layout_init(egi_layout *l, const eg_allocator *alloc, const void *text,
                    size_t len, egi_text_error *err)
{
    size_t bytes;
    size_t twice;
    int result = EG_ENOMEM;

    memset(l, 0, sizeof *l);
    l->alloc = alloc;
    l->max_fields = egi_fingerprint_max_fields(text, len);
    l->name_bytes = egi_fingerprint_name_bytes(text, len);
    if (egi_mul_size(l->max_fields, sizeof *l->fields, &bytes) != EG_OK)
        return EG_ENOMEM;
    l->fields = egi_alloc(alloc, bytes);
    if (l->name_bytes > 0)
        l->names = egi_alloc(alloc, l->name_bytes);
    if (l->fields == NULL || (l->name_bytes > 0 && l->names == NULL))
        goto fail;
    result = egi_fingerprint_parse(text, len, l->fields, l->names, &l->count,
                                   &l->size, err);
    if (result != EG_OK)
        goto fail;
    result = egi_fields_unique(alloc, l->fields, l->count, &twice);
    if (result == EG_OK)
        return EG_OK;
    err->at = 0;
    err->why = "field name comes twice in a fingerprint";
fail:
    egi_layout_fini(l);
    return result;
}

void egi_layout_fini(egi_layout *l)
{
    if (l->fields != NULL)
        egi_free(l->alloc, l->fields, l->max_fields * sizeof *l->fields);
    if (l->names != NULL)
        egi_free(l->alloc, l->names, l->name_bytes);
    memset(l, 0, sizeof *l);
}

/* -- plans ----------------------------------------------------------------- */

/* The saved field of this name, or NULL. */
static const eg_field *find_field(const egi_layout *l, const eg_field *f)
{
    for (size_t i = 0; i < l->count; i++) {
        if (same_name(&l->fields[i], f))
            return &l->fields[i];
    }
    return NULL;
}

static int is_float(int32_t type)
{
    return type == EG_F32 || type == EG_F64 || type == EG_ENTITY;
}

/* 1 when values of the two types are the same bytes and any bits are good. */
static int same_bits(int32_t from, int32_t to)
{
    return from != EG_BOOL && to != EG_BOOL && !is_float(from) &&
           !is_float(to) && egi_field_width(from) == egi_field_width(to);
}

/* Adds a step, or lengthens the last one. There is room. */
static void add_step(egi_schema_plan *p, const eg_field *from,
                     const eg_field *to)
{
    egi_map_step *last = p->count > 0 ? &p->steps[p->count - 1] : NULL;
    egi_map_step s;

    s.from = from->offset;
    s.to = to->offset;
    s.count = to->elements;
    s.from_type = (uint8_t)from->type;
    s.to_type = (uint8_t)to->type;
    if (same_bits(from->type, to->type)) {
        s.from_type = 0;
        s.to_type = 0;
        s.count = (uint32_t)(to->elements * egi_field_width(to->type));
    }
    if (last != NULL && s.to_type == 0 && last->to_type == 0 &&
        last->from + last->count == s.from && last->to + last->count == s.to) {
        last->count += s.count;
        return;
    }
    p->steps[p->count++] = s;
}

/* 1 when both layouts have the same fields in the same places. */
static int same_layout(const egi_layout *from, const eg_field *to, size_t n,
                       size_t to_size)
{
    if (from->count != n || from->size != to_size)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const eg_field *a = &from->fields[i];
        int plain = a->type == to[i].type ||
                    (egi_field_width(a->type) == 8 && is_float(a->type) &&
                     egi_field_width(to[i].type) == 8 && is_float(to[i].type));

        if (!plain || a->offset != to[i].offset ||
            a->elements != to[i].elements || !same_name(a, &to[i]))
            return 0;
    }
    return 1;
}

int egi_schema_plan_init(egi_schema_plan *p, const eg_allocator *alloc,
                         const egi_layout *from, const eg_field *to, size_t n,
                         size_t to_size, egi_schema_clash *clash)
{
    size_t bytes;
    size_t used = 0;

    memset(p, 0, sizeof *p);
    p->alloc = alloc;
    p->from_size = from->size;
    p->to_size = to_size;
    p->capacity = n > 0 ? n : 1;
    if (egi_mul_size(p->capacity, sizeof *p->steps, &bytes) != EG_OK)
        return EG_ENOMEM;
    p->steps = egi_alloc(alloc, bytes);
    if (p->steps == NULL)
        return EG_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const eg_field *saved = find_field(from, &to[i]);

        if (to[i].type < EG_I8 || to[i].type > EG_ENTITY) {
            egi_schema_plan_fini(p);
            return EG_EINVAL;
        }
        if (saved == NULL) {
            p->added++;
            continue;
        }
        if (saved->dims[0] != to[i].dims[0] ||
            saved->dims[1] != to[i].dims[1]) {
            clash->from = (size_t)(saved - from->fields);
            clash->to = i;
            egi_schema_plan_fini(p);
            return EG_ESCHEMA;
        }
        add_step(p, saved, &to[i]);
        used++;
    }
    p->dropped = (uint32_t)(from->count - used);
    p->same = same_layout(from, to, n, to_size);
    return EG_OK;
}

void egi_schema_plan_fini(egi_schema_plan *p)
{
    if (p->steps != NULL)
        egi_free(p->alloc, p->steps, p->capacity * sizeof *p->steps);
    memset(p, 0, sizeof *p);
}
