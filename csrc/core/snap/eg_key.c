/* SPDX-License-Identifier: MIT */
/* Keys of encoded tables. See eg_key.h. */
#include "core/snap/eg_key.h"

#include <string.h>

#include "core/base/eg_assert.h"

/* 0 and -0 are one key. */
static uint64_t number_bits(const egi_head *h)
{
    double v = egi_head_number(h) + 0.0;
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

int egi_key_read(egi_reader *r, egi_key *key)
{
    static const egi_key none = {0, EGI_KEY_NUMBER, NULL, 0};
    egi_head h;

    *key = none;
    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    switch (h.tag) {
    case EGI_TAG_STRING:
        key->bytes = r->data + r->pos;
        key->len = h.len;
        key->bits = egi_key_word(key->bytes, h.len, egi_reader_left(r));
        key->kind = h.len < 8 ? EGI_KEY_SHORT : EGI_KEY_LONG;
        r->pos += h.len;
        return EG_OK;
    case EGI_TAG_INT32:
    case EGI_TAG_DOUBLE:
        key->bits = number_bits(&h);
        key->kind = EGI_KEY_NUMBER;
        if (egi_is_nan64(key->bits))
            return EGI_CORRUPT(r, "NaN as a key");
        return EG_OK;
    case EGI_TAG_FALSE:
    case EGI_TAG_TRUE:
        key->bits = h.tag;
        key->kind = EGI_KEY_BOOL;
        return EG_OK;
    case EGI_TAG_NIL:
        return EGI_CORRUPT(r, "nil as a key");
    case EGI_TAG_INT64:
    case EGI_TAG_UINT64:
        return EGI_CORRUPT(r, "64-bit integer as a key");
    default:
        return EGI_CORRUPT(r, "table as a key");
    }
}

/* Reads a key again that a walk has accepted. */
static void key_at(const egi_reader *r, uint64_t at, egi_key *key)
{
    egi_reader again = *r;
    int err;

    again.pos = (size_t)at;
    err = egi_key_read(&again, key);
    egi_assert(err == EG_OK);
    (void)err;
}

static int same_key(const egi_key *a, const egi_key *b)
{
    if (a->kind != b->kind || a->bits != b->bits)
        return 0;
    return a->kind != EGI_KEY_LONG ||
           (a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0);
}

static uint64_t hash_key(const void *ctx, uint64_t item, uint64_t seed)
{
    egi_key key;

    key_at(ctx, item, &key);
    if (key.kind == EGI_KEY_LONG)
        return egi_keyed_hash(key.bytes, key.len, seed);
    return egi_keyed_hash(&key.bits, sizeof key.bits,
                          seed ^ (uint64_t)key.kind << 32);
}

int egi_key_equal(const void *reader, uint64_t a, uint64_t b)
{
    egi_key x;
    egi_key y;

    key_at(reader, a, &x);
    key_at(reader, b, &y);
    return same_key(&x, &y);
}

const egi_keyset_ops egi_key_ops = {hash_key, egi_key_equal};
