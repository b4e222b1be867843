/* SPDX-License-Identifier: MIT */
/* The invariant walker: reads every structure of a world and says which rule
 * of eg_store.h is broken. It is slow and meant for tests, which call it after
 * every step; it allocates nothing and changes nothing. Queries and staged
 * work add their own rules through hooks. */
#include "core/store/eg_store.h"

static const char *check_rows(const eg_world *w, const egi_archetype *a)
{
    const egi_rows *r = egi_rows_of(w, a->id);
    uint32_t count = egi_count(r), used = 0;

    if (r->ids[0] != (double)count)
        return "row count is no integer";
    if (count > r->capacity)
        return "more rows than capacity";
    if ((r->capacity == 0) != (r->ids == w->empty) ||
        (r->capacity == 0) != (r->block == NULL))
        return "rows and their storage disagree";
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
    if (a->staging && (used != r->used || (count > 0 && r->ids[count] == 0.0)))
        return "staged rows are miscounted";
    return NULL;
}

static const char *check_shell(const eg_world *w, const egi_archetype *a)
{
    uint32_t bytes = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t size;

        if (i > 0 && a->components[i] <= a->components[i - 1])
            return "components of an archetype do not ascend";
        if (i > 0 && egi_component_compare(w->registry, a->canonical[i - 1],
                                           a->canonical[i]) >= 0)
            return "canonical order of an archetype is wrong";
        size = w->registry->defs[a->components[i] - 1]->size;
        if (size > 0 && (bytes >= a->byte_count ||
                         a->bytes[bytes].component != a->components[i] ||
                         a->bytes[bytes].size != size))
            return "byte columns and components disagree";
        bytes += size > 0;
    }
    if (bytes != a->byte_count)
        return "byte columns and components disagree";
    if (egi_archetype_find(w, a->components, a->count, a->staging) != a)
        return "an archetype is not found by its set";
    return NULL;
}

/* Edges of a: each leads to the set with one component more (or less). */
static const char *check_edges(const eg_world *w, const egi_archetype *a,
                               const egi_map32 *edges, int more)
{
    for (uint32_t i = 0; i < edges->capacity; i++) {
        uint32_t c = edges->entries[i].key;
        const egi_archetype *b = egi_archetype_at(w, edges->entries[i].value);
        const egi_archetype *big = more ? b : a, *small = more ? a : b;

        if (c == 0 || b == NULL)
            continue;
        if (big->staging != small->staging || big->count != small->count + 1 ||
            !egi_archetype_holds(big, c) || egi_archetype_holds(small, c))
            return "an edge leads to the wrong archetype";
        for (uint32_t k = 0; k < small->count; k++)
            if (!egi_archetype_holds(big, small->components[k]))
                return "an edge leads to the wrong archetype";
    }
    return NULL;
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
            slot->id <= EGI_RETIRED)
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
    uint32_t live = 0, pending = 0, retired = 0, floors = 0;

    if (c->slots[0].id == c->slots[0].id)
        return "record 0 matches an id";
    if (c->high > w->max_entities)
        return "the highest used slot is none";
    for (uint32_t s = 1; s <= c->high; s++) {
        double id = c->slots[s].id, held = id < 0.0 ? -id : id;
        uint32_t floor = egi_map32_get(&c->floors, s);

        if (held > EGI_ID_LIMIT || (double)(int64_t)held != held)
            return "a record holds no id";
        if (egi_slot_of(held) != 0 && egi_slot_of(held) != s)
            return "a record holds an id of another slot";
        live += id > 0.0;
        pending += id < 0.0 && egi_slot_of(held) != 0;
        retired += id <= EGI_RETIRED;
        floors += floor != 0;
        if (floor != 0 && egi_slot_of(held) == 0)
            return "a free slot has a floor";
        if (floor != 0 && (double)floor * EGI_SLOT_COUNT < held)
            return "a floor is not above its slot's generation";
    }
    if (floors != c->floors.count)
        return "a slot that was never used has a floor";
    if (c->high < w->max_entities && c->slots[c->high + 1].id != 0.0)
        return "a slot above the highest used one was used";
    if (live != c->live || pending != c->pending || retired != c->retired)
        return "slots are miscounted";
    return NULL;
}

/* What is counted over all archetypes. */
static const char *check_totals(const eg_world *w)
{
    uint32_t shells = 0, sets = 0, touched = 0, listed = 0;
    uint64_t held = 0, counted = 0, rows = 0;

    for (uint32_t id = 1; id <= w->archetype_count; id++) {
        const egi_archetype *a = w->archetypes[id];

        if (a == NULL)
            continue;
        shells++;
        touched += a->touched != 0;
        held += a->staging ? 0 : a->count;
        rows += a->staging ? 0 : egi_count(egi_rows_of(w, id));
        for (uint32_t i = 0; i < a->count && !a->staging; i++)
            if (egi_map32_get(&w->held, a->components[i]) == 0)
                return "a component that is held is not counted";
    }
    for (uint32_t i = 0; i < w->set_capacity; i++)
        sets += w->sets[i] != 0;
    for (uint32_t i = 0; i < w->held.capacity; i++)
        counted += w->held.entries[i].value;
    for (uint32_t id = w->touched; id != 0 && listed <= touched; listed++)
        id = w->archetypes[id]->touched_next;
    if (shells != sets || shells != w->set_count)
        return "archetypes and sets differ in number";
    if (held != counted)
        return "held components are miscounted";
    if (listed != touched)
        return "the list of touched archetypes is broken";
    if (rows != w->now->live)
        return "live entities and rows differ in number";
    return NULL;
}

const char *eg_world_check(eg_world *w)
{
    const char *fault = check_slots(w);

    if (fault == NULL)
        fault = check_free_list(w);
    for (uint32_t id = 1; fault == NULL && id <= w->archetype_count; id++)
        if (w->archetypes[id] != NULL)
            fault = check_shell(w, w->archetypes[id]);
    for (uint32_t id = 1; fault == NULL && id <= w->archetype_count; id++) {
        const egi_archetype *a = w->archetypes[id];

        if (a == NULL)
            continue;
        fault = check_rows(w, a);
        if (fault == NULL)
            fault = check_edges(w, a, &a->add, 1);
        if (fault == NULL)
            fault = check_edges(w, a, &a->remove, 0);
    }
    if (fault == NULL)
        fault = check_totals(w);
    if (fault == NULL && w->queries_check != NULL)
        fault = w->queries_check(w);
    if (fault == NULL && w->cmd != NULL)
        fault = w->cmd_check(w);
    return fault;
}
