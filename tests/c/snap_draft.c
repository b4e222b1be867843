/* SPDX-License-Identifier: MIT */
#include "snap_draft.h"

#include <stdlib.h>
#include <string.h>

void draft_walk(const eg_snap *s, size_t len)
{
    eg_snap_prelude p;
    eg_snap_component c;
    eg_snap_record rec;
    eg_snap_column col;
    eg_snap_entry e;
    uint32_t rows = 0;

    eg_snap_prelude_of(s, &p);
    assert_int_equal(p.records, s->records.count);
    for (uint32_t i = 0; i < p.components; i++) {
        assert_int_equal(eg_snap_component_at(s, i, &c), EG_OK);
        assert_true(c.name_len > 0);
        assert_true(memchr(c.name, 0, 0) == NULL);
        assert_int_equal(c.size == 0, c.fingerprint_len == 0);
    }
    for (uint32_t i = 0; i < p.records; i++) {
        assert_int_equal(eg_snap_record_at(s, i, &rec), EG_OK);
        assert_true(rec.at <= rec.end && rec.end <= len);
        rows += rec.rows;
        for (uint32_t k = 0; k < rec.columns; k++) {
            assert_int_equal(eg_snap_column_at(s, i, k, &col), EG_OK);
            assert_true(col.component < p.components);
            assert_true(col.offset + col.length <= rec.end);
        }
        assert_int_equal(eg_snap_column_at(s, i, rec.columns, &col), EG_EINVAL);
    }
    assert_int_equal(rows, p.entities);
    for (uint32_t i = 0; i < p.entries; i++) {
        assert_int_equal(eg_snap_entry_at(s, i, &e), EG_OK);
        assert_true(e.value + e.value_len <= len);
    }
    assert_int_equal(eg_snap_component_at(s, p.components, &c), EG_EINVAL);
    assert_int_equal(eg_snap_record_at(s, p.records, &rec), EG_EINVAL);
    assert_int_equal(eg_snap_column_at(s, p.records, 0, &col), EG_EINVAL);
    assert_int_equal(eg_snap_entry_at(s, p.entries, &e), EG_EINVAL);
}

int draft_open(const void *bytes, size_t len, const eg_limits *lim,
               eg_snap_error *err)
{
    uint8_t *copy = malloc(len + 1);
    snap_memory m;
    eg_snap *s = NULL;
    int result;

    assert_non_null(copy);
    memcpy(copy + 1, bytes, len);
    snap_memory_init(&m);
    memset(err, 0xee, sizeof *err);
    result = eg_snap_open(&m.alloc, copy + 1, len, lim, &s, err);
    if (result == EG_OK) {
        draft_walk(s, len);
    } else {
        assert_null(s);
        assert_int_equal(err->code, result);
        assert_non_null(err->reason);
        assert_true(err->offset <= len);
    }
    eg_snap_close(s);
    snap_memory_fini(&m);
    free(copy);
    return result;
}

void draft_begin(draft *d, double entities, double records, double components)
{
    egi_buffer_init(&d->b, &egi_default_allocator);
    egi_writer_init_buffer(&d->w, &d->b);
    snap_put_prelude(&d->w, 1, entities, records, components);
}

void draft_record(draft *d, double columns, double rows, double first,
                  double second, double mode)
{
    egi_put_number(&d->w, columns);
    egi_put_number(&d->w, rows);
    if (first >= 0)
        egi_put_number(&d->w, first);
    if (second >= 0)
        egi_put_number(&d->w, second);
    egi_put_number(&d->w, mode);
}

void draft_expect(draft *d, int code, size_t at, const char *why)
{
    eg_snap_error err;

    assert_int_equal(egi_writer_end(&d->w), EG_OK);
    assert_int_equal(draft_open(d->b.data, d->b.size, NULL, &err), code);
    if (code != EG_OK && at != SIZE_MAX)
        assert_int_equal(err.offset, at);
    if (code != EG_OK && why != NULL)
        assert_string_equal(err.reason, why);
    egi_buffer_fini(&d->b);
}

void draft_begin_two(draft *d, double entities, double records)
{
    draft_begin(d, entities, records, 2);
    snap_put_component(&d->w, "A", "");
    snap_put_component(&d->w, "P", "x:f64|8");
}
