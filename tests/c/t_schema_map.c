/* SPDX-License-Identifier: MIT */
/* Plans that lead from a saved layout to the present one, and what they do to
 * the values of every pair of types. */
#include "snap_util.h"

#include <math.h>
#include <string.h>

#include "core/snap/eg_column.h"
#include "core/snap/eg_schema.h"

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

static egi_layout parse(const char *text)
{
    egi_text_error err = {0, NULL};
    egi_layout l;

    assert_int_equal(
        egi_layout_init(&l, &egi_default_allocator, text, strlen(text), &err),
        EG_OK);
    return l;
}

/* -- plans ----------------------------------------------------------------- */

static void equal_layouts_are_copied(void **state)
{
    egi_layout a = parse("x:f64,y:f64,id:i32|24");
    egi_layout b = parse("x:double,y:double,id@16:int32_t|24");
    egi_layout c = parse("x:entity,y:f64,id:i32|24");
    egi_layout d = parse("x:f64,y:f64,id:u32|24");
    egi_schema_plan p;
    egi_schema_clash clash;

    (void)state;
    egi_schema_plan_init(&p, &egi_default_allocator, &a, b.fields, 3, 24,
                         &clash);
    assert_int_equal(p.same, 1);
    egi_schema_plan_fini(&p);
    egi_schema_plan_init(&p, &egi_default_allocator, &a, c.fields, 3, 24,
                         &clash);
    assert_int_equal(p.same, 1);
    egi_schema_plan_fini(&p);
    egi_schema_plan_init(&p, &egi_default_allocator, &a, d.fields, 3, 24,
                         &clash);
    assert_int_equal(p.same, 0);
    egi_schema_plan_fini(&p);
    egi_layout_fini(&a);
    egi_layout_fini(&b);
    egi_layout_fini(&c);
    egi_layout_fini(&d);
}

static void fields_are_matched_by_name(void **state)
{
    struct {
        double x, y;
        int32_t gone;
    } saved[2] = {{1.5, 2.5, 7}, {3.5, 4.5, 8}};
    struct {
        int32_t fresh;
        double y, x;
    } now[2], defaults = {42, -1, -1};
    egi_layout from = parse("x:f64,y:f64,gone:i32|24");
    const eg_field to[] = {field("fresh", EG_I32, 0, 0, 0),
                           field("y", EG_F64, 8, 0, 0),
                           field("x", EG_F64, 16, 0, 0)};
    egi_schema_plan p;
    egi_schema_clash clash;

    (void)state;
    assert_int_equal(egi_schema_plan_init(&p, &egi_default_allocator, &from, to,
                                          3, 24, &clash),
                     EG_OK);
    assert_int_equal(p.added, 1);
    assert_int_equal(p.dropped, 1);
    assert_int_equal(p.same, 0);
    memset(&now, 0xee, sizeof now);
    egi_schema_map_column(&p, now, saved, 2, &defaults);
    assert_int_equal(now[0].fresh, 42);
    assert_true(now[0].x == 1.5 && now[0].y == 2.5);
    assert_true(now[1].x == 3.5 && now[1].y == 4.5);
    egi_schema_map_column(&p, now, saved, 1, NULL);
    assert_int_equal(now[0].fresh, 0);
    egi_schema_plan_fini(&p);
    egi_layout_fini(&from);
}

