--- Queries and cursors. The core keeps the sorted list of matching archetypes;
-- a query mirrors it as archetype objects, and iterates without state: the
-- archetype yielded last says where to go on. So nothing is allocated and one
-- query may be nested in itself.

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

local FIELDS = {
  include = true, exclude = true, includeAny = true, name = true,
  type = true, temp = true,
}

-- Copies a list of components; returns it with an array of their ids.
local function components(list, field)
  local copy, ids = {}, {}
  if list == nil then return nil, ids end
  if type(list) ~= "table" then
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
  local copy = {
    name = descriptor.name, type = kind, temp = descriptor.temp or nil,
  }
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

--- Makes a query. See the guide for the descriptor's fields.
---@param descriptor table
---@return table query
---@raise unknown field, bad `type`, no component in a list
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

-- One step: the first non-empty archetype after `arch`.
local function step(query, arch)
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
  query._world:commit()
end

--- Iterates non-empty matching archetypes inside a scope, in archetype order:
-- `for arch, length, entities in query:iter()`. Allocates nothing. Leaving the
-- loop early leaves its scope open until `unwind`; use a cursor to avoid that.
---@return fun(query: table, arch: table?): table?, integer?, any
function Query:iter()
  return step, self, nil
end

--- Number of matching entities. Cost by archetypes.
---@return integer
function Query:count()
  sync(self)
  local total, list = 0, self._list
  for i = 1, self._count do total = total + list[i].entities[0] end
  return total
end

--- Makes a cursor: one traversal whose scope can be closed at any time.
---@return table cursor
function Query:cursor()
  return setmetatable({ _query = self, _world = self._world, _state = 0 },
    Cursor)
end
Query.newCursor = Query.cursor

-- States of a cursor: 0 fresh, 1 under way, 2 closed.
local function cursorStep(cursor, arch)
  if cursor._state == 2 then return nil end
  if arch == nil then
    if cursor._state ~= 0 then return nil end
    cursor._state = 1
    cursor._unwinds = cursor._world._unwinds
  end
  local match, length, entities = step(cursor._query, arch)
  -- Exhaustion has closed the scope already.
  if match == nil then cursor._state = 2 end
  return match, length, entities
end

--- Iterates as the query does. A cursor makes one traversal.
---@raise a second traversal, a closed cursor
function Cursor:iter()
  if self._state ~= 0 then
    err.raise("engram.Cursor:iter: " .. (self._state == 2
      and "the cursor is closed" or "a cursor makes one traversal"))
  end
  return cursorStep, self, nil
end

--- Ends the traversal and its scope; again, or never begun: only closes.
function Cursor:close()
  local state = self._state
  self._state = 2
  -- An unwind since then has closed this scope with all others.
  if state == 1 and self._unwinds == self._world._unwinds then
    self._world:commit()
  end
end

return M
