--- Where a world keeps what compiled code reads: per component a *store*
-- (archetype id → column), per archetype id an archetype object.
--
-- C owns ids and byte columns; this module caches their addresses and follows
-- when they move. Columns of tables and strings are Lua arrays that live here
-- and are kept in step by the code that moves rows (`ecs/move.lua`).
--
-- A store is indexed by archetype id: `store[archetype.id]` is the column, nil
-- when the archetype lacks the component. One table per component makes that a
-- plain array access; a hash keyed by component per archetype is twice as slow.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local registry = require("engram.ecs.registry")
local Archetype = require("engram.ecs.archetype")
local newtable = require("table.new")

local C = lib.C
local cast = ffi.cast
local view = ffi.new("eg_archetype_view")
local flags = ffi.new("uint32_t[1]")
local found = ffi.new("uint32_t[1]")

local M = {}

--- To be stored into (`fence[0] = 0`) before every foreign call that changes or
-- frees rows. Some LuaJIT builds delay a load from C memory past a foreign call
-- when its value is used only afterwards: `local x = col[row].x`, `despawn`,
-- `sum + x` adds what lies in the row by then. A store in between stops them.
M.fence = ffi.new("int32_t[1]")
local fence = M.fence

-- Storage classes, as in enum eg_storage.
M.TAG, M.RAW, M.NUMBER, M.BOOLEAN, M.HOST = 0, 1, 2, 3, 4

local POINTERS = {
  [M.NUMBER] = ffi.typeof("double *"),
  [M.BOOLEAN] = ffi.typeof("bool *"),
}

--- Raises for a negative code of the core.
function M.check(code, what)
  if code < 0 then
    err.raise("engram.World:" .. what .. ": " .. lib.message(code))
  end
  return code
end

-- Reads give the tag, writes do nothing: callers need not ask for the kind.
local function tagColumn(component)
  return setmetatable({}, {
    __index = function() return component end,
    __newindex = function() end,
  })
end

-- Tables that compiled code indexes by a component's or an archetype's id have
-- an array part from the start: an id that lands in the hash part, as the first
-- ones of an empty table do, costs three times as much to look up.
local IDS = 32

--- A table to be indexed by ids.
function M.byId()
  return newtable(IDS, 0)
end

local function newStore(world, id)
  local info = registry.info[id]
  local storage = info.storage
  local store = newtable(IDS, 16)
  store.info = info
  store.id = id
  store.component = info.component
  store.storage = storage
  store.scalar = info.scalarKind
  store.pointer = info.pointer or POINTERS[storage]
  store.dirty = M.byId()
  store.key = info.uniqueKey
  store.tagColumn = storage == M.TAG and tagColumn(info.component) or nil
  world._stores[id] = store
  return store
end

--- The store of a component in a world, made on first use.
function M.of(world, id)
  return world._stores[id] or newStore(world, id)
end

-- Lua arrays are sized with their archetype, so filling them never rehashes.
local function fitHostColumn(store, at, count, capacity)
  local old = store[at]
  local fresh = newtable(capacity + 1, 0)
  if old then
    for row = 1, count do fresh[row] = old[row] end
  end
  store[at] = fresh
end

-- Column of an archetype without storage: never the null pointer, since that
-- equals nil, which means that the component is absent.
local function emptyColumn(store)
  if store.none == nil then
    local ctype = store.info.ctype
    local size = ctype and ffi.sizeof(ctype) or 8
    store.none = ffi.new("double[?]", size / 4 + 1) -- row 0 and a row 1
  end
  return store.none
end

--- Reads addresses and capacity of an archetype again.
function M.readdress(world, arch)
  local at, stores, c = arch.id, world._stores, world._c
  C.eg_archetype_read(c, at, view)
  arch.entities = view.entities
  arch._capacity = view.capacity
  local components = arch._ids
  for i = 1, #components do
    local store = stores[components[i]]
    if store.pointer then
      local address = C.eg_archetype_column(c, at, store.id)
      if address == nil then address = emptyColumn(store) end
      store[at] = cast(store.pointer, address)
    end
  end
end

--- The same, and fits the Lua columns to the capacity.
function M.refresh(world, arch)
  local before, at = arch._capacity, arch.id
  M.readdress(world, arch)
  local capacity, count = arch._capacity, tonumber(arch.entities[0])
  for i = 1, arch._hostCount do
    local store = arch._host[i]
    if capacity ~= before or not store[at] then
      fitHostColumn(store, at, count, capacity)
    end
  end
end

local function newArchetype(world, id)
  if C.eg_archetype_read(world._c, id, view) == 0 then
    error("engram: unknown archetype " .. tostring(id))
  end
  local count = tonumber(view.component_count)
  local ids, host, list, keyed = {}, {}, {}, false
  for i = 1, count do
    local cid = tonumber(view.canonical[i - 1])
    local store = M.of(world, cid)
    ids[i] = cid
    list[i] = store.component
    keyed = keyed or store.key ~= nil
    if store.storage == M.HOST then host[#host + 1] = store end
    if store.storage == M.TAG then store[id] = store.tagColumn end
  end
  local arch = Archetype.new(world, id, list)
  arch._ids = ids
  arch._host = host
  arch._add, arch._remove = M.byId(), M.byId()
  arch._hostCount = #host
  arch._keyed = keyed
  arch._staging = view.staging ~= 0
  -- What despawn must look at beyond bytes, and what drains must report.
  arch._special = #host > 0
  if arch._special then C.eg_archetype_attend(world._c, id, 1) end
  world._archs[id] = arch
  if not arch._staging then world._epoch = world._epoch + 1 end
  M.refresh(world, arch)
  return arch
end

--- The archetype object of an id.
function M.archetype(world, id)
  return world._archs[id] or newArchetype(world, id)
end

--- Makes room for `rows` rows beyond those present.
function M.reserve(world, arch, rows, what)
  fence[0] = 0
  M.check(C.eg_archetype_reserve(world._c, arch.id, rows), what or "spawn")
  M.sync(world, false)
end

--- Follows everything the core touched: addresses after growth, and, when
-- `dirty`, the dirty marks of archetypes whose rows a drain changed.
function M.sync(world, dirty)
  local c, stamp = world._c, world._stamp
  local id = C.eg_archetype_touched(c, flags)
  while id ~= 0 do
    local arch = world._archs[id]
    -- An archetype made just now is read whole when its object is.
    if arch then
      if flags[0] >= 2 then M.refresh(world, arch) end
      if dirty then arch._allDirty = stamp end
    end
    id = C.eg_archetype_touched(c, flags)
  end
end

--- The archetype of an array of component ids.
function M.find(world, ids, staging)
  local n = #ids
  local buffer = ffi.new("uint32_t[?]", n + 1)
  for i = 1, n do buffer[i - 1] = ids[i] end
  M.check(C.eg_archetype_get(world._c, buffer, n, staging and 1 or 0, found),
    "spawn")
  return M.archetype(world, found[0])
end

--- The archetype with one component more.
function M.with(world, arch, id)
  M.check(C.eg_archetype_add(world._c, arch.id, id, found), "set")
  return M.archetype(world, found[0])
end

--- The archetype with one component less.
function M.without(world, arch, id)
  M.check(C.eg_archetype_remove(world._c, arch.id, id, found), "remove")
  return M.archetype(world, found[0])
end

return M
