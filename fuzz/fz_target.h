/* SPDX-License-Identifier: MIT */
/* What a fuzz target offers: the entry that libFuzzer calls, and names and
 * counts of its stages, so that a replay can tell a target that no longer
 * reaches what it is there for. */
#ifndef FZ_TARGET_H
#define FZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends with NULL. fz_reached has a count for each. */
extern const char *const fz_stages[];
extern unsigned long fz_reached[];

#endif
