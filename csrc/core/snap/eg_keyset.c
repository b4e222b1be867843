/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing, at most half full. A slot holds item+1
 * in its low 40 bits and the top of the hash above, so most unequal items are
 * told apart without looking at them. */
#include "core/snap/eg_keyset.h"

#include <string.h>

#include "core/base/eg_assert.h"

enum {
    ITEM_BITS = 40,
    KEYS = 8, /* keys tried before giving up */
    PROBES_PER_SLOT = 8,
    PROBES_FREE = 1024 /* so that small sets never rebuild */
};

#define ITEM_MASK ((UINT64_C(1) << ITEM_BITS) - 1)

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

uint64_t egi_keyed_hash(const void *bytes, size_t len, uint64_t seed)
{
    const uint8_t *p = bytes;
    uint64_t second = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    uint64_t word;
    uint64_t v[4];

    v[0] = seed ^ UINT64_C(0x736f6d6570736575);
    v[1] = second ^ UINT64_C(0x646f72616e646f6d);
    v[2] = seed ^ UINT64_C(0x6c7967656e657261);
    v[3] = second ^ UINT64_C(0x7465646279746573);
    for (size_t n = len; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = 0;
    if ((len & 7) != 0)
        memcpy(&word, p, len & 7);
    word |= (uint64_t)len << 56;
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static uint64_t hash_of(const egi_keyset *s, uint64_t item)
{
    return s->ops->hash(s->ctx, item, UINT64_C(0x656e6772616d0000) + s->key);
}

static void start(egi_keyset *s)
{
    memset(s->slots, 0, s->capacity * sizeof *s->slots);
    s->probes = PROBES_FREE + PROBES_PER_SLOT * s->capacity;
}

void egi_keyset_init(egi_keyset *s)
{
    egi_assert(s->capacity >= 2);
    s->key = 0;
    start(s);
}

/* Adds an item, or says EG_ELIMIT when the probes of this key are used up. */
static int insert(egi_keyset *s, uint64_t item)
{
    uint64_t hash = hash_of(s, item);
    uint64_t top = hash & ~ITEM_MASK;
    size_t i = (size_t)(hash % s->capacity);

    while (s->slots[i] != 0) {
        uint64_t held = s->slots[i];

        if (((held ^ top) & ~ITEM_MASK) == 0 &&
            s->ops->equal(s->ctx, (held & ITEM_MASK) - 1, item))
            return EGI_KEYSET_TWICE;
        if (s->probes == 0)
            return EG_ELIMIT;
        s->probes--;
        i = i + 1 == s->capacity ? 0 : i + 1;
    }
    s->slots[i] = top | (item + 1);
    return EGI_KEYSET_NEW;
}

/* Gathers the items at the front of the slots; returns their number. */
static size_t gather(egi_keyset *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->capacity; i++) {
        if (s->slots[i] != 0)
            s->slots[n++] = (s->slots[i] & ITEM_MASK) - 1;
    }
    return n;
}

/* Sets the items again under the next key, until that goes without too many
 * probes. The items differ, so no insert finds one twice. */
static int rebuild(egi_keyset *s)
{
    size_t n = gather(s);
    size_t size = (n + 1) * sizeof(uint64_t);
    uint64_t *items = egi_alloc(s->alloc, size);
    size_t i = 0;

    if (items == NULL)
        return EG_ENOMEM;
    memcpy(items, s->slots, n * sizeof *items);
    do {
        s->key++;
        start(s);
        for (i = 0; i < n; i++) {
            if (insert(s, items[i]) < 0)
                break;
        }
    } while (i < n && s->key < KEYS);
    egi_free(s->alloc, items, size);
    return i < n ? EG_ELIMIT : EG_OK;
}

int egi_keyset_add(egi_keyset *s, uint64_t item)
{
    int result;

    egi_assert(item <= EGI_KEYSET_ITEM_MAX);
    for (;;) {
        result = insert(s, item);
        if (result != EG_ELIMIT || s->key >= KEYS)
            return result;
        result = rebuild(s);
        if (result != EG_OK)
            return result;
    }
}
