/* SPDX-License-Identifier: MIT */
/* The graph between archetypes: one component more, one component less. Edges
 * are found once and cached in both directions. An edge to an archetype that
 * was dropped reads as absent, so dropping touches no neighbour. */
#include "core/store/eg_store.h"

#include <string.h>

static int edge_make(eg_world *w, egi_archetype *a, uint32_t component,
                     int adding, uint32_t *out)
{
    uint32_t n = 0, max = a->count + 1;
    uint32_t *set = egi_alloc(&w->allocator, max * sizeof *set);
    egi_archetype *b;
    int err;

    if (set == NULL)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->components[i] != component)
            set[n++] = a->components[i];
    if (adding)
        set[n++] = component;
    err = eg_archetype_get(w, set, n, a->staging, out);
    egi_free(&w->allocator, set, max * sizeof *set);
    if (err != EG_OK)
        return err;
    b = w->archetypes[*out];
    /* A failure here only costs the cache: the answer stands. */
    if (egi_map32_set(adding ? &a->add : &a->remove, &w->allocator, component,
                      b->id) == EG_OK)
        (void)egi_map32_set(adding ? &b->remove : &b->add, &w->allocator,
                            component, a->id);
    return EG_OK;
}

static int edge_follow(eg_world *w, uint32_t archetype, uint32_t component,
                       int adding, uint32_t *out)
{
    egi_archetype *a = egi_archetype_at(w, archetype);
    uint32_t id;

    if (a == NULL || component == 0 || component > w->registry->count)
        return EG_EINVAL;
    id = egi_map32_get(adding ? &a->add : &a->remove, component);
    if (egi_archetype_at(w, id) != NULL) {
        *out = id;
        return EG_OK;
    }
    if (egi_archetype_holds(a, component) == adding) {
        *out = archetype;
        return EG_OK;
    }
    return edge_make(w, a, component, adding, out);
}

int eg_archetype_add(eg_world *w, uint32_t archetype, uint32_t component,
                     uint32_t *out)
{
    return edge_follow(w, archetype, component, 1, out);
}

int eg_archetype_remove(eg_world *w, uint32_t archetype, uint32_t component,
                        uint32_t *out)
{
    return edge_follow(w, archetype, component, 0, out);
}

uint32_t eg_archetype_count(const eg_world *w)
{
    return w->archetype_count;
}

int eg_archetype_read(eg_world *w, uint32_t archetype, eg_archetype_view *out)
{
    const egi_archetype *a = egi_archetype_at(w, archetype);
    const egi_rows *r;

    if (a == NULL)
        return 0;
    r = egi_rows_of(w, archetype);
    out->entities = r->ids;
    out->components = a->components;
    out->canonical = a->canonical;
    out->component_count = a->count;
    out->capacity = r->capacity;
    out->id = a->id;
    out->staging = a->staging;
    return 1;
}

void *eg_archetype_column(eg_world *w, uint32_t archetype, uint32_t component)
{
    const egi_archetype *a = egi_archetype_at(w, archetype);
    int i = a != NULL ? egi_byte_index(a, component) : -1;
    const egi_rows *r;

    if (i < 0)
        return NULL;
    r = egi_rows_of(w, archetype);
    return r->columns != NULL ? r->columns[i] : NULL;
}

int eg_archetype_has(eg_world *w, uint32_t archetype, uint32_t component)
{
    const egi_archetype *a = egi_archetype_at(w, archetype);

    return a != NULL && egi_archetype_holds(a, component);
}

int eg_archetype_reserve(eg_world *w, uint32_t archetype, uint32_t rows)
{
    egi_archetype *a = egi_archetype_at(w, archetype);

    return a != NULL ? egi_rows_reserve(w, a, rows) : EG_EINVAL;
}

void eg_archetype_attend(eg_world *w, uint32_t archetype, int on)
{
    egi_archetype *a = egi_archetype_at(w, archetype);

    if (a != NULL)
        a->attended = on != 0;
}

void egi_touch(eg_world *w, egi_archetype *a, int why)
{
    if (a->touched == 0) {
        a->touched_next = w->touched;
        w->touched = a->id;
    }
    a->touched |= (uint8_t)why;
}

uint32_t eg_archetype_touched(eg_world *w, uint32_t *flags)
{
    uint32_t id = w->touched;
    egi_archetype *a;

    if (id == 0)
        return 0;
    a = w->archetypes[id];
    w->touched = a->touched_next;
    *flags = a->touched;
    a->touched = 0;
    return id;
}

void egi_untouch(eg_world *w, const egi_archetype *a)
{
    uint32_t *link = &w->touched;

    while (a->touched != 0 && *link != a->id)
        link = &w->archetypes[*link]->touched_next;
    if (a->touched != 0)
        *link = a->touched_next;
}
