/* SPDX-License-Identifier: MIT */
/* Worlds: birth, death, and the calls that concern all of one. */
#include "core/store/eg_store.h"

#include <string.h>

/* A NaN equals nothing, so record 0 never matches an id. */
static double not_an_id(void)
{
    uint64_t bits = 0x7ff8000000000000U;
    double d;

    memcpy(&d, &bits, sizeof d);
    return d;
}

int egi_content_open(eg_world *w, egi_content *c)
{
    if (c->slots != NULL)
        return EG_OK;
    c->slots = egi_map(&w->allocator, egi_slots_bytes(w));
    if (c->slots == NULL)
        return EG_ENOMEM;
    c->slots[0].id = not_an_id();
    c->free_head = 1;
    return EG_OK;
}

static void content_free(eg_world *w, egi_content *c)
{
    for (uint32_t i = 0; i < c->rows_capacity; i++)
        egi_rows_free(w, &c->rows[i]);
    egi_free(&w->allocator, c->rows, c->rows_capacity * sizeof *c->rows);
    egi_unmap(&w->allocator, c->slots, egi_slots_bytes(w));
    egi_map32_fini(&c->floors, &w->allocator);
    memset(c, 0, sizeof *c);
}

int eg_world_new(eg_registry *r, uint32_t max_entities, const eg_allocator *a,
                 eg_world **out)
{
    eg_world *w;

    if (r == NULL || out == NULL || max_entities < 1 ||
        max_entities > EG_MAX_ENTITIES)
        return EG_EINVAL;
    if (a == NULL)
        a = &egi_default_allocator;
    w = egi_zalloc(a, sizeof *w);
    if (w == NULL)
        return EG_ENOMEM;
    w->allocator = *a;
    w->registry = r;
    r->references++;
    w->max_entities = max_entities;
    w->now = &w->content[0];
    w->spare = &w->content[1];
    if (egi_content_open(w, w->now) != EG_OK) {
        eg_world_free(w);
        return EG_ENOMEM;
    }
    *out = w;
    return EG_OK;
}

void eg_world_free(eg_world *w)
{
    eg_allocator a;

    if (w == NULL)
        return;
    a = w->allocator;
    if (w->cmd_free != NULL)
        w->cmd_free(w);
    if (w->queries_free != NULL)
        w->queries_free(w);
    content_free(w, &w->content[0]);
    content_free(w, &w->content[1]);
    for (uint32_t id = 1; id <= w->archetype_count; id++)
        egi_archetype_free(w, w->archetypes[id]);
    egi_free(&a, w->archetypes, w->archetype_capacity * sizeof *w->archetypes);
    egi_free(&a, w->sets, w->set_capacity * sizeof *w->sets);
    egi_map32_fini(&w->held, &a);
    eg_registry_release(w->registry);
    egi_free(&a, w, sizeof *w);
}

static uint64_t content_bytes(const eg_world *w, const egi_content *c)
{
    uint64_t bytes = c->slots ? ((uint64_t)c->high + 1) * sizeof(eg_slot) : 0;

    for (uint32_t id = 1; id <= w->archetype_count; id++)
        bytes += c->rows[id].block_size;
    return bytes;
}

void eg_world_stats(const eg_world *w, eg_stats *out)
{
    memset(out, 0, sizeof *out);
    out->entities = w->now->live;
    out->max_entities = w->max_entities;
    out->high_slot = w->now->high;
    out->retired = w->now->retired;
    out->components = w->held.count;
    out->bytes =
        content_bytes(w, &w->content[0]) + content_bytes(w, &w->content[1]);
    for (uint32_t id = 1; id <= w->archetype_count; id++)
        if (w->archetypes[id] != NULL && !w->archetypes[id]->staging)
            out->archetypes++;
}

eg_slot *eg_world_slots(eg_world *w)
{
    return w->now->slots;
}

void eg_world_clear(eg_world *w)
{
    if (w->cmd_clear != NULL)
        w->cmd_clear(w);
    for (uint32_t id = 1; id <= w->archetype_count; id++)
        if (w->now->rows[id].capacity > 0)
            w->now->rows[id].ids[0] = 0.0;
    egi_slots_clear(w);
}

uint32_t eg_world_compact(eg_world *w)
{
    uint32_t shrunk = 0;
    egi_content *spare = w->spare;

    if (w->loading)
        return 0; /* spare is what a rollback puts back */
    for (uint32_t id = 1; id <= w->archetype_count; id++) {
        egi_rows_free(w, &spare->rows[id]);
        if (w->archetypes[id] != NULL)
            shrunk += (uint32_t)egi_rows_shrink(w, w->archetypes[id]);
    }
    egi_unmap(&w->allocator, spare->slots, egi_slots_bytes(w));
    egi_map32_fini(&spare->floors, &w->allocator);
    spare->slots = NULL;
    spare->high = 0;
    return shrunk;
}
