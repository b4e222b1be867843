/* SPDX-License-Identifier: MIT */
/* What encoder and decoder share: scratch memory, arguments, 64-bit integers.
 *
 * 64-bit integers are cdata, which the Lua C API knows nothing of. They cross
 * through a cell: 8 bytes of a userdata that FFI pointers of each type look
 * at. Storing through p[0] and loading from it is plain FFI semantics, so no
 * layout of the host is assumed. All of it hangs from one table per Lua state,
 * upvalue 1 of every function of the codec. */
#include "lua/eg_lua.h"

#include <string.h>

#include "core/base/eg_alloc.h"
#include "core/snap/eg_reader.h"
#include "core/snap/eg_writer.h"

#define SCRATCH_TYPE "engram.scratch"
#define WALKER_TYPE "engram.walker"

enum { SCRATCH_FIRST = 4096 }; /* bytes of a scratch's first block */

/* Slots of the support table. */
enum support {
    SUPPORT_CELL = 1,  /* the userdata */
    SUPPORT_ISTYPE,    /* ffi.istype */
    SUPPORT_TYPEOF,    /* ffi.typeof */
    SUPPORT_TOSTRING,  /* tostring */
    SUPPORT_INT64,     /* ctype */
    SUPPORT_UINT64,    /* ctype */
    SUPPORT_AT_INT64,  /* int64_t pointer to the cell */
    SUPPORT_AT_UINT64, /* uint64_t pointer to the cell */
    SUPPORT_AT_BYTES,  /* const uint8_t ** to the cell */
    SUPPORT_WALKER     /* userdata of an egi_walker */
};

static void push_support(lua_State *L, int slot)
{
    lua_rawgeti(L, lua_upvalueindex(1), slot);
}

static void *cell(lua_State *L)
{
    void *p;

    push_support(L, SUPPORT_CELL);
    p = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return p;
}

/* ---- scratch ----------------------------------------------------------- */

eg_lua_box *eg_lua_check_box(lua_State *L, int arg)
{
    return luaL_checkudata(L, arg, SCRATCH_TYPE);
}

int eg_lua_reserve(eg_scratch *s, size_t capacity)
{
    size_t wanted;
    uint8_t *data;

    if (capacity <= s->capacity)
        return EG_OK;
    if (egi_mul_size(s->capacity, 2, &wanted) != EG_OK || wanted < capacity)
        wanted = capacity;
    if (wanted < SCRATCH_FIRST)
        wanted = SCRATCH_FIRST;
    data = egi_resize(&egi_default_allocator, s->data, s->capacity, wanted);
    if (data == NULL)
        return EG_ENOMEM;
    s->data = data;
    s->capacity = wanted;
    return EG_OK;
}

static void free_box(eg_lua_box *box)
{
    egi_free(&egi_default_allocator, box->bytes.data, box->bytes.capacity);
    egi_free(&egi_default_allocator, box->keys.items,
             box->keys.capacity * sizeof *box->keys.items);
    memset(box, 0, sizeof *box);
}

/* newScratch() -> scratch */
static int new_scratch(lua_State *L)
{
    eg_lua_box *box = lua_newuserdata(L, sizeof *box);

    memset(box, 0, sizeof *box);
    luaL_getmetatable(L, SCRATCH_TYPE);
    lua_setmetatable(L, -2);
    return 1;
}

/* reserve(scratch, capacity) -> true | nil, message, code */
static int reserve_scratch(lua_State *L)
{
    eg_lua_box *box = eg_lua_check_box(L, 1);

    if (eg_lua_reserve(&box->bytes, eg_lua_check_size(L, 2, 0)) != EG_OK) {
        lua_pushnil(L);
        lua_pushliteral(L, "not enough memory");
        lua_pushliteral(L, "memory");
        return 3;
    }
    lua_pushboolean(L, 1);
    return 1;
}

/* release(scratch): gives its memory back; it can be used again. */
static int release_scratch(lua_State *L)
{
    free_box(eg_lua_check_box(L, 1));
    return 0;
}

/* ---- arguments --------------------------------------------------------- */

size_t eg_lua_check_size(lua_State *L, int arg, size_t missing)
{
    double v;

    if (lua_isnoneornil(L, arg))
        return missing;
    v = luaL_checknumber(L, arg);
    if (!(v >= 0 && v <= 9007199254740992.0) || (double)(uint64_t)v != v ||
        v > (double)SIZE_MAX)
        luaL_argerror(L, arg, "whole number of bytes or rows expected");
    return (size_t)v;
}

