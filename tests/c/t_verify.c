/* SPDX-License-Identifier: MIT */
/* Whole snapshots: what is accepted is indexed rightly, what is not is refused
 * at the right place, and nothing leaks or takes more memory than it may. The
 * allocator entry has a file of its own, t_verify_slots.c. */
#include "snap_util.h"

#include <stdlib.h>
#include <string.h>

#include "core/snap/eg_snap_verify.h"

/* -- helpers --------------------------------------------------------------- */

/* Touches everything an accepted document tells. */
static void walk(const eg_snap *s, size_t len)
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

/* Opens bytes at an odd address of exactly their size, walks, closes. */
static int try_open(const void *bytes, size_t len, const eg_limits *lim,
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
        walk(s, len);
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

/* A snapshot under construction. */
typedef struct draft {
    egi_buffer b;
    egi_writer w;
} draft;

static void begin(draft *d, double entities, double records, double components)
{
    egi_buffer_init(&d->b, &egi_default_allocator);
    egi_writer_init_buffer(&d->w, &d->b);
    snap_put_prelude(&d->w, 1, entities, records, components);
}

static void put_record(draft *d, double columns, double rows, double first,
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

/* Ends a draft: what opening gives must be this. `at` SIZE_MAX: any. */
static void expect(draft *d, int code, size_t at, const char *why)
{
    eg_snap_error err;

    assert_int_equal(egi_writer_end(&d->w), EG_OK);
    assert_int_equal(try_open(d->b.data, d->b.size, NULL, &err), code);
    if (code != EG_OK && at != SIZE_MAX)
        assert_int_equal(err.offset, at);
    if (code != EG_OK && why != NULL)
        assert_string_equal(err.reason, why);
    egi_buffer_fini(&d->b);
}

/* A draft with one component "A" and one raw one "P", and then this. */
static void begin_two(draft *d, double entities, double records)
{
    begin(d, entities, records, 2);
    snap_put_component(&d->w, "A", "");
    snap_put_component(&d->w, "P", "x:f64|8");
}

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
    begin(&d, 0, 0, 0);
    egi_put_bool(&d.w, 0);
    expect(&d, EG_OK, 0, NULL);
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
    expect(&d, EG_OK, 0, NULL);
}

static void records_without_rows_or_columns_are_legal(void **state)
{
    draft d;

    (void)state;
    begin_two(&d, 1, 2);
    put_record(&d, 0, 1, -1, -1, 0);
    snap_put_raw_double(&d.w, snap_id(4194303, 0x7fffffff));
    put_record(&d, 2, 0, 1, 2, 0);
    egi_put_bool(&d.w, 0);
    expect(&d, EG_OK, 0, NULL);
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
        assert_int_equal(try_open(b.data, len, NULL, &err), EG_ETRUNC);
        assert_true(err.offset <= len);
    }
    assert_int_equal(try_open(b.data, b.size, NULL, &err), EG_OK);
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
                walk(s, b.size);
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
    begin(&d, 0, 0, 0);
    expect(&d, EG_ETRUNC, 25, NULL);
    begin(&d, -1, 0, 0);
    expect(&d, EG_ECORRUPT, 10, "bad entity count");
    begin(&d, 0.5, 0, 0);
    expect(&d, EG_ECORRUPT, 10, "bad entity count");
    begin(&d, 4e9, 0, 0);
    expect(&d, EG_ETRUNC, 10, NULL);
    begin(&d, 0, 1, 0);
    expect(&d, EG_ETRUNC, 15, NULL);
    begin(&d, 0, 0, 1);
    expect(&d, EG_ETRUNC, 20, NULL);
    begin(&d, 0, 0, 0);
    egi_put_bool(&d.w, 0);
    egi_put_nil(&d.w);
    expect(&d, EG_ECORRUPT, 26, "bytes after the end");
    begin(&d, 1, 0, 0);
    for (int i = 0; i < 8; i++)
        egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, 25, "fewer rows than the prelude states");
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
        assert_int_equal(try_open(d.b.data, d.b.size, NULL, &err), EG_EVERSION);
        assert_true(err.version == (i ? 9007199254740991.0 : 2));
        assert_int_equal(err.offset, 0);
        egi_buffer_fini(&d.b);
    }
    assert_int_equal(try_open(container, sizeof container, NULL, &err),
                     EG_ECORRUPT);
    assert_string_equal(err.reason, "not a snapshot");
    assert_true(try_open(lua, sizeof lua, NULL, &err) != EG_OK);
    assert_int_equal(try_open("\x06\0\0\0\0", 5, NULL, &err), EG_ECORRUPT);
    assert_int_equal(try_open("\x06\xff\xff\xff\xff", 5, NULL, &err),
                     EG_ECORRUPT);
    assert_int_equal(try_open("", 0, NULL, &err), EG_ETRUNC);
    assert_int_equal(
        eg_snap_open(NULL, NULL, 5, NULL, &(eg_snap *){NULL}, &err), EG_EINVAL);
}

