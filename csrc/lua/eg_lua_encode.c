/* SPDX-License-Identifier: MIT */
/* Lua values to bytes: the mirror of eg_lua_decode.c.
 *
 * The output is canonical: equal values give equal bytes, whatever the order
 * in which keys were inserted. Tables are walked with lua_next and read raw;
 * no metamethod runs. Finalizers may, because walking can allocate, and may
 * change the very table that is being written: the outcome is then either
 * state of it or an error.
 *
 * This file writes one value; eg_lua_encode_rows.c has the entry points. */
#include "lua/eg_lua_encode.h"

#include <string.h>

enum {
    LEVEL_SLOTS = 8,       /* stack slots of one level, its keys aside */
    SEQUENCE_MAX = 1 << 27 /* the host's arrays end before */
};

int eg_lua_fail(eg_lua_encoder *e, int code, const char *message)
{
    lua_pushstring(e->L, message);
    return code;
}

/* ---- scalars ----------------------------------------------------------- */

int eg_lua_room_slow(eg_lua_encoder *e, size_t n)
{
    eg_scratch *s = &e->box->bytes;

    if (n > e->limit || e->out.pos > e->limit - n)
        return eg_lua_fail(e, EG_LUA_LIMIT,
                           "the data exceeds its limit of bytes");
    if (eg_lua_reserve(s, e->out.pos + n) != EG_OK)
        return eg_lua_fail(e, EG_LUA_MEMORY, "not enough memory");
    e->out.data = s->data;
    e->out.capacity = s->capacity < e->limit ? s->capacity : e->limit;
    return 0;
}

static int write_number(eg_lua_encoder *e, double v)
{
    int rc = eg_lua_room(e, egi_size_number(v));

    if (rc == 0)
        egi_put_number(&e->out, v);
    return rc;
}

int eg_lua_write_string(eg_lua_encoder *e, const char *bytes, size_t len)
{
    int rc = eg_lua_room(e, egi_size_string(len));

    if (rc == 0)
        egi_put_string(&e->out, bytes, len);
    return rc;
}

static int write_bool(eg_lua_encoder *e, int v)
{
    int rc = eg_lua_room(e, EGI_SIZE_BOOL);

    if (rc == 0)
        egi_put_bool(&e->out, v);
    return rc;
}

int eg_lua_write_hash_head(eg_lua_encoder *e, uint32_t pairs)
{
    int rc = eg_lua_room(e, egi_size_hash(pairs));

    if (rc == 0)
        egi_put_hash(&e->out, pairs);
    return rc;
}

static int write_empty(eg_lua_encoder *e)
{
    int rc = eg_lua_room(e, egi_size_hash(0));

    if (rc == 0)
        egi_put_empty_table(&e->out);
    return rc;
}

/* The value on top is nothing that has a tag of its own. */
static int write_cdata(eg_lua_encoder *e)
{
    lua_State *L = e->L;
    uint64_t bits;
    int tag = eg_lua_get_int64(L, lua_gettop(L), &bits);
    int rc;

    if (tag == 0) {
        if (strcmp(luaL_typename(L, -1), "cdata") == 0)
            eg_lua_push_ctype(L, -1);
        else
            lua_pushfstring(L, "a %s", luaL_typename(L, -1));
        lua_pushfstring(L, "%s cannot be saved", lua_tostring(L, -1));
        return EG_LUA_UNSUPPORTED;
    }
    rc = eg_lua_room(e, EGI_SIZE_INT64);
    if (rc == 0 && tag == EGI_TAG_INT64)
        egi_put_int64(&e->out, (int64_t)bits);
    else if (rc == 0)
        egi_put_uint64(&e->out, bits);
    return rc;
}

/* ---- tables ------------------------------------------------------------ */

int eg_lua_open_level(eg_lua_encoder *e)
{
    const void *table = lua_topointer(e->L, -1);
    eg_lua_level *level;

    for (int i = 0; i < e->depth; i++) {
        if (e->levels[i].table == table)
            return eg_lua_fail(e, EG_LUA_CYCLE, "a cycle cannot be saved");
    }
    if (e->depth == EG_MAX_DEPTH)
        return eg_lua_fail(e, EG_LUA_DEPTH, "nested deeper than 512 tables");
    luaL_checkstack(e->L, LEVEL_SLOTS, "nested tables");
    level = &e->levels[e->depth++];
    level->table = table;
    level->key = 0;
    level->index = 0;
    return 0;
}

