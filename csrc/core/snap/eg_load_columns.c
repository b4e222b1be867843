/* SPDX-License-Identifier: MIT */
/* Columns of a load: what C can fill in by itself, and the list of what the
 * host must decode. Raw bytes are checked while they are copied. */
#include "core/snap/eg_load.h"

#include "core/snap/eg_wire.h"

#include <string.h>

int egi_load_fail(eg_load *l, int code, uint64_t at, const char *why)
{
    l->error.code = code;
    l->error.offset = at;
    l->error.reason = why;
    return code;
}

/* The component does not go with what was saved. `from` and `to` are the
 * fields to blame, or UINT32_MAX. */
static int clash_at(eg_load *l, uint32_t index, uint32_t from, uint32_t to,
                    const char *why)
{
    l->clash_index = index;
    l->clash_from = from;
    l->clash_to = to;
    return egi_load_fail(
        l, EG_ESCHEMA, egi_snap_components(l->snap)[index].fingerprint_at, why);
}

/* A raw column meets a raw component: equal layouts or a plan. */
static int way_raw(eg_load *l, uint32_t index, egi_load_way *way)
{
    egi_snap_schema *schema = egi_snap_schema_of(l->snap, index);
    const eg_component_def *def = way->def;
    egi_layout from = {0};
    egi_schema_clash clash = {0};
    int err;

    for (uint32_t i = 0; i < def->field_count; i++)
        if (def->fields[i].type == EG_POINTER)
            return clash_at(l, index, UINT32_MAX, i,
                            "a component with a pointer cannot be loaded");
    from.fields = (eg_field *)l->snap->fields.data + schema->fields;
    from.count = schema->field_count;
    from.size = schema->column.size;
    way->kind = EGI_LOAD_MAPPED;
    err = egi_schema_plan_init(&way->plan, &l->alloc, &from, def->fields,
                               def->field_count, def->size, &clash);
    if (err == EG_ESCHEMA)
        return clash_at(l, index, (uint32_t)clash.from, (uint32_t)clash.to,
                        "an array length or aggregate has changed");
    if (err != EG_OK) {
        way->kind = EGI_LOAD_SKIP;
        return err;
    }
    if (!way->plan.same)
        return EG_OK;
    egi_schema_plan_fini(&way->plan);
    way->kind = EGI_LOAD_SKIP;
    err = egi_column_init(&way->column, &l->alloc, def->fields,
                          def->field_count, def->size);
    if (err == EG_OK)
        way->kind = EGI_LOAD_SAME;
    return err;
}

static int way_of(eg_load *l, uint32_t index, egi_load_way *way)
{
    int raw = egi_snap_schema_of(l->snap, index) != NULL;
    const eg_component_def *def = way->def;

    way->kind = EGI_LOAD_HOST;
    if (def->flags & EG_HOST_CODEC)
        return EG_OK;
    if (def->storage == EG_RAW && raw)
        return way_raw(l, index, way);
    if (def->storage == EG_TAG && raw)
        return clash_at(l, index, UINT32_MAX, UINT32_MAX,
                        "structs were saved for what is a tag now");
    if (raw)
        return EG_OK;
    if (def->storage == EG_NUMBER)
        way->kind = EGI_LOAD_NUMBER;
    else if (def->storage == EG_BOOLEAN)
        way->kind = EGI_LOAD_BOOLEAN;
    else if (def->storage == EG_TAG)
        way->kind = EGI_LOAD_TAG;
    return EG_OK;
}

int egi_load_ways(eg_load *l)
{
    uint32_t count = (uint32_t)l->snap->components.count;

    if (egi_grow(&l->alloc, (void **)&l->ways, &l->way_capacity, count,
                 sizeof *l->ways) != EG_OK)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        egi_load_way *way = &l->ways[i];
        uint32_t id = l->map->components[i];
        int err = EG_OK;

        memset(way, 0, sizeof *way);
        l->way_count = i + 1;
        if (id == 0)
            continue;
        way->component = id;
        way->def = eg_component_info(l->world->registry, id);
        way->defaults = l->map->defaults ? l->map->defaults[i] : NULL;
        if (way->def != NULL)
            err = way_of(l, i, way);
        if (err != EG_OK)
            return err;
    }
    return EG_OK;
}

void egi_load_ways_fini(eg_load *l)
{
    for (uint32_t i = 0; i < l->way_count; i++) {
        if (l->ways[i].kind == EGI_LOAD_SAME)
            egi_column_fini(&l->ways[i].column);
        else if (l->ways[i].kind == EGI_LOAD_MAPPED)
            egi_schema_plan_fini(&l->ways[i].plan);
    }
    l->way_count = 0;
}

/* Tags hold `true` in every row; anything else was saved for a component of
 * another kind, and would be lost. */
static int check_tags(eg_load *l, const egi_snap_column *column, uint32_t rows)
{
    for (uint32_t i = 0; i < rows; i++)
        if (l->snap->data[column->offset + i] != EGI_TAG_TRUE)
            return egi_load_fail(l, EG_ESCHEMA, column->offset + i,
                                 "values were saved for what is a tag now");
    return EG_OK;
}

