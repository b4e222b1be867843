/* SPDX-License-Identifier: MIT */
/* Encoded values, written. See eg_wire.h for the bytes and eg_writer.h for the
 * contract. Every put makes room for all of its bytes first, so a value is
 * there as a whole or not at all. */
#include "core/snap/eg_writer.h"

#include <string.h>

#include "core/base/eg_assert.h"
#include "core/snap/eg_wire.h"

enum { BUFFER_FIRST = 64 }; /* bytes of a buffer's first block */

void egi_buffer_init(egi_buffer *b, const eg_allocator *alloc)
{
    b->alloc = alloc;
    b->data = NULL;
    b->size = 0;
    b->capacity = 0;
}

void egi_buffer_fini(egi_buffer *b)
{
    if (b->data != NULL)
        egi_free(b->alloc, b->data, b->capacity);
    egi_buffer_init(b, b->alloc);
}

void egi_buffer_reset(egi_buffer *b)
{
    b->size = 0;
}

int egi_buffer_reserve(egi_buffer *b, size_t more)
{
    size_t need;
    size_t capacity = b->capacity;
    uint8_t *data;

    if (egi_add_size(b->size, more, &need) != EG_OK)
        return EG_ENOMEM;
    if (need <= capacity)
        return EG_OK;
    if (egi_mul_size(capacity, 2, &capacity) != EG_OK || capacity < need)
        capacity = need;
    if (capacity < BUFFER_FIRST)
        capacity = BUFFER_FIRST;
    data = egi_resize(b->alloc, b->data, b->capacity, capacity);
    if (data == NULL)
        return EG_ENOMEM;
    b->data = data;
    b->capacity = capacity;
    return EG_OK;
}

void egi_writer_init(egi_writer *w, void *data, size_t capacity)
{
    w->data = data;
    w->pos = 0;
    w->capacity = capacity;
    w->grow = NULL;
    w->error = EG_OK;
}

void egi_writer_init_buffer(egi_writer *w, egi_buffer *b)
{
    egi_writer_init(w, b->data, b->capacity);
    w->pos = b->size;
    w->grow = b;
}

int egi_writer_end(egi_writer *w)
{
    if (w->grow != NULL)
        w->grow->size = w->pos;
    return w->error;
}

int egi_writer_fail(egi_writer *w, int error)
{
    egi_assert(error < 0);
    if (w->error == EG_OK) {
        w->error = error;
        w->capacity = w->pos; /* so that every later put comes here */
    }
    return w->error;
}

/* Makes room for n bytes when the fast test has failed. */
static int writer_room(egi_writer *w, size_t n)
{
    if (w->error != EG_OK)
        return w->error;
    if (w->grow == NULL)
        return egi_writer_fail(w, EG_ELIMIT);
    w->grow->size = w->pos;
    if (egi_buffer_reserve(w->grow, n) != EG_OK)
        return egi_writer_fail(w, EG_ENOMEM);
    w->data = w->grow->data;
    w->capacity = w->grow->capacity;
    return EG_OK;
}

uint8_t *egi_writer_take(egi_writer *w, size_t n)
{
    uint8_t *p;

    egi_assert(n > 0);
    if (w->capacity - w->pos < n && writer_room(w, n) != EG_OK)
        return NULL;
    p = w->data + w->pos;
    w->pos += n;
    return p;
}

static uint8_t *store_u32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
    return p + 4;
}

static uint8_t *store_u64(uint8_t *p, uint64_t v)
{
    return store_u32(store_u32(p, (uint32_t)v), (uint32_t)(v >> 32));
}

static uint8_t *store_u(uint8_t *p, uint32_t v)
{
    if (v < EGI_U_TWO) {
        *p++ = (uint8_t)v;
        return p;
    }
    if (v < EGI_U_FIVE) {
        v -= EGI_U_TWO;
        *p++ = (uint8_t)(EGI_U_TWO | (v >> 8));
        *p++ = (uint8_t)v;
        return p;
    }
    *p++ = EGI_U_LONG;
    return store_u32(p, v);
}

static int put_byte(egi_writer *w, unsigned byte)
{
    uint8_t *p = egi_writer_take(w, 1);

    if (p == NULL)
        return w->error;
    *p = (uint8_t)byte;
    return EG_OK;
}

/* A tag byte and 8 bytes. */
static int put_wide(egi_writer *w, unsigned tag, uint64_t bits)
{
    uint8_t *p = egi_writer_take(w, 9);

    if (p == NULL)
        return w->error;
    *p = (uint8_t)tag;
    store_u64(p + 1, bits);
    return EG_OK;
}

