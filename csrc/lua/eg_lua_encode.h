/* SPDX-License-Identifier: MIT */
/* The encoder of Lua values, shared by eg_lua_encode.c (values) and
 * eg_lua_encode_rows.c (rows of components, entry points).
 *
 * Every function returns 0, or a code whose message is on top of the stack;
 * the rest of the stack is left as it is then, because the keys on it are the
 * path that goes in front of the message. */
#ifndef EG_LUA_ENCODE_H
#define EG_LUA_ENCODE_H

#include "lua/eg_lua.h"

#include "core/snap/eg_writer.h"

typedef struct eg_lua_encoder {
    lua_State *L;
    eg_lua_box *box;
    egi_writer out;     /* over the scratch; eg_lua_room lets it grow */
    size_t limit;       /* bytes that the scratch may hold */
    int depth;          /* levels in use */
    eg_lua_level levels[EG_MAX_DEPTH];
} eg_lua_encoder;

enum eg_lua_failure {
    EG_LUA_UNSUPPORTED = 1, /* a value or key that cannot be saved */
    EG_LUA_CYCLE,
    EG_LUA_DEPTH,
    EG_LUA_LIMIT,
    EG_LUA_MEMORY
};

/* Pushes the message, returns the code. */
int eg_lua_fail(eg_lua_encoder *e, int code, const char *message);
int eg_lua_room_slow(eg_lua_encoder *e, size_t n);

/* Makes room for n bytes; puts of as many cannot fail then. */
static inline int eg_lua_room(eg_lua_encoder *e, size_t n)
{
    return e->out.capacity - e->out.pos >= n ? 0 : eg_lua_room_slow(e, n);
}

int eg_lua_write_string(eg_lua_encoder *e, const char *bytes, size_t len);
int eg_lua_write_hash_head(eg_lua_encoder *e, uint32_t pairs);
/* Writes the value in a stack slot. `type` is its lua_type. */
int eg_lua_write_value(eg_lua_encoder *e, int slot, int type);

/* Enters the table in a stack slot; e->depth-- leaves it. */
int eg_lua_open_level(eg_lua_encoder *e, int slot);
/* Writes the array 1 .. n of the table in slot t. */
int eg_lua_write_sequence(eg_lua_encoder *e, int t, uint32_t n);
/* Writes one entry of the innermost level: key and value. */
int eg_lua_write_entry(eg_lua_encoder *e, const eg_lua_list *list,
                       const eg_lua_key *key);
/* Turns a result of eg_lua_collect_keys into a failure. */
int eg_lua_fail_keys(eg_lua_encoder *e, int rc);

#endif
