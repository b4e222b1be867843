/* SPDX-License-Identifier: MIT */
/* A script over every public call of the store, of queries and of staged
 * changes that may ask for memory, and all that can be seen of its state.
 * t_oom.c runs it while memory runs out. */
#ifndef OOM_SCRIPT_H
#define OOM_SCRIPT_H

#include "core_util.h"

enum { OOM_COMPONENTS = 40, OOM_SETS = 40, OOM_IDS = 700 };

typedef struct oom_script {
    snap_memory memory;
    eg_registry *registry;
    eg_world *w;
    uint32_t component[OOM_COMPONENTS];
    uint32_t set[OOM_SETS];
    uint32_t big;               /* archetype with large rows */
    uint32_t staged[2];
    double ids[OOM_IDS];        /* of the single spawns */
    eg_query *q[3];
    double batch[8];
} oom_script;

/* One call; `n` counts its repetitions. 0 or EG_ENOMEM. */
typedef int (*oom_step)(oom_script *s, uint32_t n);

/* The script: calls in order, each `times` times. */
extern const struct oom_entry {
    oom_step call;
    uint32_t times;
} oom_steps[];
extern const size_t oom_step_count;

/* Hash of all that can be seen: everything but capacities and empty
 * archetypes. */
uint64_t oom_seen(const oom_script *s);

#endif
