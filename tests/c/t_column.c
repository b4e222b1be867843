/* SPDX-License-Identifier: MIT */
/* The column kernel: by hand-made columns, and against a loop over fields on
 * random layouts, rows and alignments. */
#include "snap_util.h"

#include <stdlib.h>
#include <string.h>

#include "core/snap/eg_column.h"

enum { ROUNDS = 1500, FIELDS_MAX = 12, ROOM = 16 };

static const uint64_t nan64 = UINT64_C(0x7ff8000000000000);
static const uint32_t nan32 = 0x7fc00000;

/* -- the naive way --------------------------------------------------------- */

typedef struct layout {
    eg_field fields[FIELDS_MAX];
    size_t n;
    size_t size;
} layout;

static int is_nan(const uint8_t *p, int type)
{
    double d;
    float f;

    if (type == EG_F32) {
        memcpy(&f, p, 4);
        return f != f;
    }
    memcpy(&d, p, 8);
    return d != d;
}

/* 1 when the value is damage in a snapshot. */
static int is_bad(const uint8_t *p, int type)
{
    switch (type) {
    case EG_BOOL:
        return *p > 1;
    case EG_F32:
        return is_nan(p, type) && memcmp(p, &nan32, 4) != 0;
    case EG_F64:
    case EG_ENTITY:
        return is_nan(p, type) && memcmp(p, &nan64, 8) != 0;
    default:
        return 0;
    }
}

static void mend(uint8_t *p, int type)
{
    if (!is_bad(p, type))
        return;
    if (type == EG_BOOL)
        *p = 1;
    else if (type == EG_F32)
        memcpy(p, &nan32, 4);
    else
        memcpy(p, &nan64, 8);
}

/* Rows as they stand in a snapshot: padding zero, values mended. Returns the
 * offset of the first bad byte, or SIZE_MAX. */
static size_t naive(const layout *l, uint8_t *dst, const uint8_t *src,
                    size_t rows)
{
    size_t bad = SIZE_MAX;

    memset(dst, 0, rows * l->size);
    for (size_t row = 0; row < rows * l->size; row += l->size) {
        for (size_t i = 0; i < l->n; i++) {
            const eg_field *f = &l->fields[i];
            size_t width = egi_field_width(f->type);

            for (uint32_t e = 0; e < f->elements; e++) {
                size_t at = row + f->offset + e * width;

                memcpy(dst + at, src + at, width);
                if (is_bad(src + at, f->type) && at < bad)
                    bad = at;
                mend(dst + at, f->type);
            }
        }
    }
    return bad;
}

/* -- comparing ------------------------------------------------------------- */

static void check_save(const layout *l, const egi_column *c, const uint8_t *src,
                       size_t rows, size_t shift)
{
    size_t bytes = rows * l->size;
    uint8_t *want = calloc(1, bytes + 1);
    uint8_t *got = malloc(bytes + ROOM);

    memset(got, 0xcc, bytes + ROOM);
    naive(l, want, src, rows);
    egi_column_save(c, got + shift, src, rows);
    assert_memory_equal(got + shift, want, bytes);
    for (size_t i = 0; i < shift; i++)
        assert_int_equal(got[i], 0xcc);
    for (size_t i = shift + bytes; i < bytes + ROOM; i++)
        assert_int_equal(got[i], 0xcc);
    free(want);
    free(got);
}

static void check_load(const layout *l, const egi_column *c, const uint8_t *src,
                       size_t rows, size_t shift)
{
    size_t bytes = rows * l->size;
    uint8_t *want = calloc(1, bytes + 1);
    uint8_t *got = malloc(bytes + ROOM);
    size_t bad = SIZE_MAX;
    size_t first = naive(l, want, src, rows);
    int err = egi_column_check(c, src, rows, &bad);

    assert_int_equal(err, first == SIZE_MAX ? EG_OK : EG_ECORRUPT);
    assert_true(bad == first);
    bad = SIZE_MAX;
    memset(got, 0xcc, bytes + ROOM);
    err = egi_column_load(c, got + shift, src, rows, &bad);
    assert_int_equal(err, first == SIZE_MAX ? EG_OK : EG_ECORRUPT);
    assert_true(bad == first);
    if (err == EG_OK)
        assert_memory_equal(got + shift, want, bytes);
    for (size_t i = 0; i < shift; i++)
        assert_int_equal(got[i], 0xcc);
    for (size_t i = shift + bytes; i < bytes + ROOM; i++)
        assert_int_equal(got[i], 0xcc);
    free(want);
    free(got);
}

