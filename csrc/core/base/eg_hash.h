/* SPDX-License-Identifier: MIT */
/* A small open-addressing map from non-zero 32-bit keys to 32-bit values, and
 * the mixing function the tables of the core share. Used for archetype edges,
 * component names and sets; never on a per-row path. May include: base only. */
#ifndef EGI_HASH_H
#define EGI_HASH_H

#include "core/base/eg_alloc.h"

typedef struct egi_map32 {
    struct egi_map32_entry {
        uint32_t key;   /* 0 = free */
        uint32_t value;
    } *entries;
    uint32_t count;
    uint32_t capacity;  /* 0 or a power of two */
} egi_map32;

/* Spreads all bits of x; a bijection. */
uint32_t egi_mix32(uint32_t x);
/* Hash of `len` bytes (FNV-1a, mixed). */
uint32_t egi_hash_bytes(const void *bytes, size_t len);

/* Value of key, or 0 when it is absent (so 0 is no useful value). */
uint32_t egi_map32_get(const egi_map32 *m, uint32_t key);
/* Adds or replaces; EG_ENOMEM leaves the map as it was. key, value non-zero. */
int egi_map32_set(egi_map32 *m, const eg_allocator *a, uint32_t key,
                  uint32_t value);
/* Makes room for `more` further keys, so that setting them cannot fail. */
int egi_map32_reserve(egi_map32 *m, const eg_allocator *a, uint32_t more);
/* Removes a key; absent keys are ignored. */
void egi_map32_remove(egi_map32 *m, uint32_t key);
void egi_map32_clear(egi_map32 *m);
void egi_map32_fini(egi_map32 *m, const eg_allocator *a);

#endif
