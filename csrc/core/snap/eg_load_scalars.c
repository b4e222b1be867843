/* SPDX-License-Identifier: MIT */
/* Number and boolean columns of a load: every row is {value = v}. The bytes
 * were walked when the document was opened, so only types are looked at. */
#include <string.h>

#include "core/snap/eg_load.h"

#include "core/snap/eg_wire.h"

/* {value = v}: the payload of "value", any other keys ignored. Returns 1 when
 * it is there, 0 when not, or an error. */
static int read_value(eg_load *l, egi_reader *r, egi_head *value)
{
    egi_head head, key;
    int found = 0;

    if (egi_read_head(r, &head) != EG_OK)
        return r->error;
    if (head.tag < EGI_TAG_TABLE || head.tag > EGI_TAG_TABLE_LAST)
        return egi_load_fail(l, EG_ESCHEMA, r->mark,
                             "a scalar is no table with a value");
    if (egi_value_skip_many(r, &l->snap->walker, head.slots) != EG_OK)
        return r->error;
    for (uint32_t i = 0; i < head.pairs; i++) {
        const uint8_t *name = NULL;

        if (egi_read_head(r, &key) != EG_OK)
            return r->error;
        if (key.tag == EGI_TAG_STRING &&
            egi_read_raw(r, key.len, &name) != EG_OK)
            return r->error;
        if (name != NULL && key.len == 5 && memcmp(name, "value", 5) == 0) {
            size_t at = r->pos;

            if (egi_read_head(r, value) != EG_OK)
                return r->error;
            found = value->tag != EGI_TAG_NIL;
            if (value->tag == EGI_TAG_STRING ||
                (value->tag >= EGI_TAG_TABLE &&
                 value->tag <= EGI_TAG_TABLE_LAST))
                return egi_load_fail(l, EG_ESCHEMA, at,
                                     "a scalar's value has another type");
        } else if (egi_value_skip(r, &l->snap->walker) != EG_OK) {
            return r->error;
        }
    }
    return found;
}

static int wrong_type(eg_load *l, const egi_reader *r)
{
    return egi_load_fail(l, EG_ESCHEMA, r->mark,
                         "a scalar's value has another type");
}

/* The usual form of a row, written in one piece: 1 when it was there. */
static int read_usual(egi_reader *r, egi_head *value)
{
    const uint8_t *p = r->data + r->pos;
    size_t size;

    if (egi_reader_left(r) <= EGI_SCALAR_HEAD_SIZE ||
        memcmp(p, EGI_SCALAR_HEAD, EGI_SCALAR_HEAD_SIZE) != 0)
        return 0;
    p += EGI_SCALAR_HEAD_SIZE;
    value->tag = p[0];
    size = p[0] == EGI_TAG_INT32 ? 5 : p[0] == EGI_TAG_DOUBLE ? 9 : 1;
    if ((size == 1 && p[0] != EGI_TAG_TRUE && p[0] != EGI_TAG_FALSE) ||
        egi_reader_left(r) < EGI_SCALAR_HEAD_SIZE + size)
        return 0;
    if (size == 5)
        value->bits = (uint64_t)(int64_t)(int32_t)egi_load_u32(p + 1);
    else if (size == 9)
        value->bits = egi_load_u64(p + 1);
    r->mark = r->pos;
    r->pos += EGI_SCALAR_HEAD_SIZE + size;
    return 1;
}

/* Stores one number or boolean; the fallback when nothing was found. */
static int put_scalar(eg_load *l, const egi_load_way *way, egi_reader *r,
                      const egi_head *value, int found, unsigned char *row)
{
    if (way->kind == EGI_LOAD_NUMBER) {
        double v = 0.0;

        if (found && value->tag != EGI_TAG_INT32 &&
            value->tag != EGI_TAG_DOUBLE)
            return wrong_type(l, r);
        if (found)
            v = egi_head_number(value);
        else if (way->defaults != NULL)
            memcpy(&v, way->defaults, sizeof v);
        memcpy(row, &v, sizeof v);
        return EG_OK;
    }
    if (found && value->tag != EGI_TAG_TRUE && value->tag != EGI_TAG_FALSE)
        return wrong_type(l, r);
    if (found)
        *row = value->tag == EGI_TAG_TRUE;
    else
        *row =
            way->defaults != NULL && *(const unsigned char *)way->defaults != 0;
    return EG_OK;
}

int egi_load_scalars(eg_load *l, const egi_load_way *way,
                     const egi_snap_column *column, unsigned char *row,
                     uint32_t rows)
{
    egi_reader r;

    egi_reader_init(&r, l->snap->data, column->offset + column->length);
    r.pos = column->offset;
    for (uint32_t i = 0; i < rows; i++, row += way->def->size) {
        egi_head value = {0};
        int found = read_usual(&r, &value) ? 1 : read_value(l, &r, &value);
        int err =
            found < 0 ? found : put_scalar(l, way, &r, &value, found, row);

        if (err != EG_OK)
            return err;
    }
    return EG_OK;
}