/* The bytes of a raw column of another layout, checked. */
static int check_raw(eg_load *l, uint32_t index, const egi_snap_column *column,
                     uint32_t rows)
{
    egi_column saved;
    size_t bad;
    const egi_snap_schema *schema = egi_snap_schema_of(l->snap, index);
    int err = egi_column_init(&saved, &l->alloc,
                              (eg_field *)l->snap->fields.data + schema->fields,
                              schema->field_count, schema->column.size);

    if (err != EG_OK)
        return err;
    err = egi_column_check(&saved, l->snap->data + column->offset, rows, &bad);
    egi_column_fini(&saved);
    return err == EG_OK ? EG_OK
                        : egi_load_fail(l, EG_ECORRUPT, column->offset + bad,
                                        "a number or bool of no valid form");
}

static int add_hosted(eg_load *l, uint32_t index, const egi_snap_column *column,
                      const egi_archetype *a, uint32_t first, uint32_t rows)
{
    eg_load_column *h;
    int raw = egi_snap_schema_of(l->snap, index) != NULL;
    int err = raw ? check_raw(l, index, column, rows) : EG_OK;

    if (err != EG_OK)
        return err;
    if (egi_grow(&l->alloc, (void **)&l->hosted, &l->hosted_capacity,
                 l->hosted_count + 1, sizeof *l->hosted) != EG_OK)
        return EG_ENOMEM;
    h = &l->hosted[l->hosted_count++];
    memset(h, 0, sizeof *h);
    h->data = l->snap->data + column->offset;
    h->size = column->length;
    h->offset = column->offset;
    h->archetype = a->id;
    h->component = l->ways[index].component;
    h->index = index;
    h->first = first;
    h->rows = rows;
    h->raw = (uint32_t)raw;
    return EG_OK;
}

static int fill(eg_load *l, uint32_t index, const egi_snap_column *column,
                const egi_archetype *a, uint32_t first, uint32_t rows)
{
    const egi_load_way *way = &l->ways[index];
    const uint8_t *src = l->snap->data + column->offset;
    int i = egi_byte_index(a, way->component);
    unsigned char *row = NULL;
    size_t bad;
    int err;

    if (i >= 0)
        row = egi_rows_of(l->world, a->id)->columns[i] +
              (size_t)first * a->bytes[i].size;
    switch (way->kind) {
    case EGI_LOAD_SAME:
        err = egi_column_load(&way->column, row, src, rows, &bad);
        return err == EG_OK
                   ? EG_OK
                   : egi_load_fail(l, EG_ECORRUPT, column->offset + bad,
                                   "a number or bool of no valid form");
    case EGI_LOAD_MAPPED:
        err = check_raw(l, index, column, rows);
        if (err == EG_OK)
            egi_schema_map_column(&way->plan, row, src, rows, way->defaults);
        return err;
    case EGI_LOAD_NUMBER:
    case EGI_LOAD_BOOLEAN:
        return egi_load_scalars(l, way, column, row, rows);
    case EGI_LOAD_TAG:
        return check_tags(l, column, rows);
    case EGI_LOAD_HOST:
        return add_hosted(l, index, column, a, first, rows);
    default:
        /* Left out, but checked, as everything in a source is. */
        return egi_snap_schema_of(l->snap, index) != NULL
                   ? check_raw(l, index, column, rows)
                   : EG_OK;
    }
}

/* Bytes of components that the record does not bring start as zeros. */
static void zero_missing(eg_load *l, const egi_snap_record *r,
                         const egi_archetype *a, uint32_t first)
{
    egi_rows *rows = egi_rows_of(l->world, a->id);
    const uint32_t *ids = egi_snap_ids(l->snap) + r->columns;

    for (uint32_t i = 0; i < a->byte_count; i++) {
        size_t size = a->bytes[i].size;
        int brought = 0;

        for (uint32_t k = 0; k < r->column_count && !brought; k++) {
            const egi_load_way *way = &l->ways[ids[k]];

            brought = way->component == a->bytes[i].component &&
                      way->kind != EGI_LOAD_HOST;
        }
        if (!brought)
            memset(rows->columns[i] + first * size, 0, r->rows * size);
    }
}

int egi_load_columns(eg_load *l, uint32_t record, egi_archetype *a,
                     uint32_t first)
{
    const egi_snap_record *r = &egi_snap_records(l->snap)[record];
    const uint32_t *ids = egi_snap_ids(l->snap) + r->columns;
    const egi_snap_column *columns = egi_snap_columns(l->snap) + r->columns;

    if (r->rows == 0)
        return EG_OK;
    zero_missing(l, r, a, first);
    for (uint32_t k = 0; k < r->column_count; k++) {
        int err = fill(l, ids[k], &columns[k], a, first, r->rows);

        if (err != EG_OK) {
            l->clash_index = ids[k];
            return err;
        }
    }
    return EG_OK;
}
