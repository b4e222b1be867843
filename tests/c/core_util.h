/* SPDX-License-Identifier: MIT */
/* What the C tests of the store, of queries and of staged changes share: a
 * world over a counting allocator, a handful of components of every storage,
 * and short forms of what each test does. Random numbers and the allocator
 * itself are those of snap_util.h. */
#ifndef CORE_UTIL_H
#define CORE_UTIL_H

#include "snap_util.h"

#include "core/store/eg_store.h"
#include "include/eg_cmd.h"
#include "include/eg_query.h"

/* Ids and error codes in one: prints both sides when they differ. */
#define assert_id(got, wanted) \
    assert_int_equal((int64_t)(got), (int64_t)(wanted))
/* Every invariant of the world holds. */
#define assert_sound(w) core_sound((w), __FILE__, __LINE__)

typedef struct core_world {
    snap_memory memory;
    eg_registry *registry;
    eg_world *w;
    uint32_t tag;       /* no bytes */
    uint32_t flag;      /* boolean: 1 byte */
    uint32_t number;    /* a double */
    uint32_t host;      /* no bytes in C */
    uint32_t pos;       /* raw, 16 bytes, align 8 */
    uint32_t vel;       /* raw, 16 bytes, align 8 */
    uint32_t odd;       /* raw, 12 bytes, align 4 */
    uint32_t wide;      /* raw, 64 bytes, align 64 */
} core_world;

/* Opens a world for up to max_entities; closing asserts that it is sound and
 * that all memory came back. */
void core_open(core_world *c, uint32_t max_entities);
void core_close(core_world *c);
void core_sound(eg_world *w, const char *file, int line);

/* Registers a component; size and align matter for EG_RAW only. */
uint32_t core_component(eg_registry *r, const char *name, int32_t storage,
                        uint32_t size, uint32_t align);
/* The archetype of up to eight components, 0 ends the list. */
uint32_t core_set(eg_world *w, int staging, uint32_t a, uint32_t b,
                  uint32_t c);
/* Row of a live entity, archetype of a live entity. */
uint32_t core_row(eg_world *w, double id);
uint32_t core_archetype(eg_world *w, double id);
/* Number of rows of an archetype, and the id in one of them. */
uint32_t core_rows(eg_world *w, uint32_t archetype);
double core_at(eg_world *w, uint32_t archetype, uint32_t row);
/* First double of an entity's cell. */
double *core_cell(eg_world *w, double id, uint32_t component);
/* First double of a staged cell. */
double *core_staged(eg_world *w, uint32_t staged, uint32_t component,
                    uint32_t row);
/* Drains to the end, waves included; returns their number. */
uint32_t core_drain(eg_world *w);

#endif
