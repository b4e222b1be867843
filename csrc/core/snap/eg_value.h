/* SPDX-License-Identifier: MIT */
/* Walks encoded values of untrusted bytes without building anything.
 *
 * What a walk accepts, a decoder may build without further checks: every count
 * fits the bytes left, tags are known, NaN has its one pattern, keys are
 * booleans, strings or numbers other than NaN, and no key comes twice (int32 5
 * and double 5.0 are one key, 0 and -0 are one, and a key that falls into the
 * array part of its table is there already). The nesting is limited; the walk
 * itself does not recurse.
 *
 * Memory: 48 bytes per open table, and 16 bytes per pair of open tables. The
 * bytes a table still needs are owed to it while nested ones are checked, so
 * all open tables together claim no more pairs than the input can hold. */
#ifndef EGI_VALUE_H
#define EGI_VALUE_H

#include "core/snap/eg_reader.h"

struct egi_walk_frame;

/* Memory of walks, kept from one to the next. */
typedef struct egi_walker {
    const eg_allocator *alloc;
    struct egi_walk_frame *frames;
    size_t frame_capacity;
    uint64_t *cells;            /* keys of open tables */
    size_t cell_capacity;
    uint32_t depth;             /* tables that may be open at once */
} egi_walker;

void egi_walker_init(egi_walker *w, const eg_allocator *alloc, uint32_t depth);
void egi_walker_fini(egi_walker *w);

/* Steps over one value. Returns the reader's sticky error: EG_ETRUNC,
 * EG_ECORRUPT, EG_ELIMIT (nesting), EG_ENOMEM. About linear in its bytes. */
int egi_value_skip(egi_reader *r, egi_walker *w);
/* Steps over `count` values in a row; a count above the bytes left is
 * EG_ETRUNC at once. */
int egi_value_skip_many(egi_reader *r, egi_walker *w, size_t count);

#endif
