/* SPDX-License-Identifier: MIT */
/* What passes over a raw column look for; eg_column_pass.c makes them.
 *
 * Masks. Four words belong to each word v of a unit:
 *
 *     keep   bits to copy: zero over padding
 *     take   bits that a check looks at
 *     add    is added to them: a NaN carries into the top bit of its field
 *     test   the bits that must then be zero
 *
 * For a double, v & 0x7fff... is at most 0x7ff0000000000000 unless it is a
 * NaN, so adding 0x000fffffffffffff sets bit 63 for NaNs alone; a float works
 * in the same way within its half of the word, without a carry to the other. Of
 * a bool byte the upper seven bits are taken, nothing is added, and none may be
 * set. */
#include "core/snap/eg_column.h"

#include <string.h>

enum {
    UNIT_BYTES = 2048,    /* a unit is at least this long */
    UNIT_BYTES_MAX = 8192 /* longer patterns restart at each row */
};

#define TAKE64 UINT64_C(0x7fffffffffffffff)
#define ADD64 UINT64_C(0x000fffffffffffff)
#define TEST64 UINT64_C(0x8000000000000000)
#define TAKE32 UINT64_C(0x7fffffff7fffffff)
#define ADD32 UINT64_C(0x007fffff007fffff)
#define TEST32 UINT64_C(0x8000000080000000)

size_t egi_field_width(int32_t type)
{
    switch (type) {
    case EG_I8:
    case EG_U8:
    case EG_BOOL:
        return 1;
    case EG_I16:
    case EG_U16:
        return 2;
    case EG_I32:
    case EG_U32:
    case EG_F32:
        return 4;
    case EG_I64:
    case EG_U64:
    case EG_F64:
    case EG_ENTITY:
        return 8;
    case EG_POINTER:
        return sizeof(void *);
    default:
        return 0;
    }
}

/* Adds a run, or lengthens the last one. Padding has type 0. */
static void add_part(egi_column *c, egi_part *parts, uint32_t offset,
                     uint32_t count, uint32_t type)
{
    egi_part *last = c->part_count > 0 ? &parts[c->part_count - 1] : NULL;

    if (type == 0)
        c->pads = 1;
    else
        c->checks = 1;
    if (last != NULL && last->type == type &&
        last->offset + last->count * egi_part_width(last) == offset) {
        last->count += count;
        return;
    }
    last = &parts[c->part_count++];
    last->offset = offset;
    last->count = count;
    last->type = type;
}

/* 1 when this part lies on words, or halves of words, in every row. */
static int part_aligned(const egi_column *c, const egi_part *p)
{
    size_t width = egi_part_width(p);

    return c->size % width == 0 && p->offset % width == 0;
}

static uint32_t choose_kind(const egi_column *c)
{
    const egi_part *p = c->parts;

    if (!c->checks && !c->pads)
        return EGI_COLUMN_PLAIN;
    if (c->part_count == 1 && p->type != EG_BOOL && p->type != 0 &&
        p->count * egi_part_width(p) == c->size)
        return p->type == EG_F64 ? EGI_COLUMN_F64 : EGI_COLUMN_F32;
    for (uint32_t i = 0; i < c->part_count; i++) {
        if (!part_aligned(c, &p[i]))
            return EGI_COLUMN_FIELDS;
    }
    return EGI_COLUMN_MASKED;
}

/* Bytes of a pass: whole rows whose length is a number of words, or, where
 * that would be long, one row. */
static size_t choose_unit(size_t size)
{
    size_t unit = size;

    if (size > UNIT_BYTES_MAX)
        return size;
    while (unit % 8 != 0)
        unit *= 2;
    if (unit > UNIT_BYTES_MAX)
        return size;
    return (UNIT_BYTES + unit - 1) / unit * unit;
}

int egi_column_describe(egi_column *c, const eg_field *fields, size_t n,
                        size_t size, egi_part *parts)
{
    size_t end = 0;

    memset(c, 0, sizeof *c);
    if (size == 0 || size > UINT32_MAX)
        return EG_EINVAL;
    for (size_t i = 0; i < n; i++) {
        const eg_field *f = &fields[i];
        size_t width = egi_field_width(f->type);
        uint32_t type = (uint32_t)f->type;

        if (width == 0 || f->offset < end || f->offset > size ||
            f->elements > (size - f->offset) / width)
            return EG_EINVAL;
        if (f->offset > end)
            add_part(c, parts, (uint32_t)end, (uint32_t)(f->offset - end), 0);
        if (type == EG_ENTITY)
            type = EG_F64;
        if (f->elements > 0 &&
            (type == EG_F64 || type == EG_F32 || type == EG_BOOL))
            add_part(c, parts, f->offset, f->elements, type);
        end = f->offset + f->elements * width;
    }
    if (size > end)
        add_part(c, parts, (uint32_t)end, (uint32_t)(size - end), 0);
    c->size = size;
    c->parts = parts;
    c->kind = choose_kind(c);
    c->unit = choose_unit(size);
    return EG_OK;
}

