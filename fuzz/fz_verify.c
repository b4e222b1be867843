/* SPDX-License-Identifier: MIT */
/* Any bytes: eg_snap_open says yes or no and never crashes. What it accepts is
 * gone through again by other means: ranges, values, raw columns, fingerprints
 * and slots must be what the index says. */
#include "fz_target.h"

#include <stdlib.h>
#include <string.h>

#include "core/snap/eg_schema.h"
#include "core/snap/eg_snap_verify.h"

/* Also in release builds: a fuzzer must stop at what is wrong. */
#define MUST(x)                                                                \
    do {                                                                       \
        if (!(x))                                                              \
            abort();                                                           \
    } while (0)

enum {
    ACCEPTED,
    TRUNCATED,
    CORRUPT,
    OTHER_VERSION,
    LIMIT,
    RAW_COLUMN,
    MASKED,
    ENCODED_COLUMN,
    BY_ROWS,
    ENTRY,
    SLOTS,
    STAGES
};

const char *const fz_stages[STAGES + 1] = {
    "accepted", "truncated",  "corrupt",       "version",
    "limit",    "raw column", "masked column", "encoded column",
    "by rows",  "data entry", "slots",         NULL};
unsigned long fz_reached[STAGES];

/* A raw column that was accepted loads, and a save of that changes nothing. */
static void check_raw(eg_snap *s, const eg_snap_column *col, uint32_t rows)
{
    egi_snap_schema *schema = egi_snap_schema_of(s, col->component);
    size_t bad;
    uint8_t *loaded;
    uint8_t *saved;

    MUST(schema != NULL);
    MUST(col->length == (uint64_t)rows * schema->column.size);
    MUST(egi_snap_use_masks(s, schema, rows) == EG_OK);
    fz_reached[RAW_COLUMN]++;
    fz_reached[MASKED] += schema->column.masks != NULL;
    loaded = malloc((size_t)col->length + 1);
    saved = malloc((size_t)col->length + 1);
    MUST(loaded != NULL && saved != NULL);
    MUST(egi_column_load(&schema->column, loaded, s->data + col->offset, rows,
                         &bad) == EG_OK);
    egi_column_save(&schema->column, saved, loaded, rows);
    MUST(memcmp(loaded, saved, (size_t)col->length) == 0);
    schema->column.masks = NULL;
    egi_column_save(&schema->column, saved, loaded, rows);
    MUST(memcmp(loaded, saved, (size_t)col->length) == 0);
    MUST(egi_column_check(&schema->column, saved, rows, &bad) == EG_OK);
    free(loaded);
    free(saved);
}

/* Encoded values fill exactly the bytes that are theirs. */
static void check_values(eg_snap *s, uint64_t at, uint64_t len, uint32_t count)
{
    egi_reader r;

    egi_reader_init(&r, s->data + at, (size_t)len);
    MUST(egi_value_skip_many(&r, &s->walker, count) == EG_OK);
    MUST(egi_reader_left(&r) == 0);
}

static uint32_t check_record(eg_snap *s, uint32_t index)
{
    eg_snap_record rec;
    eg_snap_column col;

    MUST(eg_snap_record_at(s, index, &rec) == EG_OK);
    MUST(rec.at <= rec.end && rec.end <= s->len);
    fz_reached[BY_ROWS] += rec.mode == EGI_MODE_ROWS;
    for (uint32_t i = 0; i < rec.columns; i++) {
        MUST(eg_snap_column_at(s, index, i, &col) == EG_OK);
        MUST(col.component < s->components.count);
        if (rec.mode == EGI_MODE_ROWS)
            continue;
        MUST(col.offset >= rec.at && col.offset <= rec.end);
        MUST(col.length <= rec.end - col.offset);
        if (col.raw) {
            check_raw(s, &col, rec.rows);
        } else {
            fz_reached[ENCODED_COLUMN]++;
            check_values(s, col.offset, col.length, rec.rows);
        }
    }
    return rec.rows;
}

/* A fingerprint reads back as the layout it was written from. */
static void check_component(const eg_snap *s, uint32_t index)
{
    eg_snap_component c;
    egi_text_error err;
    egi_schema_plan plan;
    egi_schema_clash clash;
    egi_layout layout;
    egi_buffer text;
    egi_writer w;

    MUST(eg_snap_component_at(s, index, &c) == EG_OK);
    MUST(c.name_len > 0);
    if (c.size == 0)
        return;
    egi_buffer_init(&text, &egi_default_allocator);
    egi_writer_init_buffer(&w, &text);
    MUST(egi_fingerprint_write(&w, c.fields, c.field_count, c.size) == EG_OK);
    MUST(egi_writer_end(&w) == EG_OK);
    MUST(egi_layout_init(&layout, &egi_default_allocator, text.data, text.size,
                         &err) == EG_OK);
    MUST(egi_schema_plan_init(&plan, &egi_default_allocator, &layout, c.fields,
                              c.field_count, c.size, &clash) == EG_OK);
    MUST(plan.same && plan.added == 0 && plan.dropped == 0);
    egi_schema_plan_fini(&plan);
    egi_layout_fini(&layout);
    egi_buffer_fini(&text);
}

static void check_document(eg_snap *s)
{
    eg_snap_prelude p;
    eg_snap_entry e;
    uint32_t rows = 0;

    eg_snap_prelude_of(s, &p);
    for (uint32_t i = 0; i < p.components; i++)
        check_component(s, i);
    for (uint32_t i = 0; i < p.records; i++)
        rows += check_record(s, i);
    MUST(rows == p.entities);
    for (uint32_t i = 0; i < p.entries; i++) {
        MUST(eg_snap_entry_at(s, i, &e) == EG_OK);
        MUST(e.value <= s->len && e.value_len <= s->len - e.value);
        check_values(s, e.value, e.value_len, 1);
        fz_reached[ENTRY]++;
    }
    if (s->allocator.present) {
        fz_reached[SLOTS]++;
        MUST(p.high_slot <= s->allocator.high);
        for (uint32_t slot = 1; slot <= s->allocator.high; slot++)
            MUST(egi_snap_marked(s, slot));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static eg_snap *s; /* kept: it must forget the input before */
    eg_snap_error err;

    switch (eg_snap_open(NULL, data, size, NULL, &s, &err)) {
    case EG_OK:
        fz_reached[ACCEPTED]++;
        check_document(s);
        return 0;
    case EG_ETRUNC:
        fz_reached[TRUNCATED]++;
        break;
    case EG_ECORRUPT:
        fz_reached[CORRUPT]++;
        break;
    case EG_EVERSION:
        fz_reached[OTHER_VERSION]++;
        MUST(err.version >= 2);
        break;
    case EG_ELIMIT:
        fz_reached[LIMIT]++;
        break;
    default:
        MUST(0);
    }
    MUST(err.reason != NULL && err.offset <= size);
    return 0;
}
