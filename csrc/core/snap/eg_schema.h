/* SPDX-License-Identifier: MIT */
/* Layouts of raw components as text (eg_fingerprint.c), and the way from one
 * layout to another (eg_schema.c, eg_schema_map.c).
 *
 * A fingerprint says what the bytes of a raw column mean:
 *
 *     x:f64,y:f64,tags:i8[16],hp@20:i32|32
 *
 * Fields under their stored names in declaration order, then the size of the
 * struct. Types are i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 bool entity, with one
 * or two array lengths. A field lies where its natural alignment (the size of
 * one value) puts it after the one before; where a compiler put it elsewhere,
 * its offset stands behind an @. Of a name, control bytes, spaces and % , : @ |
 * are written as % and two hexadecimal digits. A pointer has no type here, so a
 * struct with one has no fingerprint.
 *
 * The reader is strict and bounded: fields ascend without overlap within the
 * size, array lengths are at least 1, numbers have no leading zeros and stay
 * below 2^31, names are not empty. It takes the C spellings of the types of
 * fixed width as well (float, double, int32_t, unsigned int, char as i8, ...).
 *
 * May include: base. */
#ifndef EGI_SCHEMA_H
#define EGI_SCHEMA_H

#include "core/snap/eg_writer.h"

/* Where and why a text is not a fingerprint. */
typedef struct egi_text_error {
    size_t at;              /* offset into the text */
    const char *why;        /* static */
} egi_text_error;

/* Writes the fingerprint as raw bytes. Returns the writer's sticky error, or
 * EG_EINVAL for fields that have none, and then nothing was written. */
int egi_fingerprint_write(egi_writer *w, const eg_field *fields, size_t n,
                          size_t size);

/* Upper bounds of what parsing a text needs: fields, and bytes for names that
 * are not in the text as they are (0 when all are). */
size_t egi_fingerprint_max_fields(const void *text, size_t len);
size_t egi_fingerprint_name_bytes(const void *text, size_t len);
/* Reads a fingerprint into memory of these sizes. Names point into the text or
 * into `names`. That no name comes twice is egi_fields_unique's to say.
 * Returns EG_OK, or EG_ECORRUPT with *err. */
int egi_fingerprint_parse(const void *text, size_t len, eg_field *fields,
                          char *names, size_t *n, size_t *size,
                          egi_text_error *err);
/* EG_OK; EG_ECORRUPT: *twice is the index of a field whose name an earlier one
 * has, or n when the names are made to collide; EG_ENOMEM. Takes 16 bytes per
 * field when there are many. */
int egi_fields_unique(const eg_allocator *alloc, const eg_field *fields,
                      size_t n, size_t *twice);

/* A parsed fingerprint with memory of its own; its text must outlive it. */
typedef struct egi_layout {
    const eg_allocator *alloc;
    eg_field *fields;
    size_t count;
    size_t size;            /* bytes of the struct */
    char *names;
    size_t max_fields;
    size_t name_bytes;
} egi_layout;

/* EG_OK, EG_ECORRUPT with *err, EG_ENOMEM. */
int egi_layout_init(egi_layout *l, const eg_allocator *alloc,
                    const void *text, size_t len, egi_text_error *err);
void egi_layout_fini(egi_layout *l);

/* -- from one layout to another ------------------------------------------- */

/* Values of a saved field that become those of a present one. */
typedef struct egi_map_step {
    uint32_t from;          /* offsets into the rows */
    uint32_t to;
    uint32_t count;         /* values; bytes when the types are one */
    uint8_t from_type;      /* both 0: bytes are copied */
    uint8_t to_type;
} egi_map_step;

typedef struct egi_schema_plan {
    const eg_allocator *alloc;
    egi_map_step *steps;
    size_t count;
    size_t capacity;
    size_t from_size;       /* bytes of a saved and of a present row */
    size_t to_size;
    uint32_t added;         /* present fields that keep their default */
    uint32_t dropped;       /* saved fields there are no more */
    int same;               /* 1: the layouts agree, rows can be copied */
} egi_schema_plan;

/* The fields that do not go together. */
typedef struct egi_schema_clash {
    size_t from;            /* index of the saved field */
    size_t to;              /* index of the present one */
} egi_schema_clash;

/* Plans how saved rows become present ones. Fields are matched by name; a
 * numeric type may change, an array length or the number of dimensions may not.
 * Takes time in proportion to the product of both numbers of fields.
 * Returns EG_OK; EG_ESCHEMA with *clash; EG_EINVAL a pointer among `to`;
 * EG_ENOMEM. */
int egi_schema_plan_init(egi_schema_plan *p, const eg_allocator *alloc,
                         const egi_layout *from, const eg_field *to, size_t n,
                         size_t to_size, egi_schema_clash *clash);
void egi_schema_plan_fini(egi_schema_plan *p);

/* Builds present rows at dst from saved rows at src, each starting as a copy of
 * `defaults` (to_size bytes; NULL: zeros). Values are converted as an
 * assignment in LuaJIT does it:
 *
 *     integer to integer   extended by its sign or by zeros, or cut to the
 *                          low bytes
 *     integer to f64, f32  rounded to the nearest double, then float
 *     f64 to f32           rounded to the nearest; too large: infinity
 *     f64, f32 to integer  cut towards zero to an int64, then to the low bytes;
 *                          u64 takes all below 2^64. NaN and what does not fit
 *                          count as -2^63
 *     any to bool          1 when the value is not 0 (NaN is not)
 *     bool to any          0 or 1
 *     entity               as f64
 *
 * Any bits are safe input: NaNs come out as the canonical one, bools as 0 or 1.
 * Whether they were damage is egi_column_check's to say. */
void egi_schema_map_column(const egi_schema_plan *p, void *dst,
                           const void *src, size_t rows,
                           const void *defaults);

#endif