/* Both ways, with masks and field by field. */
static void compare(const layout *l, const uint8_t *src, size_t rows,
                    size_t shift)
{
    snap_memory m;
    egi_column c;
    egi_column bare;

    snap_memory_init(&m);
    assert_int_equal(egi_column_init(&c, &m.alloc, l->fields, l->n, l->size),
                     EG_OK);
    bare = c;
    bare.masks = NULL;
    check_save(l, &c, src, rows, shift);
    check_load(l, &c, src, rows, shift);
    check_save(l, &bare, src, rows, shift);
    check_load(l, &bare, src, rows, shift);
    egi_column_fini(&c);
    snap_memory_fini(&m);
}

/* -- random layouts -------------------------------------------------------- */

static void random_layout(layout *l, uint64_t *rng)
{
    int packed = snap_below(rng, 4) == 0;
    /* Now and then only one type, or many long arrays. */
    int only = snap_below(rng, 4) == 0 ? (int)(EG_F32 + snap_below(rng, 3)) : 0;
    uint32_t most = snap_below(rng, 10) == 0 ? 700 : 4;
    size_t align = 1;
    size_t end = 0;

    l->n = 1 + snap_below(rng, FIELDS_MAX);
    for (size_t i = 0; i < l->n; i++) {
        eg_field *f = &l->fields[i];
        size_t width;

        memset(f, 0, sizeof *f);
        f->name = "f";
        f->name_len = 1;
        f->type = only ? only : (int32_t)(1 + snap_below(rng, EG_ENTITY));
        f->elements = snap_below(rng, 3) ? 1 : 1 + snap_below(rng, most);
        width = egi_field_width(f->type);
        if (!packed) {
            end = (end + width - 1) / width * width;
            align = width > align ? width : align;
        }
        f->offset = (uint32_t)end;
        end += width * f->elements;
    }
    l->size = (end + align - 1) / align * align;
    if (snap_below(rng, 8) == 0)
        l->size += align * snap_below(rng, 5);
}

static uint64_t special(uint64_t *rng)
{
    static const uint64_t bits[] = {
        UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000000),
        UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000),
        UINT64_C(0x7ff0000000000001), UINT64_C(0xffffffffffffffff),
        UINT64_C(0x7fefffffffffffff), UINT64_C(0x8000000000000000),
        UINT64_C(0x7fc000007fc00000), UINT64_C(0x7f8000007f800000),
        UINT64_C(0xff800000ff800000), UINT64_C(0x7f8000017f800001),
        UINT64_C(0xffc000007f7fffff), UINT64_C(0x7f7fffffffffffff),
    };

    return bits[snap_below(rng, sizeof bits / sizeof bits[0])];
}

/* Good values everywhere, noise in the padding; `bad` of 256 values are
 * something special. */
static void random_rows(const layout *l, uint8_t *rows, size_t n, uint64_t *rng,
                        uint32_t bad)
{
    for (size_t i = 0; i < n * l->size; i++)
        rows[i] = (uint8_t)snap_random(rng);
    for (size_t row = 0; row < n * l->size; row += l->size) {
        for (size_t i = 0; i < l->n; i++) {
            const eg_field *f = &l->fields[i];
            size_t width = egi_field_width(f->type);

            for (uint32_t e = 0; e < f->elements; e++) {
                uint8_t *p = rows + row + f->offset + e * width;
                uint64_t v = snap_random(rng);

                if (snap_below(rng, 256) < bad)
                    v = special(rng);
                memcpy(p, &v, width);
                if (snap_below(rng, 256) >= bad)
                    mend(p, f->type);
            }
        }
    }
}

