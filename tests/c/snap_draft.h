/* SPDX-License-Identifier: MIT */
/* Snapshots under construction, for tests of eg_snap_open. */
#ifndef SNAP_DRAFT_H
#define SNAP_DRAFT_H

#include "snap_util.h"

#include "core/snap/eg_snap_verify.h"

typedef struct draft {
    egi_buffer b;
    egi_writer w;
} draft;

/* Starts with a prelude; the component table is to follow. */
void draft_begin(draft *d, double entities, double records, double components);
/* The same with the table: "A", encoded, and "P", one double. The first record
 * begins at byte 38. */
void draft_begin_two(draft *d, double entities, double records);
/* The head of a record; negative indices are left out. */
void draft_record(draft *d, double columns, double rows, double first,
                  double second, double mode);
/* Ends a draft, opens and frees it: the result must be this. at SIZE_MAX: any
 * offset; why NULL: any reason. */
void draft_expect(draft *d, int code, size_t at, const char *why);

/* Opens bytes at an odd address, in a block of their size; walks what is
 * accepted, holds the details of a refusal against the contract, closes. */
int draft_open(const void *bytes, size_t len, const eg_limits *lim,
               eg_snap_error *err);
/* Touches everything a document tells. */
void draft_walk(const eg_snap *s, size_t len);

#endif
