/* SPDX-License-Identifier: MIT */
/* The reader: what it takes, what it refuses, and where it sees the fault. */
#include "snap_util.h"

#include <math.h>
#include <string.h>

#include "core/snap/eg_reader.h"

/* Bytes of a string literal, without its zero. */
#define OF(text) (text), sizeof(text) - 1

/* Reads one head from bytes at each of eight alignments. */
static void expect_head(const char *bytes, size_t len, int error, size_t at,
                        const char *why)
{
    uint8_t room[64];

    for (size_t shift = 0; shift < 8; shift++) {
        egi_reader r;
        egi_head h;

        if (len > 0)
            memcpy(room + shift, bytes, len);
        egi_reader_init(&r, room + shift, len);
        assert_int_equal(egi_read_head(&r, &h), error);
        if (error == EG_OK)
            continue;
        assert_int_equal(r.error, error);
        assert_int_equal(r.error_at, at);
        if (why != NULL)
            assert_string_equal(r.why, why);
    }
}

static void a_u_is_read_at_each_boundary(void **state)
{
    static const uint32_t values[] = {0,      0xdf,   0xe0,       0x1df,
                                      0x1e0,  0x1fdf, 0x1fe0,     0x2000,
                                      0xffff, 65536,  0x7fffffff, UINT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        uint8_t bytes[5];
        egi_writer w;
        egi_reader r;
        uint32_t v = 1;

        egi_writer_init(&w, bytes, sizeof bytes);
        egi_put_u(&w, values[i]);
        egi_reader_init(&r, bytes, w.pos);
        assert_int_equal(egi_read_u(&r, &v), EG_OK);
        assert_int_equal(v, values[i]);
        assert_int_equal(egi_reader_left(&r), 0);
        for (size_t cut = 0; cut < w.pos; cut++) {
            egi_reader_init(&r, bytes, cut);
            assert_int_equal(egi_read_u(&r, &v), EG_ETRUNC);
            assert_int_equal(r.error_at, 0);
        }
    }
}

static void a_u_longer_than_needed_is_damage(void **state)
{
    (void)state;
    expect_head(OF("\xff\x00\x00\x00\x00"), EG_ECORRUPT, 0, NULL);
    expect_head(OF("\xff\xdf\x1f\x00\x00"), EG_ECORRUPT, 0, NULL);
    expect_head(OF("\x09\xff\x01\x00\x00\x00\x01\x01"), EG_ECORRUPT, 0, NULL);
}

static void refused_tags_say_what_they_are(void **state)
{
    (void)state;
    expect_head(OF("\x03"), EG_ECORRUPT, 0, "userdata is not allowed");
    expect_head(OF("\x04\0\0\0\0"), EG_ECORRUPT, 0, "userdata is not allowed");
    expect_head(OF("\x05\0\0\0\0\0\0\0\0"), EG_ECORRUPT, 0,
                "userdata is not allowed");
    expect_head(OF("\x0e\x01"), EG_ECORRUPT, 0,
                "dictionary entries are not allowed");
    expect_head(OF("\x0f\x01"), EG_ECORRUPT, 0,
                "dictionary entries are not allowed");
    expect_head(OF("\x12\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), EG_ECORRUPT, 0,
                "complex numbers are not allowed");
    for (int tag = 0x13; tag < 0x20; tag++) {
        char byte = (char)tag;

        expect_head(&byte, 1, EG_ECORRUPT, 0, "unknown tag");
    }
}

static void scalars_are_read_at_any_alignment(void **state)
{
    (void)state;
    expect_head(OF("\x00"), EG_OK, 0, NULL);
    expect_head(OF("\x06\xff\xff\xff\xff"), EG_OK, 0, NULL);
    expect_head(OF("\x07\0\0\0\0\0\0\xf8\x7f"), EG_OK, 0, NULL);
    expect_head(OF("\x07\0\0\0\0\0\0\xf0\x7f"), EG_OK, 0, NULL);
    expect_head(OF("\x07\0\0\0\0\0\0\xf0\xff"), EG_OK, 0, NULL);
    expect_head(OF("\x10\0\0\0\0\0\0\xf9\x7f"), EG_OK, 0, NULL);
}

static void foreign_nans_are_damage(void **state)
{
    static const char why[] = "NaN with a foreign bit pattern";

    (void)state;
    expect_head(OF("\x07\0\0\0\0\0\0\xf8\xff"), EG_ECORRUPT, 0, why);
    expect_head(OF("\x07\x01\0\0\0\0\0\xf8\x7f"), EG_ECORRUPT, 0, why);
    expect_head(OF("\x07\x01\0\0\0\0\0\xf0\x7f"), EG_ECORRUPT, 0, why);
    expect_head(OF("\x07\xff\xff\xff\xff\xff\xff\xff\xff"), EG_ECORRUPT, 0,
                why);
}

static void everything_cut_short_is_truncated(void **state)
{
    static const char *const values[] = {
        "\x06\x01\x02\x03\x04",
        "\x07\x01\x02\x03\x04\x05\x06\x07\x08",
        "\x10\x01\x02\x03\x04\x05\x06\x07\x08",
        "\x25hello",
        "\xe0\x01\x78",
    };
    static const size_t lengths[] = {5, 9, 9, 6, 3};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        for (size_t cut = 0; cut < lengths[i]; cut++)
            expect_head(values[i], cut, EG_ETRUNC, 0, NULL);
    }
    expect_head(NULL, 0, EG_ETRUNC, 0, NULL);
}

