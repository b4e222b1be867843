/* SPDX-License-Identifier: MIT */
#include "core/snap/eg_shape.h"

#include <string.h>

/* Bytes of the scalar at p, `left` > 0 of them there; 0 when it is none, is cut
 * off or is damage, which the long way will find. */
static size_t scalar_size(const uint8_t *p, size_t left)
{
    size_t size;

    if (p[0] >= EGI_TAG_STRING)
        size = p[0] < EGI_U_TWO ? (size_t)p[0] - EGI_TAG_STRING + 1 : 0;
    else if (p[0] == EGI_TAG_INT32)
        size = 5;
    else if (p[0] == EGI_TAG_DOUBLE)
        size = 9;
    else
        size = p[0] <= EGI_TAG_TRUE;
    if (size > left)
        return 0;
    if (size == 9 && p[0] == EGI_TAG_DOUBLE) {
        uint64_t bits = egi_load_u64(p + 1);

        if (egi_is_nan64(bits) && bits != EGI_NAN64)
            return 0;
    }
    return size;
}

void egi_shape_learn(egi_shape *s, const egi_reader *r, size_t at)
{
    const uint8_t *p = r->data + at, *end = r->data + r->pos, *part = p;
    uint32_t pairs;

    s->count = 0;
    if (end - p < 2 || p[0] != (EGI_TAG_TABLE | EGI_TAG_HASH) ||
        p[1] > EGI_SHAPE_KEYS)
        return;
    pairs = p[1];
    p += 2;
    for (uint32_t i = 0; i < pairs; i++) {
        size_t size;

        if (p == end || p[0] < EGI_TAG_STRING)
            return;
        size = scalar_size(p, (size_t)(end - p));
        if (size == 0)
            return;
        p += size;
        s->parts[i] = part;
        s->sizes[i] = (uint32_t)(p - part);
        size = p < end ? scalar_size(p, (size_t)(end - p)) : 0;
        if (size == 0)
            return;
        p += size;
        part = p;
    }
    if (p == end)
        s->count = pairs;
}

/* Most parts are short: comparing them here spares a call for each. */
static int same(const uint8_t *a, const uint8_t *b, uint32_t n)
{
    if (n > 16)
        return memcmp(a, b, n) == 0;
    for (uint32_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

size_t egi_shape_run(const egi_shape *s, egi_reader *r, size_t most)
{
    const uint8_t *p = r->data + r->pos, *end = r->data + r->len;
    size_t done = 0;

    while (s->count > 0 && done < most) {
        const uint8_t *row = p;
        uint32_t i;

        for (i = 0; i < s->count; i++) {
            size_t size;

            if ((size_t)(end - row) <= s->sizes[i] ||
                !same(row, s->parts[i], s->sizes[i]))
                break;
            row += s->sizes[i];
            size = scalar_size(row, (size_t)(end - row));
            if (size == 0)
                break;
            row += size;
        }
        if (i < s->count)
            break;
        p = row;
        done++;
    }
    r->pos = (size_t)(p - r->data);
    return done;
}
