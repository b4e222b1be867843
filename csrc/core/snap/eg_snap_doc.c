/* SPDX-License-Identifier: MIT */
/* The memory of a document, and the answers it gives. */
#include <string.h>

#include "core/snap/eg_snap_verify.h"

enum {
    SLOT_BYTES = (EG_MAX_ENTITIES + 1) / 8, /* one bit per slot */
    POOL_FIRST = 256                        /* bytes of a pool's first block */
};

static const uint64_t default_bytes = UINT64_C(1) << 30;

void eg_limits_init(eg_limits *lim)
{
    lim->entities = EG_MAX_ENTITIES;
    lim->bytes = default_bytes;
    lim->depth = EG_MAX_DEPTH;
}

int egi_pool_reserve(const eg_allocator *a, egi_pool *p, size_t more,
                     size_t size)
{
    size_t need;
    size_t bytes = p->bytes;
    void *grown;

    if (egi_add_size(p->count, more, &need) != EG_OK ||
        egi_mul_size(need, size, &need) != EG_OK)
        return EG_ENOMEM;
    if (need <= bytes)
        return EG_OK;
    if (egi_mul_size(bytes, 2, &bytes) != EG_OK || bytes < need)
        bytes = need;
    if (bytes < POOL_FIRST)
        bytes = POOL_FIRST;
    grown = egi_resize(a, p->data, p->bytes, bytes);
    if (grown == NULL)
        return EG_ENOMEM;
    p->data = grown;
    p->bytes = bytes;
    return EG_OK;
}

static void pool_fini(const eg_allocator *a, egi_pool *p)
{
    if (p->data != NULL)
        egi_free(a, p->data, p->bytes);
    memset(p, 0, sizeof *p);
}

int egi_snap_new(const eg_allocator *a, eg_snap **out)
{
    eg_snap *s;

    if (a == NULL)
        a = &egi_default_allocator;
    s = egi_zalloc(a, sizeof *s);
    if (s == NULL)
        return EG_ENOMEM;
    s->alloc = *a;
    egi_walker_init(&s->walker, &s->alloc, EG_MAX_DEPTH);
    s->slots = egi_map(&s->alloc, SLOT_BYTES);
    if (s->slots == NULL) {
        egi_free(a, s, sizeof *s);
        return EG_ENOMEM;
    }
    *out = s;
    return EG_OK;
}

void egi_snap_reset(eg_snap *s)
{
    egi_pool *const pools[] = {
        &s->components, &s->schemas, &s->fields,  &s->parts,
        &s->names,      &s->masks,   &s->records, &s->columns,
        &s->ids,        &s->entries, &s->set,
    };

    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++)
        pools[i]->count = 0;
    /* Pages that no slot touched are never written, so they stay unbacked. */
    memset(s->slots, 0, ((size_t)s->slots_high / 64 + 1) * 8);
    memset(&s->allocator, 0, sizeof s->allocator);
    s->slots_high = 0;
    s->data = NULL;
    s->len = 0;
    s->next_id = 0.0;
    s->entities = 0;
    s->stated_records = 0;
    s->high_slot = 0;
    s->rows = 0;
    s->reserved = 0;
}

void eg_snap_close(eg_snap *s)
{
    eg_allocator a;

    if (s == NULL)
        return;
    a = s->alloc;
    pool_fini(&a, &s->components);
    pool_fini(&a, &s->schemas);
    pool_fini(&a, &s->fields);
    pool_fini(&a, &s->parts);
    pool_fini(&a, &s->names);
    pool_fini(&a, &s->masks);
    pool_fini(&a, &s->records);
    pool_fini(&a, &s->columns);
    pool_fini(&a, &s->ids);
    pool_fini(&a, &s->entries);
    pool_fini(&a, &s->set);
    egi_walker_fini(&s->walker);
    egi_unmap(&a, s->slots, SLOT_BYTES);
    egi_free(&a, s, sizeof *s);
}

void eg_snap_prelude_of(const eg_snap *s, eg_snap_prelude *out)
{
    out->version = s->data != NULL ? EG_SNAPSHOT_VERSION : 0;
    out->next_id = s->next_id;
    out->entities = s->entities;
    out->records = s->stated_records;
    out->components = (uint32_t)s->components.count;
    out->entries = (uint32_t)s->entries.count;
    out->high_slot = s->high_slot;
}

int eg_snap_component_at(const eg_snap *s, uint32_t index,
                         eg_snap_component *out)
{
    const egi_snap_component *c;
    const egi_snap_schema *schema;

    if (index >= s->components.count)
        return EG_EINVAL;
    c = &egi_snap_components(s)[index];
    schema = egi_snap_schema_of(s, index);
    out->name = (const char *)s->data + c->name_at;
    out->name_len = c->name_len;
    out->fingerprint = (const char *)s->data + c->fingerprint_at;
    out->fingerprint_len = c->fingerprint_len;
    out->fields = NULL;
    out->field_count = 0;
    out->size = 0;
    if (schema != NULL) {
        out->fields = (const eg_field *)s->fields.data + schema->fields;
        out->field_count = (uint32_t)schema->field_count;
        out->size = (uint32_t)schema->column.size;
    }
    return EG_OK;
}

int eg_snap_record_at(const eg_snap *s, uint32_t index, eg_snap_record *out)
{
    const egi_snap_record *rec;

    if (index >= s->records.count)
        return EG_EINVAL;
    rec = &egi_snap_records(s)[index];
    out->at = rec->at;
    out->end = rec->end;
    out->rows = rec->rows;
    out->columns = rec->column_count;
    out->mode = rec->mode;
    return EG_OK;
}

int eg_snap_column_at(const eg_snap *s, uint32_t record, uint32_t column,
                      eg_snap_column *out)
{
    const egi_snap_record *rec;
    const egi_snap_column *c;

    if (record >= s->records.count)
        return EG_EINVAL;
    rec = &egi_snap_records(s)[record];
    if (column >= rec->column_count)
        return EG_EINVAL;
    c = &egi_snap_columns(s)[rec->columns + column];
    out->component = egi_snap_ids(s)[rec->columns + column];
    out->offset = c->offset;
    out->length = c->length;
    out->raw = rec->mode == EGI_MODE_COLUMNS &&
               egi_snap_components(s)[out->component].schema != 0;
    return EG_OK;
}

int eg_snap_entry_at(const eg_snap *s, uint32_t index, eg_snap_entry *out)
{
    const egi_snap_entry *e;

    if (index >= s->entries.count)
        return EG_EINVAL;
    e = &egi_snap_entries(s)[index];
    out->key = (const char *)s->data + e->key_at;
    out->key_len = e->key_len;
    out->value = e->value_at;
    out->value_len = e->value_len;
    out->kind = e->kind;
    return EG_OK;
}