static void the_component_table_is_checked(void **state)
{
    draft d;

    (void)state;
    begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "", "");
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, 25, "component without a name");
    begin(&d, 0, 0, 2);
    snap_put_component(&d.w, "AB", "");
    snap_put_component(&d.w, "AB", "");
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, 30, "component name comes twice");
    begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "A", "x:f64|7");
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, 35, "size too small in a fingerprint");
    begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "A", "x:i8,x:i8|2");
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, 28, NULL);
    begin(&d, 0, 0, 1);
    egi_put_number(&d.w, 5);
    egi_put_nil(&d.w);
    expect(&d, EG_ECORRUPT, 25, "string expected");
}

static void many_components_are_told_apart(void **state)
{
    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        draft d;
        char name[6] = "c0000";

        begin(&d, 0, 0, 2000);
        for (int i = 0; i < 2000; i++) {
            int k = twice && i == 1999 ? 77 : i;

            for (int at = 4; at > 0; at--, k /= 10)
                name[at] = (char)('0' + k % 10);
            snap_put_component(&d.w, name, i % 3 ? "" : "a%41:f64,b:f32|16");
        }
        egi_put_bool(&d.w, 0);
        expect(&d, twice ? EG_ECORRUPT : EG_OK, SIZE_MAX, NULL);
    }
}

static void record_heads_are_checked(void **state)
{
    enum { HEAD = 38 }; /* where the first record begins */
    draft d;

    (void)state;
    begin_two(&d, 1, 1);
    put_record(&d, 3, 1, 1, 2, 0);
    expect(&d, EG_ECORRUPT, HEAD, "bad column count");
    begin_two(&d, 1, 1);
    put_record(&d, 1, 2, 1, -1, 0);
    expect(&d, EG_ECORRUPT, HEAD + 5, "more rows than the prelude states");
    begin_two(&d, 1, 1);
    put_record(&d, 1, 1, 0, -1, 0);
    expect(&d, EG_ECORRUPT, HEAD + 10, "component indices do not ascend");
    begin_two(&d, 1, 1);
    put_record(&d, 1, 1, 3, -1, 0);
    expect(&d, EG_ECORRUPT, HEAD + 10, "bad component index");
    begin_two(&d, 1, 1);
    put_record(&d, 2, 1, 2, 1, 0);
    expect(&d, EG_ECORRUPT, HEAD + 15, "component indices do not ascend");
    begin_two(&d, 1, 1);
    put_record(&d, 2, 1, 2, 2, 0);
    expect(&d, EG_ECORRUPT, HEAD + 15, "component indices do not ascend");
    begin_two(&d, 1, 1);
    put_record(&d, 1, 1, 1, -1, 2);
    expect(&d, EG_ECORRUPT, HEAD + 15, "unknown mode");
    begin_two(&d, 1, 1);
    put_record(&d, 1, 1, 1, -1, 0);
    expect(&d, EG_ETRUNC, SIZE_MAX, NULL);
    begin_two(&d, 2, 2);
    for (int i = 1; i <= 2; i++) {
        put_record(&d, 1, 1, 1, -1, 0);
        snap_put_raw_double(&d.w, i);
        egi_put_nil(&d.w);
    }
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, HEAD + 29,
           "two archetypes with one set of columns");
}

