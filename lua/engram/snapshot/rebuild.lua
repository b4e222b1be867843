--- The middle of a load: fills the Lua columns of a world whose ids, slots and
-- raw columns the core has put in place.
--
-- Hooks run here. They see a world in which every saved id is alive; the rows
-- they have not reached yet are missing. They may take the source away, so what
-- is needed of it is read before the first of them runs.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local registry = require("engram.ecs.registry")
local stores = require("engram.ecs.store")
local codec = require("engram.snapshot.codec")
local forms = require("engram.snapshot.forms")
local newtable = require("table.new")

local C, core = lib.C, lib.core

local NAME = "engram.World:loadSnapshot"

local hostedOut = ffi.new("const eg_load_column *[1]")
local saved = ffi.new("eg_snap_component")

local M = {}

-- Rows of a column that was stored as raw structs and is not any more.
local function rowsFromRaw(world, item, info, cells, entities, layout)
  local at = ffi.cast("const uint8_t *", item.data)
  for row = item.first, item.first + item.rows - 1 do
    local data = forms.rawToTable(layout, at)
    cells[row] = forms.fromPlain(world, info, entities[row], data)
    at = at + layout.size
  end
end

local function damaged(item, info, id, message, offset)
  err.raise(string.format("%s: %s (byte offset %.0f)", NAME,
    forms.describe(info, id, message),
    tonumber(item.offset) + (offset or 0)))
end

-- Rows of components that the codec does not know: structs and scalars with
-- hooks.
local function rowsOneByOne(world, item, info, cells, entities)
  local at, size = 0, tonumber(item.size)
  local from = ffi.cast("const uint8_t *", item.data)
  for row = item.first, item.first + item.rows - 1 do
    local stop, value, _, offset = core.decode(from, at, size, true)
    if not stop then damaged(item, info, entities[row], value, offset) end
    cells[row] = forms.fromPlain(world, info, entities[row], value)
    at = stop
  end
end

-- Rows of tables and strings: decoded together, then, where the component has
-- a hook or a constructor, finished one by one. What is decoded waits outside
-- the column: a hook that looks at a row not reached yet finds nothing.
local function rowsTogether(world, item, info, cells, entities)
  local direct = codec.isDirect(info)
  local plain, first = cells, item.first
  if not direct then plain, first = newtable(item.rows, 0), 1 end
  local stop, message, _, offset, bad = codec.read(info,
    ffi.cast("const uint8_t *", item.data), 0, tonumber(item.size), plain,
    item.rows, first, true)
  if not stop then
    damaged(item, info, entities[item.first + bad - first], message, offset)
  end
  if direct then return end
  for i = 1, item.rows do
    local row = item.first + i - 1
    cells[row] = forms.fromPlain(world, info, entities[row], plain[i])
    plain[i] = nil
  end
end

local function buildColumn(world, item, layout)
  local info = registry.info[item.component]
  local arch = world._archs[item.archetype]
  local cells = world._stores[item.component][item.archetype]
  if item.raw ~= 0 then
    rowsFromRaw(world, item, info, cells, arch.entities, layout)
  elseif info.storage == stores.HOST then
    rowsTogether(world, item, info, cells, arch.entities)
  else
    rowsOneByOne(world, item, info, cells, arch.entities)
  end
end

-- Layouts of the columns that were stored as raw structs, by number of the
-- column. They are read before the first hook may take the source away.
local function layoutsOf(snap, items, count)
  local layouts = {}
  for i = 0, count - 1 do
    if items[i].raw ~= 0 then
      C.eg_snap_component_at(snap, items[i].index, saved)
      layouts[i] = forms.rawLayout(saved, registry.info[items[i].component])
    end
  end
  return layouts
end

-- Strings without hooks come first: hooks may look entities up by key.
local function isPlainString(info)
  return info.scalarKind == "string" and not info.deserialize
end

-- Rebuilds the key index from the key column.
local function buildKeys(world)
  local store, keys = world._keyStore, world._keys
  for id = 1, C.eg_archetype_count(world._c) do
    local arch = store[id] and world._archs[id]
    if arch and not arch._staging then
      local cells, entities = store[id], arch.entities
      for row = 1, tonumber(entities[0]) do
        keys:check(cells[row], entities[row], "loadSnapshot")
        keys:claim(cells[row], entities[row], true)
      end
    end
  end
end

--- Decodes every column that the core left to the host, and rebuilds the key
-- index.
---@param snap ffi.cdata*  eg_snap, open
---@param job ffi.cdata*  eg_load, begun
function M.columns(world, snap, job)
  local count = C.eg_load_hosted(job, hostedOut)
  local items = hostedOut[0]
  local layouts = layoutsOf(snap, items, count)
  for i = 0, count - 1 do
    if isPlainString(registry.info[items[i].component]) then
      buildColumn(world, items[i], layouts[i])
    end
  end
  buildKeys(world)
  for i = 0, count - 1 do
    if not isPlainString(registry.info[items[i].component]) then
      buildColumn(world, items[i], layouts[i])
    end
  end
end

--- Gives rows the components that `requires` adds to what was saved.
---@param targets table[]  archetype by record
---@param extras table[]  entries {component, make} by record
---@param firsts table[]  {row, rows} by record
function M.required(targets, extras, firsts)
  for r = 1, #targets do
    local arch, added = targets[r], extras[r]
    local first = firsts[r]
    for k = 1, #added do
      local info = registry.info[added[k].component.componentId]
      local cells, make = arch._world._stores[info.id][arch.id], added[k].make
      for row = first.row, first.row + first.rows - 1 do
        local value = forms.hook(make, info, arch.entities[row], "requires")
        if info.scalarKind and type(value) == "table" then
          value = value.value
        end
        cells[row] = value
      end
    end
  end
end

return M
