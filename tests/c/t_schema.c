/* SPDX-License-Identifier: MIT */
/* Fingerprints, written and read. Plans are in t_schema_map.c. */
#include "snap_util.h"

#include <stdlib.h>
#include <string.h>

#include "core/snap/eg_column.h"
#include "core/snap/eg_schema.h"

/* -- helpers --------------------------------------------------------------- */

static eg_field field(const char *name, int type, uint32_t offset, uint32_t d0,
                      uint32_t d1)
{
    eg_field f = {0};

    f.name = name;
    f.name_len = (uint32_t)strlen(name);
    f.type = type;
    f.offset = offset;
    f.dims[0] = d0;
    f.dims[1] = d1;
    f.elements = (d0 ? d0 : 1) * (d1 ? d1 : 1);
    return f;
}

static void expect_text(const eg_field *fields, size_t n, size_t size,
                        const char *text)
{
    egi_buffer b;
    egi_writer w;

    egi_buffer_init(&b, &egi_default_allocator);
    egi_writer_init_buffer(&w, &b);
    assert_int_equal(egi_fingerprint_write(&w, fields, n, size), EG_OK);
    assert_int_equal(egi_writer_end(&w), EG_OK);
    assert_int_equal(b.size, strlen(text));
    assert_memory_equal(b.data, text, b.size);
    egi_buffer_fini(&b);
}

static egi_layout parse(const char *text)
{
    egi_text_error err = {0, NULL};
    egi_layout l;

    assert_int_equal(
        egi_layout_init(&l, &egi_default_allocator, text, strlen(text), &err),
        EG_OK);
    return l;
}

static void refuse(const char *text, size_t at)
{
    snap_memory m;
    egi_text_error err = {99999, NULL};
    egi_layout l;
    size_t len = strlen(text);
    char *copy = malloc(len ? len : 1); /* so that a sanitizer sees its end */

    snap_memory_init(&m);
    memcpy(copy, text, len);
    assert_int_equal(egi_layout_init(&l, &m.alloc, copy, len, &err),
                     EG_ECORRUPT);
    assert_non_null(err.why);
    assert_int_equal(err.at, at);
    egi_layout_fini(&l);
    snap_memory_fini(&m);
    free(copy);
}

/* -- writing --------------------------------------------------------------- */

static void fingerprints_are_written_canonically(void **state)
{
    const eg_field pos[] = {field("x", EG_F64, 0, 0, 0),
                            field("y", EG_F64, 8, 0, 0)};
    const eg_field all[] = {
        field("a", EG_I8, 0, 0, 0),    field("b", EG_U8, 1, 0, 0),
        field("c", EG_I16, 2, 0, 0),   field("d", EG_U16, 4, 0, 0),
        field("e", EG_I32, 8, 0, 0),   field("f", EG_U32, 12, 0, 0),
        field("g", EG_I64, 16, 0, 0),  field("h", EG_U64, 24, 0, 0),
        field("i", EG_F32, 32, 0, 0),  field("j", EG_F64, 40, 0, 0),
        field("k", EG_BOOL, 48, 0, 0), field("l", EG_ENTITY, 56, 0, 0),
        field("m", EG_I8, 64, 16, 0),  field("n", EG_F32, 80, 4, 4),
    };
    const eg_field packed[] = {field("id", EG_I32, 0, 0, 0),
                               field("at", EG_F64, 4, 0, 0),
                               field("on", EG_BOOL, 20, 0, 0)};
    const eg_field odd[] = {field("a:b,c|d@e%f g", EG_I8, 0, 0, 0),
                            field("\xc3\xa9[1]", EG_I8, 1, 0, 0)};

    (void)state;
    expect_text(pos, 2, 16, "x:f64,y:f64|16");
    expect_text(all, 14, 144,
                "a:i8,b:u8,c:i16,d:u16,e:i32,f:u32,g:i64,h:u64,i:f32,j:f64,"
                "k:bool,l:entity,m:i8[16],n:f32[4][4]|144");
    expect_text(packed, 3, 21, "id:i32,at@4:f64,on@20:bool|21");
    expect_text(odd, 2, 2, "a%3Ab%2Cc%7Cd%40e%25f%20g:i8,\xc3\xa9[1]:i8|2");
}

