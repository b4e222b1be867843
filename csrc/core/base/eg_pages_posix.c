/* SPDX-License-Identifier: MIT */
/* Zeroed pages from the operating system, POSIX.
 *
 * Touching a fresh 4 KiB page costs far more than filling it, so large blocks
 * ask for huge pages where the system has them. The request is a hint: its
 * failure changes speed only. */
#define _DEFAULT_SOURCE
#include "core/base/eg_alloc.h"

#include <sys/mman.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

enum { HUGE_PAGE = 2 * 1024 * 1024 };

void *egi_pages_map(void *ctx, size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    (void)ctx;
    if (p == MAP_FAILED)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (size >= 2 * (size_t)HUGE_PAGE)
        (void)madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

void egi_pages_unmap(void *ctx, void *p, size_t size)
{
    (void)ctx;
    (void)munmap(p, size);
}
