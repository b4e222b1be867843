/* SPDX-License-Identifier: MIT */
/* Row storage: one block per archetype that holds the id column, the byte
 * columns and the table of their addresses. Single rows are in eg_move.c.
 *
 * Row 1 of every column is 64-byte aligned and row 0 exists (ids[0] is the row
 * count), so an index from 1 needs no arithmetic outside its object. Blocks
 * double; large ones come from the page allocator. */
#include "core/store/eg_store.h"

#include <string.h>

enum { ROW_ALIGN = 64, FIRST_ROWS = 16, PAGE_BLOCK = 256 * 1024 };

/* Where things lie in a block for `capacity` rows. Offsets are of row 1. */
static int add_column(size_t *at, size_t row_size, uint32_t capacity,
                      size_t *row1)
{
    size_t bytes;

    /* Room for row 0 in front, then up to the next aligned row 1. */
    if (egi_add_size(*at, row_size + ROW_ALIGN - 1, &bytes) != EG_OK)
        return EG_ENOMEM;
    *row1 = bytes & ~(size_t)(ROW_ALIGN - 1);
    if (egi_mul_size(row_size, capacity, &bytes) != EG_OK)
        return EG_ENOMEM;
    return egi_add_size(*row1, bytes, at);
}

static void *block_new(const eg_allocator *a, size_t size)
{
    return size >= PAGE_BLOCK ? egi_map(a, size) : egi_zalloc(a, size);
}

static void block_free(const eg_allocator *a, void *block, size_t size)
{
    if (size >= PAGE_BLOCK)
        egi_unmap(a, block, size);
    else
        egi_free(a, block, size);
}

/* Builds an empty rows with the given capacity (> 0). */
static int rows_new(const eg_allocator *al, const egi_archetype *a,
                    uint32_t capacity, egi_rows *out)
{
    size_t table = a->byte_count * sizeof(unsigned char *);
    size_t size = table, row1;
    unsigned char *base;
    uintptr_t start;

    if (add_column(&size, sizeof(double), capacity, &row1) != EG_OK)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < a->byte_count; i++)
        if (add_column(&size, a->bytes[i].size, capacity, &row1) != EG_OK)
            return EG_ENOMEM;
    if (egi_add_size(size, ROW_ALIGN, &size) != EG_OK)
        return EG_ENOMEM;
    out->block = block_new(al, size);
    if (out->block == NULL)
        return EG_ENOMEM;
    out->block_size = size;
    out->capacity = capacity;
    out->used = 0;
    /* The offsets above count from an aligned address. */
    start = (uintptr_t)out->block;
    base = (unsigned char *)out->block +
           ((ROW_ALIGN - start % ROW_ALIGN) % ROW_ALIGN);
    out->columns = (unsigned char **)(void *)base;
    size = table;
    (void)add_column(&size, sizeof(double), capacity, &row1);
    out->ids = (double *)(void *)(base + row1) - 1;
    for (uint32_t i = 0; i < a->byte_count; i++) {
        (void)add_column(&size, a->bytes[i].size, capacity, &row1);
        out->columns[i] = base + row1 - a->bytes[i].size;
    }
    return EG_OK;
}

void egi_rows_free(eg_world *w, egi_rows *r)
{
    if (r->block != NULL)
        block_free(&w->allocator, r->block, r->block_size);
    memset(r, 0, sizeof *r);
    r->ids = w->empty;
}

/* Moves the rows into storage of another capacity (>= their count). */
static int rows_resize(eg_world *w, egi_archetype *a, uint32_t capacity)
{
    egi_rows *r = egi_rows_of(w, a->id), fresh;
    size_t count = egi_count(r);

    if (rows_new(&w->allocator, a, capacity, &fresh) != EG_OK)
        return EG_ENOMEM;
    memcpy(fresh.ids, r->ids, (count + 1) * sizeof(double));
    for (uint32_t i = 0; i < a->byte_count && count > 0; i++) {
        size_t size = a->bytes[i].size;

        memcpy(fresh.columns[i] + size, r->columns[i] + size, count * size);
    }
    fresh.used = r->used;
    egi_rows_free(w, r);
    *r = fresh;
    egi_touch(w, a, EG_TOUCHED_STORAGE);
    return EG_OK;
}

int egi_rows_grow(eg_world *w, egi_archetype *a, uint32_t rows)
{
    const egi_rows *r = egi_rows_of(w, a->id);
    uint32_t count = egi_count(r), capacity = r->capacity;

    if (rows > UINT32_MAX / 2 - count)
        return EG_ENOMEM;
    capacity = capacity * 2;
    if (capacity < FIRST_ROWS)
        capacity = FIRST_ROWS;
    if (capacity < count + rows)
        capacity = count + rows;
    return rows_resize(w, a, capacity);
}

int egi_rows_shrink(eg_world *w, egi_archetype *a)
{
    egi_rows *r = egi_rows_of(w, a->id);
    uint32_t count = egi_count(r);

    if (r->capacity == 0 || (count > 0 && r->capacity - count < FIRST_ROWS))
        return 0;
    if (count > 0)
        return rows_resize(w, a, count) == EG_OK;
    egi_rows_free(w, r);
    egi_touch(w, a, EG_TOUCHED_STORAGE);
    return 1;
}

int egi_byte_index(const egi_archetype *a, uint32_t component)
{
    for (uint32_t i = 0; i < a->byte_count; i++)
        if (a->bytes[i].component == component)
            return (int)i;
    return -1;
}

void egi_rows_zero(const egi_archetype *a, egi_rows *r, uint32_t first,
                   uint32_t count)
{
    for (uint32_t i = 0; i < a->byte_count && count > 0; i++) {
        size_t size = a->bytes[i].size;

        memset(r->columns[i] + first * size, 0, count * size);
    }
}