static void neighbours_are_copied_together(void **state)
{
    static const uint8_t saved[12] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
    static const uint8_t want[12] = {1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    const eg_field to[] = {field("a", EG_U32, 0, 0, 0),
                           field("b", EG_I32, 4, 0, 0),
                           field("d", EG_I32, 8, 0, 0)};
    egi_layout from = parse("a:i32,b:i32,c:i32|12");
    uint8_t now[12];
    egi_schema_plan p;
    egi_schema_clash clash;

    (void)state;
    assert_int_equal(egi_schema_plan_init(&p, &egi_default_allocator, &from, to,
                                          3, 12, &clash),
                     EG_OK);
    assert_int_equal(p.count, 1);
    egi_schema_map_column(&p, now, saved, 1, NULL);
    assert_memory_equal(now, want, sizeof want);
    egi_schema_plan_fini(&p);
    egi_layout_fini(&from);
}

static void pointers_are_not_mapped(void **state)
{
    const eg_field to = field("a", EG_POINTER, 0, 0, 0);
    egi_layout from = parse("a:u64|8");
    snap_memory m;
    egi_schema_plan p;
    egi_schema_clash clash;

    (void)state;
    snap_memory_init(&m);
    assert_int_equal(
        egi_schema_plan_init(&p, &m.alloc, &from, &to, 1, 8, &clash),
        EG_EINVAL);
    snap_memory_fini(&m);
    egi_layout_fini(&from);
}

static void arrays_keep_their_lengths(void **state)
{
    static const char *const saved[] = {"a:i8,v:f64[3]|32", "a:i8,v:f64|16",
                                        "a:i8,v:f64[2][2]|40",
                                        "a:i8,v:f64[1]|16"};
    const eg_field to = field("v", EG_F32, 0, 4, 0);
    egi_schema_clash clash = {9, 9};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        snap_memory m;
        egi_layout from = parse(saved[i]);
        egi_schema_plan p;

        snap_memory_init(&m);
        assert_int_equal(
            egi_schema_plan_init(&p, &m.alloc, &from, &to, 1, 16, &clash),
            EG_ESCHEMA);
        assert_int_equal(clash.from, 1);
        assert_int_equal(clash.to, 0);
        snap_memory_fini(&m);
        egi_layout_fini(&from);
    }
}

/* Runs one value through a plan of one field. */
static void convert(int from_type, const void *from, int to_type, void *to)
{
    static const char *const names[] = {
        "",        "v:i8|1",   "v:u8|1",    "v:i16|2", "v:u16|2",
        "v:i32|4", "v:u32|4",  "v:i64|8",   "v:u64|8", "v:f32|4",
        "v:f64|8", "v:bool|1", "v:entity|8"};
    egi_layout l = parse(names[from_type]);
    const eg_field f = field("v", to_type, 0, 0, 0);
    egi_schema_plan p;
    egi_schema_clash clash;

    assert_int_equal(egi_schema_plan_init(&p, &egi_default_allocator, &l, &f, 1,
                                          egi_field_width(to_type), &clash),
                     EG_OK);
    egi_schema_map_column(&p, to, from, 1, NULL);
    egi_schema_plan_fini(&p);
    egi_layout_fini(&l);
}

/* 64 bits hold every result; unused bytes stay zero. */
static uint64_t converted(int from_type, uint64_t bits, int to_type)
{
    uint64_t out = 0;

    convert(from_type, &bits, to_type, &out);
    return out;
}

static uint64_t f64(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, 8);
    return bits;
}

static uint64_t f32(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, 4);
    return bits;
}

static void integers_extend_and_narrow(void **state)
{
    (void)state;
    assert_true(converted(EG_I8, 0xfb, EG_I32) == 0xfffffffb);
    assert_true(converted(EG_I8, 0xfb, EG_U64) == UINT64_MAX - 4);
    assert_true(converted(EG_U8, 0xfb, EG_I32) == 0xfb);
    assert_true(converted(EG_I32, 0x12345678, EG_I8) == 0x78);
    assert_true(converted(EG_I64, UINT64_MAX - 4, EG_U16) == 0xfffb);
    assert_true(converted(EG_U32, 0xfffffffb, EG_I32) == 0xfffffffb);
    assert_true(converted(EG_U32, 0xfffffffb, EG_I64) == 0xfffffffb);
}

