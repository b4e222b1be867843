/* SPDX-License-Identifier: MIT */
/* Keys of encoded tables: which values may be one, and when two are equal.
 *
 * Numbers are compared by value, so an int32 and a double may be one key; 0 and
 * -0 are. Strings are compared by bytes. May include: base. */
#ifndef EGI_KEY_H
#define EGI_KEY_H

#include "core/snap/eg_keyset.h"
#include "core/snap/eg_reader.h"

enum egi_key_kind {
    EGI_KEY_NUMBER,
    EGI_KEY_BOOL,
    EGI_KEY_SHORT,          /* a string below 8 bytes */
    EGI_KEY_LONG,
    EGI_KEY_KIND_BITS = 2
};

/* A key, told apart by its first two members unless it is a long string. */
typedef struct egi_key {
    uint64_t bits;
    uint32_t kind;          /* enum egi_key_kind */
    const uint8_t *bytes;   /* string */
    size_t len;
} egi_key;

/* The first bytes of a string in one word, with its length; `left` bytes can
 * be read. Words of short strings are equal when the strings are. */
static inline uint64_t egi_key_word(const uint8_t *p, size_t len, size_t left)
{
    uint64_t v = 0;

    if (len >= 8)
        return egi_load_u64(p) ^ (uint64_t)len * UINT64_C(0x9e3779b97f4a7c15);
    if (left >= 8)
        v = egi_load_u64(p) & ((UINT64_C(1) << (8 * len)) - 1);
    else
        for (size_t i = 0; i < len; i++)
            v |= (uint64_t)p[i] << (8 * i);
    return v | (uint64_t)len << 56;
}

/* Reads a key: a boolean, string, or number other than NaN; anything else is
 * damage. Returns the reader's sticky error. */
int egi_key_read(egi_reader *r, egi_key *key);
/* 1 when the keys at two offsets, which were read before, are equal. */
int egi_key_equal(const void *reader, uint64_t a, uint64_t b);
/* For keysets of such offsets; the context is the reader. */
extern const egi_keyset_ops egi_key_ops;

#endif
