/* SPDX-License-Identifier: MIT */
/* Lua values to bytes: the mirror of eg_lua_decode.c.
 *
 * The output is canonical: equal values give equal bytes, whatever the order
 * in which keys were inserted. Tables are walked with lua_next and read raw;
 * no metamethod runs. Finalizers may, because walking can allocate, and may
 * change the very table that is being written: the outcome is then one state
 * of it or the other.
 *
 * This file writes one value; eg_lua_encode_rows.c has the entry points. */
#include "lua/eg_lua_encode.h"

#include <string.h>

enum { LEVEL_SLOTS = 8 }; /* stack slots of one level, its keys aside */

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
    /* The exact size matters at the limit only. */
    size_t n = e->out.capacity - e->out.pos >= 9 ? 9 : egi_size_number(v);
    int rc = eg_lua_room(e, n);

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

    if (rc == 0 && pairs == 0)
        egi_put_empty_table(&e->out);
    else if (rc == 0)
        egi_put_hash(&e->out, pairs);
    return rc;
}

/* A value of a type that has no tag of its own. */
static int write_cdata(eg_lua_encoder *e, int slot)
{
    lua_State *L = e->L;
    uint64_t bits;
    int tag = eg_lua_get_int64(L, slot, &bits);
    int rc;

    if (tag == 0) {
        if (strcmp(luaL_typename(L, slot), "cdata") == 0)
            eg_lua_push_ctype(L, slot);
        else
            lua_pushfstring(L, "a %s", luaL_typename(L, slot));
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

int eg_lua_open_level(eg_lua_encoder *e, int slot)
{
    const void *table = lua_topointer(e->L, slot);
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
        e->levels[e->depth - 1].key = lua_gettop(L) - 1;
        return eg_lua_fail(e, EG_LUA_UNSUPPORTED,
                           "keys that begin with " EGI_KEY_RESERVED
                           " are reserved");
    }
    lua_pushfstring(L, "a %s as a key cannot be saved", luaL_typename(L, -2));
    return EG_LUA_UNSUPPORTED;
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

int eg_lua_write_entry(eg_lua_encoder *e, const eg_lua_list *list,
                       const eg_lua_key *key)
{
    lua_State *L = e->L;
    eg_lua_level *level = &e->levels[e->depth - 1];
    int slot = list->base + 2 * (int)key->at;
    int rc;

    if (list->aux == 0) {
        level->key = slot - 1;
        rc = write_key(e, key);
        return rc == 0 ? eg_lua_write_value(e, slot, lua_type(L, slot)) : rc;
    }
    lua_rawgeti(L, list->aux, 2 * (int)key->at - 1);
    lua_rawgeti(L, list->aux, 2 * (int)key->at);
    slot = lua_gettop(L);
    level->key = slot - 1;
    rc = write_key(e, key);
    if (rc == 0)
        rc = eg_lua_write_value(e, slot, lua_type(L, slot));
    if (rc == 0)
        lua_pop(L, 2);
    return rc;
}

int eg_lua_write_sequence(eg_lua_encoder *e, int t, uint32_t n)
{
    lua_State *L = e->L;
    eg_lua_level *level = &e->levels[e->depth - 1];
    int slot = lua_gettop(L) + 1;
    int rc = eg_lua_room(e, egi_size_array(n));

    if (rc != 0)
        return rc;
    egi_put_array(&e->out, n);
    level->key = 0;
    for (uint32_t i = 1; i <= n; i++) {
        level->index = i;
        lua_rawgeti(L, t, (int)i);
        rc = eg_lua_write_value(e, slot, lua_type(L, slot));
        if (rc != 0)
            return rc;
        lua_pop(L, 1);
    }
    return 0;
}

/* Writes all entries of the table in slot t, whose level is open. */
static int write_entries(eg_lua_encoder *e, int t)
{
    lua_State *L = e->L;
    eg_lua_keys *keys = &e->box->keys;
    eg_lua_list list;
    int rc = eg_lua_collect_keys(L, keys, t, 0, &list);

    if (rc != 0)
        return eg_lua_fail_keys(e, rc);
    if (list.sequence)
        rc = eg_lua_write_sequence(e, t, list.count);
    else
        rc = eg_lua_write_hash_head(e, list.count);
    for (uint32_t i = 0; i < list.count && !list.sequence && rc == 0; i++) {
        /* A copy: nested tables make the array move. */
        eg_lua_key key = keys->items[list.first + i];

        rc = eg_lua_write_entry(e, &list, &key);
    }
    if (rc == 0)
        eg_lua_drop_keys(L, keys, &list);
    return rc;
}

int eg_lua_write_value(eg_lua_encoder *e, int slot, int type)
{
    const char *bytes;
    size_t len;
    int rc;

    switch (type) {
    case LUA_TNUMBER:
        return write_number(e, lua_tonumber(e->L, slot));
    case LUA_TSTRING:
        bytes = lua_tolstring(e->L, slot, &len);
        return eg_lua_write_string(e, bytes, len);
    case LUA_TBOOLEAN:
        return write_bool(e, lua_toboolean(e->L, slot));
    case LUA_TTABLE:
        rc = eg_lua_open_level(e, slot);
        if (rc == 0)
            rc = write_entries(e, slot);
        if (rc == 0)
            e->depth--;
        return rc;
    case LUA_TNIL:
        rc = eg_lua_room(e, EGI_SIZE_NIL);
        if (rc == 0)
            egi_put_nil(&e->out);
        return rc;
    default:
        return write_cdata(e, slot);
    }
}
