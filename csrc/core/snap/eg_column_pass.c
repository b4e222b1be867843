/* SPDX-License-Identifier: MIT */
/* The passes over raw columns. See eg_column.h for the contract, eg_column.c
 * for the masks.
 *
 * The loops over words are written so that compilers turn them into vector
 * code at -O3 on any 64-bit target: no branch, no early end, one accumulator
 * that says whether the unit needs a closer look. */
#include <string.h>

#include "core/base/eg_assert.h"
#include "core/snap/eg_column.h"
#include "core/snap/eg_reader.h"

/* For columns of one type: the masks of eg_column.c as constants. */
#define TAKE64 UINT64_C(0x7fffffffffffffff)
#define ADD64 UINT64_C(0x000fffffffffffff)
#define TEST64 UINT64_C(0x8000000000000000)
#define TAKE32 UINT64_C(0x7fffffff7fffffff)
#define ADD32 UINT64_C(0x007fffff007fffff)
#define TEST32 UINT64_C(0x8000000080000000)

static inline uint64_t load(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof v);
    return v;
}

static inline void store(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

/* -- one unit: words under masks ------------------------------------------ */

static uint64_t copy_kept(const uint64_t *restrict keep, uint8_t *restrict dst,
                          const uint8_t *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store(dst + 8 * i, load(src + 8 * i) & keep[i]);
    return 0;
}

static uint64_t copy_tested(const uint64_t *restrict keep, size_t stride,
                            uint8_t *restrict dst, const uint8_t *restrict src,
                            size_t n)
{
    const uint64_t *restrict take = keep + EGI_MASK_TAKE * stride;
    const uint64_t *restrict add = keep + EGI_MASK_ADD * stride;
    const uint64_t *restrict test = keep + EGI_MASK_TEST * stride;
    uint64_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t v = load(src + 8 * i);

        found |= ((v & take[i]) + add[i]) & test[i];
        store(dst + 8 * i, v & keep[i]);
    }
    return found;
}

static uint64_t test_only(const uint64_t *restrict keep, size_t stride,
                          const uint8_t *restrict src, size_t n)
{
    const uint64_t *restrict take = keep + EGI_MASK_TAKE * stride;
    const uint64_t *restrict add = keep + EGI_MASK_ADD * stride;
    const uint64_t *restrict test = keep + EGI_MASK_TEST * stride;
    uint64_t found = 0;

    for (size_t i = 0; i < n; i++)
        found |= ((load(src + 8 * i) & take[i]) + add[i]) & test[i];
    return found;
}

static uint64_t masked_words(const egi_column *c, size_t first, uint8_t *dst,
                             const uint8_t *src, size_t n)
{
    const uint64_t *masks = c->masks + first;

    if (dst == NULL)
        return test_only(masks, c->stride, src, n);
    if (!c->checks)
        return copy_kept(masks, dst, src, n);
    return copy_tested(masks, c->stride, dst, src, n);
}

/* A whole unit or its beginning; what is not a word at the end goes through
 * one. */
static uint64_t masked_unit(const egi_column *c, uint8_t *dst,
                            const uint8_t *src, size_t bytes)
{
    size_t n = bytes / 8;
    size_t rest = bytes % 8;
    uint64_t found = masked_words(c, 0, dst, src, n);
    uint8_t in[8] = {0};
    uint8_t out[8];

    if (rest == 0)
        return found;
    memcpy(in, src + 8 * n, rest);
    found |= masked_words(c, n, dst != NULL ? out : NULL, in, 1);
    if (dst != NULL)
        memcpy(dst + 8 * n, out, rest);
    return found;
}

/* -- one unit: columns of one type ---------------------------------------- */

static uint64_t copy_f64(uint8_t *restrict dst, const uint8_t *restrict src,
                         size_t n)
{
    uint64_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t v = load(src + 8 * i);

        found |= (v & TAKE64) + ADD64;
        store(dst + 8 * i, v);
    }
    return found & TEST64;
}

static uint64_t test_f64(const uint8_t *src, size_t n)
{
    uint64_t found = 0;

    for (size_t i = 0; i < n; i++)
        found |= (load(src + 8 * i) & TAKE64) + ADD64;
    return found & TEST64;
}

static uint64_t copy_f32(uint8_t *restrict dst, const uint8_t *restrict src,
                         size_t n)
{
    uint64_t found = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t v = load(src + 8 * i);

        found |= (v & TAKE32) + ADD32;
        store(dst + 8 * i, v);
    }
    return found & TEST32;
}

static uint64_t test_f32(const uint8_t *src, size_t n)
{
    uint64_t found = 0;

    for (size_t i = 0; i < n; i++)
        found |= (load(src + 8 * i) & TAKE32) + ADD32;
    return found & TEST32;
}

/* Floats only: the last of an odd number of them is half a word. */
static uint64_t f32_unit(uint8_t *dst, const uint8_t *src, size_t bytes)
{
    size_t n = bytes / 8;
    uint64_t found = dst != NULL ? copy_f32(dst, src, n) : test_f32(src, n);
    uint8_t last[8] = {0};

    if (bytes % 8 == 0)
        return found;
    memcpy(last, src + 8 * n, 4);
    if (dst != NULL)
        memcpy(dst + 8 * n, last, 4);
    return found | test_f32(last, 1);
}

/* One pass; dst NULL: no copy. Not 0: the unit needs a closer look. */
static uint64_t pass(const egi_column *c, uint8_t *dst, const uint8_t *src,
                     size_t bytes)
{
    switch (c->kind) {
    case EGI_COLUMN_F64:
        return dst != NULL ? copy_f64(dst, src, bytes / 8)
                           : test_f64(src, bytes / 8);
    case EGI_COLUMN_F32:
        return f32_unit(dst, src, bytes);
    default:
        return masked_unit(c, dst, src, bytes);
    }
}

