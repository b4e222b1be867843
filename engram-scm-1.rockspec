rockspec_format = "3.0"
package = "engram"
version = "scm-1"
-- `luarocks make` builds the tree it is started in and fetches nothing.
source = {
  url = "git+file://.",
}
description = {
  summary = "Entities and components for LuaJIT, in worlds you can save",
  detailed = [[
An archetype entity component system with a C core. Worlds are saved and
loaded as bytes: all or nothing, checked before they are used.]],
  license = "MIT",
}
-- LuaJIT 2.1; it calls itself Lua 5.1.
dependencies = {
  "lua == 5.1",
}
supported_platforms = { "unix" }
build = {
  type = "make",
  build_target = "all",
  install_target = "install",
  build_variables = {
    LUA_INCDIR = "$(LUA_INCDIR)",
  },
  install_variables = {
    LUA_INCDIR = "$(LUA_INCDIR)",
    LUADIR = "$(LUADIR)",
    LIBDIR = "$(LIBDIR)",
    BINDIR = "$(BINDIR)",
  },
}
