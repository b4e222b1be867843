--- The slower forms of `set`, `remove` and `despawn`: Lua-held cells, required
-- components, unique keys, open scopes. They obey the contract of the plain
-- forms in `ecs/entity.lua`; what they share with drains is in `ecs/cell.lua`.

local lib = require("engram.lib")
local cell = require("engram.ecs.cell")
local plan = require("engram.ecs.plan")
local stores = require("engram.ecs.store")
local stage = require("engram.ecs.stage")

local C = lib.C
local fence = stores.fence

local M = {}

-- Moves a live entity at depth 0, with its Lua-held cells.
local function moveRow(world, id, record, arch, dst)
  local row, last = record.row, arch.entities[0]
  local toRow = dst.entities[0] + 1
  if toRow > dst._capacity then stores.reserve(world, dst, 1, "set") end
  fence[0] = 0
  stores.check(C.eg_entity_move(world._c, id, dst.id), "set")
  cell.moved(arch, row, last, dst, toRow)
  arch._allDirty, dst._allDirty = world._stamp, world._stamp
  return toRow
end

--- Adds what transition `t` adds; the entity is committed and has no staged
-- change.
function M.add(world, id, record, arch, t, store, content)
  local inits, made = t.inits, {}
  if #inits > 0 then
    content = cell.kept(content)
    for i = 1, #inits do made[i] = inits[i].make() end
    if world._archs[record.archetype] ~= arch or record.id ~= id
        or world._staged and stage.kindOf(world, id) ~= 0 then
      return stage.again(world, id, store, content)
    end
  end
  if world._depth ~= 0 then
    return stage.add(world, id, t, store, content, made)
  end
  local dst = t.dst
  if dst.entities[0] >= dst._capacity then content = cell.kept(content) end
  local row = moveRow(world, id, record, arch, dst)
  for i = 1, #inits do
    local init = inits[i].store
    init[dst.id][row] = made[i]
  end
  store[dst.id][row] = content
end

--- `set` where a key is involved, the entity is pending, or has staged work.
function M.set(world, id, record, store, content)
  if world._staged and stage.kindOf(world, id) == stage.GONE then return end
  local keys = store.key and world._keys
  if keys then keys:check(content, id, "set") end
  local at = record.archetype
  local column = record.id == id and store[at]
  if record.id ~= id or (world._staged and stage.kindOf(world, id) ~= 0) then
    stage.set(world, id, record, store, content)
    if keys then keys:claim(content, id, false) end
  elseif column then
    if keys then
      keys:dropped(column[record.row], id)
      keys:claim(content, id, true)
    end
    column[record.row] = content
    store.dirty[at] = world._stamp
  else
    local arch = world._archs[at]
    local t = arch._add[store.id] or plan.transition(world, arch, store.id)
    M.add(world, id, record, arch, t, store, content)
    if keys then keys:claim(content, id, world._depth == 0) end
  end
end

--- Moves an entity to `dst` because component of `store` leaves it.
function M.move(world, id, record, arch, dst, store)
  if store.key then
    local key = store[arch.id][record.row]
    world._keys:release(id)
    world._keys:dropped(key, id)
  end
  moveRow(world, id, record, arch, dst)
end

--- `remove` inside a scope, or of an entity that is not committed.
function M.remove(world, id, record, cid)
  if record.id ~= id and record.id ~= -id then return end
  local store = world._stores[cid]
  if store then stage.remove(world, id, record, store) end
end

--- `despawn` at depth 0 of an entity with Lua-held cells.
function M.despawn(world, id, record, arch)
  local row, last = record.row, arch.entities[0]
  if arch._keyed then
    local key = world._keys.claimed[id]
    world._keys:release(id)
    world._keys:dropped(key, id)
  end
  fence[0] = 0
  C.eg_entity_despawn(world._c, id)
  cell.removed(arch, row, last)
  arch._allDirty = world._stamp
end

return M
