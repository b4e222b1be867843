/* SPDX-License-Identifier: MIT */
/* Whole snapshots: what is accepted is indexed rightly, what is damaged is
 * refused at the right place. Records are in t_verify_records.c, data, limits
 * and memory in t_verify_data.c, the allocator entry in t_verify_slots.c. */
#include "snap_draft.h"

#include <stdlib.h>
#include <string.h>

#include "core/snap/eg_snap_verify.h"

/* -- what is accepted ------------------------------------------------------ */

static void the_sample_is_indexed(void **state)
{
    egi_buffer b;
    eg_snap *s = NULL;
    eg_snap_prelude p;
    eg_snap_component c;
    eg_snap_record rec;
    eg_snap_column col;
    eg_snap_entry e;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    assert_int_equal(eg_snap_open(NULL, b.data, b.size, NULL, &s, NULL), EG_OK);
    eg_snap_prelude_of(s, &p);
    assert_true(p.version == 1.0 && p.next_id == 13.0);
    assert_int_equal(p.entities, 6);
    assert_int_equal(p.records, 3);
    assert_int_equal(p.components, 4);
    assert_int_equal(p.entries, 6);
    assert_int_equal(p.high_slot, 9);
    assert_int_equal(eg_snap_component_at(s, 0, &c), EG_OK);
    assert_int_equal(c.name_len, 5);
    assert_memory_equal(c.name, "Flags", 5);
    assert_memory_equal(c.fingerprint, "on:bool,w:f32|8", 15);
    assert_int_equal(c.size, 8);
    assert_int_equal(c.field_count, 2);
    assert_memory_equal(c.fields[1].name, "w", 1);
    assert_int_equal(c.fields[1].offset, 4);
    assert_int_equal(eg_snap_component_at(s, 1, &c), EG_OK);
    assert_int_equal(c.size, 0);
    assert_null(c.fields);
    assert_int_equal(eg_snap_record_at(s, 0, &rec), EG_OK);
    assert_int_equal(rec.rows, 3);
    assert_int_equal(rec.columns, 2);
    assert_int_equal(rec.mode, 0);
    assert_int_equal(eg_snap_column_at(s, 0, 1, &col), EG_OK);
    assert_int_equal(col.component, 2);
    assert_int_equal(col.raw, 1);
    assert_int_equal(col.length, 48);
    assert_int_equal(col.offset + col.length, rec.end);
    assert_int_equal(eg_snap_column_at(s, 0, 0, &col), EG_OK);
    assert_int_equal(col.raw, 0);
    assert_int_equal(col.offset, rec.at + 24);
    assert_int_equal(b.data[col.offset], 0x09);
    assert_int_equal(eg_snap_record_at(s, 2, &rec), EG_OK);
    assert_int_equal(rec.mode, 1);
    assert_int_equal(eg_snap_entry_at(s, 0, &e), EG_OK);
    assert_int_equal(e.kind, EG_ENTRY_PLAIN);
    assert_memory_equal(e.key, "notes", 5);
    assert_int_equal(b.data[e.value], 0x0c);
    assert_int_equal(eg_snap_entry_at(s, 4, &e), EG_OK);
    assert_int_equal(e.kind, EG_ENTRY_ALLOCATOR);
    assert_int_equal(eg_snap_entry_at(s, 5, &e), EG_OK);
    assert_int_equal(e.kind, EG_ENTRY_RESERVED);
    assert_int_equal(s->allocator.present, 1);
    assert_int_equal(s->allocator.high, 12);
    eg_snap_close(s);
    egi_buffer_fini(&b);
}

static void an_empty_world_is_a_snapshot(void **state)
{
    draft d;

    (void)state;
    draft_begin(&d, 0, 0, 0);
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_OK, 0, NULL);
}

