--- Reading and changing one entity. These are the hot calls: compiled, each is
-- a few loads from C memory. What is rare (open scope, Lua-held columns,
-- unique keys, required components) branches off to `ecs/change.lua` and
-- `ecs/stage.lua`.
--
-- The slot of an id is cut out by a 64-bit integer mask. The obvious remainder
-- compiles to a rounding instruction whose result register carries a false
-- dependency from one iteration to the next, and is three times as slow. The
-- mask keeps the sign, so a negative number is above every slot: the negated id
-- of a pending entity must not match its record.

local ffi = require("ffi")
local bit = require("bit")
local lib = require("engram.lib")
local err = require("engram.err")
local values = require("engram.ecs.values")
local cell = require("engram.ecs.cell")
local plan = require("engram.ecs.plan")
local stores = require("engram.ecs.store")
local change = require("engram.ecs.change")
local stage = require("engram.ecs.stage")

local C = lib.C
local resolve, fence = values.resolve, stores.fence
local cast, band = ffi.cast, bit.band
local int64 = ffi.typeof("int64_t")
local MASK = 0x80000000003fffffULL

local M = {}

local function wrongId(name, id)
  err.expected("engram.World:" .. name, "entity id", id)
end

local function wrongComponent(name, component)
  err.expected("engram.World:" .. name, "component", component)
end

local function idOf(component, name)
  local id = type(component) == "table" and component.componentId
  if type(id) ~= "number" then wrongComponent(name, component) end
  return id
end

--- Whether an id names a committed entity. Staged spawns are not, entities
-- staged for despawn still are. O(1).
---@param id number  any number: 0, fractions and NaN are dead ids
---@return boolean
---@raise no number
function M.isAlive(world, id)
  if type(id) ~= "number" then wrongId("isAlive", id) end
  local slot = band(cast(int64, id), MASK)
  return id > 0 and slot <= world._max and world._slots[slot].id == id
end

--- Returns the committed value of a component, nil when the entity is dead or
-- lacks it. FFI components: a reference into the row, good until the row
-- moves; table components: the stored table; scalars: the value; tags: the tag.
-- O(1), no allocation in compiled code.
---@param id number  any number
---@param component engram.Component
---@return any? value
---@raise no number, no component
function M.get(world, id, component)
  if type(id) ~= "number" then wrongId("get", id) end
  local cid = idOf(component, "get")
  local slot = band(cast(int64, id), MASK)
  if id > 0 and slot <= world._max then
    local record = world._slots[slot]
    if record.id == id then
      local store = world._stores[cid]
      local column = store and store[record.archetype]
      if column then return column[record.row] end
    end
  end
  return nil
end

--- As `get`; also marks the component dirty, where there is a value. O(1).
---@param id number  any number
---@param component engram.Component
---@return any? value
---@raise no number, no component
function M.getMut(world, id, component)
  if type(id) ~= "number" then wrongId("getMut", id) end
  local cid = idOf(component, "getMut")
  local slot = band(cast(int64, id), MASK)
  if id > 0 and slot <= world._max then
    local record = world._slots[slot]
    if record.id == id then
      local store = world._stores[cid]
      local at = record.archetype
      local column = store and store[at]
      if column then
        store.dirty[at] = world._stamp
        return column[record.row]
      end
    end
  end
  return nil
end

--- Whether a committed entity has a component; false for a dead one. O(1).
---@param id number  any number
---@param component engram.Component
---@return boolean
---@raise no number, no component
function M.has(world, id, component)
  if type(id) ~= "number" then wrongId("has", id) end
  local cid = idOf(component, "has")
  local slot = band(cast(int64, id), MASK)
  if not (id > 0 and slot <= world._max) then return false end
  local record = world._slots[slot]
  local store = world._stores[cid]
  return record.id == id and store ~= nil and store[record.archetype] ~= nil
end

--- Marks one component of the entity's archetype dirty. Nothing happens when
-- the entity is dead or lacks it. O(1).
---@param id number  any number
---@param component engram.Component
---@raise no number, no component
function M.markComponentDirty(world, id, component)
  if type(id) ~= "number" then wrongId("markComponentDirty", id) end
  local cid = idOf(component, "markComponentDirty")
  local slot = band(cast(int64, id), MASK)
  if not (id > 0 and slot <= world._max) then return end
  local record = world._slots[slot]
  local store = world._stores[cid]
  if record.id == id and store and store[record.archetype] ~= nil then
    store.dirty[record.archetype] = world._stamp
  end
end

