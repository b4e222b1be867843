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

enum { QUICK_FIELDS = 64 }; /* rows with more take the general way */

/* The declared fields of a component. The quick way knows them as pointers:
 * equal strings are one string in the host. Their slots keep them alive. */
typedef struct field_list {
    int names; /* stack slot of the array of names; 0: none */
    int count;
    int first; /* stack slot of the first name; 0: not quick */
    const char *bytes[QUICK_FIELDS];
    size_t lens[QUICK_FIELDS];
} field_list;

/* ---- one row ----------------------------------------------------------- */

/* Takes the names from the array in slot `names`. */
static void open_fields(lua_State *L, int names, field_list *fields)
{
    int quick;

    luaL_checktype(L, names, LUA_TTABLE);
    fields->names = names;
    fields->count = (int)lua_objlen(L, names);
    fields->first = 0;
    quick = fields->count > 0 && fields->count <= QUICK_FIELDS;
    luaL_checkstack(L, 2 * QUICK_FIELDS + 8, "fields");
    for (int i = 0; i < fields->count; i++) {
        size_t len;
        const char *bytes;

        lua_rawgeti(L, names, i + 1);
        luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, names,
                      "array of names expected");
        bytes = lua_tolstring(L, -1, &len);
        /* A reserved name is reported where all keys are looked at. */
        quick = quick && !eg_lua_is_reserved(bytes, len);
        if (!quick) {
            lua_pop(L, 1);
            continue;
        }
        fields->bytes[i] = bytes;
        fields->lens[i] = len;
    }
    if (quick)
        fields->first = lua_gettop(L) - fields->count + 1;
}

/* Sorts the values of the row in slot t, the top, into slots above it, one per
 * field. Returns how many there are, or -1 when there are other keys. */
static int sort_values(lua_State *L, int t, const field_list *fields)
{
    int present = 0;

    lua_settop(L, t + fields->count);
    lua_pushnil(L);
    while (lua_next(L, t) != 0) {
        const char *bytes = NULL;
        int i = fields->count;

        if (lua_type(L, -2) == LUA_TSTRING) {
            bytes = lua_tolstring(L, -2, NULL);
            for (i = 0; i < fields->count && fields->bytes[i] != bytes; i++)
                continue;
        }
        if (i < fields->count) {
            lua_replace(L, t + 1 + i);
            present++;
        } else if (eg_lua_is_type_key(L, -2)) {
            lua_pop(L, 1);
        } else {
            return -1;
        }
    }
    return present;
}

/* Writes the row in slot t if it has declared keys only, and some of them.
 * Else *done is 0. */
static int write_quick(eg_lua_encoder *e, int t, const field_list *fields,
                       int *done)
{
    lua_State *L = e->L;
    int present = sort_values(L, t, fields);
    int rc;

    *done = present > 0;
    if (present <= 0)
        return 0;
    rc = eg_lua_write_hash_head(e, (uint32_t)present);
    for (int i = 0; i < fields->count && rc == 0; i++) {
        int type = lua_type(L, t + 1 + i);

        if (type == LUA_TNIL)
            continue;
        e->levels[0].key = fields->first + i;
        rc = eg_lua_write_string(e, fields->bytes[i], fields->lens[i]);
        if (rc == 0)
            rc = eg_lua_write_value(e, t + 1 + i, type);
    }
    return rc;
}

/* Writes the entry with this name, if there is one, and marks it as done. */
static int write_named(eg_lua_encoder *e, const eg_lua_list *list,
                       const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        eg_lua_key key = e->box->keys.items[list->first + i];

        if (key.type == LUA_TSTRING && key.bytes == name) {
            e->box->keys.items[list->first + i].type = LUA_TNONE;
            return eg_lua_write_entry(e, list, &key);
        }
    }
    return 0;
}

/* Writes the entries of a list: declared fields in declared order, then all
 * others in canonical order. */
static int write_ordered(eg_lua_encoder *e, const eg_lua_list *list,
                         const field_list *fields)
{
    lua_State *L = e->L;
    int rc = eg_lua_write_hash_head(e, list->count);

    for (int i = 1; i <= fields->count && rc == 0; i++) {
        lua_rawgeti(L, fields->names, i);
        rc = write_named(e, list, lua_tostring(L, -1));
        if (rc == 0)
            lua_pop(L, 1);
    }
    for (uint32_t i = 0; i < list->count && rc == 0; i++) {
        eg_lua_key key = e->box->keys.items[list->first + i];

        if (key.type != LUA_TNONE)
            rc = eg_lua_write_entry(e, list, &key);
    }
    return rc;
}

static int write_general(eg_lua_encoder *e, int t, const field_list *fields)
{
    lua_State *L = e->L;
    eg_lua_keys *keys = &e->box->keys;
    eg_lua_list list;
    int rc;

    lua_settop(L, t);
    rc = eg_lua_collect_keys(L, keys, t, 1, &list);
    if (rc != 0)
        return eg_lua_fail_keys(e, rc);
    if (list.sequence)
        rc = eg_lua_write_sequence(e, t, list.count);
    else
        rc = write_ordered(e, &list, fields);
    if (rc == 0)
        eg_lua_drop_keys(L, keys, &list);
    return rc;
}

/* Writes the instance on top of the stack. */
static int write_row(eg_lua_encoder *e, const field_list *fields)
{
    lua_State *L = e->L;
    int t = lua_gettop(L);
    int done = 0;
    int rc;

    if (lua_type(L, t) != LUA_TTABLE) {
        lua_pushfstring(L, "table expected, got %s", luaL_typename(L, t));
        return EG_LUA_UNSUPPORTED;
    }
    rc = eg_lua_open_level(e, t);
    if (rc == 0 && fields->first != 0)
        rc = write_quick(e, t, fields, &done);
    if (rc == 0 && !done)
        rc = write_general(e, t, fields);
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
    return close_encoder(&e, eg_lua_write_value(&e, 3, lua_type(L, 3)));
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
    field_list fields;
    row_range rows;
    int rc = 0;
    int row;
    int top;

    lua_settop(L, 7);
    open_encoder(&e, L, 7);
    rows = check_rows(L);
    fields.count = 0;
    fields.first = 0;
    if (!lua_isnil(L, 6))
        open_fields(L, 6, &fields);
    top = lua_gettop(L);
    for (row = rows.first; row <= rows.last; row++) {
        lua_rawgeti(L, 3, row);
        rc = write_row(&e, &fields);
        if (rc != 0)
            break;
        lua_settop(L, top);
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