static void what_has_no_fingerprint_is_refused(void **state)
{
    eg_field f = field("x", EG_POINTER, 0, 0, 0);
    uint8_t room[64];
    egi_writer w;

    (void)state;
    egi_writer_init(&w, room, sizeof room);
    assert_int_equal(egi_fingerprint_write(&w, &f, 1, 8), EG_EINVAL);
    f = field("", EG_F64, 0, 0, 0);
    assert_int_equal(egi_fingerprint_write(&w, &f, 1, 8), EG_EINVAL);
    f = field("x", EG_F64, 0, 0, 0);
    assert_int_equal(egi_fingerprint_write(&w, &f, 1, 7), EG_EINVAL);
    assert_int_equal(egi_fingerprint_write(&w, &f, 0, 8), EG_EINVAL);
    f.elements = 2;
    assert_int_equal(egi_fingerprint_write(&w, &f, 1, 16), EG_EINVAL);
    assert_int_equal(egi_writer_size(&w), 0);
    f.elements = 1;
    assert_int_equal(egi_fingerprint_write(&w, &f, 1, 8), EG_OK);
    egi_writer_init(&w, room, 6);
    assert_int_equal(egi_fingerprint_write(&w, &f, 1, 8), EG_ELIMIT);
}

/* -- reading --------------------------------------------------------------- */

static void layouts_follow_natural_alignment(void **state)
{
    egi_layout l = parse("a:u8,b:f64,c:i16[3],d:f32[2][2],e@60:bool|64");

    (void)state;
    assert_int_equal(l.count, 5);
    assert_int_equal(l.size, 64);
    assert_int_equal(l.fields[0].offset, 0);
    assert_int_equal(l.fields[1].offset, 8);
    assert_int_equal(l.fields[2].offset, 16);
    assert_int_equal(l.fields[2].elements, 3);
    assert_int_equal(l.fields[3].offset, 24);
    assert_int_equal(l.fields[3].elements, 4);
    assert_int_equal(l.fields[3].dims[1], 2);
    assert_int_equal(l.fields[4].offset, 60);
    assert_int_equal(l.fields[4].type, EG_BOOL);
    egi_layout_fini(&l);
}

static void c_spellings_are_the_same_types(void **state)
{
    egi_layout l = parse("a:float,b:double,c:int8_t,d:uint8_t,e:int16_t,"
                         "f:uint16_t,g:int32_t,h:uint32_t,i:int64_t,"
                         "j:uint64_t,k:int,l:unsigned int,m:char,"
                         "n:unsigned char,o:long long,p:_Bool,q:bool|112");
    static const int types[] = {EG_F32, EG_F64, EG_I8,  EG_U8,   EG_I16, EG_U16,
                                EG_I32, EG_U32, EG_I64, EG_U64,  EG_I32, EG_U32,
                                EG_I8,  EG_U8,  EG_I64, EG_BOOL, EG_BOOL};

    (void)state;
    assert_int_equal(l.count, 17);
    for (size_t i = 0; i < 17; i++)
        assert_int_equal(l.fields[i].type, types[i]);
    egi_layout_fini(&l);
}

static void escapes_are_undone(void **state)
{
    egi_layout l = parse("a%3ab%00:i8,plain:i8,%25:i8|3");

    (void)state;
    assert_int_equal(l.fields[0].name_len, 4);
    assert_memory_equal(l.fields[0].name, "a:b\0", 4);
    assert_int_equal(l.fields[1].name_len, 5);
    assert_memory_equal(l.fields[1].name, "plain", 5);
    assert_int_equal(l.fields[2].name_len, 1);
    assert_memory_equal(l.fields[2].name, "%", 1);
    egi_layout_fini(&l);
}

static void texts_that_are_none_are_refused_where_they_go_wrong(void **state)
{
    (void)state;
    refuse("", 0);
    refuse("|8", 0);
    refuse("x", 1);
    refuse("x:", 2);
    refuse("x:f63|8", 2);
    refuse("x:void*|8", 2);
    refuse("x:long|8", 2);
    refuse("x:f64", 5);
    refuse("x:f64|", 6);
    refuse("x:f64|7", 7);
    refuse("x:f64|8 ", 7);
    refuse("x:f64|08", 7);
    refuse("x:f64|2147483648", 15);
    refuse("x:f64|99999999999999999999", 15);
    refuse("x:f64|-8", 6);
    refuse("x:f64,|8", 6);
    refuse("x:f64,,y:f64|16", 6);
    refuse(",x:f64|8", 0);
    refuse(" x:f64|8", 0);
    refuse("x:f64[0]|8", 7);
    refuse("x:f64[]|8", 6);
    refuse("x:f64[2|16", 7);
    refuse("x:f64[2][2][2]|64", 11);
    refuse("x:f64[2147483647][2]|64", 20);
    refuse("x:f64[2147483647]|64", 0);
    refuse("x@:f64|8", 2);
    refuse("x@8|8", 3);
    refuse("x:f64,y@4:f64|16", 6);
    refuse("x@2147483647:f64|16", 0);
    refuse("x%4:f64|8", 1);
    refuse("x%4g:f64|8", 1);
    refuse("x%", 1);
    refuse("x:f64,x:f64|16", 0);
    refuse("x:f64,%78:f64|16", 0);
}

