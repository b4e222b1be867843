--- Spawning many entities of one archetype: `batchSpawn`, `batchSpawnAt`.
-- Rows appear zeroed, with required values in place, and one callback fills
-- them. At depth 0 they appear inside the call, otherwise in the drain.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local values = require("engram.ecs.values")
local plan = require("engram.ecs.plan")
local stores = require("engram.ecs.store")

local C = lib.C
local fence = stores.fence
local first = ffi.new("uint32_t[1]")

local M = {}

local function fail(name, text)
  err.raise("engram.World:" .. name .. ": " .. text)
end

-- The node of a list of component types.
local function nodeOf(world, types, name)
  if type(types) ~= "table" or types.componentId then
    err.expected("engram.World:" .. name, "array of components", types)
  end
  local node = world._plans
  for i = 1, #types do
    local component = types[i]
    local known = values.resolve(component)
    if known == nil or not rawequal(known, component) then
      err.expected("engram.World:" .. name, "component at position " .. i
        .. " of types", component)
    end
    local id = component.componentId
    if stores.of(world, id).key then
      fail(name, component.componentName .. " is unique per entity and not"
        .. " allowed in a batch")
    end
    node = node[id] or plan.extend(node, id)
  end
  if not node.ready then plan.finish(world, node) end
  return node
end

-- What a table or string column holds before the callback.
local function fillHost(store, column, firstRow, lastRow)
  if store.scalar then
    for row = firstRow, lastRow do column[row] = "" end
    return
  end
  local mt = store.info.instanceMt
  for row = firstRow, lastRow do column[row] = setmetatable({}, mt) end
end

-- Completes rows that the core has placed: Lua cells and required values.
local function fill(node, arch, firstRow, lastRow)
  local at, inits = arch.id, node.inits
  for i = 1, arch._hostCount do
    local store = arch._host[i]
    fillHost(store, store[at], firstRow, lastRow)
  end
  for i = 1, #inits do
    local store, make = inits[i].store, inits[i].make
    local column = store[at]
    for row = firstRow, lastRow do
      column[row] = make()
    end
  end
end

local function checkCall(count, cb, name)
  if type(count) ~= "number" or count < 0 or count % 1 ~= 0 then
    err.expected("engram.World:" .. name, "count (an integer of 0 or more)",
      count)
  end
  if type(cb) ~= "function" then
    err.expected("engram.World:" .. name, "callback", cb)
  end
end

local FULL = -30

local function outOfSlots(world, code, name)
  if code < 0 then
    fail(name, lib.message(code) .. " (maxEntities " .. world.maxEntities
      .. ")")
  end
end

-- ids[from .. from + count - 1]: an ascending run is returned by its first id,
-- anything else as an array.
local function idResult(ids, from, count)
  local base, run = ids[from], true
  for i = 1, count - 1 do
    if ids[from + i] ~= base + i then
      run = false
      break
    end
  end
  if run and count > 0 then return base, nil end
  local list = {}
  for i = 1, count do list[i] = ids[from + i - 1] end
  return nil, list
end

-- Completes placed rows at depth 0 and calls back: a drain of its own.
local function announce(world, node, firstRow, count, cb)
  local arch, unwinds = node.arch, world:_beginDrain()
  arch._allDirty = world._stamp
  fill(node, arch, firstRow, firstRow + count - 1)
  cb(arch, firstRow, firstRow + count - 1, count)
  world:_finishDrain(unwinds)
end

local function stageBatch(world, node, cb)
  local token = world._batchCount + 1
  world._batchCount = token
  world._batches[token] = { node = node, cb = cb }
  world._staged = true
  return token
end

--- Spawns `count` entities of one archetype; `cb(arch, firstRow, lastRow,
-- count)` fills their rows. Constructors and defaults do not run: rows are
-- zero, table rows new empty instances, required values in place. `cb` runs
-- once, inside the call at depth 0, in the drain otherwise; not at all for 0
-- rows. If it raises, the entities exist with what was written. O(count).
---@param count integer  0 or more
---@param types engram.Component[]  in any order, no EntityKey
---@param cb engram.Fill
---@return number? firstId  when the ids ascend without gaps
---@return number[]? ids  otherwise: an array; empty for count 0
---@raise bad types or count; `no free entity slot`, and nothing was spawned; no
-- memory; what `cb` raises
function M.batchSpawn(world, count, types, cb)
  checkCall(count, cb, "batchSpawn")
  local node = nodeOf(world, types, "batchSpawn")
  if count == 0 then return nil, {} end
  -- The core counts in 32 bits.
  if count > world.maxEntities then outOfSlots(world, FULL, "batchSpawn") end
  local arch = node.arch
  if world._depth ~= 0 then
    local ids = ffi.new("double[?]", count)
    outOfSlots(world, C.eg_stage_batch(world._c, arch.id, count, ids,
      world._batchCount + 1), "batchSpawn")
    stageBatch(world, node, cb)
    return idResult(ids, 0, count)
  end
  fence[0] = 0
  outOfSlots(world, C.eg_entity_spawn_many(world._c, arch.id, count, nil,
    first), "batchSpawn")
  stores.sync(world, false)
  local firstRow = first[0]
  local firstId, ids = idResult(arch.entities, firstRow, count)
  announce(world, node, firstRow, count, cb)
  return firstId, ids
end

local WHY = {
  [-10] = "is no entity id of this world",
  [-32] = "is in use or given twice",
  [-33] = "has used up its generations",
}

--- As `batchSpawn`, under chosen dead ids, which are all checked first.
---@param ids number[]  read, not kept
---@param types engram.Component[]  in any order, no EntityKey
---@param cb engram.Fill
---@raise an id that is not dead, occupied, retired, 0, too high or given twice
function M.batchSpawnAt(world, ids, types, cb)
  if type(ids) ~= "table" then
    err.expected("engram.World:batchSpawnAt", "array of ids", ids)
  end
  local count = #ids
  checkCall(count, cb, "batchSpawnAt")
  local node = nodeOf(world, types, "batchSpawnAt")
  local buffer = ffi.new("double[?]", count + 1)
  for i = 1, count do
    if type(ids[i]) ~= "number" then
      err.expected("engram.World:batchSpawnAt", "id at position " .. i,
        ids[i])
    end
    buffer[i - 1] = ids[i]
  end
  if count == 0 then return end
  local code = C.eg_stage_batch_at(world._c, node.arch.id, count, buffer,
    world._batchCount + 1, first)
  if code < 0 then
    if WHY[code] then
      fail("batchSpawnAt", "entity " .. lib.idText(buffer[first[0]]) .. " "
        .. WHY[code])
    end
    outOfSlots(world, code, "batchSpawnAt")
  end
  stageBatch(world, node, cb)
  if world._depth == 0 then
    world._depth = 1
    world:commit()
  end
end

--- Answers the drain's report of a placed batch.
function M.placed(world, op)
  local token = op.token
  local entry = world._batches[token]
  local arch, firstRow, count = world._archs[op.to], op.to_row, op.count
  world._batches[token] = nil
  if count == 0 then return end
  fill(entry.node, arch, firstRow, firstRow + count - 1)
  arch._allDirty = world._stamp
  entry.cb(arch, firstRow, firstRow + count - 1, count)
end

return M