size_t egi_column_mask_words(const egi_column *c)
{
    /* One word more than a unit has, for the end of a row of odd length. */
    return c->kind == EGI_COLUMN_MASKED ? (c->unit / 8 + 1) * EGI_MASKS : 0;
}

/* Sets `width` bytes of one mask at byte `at` of the unit; they lie within one
 * word. */
static void set_mask(uint64_t *mask, size_t at, size_t width, uint64_t bits)
{
    unsigned shift = (unsigned)(at % 8) * 8;
    uint64_t field =
        width == 8 ? ~UINT64_C(0) : ((UINT64_C(1) << (8 * width)) - 1) << shift;

    mask[at / 8] = (mask[at / 8] & ~field) | (bits << shift & field);
}

/* Writes what one part means for the row at byte `row` of the unit. */
static void mask_part(uint64_t *masks, size_t stride, const egi_part *p,
                      size_t row)
{
    size_t width = egi_part_width(p);
    uint64_t take = 0xfe;
    uint64_t add = 0;
    uint64_t test = 0xfe;

    if (p->type == EG_F64) {
        take = TAKE64;
        add = ADD64;
        test = TEST64;
    } else if (p->type == EG_F32) {
        take = TAKE32;
        add = ADD32;
        test = TEST32;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        size_t at = row + p->offset + i * width;

        if (p->type == 0) {
            set_mask(masks + EGI_MASK_KEEP * stride, at, 1, 0);
            continue;
        }
        set_mask(masks + EGI_MASK_TAKE * stride, at, width, take);
        set_mask(masks + EGI_MASK_ADD * stride, at, width, add);
        set_mask(masks + EGI_MASK_TEST * stride, at, width, test);
    }
}

void egi_column_use_masks(egi_column *c, uint64_t *words)
{
    size_t stride = c->unit / 8 + 1;

    if (c->kind != EGI_COLUMN_MASKED)
        return;
    memset(words, 0, EGI_MASKS * stride * sizeof *words);
    memset(words + EGI_MASK_KEEP * stride, 0xff, stride * sizeof *words);
    for (size_t row = 0; row < c->unit; row += c->size) {
        for (uint32_t i = 0; i < c->part_count; i++)
            mask_part(words, stride, &c->parts[i], row);
    }
    c->masks = words;
    c->stride = stride;
}

int egi_column_init(egi_column *c, const eg_allocator *alloc,
                    const eg_field *fields, size_t n, size_t size)
{
    egi_part *parts;
    uint64_t *words = NULL;
    size_t bytes;
    size_t need;
    int err;

    memset(c, 0, sizeof *c);
    if (n > UINT32_MAX / 2 ||
        egi_mul_size(EGI_COLUMN_PARTS(n), sizeof *parts, &bytes) != EG_OK)
        return EG_ENOMEM;
    parts = egi_alloc(alloc, bytes);
    if (parts == NULL)
        return EG_ENOMEM;
    err = egi_column_describe(c, fields, n, size, parts);
    if (err != EG_OK)
        goto fail;
    need = egi_column_mask_words(c) * sizeof *words;
    if (need > 0) {
        words = egi_alloc(alloc, need);
        err = EG_ENOMEM;
        if (words == NULL)
            goto fail;
        egi_column_use_masks(c, words);
    }
    c->alloc = alloc;
    c->parts_size = bytes;
    return EG_OK;
fail:
    egi_free(alloc, parts, bytes);
    memset(c, 0, sizeof *c);
    return err;
}

void egi_column_fini(egi_column *c)
{
    if (c->alloc != NULL) {
        /* Both blocks came from the allocator; the casts only drop const. */
        egi_free(c->alloc, (void *)(uintptr_t)c->parts, c->parts_size);
        if (c->masks != NULL)
            egi_free(c->alloc, (void *)(uintptr_t)c->masks,
                     egi_column_mask_words(c) * sizeof *c->masks);
    }
    memset(c, 0, sizeof *c);
}