/* string.buffer writes every number as a double. */
static void numbers_may_be_doubles(void **state)
{
    static const double numbers[] = {1, 7, 1, 1, 1};
    static const double record[] = {1, 1, 1, 0};
    draft d;

    (void)state;
    egi_buffer_init(&d.b, &egi_default_allocator);
    egi_writer_init_buffer(&d.w, &d.b);
    for (size_t i = 0; i < 5; i++) {
        egi_put_raw(&d.w, "\x07", 1);
        snap_put_raw_double(&d.w, numbers[i]);
    }
    snap_put_component(&d.w, "A", "");
    for (size_t i = 0; i < 4; i++) {
        egi_put_raw(&d.w, "\x07", 1);
        snap_put_raw_double(&d.w, record[i]);
    }
    snap_put_raw_double(&d.w, snap_id(7, 3));
    egi_put_nil(&d.w);
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_OK, 0, NULL);
}

static void records_without_rows_or_columns_are_legal(void **state)
{
    draft d;

    (void)state;
    draft_begin_two(&d, 1, 2);
    draft_record(&d, 0, 1, -1, -1, 0);
    snap_put_raw_double(&d.w, snap_id(4194303, 0x7fffffff));
    draft_record(&d, 2, 0, 1, 2, 0);
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_OK, 0, NULL);
}

/* -- damage ---------------------------------------------------------------- */

static void every_truncation_is_found(void **state)
{
    egi_buffer b;
    eg_snap_error err;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    for (size_t len = 0; len < b.size; len++) {
        assert_int_equal(draft_open(b.data, len, NULL, &err), EG_ETRUNC);
        assert_true(err.offset <= len);
    }
    assert_int_equal(draft_open(b.data, b.size, NULL, &err), EG_OK);
    egi_buffer_fini(&b);
}

static void every_changed_byte_is_refused_or_read(void **state)
{
    egi_buffer b;
    eg_snap_error err;
    eg_snap *s = NULL; /* one document throughout: it forgets the last */
    size_t accepted = 0;
    uint8_t *copy;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    copy = malloc(b.size);
    memcpy(copy, b.data, b.size);
    assert_int_equal(eg_snap_open(NULL, copy, b.size, NULL, &s, NULL), EG_OK);
    for (size_t at = 0; at < b.size; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            int code;

            copy[at] = (uint8_t)byte;
            code = eg_snap_open(NULL, copy, b.size, NULL, &s, &err);
            if (code == EG_OK) {
                draft_walk(s, b.size);
                accepted++;
            } else {
                assert_non_null(err.reason);
                assert_true(err.offset <= b.size);
            }
        }
        copy[at] = b.data[at];
    }
    assert_true(accepted > b.size);
    eg_snap_close(s);
    free(copy);
    egi_buffer_fini(&b);
}

static void the_prelude_is_checked(void **state)
{
    draft d;

    (void)state;
    draft_begin(&d, 0, 0, 0);
    draft_expect(&d, EG_ETRUNC, 25, NULL);
    draft_begin(&d, -1, 0, 0);
    draft_expect(&d, EG_ECORRUPT, 10, "bad entity count");
    draft_begin(&d, 0.5, 0, 0);
    draft_expect(&d, EG_ECORRUPT, 10, "bad entity count");
    draft_begin(&d, 4e9, 0, 0);
    draft_expect(&d, EG_ETRUNC, 10, NULL);
    draft_begin(&d, 0, 1, 0);
    draft_expect(&d, EG_ETRUNC, 15, NULL);
    draft_begin(&d, 0, 0, 1);
    draft_expect(&d, EG_ETRUNC, 20, NULL);
    draft_begin(&d, 0, 0, 0);
    egi_put_bool(&d.w, 0);
    egi_put_nil(&d.w);
    draft_expect(&d, EG_ECORRUPT, 26, "bytes after the end");
    draft_begin(&d, 1, 0, 0);
    for (int i = 0; i < 8; i++)
        egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, 25, "fewer rows than the prelude states");
}

static void more_entities_than_slots_are_damage(void **state)
{
    static uint8_t bytes[25 + 8 * 4194304];
    eg_limits lim = {UINT64_MAX, UINT64_MAX, 512};
    eg_snap_error err;
    egi_writer w;

    (void)state;
    egi_writer_init(&w, bytes, sizeof bytes);
    snap_put_prelude(&w, 1, 4194304, 0, 0);
    assert_int_equal(draft_open(bytes, sizeof bytes, &lim, &err), EG_ECORRUPT);
    assert_int_equal(draft_open(bytes, sizeof bytes, NULL, &err), EG_ELIMIT);
}

