/* SPDX-License-Identifier: MIT */
/* The bytes of a snapshot, version 1. Constants and drawings live here and
 * nowhere else; eg_writer and eg_reader are the only code that applies them.
 *
 * All integers are little-endian. Raw columns hold the memory of the saving
 * build, so a target of another byte order is refused when it is built.
 *
 * U, an unsigned 32-bit integer; the shortest form is the only valid one:
 *
 *     v < 0xe0        [ v ]
 *     v < 0x1fe0      [ 0xe0 | (v - 0xe0) >> 8 ][ (v - 0xe0) & 0xff ]
 *     else            [ 0xff ][ v: 4 bytes ]
 *
 * A value is a tag, itself a U, and what the tag asks for:
 *
 *     00 nil   01 false   02 true        07 [ double: 8 bytes ]
 *     06 [ int32: 4 bytes ]              08 empty table
 *     09 [ h.U ] h pairs                 0a [ a.U ] a values, keys 0 .. a-1
 *     0b [ a.U ][ h.U ] as 0a, then 09   0c [ a.U ] a-1 values, keys 1 .. a-1
 *     0d [ a.U ][ h.U ] as 0c, then 09   10 [ int64 ]   11 [ uint64 ]
 *     20+len [ bytes ]                   a pair is a key and a value
 *
 * Tags 03-05 (userdata), 0e, 0f (dictionary) and 12 (complex) exist in the
 * host's format and are refused here; other numbers below 20 are unknown.
 *
 * A snapshot is prelude, records, data; every scalar in it is one value:
 *
 *     version  next id  entities  records  components
 *     components x { name  fingerprint }
 *     records x { columns  rows  columns x component index (from 1)  mode
 *         mode 0: rows x 8 bytes of ids; per column
 *                 rows x struct size raw bytes (fingerprint not empty), or
 *                 rows values
 *         mode 1: rows x { id  mask  a value per set bit, bit i-1: column i } }
 *     { true  key  value }...  false
 *
 * Keys of data that begin with __engram. are reserved; each comes once:
 *
 *     __engram.states     {name, ...}: the state stack, bottom first
 *     __engram.pipeline   {accumulator = seconds, fixedStepCount = n,
 *                         phases = {name = enabled, ...}}
 *     __engram.versions   {component name = version, ...}
 *     __engram.allocator  a string of u32 fields:
 *
 *     [ high ]      highest slot ever used; slots above it are untouched
 *     [ free ]      number of free slots among 1 .. high
 *     [ retired ]   number of slots out of generations
 *     [ floors ]    number of floors
 *     free list, head first, until `free` slots are listed:
 *         [ slot ][ generation ]                  one slot
 *         [ slot ][ generation | 2^31 ][ count ]  count >= 2 slots, ascending,
 *                                                 all of this generation
 *     retired x [ slot ]                          ascending
 *     floors x  [ slot ][ highest ]               ascending; a live slot whose
 *                                                 own generation is lower than
 *                                                 the highest it ever held
 *
 * `generation` is the one the slot issues next. Each slot of 1 .. high is live,
 * free or retired, and only one of these. After the listed slots the free list
 * goes on with high + 1, high + 2, ...
 *
 * May include: nothing. */
#ifndef EGI_WIRE_H
#define EGI_WIRE_H

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "engram: raw columns are little-endian; this target is not supported"
#endif

enum egi_tag {
    EGI_TAG_NIL = 0x00,
    EGI_TAG_FALSE = 0x01,
    EGI_TAG_TRUE = 0x02,
    EGI_TAG_INT32 = 0x06,
    EGI_TAG_DOUBLE = 0x07,
    EGI_TAG_TABLE = 0x08,       /* the bits below are added to it */
    EGI_TAG_HASH = 0x01,
    EGI_TAG_ARRAY0 = 0x02,
    EGI_TAG_ARRAY1 = 0x04,
    EGI_TAG_TABLE_LAST = 0x0d,
    EGI_TAG_INT64 = 0x10,
    EGI_TAG_UINT64 = 0x11,
    EGI_TAG_STRING = 0x20       /* plus the length */
};

enum egi_wire_u {
    EGI_U_TWO = 0xe0,           /* first value of two bytes */
    EGI_U_FIVE = 0x1fe0,        /* first value of five bytes */
    EGI_U_LONG = 0xff           /* first byte of the five-byte form */
};

enum egi_wire_mode {
    EGI_MODE_COLUMNS = 0,
    EGI_MODE_ROWS = 1,
    EGI_MODE_ROWS_MAX = 52      /* columns whose mask is an exact double */
};

enum egi_wire_allocator {
    EGI_ALLOCATOR_HEAD = 16     /* bytes before the free list */
};

#define EGI_ALLOCATOR_RUN 0x80000000u   /* bit 31 of `generation` */

/* Every row of a scalar without a codec begins like this: {value = ... */
#define EGI_SCALAR_HEAD "\x09\x01\x25value"

enum egi_wire_scalar {
    EGI_SCALAR_HEAD_SIZE = 8
};

/* The only NaN of a snapshot. */
#define EGI_NAN64 UINT64_C(0x7ff8000000000000)
#define EGI_NAN32 UINT32_C(0x7fc00000)

/* Ids are positive integers below 2^53. As integers, the bits of positive
 * doubles are ordered like the numbers, so the range is two comparisons. */
#define EGI_ID_BITS_FIRST UINT64_C(0x3ff0000000000000)  /* 1.0 */
#define EGI_ID_BITS_LAST UINT64_C(0x433fffffffffffff)   /* 2^53 - 1 */
#define EGI_GENERATION_MAX UINT32_C(0x7fffffff)

#define EGI_KEY_RESERVED "__engram."
#define EGI_KEY_ALLOCATOR "__engram.allocator"
#define EGI_KEY_PIPELINE "__engram.pipeline"
#define EGI_KEY_STATES "__engram.states"
#define EGI_KEY_VERSIONS "__engram.versions"

#endif
