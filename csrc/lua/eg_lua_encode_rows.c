/* SPDX-License-Identifier: MIT */
/* Rows of components to bytes, and the entry points of the encoder.
 *
 * A row of a table component with declared fields has these first, in declared
 * order, then all other own keys in canonical order. Its key componentType is
 * no data. The writers that codec.lua generates give the same bytes.
 *
 * Bytes go from offset `at` of the scratch on, and the new end is the result;
 * `size` of the scratch is left to the caller, so no error of any kind, lack
 * of memory in the host included, shows half a value. */
#include "lua/eg_lua_encode.h"

/* Bytes that a scratch may grow to unless the caller says otherwise. More
 * could not be handed on: strings and buffers of the host end below 2 GiB. */
#define LIMIT_DEFAULT ((size_t)0x7fff0000)

static const char *const failure_codes[] = {
    "", "unsupported", "cycle", "depth", "limit", "memory",
};

/* The declared fields of a row's component. */
typedef struct field_list {
    int names; /* stack slot of the array of names; 0: none */
    int count;
} field_list;

/* ---- rows with fields -------------------------------------------------- */

/* Fields that the table in slot t has. */
static uint32_t count_present(lua_State *L, int t, const field_list *fields)
{
    uint32_t n = 0;

    for (int i = 1; i <= fields->count; i++) {
        lua_rawgeti(L, fields->names, i);
        lua_rawget(L, t);
        n += !lua_isnil(L, -1);
        lua_pop(L, 1);
    }
    return n;
}

/* Own keys of the table in slot t but componentType; stops above `enough`. */
static uint32_t count_own(lua_State *L, int t, uint32_t enough)
{
    uint32_t n = 0;

    lua_pushnil(L);
    while (lua_next(L, t) != 0) {
        lua_pop(L, 1);
        n += !eg_lua_is_type_key(L, -1);
        if (n > enough) {
            lua_pop(L, 1);
            break;
        }
    }
    return n;
}

static int is_declared(lua_State *L, const field_list *fields,
                       const eg_lua_key *key)
{
    for (int i = 1; i <= fields->count; i++) {
        const char *name;

        lua_rawgeti(L, fields->names, i);
        name = lua_tostring(L, -1);
        lua_pop(L, 1);
        if (key->bytes == name) /* equal strings are one in the host */
            return 1;
    }
    return 0;
}

/* Keeps those keys of a sorted list that are not declared, in their order.
 * Returns how many. */
static uint32_t keep_others(lua_State *L, eg_lua_keys *keys,
                            const field_list *fields, const eg_lua_list *list)
{
    eg_lua_key *items = keys->items + list->first;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        if (items[i].type != LUA_TSTRING || !is_declared(L, fields, &items[i]))
            items[kept++] = items[i];
    }
    return kept;
}

/* Writes the declared field whose name is on top, and pops that. */
static int write_declared(eg_lua_encoder *e, int t)
{
    size_t len;
    const char *name = lua_tolstring(e->L, -1, &len);
    int rc;

    if (eg_lua_is_reserved(name, len))
        return eg_lua_fail_keys(e, EG_LUA_KEY_RESERVED);
    rc = eg_lua_write_string(e, name, len);
    return rc == 0 ? eg_lua_write_field(e, t) : rc;
}

/* Writes the `present` declared fields that the table in slot t has. */
static int write_fields(eg_lua_encoder *e, int t, const field_list *fields,
                        uint32_t present)
{
    lua_State *L = e->L;

    for (int i = 1; i <= fields->count; i++) {
        int rc;

        lua_rawgeti(L, fields->names, i);
        lua_pushvalue(L, -1);
        lua_rawget(L, t);
        if (lua_isnil(L, -1)) {
            lua_pop(L, 2);
            continue;
        }
        lua_pop(L, 1);
        rc = write_declared(e, t);
        if (rc != 0)
            return rc;
        present--;
    }
    if (present != 0) /* the head has another count */
        return eg_lua_fail(e, EG_LUA_UNSUPPORTED,
                           "changed while it was being saved");
    return 0;
}

/* A row with keys besides the `present` declared ones. */
static int write_mixed(eg_lua_encoder *e, int t, const field_list *fields,
                       uint32_t present)
{
    lua_State *L = e->L;
    eg_lua_keys *keys = &e->box->keys;
    eg_lua_list list;
    uint32_t others;
    int rc = eg_lua_collect_keys(L, keys, t, 1, &list);

    if (rc != 0)
        return eg_lua_fail_keys(e, rc);
    others = keep_others(L, keys, fields, &list);
    rc = eg_lua_write_hash_head(e, present + others);
    if (rc == 0)
        rc = write_fields(e, t, fields, present);
    if (rc == 0)
        rc = eg_lua_write_pairs(e, t, &list, 0, others);
    if (rc == 0)
        eg_lua_drop_keys(L, keys, &list);
    return rc;
}

/* Writes the instance on top of the stack, and leaves it there. */
static int write_row(eg_lua_encoder *e, const field_list *fields)
{
    lua_State *L = e->L;
    int t = lua_gettop(L);
    uint32_t present;
    int rc;

    if (!lua_istable(L, t)) {
        lua_pushfstring(L, "table expected, got %s", luaL_typename(L, t));
        return EG_LUA_UNSUPPORTED;
    }
    rc = eg_lua_open_level(e);
    if (rc != 0)
        return rc;
    present = count_present(L, t, fields);
    if (present == 0) {
        rc = eg_lua_write_entries(e, 1);
    } else if (count_own(L, t, present) > present) {
        rc = write_mixed(e, t, fields, present);
    } else {
        rc = eg_lua_write_hash_head(e, present);
        if (rc == 0)
            rc = write_fields(e, t, fields, present);
    }
    if (rc == 0)
        e->depth--;
    return rc;
}

