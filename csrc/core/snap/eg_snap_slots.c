/* SPDX-License-Identifier: MIT */
/* The allocator entry: is it a sound state of a slot index, and does it go with
 * the ids of the snapshot? See eg_wire.h for its layout.
 *
 * Live slots are marked when this runs. Free and retired ones are marked as
 * they are listed, so a slot with two uses is found at its second one; and as
 * each list names only slots up to the high-water mark, the three numbers add
 * up to it exactly when no slot is left out. */
#include "core/snap/eg_snap_verify.h"

enum {
    FREE_ITEM = 8, /* bytes of a free slot; a run has 4 more */
    RETIRED_ITEM = 4,
    FLOOR_ITEM = 8
};

/* A cursor over the u32 fields of the entry. */
typedef struct fields {
    eg_snap *s;
    egi_reader *r;
    size_t pos;
    size_t end;
} fields;

static size_t left(const fields *f)
{
    return f->end - f->pos;
}

/* The next field; there is one. */
static uint32_t next(fields *f)
{
    uint32_t v = egi_load_u32(f->r->data + f->pos);

    f->pos += 4;
    return v;
}

static int damaged(const fields *f, const char *why)
{
    return EGI_CORRUPT_AT(f->r, f->pos - 4, why);
}

/* Marks a slot that a list names. */
static int take_slot(fields *f, uint32_t slot)
{
    if (slot == 0 || slot > f->s->allocator.high)
        return damaged(f, "allocator: slot above the high-water mark");
    if (!egi_snap_mark(f->s, slot))
        return damaged(f, "allocator: slot has two uses");
    return EG_OK;
}

static int check_free(fields *f)
{
    egi_snap_allocator *a = &f->s->allocator;
    uint32_t listed = 0;

    a->free_at = f->pos;
    while (listed < a->free_count) {
        uint32_t slot;
        uint32_t generation;
        uint32_t count = 1;

        if (left(f) < FREE_ITEM)
            return damaged(f, "allocator: free list is cut off");
        slot = next(f);
        generation = next(f);
        if (generation & EGI_ALLOCATOR_RUN) {
            if (left(f) < 4)
                return damaged(f, "allocator: free list is cut off");
            count = next(f);
            if (count < 2)
                return damaged(f, "allocator: run of less than two slots");
        }
        if (count > a->free_count - listed)
            return damaged(f, "allocator: more free slots than stated");
        for (uint32_t i = 0; i < count; i++) {
            if (take_slot(f, slot + i) != EG_OK)
                return f->r->error;
        }
        listed += count;
    }
    return EG_OK;
}

static int check_retired(fields *f)
{
    egi_snap_allocator *a = &f->s->allocator;
    uint32_t last = 0;

    a->retired_at = f->pos;
    if (left(f) / RETIRED_ITEM < a->retired_count)
        return damaged(f, "allocator: list of retired slots is cut off");
    for (uint32_t i = 0; i < a->retired_count; i++) {
        uint32_t slot = next(f);

        if (slot <= last)
            return damaged(f, "allocator: retired slots do not ascend");
        if (take_slot(f, slot) != EG_OK)
            return f->r->error;
        last = slot;
    }
    return EG_OK;
}

/* Runs before free and retired slots are marked, so a mark means "live". */
static int check_floors(fields *f)
{
    egi_snap_allocator *a = &f->s->allocator;
    uint32_t last = 0;

    a->floors_at = f->end - (size_t)a->floor_count * FLOOR_ITEM;
    f->pos = a->floors_at;
    for (uint32_t i = 0; i < a->floor_count; i++) {
        uint32_t slot = next(f);

        if (slot <= last)
            return damaged(f, "allocator: floors do not ascend");
        if (slot > EG_MAX_ENTITIES || !egi_snap_marked(f->s, slot))
            return damaged(f, "allocator: floor of a slot that is not live");
        if (next(f) > EGI_GENERATION_MAX)
            return damaged(f, "allocator: generation out of range");
        last = slot;
    }
    return EG_OK;
}

static int check_head(fields *f)
{
    egi_snap_allocator *a = &f->s->allocator;

    if (left(f) < EGI_ALLOCATOR_HEAD)
        return EGI_CORRUPT_AT(f->r, f->pos, "allocator: too short");
    a->high = next(f);
    if (a->high > EG_MAX_ENTITIES || a->high < f->s->high_slot)
        return damaged(f, "allocator: bad high-water mark");
    a->free_count = next(f);
    if (a->free_count > a->high)
        return damaged(f, "allocator: bad number of free slots");
    a->retired_count = next(f);
    if (a->high - a->free_count < f->s->entities ||
        a->retired_count != a->high - a->free_count - f->s->entities)
        return damaged(f, "allocator: slots do not add up");
    a->floor_count = next(f);
    if (a->floor_count > left(f) / FLOOR_ITEM)
        return damaged(f, "allocator: list of floors is cut off");
    return EG_OK;
}

int egi_snap_check_allocator(eg_snap *s, egi_reader *r, size_t at, size_t len)
{
    fields f = {s, r, at, at + len};
    size_t lists;

    if (check_head(&f) != EG_OK)
        return r->error;
    lists = f.pos;
    if (check_floors(&f) != EG_OK)
        return r->error;
    f.pos = lists;
    f.end = s->allocator.floors_at;
    if (check_free(&f) != EG_OK || check_retired(&f) != EG_OK)
        return r->error;
    if (left(&f) != 0)
        return EGI_CORRUPT_AT(r, f.pos, "allocator: leftover bytes");
    s->allocator.present = 1;
    return EG_OK;
}