static void one_set_may_not_come_in_two_modes(void **state)
{
    draft d;

    (void)state;
    begin_two(&d, 1, 2);
    put_record(&d, 1, 0, 1, -1, 0);
    put_record(&d, 1, 1, 1, -1, 1);
    egi_put_number(&d.w, 1);
    egi_put_number(&d.w, 1);
    egi_put_nil(&d.w);
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, SIZE_MAX, "two archetypes with one set of columns");
}

static void forged_ids_are_refused(void **state)
{
    static const uint64_t bits[] = {
        0,                            /* 0: no entity */
        UINT64_C(0x4150000000000000), /* 2^22: slot 0, generation 1 */
        UINT64_C(0xbff0000000000000), /* -1 */
        UINT64_C(0x3ff8000000000000), /* 1.5 */
        UINT64_C(0x3fe0000000000000), /* 0.5 */
        UINT64_C(0x4340000000000000), /* 2^53: generation overflow */
        UINT64_C(0x4340000000000001),
        UINT64_C(0x7ff0000000000000), /* infinity */
        UINT64_C(0xfff0000000000000),
        UINT64_C(0x7ff8000000000000), /* NaN */
        UINT64_C(0xffffffffffffffff),
        1,                            /* the smallest double */
        UINT64_C(0x8000000000000000), /* -0 */
        UINT64_C(0x7fefffffffffffff),
    };

    (void)state;
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
        draft d;

        begin_two(&d, 2, 1);
        put_record(&d, 0, 2, -1, -1, 0);
        snap_put_raw_double(&d.w, 5);
        egi_put_raw(&d.w, &bits[i], 8);
        egi_put_bool(&d.w, 0);
        expect(&d, EG_ECORRUPT, 61, "not an entity id");
    }
}

static void two_ids_for_one_slot_are_refused(void **state)
{
    draft d;

    (void)state;
    begin_two(&d, 2, 1);
    put_record(&d, 0, 2, -1, -1, 0);
    snap_put_raw_double(&d.w, snap_id(9, 4));
    snap_put_raw_double(&d.w, snap_id(9, 5));
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, 61, "two ids for one slot");
    /* across records and modes */
    begin_two(&d, 2, 2);
    put_record(&d, 0, 1, -1, -1, 0);
    snap_put_raw_double(&d.w, snap_id(9, 4));
    put_record(&d, 1, 1, 1, -1, 1);
    egi_put_number(&d.w, snap_id(9, 4));
    egi_put_number(&d.w, 0);
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, SIZE_MAX, "two ids for one slot");
}

/* Ids in runs, as spawning makes them, against a list of slots seen. */
static void runs_of_ids_are_like_single_ones(void **state)
{
    enum { ROUNDS = 400, ROWS = 700, HEAD = 25 + 15 };
    static uint8_t seen[EG_MAX_ENTITIES + 1];
    uint64_t rng = snap_seed();

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        double ids[ROWS];
        size_t bad = SIZE_MAX;
        size_t n = 0;
        draft d;

        while (n < ROWS) {
            uint32_t slot = 1 + snap_below(&rng, round % 2 ? 200000 : 4000);
            uint32_t generation = snap_below(&rng, 3) * 0x3fffffff;
            uint32_t length = 1 + snap_below(&rng, 200);

            if (snap_below(&rng, 20) == 0)
                slot = EG_MAX_ENTITIES - snap_below(&rng, 200);
            for (uint32_t i = 0; i < length && n < ROWS; i++)
                ids[n++] = snap_id(slot, generation) + i;
        }
        if (snap_below(&rng, 4) == 0)
            ids[snap_below(&rng, ROWS)] += 0.5;
        memset(seen, 0, sizeof seen);
        for (size_t i = 0; i < ROWS && bad == SIZE_MAX; i++) {
            uint64_t id = (uint64_t)ids[i];
            uint64_t slot = id % 4194304;

            if ((double)id != ids[i] || slot == 0 || seen[slot] ||
                ids[i] >= 9007199254740992.0)
                bad = HEAD + i * 8;
            seen[slot] = 1;
        }
        begin(&d, ROWS, 1, 0);
        put_record(&d, 0, ROWS, -1, -1, 0);
        for (size_t i = 0; i < ROWS; i++)
            snap_put_raw_double(&d.w, ids[i]);
        egi_put_bool(&d.w, 0);
        expect(&d, bad == SIZE_MAX ? EG_OK : EG_ECORRUPT, bad, NULL);
    }
}

