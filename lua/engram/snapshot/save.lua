--- `world:saveSnapshot`: one plan, one reservation, one pass of writing.
--
-- First everything that can raise or run user code happens, into scratch memory
-- that the world keeps: hooks and the encoding of Lua values. Then the core
-- measures, the caller's buffer is extended once, and the core writes; between
-- these no Lua value is touched.
--
-- Hooks run inside a scope that they cannot close, so the plan stays true: what
-- they change structurally waits until the save has ended, well or not.

local ffi = require("ffi")
local buffer = require("string.buffer")
local lib = require("engram.lib")
local err = require("engram.err")
local registry = require("engram.ecs.registry")
local stores = require("engram.ecs.store")
local codec = require("engram.snapshot.codec")
local forms = require("engram.snapshot.forms")
local source = require("engram.snapshot.source")

local C, core = lib.C, lib.core

local NAME = "engram.World:saveSnapshot"
local RESERVED = "__engram."
-- A string.buffer ends just below 2 GiB.
local MOST = 0x7fff0000

local OPTIONS = { format = true, buffer = true, path = true,
  customData = true, limits = true }
local LIMITS = { bytes = MOST, depth = 512 }

local jobOut = ffi.new("eg_save *[1]")
local hostedOut = ffi.new("eg_save_column *[1]")
local sizeOut = ffi.new("uint64_t[1]")
local stepOut = ffi.new("const char *[1]")
local osOut = ffi.new("int[1]")
local snapOut = ffi.new("eg_snap *[1]")
local readLimits = ffi.new("eg_limits")
local failure = ffi.new("eg_snap_error")

local M = {}

