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
local document = require("engram.snapshot.document")
local forms = require("engram.snapshot.forms")
local rebuild = require("engram.snapshot.rebuild")
local source = require("engram.snapshot.source")

local C, core = lib.C, lib.core

local NAME = "engram.World:loadSnapshot"
local OPTIONS = { unknown = true, limits = true }
local LIMITS = { entities = true, bytes = true, depth = true }

local snapOut = ffi.new("eg_snap *[1]")
local jobOut = ffi.new("eg_load *[1]")
local failure = ffi.new("eg_snap_error")
local record = ffi.new("eg_snap_record")
local column = ffi.new("eg_snap_column")
local saved = ffi.new("eg_snap_component")
local entry = ffi.new("eg_snap_entry")
local clash = ffi.new("uint32_t[3]")

local COPY = 1     -- EG_LOAD_COPY
local NONE = 0xffffffff -- UINT32_MAX
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

-- Which field does not go with which, in words; "" when no component is to
-- blame.
local function clashText(snap, job, infos)
  C.eg_load_clash(job, clash, clash + 1, clash + 2)
  local index, from, to = clash[0], clash[1], clash[2]
  if index == NONE then return "" end
  C.eg_snap_component_at(snap, index, saved)
  local text = string.format(": component %q",
    ffi.string(saved.name, saved.name_len))
  if to ~= NONE then
    local here = infos[index + 1].ffiFields[to + 1]
    text = text .. string.format(", field %q: here %s", here.name, here.type)
  end
  if from ~= NONE then
    text = text .. ", saved as " .. forms.typeText(saved.fields[from])
  end
  return text
end

-- Raises for what the core refused.
local function refused(code, text)
  if failure.reason ~= nil then
    fail(document.describe(failure) .. (text or ""))
  end
  fail(lib.message(code))
end

-- What to say besides about a limit that a source goes beyond.
local function limitText(limits, length)
  if failure.code ~= -43 then return end
  if length > limits.bytes then
    return string.format("; limits.bytes is %.0f", tonumber(limits.bytes))
  end
  return string.format("; limits are entities = %.0f, depth = %d",
    tonumber(limits.entities), limits.depth)
end

-- -- building ----------------------------------------------------------------

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
  rebuild.columns(world, snap, job)
  rebuild.required(plan.targets, plan.extras, plan.firsts)
  -- Scopes that hooks left open end here.
  world._floor, world._depth = 0, 1
  world:commit()
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
  if code < 0 then refused(code, limitText(limits, length)) end
  return tools.snap
end

local function begin(world, snap, infos, plan, flags)
  local tools = toolsOf(world)
  local keep = {}
  local map = mapFor(infos, plan.targets, keep)
  jobOut[0] = tools.job
  local code = C.eg_load_begin(world._c, snap, map, plan.kept.mark, flags,
    jobOut, failure)
  if tools.job == nil and jobOut[0] ~= nil then
    tools.job = ffi.gc(jobOut[0], C.eg_load_free)
  end
  if code == -43 then
    refused(code, string.format("; the world has %d", world.maxEntities))
  elseif code < 0 then
    refused(code, tools.job ~= nil and clashText(snap, tools.job, infos))
  end
  return tools.job
end

--- Replaces the contents of the world by a snapshot. Safe on untrusted bytes.
-- On any error the world is as it was before the call. On success old ids that
-- the snapshot does not hold are dead, and columns taken before are invalid;
-- queries stay. Linear in the size. Since 0.1.
---@param src engram.Source  binary snapshot; read, not kept or changed
---@param options? engram.LoadOptions  `unknown = "skip"` drops columns of
-- unregistered components; `limits` bounds what the source may ask for
---@return engram.Prelude prelude  version, counts, componentTable; `skipped`:
-- dropped
---@raise bad bytes (with offset); another version; over a limit; unregistered
-- components, all of them named; a layout that cannot be mapped; an EntityKey
-- twice; an open scope; whatever a hook raises; no memory
function M.loadSnapshot(world, src, options)
  world:_refuseOpenScope("loadSnapshot")
  local skip, limits = checkOptions(world, options)
  local pointer, length, fleeting = source.bytes(NAME, src)
  -- The plan holds the source as long as its bytes are used: compiled code
  -- may forget an argument that is not read again.
  local plan = { source = src, pointer = pointer, fleeting = fleeting }
  local snap = open(world, pointer, length, limits)
  local prelude = document.prelude(snap)
  local infos = resolve(prelude, skip)
  plan.kept = content.stash(world)
  world._busy = "load"
  local ok, message = core.protect(M.replace, world, snap, prelude, infos, plan)
  world._busy, world._floor = false, 0
  if not ok then
    C.eg_load_rollback(world._c, plan.kept.mark)
    content.restore(world, plan.kept)
    error(message, 0)
  end
  return prelude
end

--- The part of a load that runs under protection.
function M.replace(world, snap, prelude, infos, plan)
  plan.targets, plan.extras = archetypes(world, snap, infos,
    prelude.archetypeCount)
  plan.firsts = firstRows(snap, plan.targets)
  local job = begin(world, snap, infos, plan, plan.fleeting and COPY or 0)
  world._depth, world._floor = 1, 1
  content.clear(world, plan.kept)
  loadClock(world, snap, plan.pointer, plan.kept)
  build(world, snap, job, plan)
  C.eg_load_commit(world._c)
end

return M