const uint8_t *eg_lua_check_bytes(lua_State *L, int arg, size_t *len)
{
    const uint8_t *bytes;

    if (lua_type(L, arg) == LUA_TSTRING)
        return (const uint8_t *)lua_tolstring(L, arg, len);
    if (strcmp(luaL_typename(L, arg), "cdata") != 0)
        luaL_typerror(L, arg, "string or const uint8_t *");
    push_support(L, SUPPORT_AT_BYTES);
    lua_pushinteger(L, 0);
    lua_pushvalue(L, arg);
    lua_settable(L, -3); /* raises for pointers to something else */
    lua_pop(L, 1);
    memcpy(&bytes, cell(L), sizeof bytes);
    *len = SIZE_MAX;
    return bytes;
}

egi_walker *eg_lua_walker(lua_State *L)
{
    egi_walker *walker;

    push_support(L, SUPPORT_WALKER);
    walker = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return walker;
}

/* ---- 64-bit integers --------------------------------------------------- */

static int is_type(lua_State *L, int index, int slot)
{
    int yes;

    push_support(L, SUPPORT_ISTYPE);
    push_support(L, slot);
    lua_pushvalue(L, index);
    lua_call(L, 2, 1);
    yes = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return yes;
}

int eg_lua_get_int64(lua_State *L, int index, uint64_t *bits)
{
    int tag;

    if (strcmp(luaL_typename(L, index), "cdata") != 0)
        return 0;
    luaL_checkstack(L, 4, "64-bit integers");
    lua_pushvalue(L, index);
    if (is_type(L, lua_gettop(L), SUPPORT_INT64)) {
        tag = EGI_TAG_INT64;
        push_support(L, SUPPORT_AT_INT64);
    } else if (is_type(L, lua_gettop(L), SUPPORT_UINT64)) {
        tag = EGI_TAG_UINT64;
        push_support(L, SUPPORT_AT_UINT64);
    } else {
        lua_pop(L, 1);
        return 0;
    }
    lua_pushinteger(L, 0);
    lua_pushvalue(L, -3);
    lua_settable(L, -3);
    lua_pop(L, 2);
    memcpy(bits, cell(L), sizeof *bits);
    return tag;
}

void eg_lua_push_int64(lua_State *L, uint32_t tag, uint64_t bits)
{
    luaL_checkstack(L, 3, "64-bit integers");
    memcpy(cell(L), &bits, sizeof bits);
    push_support(L,
                 tag == EGI_TAG_INT64 ? SUPPORT_AT_INT64 : SUPPORT_AT_UINT64);
    lua_pushinteger(L, 0);
    lua_gettable(L, -2);
    lua_remove(L, -2);
}

void eg_lua_push_ctype(lua_State *L, int index)
{
    luaL_checkstack(L, 4, "64-bit integers");
    lua_pushvalue(L, index);
    push_support(L, SUPPORT_TYPEOF);
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    push_support(L, SUPPORT_TOSTRING);
    lua_insert(L, -2);
    lua_call(L, 1, 1);
}

/* ---- numbers for generated code ---------------------------------------- */

/* Generated writers and readers may call these two through FFI. A trace cannot
 * choose between int32 and double without forking, and rows with n fields of
 * both kinds have 2^n traces; one call forks nothing. */
typedef struct number_calls {
    /* Writes v, canonical, into up to 9 bytes. Returns how many it took. */
    int32_t (*put)(uint8_t *p, double v);
    /* The number whose tag is at p, where 9 bytes can be read; NaN for every
     * kind of damage, besides NaN itself. */
    double (*get)(const uint8_t *p);
} number_calls;

static int32_t put_number(uint8_t *p, double v)
{
    uint64_t bits;

    if (v >= -2147483648.0 && v <= 2147483647.0) {
        int32_t whole = (int32_t)v;

        memcpy(&bits, &v, sizeof bits);
        if ((double)whole == v && bits != UINT64_C(1) << 63) {
            p[0] = EGI_TAG_INT32;
            memcpy(p + 1, &whole, sizeof whole);
            return 5;
        }
    }
    memcpy(&bits, &v, sizeof bits);
    if (egi_is_nan64(bits))
        bits = EGI_NAN64;
    p[0] = EGI_TAG_DOUBLE;
    memcpy(p + 1, &bits, sizeof bits);
    return 9;
}