static void rows_with_masks_are_checked(void **state)
{
    static const double bad_masks[] = {-1, 4, 0.5, 1e300};
    draft d;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        begin_two(&d, 1, 1);
        put_record(&d, 2, 1, 1, 2, 1);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, bad_masks[i]);
        egi_put_bool(&d.w, 0);
        expect(&d, EG_ECORRUPT, 68, "bad presence mask");
    }
    for (int mask = 0; mask < 4; mask++) {
        begin_two(&d, 1, 1);
        put_record(&d, 2, 1, 1, 2, 1);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, mask);
        for (int bits = mask; bits != 0; bits &= bits - 1)
            egi_put_empty_table(&d.w);
        egi_put_bool(&d.w, 0);
        expect(&d, EG_OK, 0, NULL);
    }
    begin_two(&d, 1, 1);
    put_record(&d, 2, 1, 1, 2, 1);
    egi_put_bool(&d.w, 1); /* no id */
    for (int i = 0; i < 10; i++)
        egi_put_bool(&d.w, 0);
    expect(&d, EG_ECORRUPT, 63, "number expected");
}

static void fifty_two_columns_fit_a_mask(void **state)
{
    (void)state;
    for (int columns = 52; columns <= 53; columns++) {
        draft d;
        char name[3] = "aa";

        begin(&d, 1, 1, columns);
        for (int i = 0; i < columns; i++) {
            name[0] = (char)('a' + i / 26);
            name[1] = (char)('a' + i % 26);
            snap_put_component(&d.w, name, "");
        }
        egi_put_number(&d.w, columns);
        egi_put_number(&d.w, 1);
        for (int i = 1; i <= columns; i++)
            egi_put_number(&d.w, i);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, 1);
        egi_put_number(&d.w, 4503599627370495.0);
        for (int i = 0; i < columns; i++)
            egi_put_nil(&d.w);
        egi_put_bool(&d.w, 0);
        expect(&d, columns == 52 ? EG_OK : EG_ECORRUPT, SIZE_MAX,
               "more than 52 columns by rows");
    }
}

/* -- raw columns ----------------------------------------------------------- */

static void raw_columns_are_checked(void **state)
{
    enum { ROWS = 1000, FIRST = 38 + 20 + ROWS * 8 };
    static const size_t places[] = {0, 1, 63, 500, ROWS - 1};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        uint64_t foreign = UINT64_C(0xfff8000000000000);
        eg_snap_error err;
        eg_snap *s = NULL;
        draft d;

        begin_two(&d, ROWS, 1);
        put_record(&d, 1, ROWS, 2, -1, 0);
        for (uint32_t row = 1; row <= ROWS; row++)
            snap_put_raw_double(&d.w, snap_id(row, 0));
        for (uint32_t row = 0; row < ROWS; row++)
            snap_put_raw_double(&d.w, row);
        egi_put_bool(&d.w, 0);
        egi_writer_end(&d.w);
        assert_int_equal(try_open(d.b.data, d.b.size, NULL, &err), EG_OK);
        memcpy(d.b.data + FIRST + places[i] * 8, &foreign, 8);
        assert_int_equal(egi_snap_open(NULL, d.b.data, d.b.size, NULL,
                                       EGI_SNAP_DEFER, &s, &err),
                         EG_OK);
        eg_snap_close(s);
        expect(&d, EG_ECORRUPT, FIRST + places[i] * 8,
               "bad value in a raw column");
    }
}

