/* SPDX-License-Identifier: MIT */
/* The writer against bytes written out by hand, at each boundary. */
#include "snap_util.h"

#include <math.h>
#include <string.h>

#include "core/snap/eg_wire.h"

/* Compares what was written with hexadecimal text; spaces are ignored. */
static void expect(const egi_buffer *b, const char *hex)
{
    size_t n = 0;

    for (; *hex != 0; hex++) {
        static const char digits[] = "0123456789abcdef";
        unsigned byte;

        if (*hex == ' ')
            continue;
        byte = (unsigned)(strchr(digits, hex[0]) - digits) << 4;
        byte |= (unsigned)(strchr(digits, hex[1]) - digits);
        hex++;
        assert_true(n < b->size);
        assert_int_equal(b->data[n], byte);
        n++;
    }
    assert_int_equal(b->size, n);
}

/* Writes one thing into a buffer and checks it. */
#define CHECK(hex, put)                                                        \
    do {                                                                       \
        egi_buffer b_;                                                         \
        egi_writer w;                                                          \
        egi_buffer_init(&b_, &egi_default_allocator);                          \
        egi_writer_init_buffer(&w, &b_);                                       \
        assert_int_equal(put, EG_OK);                                          \
        assert_int_equal(egi_writer_end(&w), EG_OK);                           \
        expect(&b_, hex);                                                      \
        egi_buffer_fini(&b_);                                                  \
    } while (0)

static void unsigned_integers_at_each_boundary(void **state)
{
    (void)state;
    CHECK("00", egi_put_u(&w, 0));
    CHECK("df", egi_put_u(&w, 0xdf));
    CHECK("e0 00", egi_put_u(&w, 0xe0));
    CHECK("e0 ff", egi_put_u(&w, 0x1df));
    CHECK("e1 00", egi_put_u(&w, 0x1e0));
    CHECK("fe ff", egi_put_u(&w, 0x1fdf));
    CHECK("ff e0 1f 00 00", egi_put_u(&w, 0x1fe0));
    CHECK("ff 04 03 02 01", egi_put_u(&w, 0x01020304));
    CHECK("ff ff ff ff ff", egi_put_u(&w, 0xffffffff));
}

static double from_bits(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static void numbers_have_one_form(void **state)
{
    (void)state;
    CHECK("06 00000000", egi_put_number(&w, 0.0));
    CHECK("07 0000000000000080", egi_put_number(&w, -0.0));
    CHECK("06 ffffffff", egi_put_number(&w, -1));
    CHECK("06 ffffff7f", egi_put_number(&w, 2147483647.0));
    CHECK("07 000000000000e041", egi_put_number(&w, 2147483648.0));
    CHECK("06 00000080", egi_put_number(&w, -2147483648.0));
    CHECK("07 000020000000e0c1", egi_put_number(&w, -2147483649.0));
    CHECK("07 000000000000e03f", egi_put_number(&w, 0.5));
    CHECK("07 0100000000000000", egi_put_number(&w, from_bits(1)));
    CHECK("07 000000000000f07f", egi_put_number(&w, HUGE_VAL));
    CHECK("07 000000000000f0ff", egi_put_number(&w, -HUGE_VAL));
}

static void every_nan_is_the_same(void **state)
{
    (void)state;
    CHECK("07 000000000000f87f",
          egi_put_number(&w, from_bits(UINT64_C(0x7ff8000000000000))));
    CHECK("07 000000000000f87f",
          egi_put_number(&w, from_bits(UINT64_C(0xfff8000000000000))));
    CHECK("07 000000000000f87f",
          egi_put_number(&w, from_bits(UINT64_C(0x7ff0000000000001))));
    CHECK("07 000000000000f87f",
          egi_put_number(&w, from_bits(UINT64_C(0xffffffffffffffff))));
}

static void other_scalars(void **state)
{
    (void)state;
    CHECK("00", egi_put_nil(&w));
    CHECK("01", egi_put_bool(&w, 0));
    CHECK("02", egi_put_bool(&w, 7));
    CHECK("10 fbffffffffffffff", egi_put_int64(&w, -5));
    CHECK("10 0000000000000080", egi_put_int64(&w, INT64_MIN));
    CHECK("11 ffffffffffffffff", egi_put_uint64(&w, UINT64_MAX));
    CHECK("04 03 02 01", egi_put_u32(&w, 0x01020304));
    CHECK("", egi_put_raw(&w, NULL, 0));
    CHECK("61 62", egi_put_raw(&w, "ab", 2));
}

static void strings_at_each_boundary(void **state)
{
    static const size_t lengths[] = {0, 1, 0xbf, 0xc0, 0x1fbf, 0x1fc0};
    static const size_t heads[] = {1, 1, 1, 2, 2, 5};
    static char text[0x2000];

    (void)state;
    CHECK("20", egi_put_string(&w, "", 0));
    CHECK("21 00", egi_put_string(&w, "", 1));
    CHECK("25 68 65 6c 6c 6f", egi_put_string(&w, "hello", 5));
    CHECK("df", egi_put_string_head(&w, 0xbf));
    CHECK("e0 00", egi_put_string_head(&w, 0xc0));
    CHECK("fe ff", egi_put_string_head(&w, 0x1fbf));
    CHECK("ff e0 1f 00 00", egi_put_string_head(&w, 0x1fc0));
    CHECK("ff ff ff ff ff", egi_put_string_head(&w, 0xffffffdf));
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < 6; i++) {
        egi_buffer b;
        egi_writer w;

        egi_buffer_init(&b, &egi_default_allocator);
        egi_writer_init_buffer(&w, &b);
        egi_put_string(&w, text, lengths[i]);
        egi_writer_end(&w);
        assert_int_equal(b.size, heads[i] + lengths[i]);
        assert_int_equal(b.size, egi_size_string(lengths[i]));
        assert_memory_equal(b.data + heads[i], text, lengths[i]);
        egi_buffer_fini(&b);
    }
}

