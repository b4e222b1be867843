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

int luaopen_engram_core(lua_State *L)
{
    lua_newtable(L);
    eg_lua_open_codec(L);
    return 1;
}
