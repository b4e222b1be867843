/* SPDX-License-Identifier: MIT */
/* Linear probing with backward-shift deletion: no tombstones, so a map that
 * lives long and changes often stays as fast as a fresh one. */
#include "core/base/eg_hash.h"

#include "core/base/eg_assert.h"

#include <string.h>

uint32_t egi_mix32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    x ^= x >> 16;
    return x;
}

uint32_t egi_hash_bytes(const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint32_t h = 0x811c9dc5U;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 0x01000193U;
    return egi_mix32(h);
}

uint32_t egi_map32_get(const egi_map32 *m, uint32_t key)
{
    uint32_t mask = m->capacity - 1;

    if (m->count == 0)
        return 0;
    for (uint32_t i = egi_mix32(key) & mask;; i = (i + 1) & mask) {
        if (m->entries[i].key == key)
            return m->entries[i].value;
        if (m->entries[i].key == 0)
            return 0;
    }
}

static void put(egi_map32 *m, uint32_t key, uint32_t value)
{
    uint32_t mask = m->capacity - 1;
    uint32_t i = egi_mix32(key) & mask;

    while (m->entries[i].key != 0 && m->entries[i].key != key)
        i = (i + 1) & mask;
    if (m->entries[i].key == 0)
        m->count++;
    m->entries[i].key = key;
    m->entries[i].value = value;
}

/* At most three quarters full, so probes stay short and always end. */
static uint32_t room(uint32_t capacity)
{
    return capacity - capacity / 4;
}

int egi_map32_reserve(egi_map32 *m, const eg_allocator *a, uint32_t more)
{
    egi_map32 bigger = {0};
    size_t bytes;

    if (more <= room(m->capacity) && m->count <= room(m->capacity) - more)
        return EG_OK;
    bigger.capacity = m->capacity == 0 ? 8 : m->capacity;
    while (more > room(bigger.capacity) ||
           m->count > room(bigger.capacity) - more) {
        if (bigger.capacity > UINT32_MAX / 2)
            return EG_ENOMEM;
        bigger.capacity *= 2;
    }
    if (egi_mul_size(bigger.capacity, sizeof *m->entries, &bytes) != EG_OK)
        return EG_ENOMEM;
    bigger.entries = egi_zalloc(a, bytes);
    if (bigger.entries == NULL)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < m->capacity; i++)
        if (m->entries[i].key != 0)
            put(&bigger, m->entries[i].key, m->entries[i].value);
    egi_map32_fini(m, a);
    *m = bigger;
    return EG_OK;
}

int egi_map32_set(egi_map32 *m, const eg_allocator *a, uint32_t key,
                  uint32_t value)
{
    egi_assert(key != 0 && value != 0);
    if (egi_map32_reserve(m, a, 1) != EG_OK)
        return EG_ENOMEM;
    put(m, key, value);
    return EG_OK;
}

void egi_map32_remove(egi_map32 *m, uint32_t key)
{
    uint32_t mask = m->capacity - 1;
    uint32_t i, hole;

    if (m->count == 0 || key == 0)
        return;
    i = egi_mix32(key) & mask;
    while (m->entries[i].key != key) {
        if (m->entries[i].key == 0)
            return;
        i = (i + 1) & mask;
    }
    hole = i;
    for (;;) {
        i = (i + 1) & mask;
        if (m->entries[i].key == 0)
            break;
        /* An entry may fill the hole unless its home lies cyclically after
         * the hole, up to where it is now. */
        if (((i - (egi_mix32(m->entries[i].key) & mask)) & mask) >=
            ((i - hole) & mask)) {
            m->entries[hole] = m->entries[i];
            hole = i;
        }
    }
    m->entries[hole].key = 0;
    m->entries[hole].value = 0;
    m->count--;
}

void egi_map32_clear(egi_map32 *m)
{
    if (m->count != 0)
        memset(m->entries, 0, (size_t)m->capacity * sizeof *m->entries);
    m->count = 0;
}

void egi_map32_fini(egi_map32 *m, const eg_allocator *a)
{
    egi_free(a, m->entries, (size_t)m->capacity * sizeof *m->entries);
    memset(m, 0, sizeof *m);
}
