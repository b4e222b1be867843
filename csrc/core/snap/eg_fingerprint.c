/* SPDX-License-Identifier: MIT */
/* Fingerprints, written and read. See eg_schema.h for what they look like. */
#include "core/snap/eg_schema.h"

#include <string.h>

#include "core/snap/eg_column.h"

enum { NUMBER_MAX = 0x7fffffff };

typedef struct type_name {
    const char *name;
    int32_t type;
} type_name;

/* The names that are written, in the order of the types. */
static const char *const canonical[] = {
    [EG_I8] = "i8",   [EG_U8] = "u8",     [EG_I16] = "i16",
    [EG_U16] = "u16", [EG_I32] = "i32",   [EG_U32] = "u32",
    [EG_I64] = "i64", [EG_U64] = "u64",   [EG_F32] = "f32",
    [EG_F64] = "f64", [EG_BOOL] = "bool", [EG_ENTITY] = "entity",
};

/* Further spellings that are read. Types whose width differs between platforms
 * (long, size_t) are not among them: their name does not say what was saved. */
static const type_name spellings[] = {
    {"float", EG_F32},
    {"double", EG_F64},
    {"_Bool", EG_BOOL},
    {"int8_t", EG_I8},
    {"uint8_t", EG_U8},
    {"int16_t", EG_I16},
    {"uint16_t", EG_U16},
    {"int32_t", EG_I32},
    {"uint32_t", EG_U32},
    {"int64_t", EG_I64},
    {"uint64_t", EG_U64},
    {"char", EG_I8},
    {"signed char", EG_I8},
    {"unsigned char", EG_U8},
    {"short", EG_I16},
    {"unsigned short", EG_U16},
    {"int", EG_I32},
    {"unsigned", EG_U32},
    {"unsigned int", EG_U32},
    {"long long", EG_I64},
    {"unsigned long long", EG_U64},
};

static size_t align_up(size_t offset, size_t width)
{
    return (offset + width - 1) / width * width;
}

/* 1 for bytes that stand in a name as they are. */
static int is_plain(uint8_t byte)
{
    return byte > 0x20 && byte != 0x7f && byte != '%' && byte != ',' &&
           byte != ':' && byte != '@' && byte != '|';
}

/* -- writing -------------------------------------------------------------- */

static void put_text(egi_writer *w, const char *text)
{
    egi_put_raw(w, text, strlen(text));
}

static void put_byte(egi_writer *w, char byte)
{
    egi_put_raw(w, &byte, 1);
}

static void put_decimal(egi_writer *w, size_t v)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    egi_put_raw(w, digits + n, sizeof digits - n);
}

static void put_name(egi_writer *w, const eg_field *f)
{
    static const char hex[] = "0123456789ABCDEF";

    for (uint32_t i = 0; i < f->name_len; i++) {
        uint8_t byte = (uint8_t)f->name[i];

        if (is_plain(byte)) {
            put_byte(w, (char)byte);
        } else {
            put_byte(w, '%');
            put_byte(w, hex[byte >> 4]);
            put_byte(w, hex[byte & 15]);
        }
    }
}

/* 1 when every field has a name, a type and a place that a text can give. */
static int can_be_written(const eg_field *fields, size_t n, size_t size)
{
    size_t end = 0;

    if (n == 0 || size == 0 || size > NUMBER_MAX)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const eg_field *f = &fields[i];
        uint64_t values = (f->dims[0] ? f->dims[0] : 1) *
                          (uint64_t)(f->dims[1] ? f->dims[1] : 1);
        size_t width;

        if (f->name_len == 0 || f->type < EG_I8 || f->type > EG_ENTITY ||
            (f->dims[0] == 0 && f->dims[1] != 0) || values != f->elements)
            return 0;
        width = egi_field_width(f->type);
        if (f->offset < end || f->offset > size ||
            values > (size - f->offset) / width)
            return 0;
        end = f->offset + (size_t)values * width;
    }
    return 1;
}

int egi_fingerprint_write(egi_writer *w, const eg_field *fields, size_t n,
                          size_t size)
{
    size_t end = 0;

    if (!can_be_written(fields, n, size))
        return EG_EINVAL;
    for (size_t i = 0; i < n; i++) {
        const eg_field *f = &fields[i];
        size_t width = egi_field_width(f->type);

        if (i > 0)
            put_byte(w, ',');
        put_name(w, f);
        if (f->offset != align_up(end, width)) {
            put_byte(w, '@');
            put_decimal(w, f->offset);
        }
        put_byte(w, ':');
        put_text(w, canonical[f->type]);
        for (int d = 0; d < 2 && f->dims[d] != 0; d++) {
            put_byte(w, '[');
            put_decimal(w, f->dims[d]);
            put_byte(w, ']');
        }
        end = f->offset + f->elements * width;
    }
    put_byte(w, '|');
    put_decimal(w, size);
    return w->error;
}

/* -- reading -------------------------------------------------------------- */

typedef struct scanner {
    const uint8_t *text;
    size_t len;
    size_t pos;
    char *names; /* free memory for names */
    egi_text_error *err;
} scanner;

static int bad_text(const scanner *s, const char *why)
{
    s->err->at = s->pos;
    s->err->why = why;
    return EG_ECORRUPT;
}

/* The next byte, or 0 at the end: no byte of a text is 0. */
static uint8_t peek(const scanner *s)
{
    return s->pos < s->len ? s->text[s->pos] : 0;
}