static void tables_at_each_boundary(void **state)
{
    (void)state;
    CHECK("08", egi_put_empty_table(&w));
    CHECK("09 01", egi_put_hash(&w, 1));
    CHECK("09 df", egi_put_hash(&w, 0xdf));
    CHECK("09 e0 00", egi_put_hash(&w, 0xe0));
    CHECK("09 ff ff ff ff ff", egi_put_hash(&w, 0xffffffff));
    CHECK("0c 02", egi_put_array(&w, 1));
    CHECK("0c df", egi_put_array(&w, 0xde));
    CHECK("0c e0 00", egi_put_array(&w, 0xdf));
    CHECK("0c fe ff", egi_put_array(&w, 0x1fde));
    CHECK("0c ff e0 1f 00 00", egi_put_array(&w, 0x1fdf));
    CHECK("0c ff ff ff ff ff", egi_put_array(&w, 0xfffffffe));
}

static void sizes_agree_with_what_is_written(void **state)
{
    static const double numbers[] = {
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        2147483647.0,
        2147483648.0,
        -2147483648.0,
        -2147483649.0,
        1e308,
        9007199254740991.0,
    };
    static const uint32_t counts[] = {1,      0xde,   0xdf,   0xe0,      0xe1,
                                      0x1fde, 0x1fdf, 0x1fe0, 0xfffffffe};
    uint8_t bytes[16];
    egi_writer w;

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        egi_writer_init(&w, bytes, sizeof bytes);
        egi_put_number(&w, numbers[i]);
        assert_int_equal(egi_writer_size(&w), egi_size_number(numbers[i]));
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        egi_writer_init(&w, bytes, sizeof bytes);
        egi_put_u(&w, counts[i]);
        assert_int_equal(egi_writer_size(&w), egi_size_u(counts[i]));
        egi_writer_init(&w, bytes, sizeof bytes);
        egi_put_hash(&w, counts[i]);
        assert_int_equal(egi_writer_size(&w), egi_size_hash(counts[i]));
        egi_writer_init(&w, bytes, sizeof bytes);
        egi_put_array(&w, counts[i]);
        assert_int_equal(egi_writer_size(&w), egi_size_array(counts[i]));
    }
    assert_int_equal(egi_size_hash(0), 1);
    assert_int_equal(egi_size_array(0), 1);
    assert_int_equal(egi_size_number(NAN), 9);
}