-- Keys in writing order, and their values beside them: hooks may change the
-- table before it is written.
local function checkCustomData(data)
  local keys, list = {}, {}
  if data == nil then return keys, list end
  if type(data) ~= "table" then
    err.expected(NAME .. ": customData", "table with string keys", data)
  end
  local key = next(data)
  while key ~= nil do
    if type(key) ~= "string" then
      err.expected(NAME .. ": customData", "string key", key)
    end
    if key:sub(1, #RESERVED) == RESERVED then
      err.raise(NAME .. ": customData: the key " .. string.format("%q", key)
        .. " is reserved")
    end
    keys[#keys + 1] = key
    key = next(data, key)
  end
  table.sort(keys)
  for i = 1, #keys do list[i] = rawget(data, keys[i]) end
  return keys, list
end

-- What the save may write at most; by default what there is room for.
local function checkLimits(given)
  local limits = { bytes = MOST, depth = LIMITS.depth }
  if given == nil then return limits end
  err.options(NAME .. ": limits", given, LIMITS)
  for i = 1, 2 do
    local name = i == 1 and "bytes" or "depth"
    local v = given[name]
    if v ~= nil and (type(v) ~= "number" or v % 1 ~= 0 or v < 0
        or v > 2 ^ 53) then
      err.expected(NAME .. ": limits." .. name, "whole number", v)
    end
    limits[name] = math.min(v or limits[name], limits[name])
  end
  return limits
end

-- The options as this save uses them.
local function checkOptions(options)
  options = options == nil and {} or options
  err.options(NAME, options, OPTIONS)
  if options.format ~= nil and options.format ~= "binary" then
    err.expected(NAME .. ": format", '"binary"', options.format)
  end
  if options.buffer ~= nil and not source.isBuffer(options.buffer) then
    err.expected(NAME .. ": buffer", "string.buffer", options.buffer)
  end
  local path = options.path
  if path ~= nil and (type(path) ~= "string" or path == ""
      or path:find("%z")) then
    err.expected(NAME .. ": path", "file name without zero bytes", path)
  end
  local keys, list = checkCustomData(options.customData)
  return { path = path, keys = keys, values = list,
    limits = checkLimits(options.limits) }
end

-- The buffer given, which is empty from here on unless the save succeeds.
local function bufferOf(options)
  local given = type(options) == "table" and options.buffer
  if not source.isBuffer(given) then return buffer.new() end
  given:reset()
  return given
end

-- The world's tools for saving, made at its first save.
local function toolsOf(world)
  local tools = world._saveTools
  if not tools then
    tools = { scratch = core.newScratch(), job = nil }
    world._saveTools = tools
  end
  return tools
end

local function fail(where, message)
  err.raise(NAME .. ": " .. where .. ": " .. message)
end

-- Raises for a value that was not encoded.
local function refuse(where, message, code, limit)
  if code == "limit" then
    message = string.format("%s (limits.bytes is %.0f)", message, limit)
  end
  fail(where, message)
end

-- Encodes one plain value per row: components with hooks.
local function encodeEach(info, arch, column, scratch, at, limit)
  local count, entities = tonumber(arch.entities[0]), arch.entities
  for row = 1, count do
    local id = entities[row]
    local plain = forms.toPlain(info, id, column[row])
    local stop, message, code = core.encode(scratch, at, plain, limit)
    if not stop then
      refuse("cannot save", forms.describe(info, id, message), code, limit)
    end
    at = stop
  end
  return at
end

-- Encodes a column of Lua values, or of values with hooks.
local function encodeColumn(world, item, scratch, at, limit)
  local info = registry.info[item.component]
  local arch = world._archs[item.archetype]
  local column = world._stores[item.component][item.archetype]
  if info.serialize or info.storage ~= stores.HOST then
    return encodeEach(info, arch, column, scratch, at, limit)
  end
  local stop, message, row, code = codec.write(info, scratch, at, column,
    item.rows, 1, limit)
  if not stop then
    refuse("cannot save", forms.describe(info, arch.entities[row], message),
      code, limit)
  end
  return stop
end

-- A pointer means nothing in another process, so only a pair of hooks may say
-- what becomes of it.
local function refusePointers(world)
  for id = 1, table.maxn(world._stores) do
    local store = world._stores[id]
    local info = store and store.info
    if info and info.hasPointers and not info.transient
        and not (info.serialize and info.deserialize) then
      for at = 1, C.eg_archetype_count(world._c) do
        local arch = store[at] ~= nil and world._archs[at]
        if arch and not arch._staging and arch.entities[0] > 0 then
          fail("cannot save", forms.describe(info, arch.entities[1],
            forms.pointerField(info) .. ": a pointer cannot be saved; the"
            .. " component must be transient or have serialize and"
            .. " deserialize"))
        end
      end
    end
  end
end

local function put(scratch, at, value, where, limit)
  local stop, message, code = core.encode(scratch, at, value, limit)
  if not stop then refuse(where, message, code, limit) end
  return stop
end

local function putEntry(scratch, at, key, value, limit)
  local where = string.format("data %q", key)
  at = put(scratch, at, true, where, limit)
  at = put(scratch, at, key, where, limit)
  return put(scratch, at, value, where, limit)
end

-- Everything that may raise: plan, hooks, Lua values, data entries. Returns
-- the job and the scratch range of the entries.
local function prepare(world, tools, options)
  refusePointers(world)
  jobOut[0] = tools.job
  local code = C.eg_save_begin(world._c, jobOut)
  if tools.job == nil and jobOut[0] ~= nil then
    tools.job = ffi.gc(jobOut[0], C.eg_save_free)
  end
  if code < 0 then fail("plan", lib.message(code)) end
  local job = tools.job
  local count = C.eg_save_hosted(job, hostedOut)
  local items, scratch, at = hostedOut[0], tools.scratch, 0
  local from, limit = {}, options.limits.bytes
  for i = 0, count - 1 do
    from[i] = at
    at = encodeColumn(world, items[i], scratch, at, limit)
    items[i].size = at - from[i]
  end
  local data = at
  local clock = world._clock
  at = putEntry(scratch, at, RESERVED .. "pipeline", {
    accumulator = clock.accumulator,
    fixedStepCount = clock.steps,
    phases = {},
  }, limit)
  local keys = options.keys
  for i = 1, #keys do
    at = putEntry(scratch, at, keys[i], options.values[i], limit)
  end
  -- The scratch has reached its place: now its addresses are final.
  local base = codec.address(scratch)
  for i = 0, count - 1 do items[i].data = base + from[i] end
  return job, base + data, at - data
end

local function writeFile(path, out)
  local code = C.eg_file_replace(path, out:ref(), #out, stepOut, osOut)
  if code == 0 then return end
  local text = lib.message(code)
  if stepOut[0] ~= nil then
    text = ffi.string(stepOut[0]) .. ": " .. lib.osMessage(osOut[0])
  end
  fail(string.format("path %q", path), text)
end

-- The encoder knows the format's own limit of depth. A lower one is asked for
-- so rarely that the reader may find out.
local function checkDepth(bytes, size, depth)
  C.eg_limits_init(readLimits)
  readLimits.bytes, readLimits.depth = size, depth
  snapOut[0] = nil
  local code = C.eg_snap_open(nil, bytes, size, readLimits, snapOut, failure)
  C.eg_snap_close(snapOut[0])
  if code == -43 then
    fail("limits.depth", string.format("nested deeper than %d (byte offset"
      .. " %.0f)", depth, tonumber(failure.offset)))
  elseif code < 0 then
    fail("limits.depth", lib.message(code))
  end
end

local function save(world, options, out)
  local tools = toolsOf(world)
  local job, data, dataLen = prepare(world, tools, options)
  local code = C.eg_save_measure(job, data, dataLen, sizeOut)
  if code < 0 then fail("measure", lib.message(code)) end
  local size = tonumber(sizeOut[0])
  if size > options.limits.bytes then
    fail("size", string.format("%.0f bytes, more than %s (%.0f)", size,
      options.limits.bytes < MOST and "limits.bytes"
        or "a string.buffer holds", options.limits.bytes))
  end
  -- Hooks had the buffer in their hands.
  out:reset()
  local to = out:reserve(size)
  code = C.eg_save_write(job, to, size)
  if code < 0 then fail("write", lib.message(code)) end
  out:commit(size)
  if options.limits.depth < LIMITS.depth then
    checkDepth(to, size, options.limits.depth)
  end
  return size
end

-- Ends the scope of the hooks, and applies what they have staged.
local function close(world)
  world._busy, world._floor, world._depth = false, 0, 1
  world:commit()
end

-- The file comes last: until then an error leaves the old one alone.
local function finish(world, options, out, size)
  close(world)
  if #out ~= size then
    fail("buffer", "a callback has changed it")
  end
  if options.path then writeFile(options.path, out) end
end

--- Saves the world: entities under their ids, every component that is not
-- transient, the allocator. The world is unchanged, but for what `serialize`
-- hooks do: structural changes they make are applied when the save has ended.
-- Equal worlds give equal bytes. O(bytes); with a reused buffer nothing lasting
-- is allocated. Since 0.1.
---@param options? engram.SaveOptions  read, not kept: `buffer`: a string.buffer
-- to reuse, reset first; `path`: also write a file, atomically, which waits for
-- the disk; `customData`: map from string keys to plain values; `limits`:
-- `bytes` and `depth` (tables within tables) that must not be exceeded
---@return engram.Saved result  `{format = "binary", buffer = string.buffer}`;
-- the buffer is the one given or a new one, the caller's
---@raise an open scope; a value that cannot be saved (with entity, component,
-- field path); more than a limit or than just below 2 GiB; a file that cannot
-- be written; what a hook raises; no memory. A given buffer is then empty, an
-- existing file as it was.
function M.saveSnapshot(world, options)
  local out = bufferOf(options)
  world:_refuseOpenScope("saveSnapshot")
  local checked = checkOptions(options)
  world._busy, world._floor, world._depth = "save", 1, 1
  local ok, result = core.protect(save, world, checked, out)
  if ok then
    ok, result = core.protect(finish, world, checked, out, result)
  else
    -- The error of the save is the one to tell.
    core.protect(close, world)
  end
  if not ok then
    out:reset()
    error(result, 0)
  end
  return { format = "binary", buffer = out }
end

return M
