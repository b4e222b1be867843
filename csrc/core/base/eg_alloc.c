/* SPDX-License-Identifier: MIT */
/* The default allocator and the checked size arithmetic. This file and
 * eg_pages_*.c are the only ones that talk to the C library about memory. */
#include "core/base/eg_alloc.h"

#include "core/base/eg_assert.h"

#include <stdlib.h>
#include <string.h>

static void *default_resize(void *ctx, void *p, size_t old_size,
                            size_t new_size)
{
    (void)ctx;
    (void)old_size;
    if (new_size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, new_size);
}

const eg_allocator egi_default_allocator = {
    default_resize,
    egi_pages_map,
    egi_pages_unmap,
    NULL,
};

void *egi_alloc(const eg_allocator *a, size_t size)
{
    egi_assert(size > 0);
    return a->resize(a->ctx, NULL, 0, size);
}

void *egi_zalloc(const eg_allocator *a, size_t size)
{
    void *p = egi_alloc(a, size);

    if (p != NULL)
        memset(p, 0, size);
    return p;
}

void *egi_resize(const eg_allocator *a, void *p, size_t old_size, size_t size)
{
    egi_assert(size > 0);
    return a->resize(a->ctx, p, old_size, size);
}

void egi_free(const eg_allocator *a, void *p, size_t size)
{
    if (p != NULL)
        a->resize(a->ctx, p, size, 0);
}

void *egi_map(const eg_allocator *a, size_t size)
{
    egi_assert(size > 0);
    return a->map(a->ctx, size);
}

void egi_unmap(const eg_allocator *a, void *p, size_t size)
{
    if (p != NULL)
        a->unmap(a->ctx, p, size);
}

int egi_mul_size(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return EG_ENOMEM;
    *out = a * b;
    return EG_OK;
}

int egi_add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b)
        return EG_ENOMEM;
    *out = a + b;
    return EG_OK;
}

int egi_grow(const eg_allocator *a, void **p, uint32_t *cap, uint32_t need,
             size_t size)
{
    size_t bytes;
    uint32_t wanted = *cap;
    void *grown;

    if (need <= wanted)
        return EG_OK;
    while (wanted < need)
        wanted = wanted == 0 ? 8 : wanted > UINT32_MAX / 2 ? need : wanted * 2;
    if (egi_mul_size(wanted, size, &bytes) != EG_OK)
        return EG_ENOMEM;
    grown = egi_resize(a, *p, (size_t)*cap * size, bytes);
    if (grown == NULL)
        return EG_ENOMEM;
    *p = grown;
    *cap = wanted;
    return EG_OK;
}