static void other_versions_and_other_things_are_told_apart(void **state)
{
    static const char container[] = "\x89"
                                    "EGS\r\n\x1a\n and so on, and on, "
                                    "until the string of 105 bytes that the "
                                    "first byte announces is complete, and on";
    static const char lua[] = "return {}";
    eg_snap_error err;
    draft d;

    (void)state;
    for (int i = 0; i < 2; i++) {
        egi_buffer_init(&d.b, &egi_default_allocator);
        egi_writer_init_buffer(&d.w, &d.b);
        egi_put_number(&d.w, i ? 9007199254740991.0 : 2);
        egi_writer_end(&d.w);
        assert_int_equal(draft_open(d.b.data, d.b.size, NULL, &err),
                         EG_EVERSION);
        assert_true(err.version == (i ? 9007199254740991.0 : 2));
        assert_int_equal(err.offset, 0);
        egi_buffer_fini(&d.b);
    }
    assert_int_equal(draft_open(container, sizeof container, NULL, &err),
                     EG_ECORRUPT);
    assert_string_equal(err.reason, "not a snapshot");
    assert_true(draft_open(lua, sizeof lua, NULL, &err) != EG_OK);
    assert_int_equal(draft_open("\x06\0\0\0\0", 5, NULL, &err), EG_ECORRUPT);
    assert_int_equal(draft_open("\x06\xff\xff\xff\xff", 5, NULL, &err),
                     EG_ECORRUPT);
    assert_int_equal(draft_open("", 0, NULL, &err), EG_ETRUNC);
    assert_int_equal(
        eg_snap_open(NULL, NULL, 5, NULL, &(eg_snap *){NULL}, &err), EG_EINVAL);
}

static void the_component_table_is_checked(void **state)
{
    draft d;

    (void)state;
    draft_begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "", "");
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, 25, "component without a name");
    draft_begin(&d, 0, 0, 2);
    snap_put_component(&d.w, "AB", "");
    snap_put_component(&d.w, "AB", "");
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, 30, "component name comes twice");
    draft_begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "A", "x:f64|7");
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, 35, "size too small in a fingerprint");
    draft_begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "A", "x:i8,x:i8|2");
    egi_put_bool(&d.w, 0);
    draft_expect(&d, EG_ECORRUPT, 28, NULL);
    draft_begin(&d, 0, 0, 1);
    egi_put_number(&d.w, 5);
    egi_put_nil(&d.w);
    draft_expect(&d, EG_ECORRUPT, 25, "string expected");
}

static void many_components_are_told_apart(void **state)
{
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        draft d;
        char name[6] = "c0000";

        draft_begin(&d, 0, 0, 2000);
        for (int i = 0; i < 2000; i++) {
            int k = twice && i == 1999 ? 77 : i;

            for (int at = 4; at > 0; at--, k /= 10)
                name[at] = (char)('0' + k % 10);
            snap_put_component(&d.w, name, i % 3 ? "" : "a%41:f64,b:f32|16");
        }
        egi_put_bool(&d.w, 0);
        draft_expect(&d, twice ? EG_ECORRUPT : EG_OK, SIZE_MAX, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sample_is_indexed),
        cmocka_unit_test(an_empty_world_is_a_snapshot),
        cmocka_unit_test(numbers_may_be_doubles),
        cmocka_unit_test(records_without_rows_or_columns_are_legal),
        cmocka_unit_test(every_truncation_is_found),
        cmocka_unit_test(every_changed_byte_is_refused_or_read),
        cmocka_unit_test(the_prelude_is_checked),
        cmocka_unit_test(more_entities_than_slots_are_damage),
        cmocka_unit_test(other_versions_and_other_things_are_told_apart),
        cmocka_unit_test(the_component_table_is_checked),
        cmocka_unit_test(many_components_are_told_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
