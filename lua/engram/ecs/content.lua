--- The content of a world on the Lua side: what a snapshot load replaces.
-- The core swaps ids and bytes by itself; this module sets the Lua columns, the
-- key index, dirty marks and clock aside, and puts them back. Putting back
-- neither allocates nor raises.

local ffi = require("ffi")
local plan = require("engram.ecs.plan")
local stores = require("engram.ecs.store")
local Keys = require("engram.ecs.keys")
local lib = require("engram.lib")

local C = lib.C

-- The rows of an archetype that is no more: none.
local EMPTY = ffi.new("double[1]")
local flags = ffi.new("uint32_t[1]")

local M = {}

-- Columns of one archetype: pointers and Lua arrays alike.
local function keepColumns(world, kept, arch)
  local ids, id = arch._ids, arch.id
  for i = 1, #ids do
    local store = world._stores[ids[i]]
    if not store.tagColumn then
      local n = kept.count
      kept.columns[n + 1], kept.columns[n + 2] = store, id
      kept.columns[n + 3] = store[id]
      kept.count = n + 3
    end
  end
end

--- Sets the Lua content aside; archetypes made from now on, ids above `mark`,
-- belong to the new content. Call it before the core's swap.
function M.stash(world)
  local kept = {
    columns = {},      -- flat: store, archetype id, column, …
    count = 0,
    dirty = {},        -- flat: store, its table of marks, …
    dirtyCount = 0,
    marks = {},        -- by archetype id: _allDirty, entities, _capacity
    entities = {},
    capacity = {},
    keys = world._keys,
    clock = world._clock,
    stamp = world._stamp,
    slots = world._slots,
    mark = C.eg_archetype_count(world._c),
    plans = plan.root(),
    batches = {},
  }
  for id = 1, kept.mark do
    local arch = world._archs[id]
    if arch then
      kept.marks[id] = arch._allDirty
      kept.entities[id] = arch.entities
      kept.capacity[id] = arch._capacity
      keepColumns(world, kept, arch)
    end
  end
  for id = 1, table.maxn(world._stores) do
    local store = world._stores[id]
    if store then
      local n = kept.dirtyCount
      kept.dirty[n + 1], kept.dirty[n + 2] = store, store.dirty
      kept.dirtyCount = n + 2
    end
  end
  return kept
end

--- Gives the world empty Lua content, after the core has swapped its own.
function M.clear(world, kept)
  for i = 1, kept.count, 3 do kept.columns[i][kept.columns[i + 1]] = nil end
  for i = 1, kept.dirtyCount, 2 do kept.dirty[i].dirty = stores.byId() end
  world._keys = Keys.new()
  world._clock = { accumulator = 0, steps = 0 }
  world._slots = C.eg_world_slots(world._c)
  for id = 1, C.eg_archetype_count(world._c) do
    local arch = world._archs[id]
    if arch then
      arch._capacity = -1
      stores.refresh(world, arch)
    end
  end
  stores.sync(world, false)
end

-- Forgets an archetype that a failed load had made. Objects still held read as
-- empty.
local function forget(world, id)
  local arch = world._archs[id]
  if not arch then return end
  local ids = arch._ids
  for i = 1, #ids do world._stores[ids[i]][id] = nil end
  arch.entities = EMPTY
  arch._capacity = 0
  world._archs[id] = nil
end

-- Edges of a surviving archetype that lead to dropped ones.
local function cut(edges, mark)
  local component, edge = next(edges)
  while component ~= nil do
    local dst, delta = edge.dst or edge, edge.delta
    if dst.id > mark or (delta and delta.id > mark) then
      edges[component] = nil
    end
    component, edge = next(edges, component)
  end
end

--- Puts `kept` back, after the core has put its content back.
function M.restore(world, kept)
  local mark = kept.mark
  for id = mark + 1, table.maxn(world._archs) do forget(world, id) end
  for i = 1, kept.count, 3 do
    kept.columns[i][kept.columns[i + 1]] = kept.columns[i + 2]
  end
  for i = 1, kept.dirtyCount, 2 do kept.dirty[i].dirty = kept.dirty[i + 1] end
  world._keys, world._clock = kept.keys, kept.clock
  world._stamp, world._slots = kept.stamp, kept.slots
  world._plans = kept.plans
  world._epoch = world._epoch + 1
  world._batches, world._batchCount = kept.batches, 0
  world._depth, world._draining, world._staged = 0, false, false
  world._waves = 0
  for id = 1, mark do
    local arch = world._archs[id]
    if arch then
      arch._allDirty = kept.marks[id]
      arch.entities = kept.entities[id]
      arch._capacity = kept.capacity[id]
      cut(arch._add, mark)
      cut(arch._remove, mark)
    end
  end
  -- What the load touched lies in storage that is not in force any more.
  while C.eg_archetype_touched(world._c, flags) ~= 0 do end
end

return M
