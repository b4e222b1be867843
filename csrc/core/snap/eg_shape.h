/* SPDX-License-Identifier: MIT */
/* Rows that look alike: a short cut for walking the column of a component.
 *
 * The rows of one component mostly are tables of the same few keys in the same
 * order, and only the scalars differ. A shape remembers the bytes of head and
 * keys of a row that was walked in full; a row with the very same bytes in
 * these places has distinct keys as well, so only its values need a look. Any
 * row that differs goes the long way. May include: base, eg_reader. */
#ifndef EGI_SHAPE_H
#define EGI_SHAPE_H

#include "core/snap/eg_reader.h"

enum { EGI_SHAPE_KEYS = 16 };

/* parts[i] are the bytes before value i, in the input itself. */
typedef struct egi_shape {
    const uint8_t *parts[EGI_SHAPE_KEYS];
    uint32_t sizes[EGI_SHAPE_KEYS];
    uint32_t count;         /* 0: no shape */
} egi_shape;

/* Learns the shape of the row that begins at `at` and was walked just now; a
 * row that is no small table of scalars gives none. */
void egi_shape_learn(egi_shape *s, const egi_reader *r, size_t at);
/* Steps over rows of this shape, `most` at the most; returns their number. The
 * reader stands before the first row that is not, and has no error. */
size_t egi_shape_run(const egi_shape *s, egi_reader *r, size_t most);

#endif