/* Two masked columns, so that the pool of masks moves, used in two records. */
static void masks_are_shared_by_records(void **state)
{
    enum { ROWS = 700 };
    static const uint8_t row[16] = {0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 1};
    static const uint8_t small[8] = {0, 0, 0xc0, 0x7f, 1};

    (void)state;
    for (int bad = -1; bad < 4; bad++) {
        draft d;
        uint32_t slot = 1;
        size_t at = 0;

        begin(&d, 2 * ROWS, 2, 3);
        snap_put_component(&d.w, "A", "x:f64,on:bool|16");
        snap_put_component(&d.w, "B", "x:f32,on:bool|8");
        snap_put_component(&d.w, "C", "");
        for (int rec = 0; rec < 2; rec++) {
            put_record(&d, 2 + rec, ROWS, 1, 2, rec ? 3 : 0);
            if (rec)
                egi_put_number(&d.w, 0);
            for (uint32_t i = 0; i < ROWS; i++)
                snap_put_raw_double(&d.w, snap_id(slot++, 0));
            for (uint32_t i = 0; i < ROWS; i++) {
                egi_put_raw(&d.w, row, sizeof row);
                if (bad == rec && i == 650) {
                    at = d.w.pos - 8;
                    d.w.data[at] = 2;
                }
            }
            for (uint32_t i = 0; i < ROWS; i++) {
                egi_put_raw(&d.w, small, sizeof small);
                if (bad == 2 + rec && i == 3) {
                    at = d.w.pos - 8;
                    d.w.data[at] = 1;
                }
            }
            for (uint32_t i = 0; rec && i < ROWS; i++)
                egi_put_bool(&d.w, 1);
        }
        egi_put_bool(&d.w, 0);
        expect(&d, bad < 0 ? EG_OK : EG_ECORRUPT, at,
               "bad value in a raw column");
    }
}

static void a_column_longer_than_the_input_is_truncated(void **state)
{
    draft d;

    (void)state;
    begin(&d, 1, 1, 1);
    snap_put_component(&d.w, "A", "x:f64|2147483647");
    put_record(&d, 1, 1, 1, -1, 0);
    snap_put_raw_double(&d.w, 1);
    snap_put_raw_double(&d.w, 1);
    egi_put_bool(&d.w, 0);
    expect(&d, EG_ETRUNC, SIZE_MAX, NULL);
}

/* -- data ------------------------------------------------------------------ */

static void begin_data(draft *d, const char *key)
{
    begin(d, 0, 0, 0);
    snap_put_key(&d->w, key);
}

static void end_data(draft *d, int code, const char *why)
{
    egi_put_bool(&d->w, 0);
    expect(d, code, SIZE_MAX, why);
}

static void data_is_checked(void **state)
{
    draft d;

    (void)state;
    begin_data(&d, "");
    egi_put_nil(&d.w);
    end_data(&d, EG_OK, NULL);
    begin(&d, 0, 0, 0);
    egi_put_bool(&d.w, 1);
    egi_put_number(&d.w, 5);
    egi_put_nil(&d.w);
    end_data(&d, EG_ECORRUPT, "string expected");
    begin(&d, 0, 0, 0);
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "boolean expected");
    /* two plain entries may share a key, two reserved ones may not */
    begin_data(&d, "a");
    egi_put_nil(&d.w);
    snap_put_key(&d.w, "a");
    egi_put_nil(&d.w);
    end_data(&d, EG_OK, NULL);
    begin_data(&d, "__engram.states");
    egi_put_empty_table(&d.w);
    snap_put_key(&d.w, "__engram.states");
    egi_put_empty_table(&d.w);
    end_data(&d, EG_ECORRUPT, "reserved entry comes twice");
    begin_data(&d, "__engram.what is this");
    egi_put_number(&d.w, 3);
    snap_put_key(&d.w, "__engram.what is this");
    egi_put_number(&d.w, 3);
    end_data(&d, EG_OK, NULL);
}