static int scan_number(scanner *s, uint32_t *out)
{
    uint32_t v = 0;
    size_t start = s->pos;

    while (peek(s) >= '0' && peek(s) <= '9') {
        uint32_t digit = (uint32_t)peek(s) - '0';

        if (v > (NUMBER_MAX - digit) / 10 || (s->pos > start && v == 0))
            return bad_text(s, "number out of range in a fingerprint");
        v = v * 10 + digit;
        s->pos++;
    }
    if (s->pos == start)
        return bad_text(s, "number expected in a fingerprint");
    *out = v;
    return EG_OK;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Copies a name with escapes to the names. */
static int scan_escaped(scanner *s, size_t start, eg_field *f)
{
    char *name = s->names;
    size_t n = s->pos - start;

    memcpy(name, s->text + start, n);
    while (is_plain(peek(s)) || peek(s) == '%') {
        uint8_t byte = s->text[s->pos];

        if (byte == '%') {
            int high =
                s->len - s->pos > 2 ? hex_digit(s->text[s->pos + 1]) : -1;
            int low = high >= 0 ? hex_digit(s->text[s->pos + 2]) : -1;

            if (low < 0)
                return bad_text(s, "bad escape in a fingerprint");
            byte = (uint8_t)(high * 16 + low);
            s->pos += 2;
        }
        name[n++] = (char)byte;
        s->pos++;
    }
    f->name = name;
    f->name_len = (uint32_t)n;
    s->names += n;
    return EG_OK;
}

static int scan_name(scanner *s, eg_field *f)
{
    size_t start = s->pos;

    while (is_plain(peek(s)))
        s->pos++;
    if (peek(s) == '%')
        return scan_escaped(s, start, f);
    if (s->pos == start)
        return bad_text(s, "field name expected in a fingerprint");
    f->name = (const char *)s->text + start;
    f->name_len = (uint32_t)(s->pos - start);
    return EG_OK;
}

static int is_text(const uint8_t *p, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(p, text, len) == 0;
}

static int scan_type(scanner *s, eg_field *f)
{
    const uint8_t *p = s->text + s->pos;
    size_t len = 0;

    while (s->pos + len < s->len && p[len] != '[' && p[len] != ',' &&
           p[len] != '|')
        len++;
    for (int32_t t = EG_I8; t <= EG_ENTITY; t++) {
        if (is_text(p, len, canonical[t]))
            f->type = t;
    }
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (is_text(p, len, spellings[i].name))
            f->type = spellings[i].type;
    }
    if (f->type == 0)
        return bad_text(s, "unknown type in a fingerprint");
    s->pos += len;
    return EG_OK;
}

static int scan_dims(scanner *s, eg_field *f)
{
    uint64_t values = 1;

    for (int d = 0; d < 2 && peek(s) == '['; d++) {
        s->pos++;
        if (scan_number(s, &f->dims[d]) != EG_OK)
            return EG_ECORRUPT;
        if (f->dims[d] == 0 || peek(s) != ']')
            return bad_text(s, "bad array length in a fingerprint");
        s->pos++;
        values *= f->dims[d];
        if (values > NUMBER_MAX)
            return bad_text(s, "array too long in a fingerprint");
    }
    f->elements = (uint32_t)values;
    return EG_OK;
}

/* Reads one field; *end is where the one before ended. */
static int scan_field(scanner *s, eg_field *f, size_t *end)
{
    size_t start = s->pos;
    size_t width;
    uint32_t given = 0;
    int has_offset = 0;

    memset(f, 0, sizeof *f);
    if (scan_name(s, f) != EG_OK)
        return EG_ECORRUPT;
    if (peek(s) == '@') {
        s->pos++;
        has_offset = 1;
        if (scan_number(s, &given) != EG_OK)
            return EG_ECORRUPT;
    }
    if (peek(s) != ':')
        return bad_text(s, "type expected in a fingerprint");
    s->pos++;
    if (scan_type(s, f) != EG_OK || scan_dims(s, f) != EG_OK)
        return EG_ECORRUPT;
    width = egi_field_width(f->type);
    f->offset = (uint32_t)(has_offset ? given : align_up(*end, width));
    if (f->offset < *end || f->offset > NUMBER_MAX ||
        f->elements > (NUMBER_MAX - f->offset) / width) {
        s->pos = start;
        return bad_text(s, "field out of place in a fingerprint");
    }
    *end = f->offset + f->elements * width;
    return EG_OK;
}

size_t egi_fingerprint_max_fields(const void *text, size_t len)
{
    const uint8_t *p = text;
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += p[i] == ',';
    /* A field that is followed by another one takes at least five bytes. */
    return 1 + (n < len / 5 ? n : len / 5);
}

size_t egi_fingerprint_name_bytes(const void *text, size_t len)
{
    return len > 0 && memchr(text, '%', len) != NULL ? len : 0;
}

int egi_fingerprint_parse(const void *text, size_t len, eg_field *fields,
                          char *names, size_t *n, size_t *size,
                          egi_text_error *err)
{
    scanner s = {text, len, 0, names, err};
    size_t count = 0;
    size_t end = 0;
    uint32_t given;

    for (;;) {
        if (scan_field(&s, &fields[count], &end) != EG_OK)
            return EG_ECORRUPT;
        count++;
        if (peek(&s) != ',')
            break;
        s.pos++;
    }
    if (peek(&s) != '|')
        return bad_text(&s, "size expected in a fingerprint");
    s.pos++;
    if (scan_number(&s, &given) != EG_OK)
        return EG_ECORRUPT;
    if (s.pos != len)
        return bad_text(&s, "leftover text in a fingerprint");
    if (given < end)
        return bad_text(&s, "size too small in a fingerprint");
    *n = count;
    *size = given;
    return EG_OK;
}
