/* SPDX-License-Identifier: MIT */
/* Runs a schema plan: saved rows in, present rows out. The conversions are
 * stated in eg_schema.h; none depends on what the platform does with a value
 * out of range. */
#include <string.h>

#include "core/base/eg_assert.h"
#include "core/snap/eg_column.h"
#include "core/snap/eg_reader.h"
#include "core/snap/eg_schema.h"

/* A saved value: an integer, sign-extended where it has a sign, or a double. */
typedef struct number {
    uint64_t bits;
    double real;
    enum { UNSIGNED, SIGNED, REAL } kind;
} number;

static double double_of(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static float float_of(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t load_wide(const uint8_t *p, size_t width)
{
    uint64_t v = 0;

    memcpy(&v, p, width);
    return v;
}

static number read_value(const uint8_t *p, int type)
{
    size_t width = egi_field_width(type);
    number v = {load_wide(p, width), 0.0, UNSIGNED};
    uint64_t sign = UINT64_C(1) << (8 * width - 1);

    switch (type) {
    case EG_I8:
    case EG_I16:
    case EG_I32:
    case EG_I64:
        v.kind = SIGNED;
        v.bits = (v.bits ^ sign) - sign;
        break;
    case EG_F32:
        v.kind = REAL;
        v.real = float_of((uint32_t)v.bits);
        break;
    case EG_F64:
    case EG_ENTITY:
        v.kind = REAL;
        v.real = double_of(v.bits);
        break;
    case EG_BOOL:
        v.bits = v.bits != 0;
        break;
    default:
        break;
    }
    return v;
}

static uint64_t integer_of(const number *v, int type)
{
    if (v->kind != REAL)
        return v->bits;
    if (v->real >= -9223372036854775808.0 && v->real < 9223372036854775808.0)
        return (uint64_t)(int64_t)v->real;
    if (type == EG_U64 && v->real >= 0.0 && v->real < 18446744073709551616.0)
        return (uint64_t)v->real;
    return UINT64_C(1) << 63;
}

static double real_of(const number *v)
{
    switch (v->kind) {
    case REAL:
        return v->real;
    case SIGNED:
        /* By its magnitude: a cast to int64_t is left open by the language. */
        return v->bits >> 63 ? -(double)(0 - v->bits) : (double)v->bits;
    default:
        return (double)v->bits;
    }
}

static int truth_of(const number *v)
{
    return v->kind == REAL ? v->real != 0.0 : v->bits != 0;
}

static void write_value(uint8_t *p, int type, const number *v)
{
    uint64_t bits;
    double real;
    float half;

    switch (type) {
    case EG_F64:
    case EG_ENTITY:
        real = real_of(v);
        memcpy(&bits, &real, sizeof bits);
        if (egi_is_nan64(bits))
            bits = EGI_NAN64;
        break;
    case EG_F32:
        half = (float)real_of(v);
        bits = 0;
        memcpy(&bits, &half, sizeof half);
        if (egi_is_nan32((uint32_t)bits))
            bits = EGI_NAN32;
        break;
    case EG_BOOL:
        bits = (uint64_t)truth_of(v);
        break;
    default:
        bits = integer_of(v, type);
        break;
    }
    memcpy(p, &bits, egi_field_width(type));
}

static void run_step(const egi_map_step *s, uint8_t *dst, const uint8_t *src)
{
    size_t from_width;
    size_t to_width;

    if (s->to_type == 0) {
        memcpy(dst + s->to, src + s->from, s->count);
        return;
    }
    from_width = egi_field_width(s->from_type);
    to_width = egi_field_width(s->to_type);
    for (uint32_t i = 0; i < s->count; i++) {
        number v = read_value(src + s->from + i * from_width, s->from_type);

        write_value(dst + s->to + i * to_width, s->to_type, &v);
    }
}

void egi_schema_map_column(const egi_schema_plan *p, void *dst, const void *src,
                           size_t rows, const void *defaults)
{
    uint8_t *to = dst;
    const uint8_t *from = src;

    egi_assert(rows <= SIZE_MAX / p->to_size);
    egi_assert(rows <= SIZE_MAX / p->from_size);
    for (size_t row = 0; row < rows; row++) {
        if (defaults != NULL)
            memcpy(to, defaults, p->to_size);
        else
            memset(to, 0, p->to_size);
        for (size_t i = 0; i < p->count; i++)
            run_step(&p->steps[i], to, from);
        to += p->to_size;
        from += p->from_size;
    }
}