static void a_loop_over_fields_agrees(void **state)
{
    uint64_t rng = snap_seed();

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        layout l;
        size_t rows;
        size_t shift = snap_below(&rng, ROOM);
        uint8_t *block;

        random_layout(&l, &rng);
        rows = snap_below(&rng, (uint32_t)(20000 / l.size + 3));
        block = malloc(rows * l.size + ROOM);
        random_rows(&l, block + shift, rows, &rng, (i % 3 == 0) ? 3 : 0);
        compare(&l, block + shift, rows, snap_below(&rng, ROOM));
        free(block);
    }
}

/* One bad value at each place of a column is found there. */
static void a_single_bad_value_is_found_where_it_is(void **state)
{
    uint64_t rng = 11;

    (void)state;
    for (int i = 0; i < 60; i++) {
        layout l;
        size_t rows;
        uint8_t *src;

        random_layout(&l, &rng);
        rows = 1 + snap_below(&rng, (uint32_t)(6000 / l.size + 2));
        src = malloc(rows * l.size);
        random_rows(&l, src, rows, &rng, 0);
        for (int k = 0; k < 40; k++) {
            const eg_field *f = &l.fields[snap_below(&rng, (uint32_t)l.n)];
            size_t width = egi_field_width(f->type);
            uint8_t *p = src + snap_below(&rng, (uint32_t)rows) * l.size +
                         f->offset + snap_below(&rng, f->elements) * width;
            uint8_t was[8];

            memcpy(was, p, width);
            memset(p, 0xff, width);
            compare(&l, src, rows, (size_t)k % 8);
            memcpy(p, was, width);
        }
        free(src);
    }
}

/* -- by hand --------------------------------------------------------------- */

static eg_field field(int type, uint32_t offset, uint32_t elements)
{
    eg_field f = {"f", 1, 0, 0, {0, 0}, 0};

    f.type = type;
    f.offset = offset;
    f.elements = elements;
    return f;
}

static void canonical_nans_and_infinities_are_good(void **state)
{
    static const uint64_t doubles[] = {
        UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000000),
        UINT64_C(0xfff0000000000000), UINT64_C(0x8000000000000000),
        UINT64_C(0x7fefffffffffffff), 1,
    };
    static const uint32_t floats[] = {0x7fc00000, 0x7f800000, 0xff800000,
                                      0x80000000, 0x7f7fffff, 1};
    layout l = {{{0}}, 1, 8};
    size_t bad;
    egi_column c;

    (void)state;
    l.fields[0] = field(EG_F64, 0, 1);
    compare(&l, (const uint8_t *)doubles, 6, 1);
    egi_column_init(&c, &egi_default_allocator, l.fields, 1, 8);
    assert_int_equal(egi_column_check(&c, doubles, 6, &bad), EG_OK);
    egi_column_fini(&c);
    l.fields[0] = field(EG_F32, 0, 1);
    l.size = 4;
    compare(&l, (const uint8_t *)floats, 6, 1);
    egi_column_init(&c, &egi_default_allocator, l.fields, 1, 4);
    assert_int_equal(egi_column_check(&c, floats, 6, &bad), EG_OK);
    egi_column_fini(&c);
}

