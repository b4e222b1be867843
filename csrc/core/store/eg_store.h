/* SPDX-License-Identifier: MIT */
/* The structures of the store, and the invariants that tie them together.
 *
 * A world owns archetype *shells* (component set, edges, query membership) and
 * its *content*: the slot index and the rows of every archetype. Content hangs
 * from one struct, so a snapshot load can put a new one in its place and, on
 * any error, the old one back, by changing one pointer.
 *
 * Placement contract, obeyed by every function here and by compiled callers:
 *   - a live slot s holds {id, a, r} exactly when rows[a].ids[r] == id
 *   - rows of a non-staging archetype are dense: 1 .. ids[0]
 *   - a staging archetype may have freed rows (id 0); `used` counts the others
 *   - the free list is doubly linked through slots that are neither live,
 *     pending nor retired; links are deltas, so zeroed memory is the list
 *     1, 2, 3, ... and a slot's first use touches nothing else
 *
 * May include: base. */
#ifndef EGI_STORE_H
#define EGI_STORE_H

#include "core/base/eg_alloc.h"
#include "core/base/eg_assert.h"
#include "core/base/eg_hash.h"
#include "include/eg_world.h"

#define EGI_SLOT_COUNT 4194304.0      /* 2^22, as a double: one generation */
#define EGI_ID_LIMIT 9007199254740992.0 /* 2^53: the first that is no id */
#define EGI_RETIRED (-EGI_ID_LIMIT)   /* record of a slot out of generations */

struct eg_registry {
    eg_allocator allocator;
    uint32_t references;
    uint32_t count;
    uint32_t capacity;
    eg_component_def **defs;          /* defs[id - 1] */
    uint32_t *names;                  /* open addressing: ids, 0 = free */
    uint32_t names_capacity;          /* 0 or a power of two */
};

/* Rows of one archetype. `columns[i]` is the address of row 0 of byte column i
 * (row 1 is 64-byte aligned); `ids[0]` is the row count. Without storage ids
 * points to a zero and columns is NULL. */
typedef struct egi_rows {
    double *ids;
    unsigned char **columns;
    void *block;                      /* ids, columns and their table */
    size_t block_size;
    uint32_t capacity;
    uint32_t used;                    /* staging: rows whose id is not 0 */
} egi_rows;

/* Everything a snapshot load replaces. */
typedef struct egi_content {
    eg_slot *slots;                   /* max_entities + 2 records, or NULL */
    egi_rows *rows;                   /* by archetype id */
    uint32_t rows_capacity;
    uint32_t free_head;               /* max_entities + 1 when exhausted */
    uint32_t high;                    /* highest slot ever used */
    uint32_t live;
    uint32_t pending;
    uint32_t retired;
    egi_map32 floors;                 /* live slot → highest generation it ever
                                       * held, when that is above its own */
} egi_content;

/* One column with bytes. */
typedef struct egi_byte_column {
    uint32_t component;
    uint32_t size;
} egi_byte_column;

typedef struct egi_archetype {
    uint32_t id;
    uint32_t hash;                    /* order-free hash of the set */
    uint32_t count;
    uint32_t byte_count;
    uint32_t *components;             /* ascending */
    uint32_t *canonical;              /* in canonical order */
    egi_byte_column *bytes;           /* ascending component */
    size_t size;                      /* of this allocation */
    egi_map32 add;                    /* component → archetype */
    egi_map32 remove;
    uint8_t staging;
    uint8_t attended;
    uint8_t touched;                  /* enum eg_touched, 0: not listed */
    uint32_t touched_next;            /* the list of touched archetypes */
    uint32_t stage_order;             /* eg_cmd: group number of a wave */
    uint32_t stage_wave;
} egi_archetype;

typedef struct egi_cmd egi_cmd;
struct eg_query;