-- The cell that `set` shall write; `raw` is its third argument.
local function cellFor(component, value, raw)
  if raw == nil then return cell.of(component, value) end
  local kind = rawequal(value, component) and component.scalarKind
  if not kind then
    err.expected("engram.World:set", "scalar component with a third argument",
      value)
  end
  if type(raw) ~= kind then
    err.expected("engram.World:set: " .. component.componentName, kind, raw)
  end
  return raw
end

--- Adds a component or replaces its value. In place when the entity has it
-- (references taken before stay good), else the entity moves to another
-- archetype: at once at depth 0, when the scope closes otherwise. Table
-- instances are stored by reference, FFI values are copied. Ignored for an
-- entity that is staged for despawn. O(components) when the entity moves.
---@param id number  live or pending
---@param value engram.Value  with `raw` a scalar component
---@param raw? number|boolean|string  value of a scalar component
---@raise `Entity ID not found: ` id; no component value; value of another type;
-- an EntityKey that is empty or held by another entity; no memory
function M.set(world, id, value, raw)
  if type(id) ~= "number" then wrongId("set", id) end
  local component = resolve(value)
  if component == nil then cell.bad("set", 2, value) end
  local slot = band(cast(int64, id), MASK)
  if not (id > 0 and slot <= world._max) then cell.dead("set", id) end
  local record = world._slots[slot]
  if record.id ~= id and record.id ~= -id then cell.dead("set", id) end
  local content = value
  if raw ~= nil or type(value) ~= "cdata" then
    content = cellFor(component, value, raw)
    -- Building a value may have run user code, which may have done anything.
    record = world._slots[slot]
    if record.id ~= id and record.id ~= -id then cell.dead("set", id) end
  end
  local cid = component.componentId
  local store = world._stores[cid] or stores.of(world, cid)
  if store.key or record.id ~= id
      or (world._staged and stage.kindOf(world, id) ~= 0) then
    return change.set(world, id, record, store, content)
  end
  local at = record.archetype
  local column = store[at]
  if column then
    column[record.row] = content
    store.dirty[at] = world._stamp
    return
  end
  local arch = world._archs[at]
  local t = arch._add[cid] or plan.transition(world, arch, cid)
  if world._depth ~= 0 or t.special then
    return change.add(world, id, record, arch, t, store, content)
  end
  local dst = t.dst
  local row = dst.entities[0] + 1
  if row > dst._capacity then
    content = cell.kept(content)
    stores.reserve(world, dst, 1, "set")
  end
  store[dst.id][row] = content
  fence[0] = 0
  C.eg_entity_move(world._c, id, dst.id)
  arch._allDirty, dst._allDirty = world._stamp, world._stamp
end

--- Removes a component; nothing happens when the entity lacks it or is dead. At
-- depth 0 at once, else when the scope closes. O(components).
---@param id number  any number
---@param component engram.Component
---@raise no number, no component, no memory
function M.remove(world, id, component)
  if type(id) ~= "number" then wrongId("remove", id) end
  local cid = idOf(component, "remove")
  local slot = band(cast(int64, id), MASK)
  if not (id > 0 and slot <= world._max) then return end
  local record = world._slots[slot]
  if record.id ~= id or world._depth ~= 0 then
    return change.remove(world, id, record, cid)
  end
  local store = world._stores[cid]
  if not (store and store[record.archetype]) then return end
  local arch = world._archs[record.archetype]
  local dst = arch._remove[cid] or plan.removal(world, arch, cid)
  if arch._special then
    return change.move(world, id, record, arch, dst, store)
  end
  if dst.entities[0] >= dst._capacity then
    stores.reserve(world, dst, 1, "remove")
  end
  fence[0] = 0
  C.eg_entity_move(world._c, id, dst.id)
  arch._allDirty, dst._allDirty = world._stamp, world._stamp
end

--- Despawns an entity; nothing happens when it is dead. At depth 0 its row is
-- gone when the call returns; inside a scope it stays readable until the drain.
-- A staged spawn is given up. O(components).
---@param id number  any number
---@raise no number
function M.despawn(world, id)
  if type(id) ~= "number" then wrongId("despawn", id) end
  local slot = band(cast(int64, id), MASK)
  if not (id > 0 and slot <= world._max) then return end
  local record = world._slots[slot]
  if record.id ~= id or world._depth ~= 0 then
    if record.id == id or record.id == -id then stage.despawn(world, id) end
    return
  end
  local arch = world._archs[record.archetype]
  if arch._special then return change.despawn(world, id, record, arch) end
  fence[0] = 0
  C.eg_entity_despawn(world._c, id)
  arch._allDirty = world._stamp
end

return M