static void states_are_a_list_of_names(void **state)
{
    draft d;

    (void)state;
    begin_data(&d, "__engram.states");
    egi_put_empty_table(&d.w);
    end_data(&d, EG_OK, NULL);
    begin_data(&d, "__engram.states");
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "states: list of names expected");
    begin_data(&d, "__engram.states");
    egi_put_array(&d.w, 1);
    egi_put_nil(&d.w);
    end_data(&d, EG_ECORRUPT, "string expected");
    begin_data(&d, "__engram.states");
    egi_put_array(&d.w, 1);
    snap_put_text(&d.w, "");
    end_data(&d, EG_ECORRUPT, "states: empty name");
    begin_data(&d, "__engram.states");
    egi_put_hash(&d.w, 1);
    egi_put_number(&d.w, 1);
    snap_put_text(&d.w, "Menu");
    end_data(&d, EG_ECORRUPT, "states: list of names expected");
}

static void versions_are_positive_integers(void **state)
{
    static const double bad[] = {0, -1, 1.5, 9007199254740992.0};
    draft d;

    (void)state;
    begin_data(&d, "__engram.versions");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, "Pos");
    egi_put_number(&d.w, 9007199254740991.0);
    end_data(&d, EG_OK, NULL);
    for (size_t i = 0; i < 4; i++) {
        begin_data(&d, "__engram.versions");
        egi_put_hash(&d.w, 1);
        snap_put_text(&d.w, "Pos");
        egi_put_number(&d.w, bad[i]);
        end_data(&d, EG_ECORRUPT, "versions: positive integer expected");
    }
    begin_data(&d, "__engram.versions");
    egi_put_array(&d.w, 1);
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "versions: table expected");
    begin_data(&d, "__engram.versions");
    egi_put_hash(&d.w, 1);
    egi_put_number(&d.w, 1);
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "string expected");
}

/* A pipeline entry with one member that is a number. */
static void expect_pipeline(const char *member, double v, int code,
                            const char *why)
{
    draft d;

    begin_data(&d, "__engram.pipeline");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, member);
    egi_put_number(&d.w, v);
    end_data(&d, code, why);
}

static void the_pipeline_is_checked(void **state)
{
    static const char accumulator[] = "pipeline: bad accumulator";
    static const char steps[] = "pipeline: bad step count";
    draft d;

    (void)state;
    expect_pipeline("accumulator", 0.25, EG_OK, NULL);
    expect_pipeline("accumulator", -0.25, EG_ECORRUPT, accumulator);
    expect_pipeline("accumulator", 1e308 * 10, EG_ECORRUPT, accumulator);
    expect_pipeline("accumulator", 0.0 / 0.0 * 1.0, EG_ECORRUPT, accumulator);
    expect_pipeline("fixedStepCount", 5, EG_OK, NULL);
    expect_pipeline("fixedStepCount", -5, EG_ECORRUPT, steps);
    expect_pipeline("fixedStepCount", 0.5, EG_ECORRUPT, steps);
    expect_pipeline("phases", 1, EG_ECORRUPT,
                    "pipeline: table of phases expected");
    expect_pipeline("something later", 1, EG_OK, NULL);
    begin_data(&d, "__engram.pipeline");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, "phases");
    egi_put_hash(&d.w, 1);
    snap_put_text(&d.w, "Update");
    egi_put_number(&d.w, 1);
    end_data(&d, EG_ECORRUPT, "boolean expected");
}

