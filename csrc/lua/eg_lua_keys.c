/* SPDX-License-Identifier: MIT */
/* The keys of a table in canonical order: numbers ascending, strings by bytes,
 * then false and true.
 *
 * lua_next gives them in the order of the hash part, so they are collected and
 * sorted. Keys and values stay on the Lua stack (in a helper table when they
 * are many): a finalizer that the collector runs meanwhile may change any
 * table, and no string may be freed under our pointer. So what is written is
 * the table as it was when it was walked. */
#include "lua/eg_lua.h"

#include <string.h>

enum {
    LEVEL_KEYS = 64,     /* entries of one table that go on the stack */
    STACK_KEYS = 2000,   /* of all tables; two slots each, the host has 8000 */
    COUNT_MAX = 1 << 27, /* entries of a table; the host's end before */
    INSERTION_MAX = 12   /* keys up to which insertion sort is quicker */
};

/* < 0, 0, > 0. LuaJIT has no NaN and no -0 among keys. */
static int compare_keys(const eg_lua_key *a, const eg_lua_key *b)
{
    int c;

    if (a->type != b->type) {
        if (a->type == LUA_TNUMBER || b->type == LUA_TBOOLEAN)
            return -1;
        return 1;
    }
    if (a->type != LUA_TSTRING)
        return (a->number > b->number) - (a->number < b->number);
    c = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
    return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

static void sift_down(eg_lua_key *keys, size_t at, size_t count)
{
    eg_lua_key key = keys[at];
    size_t child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count &&
            compare_keys(&keys[child], &keys[child + 1]) < 0)
            child++;
        if (compare_keys(&key, &keys[child]) >= 0)
            break;
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

static void insertion_sort(eg_lua_key *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        eg_lua_key key = keys[i];
        size_t at = i;

        for (; at > 0 && compare_keys(&keys[at - 1], &key) > 0; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Insertion sort for the usual few; else heap sort, which no choice of keys
 * makes slow and which needs no memory. */
static void sort_keys(eg_lua_key *keys, size_t count)
{
    if (count <= INSERTION_MAX) {
        insertion_sort(keys, count);
        return;
    }
    for (size_t i = count / 2; i-- > 0;)
        sift_down(keys, i, count);
    for (size_t n = count; n-- > 1;) {
        eg_lua_key last = keys[n];

        keys[n] = keys[0];
        keys[0] = last;
        sift_down(keys, 0, n);
    }
}

int eg_lua_is_type_key(lua_State *L, int index)
{
    static const char name[] = "componentType";
    size_t len;
    const char *s;

    if (lua_type(L, index) != LUA_TSTRING)
        return 0;
    s = lua_tolstring(L, index, &len);
    return len == sizeof name - 1 && memcmp(s, name, sizeof name - 1) == 0;
}

int eg_lua_is_reserved(const char *bytes, size_t len)
{
    static const char prefix[] = EGI_KEY_RESERVED;

    return len >= sizeof prefix - 1 &&
           memcmp(bytes, prefix, sizeof prefix - 1) == 0;
}

/* Notes the key second from the top as entry `at` of its table. */
static int note_key(lua_State *L, eg_lua_keys *keys, uint32_t at)
{
    eg_lua_key *key;

    if (keys->count == keys->capacity &&
        (keys->count == UINT32_MAX ||
         egi_grow(&egi_default_allocator, (void **)&keys->items,
                  &keys->capacity, keys->count + 1, sizeof *key) != EG_OK))
        return EG_LUA_KEY_MEMORY;
    key = &keys->items[keys->count];
    key->type = lua_type(L, -2);
    key->number = 0;
    key->bytes = NULL;
    key->len = 0;
    key->at = at;
    switch (key->type) {
    case LUA_TSTRING:
        key->bytes = lua_tolstring(L, -2, &key->len);
        if (eg_lua_is_reserved(key->bytes, key->len))
            return EG_LUA_KEY_RESERVED;
        break;
    case LUA_TNUMBER:
        key->number = lua_tonumber(L, -2);
        break;
    case LUA_TBOOLEAN:
        key->number = lua_toboolean(L, -2);
        break;
    default:
        return EG_LUA_KEY_TYPE;
    }
    keys->count++;
    return 0;
}

/* Moves the entries of a list from the stack to a table in the first of their
 * slots; a copy of the newest key is above it, for the next step. */
static void spill_entries(lua_State *L, eg_lua_list *list)
{
    int slots = 2 * (int)list->count;

    list->aux = list->base + 1;
    lua_createtable(L, 4 * LEVEL_KEYS, 0);
    for (int i = 1; i <= slots; i++) {
        lua_pushvalue(L, list->base + i);
        lua_rawseti(L, -2, i);
    }
    lua_pushvalue(L, list->base + slots - 1);
    lua_replace(L, list->base + 2);
    lua_replace(L, list->aux);
    lua_settop(L, list->base + 2);
}

/* Keeps the entry on top, and leaves its key there for the next step. */
static void keep_entry(lua_State *L, eg_lua_list *list, uint32_t room)
{
    if (list->aux != 0) {
        lua_pushvalue(L, -2);
        lua_rawseti(L, list->aux, 2 * (int)list->count - 1);
        lua_rawseti(L, list->aux, 2 * (int)list->count);
    } else if (list->count > room) {
        spill_entries(L, list);
    } else {
        lua_pushvalue(L, -2);
    }
}

/* 1 when the keys collected are 1 .. count. */
static int is_sequence(const eg_lua_key *keys, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        double v = keys[i].number;

        /* Distinct whole numbers within 1 .. count are all of these. */
        if (keys[i].type != LUA_TNUMBER || !(v >= 1 && v <= count) ||
            (double)(uint32_t)v != v)
            return 0;
    }
    return count > 0;
}

/* Begins to walk the table in slot t. Counts entries as long as their keys are
 * 1, 2, 3 …; the first other one is on top then. Returns 0 at the end. A walk
 * that has counted anything must be begun anew. */
static int walk_sequence(lua_State *L, int t, uint32_t *count)
{
    uint32_t n = 0;

    lua_pushnil(L);
    while (lua_next(L, t) != 0) {
        *count = n;
        if (lua_type(L, -2) != LUA_TNUMBER ||
            lua_tonumber(L, -2) != (double)n + 1 || n == COUNT_MAX)
            return 1;
        lua_pop(L, 1);
        n++;
    }
    *count = n;
    return 0;
}

int eg_lua_collect_keys(lua_State *L, eg_lua_keys *keys, int t, int skip,
                        eg_lua_list *list)
{
    int spare = STACK_KEYS - keys->on_stack;
    uint32_t room = (uint32_t)(spare < LEVEL_KEYS ? spare : LEVEL_KEYS);
    int more;

    list->first = keys->count;
    list->base = lua_gettop(L);
    list->aux = 0;
    luaL_checkstack(L, 2 * LEVEL_KEYS + 6, "too many keys");
    more = walk_sequence(L, t, &list->count);
    list->sequence = !more && list->count > 0;
    if (!more)
        return 0;
    if (list->count > 0) {
        lua_settop(L, list->base);
        lua_pushnil(L);
        more = lua_next(L, t);
        list->count = 0;
    }
    for (; more; more = lua_next(L, t)) {
        int rc;

        if (skip && eg_lua_is_type_key(L, -2)) {
            lua_pop(L, 1);
            continue;
        }
        rc = list->count == COUNT_MAX ? EG_LUA_KEY_MEMORY
                                      : note_key(L, keys, list->count + 1);
        if (rc != 0)
            return rc;
        list->count++;
        keep_entry(L, list, room);
    }
    if (is_sequence(keys->items + list->first, list->count)) {
        list->sequence = 1;
        keys->count = list->first;
        lua_settop(L, list->base);
        return 0;
    }
    if (list->aux == 0)
        keys->on_stack += (int)list->count;
    sort_keys(keys->items + list->first, list->count);
    return 0;
}

void eg_lua_drop_keys(lua_State *L, eg_lua_keys *keys, const eg_lua_list *list)
{
    if (list->aux == 0 && !list->sequence)
        keys->on_stack -= (int)list->count;
    keys->count = list->first;
    lua_settop(L, list->base);
}
