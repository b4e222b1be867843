/* SPDX-License-Identifier: MIT */
/* Reads encoded values from untrusted bytes.
 *
 * A reader is a cursor over borrowed bytes of any alignment. The first failure
 * sticks: it records a code, the offset of the first bad byte and a static
 * reason, and moves the cursor to the end, so every later read fails as well
 * and loops over counts end. Results are undefined after a failure.
 *
 * Input that stops early, a count or length that asks for more bytes than are
 * left included, is EG_ETRUNC at the first byte of the part that does not fit;
 * everything else that is wrong is EG_ECORRUPT. No read allocates. Scalars are
 * assembled from bytes; no pointer is cast onto input. May include: base. */
#ifndef EGI_READER_H
#define EGI_READER_H

#include "core/base/eg_alloc.h"
#include "core/snap/eg_wire.h"

typedef struct egi_reader {
    const uint8_t *data;
    size_t len;
    size_t pos;
    size_t mark;            /* start of the part read last */
    int error;              /* 0 or a code of enum eg_err */
    size_t error_at;
    const char *why;        /* static text, NULL without an error */
    int line;               /* source line of the report, debug builds */
} egi_reader;

#if defined(EG_TEST) || defined(EG_DEBUG)
#define EGI_LINE __LINE__
#else
#define EGI_LINE 0
#endif

/* The only ways to report bad bytes; each gives the sticky code. The first
 * blames the part read last, the others name the offset. */
#define EGI_CORRUPT(r, why) EGI_CORRUPT_AT((r), (r)->mark, (why))
#define EGI_CORRUPT_AT(r, at, why) \
    egi_reader_fail((r), EG_ECORRUPT, (at), (why), EGI_LINE)
#define EGI_TRUNCATED(r, at, why) \
    egi_reader_fail((r), EG_ETRUNC, (at), (why), EGI_LINE)
#define EGI_OVER_LIMIT(r, at, why) \
    egi_reader_fail((r), EG_ELIMIT, (at), (why), EGI_LINE)

/* Records a failure unless there is one; a breakpoint here sees all of them.
 * Returns the sticky code. */
int egi_reader_fail(egi_reader *r, int error, size_t at, const char *why,
                    int line);
/* Borrows `len` bytes at `data`, which may be NULL when len is 0. */
void egi_reader_init(egi_reader *r, const void *data, size_t len);

static inline size_t egi_reader_left(const egi_reader *r)
{
    return r->len - r->pos;
}

static inline uint32_t egi_load_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline uint64_t egi_load_u64(const uint8_t *p)
{
    return (uint64_t)egi_load_u32(p) | (uint64_t)egi_load_u32(p + 4) << 32;
}

/* 1 when the bits are those of a NaN. */
static inline int egi_is_nan64(uint64_t bits)
{
    return (bits & UINT64_C(0x7fffffffffffffff)) >
           UINT64_C(0x7ff0000000000000);
}

static inline int egi_is_nan32(uint32_t bits)
{
    return (bits & UINT32_C(0x7fffffff)) > UINT32_C(0x7f800000);
}

/* What a value's tag announces. */
typedef struct egi_head {
    uint32_t tag;       /* enum egi_tag; EGI_TAG_STRING for every string */
    uint32_t len;       /* string: bytes that follow, known to be there */
    uint32_t slots;     /* table: values of the array part */
    uint32_t first;     /* table: key of the first of them, 0 or 1 */
    uint32_t pairs;     /* table: pairs after them */
    uint64_t bits;      /* number, int64, uint64: the payload; an int32 is
                         * sign-extended */
} egi_head;

/* Each returns the sticky error. */

/* A U on its own. */
int egi_read_u(egi_reader *r, uint32_t *v);
/* A tag with what belongs to it: a whole scalar, the length of a string, the
 * counts of a table. Counts are checked against the bytes left (a pair needs
 * two bytes, a value one), refused tags and foreign NaNs are damage. */
int egi_read_head(egi_reader *r, egi_head *h);
/* Takes n bytes as they are. */
int egi_read_raw(egi_reader *r, size_t n, const uint8_t **bytes);
/* Steps over n bytes. */
int egi_skip_raw(egi_reader *r, size_t n);
/* A value that must be of this type. */
int egi_read_number(egi_reader *r, double *v);
int egi_read_bool(egi_reader *r, int *v);
int egi_read_string(egi_reader *r, const uint8_t **bytes, size_t *len);
/* A number that is an integer from 0 to `max` (below 2^53); `why` is the
 * reason given otherwise. */
int egi_read_count(egi_reader *r, uint64_t max, uint64_t *v, const char *why);

/* Turns the payload of a number head into its value. */
double egi_head_number(const egi_head *h);

#endif
