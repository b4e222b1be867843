/* SPDX-License-Identifier: MIT */
/* Moves raw columns between worlds and snapshots, checking and cleaning them on
 * the way at the speed of a memory copy.
 *
 * A snapshot holds no NaN but EGI_NAN64 and EGI_NAN32 in float, double and
 * entity fields, no bool byte but 0 and 1, and zeros for padding. A load checks
 * for the first two and clears padding; a save turns what it finds into that
 * form. All is done on integer bits: a forged NaN is never handled as a number.
 *
 * A column is seen as 8-byte words under masks that repeat with the rows. A
 * pass over a unit of some KiB only learns that something in it needs a closer
 * look; then the fields of that unit are gone through one by one. The memory of
 * an egi_column is the owner's, so nothing here allocates but egi_column_init.
 * May include: base. */
#ifndef EGI_COLUMN_H
#define EGI_COLUMN_H

#include "core/base/eg_alloc.h"

/* A run of bytes of a struct with one meaning: `count` values, or bytes of
 * padding. Integers have no part, as any bits are good. */
typedef struct egi_part {
    uint32_t offset;
    uint32_t count;
    uint32_t type;          /* EG_F32, EG_F64, EG_BOOL; 0 padding */
} egi_part;

enum egi_column_kind {
    EGI_COLUMN_PLAIN,       /* any bytes are good */
    EGI_COLUMN_F64,         /* doubles only, no padding */
    EGI_COLUMN_F32,         /* floats only, no padding */
    EGI_COLUMN_MASKED,
    EGI_COLUMN_FIELDS       /* unaligned fields: one by one */
};

enum egi_column_mask {      /* masks->words[mask * stride + word] */
    EGI_MASK_KEEP,
    EGI_MASK_TAKE,
    EGI_MASK_ADD,
    EGI_MASK_TEST,
    EGI_MASKS
};

typedef struct egi_column {
    size_t size;            /* bytes of a row */
    size_t unit;            /* bytes of one pass: whole rows */
    const egi_part *parts;  /* ascending offsets */
    uint32_t part_count;
    uint32_t kind;          /* enum egi_column_kind */
    uint8_t checks;         /* there are fields to be checked */
    uint8_t pads;           /* there is padding */
    const uint64_t *masks;  /* NULL: fields one by one */
    size_t stride;          /* words of one mask */
    const eg_allocator *alloc;      /* of egi_column_init, else NULL */
    size_t parts_size;
} egi_column;

static inline size_t egi_part_width(const egi_part *p)
{
    return p->type == EG_F64 ? 8 : p->type == EG_F32 ? 4 : 1;
}

/* Bytes of one value of a field type; 0 for a type there is not. */
size_t egi_field_width(int32_t type);

/* Most parts a struct of n fields can have. */
#define EGI_COLUMN_PARTS(n) (2 * (size_t)(n) + 1)

/* Describes a column. The fields must ascend without overlap and lie within
 * `size` > 0 bytes; a pointer field counts as an integer. `parts` has room for
 * EGI_COLUMN_PARTS(n) and must live as long as the column.
 * Returns EG_OK, or EG_EINVAL when the fields are not like that. */
int egi_column_describe(egi_column *c, const eg_field *fields, size_t n,
                        size_t size, egi_part *parts);
/* Words of mask that make passes over this column fast; 0: it needs none. */
size_t egi_column_mask_words(const egi_column *c);
/* Fills them in and uses them; they must live as long as the column. */
void egi_column_use_masks(egi_column *c, uint64_t *words);
/* The same three steps with memory of its own. EG_EINVAL, EG_ENOMEM. */
int egi_column_init(egi_column *c, const eg_allocator *alloc,
                    const eg_field *fields, size_t n, size_t size);
void egi_column_fini(egi_column *c);

/* Copies rows from untrusted bytes. EG_ECORRUPT: *bad is the offset into src
 * of the first bad byte, and dst must not be used. Any alignment; rows x size
 * must not overflow; the blocks do not overlap. */
int egi_column_load(const egi_column *c, void *dst, const void *src,
                    size_t rows, size_t *bad);
/* Copies rows of a world into a snapshot. */
void egi_column_save(const egi_column *c, void *dst, const void *src,
                     size_t rows);
/* Checks as egi_column_load does, without a copy. */
int egi_column_check(const egi_column *c, const void *src, size_t rows,
                     size_t *bad);

#endif
