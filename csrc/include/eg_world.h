/* SPDX-License-Identifier: MIT */
/* Components, worlds, archetypes and entities: the store.
 *
 * One thread at a time may use a world; several worlds, on several threads, do
 * not know of each other. Every call that changes structure (spawn, despawn,
 * move) is applied before it returns and invalidates the column addresses of
 * the archetypes concerned; staged changes are in eg_cmd.h. Unless said
 * otherwise a call that fails has changed nothing. Since 0.1. */
#ifndef EG_WORLD_H
#define EG_WORLD_H

#include "include/eg_types.h"

/* Index record of one slot, read in place by compiled callers.
 *   live     id is the entity's id (> 0); archetype and row say where it is
 *   pending  id is the negated id: reserved, placed when its scope closes
 *   free     id is -(generation to be issued next) * 2^22, 0 if never used;
 *            archetype and row hold the free list's links */
typedef struct eg_slot {
    double id;
    int32_t archetype;
    int32_t row;
} eg_slot;

/* Description of a component for registration; everything is copied. */
typedef struct eg_component_def {
    const char *name;        /* unique, not empty; bytes order saves */
    uint32_t name_len;
    int32_t storage;         /* enum eg_storage */
    uint32_t size;           /* bytes per row, EG_RAW only; at most 2^20 */
    uint32_t align;          /* power of two up to 64, EG_RAW only */
    uint32_t flags;          /* enum eg_component_flags */
    uint32_t field_count;    /* EG_RAW only */
    const eg_field *fields;  /* in declaration order; NULL when there is none */
    const char *group;       /* canonical order sorts by (group, group_key) */
    uint32_t group_len;      /* NULL: the name itself, key 0 */
    double group_key;        /* any number, not NaN */
} eg_component_def;

/* Numbers of a world, filled by eg_world_stats. */
typedef struct eg_stats {
    uint32_t entities;       /* committed entities */
    uint32_t archetypes;     /* archetypes, empty ones included */
    uint32_t components;     /* distinct components archetypes hold */
    uint32_t high_slot;      /* highest slot ever used */
    uint32_t max_entities;
    uint32_t retired;        /* slots out of generations */
    uint64_t bytes;          /* memory held for rows and the slot index */
} eg_stats;

/* What a caller may read of an archetype. Addresses hold until its storage
 * next changes: growth, eg_world_compact, a snapshot load. */
typedef struct eg_archetype_view {
    double *entities;            /* [0] is the row count, ids from [1] */
    const uint32_t *components;  /* ascending ids */
    const uint32_t *canonical;   /* the same in canonical order */
    uint32_t component_count;
    uint32_t capacity;           /* rows there is storage for */
    uint32_t id;
    uint32_t staging;            /* 1: holds rows of staged changes */
} eg_archetype_view;

/* Why eg_archetype_touched reports an archetype. */
enum eg_touched {
    EG_TOUCHED_ROWS = 1,     /* a drain placed, moved or removed rows */
    EG_TOUCHED_STORAGE = 2   /* its columns have other addresses */
};

/* -- components ---------------------------------------------------------- */

/** Creates a registry of components, shared by any number of worlds. `a` may
 *  be NULL for the process's allocator and must outlive the registry.
 *  @return EG_OK or EG_ENOMEM. Ownership: one reference for the caller. */
EG_API int eg_registry_new(const eg_allocator *a, eg_registry **out);
/** Gives up one reference; the last one frees. Worlds hold one each. NULL is
 *  ignored. */
EG_API void eg_registry_release(eg_registry *r);
/** Registers a component for the life of the registry. Ids count from 1.
 *  @return EG_OK; EG_EINVAL bad definition or name in use; EG_ENOMEM. */
EG_API int eg_component_register(eg_registry *r, const eg_component_def *def,
                                 uint32_t *id);
/** Id of a name, or 0. */
EG_API uint32_t eg_component_find(const eg_registry *r, const char *name,
                                  uint32_t name_len);
/** Number of registered components; also the highest id. */
EG_API uint32_t eg_component_count(const eg_registry *r);
/** Definition of a component, owned by the registry; NULL for a bad id. */
EG_API const eg_component_def *eg_component_info(const eg_registry *r,
                                                 uint32_t id);

/* -- worlds -------------------------------------------------------------- */

/** Creates an empty world for up to max_entities entities (1 to 2^22 - 1).
 *  The slot index is mapped whole and backed as slots come into use. `a` may
 *  be NULL and must outlive the world.
 *  @return EG_OK; EG_EINVAL; EG_ENOMEM. */
EG_API int eg_world_new(eg_registry *r, uint32_t max_entities,
                        const eg_allocator *a, eg_world **out);
/** Frees a world and all it owns. NULL is ignored. */
EG_API void eg_world_free(eg_world *w);
EG_API void eg_world_stats(const eg_world *w, eg_stats *out);
/** The slot index, max_entities + 2 records; [0] is no entity. Valid until a
 *  snapshot load or eg_world_free. */
