/* SPDX-License-Identifier: MIT */
/* Components, worlds, archetypes and entities: the store.
 *
 * For all functions here, unless one says otherwise: worlds and registries are
 * borrowed for the call and not NULL; one thread at a time may use a registry
 * with its worlds, and registries do not know of each other. Results go through
 * out-parameters, untouched on failure; a call that fails has changed nothing.
 * Archetypes and components are named by their ids, rows count from 1. Changes
 * of structure (spawn, despawn, move) are applied before the call returns;
 * staged ones are in eg_cmd.h. While a scope is open, rows must not move: use
 * those. Nothing here reads untrusted bytes; ids may be any numbers.
 * Since 0.1. */
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

/* Description of a component for registration; everything is copied. Storages
 * other than EG_RAW have size, align and field_count 0. */
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

/** Creates an empty registry of components, shared by any number of worlds.
 *  @param a    allocator, NULL for the process's; copied, but its context must
 *              outlive the registry
 *  @param out  out: the registry, with one reference owned by the caller
 *  @return EG_OK; EG_EINVAL out is NULL; EG_ENOMEM
 *  O(1). A registry and all its worlds belong to one thread at a time. */
EG_API int eg_registry_new(const eg_allocator *a, eg_registry **out);
/** Gives up one reference; the last one frees the registry and what
 *  eg_component_info returned. Worlds hold one each, so it may be given up
 *  while there are worlds. NULL is ignored. O(components) at the last. */
EG_API void eg_registry_release(eg_registry *r);
/** Registers a component for the life of the registry.
 *  @param def  definition; borrowed for the call, all of it is copied
 *  @param id   out: its id. Ids count from 1 without gaps
 *  @return EG_OK; EG_EINVAL a bad definition (see eg_component_def) or a name
 *          in use; EG_ENOMEM
 *  O(fields), amortised. */
EG_API int eg_component_register(eg_registry *r, const eg_component_def *def,
                                 uint32_t *id);
/** Finds a component by name.
 *  @param name      borrowed for the call; any bytes, no zero needed
 *  @param name_len  its length, bytes
 *  @return the id, or 0 when no component has the name. O(name_len) */
EG_API uint32_t eg_component_find(const eg_registry *r, const char *name,
                                  uint32_t name_len);
/** Number of registered components; also the highest id. O(1). */
EG_API uint32_t eg_component_count(const eg_registry *r);
/** Definition of a component, NULL for an id that does not exist. For EG_NUMBER
 *  and EG_BOOLEAN size and align are filled in. Owned by the registry, valid
 *  and unchanged as long as it. O(1). */
EG_API const eg_component_def *eg_component_info(const eg_registry *r,
                                                 uint32_t id);

/* -- worlds -------------------------------------------------------------- */

/** Creates an empty world. The slot index, 16 bytes per entity, is mapped whole
 *  and backed as slots come into use.
 *  @param r             registry; the world takes a reference
 *  @param max_entities  1 to EG_MAX_ENTITIES, for the life of the world
 *  @param a             allocator, NULL for the process's; copied, but its
 *                       context must outlive the world
 *  @param out           out: the world, owned by the caller
 *  @return EG_OK; EG_EINVAL an argument is NULL or out of range; EG_ENOMEM */
EG_API int eg_world_new(eg_registry *r, uint32_t max_entities,
                        const eg_allocator *a, eg_world **out);
/** Frees a world and all it owns, queries and staged work included. Every
 *  address taken from it is invalid then. NULL is ignored. */
EG_API void eg_world_free(eg_world *w);
/** Fills in the numbers of a world. O(archetypes). */
EG_API void eg_world_stats(const eg_world *w, eg_stats *out);
/** The slot index, max_entities + 2 records indexed by slot; [0] matches no id.
 *  Owned by the world; read only. Valid until the content is exchanged
 *  (eg_load_begin, eg_load_rollback) or eg_world_free. O(1). */
