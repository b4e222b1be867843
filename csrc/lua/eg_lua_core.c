/* SPDX-License-Identifier: MIT */
/* The door for Lua values: `require("engram.core")` opens it. What moves
 * numbers and pointers goes through FFI into the same shared object. */
#include "lua/eg_lua.h"

#if !defined(LUAJIT_VERSION_NUM)
#include <luajit.h>
#endif
#if !defined(LUAJIT_VERSION_NUM) || LUAJIT_VERSION_NUM < 20100
#error "engram needs the headers of LuaJIT 2.1"
#endif

EG_API int luaopen_engram_core(lua_State *L);

/* protect(fn, ...) -> true, results | false, error
 * As pcall, but what runs inside cannot yield: a save or load that is parked
 * half-way could be met by anyone. */
static int protect(lua_State *L)
{
    int status;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0);
    if (status == 0)
        return lua_gettop(L);
    lua_pushboolean(L, 0);
    lua_replace(L, 1);
    return lua_gettop(L);
}

int luaopen_engram_core(lua_State *L)
{
    lua_newtable(L);
    eg_lua_open_codec(L);
    lua_pushcfunction(L, protect);
    lua_setfield(L, -2, "protect");
    return 1;
}