static void table_counts_are_held_against_the_bytes_left(void **state)
{
    (void)state;
    expect_head(OF("\x08"), EG_OK, 0, NULL);
    expect_head(OF("\x09\x01"
                   "\x02\x02"),
                EG_OK, 0, NULL);
    expect_head(OF("\x09\x02"
                   "\x02\x02\x01"),
                EG_ETRUNC, 0, NULL);
    expect_head(OF("\x0a\x03"
                   "\x02\x02\x01"),
                EG_OK, 0, NULL);
    expect_head(OF("\x0a\x04"
                   "\x02\x02\x01"),
                EG_ETRUNC, 0, NULL);
    expect_head(OF("\x0c\x04"
                   "\x02\x02\x01"),
                EG_OK, 0, NULL);
    expect_head(OF("\x0c\x05"
                   "\x02\x02\x01"),
                EG_ETRUNC, 0, NULL);
    expect_head(OF("\x0d\x02\x01"
                   "\x02\x02\x02"),
                EG_OK, 0, NULL);
    expect_head(OF("\x0d\x02\x02"
                   "\x02\x02\x02"),
                EG_ETRUNC, 0, NULL);
    expect_head(OF("\x0c\xff\xff\xff\xff\xff"), EG_ETRUNC, 0, NULL);
    expect_head(OF("\x0c\x00"), EG_ECORRUPT, 0, "1-based array of size 0");
    expect_head(OF("\x0c\x01"), EG_OK, 0, NULL);
    expect_head(OF("\x0a\x00"), EG_OK, 0, NULL);
}

static void heads_tell_what_follows(void **state)
{
    static const uint8_t bytes[] = {0x0d, 0x03, 0x01, 0x02, 0x02, 0x21,
                                    'k',  0x06, 0xfe, 0xff, 0xff, 0xff};
    egi_reader r;
    egi_head h;

    (void)state;
    egi_reader_init(&r, bytes, sizeof bytes);
    assert_int_equal(egi_read_head(&r, &h), EG_OK);
    assert_int_equal(h.tag, 0x0d);
    assert_int_equal(h.slots, 2);
    assert_int_equal(h.first, 1);
    assert_int_equal(h.pairs, 1);
    assert_int_equal(egi_read_head(&r, &h), EG_OK);
    assert_int_equal(h.tag, EGI_TAG_TRUE);
    assert_int_equal(egi_skip_raw(&r, 1), EG_OK);
    assert_int_equal(egi_read_head(&r, &h), EG_OK);
    assert_int_equal(h.tag, EGI_TAG_STRING);
    assert_int_equal(h.len, 1);
    assert_int_equal(egi_skip_raw(&r, h.len), EG_OK);
    assert_int_equal(egi_read_head(&r, &h), EG_OK);
    assert_true(egi_head_number(&h) == -2.0);
    assert_int_equal(egi_reader_left(&r), 0);
}

static void the_first_error_stays(void **state)
{
    static const uint8_t bytes[] = {0x02, 0x03, 0x02, 0x02};
    egi_reader r;
    egi_head h;
    const uint8_t *p;
    size_t n;
    double v;
    int b;

    (void)state;
    egi_reader_init(&r, bytes, sizeof bytes);
    assert_int_equal(egi_read_bool(&r, &b), EG_OK);
    assert_int_equal(egi_read_head(&r, &h), EG_ECORRUPT);
    assert_int_equal(egi_reader_left(&r), 0);
    assert_int_equal(egi_read_head(&r, &h), EG_ECORRUPT);
    assert_int_equal(egi_read_bool(&r, &b), EG_ECORRUPT);
    assert_int_equal(egi_read_number(&r, &v), EG_ECORRUPT);
    assert_int_equal(egi_read_string(&r, &p, &n), EG_ECORRUPT);
    assert_int_equal(egi_read_raw(&r, 0, &p), EG_ECORRUPT);
    assert_int_equal(EGI_CORRUPT(&r, "later"), EG_ECORRUPT);
    assert_int_equal(r.error_at, 1);
    assert_string_equal(r.why, "userdata is not allowed");
}

