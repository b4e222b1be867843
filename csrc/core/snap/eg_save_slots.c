/* SPDX-License-Identifier: MIT */
/* The allocator entry of a save: what makes dead ids stay dead and new ids
 * continue as in the original world. The drawing is in eg_wire.h. */
#include "core/snap/eg_save.h"

#include "core/snap/eg_wire.h"

#include <string.h>

static uint32_t next_free(const egi_content *c, uint32_t slot)
{
    return (uint32_t)((int32_t)slot + 1 + c->slots[slot].archetype);
}

static uint32_t next_generation(const egi_content *c, uint32_t slot)
{
    return (uint32_t)(-c->slots[slot].id / EGI_SLOT_COUNT);
}

/* The free list, ascending runs of one generation written as one item. Slots
 * above `high` were never used and follow by themselves. */
static void put_free_list(egi_writer *w, const egi_content *c)
{
    uint32_t slot = c->free_head;

    while (slot <= c->high) {
        uint32_t first = slot, count = 1;
        uint32_t generation = next_generation(c, slot);

        slot = next_free(c, slot);
        while (slot == first + count && slot <= c->high &&
               next_generation(c, slot) == generation) {
            count++;
            slot = next_free(c, slot);
        }
        egi_put_u32(w, first);
        if (count == 1) {
            egi_put_u32(w, generation);
        } else {
            egi_put_u32(w, generation | EGI_ALLOCATOR_RUN);
            egi_put_u32(w, count);
        }
    }
}

int egi_save_allocator(eg_save *s, egi_buffer *out)
{
    const egi_content *c = s->world->now;
    egi_writer w;
    uint32_t floors = 0;

    egi_writer_init_buffer(&w, out);
    egi_put_u32(&w, c->high);
    egi_put_u32(&w, c->high - c->live - c->retired);
    egi_put_u32(&w, c->retired);
    egi_put_u32(&w, c->floors.count);
    put_free_list(&w, c);
    for (uint32_t i = 1; i <= c->high && c->retired > 0; i++)
        if (c->slots[i].id <= -2147483648.0 * EGI_SLOT_COUNT)
            egi_put_u32(&w, i);
    for (uint32_t i = 1; i <= c->high && floors < c->floors.count; i++) {
        uint32_t highest = egi_map32_get(&c->floors, i);

        if (highest != 0) {
            egi_put_u32(&w, i);
            egi_put_u32(&w, highest);
            floors++;
        }
    }
    return egi_writer_end(&w);
}