EG_API eg_slot *eg_world_slots(eg_world *w);
/** Removes every entity and all staged work. Old ids are dead, slots are handed
 *  out lowest first again. Archetypes, queries and capacity stay, addresses
 *  too. Never fails. O(archetypes + slots used so far). */
EG_API void eg_world_clear(eg_world *w);
/** Gives spare memory back: row storage beyond need, and the storage kept for
 *  the next load. Not while a load is under way. What cannot be moved for lack
 *  of memory stays as it is.
 *  @return number of archetypes whose storage shrank; their addresses are
 *          invalid, and eg_archetype_touched reports them. O(bytes of rows) */
EG_API uint32_t eg_world_compact(eg_world *w);
/** Walks every structure and checks every invariant; for tests and debugging.
 *  Changes and allocates nothing. O(everything).
 *  @return NULL when sound, else a static text that names the fault */
EG_API const char *eg_world_check(eg_world *w);

/* -- archetypes ---------------------------------------------------------- */

/** Finds or creates the archetype of a component set.
 *  @param components  ids in any order, repetition does not matter; borrowed
 *                     for the call; may be NULL when count is 0
 *  @param count       length of components
 *  @param staging     1 for the archetype that holds staged rows of the set,
 *                     which no query matches; 0 for the ordinary one
 *  @param out         out: its id. Ids count from 1 and are never reused
 *  @return EG_OK; EG_EINVAL unknown component; EG_ENOMEM
 *  O(count) when the ids ascend, else O(count^2); a new archetype is offered to
 *  every query. */
EG_API int eg_archetype_get(eg_world *w, const uint32_t *components,
                            uint32_t count, int staging, uint32_t *out);
/** Finds or creates the archetype with one component more. Present already: the
 *  archetype itself. Cached in both directions: O(1) after the first time.
 *  @param out  out: its id
 *  @return EG_OK; EG_EINVAL unknown archetype or component; EG_ENOMEM */
EG_API int eg_archetype_add(eg_world *w, uint32_t archetype,
                            uint32_t component, uint32_t *out);
/** The same with one component less. Absent already: the archetype itself. */
EG_API int eg_archetype_remove(eg_world *w, uint32_t archetype,
                               uint32_t component, uint32_t *out);
/** Highest archetype id so far; some below may have been dropped. O(1). */
EG_API uint32_t eg_archetype_count(const eg_world *w);
/** Reads an archetype. O(1).
 *  @return 1 and fills `out`; 0 for an id that does not exist, and `out` is
 *          untouched */
EG_API int eg_archetype_read(eg_world *w, uint32_t archetype,
                             eg_archetype_view *out);
/** Address of row 0 of a component's bytes; row r is at r times its size, row 1
 *  is 64-byte aligned, row 0 is unused. Rows 1 to `entities[0]` hold values;
 *  the next one, up to the capacity, may be written before it is committed.
 *  @return the address, valid as long as those of eg_archetype_view; NULL when
 *          the archetype does not exist or lacks the component, the component
 *          has no bytes, or there is no storage yet. O(components) */
EG_API void *eg_archetype_column(eg_world *w, uint32_t archetype,
                                 uint32_t component);
/** 1 when the archetype has the component, 0 when not, or when either does not
 *  exist. O(log components). */
EG_API int eg_archetype_has(eg_world *w, uint32_t archetype,
                            uint32_t component);
/** Makes room for `rows` rows beyond those present, at least doubling. Enough
 *  room already: nothing happens. Else addresses of the archetype are invalid,
 *  and eg_archetype_touched reports it.
 *  @return EG_OK; EG_EINVAL unknown archetype; EG_ENOMEM
 *  O(bytes of its rows) when it grows. */
EG_API int eg_archetype_reserve(eg_world *w, uint32_t archetype,
                                uint32_t rows);
/** Reports, once each and in no order, the archetypes touched since the last
 *  call, so a caller that keeps column addresses can follow. Call it until it
 *  returns 0, before reading columns again.
 *  @param flags  out: enum eg_touched; untouched when there is none left
 *  @return an archetype id, or 0 when there is none left. O(1) */
