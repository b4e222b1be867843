/* SPDX-License-Identifier: MIT */
/* Encoded values, read. See eg_wire.h for the bytes and eg_reader.h for the
 * contract. Walking whole values, nested ones included, is eg_value's. */
#include "core/snap/eg_reader.h"

#include <string.h>

#include "core/base/eg_assert.h"

static const char *const ends_early = "input ends inside a value";

int egi_reader_fail(egi_reader *r, int error, size_t at, const char *why,
                    int line)
{
    egi_assert(error < 0);
    if (r->error == EG_OK) {
        r->error = error;
        r->error_at = at;
        r->why = why;
        r->line = line;
        r->pos = r->len;
    }
    return r->error;
}

void egi_reader_init(egi_reader *r, const void *data, size_t len)
{
    /* Never NULL, so that adding an offset of 0 is defined. */
    r->data = data != NULL ? data : (const void *)"";
    r->len = len;
    r->pos = 0;
    r->mark = 0;
    r->error = EG_OK;
    r->error_at = 0;
    r->why = NULL;
    r->line = 0;
}

/* The forms of a U that are longer than a byte; `first` has been taken. */
static int read_long_u(egi_reader *r, unsigned first, uint32_t *v)
{
    const uint8_t *p = r->data + r->pos;
    uint32_t u;

    if (first != EGI_U_LONG) {
        if (egi_reader_left(r) < 1)
            return EGI_TRUNCATED(r, r->mark, ends_early);
        *v = ((first - EGI_U_TWO) << 8 | p[0]) + EGI_U_TWO;
        r->pos += 1;
        return EG_OK;
    }
    if (egi_reader_left(r) < 4)
        return EGI_TRUNCATED(r, r->mark, ends_early);
    u = egi_load_u32(p);
    if (u < EGI_U_FIVE)
        return EGI_CORRUPT(r, "number in a longer form than it needs");
    *v = u;
    r->pos += 4;
    return EG_OK;
}

/* Reads a U without moving the mark. */
static inline int take_u(egi_reader *r, uint32_t *v)
{
    unsigned first;

    if (r->pos >= r->len)
        return r->error != EG_OK ? r->error
                                 : EGI_TRUNCATED(r, r->mark, ends_early);
    first = r->data[r->pos++];
    if (first >= EGI_U_TWO)
        return read_long_u(r, first, v);
    *v = first;
    return EG_OK;
}

int egi_read_u(egi_reader *r, uint32_t *v)
{
    r->mark = r->pos;
    return take_u(r, v);
}

int egi_skip_raw(egi_reader *r, size_t n)
{
    if (r->error != EG_OK)
        return r->error;
    r->mark = r->pos;
    if (egi_reader_left(r) < n)
        return EGI_TRUNCATED(r, r->pos, "input ends inside a block of bytes");
    r->pos += n;
    return EG_OK;
}

int egi_read_raw(egi_reader *r, size_t n, const uint8_t **bytes)
{
    const uint8_t *p = r->data + r->pos;

    if (egi_skip_raw(r, n) != EG_OK)
        return r->error;
    *bytes = p;
    return EG_OK;
}

static int read_table_head(egi_reader *r, egi_head *h)
{
    uint32_t parts = h->tag - EGI_TAG_TABLE;
    size_t left;

    h->slots = 0;
    h->first = 0;
    h->pairs = 0;
    if (parts & (EGI_TAG_ARRAY0 | EGI_TAG_ARRAY1)) {
        if (take_u(r, &h->slots) != EG_OK)
            return r->error;
    }
    if (parts & EGI_TAG_ARRAY1) {
        if (h->slots == 0)
            return EGI_CORRUPT(r, "1-based array of size 0");
        h->slots--;
        h->first = 1;
    }
    if (parts & EGI_TAG_HASH) {
        if (take_u(r, &h->pairs) != EG_OK)
            return r->error;
    }
    left = egi_reader_left(r);
    if (h->slots > left || h->pairs > (left - h->slots) / 2)
        return EGI_TRUNCATED(r, r->mark,
                             "table needs more bytes than are left");
    return EG_OK;
}

