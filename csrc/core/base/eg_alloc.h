/* SPDX-License-Identifier: MIT */
/* The only way to memory.
 *
 * Every block of the core comes from an eg_allocator, so a test can fail the
 * n-th request, and a host can count or place what engram uses. Sizes are
 * computed with the checked helpers below before anything is requested. May
 * include: nothing of the core. */
#ifndef EGI_ALLOC_H
#define EGI_ALLOC_H

#include "include/eg_types.h"

/* realloc and anonymous pages of the process. */
extern const eg_allocator egi_default_allocator;

/* A block of `size` bytes, uninitialised; NULL when there is none. size > 0. */
void *egi_alloc(const eg_allocator *a, size_t size);
/* The same, filled with zeros. */
void *egi_zalloc(const eg_allocator *a, size_t size);
/* Resizes a block; on failure NULL, and the old block is untouched. */
void *egi_resize(const eg_allocator *a, void *p, size_t old_size, size_t size);
void egi_free(const eg_allocator *a, void *p, size_t size);

/* Zeroed, page-aligned, lazily backed memory; large blocks ask for huge
 * pages. Unmap with the very size that was mapped. NULL is ignored. */
void *egi_map(const eg_allocator *a, size_t size);
void egi_unmap(const eg_allocator *a, void *p, size_t size);

/* *out = a * b, or a + b; EG_ENOMEM when it does not fit (out untouched). */
int egi_mul_size(size_t a, size_t b, size_t *out);
int egi_add_size(size_t a, size_t b, size_t *out);

/* Makes room for `need` elements of `size` bytes in *p, doubling; *cap is the
 * number of elements there is room for. EG_ENOMEM leaves both as they were. */
int egi_grow(const eg_allocator *a, void **p, uint32_t *cap, uint32_t need,
             size_t size);

/* System pages, used by the default allocator. Defined per platform. */
void *egi_pages_map(void *ctx, size_t size);
void egi_pages_unmap(void *ctx, void *p, size_t size);

#endif