EG_API uint32_t eg_archetype_touched(eg_world *w, uint32_t *flags);
/** Asks that drains report what they do to this archetype's rows (on 1), or no
 *  longer (0), because the caller keeps values beside them; see eg_cmd.h. An
 *  unknown archetype is ignored. O(1). */
EG_API void eg_archetype_attend(eg_world *w, uint32_t archetype, int on);

/* -- entities ------------------------------------------------------------ */

/** Spawns one entity as the last row of an archetype. The bytes of the row are
 *  left as they are: a caller may have stored them at row count + 1 before.
 *  @param archetype  an ordinary one, not staging
 *  @return the id, which is positive; or a negative enum eg_err: EG_EINVAL no
 *          such archetype; EG_EFULL; EG_ENOMEM
 *  O(1), amortised; growing invalidates addresses of the archetype. */
EG_API double eg_entity_spawn(eg_world *w, uint32_t archetype);
/** The same under a chosen dead id. Its generation may be any; when the entity
 *  dies, the slot goes on above the highest one it ever had.
 *  @return EG_OK; EG_EINVAL no such archetype, or no id of this world (slot 0,
 *          above max_entities, no integer); EG_EALIVE the slot is in use;
 *          EG_ERETIRED; EG_ENOMEM */
EG_API int eg_entity_spawn_at(eg_world *w, double id, uint32_t archetype);
/** Spawns `count` entities as the last rows of an archetype, bytes zeroed. All
 *  or none.
 *  @param count  0 or more
 *  @param ids    out, may be NULL: the ids in row order, `count` of them
 *  @param first  out: first row, 1-based
 *  @return EG_OK; EG_EINVAL no such archetype; EG_EFULL; EG_ENOMEM
 *  O(count). */
EG_API int eg_entity_spawn_many(eg_world *w, uint32_t archetype,
                                uint32_t count, double *ids, uint32_t *first);
/** Removes one entity; the last row of its archetype fills the hole, so row
 *  addresses of that archetype are stale.
 *  @return EG_OK; EG_EDEAD; EG_EBUSY something is staged for it (eg_cmd.h)
 *  O(components). */
EG_API int eg_entity_despawn(eg_world *w, double id);
/** Moves one entity to another archetype as its last row. Bytes of components
 *  both have are copied; those of new components are left as they are, so a
 *  caller may have stored them at row count + 1 before. There already: nothing
 *  happens. Row addresses of both archetypes are stale.
 *  @param archetype  an ordinary one, not staging
 *  @return EG_OK; EG_EDEAD; EG_EINVAL no such archetype; EG_ENOMEM
 *  O(components). */
EG_API int eg_entity_move(eg_world *w, double id, uint32_t archetype);
/** 1 when `id` is a committed entity of this world, else 0. Any number may be
 *  asked, NaN included. O(1). */
EG_API int eg_entity_alive(const eg_world *w, double id);
/** Address of an entity's bytes of a component; they may be written. Valid
 *  until the next structural change of its archetype.
 *  @return NULL when the entity is dead, lacks the component, or the component
 *          has no bytes. O(components) */
EG_API void *eg_entity_get(eg_world *w, double id, uint32_t component);
/** Adds a component, its bytes zeroed. Present already: its bytes stay, and
 *  only their address is given.
 *  @param out  out, may be NULL: address as of eg_entity_get, NULL for
 *              components without bytes
 *  @return EG_OK; EG_EDEAD; EG_EINVAL unknown component; EG_ENOMEM
 *  Cost and validity as eg_entity_move. */
EG_API int eg_entity_add(eg_world *w, double id, uint32_t component,
                         void **out);
/** Removes a component; nothing happens when it is absent.
 *  @return EG_OK; EG_EDEAD; EG_EINVAL unknown component; EG_ENOMEM
 *  Cost and validity as eg_entity_move. */
EG_API int eg_entity_remove(eg_world *w, double id, uint32_t component);

#endif