static void the_kind_of_a_column_is_chosen_well(void **state)
{
    const eg_field f64 = field(EG_F64, 0, 2);
    const eg_field f32 = field(EG_F32, 0, 3);
    const eg_field i32 = field(EG_I32, 0, 4);
    const eg_field odd[] = {field(EG_I32, 0, 1), field(EG_F64, 4, 1)};
    const eg_field far[] = {field(EG_F64, 0, 1), field(EG_U8, 8, 9001)};
    egi_part parts[8];
    egi_column c;

    (void)state;
    assert_int_equal(egi_column_describe(&c, &f64, 1, 16, parts), EG_OK);
    assert_int_equal(c.kind, EGI_COLUMN_F64);
    assert_int_equal(egi_column_describe(&c, &f64, 1, 24, parts), EG_OK);
    assert_int_equal(c.kind, EGI_COLUMN_MASKED);
    assert_int_equal(egi_column_describe(&c, &f32, 1, 12, parts), EG_OK);
    assert_int_equal(c.kind, EGI_COLUMN_F32);
    assert_int_equal(egi_column_describe(&c, &i32, 1, 16, parts), EG_OK);
    assert_int_equal(c.kind, EGI_COLUMN_PLAIN);
    assert_int_equal(egi_column_mask_words(&c), 0);
    assert_int_equal(egi_column_describe(&c, odd, 2, 12, parts), EG_OK);
    assert_int_equal(c.kind, EGI_COLUMN_FIELDS);
    assert_int_equal(egi_column_describe(&c, far, 2, 9016, parts), EG_OK);
    assert_int_equal(c.kind, EGI_COLUMN_MASKED);
    assert_int_equal(c.unit, 9016);
}

static void descriptions_that_make_no_sense_are_refused(void **state)
{
    const eg_field twice[] = {field(EG_F64, 0, 1), field(EG_F64, 4, 1)};
    const eg_field back[] = {field(EG_I32, 4, 1), field(EG_I32, 0, 1)};
    const eg_field f64 = field(EG_F64, 0, 1);
    const eg_field none = field(0, 0, 1);
    const eg_field long_one = field(EG_F64, 8, 0x20000000);
    egi_part parts[8];
    egi_column c;

    (void)state;
    assert_int_equal(egi_column_describe(&c, twice, 2, 16, parts), EG_EINVAL);
    assert_int_equal(egi_column_describe(&c, back, 2, 8, parts), EG_EINVAL);
    assert_int_equal(egi_column_describe(&c, &f64, 1, 7, parts), EG_EINVAL);
    assert_int_equal(egi_column_describe(&c, &f64, 1, 0, parts), EG_EINVAL);
    assert_int_equal(egi_column_describe(&c, &none, 1, 8, parts), EG_EINVAL);
    assert_int_equal(egi_column_describe(&c, &long_one, 1, 64, parts),
                     EG_EINVAL);
}

static void lack_of_memory_leaves_nothing(void **state)
{
    const eg_field fields[] = {field(EG_F64, 0, 1), field(EG_I32, 8, 1)};
    int done = 0;

    (void)state;
    for (long fail = 0; !done; fail++) {
        snap_memory m;
        egi_column c;
        int err;

        snap_memory_init(&m);
        m.fail_at = fail;
        err = egi_column_init(&c, &m.alloc, fields, 2, 16);
        done = m.calls <= fail;
        assert_int_equal(err, done ? EG_OK : EG_ENOMEM);
        egi_column_fini(&c);
        snap_memory_fini(&m);
    }
}

static void no_rows_touch_nothing(void **state)
{
    const eg_field f = field(EG_F64, 0, 1);
    egi_column c;
    size_t bad = 5;

    (void)state;
    egi_column_init(&c, &egi_default_allocator, &f, 1, 16);
    egi_column_save(&c, NULL, NULL, 0);
    assert_int_equal(egi_column_load(&c, NULL, NULL, 0, &bad), EG_OK);
    assert_int_equal(egi_column_check(&c, NULL, 0, &bad), EG_OK);
    assert_int_equal(bad, 5);
    egi_column_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_over_fields_agrees),
        cmocka_unit_test(a_single_bad_value_is_found_where_it_is),
        cmocka_unit_test(canonical_nans_and_infinities_are_good),
        cmocka_unit_test(the_kind_of_a_column_is_chosen_well),
        cmocka_unit_test(descriptions_that_make_no_sense_are_refused),
        cmocka_unit_test(lack_of_memory_leaves_nothing),
        cmocka_unit_test(no_rows_touch_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
