/* SPDX-License-Identifier: MIT */
/* The invariant walker: reads every structure of a world and says which rule
 * of eg_store.h is broken. It is slow and meant for tests, which call it after
 * every step; it allocates nothing and changes nothing. */
#include "core/store/eg_store.h"

static const char *check_rows(const eg_world *w, const egi_archetype *a)
{
    const egi_rows *r = egi_rows_of(w, a->id);
    uint32_t count = egi_count(r), used = 0;

    if (r->ids[0] != (double)count)
        return "row count is no integer";
    if (count > r->capacity)
        return "more rows than capacity";
    for (uint32_t i = 0; i < a->byte_count && r->capacity > 0; i++)
        if (((uintptr_t)r->columns[i] + a->bytes[i].size) % 64 != 0)
            return "row 1 of a column is not aligned";
    for (uint32_t row = 1; row <= count; row++) {
        double id = r->ids[row];
        const eg_slot *slot;

        used += id != 0.0;
        if (a->staging)
            continue;
        slot = egi_find(w, id);
        if (slot == NULL)
            return "a row holds an id that is not alive";
        if ((uint32_t)slot->archetype != a->id || (uint32_t)slot->row != row)
            return "a row and its slot disagree";
    }
    if (a->staging && used != r->used)
        return "staged rows are miscounted";
    return NULL;
}

static const char *check_shell(const eg_world *w, const egi_archetype *a)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        if (i > 0 && a->components[i] <= a->components[i - 1])
            return "components of an archetype do not ascend";
        if (i > 0 && egi_component_compare(w->registry, a->canonical[i - 1],
                                           a->canonical[i]) >= 0)
            return "canonical order of an archetype is wrong";
        bytes += w->registry->defs[a->components[i] - 1]->size > 0;
    }
    return bytes == a->byte_count ? NULL : "byte columns are miscounted";
}

/* The free list: linked both ways, free slots only, none missing. */
static const char *check_free_list(const eg_world *w)
{
    const egi_content *c = w->now;
    uint32_t prev = 0, s = c->free_head, seen = 0;

    while (s <= w->max_entities) {
        const eg_slot *slot = &c->slots[s];

        if (s == 0 || ++seen > w->max_entities)
            return "the free list has a cycle";
        if (slot->id > 0.0 || egi_slot_of(-slot->id) != 0 ||
            slot->id <= -2147483648.0 * EGI_SLOT_COUNT)
            return "the free list holds a slot that is not free";
        if (prev != 0 && (int32_t)s - 1 + slot->row != (int32_t)prev)
            return "the free list's back link is wrong";
        prev = s;
        s = (uint32_t)((int32_t)s + 1 + slot->archetype);
    }
    if (s != w->max_entities + 1)
        return "the free list leaves the index";
    if (seen + c->live + c->pending + c->retired != w->max_entities)
        return "free, live, pending and retired slots do not add up";
    return NULL;
}

static const char *check_slots(const eg_world *w)
{
    const egi_content *c = w->now;
    uint32_t live = 0, pending = 0, retired = 0;

    if (c->slots[0].id == c->slots[0].id)
        return "record 0 matches an id";
    for (uint32_t s = 1; s <= c->high; s++) {
        double id = c->slots[s].id;

        if (id > 0.0 && egi_slot_of(id) != s)
            return "a record holds an id of another slot";
        live += id > 0.0;
        pending += id < 0.0 && egi_slot_of(-id) != 0;
        retired += id <= -2147483648.0 * EGI_SLOT_COUNT;
        if (id <= 0.0 && egi_map32_get(&c->floors, s) != 0 &&
            egi_slot_of(-id) == 0)
            return "a free slot has a floor";
    }
    if (c->high < w->max_entities && c->slots[c->high + 1].id != 0.0)
        return "a slot above the highest used one was used";
    if (live != c->live || pending != c->pending || retired != c->retired)
        return "slots are miscounted";
    return NULL;
}

const char *eg_world_check(eg_world *w)
{
    const char *fault = check_slots(w);
    uint64_t rows = 0;

    if (fault == NULL)
        fault = check_free_list(w);
    for (uint32_t id = 1; fault == NULL && id <= w->archetype_count; id++) {
        const egi_archetype *a = w->archetypes[id];

        if (a == NULL)
            continue;
        fault = check_shell(w, a);
        if (fault == NULL)
            fault = check_rows(w, a);
        rows += a->staging ? 0 : egi_count(egi_rows_of(w, id));
    }
    if (fault == NULL && rows != w->now->live)
        fault = "live entities and rows differ in number";
    return fault;
}