/* -- limits, memory -------------------------------------------------------- */

static void limits_are_kept(void **state)
{
    egi_buffer b;
    eg_limits lim;
    eg_snap_error err;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    eg_limits_init(&lim);
    assert_int_equal(lim.depth, 512);
    lim.entities = 6;
    lim.bytes = b.size;
    lim.depth = 3;
    assert_int_equal(try_open(b.data, b.size, &lim, &err), EG_OK);
    lim.entities = 5;
    assert_int_equal(try_open(b.data, b.size, &lim, &err), EG_ELIMIT);
    assert_string_equal(err.reason, "more entities than allowed");
    lim.entities = 6;
    lim.bytes--;
    assert_int_equal(try_open(b.data, b.size, &lim, &err), EG_ELIMIT);
    assert_string_equal(err.reason, "snapshot longer than allowed");
    lim.bytes++;
    lim.depth = 2;
    assert_int_equal(try_open(b.data, b.size, &lim, &err), EG_ELIMIT);
    assert_string_equal(err.reason, "nested too deep");
    egi_buffer_fini(&b);
}

static void lack_of_memory_leaves_nothing_behind(void **state)
{
    egi_buffer b;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    for (int on = 0; on < 2; on++) {
        int done = 0;

        for (long fail = 0; !done; fail++) {
            eg_snap_error err;
            eg_snap *s = NULL;
            snap_memory m;
            int result;

            snap_memory_init(&m);
            m.fail_at = fail;
            m.fail_on = on;
            result = eg_snap_open(&m.alloc, b.data, b.size, NULL, &s, &err);
            done = m.calls <= fail;
            assert_int_equal(result, done ? EG_OK : EG_ENOMEM);
            if (!done) {
                assert_null(s);
                assert_int_equal(err.code, EG_ENOMEM);
            }
            eg_snap_close(s);
            snap_memory_fini(&m);
        }
    }
    egi_buffer_fini(&b);
}

static void a_document_is_used_again_without_allocating(void **state)
{
    egi_buffer b;
    eg_snap *s = NULL;
    eg_snap *same;
    snap_memory m;
    eg_snap_prelude p;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    snap_memory_init(&m);
    assert_int_equal(eg_snap_open(&m.alloc, b.data, b.size, NULL, &s, NULL),
                     EG_OK);
    same = s;
    m.fail_at = m.calls;
    m.fail_on = 1;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(eg_snap_open(&m.alloc, b.data, b.size, NULL, &s, NULL),
                         EG_OK);
        assert_ptr_equal(s, same);
        walk(s, b.size);
        /* A failure empties it and leaves it usable. */
        assert_int_equal(
            eg_snap_open(&m.alloc, b.data, b.size - 1, NULL, &s, NULL),
            EG_ETRUNC);
        assert_ptr_equal(s, same);
        eg_snap_prelude_of(s, &p);
        assert_true(p.version == 0.0);
        assert_int_equal(p.components + p.records + p.entries, 0);
    }
    eg_snap_close(s);
    eg_snap_close(NULL);
    snap_memory_fini(&m);
    egi_buffer_fini(&b);
}

static void inspecting_stops_after_the_table(void **state)
{
    egi_buffer b;
    eg_snap *s = NULL;
    eg_snap_prelude p;
    size_t table = 0;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    snap_sample(&b);
    while (eg_snap_inspect(NULL, b.data, table, NULL, &s, NULL) != EG_OK)
        table++;
    assert_true(table < b.size);
    eg_snap_prelude_of(s, &p);
    assert_int_equal(p.components, 4);
    assert_int_equal(p.records, 3);
    assert_int_equal(p.entities, 6);
    assert_int_equal(p.entries, 0);
    assert_int_equal(eg_snap_record_at(s, 0, &(eg_snap_record){0}), EG_EINVAL);
    /* What follows may be anything. */
    memset(b.data + table, 0xff, b.size - table);
    assert_int_equal(eg_snap_inspect(NULL, b.data, b.size, NULL, &s, NULL),
                     EG_OK);
    eg_snap_close(s);
    egi_buffer_fini(&b);
}

