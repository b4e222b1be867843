/* SPDX-License-Identifier: MIT */
/* The component table of a snapshot: names and fingerprints.
 *
 * All lines are read before any fingerprint is parsed, so the pools of fields
 * and names are sized once and what points into them stays put. */
#include <string.h>

#include "core/snap/eg_keyset.h"
#include "core/snap/eg_schema.h"
#include "core/snap/eg_snap_verify.h"

/* What the fingerprints of a table may need, elements. */
typedef struct needs {
    size_t schemas;
    size_t fields;
    size_t names;
} needs;

static int read_line(eg_snap *s, egi_reader *r, needs *n)
{
    egi_snap_component *c = &egi_snap_components(s)[s->components.count];
    const uint8_t *text;
    size_t len;

    if (egi_read_string(r, &text, &len) != EG_OK)
        return r->error;
    if (len == 0)
        return EGI_CORRUPT(r, "component without a name");
    c->name_at = (size_t)(text - r->data);
    c->name_len = (uint32_t)len;
    if (egi_read_string(r, &text, &len) != EG_OK)
        return r->error;
    c->fingerprint_at = (size_t)(text - r->data);
    c->fingerprint_len = (uint32_t)len;
    c->schema = 0;
    s->components.count++;
    if (len > 0) {
        n->schemas++;
        n->fields += egi_fingerprint_max_fields(text, len);
        n->names += egi_fingerprint_name_bytes(text, len);
    }
    return EG_OK;
}

static uint64_t hash_name(const void *ctx, uint64_t item, uint64_t seed)
{
    const eg_snap *s = ctx;
    const egi_snap_component *c = &egi_snap_components(s)[item];

    return egi_keyed_hash(s->data + c->name_at, c->name_len, seed);
}

static int equal_names(const void *ctx, uint64_t a, uint64_t b)
{
    const eg_snap *s = ctx;
    const egi_snap_component *x = &egi_snap_components(s)[a];
    const egi_snap_component *y = &egi_snap_components(s)[b];

    return x->name_len == y->name_len &&
           memcmp(s->data + x->name_at, s->data + y->name_at, x->name_len) == 0;
}

static int check_names(eg_snap *s, egi_reader *r)
{
    static const egi_keyset_ops ops = {hash_name, equal_names};
    size_t n = s->components.count;
    egi_keyset set = {&ops, s, &s->alloc, NULL, 2 * n, 0, 0};

    if (n < 2)
        return EG_OK;
    if (egi_pool_reserve(&s->alloc, &s->set, 2 * n, sizeof *set.slots) != EG_OK)
        return egi_snap_no_memory(r);
    set.slots = s->set.data;
    egi_keyset_init(&set);
    for (size_t i = 0; i < n; i++) {
        int result = egi_keyset_add(&set, i);

        if (result == EGI_KEYSET_NEW)
            continue;
        if (result == EG_ENOMEM)
            return egi_snap_no_memory(r);
        return EGI_CORRUPT_AT(r, egi_snap_components(s)[i].name_at,
                              result == EGI_KEYSET_TWICE
                                  ? "component name comes twice"
                                  : "component names made to collide");
    }
    return EG_OK;
}

/* Parses the fingerprint of component i into the pools, which have room. */
static int read_schema(eg_snap *s, egi_reader *r, size_t i)
{
    egi_snap_component *c = &egi_snap_components(s)[i];
    egi_snap_schema *schema = &egi_snap_schemas(s)[s->schemas.count];
    const uint8_t *text = s->data + c->fingerprint_at;
    eg_field *fields = (eg_field *)s->fields.data + s->fields.count;
    char *names = s->names.data;
    egi_part *parts = (egi_part *)s->parts.data + s->parts.count;
    egi_text_error bad = {0, NULL};
    size_t size;
    size_t twice;
    int err;

    if (egi_fingerprint_name_bytes(text, c->fingerprint_len) > 0)
        names += s->names.count;
    if (egi_fingerprint_parse(text, c->fingerprint_len, fields, names,
                              &schema->field_count, &size, &bad) != EG_OK)
        return EGI_CORRUPT_AT(r, c->fingerprint_at + bad.at, bad.why);
    err = egi_fields_unique(&s->alloc, fields, schema->field_count, &twice);
    if (err == EG_ENOMEM)
        return egi_snap_no_memory(r);
    if (err != EG_OK)
        return EGI_CORRUPT_AT(r, c->fingerprint_at,
                              "field name comes twice in a fingerprint");
    if (egi_column_describe(&schema->column, fields, schema->field_count, size,
                            parts) != EG_OK)
        return EGI_CORRUPT_AT(r, c->fingerprint_at, "bad layout");
    schema->fields = s->fields.count;
    schema->masks = 0;
    s->fields.count += schema->field_count;
    s->parts.count += schema->column.part_count;
    s->names.count += egi_fingerprint_name_bytes(text, c->fingerprint_len);
    c->schema = (uint32_t)++s->schemas.count;
    return EG_OK;
}

static int read_schemas(eg_snap *s, egi_reader *r, const needs *n)
{
    const eg_allocator *a = &s->alloc;

    if (n->schemas == 0)
        return EG_OK;
    /* Parts: EGI_COLUMN_PARTS, added up. None of this overflows: a field takes
     * five bytes of input. */
    if (egi_pool_reserve(a, &s->schemas, n->schemas, sizeof(egi_snap_schema)) !=
            EG_OK ||
        egi_pool_reserve(a, &s->fields, n->fields, sizeof(eg_field)) != EG_OK ||
        egi_pool_reserve(a, &s->parts, 2 * n->fields + n->schemas,
                         sizeof(egi_part)) != EG_OK ||
        (n->names > 0 && egi_pool_reserve(a, &s->names, n->names, 1) != EG_OK))
        return egi_snap_no_memory(r);
    for (size_t i = 0; i < s->components.count; i++) {
        if (egi_snap_components(s)[i].fingerprint_len > 0 &&
            read_schema(s, r, i) != EG_OK)
            return r->error;
    }
    return EG_OK;
}

int egi_snap_read_table(eg_snap *s, egi_reader *r, size_t count)
{
    needs n = {0, 0, 0};

    if (count == 0)
        return EG_OK;
    if (egi_pool_reserve(&s->alloc, &s->components, count,
                         sizeof(egi_snap_component)) != EG_OK)
        return egi_snap_no_memory(r);
    for (size_t i = 0; i < count; i++) {
        if (read_line(s, r, &n) != EG_OK)
            return r->error;
    }
    if (check_names(s, r) != EG_OK)
        return r->error;
    return read_schemas(s, r, &n);
}