static void many_fields_are_told_apart(void **state)
{
    egi_buffer b;

    (void)state;
    egi_buffer_init(&b, &egi_default_allocator);
    for (int twice = 0; twice < 2; twice++) {
        egi_text_error err;
        egi_layout l;
        egi_writer w;
        char name[8] = "n0000:i8";

        egi_buffer_reset(&b);
        egi_writer_init_buffer(&w, &b);
        for (int i = 0; i < 3000; i++) {
            int k = twice && i == 2999 ? 1234 : i;

            for (int d = 4; d > 0; d--, k /= 10)
                name[d] = (char)('0' + k % 10);
            egi_put_raw(&w, ",", i > 0);
            egi_put_raw(&w, name, sizeof name);
        }
        egi_put_raw(&w, "|3000", 5);
        egi_writer_end(&w);
        assert_int_equal(
            egi_layout_init(&l, &egi_default_allocator, b.data, b.size, &err),
            twice ? EG_ECORRUPT : EG_OK);
        egi_layout_fini(&l);
    }
    egi_buffer_fini(&b);
}

static void every_damage_is_refused_or_read(void **state)
{
    static const char text[] = "a%2C:u8,b@8:f64,c:i16[3],d:f32[2][2]|64";
    char copy[sizeof text];

    (void)state;
    for (size_t at = 0; at < sizeof text - 1; at++) {
        for (int byte = 0; byte < 256; byte++) {
            snap_memory m;
            egi_text_error err;
            egi_layout l;
            egi_column c;

            snap_memory_init(&m);
            memcpy(copy, text, sizeof text);
            copy[at] = (char)byte;
            if (egi_layout_init(&l, &m.alloc, copy, sizeof text - 1, &err) ==
                EG_OK) {
                assert_int_equal(
                    egi_column_init(&c, &m.alloc, l.fields, l.count, l.size),
                    EG_OK);
                egi_column_fini(&c);
            }
            egi_layout_fini(&l);
            snap_memory_fini(&m);
        }
    }
}

/* A text that was written reads back as what was written. */
static void texts_round_trip(void **state)
{
    uint64_t rng = snap_seed();

    (void)state;
    for (int round = 0; round < 500; round++) {
        static const char *const names[] = {"a", "b:", "%c", "d d",
                                            "e", "f",  "g|", "h"};
        eg_field fields[8];
        size_t n = 1 + snap_below(&rng, 8);
        size_t end = 0;
        egi_text_error err;
        egi_buffer b;
        egi_writer w;
        egi_layout l;

        for (size_t i = 0; i < n; i++) {
            int type = 1 + (int)snap_below(&rng, EG_ENTITY);
            uint32_t d0 = snap_below(&rng, 3);
            uint32_t d1 = d0 ? snap_below(&rng, 3) : 0;

            end += snap_below(&rng, 4);
            fields[i] = field(names[i], type, (uint32_t)end, d0, d1);
            end += fields[i].elements * egi_field_width(type);
        }
        egi_buffer_init(&b, &egi_default_allocator);
        egi_writer_init_buffer(&w, &b);
        assert_int_equal(egi_fingerprint_write(&w, fields, n, end + 3), EG_OK);
        egi_writer_end(&w);
        assert_int_equal(
            egi_layout_init(&l, &egi_default_allocator, b.data, b.size, &err),
            EG_OK);
        assert_int_equal(l.count, n);
        assert_int_equal(l.size, end + 3);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(l.fields[i].type, fields[i].type);
            assert_int_equal(l.fields[i].offset, fields[i].offset);
            assert_int_equal(l.fields[i].elements, fields[i].elements);
            assert_int_equal(l.fields[i].name_len, fields[i].name_len);
            assert_memory_equal(l.fields[i].name, fields[i].name,
                                fields[i].name_len);
        }
        egi_layout_fini(&l);
        egi_buffer_fini(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprints_are_written_canonically),
        cmocka_unit_test(what_has_no_fingerprint_is_refused),
        cmocka_unit_test(layouts_follow_natural_alignment),
        cmocka_unit_test(c_spellings_are_the_same_types),
        cmocka_unit_test(escapes_are_undone),
        cmocka_unit_test(texts_that_are_none_are_refused_where_they_go_wrong),
        cmocka_unit_test(many_fields_are_told_apart),
        cmocka_unit_test(every_damage_is_refused_or_read),
        cmocka_unit_test(texts_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
