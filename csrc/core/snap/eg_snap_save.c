/* SPDX-License-Identifier: MIT */
/* Writes a snapshot: measures it exactly, then writes it in one pass into
 * memory of that size. Between the two calls the world must not change. The
 * mirror of eg_snap_load.c. */
#include "core/snap/eg_save.h"

#include "core/snap/eg_schema.h"
#include "core/snap/eg_wire.h"

#include <string.h>

static const eg_component_def *def_of(const eg_save *s, uint32_t component)
{
    return s->world->registry->defs[component - 1];
}

void eg_save_free(eg_save *s)
{
    const eg_allocator *a;

    if (s == NULL)
        return;
    a = &s->alloc;
    for (uint32_t i = 0; i < s->layout_capacity; i++)
        if (s->layouts[i].size != 0)
            egi_column_fini(&s->layouts[i]);
    egi_free(a, s->parts, s->part_capacity * sizeof *s->parts);
    egi_free(a, s->records, s->record_capacity * sizeof *s->records);
    egi_free(a, s->columns, s->column_capacity * sizeof *s->columns);
    egi_free(a, s->table, s->table_capacity * sizeof *s->table);
    egi_free(a, s->index_of, s->index_capacity * sizeof *s->index_of);
    egi_free(a, s->hosted, s->hosted_capacity * sizeof *s->hosted);
    egi_free(a, s->layouts, s->layout_capacity * sizeof *s->layouts);
    egi_buffer_fini(&s->head);
    egi_buffer_fini(&s->tail);
    {
        eg_allocator copy = s->alloc;

        egi_free(&copy, s, sizeof *s);
    }
}

uint32_t eg_save_hosted(const eg_save *s, eg_save_column **out)
{
    *out = s->hosted;
    return s->hosted_count;
}

/* -- measuring ------------------------------------------------------------ */

static size_t number_rows_size(const double *rows, uint32_t count)
{
    size_t size = 0;

    for (uint32_t i = 0; i < count; i++)
        size += egi_size_number(rows[i]);
    return size;
}

/* Bytes of one column of one part. */
static size_t column_size(const eg_save *s, uint32_t component,
                          const egi_save_part *p, uint32_t *hosted)
{
    size_t each = EGI_SCALAR_HEAD_SIZE;
    const egi_archetype *a = s->world->archetypes[p->archetype];
    const double *rows;
    int i;

    switch (egi_save_kind_of(def_of(s, component))) {
    case EGI_SAVE_RAW:
        return (size_t)p->rows * def_of(s, component)->size;
    case EGI_SAVE_TAG:
        return p->rows;
    case EGI_SAVE_BOOLEAN:
        return p->rows * (each + EGI_SIZE_BOOL);
    case EGI_SAVE_NUMBER:
        i = egi_byte_index(a, component);
        rows = (const double *)(const void *)egi_rows_of(s->world, a->id)
                   ->columns[i] +
               1;
        return p->rows * each + number_rows_size(rows, p->rows);
    default:
        return (size_t)s->hosted[(*hosted)++].size;
    }
}

static size_t record_head_size(const eg_save *s, const egi_save_record *r)
{
    size_t size = egi_size_number(r->column_count) + egi_size_number(r->rows) +
                  egi_size_number(EGI_MODE_COLUMNS);

    for (uint32_t k = 0; k < r->column_count; k++)
        size += egi_size_number(s->index_of[s->columns[r->column + k]]);
    return size;
}

static size_t records_size(const eg_save *s)
{
    size_t size = 0;
    uint32_t hosted = 0;

    for (uint32_t i = 0; i < s->record_count; i++) {
        const egi_save_record *r = &s->records[i];

        size += record_head_size(s, r) + r->rows * sizeof(double);
        for (uint32_t k = 0; k < r->column_count; k++)
            for (uint32_t p = 0; p < r->part_count; p++)
                size += column_size(s, s->columns[r->column + k],
                                    &s->parts[r->part + p], &hosted);
    }
    return size;
}

static int write_prelude(eg_save *s)
{
    egi_writer w;
    const egi_content *c = s->world->now;

    egi_buffer_reset(&s->head);
    egi_writer_init_buffer(&w, &s->head);
    egi_put_number(&w, EG_SNAPSHOT_VERSION);
    egi_put_number(&w, (double)c->high + 1.0);
    egi_put_number(&w, c->live);
    egi_put_number(&w, s->record_count);
    egi_put_number(&w, s->table_count);
    for (uint32_t i = 0; i < s->table_count; i++) {
        const eg_component_def *def = def_of(s, s->table[i]);

        egi_put_string(&w, def->name, def->name_len);
        if (egi_save_kind_of(def) != EGI_SAVE_RAW) {
            egi_put_string(&w, "", 0);
        } else {
            egi_buffer text;
            egi_writer tw;
            int err;

            egi_buffer_init(&text, &s->alloc);
            egi_writer_init_buffer(&tw, &text);
            err = egi_fingerprint_write(&tw, def->fields, def->field_count,
                                        def->size);
            if (egi_writer_end(&tw) == EG_OK && err == EG_OK)
                egi_put_string(&w, text.data, text.size);
            egi_buffer_fini(&text);
            if (err != EG_OK)
                return err;
        }
    }
    return egi_writer_end(&w);
}

