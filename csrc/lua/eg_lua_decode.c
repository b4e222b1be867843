/* SPDX-License-Identifier: MIT */
/* Bytes to Lua values: the mirror of eg_lua_encode.c.
 *
 * Safe on any bytes. What a value must obey as a whole, such as keys that come
 * only once, is checked by the walk that the verifier uses as well, before the
 * first object is made; a caller who has run the verifier leaves that out
 * (`trusted`), and the result is the same. Building checks all that touches
 * memory again in either case: bounds through the reader, NaN as bits, keys
 * that the host would raise for, and counts, which are believed only as far as
 * the bytes left can fill all open tables. So trust is never a matter of
 * safety, and tables are made with the size they will have. */
#include "lua/eg_lua.h"

#include "core/snap/eg_reader.h"
#include "core/snap/eg_value.h"

enum {
    LEVEL_SLOTS = 6,           /* stack slots of one level */
    SLOTS_MAX = (1 << 27) - 2, /* limits of tables in the host */
    PAIRS_MAX = 1 << 26,
    WALKER_KEPT = 1 << 16 /* cells kept from one walk to the next */
};

typedef struct decoder {
    lua_State *L;
    egi_reader in;
    size_t owed; /* bytes that open tables need at least */
    int depth;   /* tables open */
    int trusted;
} decoder;

static int read_value(decoder *d);

/* Pushes the scalar of a head. Any tag but those of tables. */
static void push_scalar(decoder *d, const egi_head *h)
{
    lua_State *L = d->L;

    switch (h->tag) {
    case EGI_TAG_FALSE:
    case EGI_TAG_TRUE:
        lua_pushboolean(L, h->tag == EGI_TAG_TRUE);
        break;
    case EGI_TAG_INT32:
    case EGI_TAG_DOUBLE:
        lua_pushnumber(L, egi_head_number(h));
        break;
    case EGI_TAG_INT64:
    case EGI_TAG_UINT64:
        eg_lua_push_int64(L, h->tag, h->bits);
        break;
    case EGI_TAG_STRING:
        lua_pushlstring(L, (const char *)d->in.data + d->in.pos, h->len);
        d->in.pos += h->len;
        break;
    default:
        lua_pushnil(L);
        break;
    }
}

/* Pushes a key. The tags that are no keys are those for which the host would
 * raise, or which no lookup would find again. */
static int read_key(decoder *d)
{
    egi_head h;

    if (egi_read_head(&d->in, &h) != EG_OK)
        return d->in.error;
    switch (h.tag) {
    case EGI_TAG_DOUBLE:
        if (egi_is_nan64(h.bits))
            return EGI_CORRUPT(&d->in, "NaN as a key");
        break;
    case EGI_TAG_FALSE:
    case EGI_TAG_TRUE:
    case EGI_TAG_INT32:
    case EGI_TAG_STRING:
        break;
    case EGI_TAG_NIL:
        return EGI_CORRUPT(&d->in, "nil as a key");
    case EGI_TAG_INT64:
    case EGI_TAG_UINT64:
        return EGI_CORRUPT(&d->in, "64-bit integer as a key");
    default:
        return EGI_CORRUPT(&d->in, "table as a key");
    }
    push_scalar(d, &h);
    return EG_OK;
}

/* Makes the table of a head, with room for its entries. */
static int open_table(decoder *d, const egi_head *h)
{
    size_t left = egi_reader_left(&d->in);
    size_t need = (size_t)h->slots + (size_t)h->pairs * 2;

    if (d->depth == EG_MAX_DEPTH)
        return EGI_OVER_LIMIT(&d->in, d->in.mark, "nested too deep");
    if (need > left || d->owed > left - need)
        return EGI_TRUNCATED(&d->in, d->in.mark,
                             "table needs more bytes than are left");
    if (h->slots > SLOTS_MAX || h->pairs > PAIRS_MAX)
        return EGI_OVER_LIMIT(&d->in, d->in.mark,
                              "more entries than a table can hold");
    d->owed += need;
    d->depth++;
    luaL_checkstack(d->L, LEVEL_SLOTS, "nested tables");
    lua_createtable(d->L, (int)h->slots, (int)h->pairs);
    return EG_OK;
}

