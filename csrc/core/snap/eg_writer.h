/* SPDX-License-Identifier: MIT */
/* Writes encoded values: a cursor over memory of a known or a growing size.
 *
 * A save first adds up the sizes that egi_size_* give, reserves that much in
 * one go, and then writes with a fixed cursor; the values of a text or a small
 * entry are written to a growing buffer instead. The first failure sticks:
 * later puts do nothing, so only the end of a sequence needs a check. A failed
 * put writes nothing. May include: base. */
#ifndef EGI_WRITER_H
#define EGI_WRITER_H

#include "core/base/eg_alloc.h"

/* A byte buffer that grows through an allocator. */
typedef struct egi_buffer {
    const eg_allocator *alloc;
    uint8_t *data;
    size_t size;            /* bytes written */
    size_t capacity;
} egi_buffer;

void egi_buffer_init(egi_buffer *b, const eg_allocator *alloc);
void egi_buffer_fini(egi_buffer *b);
/* Forgets the contents, keeps the memory. */
void egi_buffer_reset(egi_buffer *b);
/* Makes room for `more` bytes. EG_ENOMEM leaves the buffer as it was. */
int egi_buffer_reserve(egi_buffer *b, size_t more);

typedef struct egi_writer {
    uint8_t *data;
    size_t pos;
    size_t capacity;
    egi_buffer *grow;       /* NULL: the memory is fixed */
    int error;              /* 0, EG_ENOMEM or EG_ELIMIT */
} egi_writer;

/* Over `capacity` bytes at `data`; running out of them is EG_ELIMIT. */
void egi_writer_init(egi_writer *w, void *data, size_t capacity);
/* Appends to a buffer; b->size follows when egi_writer_end is called. */
void egi_writer_init_buffer(egi_writer *w, egi_buffer *b);
/* Ends writing. Returns the sticky error; a buffer keeps what was written. */
int egi_writer_end(egi_writer *w);
/* Bytes written so far. */
static inline size_t egi_writer_size(const egi_writer *w)
{
    return w->pos;
}
/* Sets the sticky error, unless there is one. Returns it. */
int egi_writer_fail(egi_writer *w, int error);
/* Takes n > 0 bytes to be filled by the caller; NULL after an error. */
uint8_t *egi_writer_take(egi_writer *w, size_t n);

/* Each returns the sticky error. */
int egi_put_u(egi_writer *w, uint32_t v);
int egi_put_nil(egi_writer *w);
int egi_put_bool(egi_writer *w, int v);
/* Canonical: an int32 that is not -0 as such, else a double; one NaN. */
int egi_put_number(egi_writer *w, double v);
int egi_put_int64(egi_writer *w, int64_t v);
int egi_put_uint64(egi_writer *w, uint64_t v);
/* EG_ELIMIT past 2^32 - 33 bytes. */
int egi_put_string(egi_writer *w, const void *bytes, size_t len);
/* The length of a string whose bytes follow by egi_put_raw. */
int egi_put_string_head(egi_writer *w, size_t len);
int egi_put_empty_table(egi_writer *w);
/* Heads of non-empty tables: `pairs` pairs follow, or n values for the keys
 * 1 .. n. EG_ELIMIT past 2^32 - 1 pairs, 2^32 - 2 values. */
int egi_put_hash(egi_writer *w, size_t pairs);
int egi_put_array(egi_writer *w, size_t n);
int egi_put_raw(egi_writer *w, const void *bytes, size_t n);
/* A raw little-endian u32, as the allocator entry has them. */
int egi_put_u32(egi_writer *w, uint32_t v);

/* Encoded sizes, bytes. The sums of a save cannot overflow: each part is
 * bounded by memory that exists, but for those marked with EG_ENOMEM. */
static inline size_t egi_size_u(uint32_t v)
{
    return v < 0xe0u ? 1 : v < 0x1fe0u ? 2 : 5;
}

enum { EGI_SIZE_NIL = 1, EGI_SIZE_BOOL = 1, EGI_SIZE_INT64 = 9 };

size_t egi_size_number(double v);
/* Whole string, head included. `len` must be below 2^32 - 32. */
size_t egi_size_string(size_t len);
/* The head alone: tag and count. 0 pairs or values: the empty table. */
size_t egi_size_hash(size_t pairs);
size_t egi_size_array(size_t n);

#endif