int egi_put_u(egi_writer *w, uint32_t v)
{
    uint8_t *p = egi_writer_take(w, egi_size_u(v));

    if (p == NULL)
        return w->error;
    store_u(p, v);
    return EG_OK;
}

int egi_put_nil(egi_writer *w)
{
    return put_byte(w, EGI_TAG_NIL);
}

int egi_put_bool(egi_writer *w, int v)
{
    return put_byte(w, v ? EGI_TAG_TRUE : EGI_TAG_FALSE);
}

/* 1 when v is written as an int32: the value fits, and is not -0, whose sign
 * an integer would lose. */
static int is_int32(double v, uint64_t bits)
{
    if (!(v >= -2147483648.0 && v <= 2147483647.0))
        return 0;
    return (double)(int32_t)v == v && bits != UINT64_C(1) << 63;
}

static uint64_t double_bits(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

int egi_put_number(egi_writer *w, double v)
{
    uint64_t bits = double_bits(v);
    uint8_t *p;

    if (!is_int32(v, bits))
        return put_wide(w, EGI_TAG_DOUBLE, v != v ? EGI_NAN64 : bits);
    p = egi_writer_take(w, 5);
    if (p == NULL)
        return w->error;
    *p = EGI_TAG_INT32;
    store_u32(p + 1, (uint32_t)(int32_t)v);
    return EG_OK;
}

int egi_put_int64(egi_writer *w, int64_t v)
{
    return put_wide(w, EGI_TAG_INT64, (uint64_t)v);
}

int egi_put_uint64(egi_writer *w, uint64_t v)
{
    return put_wide(w, EGI_TAG_UINT64, v);
}

int egi_put_string_head(egi_writer *w, size_t len)
{
    if (len > UINT32_MAX - EGI_TAG_STRING)
        return egi_writer_fail(w, EG_ELIMIT);
    return egi_put_u(w, (uint32_t)len + EGI_TAG_STRING);
}

int egi_put_string(egi_writer *w, const void *bytes, size_t len)
{
    uint32_t head = (uint32_t)len + EGI_TAG_STRING;
    uint8_t *p;

    if (len > UINT32_MAX - EGI_TAG_STRING)
        return egi_writer_fail(w, EG_ELIMIT);
    p = egi_writer_take(w, egi_size_u(head) + len);
    if (p == NULL)
        return w->error;
    p = store_u(p, head);
    if (len != 0)
        memcpy(p, bytes, len);
    return EG_OK;
}

int egi_put_empty_table(egi_writer *w)
{
    return put_byte(w, EGI_TAG_TABLE);
}

/* A table tag and one count. */
static int put_head(egi_writer *w, unsigned tag, uint32_t count)
{
    uint8_t *p = egi_writer_take(w, 1 + egi_size_u(count));

    if (p == NULL)
        return w->error;
    *p = (uint8_t)tag;
    store_u(p + 1, count);
    return EG_OK;
}

int egi_put_hash(egi_writer *w, size_t pairs)
{
    egi_assert(pairs > 0);
    if (pairs > UINT32_MAX)
        return egi_writer_fail(w, EG_ELIMIT);
    return put_head(w, EGI_TAG_TABLE | EGI_TAG_HASH, (uint32_t)pairs);
}

int egi_put_array(egi_writer *w, size_t n)
{
    egi_assert(n > 0);
    if (n > UINT32_MAX - 1)
        return egi_writer_fail(w, EG_ELIMIT);
    return put_head(w, EGI_TAG_TABLE | EGI_TAG_ARRAY1, (uint32_t)n + 1);
}

int egi_put_raw(egi_writer *w, const void *bytes, size_t n)
{
    uint8_t *p = n == 0 ? NULL : egi_writer_take(w, n);

    if (p == NULL)
        return w->error;
    memcpy(p, bytes, n);
    return EG_OK;
}

int egi_put_u32(egi_writer *w, uint32_t v)
{
    uint8_t *p = egi_writer_take(w, 4);

    if (p == NULL)
        return w->error;
    store_u32(p, v);
    return EG_OK;
}

size_t egi_size_number(double v)
{
    return is_int32(v, double_bits(v)) ? 5 : 9;
}

size_t egi_size_string(size_t len)
{
    egi_assert(len <= UINT32_MAX - EGI_TAG_STRING);
    return egi_size_u((uint32_t)len + EGI_TAG_STRING) + len;
}

size_t egi_size_hash(size_t pairs)
{
    return pairs == 0 ? 1 : 1 + egi_size_u((uint32_t)pairs);
}

size_t egi_size_array(size_t n)
{
    return n == 0 ? 1 : 1 + egi_size_u((uint32_t)n + 1);
}