EG_API eg_slot *eg_world_slots(eg_world *w);
/** Removes every entity and all staged work; old ids are dead, slots are
 *  handed out lowest first again, capacity stays. */
EG_API void eg_world_clear(eg_world *w);
/** Gives spare memory back: row storage beyond need, storage kept for the next
 *  load. While a load is under way nothing happens.
 *  @return number of archetypes whose storage shrank */
EG_API uint32_t eg_world_compact(eg_world *w);
/** Walks every structure and checks every invariant; for tests.
 *  @return NULL when sound, else a static text naming the fault. */
EG_API const char *eg_world_check(eg_world *w);

/* -- archetypes ---------------------------------------------------------- */

/** Finds or creates the archetype of a component set; order and repetition of
 *  `components` do not matter. Ids count from 1 and are never reused.
 *  @param staging  1 for the archetype that holds staged rows of the set
 *  @return EG_OK; EG_EINVAL unknown component; EG_ENOMEM. */
EG_API int eg_archetype_get(eg_world *w, const uint32_t *components,
                            uint32_t count, int staging, uint32_t *out);
/** The archetype with one component more or less; cached both ways. Present
 *  (or absent) already: the archetype itself. */
EG_API int eg_archetype_add(eg_world *w, uint32_t archetype,
                            uint32_t component, uint32_t *out);
EG_API int eg_archetype_remove(eg_world *w, uint32_t archetype,
                               uint32_t component, uint32_t *out);
/** Highest archetype id so far. */
EG_API uint32_t eg_archetype_count(const eg_world *w);
/** @return 1 and fills `out`; 0 for an id that does not exist. */
EG_API int eg_archetype_read(eg_world *w, uint32_t archetype,
                             eg_archetype_view *out);
/** Address of row 0 of a component's bytes (row 1 is 64-byte aligned); NULL
 *  when the archetype lacks it, it has no bytes, or no row was ever stored. */
EG_API void *eg_archetype_column(eg_world *w, uint32_t archetype,
                                 uint32_t component);
/** 1 when the archetype has the component. */
EG_API int eg_archetype_has(eg_world *w, uint32_t archetype,
                            uint32_t component);
/** Makes room for `rows` rows beyond those present. */
EG_API int eg_archetype_reserve(eg_world *w, uint32_t archetype,
                                uint32_t rows);
/** Reports, once each, the archetypes touched since the last call, so a caller
 *  that keeps column addresses can follow. *flags receives enum eg_touched.
 *  @return an archetype id, or 0 when there is none left */
EG_API uint32_t eg_archetype_touched(eg_world *w, uint32_t *flags);
/** Asks that drains report what they do to this archetype's rows, because the
 *  caller keeps values beside them (eg_cmd.h). */
EG_API void eg_archetype_attend(eg_world *w, uint32_t archetype, int on);

/* -- entities ------------------------------------------------------------ */

/** Spawns one entity as the last row of an archetype. The bytes of the row are
 *  left as they are: a caller may have stored them at row count + 1 before.
 *  @return the id, or a negative eg_err: EG_EFULL, EG_ENOMEM. */
EG_API double eg_entity_spawn(eg_world *w, uint32_t archetype);
/** The same under a chosen dead id.
 *  @return EG_OK; EG_EINVAL no id of this world (slot 0, too high, no integer);
 *  EG_EALIVE the slot is in use; EG_ERETIRED; EG_ENOMEM. */
EG_API int eg_entity_spawn_at(eg_world *w, double id, uint32_t archetype);
/** Spawns `count` entities as the last rows of an archetype, bytes zeroed.
 *  @param ids    out, may be NULL: the ids, in row order
 *  @param first  out: first row
 *  @return EG_OK; EG_EFULL; EG_ENOMEM. */
EG_API int eg_entity_spawn_many(eg_world *w, uint32_t archetype,
                                uint32_t count, double *ids, uint32_t *first);
/** Removes one entity; the last row of its archetype fills the hole.
 *  @return EG_OK; EG_EDEAD; EG_EBUSY something is staged for it (eg_cmd.h). */
EG_API int eg_entity_despawn(eg_world *w, double id);
/** Moves one entity to another archetype as its last row. Bytes of components
 *  both have are copied; those of new components are left as they are.
 *  @return EG_OK; EG_EDEAD; EG_ENOMEM. */
EG_API int eg_entity_move(eg_world *w, double id, uint32_t archetype);
/** 1 when `id` is a committed entity of this world. Any number may be asked. */
EG_API int eg_entity_alive(const eg_world *w, double id);
/** Address of an entity's bytes of a component, or NULL. */
EG_API void *eg_entity_get(eg_world *w, double id, uint32_t component);
/** Adds a component (zeroed when new) and returns its address in *out, which
 *  may be NULL for components without bytes. */
EG_API int eg_entity_add(eg_world *w, double id, uint32_t component,
                         void **out);
/** Removes a component; nothing happens when it is absent. */
EG_API int eg_entity_remove(eg_world *w, double id, uint32_t component);

#endif