/* Opens the draft and holds its memory against its size. */
static void expect_frugal(draft *d)
{
    snap_memory m;
    eg_snap *s = NULL;

    egi_writer_end(&d->w);
    snap_memory_init(&m);
    eg_snap_open(&m.alloc, d->b.data, d->b.size, NULL, &s, NULL);
    assert_true(m.peak <= 2048 + 100 * d->b.size);
    eg_snap_close(s);
    snap_memory_fini(&m);
    egi_buffer_fini(&d->b);
}

static void memory_stays_in_proportion_to_the_input(void **state)
{
    static char commas[50000];
    char name[4] = {0};
    draft d;

    (void)state;
    memset(commas, ',', sizeof commas - 1);
    begin(&d, 0, 0, 1);
    snap_put_component(&d.w, "A", commas);
    expect_frugal(&d);
    begin(&d, 0, 0, 30000);
    for (int i = 0; i < 30000; i++) {
        name[0] = (char)(1 + i % 200);
        name[1] = (char)(1 + i / 200);
        snap_put_component(&d.w, name, "");
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    begin(&d, 0, 0, 20000);
    for (int i = 0; i < 20000; i++) {
        name[0] = (char)(1 + i % 200);
        name[1] = (char)(1 + i / 200);
        snap_put_component(&d.w, name, "a:i8|1");
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    begin(&d, 0, 0, 0);
    for (int i = 0; i < 50000; i++) {
        snap_put_key(&d.w, "");
        egi_put_nil(&d.w);
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    begin(&d, 0, 3000, 3000);
    for (int i = 0; i < 3000; i++) {
        name[0] = (char)(1 + i % 200);
        name[1] = (char)(1 + i / 200);
        snap_put_component(&d.w, name, "");
    }
    for (int i = 1; i <= 3000; i++)
        put_record(&d, 1, 0, i, -1, 0);
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
    begin(&d, 0, 0, 0);
    snap_put_key(&d.w, "deep");
    for (int i = 0; i < 500; i++)
        egi_put_raw(&d.w, "\x09\x01\x21k", 4);
    egi_put_hash(&d.w, 20000);
    for (int i = 0; i < 20000; i++) {
        egi_put_raw(&d.w, "\x06", 1);
        egi_put_u32(&d.w, (uint32_t)i);
        egi_put_nil(&d.w);
    }
    egi_put_bool(&d.w, 0);
    expect_frugal(&d);
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
        cmocka_unit_test(other_versions_and_other_things_are_told_apart),
        cmocka_unit_test(the_component_table_is_checked),
        cmocka_unit_test(many_components_are_told_apart),
        cmocka_unit_test(record_heads_are_checked),
        cmocka_unit_test(one_set_may_not_come_in_two_modes),
        cmocka_unit_test(forged_ids_are_refused),
        cmocka_unit_test(two_ids_for_one_slot_are_refused),
        cmocka_unit_test(runs_of_ids_are_like_single_ones),
        cmocka_unit_test(rows_with_masks_are_checked),
        cmocka_unit_test(fifty_two_columns_fit_a_mask),
        cmocka_unit_test(raw_columns_are_checked),
        cmocka_unit_test(masks_are_shared_by_records),
        cmocka_unit_test(a_column_longer_than_the_input_is_truncated),
        cmocka_unit_test(data_is_checked),
        cmocka_unit_test(states_are_a_list_of_names),
        cmocka_unit_test(versions_are_positive_integers),
        cmocka_unit_test(the_pipeline_is_checked),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(lack_of_memory_leaves_nothing_behind),
        cmocka_unit_test(a_document_is_used_again_without_allocating),
        cmocka_unit_test(inspecting_stops_after_the_table),
        cmocka_unit_test(memory_stays_in_proportion_to_the_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