static int read_table(decoder *d, const egi_head *h)
{
    lua_State *L = d->L;

    if (open_table(d, h) != EG_OK)
        return d->in.error;
    for (uint32_t i = 0; i < h->slots; i++) {
        d->owed--;
        if (read_value(d) != EG_OK)
            return d->in.error;
        lua_rawseti(L, -2, (int)(h->first + i));
    }
    for (uint32_t i = 0; i < h->pairs; i++) {
        d->owed -= 2;
        if (read_key(d) != EG_OK || read_value(d) != EG_OK)
            return d->in.error;
        lua_rawset(L, -3);
    }
    d->depth--;
    return EG_OK;
}

/* Pushes the next value. Returns the sticky error of the reader; then any
 * number of values may have been pushed. */
static int read_value(decoder *d)
{
    egi_head h;

    if (egi_read_head(&d->in, &h) != EG_OK)
        return d->in.error;
    if (h.tag >= EGI_TAG_TABLE && h.tag <= EGI_TAG_TABLE_LAST)
        return read_table(d, &h);
    push_scalar(d, &h);
    return EG_OK;
}

/* Checks the value ahead as the verifier does; the cursor stays. */
static int check_ahead(decoder *d)
{
    egi_walker *walker = eg_lua_walker(d->L);
    egi_reader ahead = d->in;
    int rc = egi_value_skip(&ahead, walker);

    if (walker->cell_capacity > WALKER_KEPT)
        egi_walker_fini(walker);
    if (rc != EG_OK)
        return egi_reader_fail(&d->in, rc, ahead.error_at, ahead.why,
                               ahead.line);
    return EG_OK;
}

/* ---- entry points ------------------------------------------------------ */

/* Arguments 1, 2, 3: source, offset, end. */
static void open_decoder(decoder *d, lua_State *L, int trusted_arg)
{
    size_t len;
    const uint8_t *bytes = eg_lua_check_bytes(L, 1, &len);
    size_t at = eg_lua_check_size(L, 2, 0);
    size_t stop = eg_lua_check_size(L, 3, len);

    luaL_argcheck(L, stop != SIZE_MAX && stop <= len, 3,
                  "past the end of the source, or missing");
    luaL_argcheck(L, at <= stop, 2, "past the end");
    d->L = L;
    d->owed = 0;
    d->depth = 0;
    d->trusted = lua_toboolean(L, trusted_arg);
    egi_reader_init(&d->in, bytes, stop);
    d->in.pos = at;
}

/* Pushes nil, message, code and offset. */
static int close_failed(decoder *d)
{
    lua_State *L = d->L;
    int rc = d->in.error;

    luaL_checkstack(L, 6, "error message");
    lua_pushnil(L);
    lua_pushstring(L, d->in.why);
    lua_pushstring(L, rc == EG_ETRUNC   ? "truncated"
                      : rc == EG_ELIMIT ? "limit"
                      : rc == EG_ENOMEM ? "memory"
                                        : "corrupt");
    lua_pushnumber(L, (lua_Number)d->in.error_at);
    return 4;
}

/* decode(source [, at [, stop [, trusted]]])
 *     -> next, value | nil, message, code, offset */
static int decode(lua_State *L)
{
    decoder d;

    lua_settop(L, 4);
    open_decoder(&d, L, 4);
    if (!d.trusted && check_ahead(&d) != EG_OK)
        return close_failed(&d);
    if (read_value(&d) != EG_OK)
        return close_failed(&d);
    lua_pushnumber(L, (lua_Number)d.in.pos);
    lua_insert(L, -2);
    return 2;
}

/* decodeRows(source, at, stop, column, first, last [, trusted])
 *     -> next | nil, message, code, offset, row
 * One value per row, stored at column[first] … column[last]. */
static int decode_rows(lua_State *L)
{
    decoder d;
    int first;
    int last;
    int row;

    lua_settop(L, 7);
    open_decoder(&d, L, 7);
    luaL_checktype(L, 4, LUA_TTABLE);
    first = luaL_checkint(L, 5);
    last = luaL_checkint(L, 6);
    luaL_argcheck(L, first >= 1, 5, "rows begin with 1");
    luaL_argcheck(L, last < INT32_MAX, 6, "too many rows");
    for (row = first; row <= last; row++) {
        if ((!d.trusted && check_ahead(&d) != EG_OK) ||
            read_value(&d) != EG_OK) {
            int results = close_failed(&d);

            lua_pushinteger(L, row);
            return results + 1;
        }
        lua_rawseti(L, 4, row);
    }
    lua_pushnumber(L, (lua_Number)d.in.pos);
    return 1;
}

const luaL_Reg eg_lua_decoders[] = {
    {"decode", decode},
    {"decodeRows", decode_rows},
    {NULL, NULL},
};