/* -- field by field ------------------------------------------------------- */

/* 1 when the value may stand in a snapshot. */
static int value_good(const egi_part *p, const uint8_t *at)
{
    uint64_t wide;
    uint32_t half;

    switch (p->type) {
    case EG_F64:
        wide = egi_load_u64(at);
        return !egi_is_nan64(wide) || wide == EGI_NAN64;
    case EG_F32:
        half = egi_load_u32(at);
        return !egi_is_nan32(half) || half == EGI_NAN32;
    case EG_BOOL:
        return *at <= 1;
    default:
        return 1;
    }
}

static int part_check(const egi_part *p, const uint8_t *row, size_t *bad)
{
    size_t width = egi_part_width(p);

    if (p->type == 0)
        return EG_OK;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!value_good(p, row + p->offset + i * width)) {
            *bad = p->offset + i * width;
            return EG_ECORRUPT;
        }
    }
    return EG_OK;
}

/* Looks at every field of the rows; *bad is counted from src. */
static int rows_check(const egi_column *c, const uint8_t *src, size_t bytes,
                      size_t *bad)
{
    if (!c->checks)
        return EG_OK;
    for (size_t row = 0; row < bytes; row += c->size) {
        for (uint32_t i = 0; i < c->part_count; i++) {
            if (part_check(&c->parts[i], src + row, bad) != EG_OK) {
                *bad += row;
                return EG_ECORRUPT;
            }
        }
    }
    return EG_OK;
}

static void part_clean(const egi_part *p, uint8_t *row)
{
    static const uint64_t nan64 = EGI_NAN64;
    static const uint32_t nan32 = EGI_NAN32;
    size_t width = egi_part_width(p);
    uint8_t *at = row + p->offset;

    if (p->type == 0) {
        memset(at, 0, p->count);
        return;
    }
    for (uint32_t i = 0; i < p->count; i++, at += width) {
        if (value_good(p, at))
            continue;
        if (p->type == EG_F64)
            memcpy(at, &nan64, sizeof nan64);
        else if (p->type == EG_F32)
            memcpy(at, &nan32, sizeof nan32);
        else
            *at = 1;
    }
}

/* Brings copied rows into the form of a snapshot. */
static void rows_clean(const egi_column *c, uint8_t *dst, size_t bytes)
{
    if (c->part_count == 0)
        return;
    for (size_t row = 0; row < bytes; row += c->size) {
        for (uint32_t i = 0; i < c->part_count; i++)
            part_clean(&c->parts[i], dst + row);
    }
}

/* Clears the padding of copied rows that have been checked. */
static void rows_unpad(const egi_column *c, uint8_t *dst, size_t bytes)
{
    if (!c->pads)
        return;
    for (size_t row = 0; row < bytes; row += c->size) {
        for (uint32_t i = 0; i < c->part_count; i++) {
            if (c->parts[i].type == 0)
                part_clean(&c->parts[i], dst + row);
        }
    }
}

/* -- whole columns -------------------------------------------------------- */

/* 1 when there is nothing but the way field by field. */
static int by_fields(const egi_column *c)
{
    return c->kind == EGI_COLUMN_FIELDS ||
           (c->kind == EGI_COLUMN_MASKED && c->masks == NULL);
}

static size_t column_bytes(const egi_column *c, size_t rows)
{
    egi_assert(rows <= SIZE_MAX / c->size);
    return rows * c->size;
}

int egi_column_load(const egi_column *c, void *dst, const void *src,
                    size_t rows, size_t *bad)
{
    size_t bytes = column_bytes(c, rows);
    uint8_t *to = dst;
    const uint8_t *from = src;

    if (bytes == 0)
        return EG_OK;
    if (c->kind == EGI_COLUMN_PLAIN || by_fields(c)) {
        if (rows_check(c, from, bytes, bad) != EG_OK)
            return EG_ECORRUPT;
        memcpy(to, from, bytes);
        rows_unpad(c, to, bytes);
        return EG_OK;
    }
    for (size_t at = 0; at < bytes; at += c->unit) {
        size_t n = bytes - at < c->unit ? bytes - at : c->unit;

        if (pass(c, to + at, from + at, n) != 0 &&
            rows_check(c, from + at, n, bad) != EG_OK) {
            *bad += at;
            return EG_ECORRUPT;
        }
    }
    return EG_OK;
}

void egi_column_save(const egi_column *c, void *dst, const void *src,
                     size_t rows)
{
    size_t bytes = column_bytes(c, rows);
    uint8_t *to = dst;
    const uint8_t *from = src;

    if (bytes == 0)
        return;
    if (c->kind == EGI_COLUMN_PLAIN || by_fields(c)) {
        memcpy(to, from, bytes);
        rows_clean(c, to, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += c->unit) {
        size_t n = bytes - at < c->unit ? bytes - at : c->unit;

        if (pass(c, to + at, from + at, n) != 0)
            rows_clean(c, to + at, n);
    }
}

int egi_column_check(const egi_column *c, const void *src, size_t rows,
                     size_t *bad)
{
    size_t bytes = column_bytes(c, rows);
    const uint8_t *from = src;

    if (!c->checks || bytes == 0)
        return EG_OK;
    if (by_fields(c))
        return rows_check(c, from, bytes, bad);
    for (size_t at = 0; at < bytes; at += c->unit) {
        size_t n = bytes - at < c->unit ? bytes - at : c->unit;

        if (pass(c, NULL, from + at, n) != 0 &&
            rows_check(c, from + at, n, bad) != EG_OK) {
            *bad += at;
            return EG_ECORRUPT;
        }
    }
    return EG_OK;
}