/* ---- entry points ------------------------------------------------------ */

static void open_encoder(eg_lua_encoder *e, lua_State *L, int limit_arg)
{
    eg_lua_box *box = eg_lua_check_box(L, 1);
    size_t at = eg_lua_check_size(L, 2, 0);
    size_t limit = eg_lua_check_size(L, limit_arg, LIMIT_DEFAULT);
    size_t capacity = box->bytes.capacity;

    luaL_argcheck(L, at <= capacity, 2, "past the end of the scratch");
    if (limit < at)
        limit = at; /* whatever is written exceeds it */
    box->keys.count = 0;
    box->keys.on_stack = 0;
    e->L = L;
    e->box = box;
    e->limit = limit;
    e->depth = 0;
    egi_writer_init(&e->out, box->bytes.data,
                    capacity < limit ? capacity : limit);
    e->out.pos = at;
}

/* Results of a call: the new end, or nil, message and code. */
static int close_encoder(eg_lua_encoder *e, int rc)
{
    lua_State *L = e->L;
    int message;

    if (rc == 0) {
        lua_pushnumber(L, (lua_Number)egi_writer_size(&e->out));
        return 1;
    }
    luaL_checkstack(L, 8, "error message");
    message = lua_gettop(L);
    lua_pushnil(L);
    eg_lua_push_path(L, e->levels, e->depth);
    if (lua_objlen(L, -1) > 0)
        lua_pushliteral(L, ": ");
    else
        lua_pushliteral(L, "");
    lua_pushvalue(L, message);
    lua_concat(L, 3);
    lua_pushstring(L, failure_codes[rc]);
    return 3;
}

/* encode(scratch, at, value [, limit]) -> end | nil, message, code */
static int encode(lua_State *L)
{
    eg_lua_encoder e;

    lua_settop(L, 4);
    open_encoder(&e, L, 4);
    lua_pushvalue(L, 3);
    return close_encoder(&e, eg_lua_write_value(&e));
}

/* The rows of a call. */
typedef struct row_range {
    int first;
    int last;
} row_range;

/* Arguments 3, 4, 5: an array and its rows from first to last. */
static row_range check_rows(lua_State *L)
{
    row_range rows;

    luaL_checktype(L, 3, LUA_TTABLE);
    rows.first = luaL_checkint(L, 4);
    rows.last = luaL_checkint(L, 5);
    luaL_argcheck(L, rows.first >= 1, 4, "rows begin with 1");
    luaL_argcheck(L, rows.last < INT32_MAX, 5, "too many rows");
    return rows;
}

static int close_rows(eg_lua_encoder *e, int rc, int row)
{
    int results = close_encoder(e, rc);

    if (rc == 0)
        return results;
    lua_pushinteger(e->L, row);
    return results + 1;
}

/* encodeRows(scratch, at, column, first, last [, fields [, limit]])
 *     -> end | nil, message, code, row
 * fields: array of names, whose entries come first and in this order. */
static int encode_rows(lua_State *L)
{
    eg_lua_encoder e;
    field_list fields = {6, 0};
    row_range rows;
    int rc = 0;
    int row;

    lua_settop(L, 7);
    open_encoder(&e, L, 7);
    rows = check_rows(L);
    if (!lua_isnil(L, 6)) {
        luaL_checktype(L, 6, LUA_TTABLE);
        fields.count = (int)lua_objlen(L, 6);
    }
    for (row = rows.first; row <= rows.last; row++) {
        lua_rawgeti(L, 3, row);
        rc = write_row(&e, &fields);
        if (rc != 0)
            break;
        lua_pop(L, 1);
    }
    return close_rows(&e, rc, row);
}

/* Writes {value = string on top}. */
static int write_wrapped(eg_lua_encoder *e)
{
    lua_State *L = e->L;
    size_t len;
    const char *bytes;
    int rc;

    if (lua_type(L, -1) != LUA_TSTRING) {
        lua_pushfstring(L, "string expected, got %s", luaL_typename(L, -1));
        return EG_LUA_UNSUPPORTED;
    }
    bytes = lua_tolstring(L, -1, &len);
    rc = eg_lua_write_hash_head(e, 1);
    if (rc == 0)
        rc = eg_lua_write_string(e, "value", 5);
    return rc == 0 ? eg_lua_write_string(e, bytes, len) : rc;
}

/* encodeStrings(scratch, at, column, first, last [, limit])
 *     -> end | nil, message, code, row
 * The rows of a string scalar, each written as {value = string}. */
static int encode_strings(lua_State *L)
{
    eg_lua_encoder e;
    row_range rows;
    int rc = 0;
    int row;

    lua_settop(L, 6);
    open_encoder(&e, L, 6);
    rows = check_rows(L);
    for (row = rows.first; row <= rows.last; row++) {
        lua_rawgeti(L, 3, row);
        rc = write_wrapped(&e);
        if (rc != 0)
            break;
        lua_pop(L, 1);
    }
    return close_rows(&e, rc, row);
}

const luaL_Reg eg_lua_encoders[] = {
    {"encode", encode},
    {"encodeRows", encode_rows},
    {"encodeStrings", encode_strings},
    {NULL, NULL},
};