static int write_tail(eg_save *s)
{
    egi_buffer value;
    egi_writer w;
    int err;

    egi_buffer_init(&value, &s->alloc);
    err = egi_save_allocator(s, &value);
    egi_buffer_reset(&s->tail);
    egi_writer_init_buffer(&w, &s->tail);
    egi_put_bool(&w, 1);
    egi_put_string(&w, EGI_KEY_ALLOCATOR, sizeof EGI_KEY_ALLOCATOR - 1);
    if (err == EG_OK)
        egi_put_string(&w, value.data, value.size);
    egi_buffer_fini(&value);
    return egi_writer_end(&w) != EG_OK ? EG_ENOMEM : err;
}

/* Prelude and allocator are written down here: what the host stages while it
 * encodes takes slots, but is not in this save. */
int eg_save_begin(eg_world *w, eg_save **job)
{
    eg_save *s = *job;
    int err;

    if (w->staged)
        return EG_EBUSY;
    if (s == NULL) {
        s = egi_zalloc(&w->allocator, sizeof *s);
        if (s == NULL)
            return EG_ENOMEM;
        s->alloc = w->allocator;
        egi_buffer_init(&s->head, &s->alloc);
        egi_buffer_init(&s->tail, &s->alloc);
        *job = s;
    }
    s->world = w;
    s->data = NULL;
    s->data_len = s->size = 0;
    err = egi_save_plan(s);
    if (err == EG_OK)
        err = write_prelude(s);
    return err == EG_OK ? write_tail(s) : err;
}

int eg_save_measure(eg_save *s, const void *data, size_t data_len,
                    uint64_t *size)
{
    s->data = data;
    s->data_len = data_len;
    s->size = s->head.size + records_size(s) + s->tail.size + data_len +
              EGI_SIZE_BOOL;
    *size = s->size;
    return EG_OK;
}

/* -- writing -------------------------------------------------------------- */

/* {value = number}, {value = bool}: head and key are the same eight bytes in
 * every row. */
static void put_numbers(egi_writer *w, const unsigned char *row1, uint32_t rows)
{
    for (uint32_t k = 0; k < rows; k++) {
        double v;

        memcpy(&v, row1 + k * sizeof v, sizeof v);
        egi_put_raw(w, EGI_SCALAR_HEAD, EGI_SCALAR_HEAD_SIZE);
        egi_put_number(w, v);
    }
}

static void put_booleans(egi_writer *w, const unsigned char *row1,
                         uint32_t rows)
{
    for (uint32_t k = 0; k < rows; k++) {
        egi_put_raw(w, EGI_SCALAR_HEAD, EGI_SCALAR_HEAD_SIZE);
        egi_put_bool(w, row1[k] != 0);
    }
}

static void put_column(eg_save *s, egi_writer *w, uint32_t component,
                       const egi_save_part *p, uint32_t *hosted)
{
    const eg_component_def *def = def_of(s, component);
    const egi_archetype *a = s->world->archetypes[p->archetype];
    int i = egi_byte_index(a, component);
    const unsigned char *row1 = NULL;
    const eg_save_column *h;
    uint8_t *to;

    if (i >= 0)
        row1 = egi_rows_of(s->world, a->id)->columns[i] + def->size;
    switch (egi_save_kind_of(def)) {
    case EGI_SAVE_RAW:
        to = egi_writer_take(w, (size_t)p->rows * def->size);
        if (to != NULL)
            egi_column_save(&s->layouts[component], to, row1, p->rows);
        break;
    case EGI_SAVE_TAG:
        to = egi_writer_take(w, p->rows);
        if (to != NULL)
            memset(to, EGI_TAG_TRUE, p->rows);
        break;
    case EGI_SAVE_BOOLEAN:
        if (row1 != NULL)
            put_booleans(w, row1, p->rows);
        break;
    case EGI_SAVE_NUMBER:
        if (row1 != NULL)
            put_numbers(w, row1, p->rows);
        break;
    default:
        h = &s->hosted[(*hosted)++];
        egi_put_raw(w, h->data, (size_t)h->size);
        break;
    }
}

static void put_record(eg_save *s, egi_writer *w, const egi_save_record *r,
                       uint32_t *hosted)
{
    egi_put_number(w, r->column_count);
    egi_put_number(w, r->rows);
    for (uint32_t k = 0; k < r->column_count; k++)
        egi_put_number(w, s->index_of[s->columns[r->column + k]]);
    egi_put_number(w, EGI_MODE_COLUMNS);
    for (uint32_t p = 0; p < r->part_count; p++) {
        const egi_save_part *part = &s->parts[r->part + p];

        egi_put_raw(w, egi_rows_of(s->world, part->archetype)->ids + 1,
                    part->rows * sizeof(double));
    }
    for (uint32_t k = 0; k < r->column_count; k++)
        for (uint32_t p = 0; p < r->part_count; p++)
            put_column(s, w, s->columns[r->column + k], &s->parts[r->part + p],
                       hosted);
}

int eg_save_write(eg_save *s, void *to, uint64_t size)
{
    egi_writer w;
    uint32_t hosted = 0;

    if (size < s->size)
        return EG_ELIMIT;
    egi_writer_init(&w, to, s->size);
    egi_put_raw(&w, s->head.data, s->head.size);
    for (uint32_t i = 0; i < s->record_count; i++)
        put_record(s, &w, &s->records[i], &hosted);
    egi_put_raw(&w, s->tail.data, s->tail.size);
    egi_put_raw(&w, s->data, s->data_len);
    egi_put_bool(&w, 0);
    egi_assert(w.error != EG_OK || w.pos == s->size);
    return egi_writer_end(&w);
}