static void typed_reads_want_their_type(void **state)
{
    static const uint8_t bytes[] = {0x25, 'h',  'e', 'l', 'l', 'o',
                                    0x02, 0x06, 7,   0,   0,   0};
    egi_reader r;
    const uint8_t *p;
    size_t n;
    double v;
    int b;

    (void)state;
    egi_reader_init(&r, bytes, sizeof bytes);
    assert_int_equal(egi_read_string(&r, &p, &n), EG_OK);
    assert_int_equal(n, 5);
    assert_memory_equal(p, "hello", 5);
    assert_int_equal(egi_read_bool(&r, &b), EG_OK);
    assert_int_equal(b, 1);
    assert_int_equal(egi_read_number(&r, &v), EG_OK);
    assert_true(v == 7.0);
    egi_reader_init(&r, bytes, sizeof bytes);
    assert_int_equal(egi_read_bool(&r, &b), EG_ECORRUPT);
    egi_reader_init(&r, bytes, sizeof bytes);
    assert_int_equal(egi_read_number(&r, &v), EG_ECORRUPT);
    egi_reader_init(&r, bytes + 6, 1);
    assert_int_equal(egi_read_string(&r, &p, &n), EG_ECORRUPT);
}

static int count_of(double v, uint64_t max, uint64_t *out)
{
    uint8_t bytes[9];
    egi_writer w;
    egi_reader r;

    egi_writer_init(&w, bytes, sizeof bytes);
    egi_put_number(&w, v);
    egi_reader_init(&r, bytes, w.pos);
    return egi_read_count(&r, max, out, "bad");
}

static void counts_are_integers_in_range(void **state)
{
    static const uint8_t as_double[] = {7, 0, 0, 0, 0, 0, 0, 8, 0x40}; /* 3.0 */
    egi_reader r;
    uint64_t v = 99;

    (void)state;
    assert_int_equal(count_of(0, 0, &v), EG_OK);
    assert_int_equal(v, 0);
    assert_int_equal(count_of(5, 5, &v), EG_OK);
    assert_int_equal(v, 5);
    assert_int_equal(count_of(6, 5, &v), EG_ECORRUPT);
    assert_int_equal(count_of(-1, 5, &v), EG_ECORRUPT);
    assert_int_equal(count_of(0.5, 5, &v), EG_ECORRUPT);
    assert_int_equal(count_of(NAN, 5, &v), EG_ECORRUPT);
    assert_int_equal(count_of(HUGE_VAL, UINT64_MAX, &v), EG_ECORRUPT);
    assert_int_equal(count_of(9007199254740991.0, (1ull << 53) - 1, &v), EG_OK);
    assert_true(v == (1ull << 53) - 1);
    assert_int_equal(count_of(9007199254740992.0, (1ull << 53) - 1, &v),
                     EG_ECORRUPT);
    egi_reader_init(&r, as_double, sizeof as_double);
    assert_int_equal(egi_read_count(&r, 3, &v, "bad"), EG_OK);
    assert_int_equal(v, 3);
}

static void raw_bytes_are_bounded(void **state)
{
    static const uint8_t bytes[4] = {1, 2, 3, 4};
    egi_reader r;
    const uint8_t *p = NULL;

    (void)state;
    egi_reader_init(&r, bytes, 4);
    assert_int_equal(egi_read_raw(&r, 3, &p), EG_OK);
    assert_ptr_equal(p, bytes);
    assert_int_equal(egi_skip_raw(&r, 0), EG_OK);
    assert_int_equal(egi_read_raw(&r, 2, &p), EG_ETRUNC);
    assert_int_equal(r.error_at, 3);
    egi_reader_init(&r, bytes, 4);
    assert_int_equal(egi_skip_raw(&r, SIZE_MAX), EG_ETRUNC);
    egi_reader_init(&r, NULL, 0);
    assert_int_equal(egi_read_raw(&r, 0, &p), EG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_u_is_read_at_each_boundary),
        cmocka_unit_test(a_u_longer_than_needed_is_damage),
        cmocka_unit_test(refused_tags_say_what_they_are),
        cmocka_unit_test(scalars_are_read_at_any_alignment),
        cmocka_unit_test(foreign_nans_are_damage),
        cmocka_unit_test(everything_cut_short_is_truncated),
        cmocka_unit_test(table_counts_are_held_against_the_bytes_left),
        cmocka_unit_test(heads_tell_what_follows),
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(typed_reads_want_their_type),
        cmocka_unit_test(counts_are_integers_in_range),
        cmocka_unit_test(raw_bytes_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
