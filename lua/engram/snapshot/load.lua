--- `world:loadSnapshot`: verify, stash, build, deliver.
--
-- Nothing of the world is touched before the whole source has been checked and
-- its names are known. Then the old content is set aside as it is, and the new
-- one built in its place, so hooks see a world in which every saved id is
-- alive. Whatever raises until the end drops the new content and puts the old
-- one back.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local registry = require("engram.ecs.registry")
local stores = require("engram.ecs.store")
local content = require("engram.ecs.content")
local codec = require("engram.snapshot.codec")
local forms = require("engram.snapshot.forms")
local source = require("engram.snapshot.source")
local snapshot = require("engram.snapshot")

local C, core = lib.C, lib.core

local NAME = "engram.World:loadSnapshot"
local OPTIONS = { unknown = true, limits = true }
local LIMITS = { entities = true, bytes = true, depth = true }

local snapOut = ffi.new("eg_snap *[1]")
local jobOut = ffi.new("eg_load *[1]")
local hostedOut = ffi.new("const eg_load_column *[1]")
local failure = ffi.new("eg_snap_error")
local record = ffi.new("eg_snap_record")
local column = ffi.new("eg_snap_column")
local saved = ffi.new("eg_snap_component")
local entry = ffi.new("eg_snap_entry")
local clash = ffi.new("uint32_t[3]")

local COPY = 1     -- EG_LOAD_COPY
local PIPELINE = 3 -- EG_ENTRY_PIPELINE

local M = {}

local function fail(text) err.raise(NAME .. ": " .. text) end

-- -- options ----------------------------------------------------------------

local function limitsOf(world, options)
  local limits = ffi.new("eg_limits")
  C.eg_limits_init(limits)
  limits.entities = world.maxEntities
  local given = options.limits
  if given == nil then return limits end
  err.options(NAME .. ": limits", given, LIMITS)
  local function take(name, most)
    local v = given[name]
    if v == nil then return end
    if type(v) ~= "number" or v % 1 ~= 0 or v < 0 or v > most then
      err.expected(NAME .. ": limits." .. name, "whole number", v)
    end
    limits[name] = v
  end
  take("entities", 2 ^ 53)
  take("bytes", 2 ^ 53)
  take("depth", 512)
  return limits
end

local function checkOptions(world, options)
  options = options == nil and {} or options
  err.options(NAME, options, OPTIONS)
  local unknown = options.unknown
  if unknown ~= nil and unknown ~= "error" and unknown ~= "skip" then
    err.expected(NAME .. ": unknown", '"error" or "skip"', unknown)
  end
  return unknown == "skip", limitsOf(world, options)
end

-- -- names and archetypes ----------------------------------------------------

