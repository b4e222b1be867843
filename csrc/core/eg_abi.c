/* SPDX-License-Identifier: MIT */
/* The handshake: what this build thinks the public structs look like. A caller
 * that reads them in place compares first and refuses a mismatch. */
#include "include/eg.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} structs[] = {
    {"eg_allocator", sizeof(eg_allocator)},
    {"eg_field", sizeof(eg_field)},
    {"eg_slot", sizeof(eg_slot)},
    {"eg_component_def", sizeof(eg_component_def)},
    {"eg_stats", sizeof(eg_stats)},
    {"eg_archetype_view", sizeof(eg_archetype_view)},
    {"eg_query_def", sizeof(eg_query_def)},
    {"eg_drain_op", sizeof(eg_drain_op)},
    {"eg_stage_state", sizeof(eg_stage_state)},
    {"eg_limits", sizeof(eg_limits)},
    {"eg_snap_error", sizeof(eg_snap_error)},
    {"eg_snap_prelude", sizeof(eg_snap_prelude)},
    {"eg_snap_component", sizeof(eg_snap_component)},
    {"eg_snap_record", sizeof(eg_snap_record)},
    {"eg_snap_column", sizeof(eg_snap_column)},
    {"eg_snap_entry", sizeof(eg_snap_entry)},
    {"eg_save_column", sizeof(eg_save_column)},
    {"eg_load_map", sizeof(eg_load_map)},
    {"eg_load_column", sizeof(eg_load_column)},
};

uint32_t eg_abi_version(void)
{
    return EG_ABI;
}

size_t eg_abi_sizeof(const char *name)
{
    for (size_t i = 0; i < sizeof structs / sizeof structs[0]; i++)
        if (strcmp(structs[i].name, name) == 0)
            return structs[i].size;
    return 0;
}
