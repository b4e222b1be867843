/* SPDX-License-Identifier: MIT */
/* A set that answers "was this one there before" over hostile input.
 *
 * It holds item numbers (offsets or indices below 2^40 - 1), 8 bytes each with
 * a part of the hash, in memory the owner provides: two slots per item. What
 * the items are, and when two are equal, the owner says. The hash is keyed;
 * input made to collide is noticed by the number of probes, and the set is
 * rebuilt under another key, so the time stays about linear. May include:
 * base. */
#ifndef EGI_KEYSET_H
#define EGI_KEYSET_H

#include "core/base/eg_alloc.h"

#define EGI_KEYSET_ITEM_MAX ((UINT64_C(1) << 40) - 2)

typedef struct egi_keyset_ops {
    uint64_t (*hash)(const void *ctx, uint64_t item, uint64_t seed);
    int (*equal)(const void *ctx, uint64_t a, uint64_t b);
} egi_keyset_ops;

typedef struct egi_keyset {
    const egi_keyset_ops *ops;
    const void *ctx;
    const eg_allocator *alloc;  /* for a rebuild, freed at once */
    uint64_t *slots;            /* owner's; zeroed by egi_keyset_init */
    size_t capacity;            /* slots: twice the items, at least 2 */
    size_t probes;              /* further ones allowed under this key */
    uint32_t key;               /* number of rebuilds so far */
} egi_keyset;

enum egi_keyset_result {
    EGI_KEYSET_NEW = 0,
    EGI_KEYSET_TWICE = 1        /* an equal item is in the set */
};

/* Zeroes the slots and starts an empty set; the other members are set. */
void egi_keyset_init(egi_keyset *s);
/* Adds an item. EG_ENOMEM: no memory for a rebuild. EG_ELIMIT: the items
 * collide under every key, which does not happen by chance. */
int egi_keyset_add(egi_keyset *s, uint64_t item);

/* SipHash-1-3 of the bytes under a 64-bit key. */
uint64_t egi_keyed_hash(const void *bytes, size_t len, uint64_t seed);

#endif
