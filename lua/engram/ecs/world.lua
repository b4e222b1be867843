--- Worlds: making, closing, and the calls that concern a world as a whole.
-- Per-entity calls are in `entity.lua`, scopes in `drain.lua`. What holds for
-- every method: an argument of a wrong type raises; a call that raises has
-- changed nothing; on a closed world all but `close` raise. A world belongs to
-- its Lua state. All since 0.1.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local registry = require("engram.ecs.registry")
local builtins = require("engram.ecs.builtins")
local values = require("engram.ecs.values")
local stores = require("engram.ecs.store")
local plan = require("engram.ecs.plan")
local cell = require("engram.ecs.cell")
local Keys = require("engram.ecs.keys")
local entity = require("engram.ecs.entity")
local spawn = require("engram.ecs.spawn")
local batch = require("engram.ecs.batch")
local drain = require("engram.ecs.drain")
local query = require("engram.ecs.query")

local C = lib.C
local worldOut = ffi.new("eg_world *[1]")
local stats = ffi.new("eg_stats")

local MAX_ENTITIES = 2 ^ 22 - 1
local DEFAULT_MAX_ENTITIES = 2 ^ 20

local World = {}
World.__index = World

local M = {
  World = World,
  MAX_ENTITIES = MAX_ENTITIES,
  DEFAULT_MAX_ENTITIES = DEFAULT_MAX_ENTITIES,
}

-- What is left of a closed world: `close`, and one clear error for the rest.
local Closed = {
  __index = function(_, name)
    if name == "close" then return World.close end
    local function closed() err.raise("engram.World: world is closed") end
    if World[name] then return closed end
    closed()
  end,
  __tostring = function() return "world (closed)" end,
}

-- What archetypes of a closed world have for `entities`.
local NO_ROWS = setmetatable({}, { __index = Closed.__index })

local function isInteger(v, low, high)
  return type(v) == "number" and v % 1 == 0 and v >= low and v <= high
end

local RULES = {
  { "timestep", 1 / 60, "a finite number above 0", function(v)
    return type(v) == "number" and v > 0 and v < math.huge
  end },
  { "maxEntities", DEFAULT_MAX_ENTITIES, "an integer from 1 to 2^22 - 1",
    function(v) return isInteger(v, 1, MAX_ENTITIES) end },
  { "fixedMaxSteps", 10, "an integer of 1 or more",
    function(v) return isInteger(v, 1, 2 ^ 53) end },
  { "fixedOverload", "drop", '"drop" or "accumulate"',
    function(v) return v == "drop" or v == "accumulate" end },
}

local OPTIONS = {}
for i = 1, #RULES do OPTIONS[RULES[i][1]] = true end

local function configured(config)
  local out = {}
  if config ~= nil and type(config) ~= "table" then
    err.expected("engram.newWorld", "table of options", config)
  end
  config = config or {}
  err.options("engram.newWorld", config, OPTIONS)
  for i = 1, #RULES do
    local name, default, rule, valid = unpack(RULES[i])
    local value = config[name]
    if value == nil then value = default end
    if not valid(value) then
      err.expected("engram.newWorld: " .. name, rule, value)
    end
    out[name] = value
  end
  return out
end

--- Creates an empty world. It is freed when nobody refers to it, or by `close`;
-- queries, archetypes and cursors keep it, columns do not.
---@param config? engram.WorldOptions  read, not kept: `maxEntities` (1 to
-- 2^22 - 1; 2^20), fixed for its life; `timestep` (seconds, above 0; 1/60),
-- `fixedMaxSteps` (1 or more; 10), `fixedOverload` ("drop" or "accumulate")
---@return engram.World world
---@raise a value outside its rule, an unknown option, no memory
function M.newWorld(config)
  local options = configured(config)
  stores.check(C.eg_world_new(registry.handle(), options.maxEntities, nil,
    worldOut), "newWorld")
  local c = ffi.gc(worldOut[0], C.eg_world_free)
  local world = {
    maxEntities = options.maxEntities,
    _c = c,
    _slots = C.eg_world_slots(c),
    _max = ffi.cast("uint64_t", options.maxEntities),
    _depth = 0,
    _floor = 0,       -- scopes that commit and unwind may not close
    _staged = false,  -- anything for a drain to do
    _draining = false,
    _waves = 0,
    _unwinds = 0,
    _busy = false,    -- "save", "load": what is under way
    _stamp = 1,       -- dirty marks equal to it are set
    _epoch = 0,       -- number of archetypes made
    _stores = stores.byId(),
    _archs = stores.byId(),
    _plans = plan.root(),
    _keys = Keys.new(),
    _keyStore = false,
    _batches = {},
    _batchCount = 0,
    _op = drain.newOp(),
    _builtins = builtins,
    _options = options,
    _clock = { accumulator = 0, steps = 0 },
  }
  world._keyStore = stores.of(world, builtins.EntityKey.componentId)
  return setmetatable(world, World)