static void integers_become_the_nearest_float(void **state)
{
    (void)state;
    assert_true(converted(EG_I8, 0xfb, EG_F64) == f64(-5.0));
    assert_true(converted(EG_U8, 0xfb, EG_F32) == f32(251.0f));
    assert_true(converted(EG_I64, (uint64_t)INT64_MIN, EG_F64) ==
                f64(-9223372036854775808.0));
    assert_true(converted(EG_U64, UINT64_MAX, EG_F64) ==
                f64(18446744073709551616.0));
    /* -(2^54 + 3) lies between two doubles; the nearer one is -(2^54 + 4). */
    assert_true(converted(EG_I64, (uint64_t) - ((INT64_C(1) << 54) + 3),
                          EG_F64) == f64(-18014398509481988.0));
    assert_true(converted(EG_I64, (uint64_t)-5, EG_ENTITY) == f64(-5.0));
    assert_true(converted(EG_F32, f32(0.1f), EG_F64) == f64((double)0.1f));
    assert_true(converted(EG_F64, f64(1e300), EG_F32) == f32(HUGE_VALF));
    assert_true(converted(EG_F64, f64(0.1), EG_F32) == f32(0.1f));
}

static void floats_are_cut_towards_zero(void **state)
{
    (void)state;
    assert_true(converted(EG_F64, f64(2.99), EG_I32) == 2);
    assert_true(converted(EG_F64, f64(-2.99), EG_I32) == 0xfffffffe);
    assert_true(converted(EG_F32, f32(-2.5f), EG_I8) == 0xfe);
    assert_true(converted(EG_F64, f64(300.7), EG_U8) == 44);
    assert_true(converted(EG_F64, f64(-1.0), EG_U32) == 0xffffffff);
    assert_true(converted(EG_F64, f64(4294967295.0), EG_U32) == 0xffffffff);
    assert_true(converted(EG_F64, f64(4294967297.0), EG_I32) == 1);
    assert_true(converted(EG_F64, f64(9223372036854775807.0), EG_I64) ==
                UINT64_C(1) << 63);
    assert_true(converted(EG_F64, f64(9223372036854775808.0), EG_U64) ==
                UINT64_C(1) << 63);
    assert_true(converted(EG_F64, f64(18446744073709549568.0), EG_U64) ==
                UINT64_C(18446744073709549568));
    assert_true(converted(EG_F64, f64(1e300), EG_I64) == UINT64_C(1) << 63);
    assert_true(converted(EG_F64, f64(NAN), EG_I64) == UINT64_C(1) << 63);
    assert_true(converted(EG_F64, f64(NAN), EG_I32) == 0);
    assert_true(converted(EG_F64, f64(HUGE_VAL), EG_U8) == 0);
}

static void booleans_are_zero_or_one(void **state)
{
    (void)state;
    for (int type = EG_I8; type <= EG_ENTITY; type++) {
        int real = type == EG_F64 || type == EG_ENTITY;
        uint64_t one = real ? f64(1) : type == EG_F32 ? f32(1) : 1;

        assert_true(converted(EG_BOOL, 1, type) == one);
        assert_true(converted(EG_BOOL, 7, type) == one);
        assert_true(converted(EG_BOOL, 0, type) == 0);
        assert_true(converted(type, one, EG_BOOL) == 1);
        assert_true(converted(type, 0, EG_BOOL) == 0);
    }
    assert_true(converted(EG_I32, 256, EG_BOOL) == 1);
    assert_true(converted(EG_F64, f64(0.25), EG_BOOL) == 1);
    assert_true(converted(EG_F64, f64(-0.0), EG_BOOL) == 0);
    assert_true(converted(EG_F64, f64(NAN), EG_BOOL) == 1);
}

static void nans_come_out_as_the_canonical_one(void **state)
{
    static const uint64_t nan64 = UINT64_C(0x7ff8000000000000);

    (void)state;
    assert_true(converted(EG_F64, UINT64_C(0xfff8000000000001), EG_F64) ==
                nan64);
    assert_true(converted(EG_F64, UINT64_C(0x7ff0000000000001), EG_F32) ==
                0x7fc00000);
    assert_true(converted(EG_F32, 0xffc00001, EG_F64) == nan64);
    assert_true(converted(EG_F32, 0x7f800001, EG_F32) == 0x7fc00000);
    assert_true(converted(EG_ENTITY, UINT64_MAX, EG_ENTITY) == nan64);
}