struct eg_world {
    eg_allocator allocator;
    eg_registry *registry;
    uint32_t max_entities;
    uint32_t archetype_count;         /* highest id ever given */
    uint32_t archetype_capacity;
    uint32_t set_count;
    uint32_t set_capacity;            /* 0 or a power of two */
    egi_archetype **archetypes;       /* by id; NULL for dropped ones */
    uint32_t *sets;                   /* open addressing by set hash: ids */
    egi_map32 held;                   /* component → number of archetypes that
                                       * have it, staging ones left out */
    egi_content content[2];
    egi_content *now;                 /* the one in force */
    egi_content *spare;               /* the other one: storage for loads */
    uint32_t touched;                 /* first of the list, 0 empty */
    int loading;                      /* a load is between begin and end */
    double empty[2];                  /* ids of archetypes without storage */
    egi_cmd *cmd;                     /* staged changes, made on first use */
    int staged;                       /* something is staged */
    struct eg_query **queries;
    uint32_t query_count;
    uint32_t query_capacity;
    /* Hooks of the layers above, NULL until they are used. A new archetype
     * is told to the query layer, which may fail. */
    void (*cmd_free)(eg_world *w);
    void (*cmd_clear)(eg_world *w);
    int (*cmd_holds)(const eg_world *w, double id);
    const char *(*cmd_check)(const eg_world *w);
    int (*on_archetype)(eg_world *w, egi_archetype *a);
    void (*on_drop)(eg_world *w, egi_archetype *a);
    void (*queries_free)(eg_world *w);
    const char *(*queries_check)(const eg_world *w);
};

/* -- ids ----------------------------------------------------------------- */

/* Slot of a number from 0 to EGI_ID_LIMIT - 1. */
static inline uint32_t egi_slot_of(double id)
{
    return (uint32_t)((int64_t)id & EG_MAX_ENTITIES);
}

/* The record an id may be in, or NULL. Any number may be asked: records hold
 * integers, and record 0 a NaN, so comparing the whole id decides the rest. */
static inline eg_slot *egi_record(const eg_world *w, double id)
{
    uint32_t s;

    if (!(id > 0.0 && id < EGI_ID_LIMIT))
        return NULL;
    s = egi_slot_of(id);
    return s <= w->max_entities ? &w->now->slots[s] : NULL;
}

/* The record of a committed entity, or NULL. */
static inline eg_slot *egi_find(const eg_world *w, double id)
{
    eg_slot *slot = egi_record(w, id);

    return slot != NULL && slot->id == id ? slot : NULL;
}

/* The record of a committed or pending entity, or NULL. */
static inline eg_slot *egi_find_held(const eg_world *w, double id)
{
    eg_slot *slot = egi_record(w, id);

    return slot != NULL && (slot->id == id || slot->id == -id) ? slot : NULL;
}

/* 1 when id has the form of an entity id of this world: an integer with slot
 * 1 .. max_entities and generation below 2^31. */
int egi_id_valid(const eg_world *w, double id);

/* -- slots (eg_slots.c) -------------------------------------------------- */

/* 1 when no slot is free. */
static inline int egi_slots_full(const eg_world *w)
{
    return w->now->free_head > w->max_entities;
}

/* Takes the first free slot, there must be one: *id is what it issues. The
 * record returned is for the caller to write, who must succeed from here on. */
static inline eg_slot *egi_slot_take(egi_content *c, double *id)
{
    uint32_t s = c->free_head;
    eg_slot *slot = &c->slots[s];

    c->free_head = (uint32_t)((int32_t)s + 1 + slot->archetype);
    if (s > c->high)
        c->high = s;
    *id = (double)s - slot->id;
    return slot;
}

/* May `id` be taken? EG_OK, EG_EINVAL, EG_EALIVE, EG_ERETIRED. */
int egi_slot_check(const eg_world *w, double id);
/* Reserves what `count` calls of egi_slot_take_at need; they cannot fail. */
int egi_slots_reserve(eg_world *w, uint32_t count);
void egi_slot_take_at(eg_world *w, double id);

/* Puts a free slot in front of the list. */
static inline void egi_slot_link(egi_content *c, uint32_t s)
{
    c->slots[s].archetype = (int32_t)c->free_head - ((int32_t)s + 1);
    c->slots[c->free_head].row = (int32_t)s - ((int32_t)c->free_head - 1);
    c->free_head = s;
}

/* The generation after that of an id, times 2^22. */
static inline double egi_next_generation(double id)
{
    return id - (double)egi_slot_of(id) + EGI_SLOT_COUNT;
}

/* Frees a slot whose next generation is next / 2^22, or retires it. */
static inline void egi_slot_free(egi_content *c, uint32_t s, double next)
{
    eg_slot *slot = &c->slots[s];

    slot->id = -next;
    slot->archetype = 0;
    slot->row = 0;
    if (next < EGI_ID_LIMIT)
        egi_slot_link(c, s);
    else
        c->retired++;
}

/* Gives the slot of a live or pending id back. */
void egi_slot_release_floored(egi_content *c, double id);
static inline void egi_slot_release(egi_content *c, double id)
{
    if (c->floors.count != 0)
        egi_slot_release_floored(c, id);
    else
        egi_slot_free(c, egi_slot_of(id), egi_next_generation(id));
}