static double get_number(const uint8_t *p)
{
    uint64_t bits;
    double v;

    if (p[0] == EGI_TAG_INT32)
        return (double)(int32_t)egi_load_u32(p + 1);
    bits = egi_load_u64(p + 1);
    if (egi_is_nan64(bits))
        bits = EGI_NAN64;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- opening ----------------------------------------------------------- */

static int scratch_gc(lua_State *L)
{
    free_box(lua_touserdata(L, 1));
    return 0;
}

static int walker_gc(lua_State *L)
{
    egi_walker_fini(lua_touserdata(L, 1));
    return 0;
}

/* A metatable that frees; it cannot be read or replaced from Lua. */
static void new_type(lua_State *L, const char *name, lua_CFunction gc)
{
    luaL_newmetatable(L, name);
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
}

/* Calls ffi[name] with a type and the value in slot `index` (0: none), and
 * stores the result in the support table. */
static void ffi_call(lua_State *L, int ffi, int support, const char *name,
                     const char *type, int index, int slot)
{
    lua_getfield(L, ffi, name);
    lua_pushstring(L, type);
    if (index != 0)
        lua_pushvalue(L, index);
    lua_call(L, index != 0 ? 2 : 1, 1);
    lua_rawseti(L, support, slot);
}

/* Pushes the support table. */
static void new_support(lua_State *L)
{
    int support;
    int ffi;
    int at;
    egi_walker *walker;

    lua_createtable(L, SUPPORT_WALKER, 0);
    support = lua_gettop(L);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "ffi");
    if (lua_pcall(L, 1, 1, 0) != 0 || !lua_istable(L, -1))
        luaL_error(L, "engram needs LuaJIT's ffi library");
    ffi = lua_gettop(L);
    memset(lua_newuserdata(L, 8), 0, 8);
    at = lua_gettop(L);
    lua_pushvalue(L, at);
    lua_rawseti(L, support, SUPPORT_CELL);
    lua_getfield(L, ffi, "istype");
    lua_rawseti(L, support, SUPPORT_ISTYPE);
    lua_getfield(L, ffi, "typeof");
    lua_rawseti(L, support, SUPPORT_TYPEOF);
    lua_getglobal(L, "tostring");
    lua_rawseti(L, support, SUPPORT_TOSTRING);
    ffi_call(L, ffi, support, "typeof", "int64_t", 0, SUPPORT_INT64);
    ffi_call(L, ffi, support, "typeof", "uint64_t", 0, SUPPORT_UINT64);
    ffi_call(L, ffi, support, "cast", "int64_t *", at, SUPPORT_AT_INT64);
    ffi_call(L, ffi, support, "cast", "uint64_t *", at, SUPPORT_AT_UINT64);
    ffi_call(L, ffi, support, "cast", "const uint8_t **", at, SUPPORT_AT_BYTES);
    walker = lua_newuserdata(L, sizeof *walker);
    egi_walker_init(walker, &egi_default_allocator, EG_MAX_DEPTH);
    new_type(L, WALKER_TYPE, walker_gc);
    lua_setmetatable(L, -2);
    lua_rawseti(L, support, SUPPORT_WALKER);
    lua_settop(L, support);
}

void eg_lua_open_codec(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"newScratch", new_scratch},
        {"release", release_scratch},
        {"reserve", reserve_scratch},
        {NULL, NULL},
    };

    number_calls *numbers;

    luaL_checkstack(L, 12, "codec");
    numbers = lua_newuserdata(L, sizeof *numbers);
    numbers->put = put_number;
    numbers->get = get_number;
    lua_setfield(L, -2, "numbers");
    new_type(L, SCRATCH_TYPE, scratch_gc);
    lua_pop(L, 1);
    new_support(L);
    for (int i = 0; i < 3; i++) {
        const luaL_Reg *list = i == 0   ? functions
                               : i == 1 ? eg_lua_encoders
                                        : eg_lua_decoders;

        for (; list->name != NULL; list++) {
            lua_pushvalue(L, -1);
            lua_pushcclosure(L, list->func, 1);
            lua_setfield(L, -3, list->name);
        }
    }
    lua_pop(L, 1);
}
