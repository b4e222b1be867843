/* SPDX-License-Identifier: MIT */
/* Loads a verified document: puts the world's content aside, builds the new one
 * in the storage of the load before, and puts the old one back on any error.
 * The swap is a change of two pointers. The mirror of eg_snap_save.c. */
#include "core/snap/eg_load.h"

#include "core/snap/eg_wire.h"

#include <string.h>

int eg_load_open(const eg_allocator *a, const void *data, size_t len,
                 const eg_limits *lim, eg_snap **snap, eg_snap_error *err)
{
    return egi_snap_open(a, data, len, lim, EGI_SNAP_DEFER, snap, err);
}

static int job_open(eg_world *w, eg_snap *snap, const eg_load_map *map,
                    eg_load **job)
{
    eg_load *l = *job;

    if (l == NULL) {
        l = egi_zalloc(&w->allocator, sizeof *l);
        if (l == NULL)
            return EG_ENOMEM;
        l->alloc = w->allocator;
        egi_buffer_init(&l->kept, &l->alloc);
        *job = l;
    }
    l->world = w;
    l->snap = snap;
    l->map = map;
    l->hosted_count = 0;
    l->clash_index = l->clash_from = l->clash_to = UINT32_MAX;
    memset(&l->error, 0, sizeof l->error);
    egi_buffer_reset(&l->kept);
    return EG_OK;
}

void eg_load_free(eg_load *l)
{
    eg_allocator a;

    if (l == NULL)
        return;
    a = l->alloc;
    egi_load_ways_fini(l);
    egi_free(&a, l->ways, l->way_capacity * sizeof *l->ways);
    egi_free(&a, l->hosted, l->hosted_capacity * sizeof *l->hosted);
    egi_buffer_fini(&l->kept);
    egi_free(&a, l, sizeof *l);
}

/* Empties the spare content, for slots up to `high`; its storage stays. */
static int spare_open(eg_world *w, uint32_t high)
{
    egi_content *c = w->spare;

    if (egi_content_open(w, c) != EG_OK)
        return EG_ENOMEM;
    for (uint32_t id = 1; id <= w->archetype_count; id++) {
        if (c->rows[id].capacity > 0)
            c->rows[id].ids[0] = 0.0;
        c->rows[id].used = 0;
    }
    /* Record high + 1 may hold a back link of the free list. */
    memset(c->slots + 1, 0, ((size_t)c->high + 1) * sizeof *c->slots);
    egi_map32_clear(&c->floors);
    c->free_head = 1;
    /* Said before a slot is written: if this load fails, the next one clears
     * as far as this one may have come. */
    c->high = high;
    c->live = c->pending = c->retired = 0;
    return EG_OK;
}

static void swap(eg_world *w)
{
    egi_content *c = w->now;

    w->now = w->spare;
    w->spare = c;
}

static int build(eg_load *l)
{
    eg_world *w = l->world;
    const eg_snap *s = l->snap;

    for (uint32_t i = 0; i < s->records.count; i++) {
        const egi_snap_record *r = &egi_snap_records(s)[i];
        egi_archetype *a = egi_archetype_at(w, l->map->archetypes[i]);
        uint32_t first = 1;
        int err;

        if (a == NULL || a->staging)
            return EG_EINVAL;
        if (r->mode != EGI_MODE_COLUMNS)
            return egi_load_fail(l, EG_ESCHEMA, r->at,
                                 "a record by rows without a sparse"
                                 " relationship");
        err = egi_load_ids(l, r, a, &first);
        if (err == EG_OK)
            err = egi_load_columns(l, i, a, first);
        if (err != EG_OK)
            return err;
    }
    return egi_load_slots(l);
}

/* Copies what the host has yet to decode, so the source may go away. */
static int keep_hosted(eg_load *l)
{
    size_t total = 0, at = 0;

    for (uint32_t i = 0; i < l->hosted_count; i++)
        total += (size_t)l->hosted[i].size;
    if (total == 0)
        return EG_OK;
    if (egi_buffer_reserve(&l->kept, total) != EG_OK)
        return EG_ENOMEM;
    for (uint32_t i = 0; i < l->hosted_count; i++) {
        eg_load_column *h = &l->hosted[i];

        if (h->size > 0)
            memcpy(l->kept.data + at, h->data, (size_t)h->size);
        h->data = l->kept.data + at;
        at += (size_t)h->size;
    }
    return EG_OK;
}

static void drop_archetypes(eg_world *w, uint32_t mark)
{
    for (uint32_t id = w->archetype_count; id > mark; id--)
        egi_archetype_drop(w, id);
}

/* The highest slot that was used when the document was made. */
static uint32_t highest_slot(const eg_snap *s)
{
    return s->allocator.present ? s->allocator.high : s->high_slot;
}

/* What can be refused before anything is touched. */
static int check(eg_load *l)
{
    if (highest_slot(l->snap) > l->world->max_entities)
        return egi_load_fail(l, EG_ELIMIT, 0, "a slot above maxEntities");
    return egi_load_ways(l);
}

static int begin(eg_load *l, uint32_t flags)
{
    eg_world *w = l->world;
    int code = check(l);

    if (code == EG_OK)
        code = spare_open(w, highest_slot(l->snap));
    if (code == EG_OK) {
        swap(w);
        w->loading = 1;
        code = build(l);
    }
    if (code == EG_OK && (flags & EG_LOAD_COPY))
        code = keep_hosted(l);
    egi_load_ways_fini(l);
    return code;
}

int eg_load_begin(eg_world *w, eg_snap *snap, const eg_load_map *map,
                  uint32_t mark, uint32_t flags, eg_load **job,
                  eg_snap_error *err)
{
    int busy = w->loading || w->staged;
    int code = busy ? EG_EBUSY : job_open(w, snap, map, job);
    eg_snap_error none = {0, 0, 0, 0.0, NULL};

    if (code == EG_OK)
        code = begin(*job, flags);
    if (err != NULL) {
        *err = !busy && *job != NULL ? (*job)->error : none;
        err->code = code;
    }
    if (code != EG_OK && !busy)
        eg_load_rollback(w, mark);
    return code;
}

uint32_t eg_load_hosted(const eg_load *l, const eg_load_column **out)
{
    *out = l->hosted;
    return l->hosted_count;
}

void eg_load_clash(const eg_load *l, uint32_t *index, uint32_t *from,
                   uint32_t *to)
{
    *index = l->clash_index;
    *from = l->clash_from;
    *to = l->clash_to;
}

void eg_load_commit(eg_world *w)
{
    w->loading = 0;
}

void eg_load_rollback(eg_world *w, uint32_t mark)
{
    if (w->loading) {
        if (w->cmd_clear != NULL)
            w->cmd_clear(w);
        swap(w);
        w->loading = 0;
        for (uint32_t id = mark + 1; id <= w->archetype_count; id++)
            if (w->spare->rows[id].capacity > 0)
                w->spare->rows[id].ids[0] = 0.0;
    }
    drop_archetypes(w, mark);
}