static void every_pair_of_types_converts_whole_arrays(void **state)
{
    static const char *const types[] = {"",    "i8",   "u8",    "i16", "u16",
                                        "i32", "u32",  "i64",   "u64", "f32",
                                        "f64", "bool", "entity"};
    uint8_t src[64];
    uint8_t dst[64];

    (void)state;
    for (int from = EG_I8; from <= EG_ENTITY; from++) {
        for (int to = EG_I8; to <= EG_ENTITY; to++) {
            char text[32] = "v:";
            size_t width = egi_field_width(from);
            size_t out = egi_field_width(to);
            const eg_field f = field("v", to, 0, 3, 0);
            egi_schema_plan p;
            egi_schema_clash clash;
            egi_layout l;

            strcat(text, types[from]);
            strcat(text, width == 8   ? "[3]|24"
                         : width == 4 ? "[3]|12"
                         : width == 2 ? "[3]|6"
                                      : "[3]|3");
            l = parse(text);
            for (size_t i = 0; i < sizeof src; i++)
                src[i] = (uint8_t)(i * 37 + 1);
            assert_int_equal(egi_schema_plan_init(&p, &egi_default_allocator,
                                                  &l, &f, 1, 3 * out, &clash),
                             EG_OK);
            egi_schema_map_column(&p, dst + 1, src + 1, 2, NULL);
            for (size_t i = 0; i < 6; i++) {
                uint64_t one = 0;
                uint64_t got = 0;

                memcpy(&one, src + 1 + i * width, width);
                memcpy(&got, dst + 1 + i * out, out);
                assert_true(got == converted(from, one, to));
            }
            egi_schema_plan_fini(&p);
            egi_layout_fini(&l);
        }
    }
}

static void lack_of_memory_is_reported(void **state)
{
    static const char text[] = "a:i8,b:i8,c:i8,d:i8,e:i8,f:i8,g:i8,h:i8,i:i8,"
                               "j:i8,k:i8,l:i8,m:i8,n:i8,o:i8,p:i8,q%40:i8|17";
    const eg_field to = field("a", EG_I8, 0, 0, 0);
    int done = 0;

    (void)state;
    for (long fail = 0; !done; fail++) {
        snap_memory m;
        egi_text_error text_error;
        egi_schema_clash clash;
        egi_schema_plan p;
        egi_layout l;
        int err;

        snap_memory_init(&m);
        m.fail_at = fail;
        err = egi_layout_init(&l, &m.alloc, text, sizeof text - 1, &text_error);
        if (err == EG_OK) {
            err = egi_schema_plan_init(&p, &m.alloc, &l, &to, 1, 1, &clash);
            egi_schema_plan_fini(&p);
        }
        done = m.calls <= fail;
        assert_int_equal(err, done ? EG_OK : EG_ENOMEM);
        egi_layout_fini(&l);
        snap_memory_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_layouts_are_copied),
        cmocka_unit_test(fields_are_matched_by_name),
        cmocka_unit_test(neighbours_are_copied_together),
        cmocka_unit_test(pointers_are_not_mapped),
        cmocka_unit_test(arrays_keep_their_lengths),
        cmocka_unit_test(integers_extend_and_narrow),
        cmocka_unit_test(integers_become_the_nearest_float),
        cmocka_unit_test(floats_are_cut_towards_zero),
        cmocka_unit_test(booleans_are_zero_or_one),
        cmocka_unit_test(nans_come_out_as_the_canonical_one),
        cmocka_unit_test(every_pair_of_types_converts_whole_arrays),
        cmocka_unit_test(lack_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
