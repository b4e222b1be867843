--- Spawning one entity.
--
-- The plain path is straight-line code, unrolled by number of values: find the
-- archetype along cached nodes, store the cells into the row after the last,
-- then let the core commit that row. Cells are stored *before* the call: a
-- value whose fields are read after a foreign call can no longer live in
-- registers alone, and costs an allocation.

local lib = require("engram.lib")
local err = require("engram.err")
local values = require("engram.ecs.values")
local plan = require("engram.ecs.plan")
local stores = require("engram.ecs.store")
local cell = require("engram.ecs.cell")

local C = lib.C
local resolve, fence = values.resolve, stores.fence
local select = select

local UNROLLED = 8

local M = {}

local function badValue(position, value)
  cell.bad("spawn", position, value)
end

-- Undoes the cells of a row that the core refused to commit.
local function refused(world, into, row, code, chosen)
  for i = 1, into._hostCount do into._host[i][into.id][row] = nil end
  if chosen then
    err.raise(string.format("engram.World:spawnAt: entity %s: %s",
      lib.idText(chosen), lib.message(code)))
  end
  err.raise(string.format("engram.World:spawn: %s (maxEntities %d)",
    lib.message(code), world.maxEntities))
end

-- Commits a row whose cells are in place. `chosen` is a chosen id or nil.
local function commit(world, arch, into, row, chosen)
  local code
  fence[0] = 0
  if into == arch then
    if chosen then
      code = C.eg_entity_spawn_at(world._c, chosen, arch.id)
    else
      code = C.eg_entity_spawn(world._c, arch.id)
    end
    arch._allDirty = world._stamp
  else
    if chosen then
      code = C.eg_stage_spawn_at(world._c, chosen, arch.id, into.id)
    else
      code = C.eg_stage_spawn(world._c, arch.id, into.id)
    end
    world._staged = true
  end
  if code < 0 then refused(world, into, row, code, chosen) end
  return chosen or code
end

-- The general form: any number of values, required components, unique keys.
-- `list` holds n resolved components, `cells` their cells.
local function place(world, node, list, cells, n, chosen)
  local inits, made = node.inits, {}
  -- What makes values may be user code: first keep what it could invalidate,
  -- and look at the world only afterwards.
  for i = 1, n do cells[i] = cell.kept(cells[i]) end
  for i = 1, #inits do made[i] = inits[i].make() end
  local arch = node.arch
  local into = arch
  if world._depth ~= 0 then into = node.staged or plan.staged(world, node) end
  local key
  for i = 1, n do
    local unique = world._stores[list[i].componentId].key
    if unique then key = cells[i] end
  end
  if key ~= nil then world._keys:check(key, 0, "spawn") end
  local row = into.entities[0] + 1
  if row > into._capacity then stores.reserve(world, into, 1) end
  local at, all = into.id, world._stores
  for i = 1, #inits do
    local store = inits[i].store
    store[at][row] = made[i]
  end
  for i = 1, n do all[list[i].componentId][at][row] = cells[i] end
  local id = commit(world, arch, into, row, chosen)
  if key ~= nil then world._keys:claim(key, id, into == arch) end
  return id
end

local function general(world, n, chosen, ...)
  local node, list, cells = world._plans, {}, {}
  for i = 1, n do
    local value = select(i, ...)
    local component = resolve(value)
    if component == nil then
      cell.bad(chosen and "spawnAt" or "spawn", i, value)
    end
    list[i] = component
    cells[i] = cell.kept(value)
    local id = component.componentId
    node = node[id] or plan.extend(node, id)
  end
  if not node.ready then plan.finish(world, node) end
  for i = 1, n do cells[i] = cell.of(list[i], cells[i]) end
  return place(world, node, list, cells, n, chosen)
end

-- Source of the spawner for n values.
local function source(n)
  local out = {}
  local function put(text, i)
    out[#out + 1] = (text:gsub("%$", tostring(i)))
  end
  local args = {}
  for i = 1, n do args[i] = "v" .. i end
  local list = table.concat(args, ", ")
  put("local C, resolve, plan, stores, fence, cellOf, kept, badValue, place,"
    .. " refused = ...")
  put("local type = type")
  put("return function(world" .. (n > 0 and ", " .. list or "") .. ")")
  put("local node = world._plans")
  for i = 1, n do
    put("local c$ = resolve(v$) if c$ == nil then badValue($, v$) end", i)
    put("local i$ = c$.componentId", i)
    put("node = node[i$] or plan.extend(node, i$)", i)
  end
  put("if not node.ready then plan.finish(world, node) end")
  for i = 1, n do
    put("if type(v$) ~= 'cdata' then v$ = cellOf(c$, v$) end", i)
  end
  put("if node.special then return place(world, node, {"
    .. list:gsub("v", "c") .. "}, {" .. list .. "}, " .. n .. ") end")
  put("local arch = node.arch")
  put("local into = arch")
  put("if world._depth ~= 0 then")
  put("into = node.staged or plan.staged(world, node) end")
  put("local row = into.entities[0] + 1")
  put("if row > into._capacity then")
  for i = 1, n do put("v$ = kept(v$)", i) end
  put("stores.reserve(world, into, 1) end")
  put("local at, all = into.id, world._stores")
  for i = 1, n do put("all[i$][at][row] = v$", i) end
  put("local id")
  put("fence[0] = 0")
  put("if into == arch then")
  put("id = C.eg_entity_spawn(world._c, at)")
  put("arch._allDirty = world._stamp")
  put("else")
  put("id = C.eg_stage_spawn(world._c, arch.id, at)")
  put("world._staged = true end")
  put("if id < 0 then refused(world, into, row, id) end")
  put("return id end")
  return table.concat(out, "\n")
end

-- Building text is no work for the JIT: its traces would only be in the way.
jit.off(source, true)

local spawners = {}
for n = 0, UNROLLED do
  local chunk = err.chunkName("spawn" .. n)
  local make = assert(loadstring(source(n), chunk)) -- codegen: text of ours
  spawners[n] = make(C, resolve, plan, stores, fence, cell.of, cell.kept,
    badValue, place, refused)
end

--- Spawns one entity with the given component values.
-- At depth 0 it exists when the call returns; inside a scope the id is pending
-- and works with `set`, `remove`, `despawn` at once. Amortised O(values); no
-- garbage in compiled code for FFI values of scalar fields up to 128 bytes.
---@param ... engram.Value  in any order, none included; the last of a kind wins
---@return number id  never 0, never issued before
---@raise no component value (with its position); `no free entity slot`; an
-- EntityKey that is empty or held; what a constructor raises; no memory
function M.spawn(world, ...)
  local n = select("#", ...)
  local spawner = spawners[n]
  if spawner then return spawner(world, ...) end
  return general(world, n, nil, ...)
end

--- Spawns one entity under a chosen dead id.
---@param id number  an id that is neither live nor pending, its slot free;
-- any generation
---@param ... engram.Value
---@raise id in use, slot of another live entity, retired, 0 or above
-- `maxEntities`; else as `spawn`
function M.spawnAt(world, id, ...)
  if type(id) ~= "number" then
    err.expected("engram.World:spawnAt", "entity id", id)
  end
  general(world, select("#", ...), id, ...)
end

return M