static int read_wide(egi_reader *r, egi_head *h)
{
    if (egi_reader_left(r) < 8)
        return EGI_TRUNCATED(r, r->mark, ends_early);
    h->bits = egi_load_u64(r->data + r->pos);
    r->pos += 8;
    if (h->tag == EGI_TAG_DOUBLE && egi_is_nan64(h->bits) &&
        h->bits != EGI_NAN64)
        return EGI_CORRUPT(r, "NaN with a foreign bit pattern");
    return EG_OK;
}

static int read_int32(egi_reader *r, egi_head *h)
{
    uint32_t u;

    if (egi_reader_left(r) < 4)
        return EGI_TRUNCATED(r, r->mark, ends_early);
    u = egi_load_u32(r->data + r->pos);
    h->bits = (uint64_t)u | ((u >> 31) ? ~(uint64_t)UINT32_MAX : 0);
    r->pos += 4;
    return EG_OK;
}

static int refuse_tag(egi_reader *r, uint32_t tag)
{
    switch (tag) {
    case 0x03:
    case 0x04:
    case 0x05:
        return EGI_CORRUPT(r, "userdata is not allowed");
    case 0x0e:
    case 0x0f:
        return EGI_CORRUPT(r, "dictionary entries are not allowed");
    case 0x12:
        return EGI_CORRUPT(r, "complex numbers are not allowed");
    default:
        return EGI_CORRUPT(r, "unknown tag");
    }
}

int egi_read_head(egi_reader *r, egi_head *h)
{
    uint32_t tag;

    r->mark = r->pos;
    if (take_u(r, &tag) != EG_OK)
        return r->error;
    h->tag = tag;
    if (tag >= EGI_TAG_STRING) {
        h->tag = EGI_TAG_STRING;
        h->len = tag - EGI_TAG_STRING;
        if (egi_reader_left(r) < h->len)
            return EGI_TRUNCATED(r, r->mark,
                                 "string needs more bytes than are left");
        return EG_OK;
    }
    switch (tag) {
    case EGI_TAG_NIL:
    case EGI_TAG_FALSE:
    case EGI_TAG_TRUE:
        return EG_OK;
    case EGI_TAG_INT32:
        return read_int32(r, h);
    case EGI_TAG_DOUBLE:
    case EGI_TAG_INT64:
    case EGI_TAG_UINT64:
        return read_wide(r, h);
    default:
        break;
    }
    if (tag >= EGI_TAG_TABLE && tag <= EGI_TAG_TABLE_LAST)
        return read_table_head(r, h);
    return refuse_tag(r, tag);
}

double egi_head_number(const egi_head *h)
{
    double v;

    egi_assert(h->tag == EGI_TAG_INT32 || h->tag == EGI_TAG_DOUBLE);
    if (h->tag == EGI_TAG_INT32)
        return (double)(int64_t)h->bits;
    memcpy(&v, &h->bits, sizeof v);
    return v;
}

int egi_read_number(egi_reader *r, double *v)
{
    egi_head h;

    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    if (h.tag != EGI_TAG_INT32 && h.tag != EGI_TAG_DOUBLE)
        return EGI_CORRUPT(r, "number expected");
    *v = egi_head_number(&h);
    return EG_OK;
}

int egi_read_bool(egi_reader *r, int *v)
{
    egi_head h;

    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    if (h.tag != EGI_TAG_FALSE && h.tag != EGI_TAG_TRUE)
        return EGI_CORRUPT(r, "boolean expected");
    *v = h.tag == EGI_TAG_TRUE;
    return EG_OK;
}

int egi_read_string(egi_reader *r, const uint8_t **bytes, size_t *len)
{
    egi_head h;

    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    if (h.tag != EGI_TAG_STRING)
        return EGI_CORRUPT(r, "string expected");
    *bytes = r->data + r->pos;
    *len = h.len;
    r->pos += h.len;
    return EG_OK;
}

int egi_read_count(egi_reader *r, uint64_t max, uint64_t *v, const char *why)
{
    egi_head h;
    double number;

    if (egi_read_head(r, &h) != EG_OK)
        return r->error;
    if (h.tag != EGI_TAG_INT32 && h.tag != EGI_TAG_DOUBLE)
        return EGI_CORRUPT(r, why);
    number = egi_head_number(&h);
    if (!(number >= 0.0 && number <= (double)max) ||
        (double)(uint64_t)number != number)
        return EGI_CORRUPT(r, why);
    *v = (uint64_t)number;
    return EG_OK;
}
