--- Structural changes inside a scope, and the drain that applies them.
--
-- The core keeps the list of what was staged and the staged bytes; this module
-- decides targets, keeps staged Lua cells beside the bytes, and answers the
-- drain's reports. A value staged for an entity lies in a row of a *staging
-- archetype*, whose set is exactly the components staged with a value.

local ffi = require("ffi")
local lib = require("engram.lib")
local cell = require("engram.ecs.cell")
local plan = require("engram.ecs.plan")
local stores = require("engram.ecs.store")

local C = lib.C
local state = ffi.new("eg_stage_state")
local rowOut = ffi.new("uint32_t[1]")

local M = {}

-- Kinds of eg_stage_state.
M.SPAWN, M.CHANGE, M.GONE, M.BATCH = 1, 2, 3, 4

--- What is staged for an entity: 0 or one of the kinds above.
function M.kindOf(world, id)
  C.eg_stage_find(world._c, id, state)
  return state.kind
end

-- Makes the core give `id` this target and these staged components, and takes
-- staged Lua cells along. Returns the staged row.
local function restage(world, id, target, staged)
  local old = state.staged ~= 0 and world._archs[state.staged] or nil
  local oldRow = state.staged_row
  if staged then
    if staged.entities[0] >= staged._capacity then
      stores.reserve(world, staged, 1, "set")
    end
  end
  stores.check(C.eg_stage_change(world._c, id, target.id,
    staged and staged.id or 0, rowOut), "set")
  world._staged = true
  local row = rowOut[0]
  if old and old ~= staged then cell.carried(old, oldRow, staged, row) end
  return row
end

--- Stages the transition `t` of a committed entity with nothing staged.
function M.add(world, id, t, store, content, made)
  local delta = t.delta or plan.delta(world, t)
  local row = delta.entities[0] + 1
  if row > delta._capacity then stores.reserve(world, delta, 1, "set") end
  local at, inits = delta.id, t.inits
  for i = 1, #inits do
    local init = inits[i].store
    init[at][row] = made[i]
  end
  store[at][row] = content
  stores.check(C.eg_stage_change(world._c, id, t.dst.id, at, rowOut), "set")
  world._staged = true
end

--- Starts a `set` anew: a constructor of a required value has changed the very
-- entity, so what was found out before it ran does not hold any more.
function M.again(world, id, store, content)
  if store.scalar then return world:set(id, store.component, content) end
  return world:set(id, store.tagColumn and store.component or content)
end

-- The staging archetype with the components of `t` as well.
local function stagedWith(world, staged, added)
  local arch = staged or stores.find(world, {}, true)
  for i = 1, #added do
    if not world._stores[added[i]][arch.id] then
      arch = stores.with(world, arch, added[i])
    end
  end
  return arch
end

--- `set` of an entity that is pending or has a staged change.
function M.set(world, id, record, store, content)
  C.eg_stage_find(world._c, id, state)
  local target = stores.archetype(world, state.kind ~= 0 and state.target
    or record.archetype)
  local staged = state.staged ~= 0 and world._archs[state.staged] or nil
  local cid = store.id
  if store[target.id] then
    local into = stagedWith(world, staged, { cid })
    local row = restage(world, id, target, into)
    store[into.id][row] = content
    return
  end
  local t = target._add[cid] or plan.transition(world, target, cid)
  local inits, made = t.inits, {}
  if #inits > 0 then
    local kind, at = state.kind, state.staged
    content = cell.kept(content)
    for i = 1, #inits do made[i] = inits[i].make() end
    -- User code may have run, and used the shared state in any case.
    C.eg_stage_find(world._c, id, state)
    if state.kind ~= kind or state.staged ~= at
        or state.kind ~= 0 and state.target ~= target.id then
      return M.again(world, id, store, content)
    end
  end
  local into = stagedWith(world, staged, t.added)
  local row = restage(world, id, t.dst, into)
  for i = 1, #inits do
    local init = inits[i].store
    init[into.id][row] = made[i]
  end
  store[into.id][row] = content
end

--- `remove` inside a scope. Returns without effect when nothing would change.
function M.remove(world, id, record, store)
  C.eg_stage_find(world._c, id, state)
  if state.kind == M.GONE then return end
  local cid = store.id
  local target = stores.archetype(world, state.kind ~= 0 and state.target
    or record.archetype)
  local staged = state.staged ~= 0 and world._archs[state.staged] or nil
  if not store[target.id] then return end
  if store.key then world._keys:release(id) end
  local dst = target._remove[cid] or plan.removal(world, target, cid)
  if staged and store[staged.id] then
    staged = stores.without(world, staged, cid)
  end
  restage(world, id, dst, staged)
end

--- Stages a despawn, or gives up a staged spawn.
function M.despawn(world, id)
  C.eg_stage_find(world._c, id, state)
  if state.kind == M.GONE then return end
  local staged, row = state.staged, state.staged_row
  world._keys:release(id)
  if staged ~= 0 then cell.carried(world._archs[staged], row, nil, 0) end
  stores.check(C.eg_stage_despawn(world._c, id), "despawn")
  world._staged = true
end

return M