static void a_full_block_is_an_error_that_stays(void **state)
{
    uint8_t bytes[8];

    (void)state;
    for (size_t room = 0; room < 5; room++) {
        egi_writer w;

        memset(bytes, 0xee, sizeof bytes);
        egi_writer_init(&w, bytes, room);
        assert_int_equal(egi_put_number(&w, 1), EG_ELIMIT);
        assert_int_equal(egi_writer_size(&w), 0);
        /* Even what would fit is not written any more. */
        assert_int_equal(egi_put_nil(&w), EG_ELIMIT);
        assert_int_equal(egi_put_raw(&w, "", 0), EG_ELIMIT);
        assert_null(egi_writer_take(&w, 1));
        assert_int_equal(egi_writer_end(&w), EG_ELIMIT);
        for (size_t i = 0; i < sizeof bytes; i++)
            assert_int_equal(bytes[i], 0xee);
    }
}

static void a_block_is_filled_to_its_last_byte(void **state)
{
    uint8_t bytes[9];
    egi_writer w;

    (void)state;
    egi_writer_init(&w, bytes, sizeof bytes);
    assert_int_equal(egi_put_int64(&w, 1), EG_OK);
    assert_int_equal(egi_put_raw(&w, NULL, 0), EG_OK);
    assert_int_equal(egi_writer_end(&w), EG_OK);
    assert_int_equal(egi_put_nil(&w), EG_ELIMIT);
}

static void counts_past_the_format_are_refused(void **state)
{
    uint8_t bytes[16];
    egi_writer w;

    (void)state;
    egi_writer_init(&w, bytes, sizeof bytes);
    assert_int_equal(egi_put_string_head(&w, 0xffffffe0u), EG_ELIMIT);
    egi_writer_init(&w, bytes, sizeof bytes);
    assert_int_equal(egi_put_string(&w, NULL, 0xffffffe0u), EG_ELIMIT);
    egi_writer_init(&w, bytes, sizeof bytes);
    assert_int_equal(egi_put_array(&w, 0xffffffffu), EG_ELIMIT);
#if SIZE_MAX > UINT32_MAX
    egi_writer_init(&w, bytes, sizeof bytes);
    assert_int_equal(egi_put_hash(&w, (size_t)UINT32_MAX + 1), EG_ELIMIT);
#endif
}

static void a_buffer_grows_and_reports_lack_of_memory(void **state)
{
    snap_memory m;
    egi_buffer b;
    egi_writer w;
    size_t size;

    (void)state;
    snap_memory_init(&m);
    egi_buffer_init(&b, &m.alloc);
    egi_writer_init_buffer(&w, &b);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(egi_put_number(&w, i), EG_OK);
    assert_int_equal(egi_writer_end(&w), EG_OK);
    assert_int_equal(b.size, 5000);
    m.fail_at = m.calls;
    m.fail_on = 1;
    egi_writer_init_buffer(&w, &b);
    while (egi_put_number(&w, 1) == EG_OK) {
    }
    size = egi_writer_size(&w);
    assert_int_equal(egi_writer_end(&w), EG_ENOMEM);
    assert_int_equal(b.size, size);
    assert_int_equal(size % 5, 0);
    m.fail_at = -1;
    egi_buffer_reset(&b);
    assert_int_equal(egi_buffer_reserve(&b, SIZE_MAX), EG_ENOMEM);
    assert_int_equal(egi_buffer_reserve(&b, 100000), EG_OK);
    egi_buffer_fini(&b);
    snap_memory_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_integers_at_each_boundary),
        cmocka_unit_test(numbers_have_one_form),
        cmocka_unit_test(every_nan_is_the_same),
        cmocka_unit_test(other_scalars),
        cmocka_unit_test(strings_at_each_boundary),
        cmocka_unit_test(tables_at_each_boundary),
        cmocka_unit_test(sizes_agree_with_what_is_written),
        cmocka_unit_test(a_full_block_is_an_error_that_stays),
        cmocka_unit_test(a_block_is_filled_to_its_last_byte),
        cmocka_unit_test(counts_past_the_format_are_refused),
        cmocka_unit_test(a_buffer_grows_and_reports_lack_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
