/* SPDX-License-Identifier: MIT */
/* The component registry: names, layouts and the canonical order. Definitions
 * are copied into one block each and never move, so borrowed pointers stay
 * good for the registry's life. */
#include "core/store/eg_store.h"

#include <string.h>

enum { MAX_COMPONENT_SIZE = 1 << 20, MAX_ALIGN = 64 };

int eg_registry_new(const eg_allocator *a, eg_registry **out)
{
    eg_registry *r;

    if (out == NULL)
        return EG_EINVAL;
    if (a == NULL)
        a = &egi_default_allocator;
    r = egi_zalloc(a, sizeof *r);
    if (r == NULL)
        return EG_ENOMEM;
    r->allocator = *a;
    r->references = 1;
    *out = r;
    return EG_OK;
}

static size_t def_size(const eg_component_def *def)
{
    size_t size = sizeof *def + def->name_len + def->group_len + 2;

    size += def->field_count * sizeof *def->fields;
    for (uint32_t i = 0; i < def->field_count; i++)
        size += def->fields[i].name_len;
    return size;
}

void eg_registry_release(eg_registry *r)
{
    eg_allocator a;

    if (r == NULL || --r->references > 0)
        return;
    a = r->allocator;
    for (uint32_t i = 0; i < r->count; i++)
        egi_free(&a, r->defs[i], def_size(r->defs[i]));
    egi_free(&a, r->defs, r->capacity * sizeof *r->defs);
    egi_free(&a, r->names, r->names_capacity * sizeof *r->names);
    egi_free(&a, r, sizeof *r);
}

static int fields_valid(const eg_component_def *def)
{
    for (uint32_t i = 0; i < def->field_count; i++) {
        const eg_field *f = &def->fields[i];

        if (f->name == NULL || f->name_len == 0 || f->elements == 0 ||
            f->type < EG_I8 || f->type > EG_POINTER || f->offset >= def->size)
            return 0;
    }
    return 1;
}

static int def_valid(const eg_component_def *def)
{
    if (def->name == NULL || def->name_len == 0)
        return 0;
    if (def->storage < EG_TAG || def->storage > EG_HOST)
        return 0;
    /* NaN has no place in an order. */
    if (def->group_key != def->group_key)
        return 0;
    if (def->storage != EG_RAW)
        return def->size == 0 && def->field_count == 0;
    if (def->size == 0 || def->size > MAX_COMPONENT_SIZE)
        return 0;
    if (def->align == 0 || def->align > MAX_ALIGN ||
        (def->align & (def->align - 1)) != 0 || def->size % def->align != 0)
        return 0;
    return def->field_count == 0 || (def->fields && fields_valid(def));
}

/* Copies def and everything it points to into one block. */
static eg_component_def *def_copy(const eg_allocator *a,
                                  const eg_component_def *def)
{
    eg_component_def *copy = egi_zalloc(a, def_size(def));
    eg_field *fields;
    char *text;

    if (copy == NULL)
        return NULL;
    *copy = *def;
    fields = (eg_field *)(void *)(copy + 1);
    text = (char *)(fields + def->field_count);
    copy->name = memcpy(text, def->name, def->name_len);
    text += def->name_len + 1;
    if (def->group != NULL)
        copy->group = memcpy(text, def->group, def->group_len);
    text += def->group_len + 1;
    if (def->field_count > 0)
        memcpy(fields, def->fields, def->field_count * sizeof *fields);
    copy->fields = def->field_count > 0 ? fields : NULL;
    for (uint32_t i = 0; i < def->field_count; i++) {
        fields[i].name = memcpy(text, fields[i].name, fields[i].name_len);
        text += fields[i].name_len;
    }
    if (def->storage == EG_NUMBER) {
        copy->size = sizeof(double);
        copy->align = sizeof(double);
    } else if (def->storage == EG_BOOLEAN) {
        copy->size = 1;
        copy->align = 1;
    }
    return copy;
}

static int name_is(const eg_component_def *def, const char *name, uint32_t len)
{
    return def->name_len == len && memcmp(def->name, name, len) == 0;
}

uint32_t eg_component_find(const eg_registry *r, const char *name,
                           uint32_t name_len)
{
    uint32_t mask = r->names_capacity - 1;

    if (r->names_capacity == 0 || name == NULL)
        return 0;
    for (uint32_t i = egi_hash_bytes(name, name_len) & mask;;
         i = (i + 1) & mask) {
        uint32_t id = r->names[i];

        if (id == 0 || name_is(r->defs[id - 1], name, name_len))
            return id;
    }
}

static void name_put(eg_registry *r, uint32_t id)
{
    const eg_component_def *def = r->defs[id - 1];
    uint32_t mask = r->names_capacity - 1;
    uint32_t i = egi_hash_bytes(def->name, def->name_len) & mask;

    while (r->names[i] != 0)
        i = (i + 1) & mask;
    r->names[i] = id;
}

static int names_reserve(eg_registry *r)
{
    uint32_t old = r->names_capacity;
    uint32_t capacity = old == 0 ? 64 : old * 2;
    uint32_t *names;

    if (r->count + 1 <= old / 2)
        return EG_OK;
    names = egi_zalloc(&r->allocator, capacity * sizeof *names);
    if (names == NULL)
        return EG_ENOMEM;
    egi_free(&r->allocator, r->names, old * sizeof *names);
    r->names = names;
    r->names_capacity = capacity;
    for (uint32_t id = 1; id <= r->count; id++)
        name_put(r, id);
    return EG_OK;
}

int eg_component_register(eg_registry *r, const eg_component_def *def,
                          uint32_t *id)
{
    eg_component_def *copy;

    if (r == NULL || def == NULL || id == NULL || !def_valid(def) ||
        eg_component_find(r, def->name, def->name_len) != 0)
        return EG_EINVAL;
    if (names_reserve(r) != EG_OK ||
        egi_grow(&r->allocator, (void **)&r->defs, &r->capacity, r->count + 1,
                 sizeof *r->defs) != EG_OK)
        return EG_ENOMEM;
    copy = def_copy(&r->allocator, def);
    if (copy == NULL)
        return EG_ENOMEM;
    r->defs[r->count++] = copy;
    name_put(r, r->count);
    *id = r->count;
    return EG_OK;
}

uint32_t eg_component_count(const eg_registry *r)
{
    return r->count;
}

const eg_component_def *eg_component_info(const eg_registry *r, uint32_t id)
{
    return id != 0 && id <= r->count ? r->defs[id - 1] : NULL;
}

static int bytes_compare(const char *a, uint32_t alen, const char *b,
                         uint32_t blen)
{
    int order = memcmp(a, b, alen < blen ? alen : blen);

    if (order != 0)
        return order;
    return (alen > blen) - (alen < blen);
}

int egi_component_compare(const eg_registry *r, uint32_t a, uint32_t b)
{
    const eg_component_def *x = r->defs[a - 1], *y = r->defs[b - 1];
    const char *xn = x->group ? x->group : x->name;
    const char *yn = y->group ? y->group : y->name;
    int order = bytes_compare(xn, x->group ? x->group_len : x->name_len, yn,
                              y->group ? y->group_len : y->name_len);

    if (order != 0)
        return order;
    if (x->group_key != y->group_key)
        return x->group_key < y->group_key ? -1 : 1;
    return bytes_compare(x->name, x->name_len, y->name, y->name_len);
}