-- Which component each line of the table is; raises with all unknown names.
local function resolve(prelude, skip)
  local infos, unknown = {}, {}
  for i = 1, #prelude.componentTable do
    local name = prelude.componentTable[i].name
    local component = registry.byName[name]
    if component then
      infos[i] = registry.info[component.componentId]
    else
      unknown[#unknown + 1] = string.format("%q", name)
      prelude.skipped[#prelude.skipped + 1] = name
      infos[i] = false
    end
  end
  if #unknown > 0 and not skip then
    table.sort(unknown)
    fail("components that are not registered: " .. table.concat(unknown, ", "))
  end
  table.sort(prelude.skipped)
  return infos
end

-- Components that `requires` brings to a record: those absent that the save
-- could not hold. One that the source knows was removed by the game.
local function missing(present, list, known)
  local added, queue, i = {}, {}, 1
  for k = 1, #list do queue[k] = list[k] end
  while queue[i] do
    local entries = queue[i].requires
    for k = 1, entries and #entries or 0 do
      local required = entries[k]
      local info = registry.info[required.component.componentId]
      if not present[info.id] and (info.transient or not known[info.id]) then
        present[info.id] = true
        added[#added + 1] = required
        queue[#queue + 1] = info
      end
    end
    i = i + 1
  end
  return added
end

-- The archetype of each record, and what is added to its rows.
local function archetypes(world, snap, infos, count)
  local known, targets, extras = {}, {}, {}
  for i = 1, #infos do
    if infos[i] then known[infos[i].id] = true end
  end
  for r = 0, count - 1 do
    C.eg_snap_record_at(snap, r, record)
    local ids, list, present = {}, {}, {}
    for k = 0, record.columns - 1 do
      C.eg_snap_column_at(snap, r, k, column)
      local info = infos[column.component + 1]
      if info then
        ids[#ids + 1], list[#list + 1] = info.id, info
        present[info.id] = true
      end
    end
    local added = missing(present, list, known)
    for k = 1, #added do ids[#ids + 1] = added[k].component.componentId end
    targets[r + 1] = stores.find(world, ids, false)
    extras[r + 1] = added
  end
  return targets, extras
end

-- A row of default bytes, for values and fields the source lacks.
local function defaultRow(info)
  if info.kind == "ffi" then return info.base(info.component) end
  if info.scalarKind == "number" then
    return ffi.new("double[1]", info.scalarDefault)
  elseif info.scalarKind == "boolean" then
    return ffi.new("bool[1]", info.scalarDefault)
  end
end

-- The map the core wants. `keep` anchors what it points to.
local function mapFor(infos, targets, keep)
  local n, m = #infos, #targets
  local map = ffi.new("eg_load_map")
  keep.components = ffi.new("uint32_t[?]", n + 1)
  keep.archetypes = ffi.new("uint32_t[?]", m + 1)
  keep.defaults = ffi.new("const void *[?]", n + 1)
  for i = 1, n do
    local info = infos[i]
    if info then
      local row = defaultRow(info)
      keep[i] = row
      keep.components[i - 1] = info.id
      if row ~= nil then
        keep.defaults[i - 1] = info.kind == "ffi"
          and ffi.cast("const void *", ffi.cast(info.pointer, row)) or row
      end
    end
  end
  for i = 1, m do keep.archetypes[i - 1] = targets[i].id end
  map.components, map.archetypes = keep.components, keep.archetypes
  map.defaults = keep.defaults
  return map
end

-- -- errors of the core ------------------------------------------------------

local function fieldText(fields, index, info)
  if index == 0xffffffff then return "?" end
  local field = fields[index]
  local name = ffi.string(field.name, field.name_len)
  local text = name .. " (" .. info .. ")"
  return text
end

local function schemaText(snap, job, prelude, infos)
  C.eg_load_clash(job, clash, clash + 1, clash + 2)
  local index = clash[0]
  if index == 0xffffffff then return "" end
  C.eg_snap_component_at(snap, index, saved)
  local info = infos[index + 1]
  local here = info.ffiFields[clash[2] + 1]
  return string.format(": component %q, field %s: saved as %q, here %q",
    info.name, fieldText(saved.fields, clash[1], "saved"),
    prelude.componentTable[index + 1].fingerprint,
    here.name .. ":" .. tostring(here.type or here.base))
end

local function refused(code, snap, job, prelude, infos)
  if code == -44 then
    local reason = failure.reason ~= nil and ffi.string(failure.reason)
      or lib.message(code)
    fail(reason .. schemaText(snap, job, prelude, infos)
      .. string.format(" (byte offset %.0f)", tonumber(failure.offset)))
  elseif failure.reason ~= nil then
    fail(snapshot.describe(failure))
  end
  fail(lib.message(code))
end

-- -- building ----------------------------------------------------------------

-- Rows of a column that was stored as raw structs and is not any more.
local function rowsFromRaw(world, snap, item, info, cells, entities)
  C.eg_snap_component_at(snap, item.index, saved)
  local at = ffi.cast("const uint8_t *", item.data)
  for row = item.first, item.first + item.rows - 1 do
    local data = forms.rawToTable(saved, at)
    cells[row] = forms.fromPlain(world, info, entities[row], data)
    at = at + saved.size
  end
end

local function damaged(item, message, offset)
  fail(string.format("%s (byte offset %.0f)", message,
    tonumber(item.offset) + (offset or 0)))
end

-- Rows of components that the codec does not know: structs and scalars with
-- hooks.
local function rowsOneByOne(world, item, info, cells, entities)
  local at, size = 0, tonumber(item.size)
  local from = ffi.cast("const uint8_t *", item.data)
  for row = item.first, item.first + item.rows - 1 do
    local stop, value, _, offset = core.decode(from, at, size, true)
    if not stop then damaged(item, value, offset) end
    cells[row] = forms.fromPlain(world, info, entities[row], value)
    at = stop
  end
end

-- Rows of tables and strings: decoded together, then, where the component has
-- a hook or a constructor, finished one by one.
local function rowsTogether(world, item, info, cells, entities)
  local stop, message, _, offset = codec.read(info,
    ffi.cast("const uint8_t *", item.data), 0, tonumber(item.size), cells,
    item.rows, item.first, true)
  if not stop then damaged(item, message, offset) end
  if codec.isDirect(info) then return end
  for row = item.first, item.first + item.rows - 1 do
    cells[row] = forms.fromPlain(world, info, entities[row], cells[row])
  end
end

local function buildColumn(world, snap, item)
  local info = registry.info[item.component]
  local arch = world._archs[item.archetype]
  local cells = world._stores[item.component][item.archetype]
  if item.raw ~= 0 then
    rowsFromRaw(world, snap, item, info, cells, arch.entities)
  elseif info.storage == stores.HOST then
    rowsTogether(world, item, info, cells, arch.entities)
  else
    rowsOneByOne(world, item, info, cells, arch.entities)
  end
end

-- Strings without hooks come first: hooks may look entities up by key.
local function isPlainString(info)
  return info.scalarKind == "string" and not info.deserialize
end

local function buildColumns(world, snap, job)
  local count = C.eg_load_hosted(job, hostedOut)
  local items = hostedOut[0]
  for i = 0, count - 1 do
    if isPlainString(registry.info[items[i].component]) then
      buildColumn(world, snap, items[i])
    end
  end
  M.buildKeys(world)
  for i = 0, count - 1 do
    if not isPlainString(registry.info[items[i].component]) then
      buildColumn(world, snap, items[i])
    end
  end
end

--- Rebuilds the key index from the key column.
function M.buildKeys(world)
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

local function addRequired(targets, extras, firsts)
  for r = 1, #targets do
    local arch, added = targets[r], extras[r]
    local first = firsts[r]
    for k = 1, #added do
      local store = arch._world._stores[added[k].component.componentId]
      local cells, make = store[arch.id], added[k].make
      for row = first.row, first.row + first.rows - 1 do cells[row] = make() end
    end
  end
end

-- Where each record's rows begin: records of one archetype follow each other.
local function firstRows(snap, targets)
  local next_, out = {}, {}
  for r = 1, #targets do
    C.eg_snap_record_at(snap, r - 1, record)
    local id = targets[r].id
    local row = next_[id] or 1
    out[r] = { row = row, rows = record.rows }
    next_[id] = row + record.rows
  end
  return out
end

-- The clock stays as it is when the source has none.
local function loadClock(world, snap, pointer, kept)
  local clock = world._clock
  clock.accumulator, clock.steps = kept.clock.accumulator, kept.clock.steps
  local i = 0
  while C.eg_snap_entry_at(snap, i, entry) == 0 do
    if entry.kind == PIPELINE then
      local _, value = core.decode(pointer + entry.value, 0,
        tonumber(entry.value_len), true)
      clock.accumulator = value.accumulator or 0
      clock.steps = value.fixedStepCount or 0
    end
    i = i + 1
  end
end

-- Steps 3 to 5: everything between the core's swap and the end.
local function build(world, snap, job, plan)
  buildColumns(world, snap, job)
  addRequired(plan.targets, plan.extras, plan.firsts)
  world._floor = 0
  world:commit()
  world._busy = "load"
  world._stamp = world._stamp + 1
  for id = 1, C.eg_archetype_count(world._c) do
    local arch = world._archs[id]
    if arch then arch._allDirty = world._stamp end
  end
end

local function toolsOf(world)
  local tools = world._loadTools
  if not tools then
    tools = {}
    world._loadTools = tools
  end
  return tools
end

local function open(world, pointer, length, limits)
  local tools = toolsOf(world)
  snapOut[0] = tools.snap
  local code = C.eg_load_open(nil, pointer, length, limits, snapOut, failure)
  if tools.snap == nil and snapOut[0] ~= nil then
    tools.snap = ffi.gc(snapOut[0], C.eg_snap_close)
  end
  if code < 0 then
    fail(failure.reason ~= nil and snapshot.describe(failure)
      or lib.message(code))
  end
  return tools.snap
end

local function begin(world, snap, prelude, infos, plan, flags)
  local tools = toolsOf(world)
  local keep = {}
  local map = mapFor(infos, plan.targets, keep)
  jobOut[0] = tools.job
  local code = C.eg_load_begin(world._c, snap, map, plan.kept.mark, flags,
    jobOut, failure)
  if tools.job == nil and jobOut[0] ~= nil then
    tools.job = ffi.gc(jobOut[0], C.eg_load_free)
  end
  if code < 0 then refused(code, snap, tools.job, prelude, infos) end
  return tools.job
end

--- Replaces the contents of the world by a snapshot. Safe on untrusted bytes.
-- On any error the world is as it was before the call. On success old ids that
-- the snapshot does not hold are dead, and columns taken before are invalid.
---@param src string|userdata|table  binary snapshot; read, not kept or changed
---@param options? table  `unknown = "skip"` drops columns of unregistered
-- components; `limits` bounds what the source may ask for
---@return table prelude  version, counts, componentTable; `skipped`: dropped
---@raise bad bytes (with offset); another version; over a limit; unregistered
-- components, all of them named; an open scope; whatever a hook raises
function M.loadSnapshot(world, src, options)
  world:_refuseOpenScope("loadSnapshot")
  local skip, limits = checkOptions(world, options)
  local pointer, length, fleeting = source.bytes(NAME, src)
  local snap = open(world, pointer, length, limits)
  local prelude = snapshot.prelude(snap)
  local infos = resolve(prelude, skip)
  local plan = { kept = content.stash(world) }
  world._busy = "load"
  local ok, message = core.protect(M.replace, world, snap, prelude, infos,
    plan, fleeting, pointer)
  world._busy, world._floor = false, 0
  if not ok then
    C.eg_load_rollback(world._c, plan.kept.mark)
    content.restore(world, plan.kept)
    world._depth, world._draining, world._staged = 0, false, false
    error(message, 0)
  end
  return prelude
end

--- The part of a load that runs under protection.
function M.replace(world, snap, prelude, infos, plan, fleeting, pointer)
  plan.targets, plan.extras = archetypes(world, snap, infos,
    prelude.archetypeCount)
  plan.firsts = firstRows(snap, plan.targets)
  local job = begin(world, snap, prelude, infos, plan, fleeting and COPY or 0)
  world._depth, world._floor = 1, 1
  content.clear(world, plan.kept)
  loadClock(world, snap, pointer, plan.kept)
  build(world, snap, job, plan)
  C.eg_load_commit(world._c)
end

return M
