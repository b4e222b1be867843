/* SPDX-License-Identifier: MIT */
/* The parts of the binding that touch Lua values.
 *
 * Files of csrc/lua are the only ones that include lua.h. Any call of the Lua
 * API may raise, which skips the rest of the C frame; so memory is always
 * owned by a full userdata before the next such call, and what a function has
 * half done is invisible until it returns: encoders write behind the used
 * bytes of a scratch and never move `size`.
 *
 * Functions marked (S) take what they need from upvalue 1 of the running C
 * function, a table made by eg_lua_open_codec. */
#ifndef EG_LUA_H
#define EG_LUA_H

#include "include/eg_types.h"

#include <lauxlib.h>
#include <lua.h>

#include "core/snap/eg_value.h"

/* Bytes written by an encoder. The address of a scratch userdata is the
 * address of this struct, so generated Lua code reads and writes it through
 * FFI. `data` moves when the scratch grows. */
typedef struct eg_scratch {
    uint8_t *data;
    size_t size;      /* bytes in use; for the owner, encoders leave it alone */
    size_t capacity;  /* bytes there is room for */
} eg_scratch;

/* One key of a table that is being put in canonical order. Its string lives
 * as long as the key is kept at place `at`. */
typedef struct eg_lua_key {
    double number;      /* a number; 0 or 1 for a boolean */
    const char *bytes;  /* a string */
    size_t len;
    int type;
    uint32_t at;        /* 1-based place among the entries as collected */
} eg_lua_key;

/* The keys of all tables on the way to the value being written. */
typedef struct eg_lua_keys {
    eg_lua_key *items;
    uint32_t count;
    uint32_t capacity;
    int on_stack;       /* Lua stack slots that hold keys */
} eg_lua_keys;

/* What a scratch userdata holds; `bytes` comes first. The keys are working
 * memory of the encoder, kept here so that an error cannot leak it. */
typedef struct eg_lua_box {
    eg_scratch bytes;
    eg_lua_keys keys;
} eg_lua_box;

/* The collected entries of one table. Key and value of entry `at` are number
 * 2 at - 1 and 2 at of the stack slots above `base`, or of the table `aux`. */
typedef struct eg_lua_list {
    uint32_t first;     /* of its keys in eg_lua_keys */
    uint32_t count;
    int base;
    int aux;            /* stack slot, or 0 */
    int sequence;       /* the keys are 1 .. count; then no entries are kept */
} eg_lua_list;

/* One table on the way from the root to the value being written. Its current
 * key is in stack slot `key`, or if that is 0, is `index`; both 0: none. */
typedef struct eg_lua_level {
    const void *table;
    int key;
    uint32_t index;
} eg_lua_level;

enum eg_lua_collected {
    EG_LUA_KEY_TYPE = 1,    /* the key on top of the stack cannot be saved */
    EG_LUA_KEY_RESERVED,    /* it begins with __engram. */
    EG_LUA_KEY_MEMORY
};

/* Adds the functions of the codec to the table on top of the stack. Loads the
 * FFI library itself; raises when the host has none. */
void eg_lua_open_codec(lua_State *L);

/* Argument `arg` as a scratch; raises for anything else. */
eg_lua_box *eg_lua_check_box(lua_State *L, int arg);
/* Room for `capacity` bytes in all: EG_OK, or EG_ENOMEM and nothing changed. */
int eg_lua_reserve(eg_scratch *s, size_t capacity);
/* A count or offset: a whole number from 0 to 2^53, `missing` for nil. Raises
 * for others. */
size_t eg_lua_check_size(lua_State *L, int arg, size_t missing);
/* (S) Bytes to read: a string, or a pointer cdata, whose *len is SIZE_MAX.
 * Raises for anything else. */
const uint8_t *eg_lua_check_bytes(lua_State *L, int arg, size_t *len);
/* (S) The walker of this Lua state. */
egi_walker *eg_lua_walker(lua_State *L);

/* (S) 64-bit integers are cdata. The tag of the value at `index`,
 * EGI_TAG_INT64 or EGI_TAG_UINT64, and its bits; 0 for any other value. */
int eg_lua_get_int64(lua_State *L, int index, uint64_t *bits);
/* (S) */
void eg_lua_push_int64(lua_State *L, uint32_t tag, uint64_t bits);
/* (S) Pushes the type of a cdata in words: ctype<struct point>. */
void eg_lua_push_ctype(lua_State *L, int index);

/* Collects the own entries of the table in stack slot t, keys sorted. `skip`
 * leaves out componentType. They stay above the present top, the base of the
 * list, until eg_lua_drop_keys. Returns 0 or enum eg_lua_collected; an error
 * of the first two kinds leaves the key in question second from the top. */
int eg_lua_collect_keys(lua_State *L, eg_lua_keys *keys, int t, int skip,
                        eg_lua_list *list);
/* Forgets the list collected last; the stack is cut to its base. */
void eg_lua_drop_keys(lua_State *L, eg_lua_keys *keys,
                      const eg_lua_list *list);
/* 1 for the string componentType. */
int eg_lua_is_type_key(lua_State *L, int index);
/* 1 for strings that begin with __engram. */
int eg_lua_is_reserved(const char *bytes, size_t len);

/* Pushes the way through these levels as text: inventory[3].owner. */
void eg_lua_push_path(lua_State *L, const eg_lua_level *levels, int depth);

/* Encoder and decoder: a mirrored pair. Each list ends with a NULL name. */
extern const luaL_Reg eg_lua_encoders[];
extern const luaL_Reg eg_lua_decoders[];

#endif
