--- Queries and cursors. The core keeps the sorted list of matching archetypes;
-- a query mirrors it as archetype objects, and iterates without state: the
-- archetype yielded last says where to go on. So nothing is allocated and one
-- query may be nested in itself. All since 0.1.

local ffi = require("ffi")
local lib = require("engram.lib")
local values = require("engram.ecs.values")
local stores = require("engram.ecs.store")
local err = require("engram.err")

local C = lib.C
local listOut = ffi.new("const uint32_t *[1]")
local queryOut = ffi.new("eg_query *[1]")
local definition = ffi.new("eg_query_def")

local Query, Cursor = {}, {}
Query.__index = Query
Cursor.__index = Cursor

local M = { Query = Query, Cursor = Cursor }

-- States of a cursor.
local FRESH, GIVEN, OPEN, CLOSED = 0, 1, 2, 3

local FIELDS = {
  include = true, exclude = true, includeAny = true, name = true,
  type = true, temp = true,
}

-- Copies a list of components; returns it with an array of their ids.
local function components(list, field)
  local copy, ids = {}, {}
  if list == nil then return nil, ids end
  if type(list) ~= "table" or list.componentId then
    err.expected("engram.World:query: " .. field, "array of components", list)
  end
  for i = 1, #list do
    local component = list[i]
    if not rawequal(values.resolve(component) or false, component) then
      err.expected("engram.World:query: " .. field .. "[" .. i .. "]",
        "component", component)
    end
    copy[i], ids[i] = component, component.componentId
  end
  return copy, ids
end

local function contains(ids, id)
  for i = 1, #ids do
    if ids[i] == id then return true end
  end
  return false
end

-- A descriptor's own copy, and the id arrays the core wants.
local function compile(world, descriptor)
  err.options("engram.World:query", descriptor, FIELDS)
  local kind = descriptor.type
  if kind ~= nil and kind ~= "logic" and kind ~= "render" then
    err.expected("engram.World:query: type", '"logic" or "render"', kind)
  end
  local name, temp = descriptor.name, descriptor.temp
  if name ~= nil and type(name) ~= "string" then
    err.expected("engram.World:query: name", "string", name)
  end
  if temp ~= nil and type(temp) ~= "boolean" then
    err.expected("engram.World:query: temp", "boolean", temp)
  end
  local copy = { name = name, type = kind, temp = temp or nil }
  local include, exclude, any
  copy.include, include = components(descriptor.include, "include")
  copy.exclude, exclude = components(descriptor.exclude, "exclude")
  copy.includeAny, any = components(descriptor.includeAny, "includeAny")
  local builtins = world._builtins
  local disabled = builtins.Disabled.componentId
  local paused = builtins.Paused.componentId
  if not contains(include, disabled) then exclude[#exclude + 1] = disabled end
  if kind == "logic" and not contains(include, paused) then
    exclude[#exclude + 1] = paused
  end
  return copy, include, exclude, any
end

local function idArray(ids)
  local array = ffi.new("uint32_t[?]", #ids + 1)
  for i = 1, #ids do array[i - 1] = ids[i] end
  return array
end

-- Mirrors the core's list when archetypes have been made since.
local function follow(query)
  local world = query._world
  query._epoch = world._epoch
  local count = C.eg_query_list(query._c, listOut)
  local ids, list, place = listOut[0], {}, {}
  for i = 1, count do
    local arch = stores.archetype(world, ids[i - 1])
    list[i] = arch
    place[arch.id] = i
  end
  query._list, query._place, query._count = list, place, count
end

--- Makes a query. It lives as long as its world, and each new archetype is
-- offered to it; `temp` makes one that is not told. O(archetypes).
---@param descriptor engram.QueryDescriptor  read and copied: `include` (all
-- of), `exclude` (none of), `includeAny` (one of), `type` ("logic" or
-- "render"), `name`, `temp`
---@return engram.Query query
---@raise unknown field, bad `type`, no component in a list, no memory
function M.new(world, descriptor)
  local copy, include, exclude, any = compile(world, descriptor)
  local a, b, c = idArray(include), idArray(exclude), idArray(any)
  definition.include, definition.include_count = a, #include
  definition.exclude, definition.exclude_count = b, #exclude
  definition.any, definition.any_count = c, #any
  stores.check(C.eg_query_new(world._c, definition, queryOut), "query")
  local query = setmetatable({
    descriptor = copy,
    _world = world,
    _c = queryOut[0],
    _epoch = -1,
    _list = {},
    _place = {},
    _count = 0,
  }, Query)
  follow(query)
  if copy.temp then
    -- A view of what matches now: the core need not keep offering it more.
    C.eg_query_free(world._c, query._c)
    query._c = nil
    query._epoch = math.huge
  end
  return query
end

local function sync(query)
  if query._epoch < query._world._epoch then follow(query) end
end

function Query:__tostring()
  return "query " .. (self.descriptor.name or "(unnamed)")
end

-- The first non-empty archetype after `arch`, or from the start: opens a scope.
local function following(query, arch)
  local i
  if arch == nil then
    sync(query)
    query._world._depth = query._world._depth + 1
    i = 1
  else
    i = query._place[arch.id] + 1
  end
  local list = query._list
  for k = i, query._count do
    local match = list[k]
    local entities = match.entities
    local length = entities[0]
    if length > 0 then return match, length, entities end
  end
end

-- One step of a loop; its end closes the scope.
local function step(query, arch)
  local match, length, entities = following(query, arch)
  if match == nil then query._world:commit() end
  return match, length, entities
end

--- Iterates non-empty matching archetypes inside a scope, in archetype order:
-- `for arch, length, entities in query:iter()`. Allocates nothing. Leaving the
-- loop early leaves its scope open until `unwind`; use a cursor to avoid that.
-- Columns and `entities` are good until the loop ends. May be nested in itself.
---@return fun(query: table, arch: table?): table?, integer?, any
function Query:iter()
  return step, self, nil
end

--- Number of matching committed entities. O(matching archetypes).
---@return integer
function Query:count()
  sync(self)
  local total, list = 0, self._list
  for i = 1, self._count do total = total + list[i].entities[0] end
  return total
end

--- Makes a cursor: one traversal whose scope can be closed at any time. The
-- scope opens at the first step. O(1), one small table.
---@return engram.Cursor cursor
function Query:cursor()
  return setmetatable({ _query = self, _world = self._world, _state = FRESH },
    Cursor)
end
Query.newCursor = Query.cursor

local function cursorStep(cursor, arch)
  if cursor._state == CLOSED then return nil end
  if arch == nil then
    if cursor._state ~= GIVEN then return nil end
    cursor._unwinds = cursor._world._unwinds
    cursor._state = OPEN
  end
  local match, length, entities = following(cursor._query, arch)
  if match == nil then cursor:close() end
  return match, length, entities
end

--- Iterates as the query does. A cursor makes one traversal.
---@raise a second traversal, a closed cursor
function Cursor:iter()
  if self._state ~= FRESH then
    err.raise("engram.Cursor:iter: " .. (self._state == CLOSED
      and "the cursor is closed" or "a cursor makes one traversal"))
  end
  self._state = GIVEN
  return cursorStep, self, nil
end

--- Ends the traversal and its scope, and drains if that was the last one.
-- Again, never begun, or after an unwind: the cursor is closed, no more.
---@raise as `World:commit`
function Cursor:close()
  local state = self._state
  self._state = CLOSED
  -- What has closed all scopes since then has closed this one: `unwind`,
  -- `clearEntities`, the end of the world.
  if state == OPEN and self._unwinds == rawget(self._world, "_unwinds") then
    self._world:commit()
  end
end

return M