/* Frees every slot and rebuilds the list, lowest slot first. */
void egi_slots_clear(eg_world *w);
/* Slots that can still be taken. */
uint32_t egi_slots_free(const eg_world *w);
/* Size of a slot index, bytes. */
size_t egi_slots_bytes(const eg_world *w);

/* -- rows (eg_rows.c) ---------------------------------------------------- */

static inline uint32_t egi_count(const egi_rows *r)
{
    return (uint32_t)r->ids[0];
}

static inline egi_rows *egi_rows_of(const eg_world *w, uint32_t archetype)
{
    return &w->now->rows[archetype];
}

static inline int egi_rows_room(const egi_rows *r, uint32_t rows)
{
    return rows <= r->capacity - egi_count(r);
}

/* Makes room for `rows` more rows. EG_ENOMEM changes nothing. */
int egi_rows_grow(eg_world *w, egi_archetype *a, uint32_t rows);
static inline int egi_rows_reserve(eg_world *w, egi_archetype *a, uint32_t rows)
{
    return egi_rows_room(egi_rows_of(w, a->id), rows)
               ? EG_OK
               : egi_rows_grow(w, a, rows);
}
/* Gives storage back down to what the present rows need. 1 when it shrank. */
int egi_rows_shrink(eg_world *w, egi_archetype *a);
void egi_rows_free(eg_world *w, egi_rows *r);
/* Index of a component's byte column, or -1. */
int egi_byte_index(const egi_archetype *a, uint32_t component);
void egi_rows_zero(const egi_archetype *a, egi_rows *r, uint32_t first,
                   uint32_t count);

/* -- single rows (eg_move.c) ---------------------------------------------- */

/* Copies the cells of components both archetypes have. */
void egi_row_copy(const egi_archetype *from, const egi_rows *fr, uint32_t row,
                  const egi_archetype *to, egi_rows *tr, uint32_t to_row);
/* The same from a staged row, or none (NULL); cells that get no value are
 * zeroed, unless `kept` (may be NULL) has the component. */
void egi_row_fill(const egi_archetype *staged, const egi_rows *sr,
                  uint32_t row, const egi_archetype *kept,
                  const egi_archetype *to, egi_rows *tr, uint32_t to_row);
/* Removes a row of a dense archetype, filling the hole with the last one and
 * keeping that one's record. */
void egi_row_remove(eg_world *w, const egi_archetype *a, uint32_t row);
/* Appends a row with this id; there must be room. Returns the row. */
static inline uint32_t egi_row_append(egi_rows *r, double id)
{
    /* The count stays a double from one call to the next: a conversion each
     * way would be most of what a spawn costs. */
    double count = r->ids[0] + 1.0;
    uint32_t row = (uint32_t)count;

    egi_assert(row <= r->capacity);
    r->ids[row] = id;
    r->ids[0] = count;
    return row;
}
/* Moves a live entity's row; there must be room in `to`. */
uint32_t egi_entity_transfer(eg_world *w, eg_slot *slot, egi_archetype *to);

/* -- archetypes (eg_archetype.c, eg_graph.c) ------------------------------ */

/* Maps the slot index of a content that has none. EG_ENOMEM. */
int egi_content_open(eg_world *w, egi_content *c);
/* The shell of an id, or NULL. */
static inline egi_archetype *egi_archetype_at(const eg_world *w, uint32_t id)
{
    return id != 0 && id <= w->archetype_count ? w->archetypes[id] : NULL;
}

int egi_archetype_holds(const egi_archetype *a, uint32_t component);
/* Negative, 0 or positive: canonical order of two archetypes. */
int egi_archetype_compare(const eg_world *w, const egi_archetype *a,
                          const egi_archetype *b);
/* Canonical order of two components. */
int egi_component_compare(const eg_registry *r, uint32_t a, uint32_t b);
/* The archetype of an ascending set, or NULL. */
egi_archetype *egi_archetype_find(const eg_world *w, const uint32_t *components,
                                  uint32_t count, int staging);
/* Forgets an archetype without rows: it leaves edges, sets and queries. */
void egi_archetype_drop(eg_world *w, uint32_t id);
void egi_archetype_free(eg_world *w, egi_archetype *a);
/* Puts an archetype on the list that eg_archetype_touched reports; takes it
 * off. */
void egi_touch(eg_world *w, egi_archetype *a, int why);
void egi_untouch(eg_world *w, const egi_archetype *a);

#endif