end

--- Whether a scope is open; refuses the call `name` if so.
function World:_refuseOpenScope(name)
  if self._busy then
    err.raise("engram.World:" .. name .. ": not while a " .. self._busy
      .. " of this world is under way")
  end
  if self._draining then
    err.raise("engram.World:" .. name .. ": not inside a drain (after an error"
      .. " in a callback call unwind first)")
  end
  if self._depth ~= 0 then
    err.raise("engram.World:" .. name .. ": not inside an open scope (a loop"
      .. " over a query that was left early, or an error in a callback, leaves"
      .. " its scope open until unwind)")
  end
end

local function refuseDrain(world, name)
  if world._draining then
    err.raise("engram.World:" .. name .. ": not inside a drain")
  end
  if world._busy then
    err.raise("engram.World:" .. name .. ": not while a " .. world._busy
      .. " of this world is under way")
  end
end

--- Frees the world's memory now. Again: nothing happens; every other method
-- then raises `world is closed`. Columns and rows taken from it must not be
-- used. Allowed in an open scope; what is staged is dropped. O(archetypes).
---@raise inside a drain or the callback of a batch, a save or a load
function World:close()
  if getmetatable(self) == Closed then return end
  refuseDrain(self, "close")
  for id = 1, C.eg_archetype_count(self._c) do
    local arch = self._archs[id]
    if arch then arch.entities = NO_ROWS end
  end
  stores.fence[0] = 0
  C.eg_world_free(ffi.gc(self._c, nil))
  local names = {}
  local name = next(self)
  while name ~= nil do
    names[#names + 1] = name
    name = next(self, name)
  end
  for i = 1, #names do self[names[i]] = nil end
  setmetatable(self, Closed)
end

--- Removes all entities and all staged work, and closes all scopes. Queries
-- and capacity stay; no callback runs. Old ids are dead, slots are handed out
-- lowest first; dirty marks are cleared. Loops under way end. O(slots used).
---@raise inside a drain or the callback of a batch, a save or a load
function World:clearEntities()
  refuseDrain(self, "clearEntities")
  local archs, high = self._archs, C.eg_archetype_count(self._c)
  for id = 1, high do
    local arch = archs[id]
    if arch then
      for k = 1, arch._hostCount do
        local store = arch._host[k]
        local column = store[id]
        for row = 1, arch._capacity do column[row] = nil end
      end
      arch._allDirty = 0
    end
  end
  stores.fence[0] = 0
  C.eg_world_clear(self._c)
  self._keys = Keys.new()
  self._batches, self._batchCount = {}, 0
  self._staged = false
  self._depth = 0
  self._unwinds = self._unwinds + 1
  self._stamp = self._stamp + 1
end

--- Gives spare memory back: rows beyond need, and what is kept for the next
-- load. Columns and rows taken before are invalid. O(bytes of rows).
---@return integer pruned  archetypes dropped; always 0 for now
---@return integer compacted  archetypes whose storage shrank
---@raise in an open scope, a drain, a save or a load
function World:compact()
  self:_refuseOpenScope("compact")
  stores.fence[0] = 0
  local shrunk = C.eg_world_compact(self._c)
  stores.sync(self, false)
  return 0, shrunk
end

--- Numbers about the world: committed `entities`, `archetypes` (empty ones
-- included), `components` (distinct ones that archetypes have), `systems`, and
-- what the fixed clock has dropped: `fixedStepsDropped`, `fixedTimeDropped`
-- (seconds); there are no systems yet, so those are 0. O(archetypes).
---@param fill? table  filled and returned when given
---@return engram.Stats
function World:getStats(fill)
  if fill ~= nil and type(fill) ~= "table" then
    err.expected("engram.World:getStats", "table", fill)
  end
  fill = fill or {}
  C.eg_world_stats(self._c, stats)
  fill.entities = stats.entities
  fill.archetypes = stats.archetypes
  fill.components = stats.components
  fill.systems, fill.fixedStepsDropped, fill.fixedTimeDropped = 0, 0, 0
  return fill
end

--- Committed holder of an EntityKey. Follows structure: a key that is set or
-- given up in an open scope shows when the scope closes. O(1).
---@param key string
---@return number? id  nil when nobody holds it
function World:byKey(key)
  if type(key) ~= "string" then
    err.expected("engram.World:byKey", "string", key)
  end
  return self._keys.committed[key]
end

--- As `byKey`.
---@param key string
---@return number id
---@raise nobody holds the key
function World:requireKey(key)
  local id = World.byKey(self, key)
  if id == nil then
    err.raise(string.format(
      "engram.World:requireKey: nobody holds EntityKey %q", key))
  end
  return id
end

--- Iterates non-empty archetypes that have a component, in archetype order,
-- without a scope: make no structural change in the loop. `Disabled` plays no
-- part. The list is made at the call: O(n log n) in archetypes, and garbage.
---@param component engram.Component
---@return fun(): engram.Archetype, integer, any  archetype, length, entities
function World:findArchetypes(component)
  if not rawequal(values.resolve(component) or false, component) then
    err.expected("engram.World:findArchetypes", "component", component)
  end
  local found = {}
  local store = stores.of(self, component.componentId)
  for id = 1, C.eg_archetype_count(self._c) do
    local arch = store[id] ~= nil and self._archs[id]
    if arch and not arch._staging then found[#found + 1] = arch end
  end
  local c = self._c
  table.sort(found, function(a, b)
    return C.eg_archetype_before(c, a.id, b.id) ~= 0
  end)
  local i = 0
  return function()
    while i < #found do
      i = i + 1
      local arch = found[i]
      local entities = arch.entities
      if entities[0] > 0 then return arch, entities[0], entities end
    end
  end
end

--- Behind `archetype:set`: replaces a row's value in place.
function World:_setRow(arch, row, value)
  local component = values.resolve(value)
  if component == nil then
    err.expected("engram.Archetype:set", "value with componentType", value)
  end
  local store = stores.of(self, component.componentId)
  local column = store[arch.id]
  if column == nil then
    err.raise("engram.Archetype:set: " .. component.componentName
      .. " is absent from " .. tostring(arch))
  end
  if store.key then return entity.set(self, arch.entities[row], value) end
  local content = cell.of(component, value)
  -- Building it may have run user code, which may have moved the column.
  store[arch.id][row] = content
  store.dirty[arch.id] = self._stamp
end

World.isAlive, World.get, World.getMut = entity.isAlive, entity.get,
  entity.getMut
World.has, World.set, World.remove = entity.has, entity.set, entity.remove
World.despawn = entity.despawn
World.markComponentDirty = entity.markComponentDirty
World.spawn, World.spawnAt = spawn.spawn, spawn.spawnAt
World.batchSpawn, World.batchSpawnAt = batch.batchSpawn, batch.batchSpawnAt
World.defer, World.commit, World.unwind = drain.defer, drain.commit,
  drain.unwind
World._beginDrain, World._finishDrain = drain.begin, drain.finish
World.query, World.newQuery = query.new, query.new

-- Snapshots are half of the library and not needed by every script. Contracts
-- are in snapshot/save.lua and snapshot/load.lua.
function World:saveSnapshot(options)
  return require("engram.snapshot.save").saveSnapshot(self, options)
end

function World:loadSnapshot(src, options)
  return require("engram.snapshot.load").loadSnapshot(self, src, options)
end

return M