int eg_lua_fail_keys(eg_lua_encoder *e, int rc)
{
    lua_State *L = e->L;

    if (rc == EG_LUA_KEY_MEMORY)
        return eg_lua_fail(e, EG_LUA_MEMORY, "not enough memory");
    if (rc == EG_LUA_KEY_RESERVED) {
        e->levels[e->depth - 1].key = lua_gettop(L);
        return eg_lua_fail(e, EG_LUA_UNSUPPORTED,
                           "keys that begin with " EGI_KEY_RESERVED
                           " are reserved");
    }
    lua_pushfstring(L, "a %s as a key cannot be saved", luaL_typename(L, -1));
    return EG_LUA_UNSUPPORTED;
}

int eg_lua_write_field(eg_lua_encoder *e, int t)
{
    lua_State *L = e->L;
    int rc;

    e->levels[e->depth - 1].key = lua_gettop(L);
    lua_pushvalue(L, -1);
    lua_rawget(L, t);
    if (lua_isnil(L, -1))
        return eg_lua_fail(e, EG_LUA_UNSUPPORTED,
                           "changed while it was being saved");
    rc = eg_lua_write_value(e);
    if (rc == 0)
        lua_pop(L, 2);
    return rc;
}

static int write_key(eg_lua_encoder *e, const eg_lua_key *key)
{
    switch (key->type) {
    case LUA_TNUMBER:
        return write_number(e, key->number);
    case LUA_TSTRING:
        return eg_lua_write_string(e, key->bytes, key->len);
    default:
        return write_bool(e, key->number != 0);
    }
}

int eg_lua_write_pairs(eg_lua_encoder *e, int t, const eg_lua_list *list,
                       uint32_t from, uint32_t count)
{
    for (uint32_t i = from; i < from + count; i++) {
        /* By index: nested tables make the array move. */
        const eg_lua_key *key = &e->box->keys.items[list->first + i];
        int rc = write_key(e, key);

        if (rc != 0)
            return rc;
        eg_lua_push_key(e->L, list, key->at);
        rc = eg_lua_write_field(e, t);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int write_sequence(eg_lua_encoder *e, int t, uint32_t n)
{
    lua_State *L = e->L;
    eg_lua_level *level = &e->levels[e->depth - 1];
    int rc = eg_lua_room(e, egi_size_array(n));

    if (rc != 0)
        return rc;
    egi_put_array(&e->out, n);
    for (uint32_t i = 1; i <= n; i++) {
        level->index = i;
        lua_rawgeti(L, t, (int)i);
        rc = eg_lua_write_value(e);
        if (rc != 0)
            return rc;
        lua_pop(L, 1);
    }
    return 0;
}

/* n when lua_next gives the keys 1 .. n in this order and no others, as it
 * does for tables built as lists; else 0. */
static uint32_t sequence_length(lua_State *L, int t)
{
    uint32_t n = 0;

    lua_pushnil(L);
    while (lua_next(L, t) != 0) {
        lua_pop(L, 1);
        if (n == SEQUENCE_MAX || lua_type(L, -1) != LUA_TNUMBER ||
            lua_tonumber(L, -1) != (double)(n + 1)) {
            lua_pop(L, 1);
            return 0;
        }
        n++;
    }
    return n;
}

int eg_lua_write_entries(eg_lua_encoder *e, int skip)
{
    lua_State *L = e->L;
    int t = lua_gettop(L);
    uint32_t n = sequence_length(L, t);
    eg_lua_list list;
    int rc;

    if (n != 0)
        return write_sequence(e, t, n);
    rc = eg_lua_collect_keys(L, &e->box->keys, t, skip, &list);
    if (rc != 0)
        return eg_lua_fail_keys(e, rc);
    if (list.count == 0) {
        rc = write_empty(e);
    } else if (list.sequence) {
        rc = write_sequence(e, t, list.count);
    } else {
        rc = eg_lua_write_hash_head(e, list.count);
        if (rc == 0)
            rc = eg_lua_write_pairs(e, t, &list, 0, list.count);
    }
    if (rc == 0)
        eg_lua_drop_keys(L, &e->box->keys, &list);
    return rc;
}

int eg_lua_write_value(eg_lua_encoder *e)
{
    lua_State *L = e->L;
    const char *bytes;
    size_t len;
    int rc;

    switch (lua_type(L, -1)) {
    case LUA_TNIL:
        rc = eg_lua_room(e, EGI_SIZE_NIL);
        if (rc == 0)
            egi_put_nil(&e->out);
        return rc;
    case LUA_TBOOLEAN:
        return write_bool(e, lua_toboolean(L, -1));
    case LUA_TNUMBER:
        return write_number(e, lua_tonumber(L, -1));
    case LUA_TSTRING:
        bytes = lua_tolstring(L, -1, &len);
        return eg_lua_write_string(e, bytes, len);
    case LUA_TTABLE:
        rc = eg_lua_open_level(e);
        if (rc == 0)
            rc = eg_lua_write_entries(e, 0);
        if (rc == 0)
            e->depth--;
        return rc;
    default:
        return write_cdata(e);
    }
}
