/* SPDX-License-Identifier: MIT */
/* What the C tests of snapshots share: an allocator that counts and fails on
 * demand, random numbers with a printed seed, and a sample snapshot. */
#ifndef SNAP_UTIL_H
#define SNAP_UTIL_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/snap/eg_writer.h"
#include "include/eg_types.h"

/* -- memory --------------------------------------------------------------- */

typedef struct snap_memory {
    eg_allocator alloc;     /* pass this one */
    size_t live;            /* bytes held now, mapped ones apart */
    size_t peak;
    size_t mapped;
    long calls;             /* requests so far */
    long fail_at;           /* request that fails, from 0; -1: none */
    int fail_on;            /* 1: the later ones fail as well */
} snap_memory;

void snap_memory_init(snap_memory *m);
/* Asserts that everything was given back. */
void snap_memory_fini(snap_memory *m);

/* -- random numbers -------------------------------------------------------- */

/* EG_SEED from the environment, or a fixed number. Printed. */
uint64_t snap_seed(void);
uint64_t snap_random(uint64_t *state);
/* From 0 to n - 1. */
uint32_t snap_below(uint64_t *state, uint32_t n);

/* -- sample ---------------------------------------------------------------- */

/* Appends a snapshot with every part there is: raw and encoded columns, both
 * modes, data of all kinds. */
void snap_sample(egi_buffer *b);
/* The value of its allocator entry; the entry alone, as u32 fields. */
extern const uint32_t snap_sample_allocator[];
extern const size_t snap_sample_allocator_count;

/* Pieces for snapshots of one's own. */
void snap_put_prelude(egi_writer *w, double next, double entities,
                      double records, double components);
void snap_put_component(egi_writer *w, const char *name,
                        const char *fingerprint);
void snap_put_text(egi_writer *w, const char *text);
void snap_put_raw_double(egi_writer *w, double v);
/* generation * 2^22 + slot */
double snap_id(uint32_t slot, uint32_t generation);
/* `true`, the key; the value is to follow. */
void snap_put_key(egi_writer *w, const char *key);
/* A string of u32 fields. */
void snap_put_fields(egi_writer *w, const uint32_t *fields, size_t n);

#endif
