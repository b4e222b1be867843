--- The archetype object: the rows of all entities with one component set.
-- Rows are 1-based. `entities` and columns are good until the scope they were
-- taken in closes, at depth 0 until the next structural change. An archetype
-- keeps its world alive. All since 0.1.

local err = require("engram.err")

local Archetype = {}
Archetype.__index = Archetype

local function componentId(C, method)
  local id = type(C) == "table" and C.componentId
  if type(id) ~= "number" then
    err.expected("engram.Archetype:" .. method, "component", C)
  end
  return id
end

--- Made by `ecs/store.lua` only, which fills in the private fields.
function Archetype.new(world, id, componentList)
  return setmetatable({
    id = id,
    componentList = componentList,
    entities = false,
    _world = world,
    _capacity = -1,
    _allDirty = 0,
    _add = false,
    _remove = false,
  }, Archetype)
end

function Archetype:__tostring()
  local names = {}
  for i = 1, #self.componentList do
    names[i] = self.componentList[i].componentName
  end
  return "archetype " .. self.id .. " {" .. table.concat(names, ", ") .. "}"
end

-- What a caller outside may see of a column: unique keys are read-only.
local function column(self, id)
  local store = self._world._stores[id]
  local col = store and store[self.id]
  if col and store.key then return store.key.view(col) end
  return col
end

--- Returns the column of a component, nil when the archetype lacks it. Marks
-- nothing dirty. Index it with rows 1 to `entities[0]`: others are not checked.
-- That of EntityKey is a read-only view. Not to be used after `close`. O(1).
---@param C engram.Component
---@return any column
---@raise no component
function Archetype:get(C)
  return column(self, componentId(C, "get"))
end

--- The same column; marks the component dirty, where it is present. O(1).
---@param C engram.Component
---@return any column
---@raise no component
function Archetype:getMut(C)
  local id = componentId(C, "getMut")
  local world = self._world
  local store = world._stores[id]
  if store and store[self.id] then store.dirty[self.id] = world._stamp end
  return column(self, id)
end

--- Replaces the value of one row in place and marks it dirty. An EntityKey is
-- claimed as by `World:set`. O(1).
---@param row integer  1 to `entities[0]`
---@param value engram.Value  the archetype must have its component
---@raise component absent, value without `componentType`, row out of range, a
-- key that is held
function Archetype:set(row, value)
  local count = self.entities[0]
  if type(row) ~= "number" or not (row >= 1 and row <= count)
      or row % 1 ~= 0 then
    err.expected("engram.Archetype:set", "row 1 to " .. count, row)
  end
  return self._world:_setRow(self, row, value)
end

--- Marks one component of all rows dirty; absent: nothing happens. O(1).
---@param C engram.Component
---@raise no component
function Archetype:markComponentDirty(C)
  local id = componentId(C, "markComponentDirty")
  local world = self._world
  local store = world._stores[id]
  if store and store[self.id] then store.dirty[self.id] = world._stamp end
end

--- Marks every component of all rows dirty. O(1).
function Archetype:markAllComponentsDirty()
  self._allDirty = self._world._stamp
end

local function isDirty(self, id)
  local world = self._world
  local store = world._stores[id]
  if not (store and store[self.id]) then return false end
  return self._allDirty == world._stamp
    or store.dirty[self.id] == world._stamp
end

--- Whether a component was marked dirty; false when it is absent. O(1).
---@param C engram.Component
---@return boolean
---@raise no component
function Archetype:isComponentDirty(C)
  return isDirty(self, componentId(C, "isComponentDirty"))
end

--- Whether any component was marked dirty. O(components).
---@return boolean
function Archetype:anyComponentDirty()
  local ids = self._ids
  for i = 1, #ids do
    if isDirty(self, ids[i]) then return true end
  end
  return false
end

--- Iterates the dirty components, in canonical order.
---@return fun(): table?
function Archetype:dirtyComponents()
  local i, ids, list = 0, self._ids, self.componentList
  return function()
    while i < #ids do
      i = i + 1
      if isDirty(self, ids[i]) then return list[i] end
    end
  end
end

return Archetype
