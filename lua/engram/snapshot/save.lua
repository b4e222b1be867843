--- `world:saveSnapshot`: one plan, one reservation, one pass of writing.
--
-- First everything that can raise or run user code happens, into scratch memory
-- that the world keeps: hooks and the encoding of Lua values. Then the core
-- measures, the caller's buffer is extended once, and the core writes; between
-- these no Lua value is touched.

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

local OPTIONS = { format = true, buffer = true, path = true, customData = true }

local jobOut = ffi.new("eg_save *[1]")
local hostedOut = ffi.new("eg_save_column *[1]")
local sizeOut = ffi.new("uint64_t[1]")
local stepOut = ffi.new("const char *[1]")
local osOut = ffi.new("int[1]")

local M = {}

local function checkCustomData(data)
  if data == nil then return {} end
  if type(data) ~= "table" then
    err.expected(NAME .. ": customData", "table with string keys", data)
  end
  local keys = {}
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
  return keys
end

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
  return options, checkCustomData(options.customData)
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

-- Encodes one plain value per row: components with hooks.
local function encodeEach(world, info, arch, column, scratch, at)
  local count, entities = tonumber(arch.entities[0]), arch.entities
  for row = 1, count do
    local id = entities[row]
    local plain = forms.toPlain(world, info, id, column[row])
    local stop, message = core.encode(scratch, at, plain)
    if not stop then
      fail("cannot save", forms.describe(world, info, id, message))
    end
    at = stop
  end
  return at
end

-- Encodes a column of Lua values, or of values with hooks.
local function encodeColumn(world, item, scratch, at)
  local info = registry.info[item.component]
  local arch = world._archs[item.archetype]
  local column = world._stores[item.component][item.archetype]
  if info.serialize or info.storage ~= stores.HOST then
    return encodeEach(world, info, arch, column, scratch, at)
  end
  local stop, message, row = codec.write(info, scratch, at, column,
    item.rows)
  if not stop then
    fail("cannot save",
      forms.describe(world, info, arch.entities[row], message))
  end
  return stop
end

local function put(scratch, at, value, where)
  local stop, message = core.encode(scratch, at, value)
  if not stop then fail(where, message) end
  return stop
end

local function putEntry(scratch, at, key, value)
  at = put(scratch, at, true, key)
  at = put(scratch, at, key, key)
  return put(scratch, at, value, string.format("data %q", key))
end

-- Everything that may raise: plan, hooks, Lua values, data entries. Returns
-- the job and the scratch range of the entries.
local function prepare(world, tools, options, keys)
  jobOut[0] = tools.job
  local code = C.eg_save_begin(world._c, jobOut)
  if tools.job == nil and jobOut[0] ~= nil then
    tools.job = ffi.gc(jobOut[0], C.eg_save_free)
  end
  if code < 0 then fail("plan", lib.message(code)) end
  local job = tools.job
  local count = C.eg_save_hosted(job, hostedOut)
  local items, scratch, at = hostedOut[0], tools.scratch, 0
  local from = {}
  for i = 0, count - 1 do
    from[i] = at
    at = encodeColumn(world, items[i], scratch, at)
    items[i].size = at - from[i]
  end
  local data = at
  local clock = world._clock
  at = putEntry(scratch, at, RESERVED .. "pipeline", {
    accumulator = clock.accumulator,
    fixedStepCount = clock.steps,
    phases = {},
  })
  for i = 1, #keys do
    at = putEntry(scratch, at, keys[i], options.customData[keys[i]])
  end
  -- The scratch has reached its place: now its addresses are final.
  local base = codec.address(scratch)
  for i = 0, count - 1 do items[i].data = base + from[i] end
  return job, base + data, at - data
end

local function writeFile(path, bytes, size)
  local code = C.eg_file_replace(path, bytes, size, stepOut, osOut)
  if code == 0 then return end
  local text = lib.message(code)
  if stepOut[0] ~= nil then
    text = ffi.string(stepOut[0]) .. ": " .. lib.osMessage(osOut[0])
  end
  fail(string.format("path %q", path), text)
end

local function save(world, options, keys, out)
  local tools = toolsOf(world)
  local job, data, dataLen = prepare(world, tools, options, keys)
  local code = C.eg_save_measure(job, data, dataLen, sizeOut)
  if code < 0 then fail("measure", lib.message(code)) end
  local size = tonumber(sizeOut[0])
  if size > MOST then
    fail("size", string.format("%.0f bytes, but a string.buffer holds %d",
      size, MOST))
  end
  local to = out:reserve(size)
  code = C.eg_save_write(job, to, size)
  if code < 0 then fail("write", lib.message(code)) end
  out:commit(size)
  if options.path then writeFile(options.path, out:ref(), size) end
end

--- Saves the world: entities under their ids, every component that is not
-- transient, the allocator. The world is unchanged.
---@param options? table  `buffer`: a string.buffer to reuse, reset first;
-- `path`: also write a file, atomically; `customData`: map from string keys to
-- plain values
---@return table result  `{format = "binary", buffer = string.buffer}`
---@raise an open scope; a value that cannot be saved (with entity, component,
-- field path); a file that cannot be written. A given buffer is then empty,
-- an existing file as it was.
function M.saveSnapshot(world, options)
  world:_refuseOpenScope("saveSnapshot")
  local checked, keys = checkOptions(options)
  local out = checked.buffer or buffer.new()
  out:reset()
  world._busy = "save"
  local ok, message = core.protect(save, world, checked, keys, out)
  world._busy = false
  if not ok then
    out:reset()
    error(message, 0)
  end
  return { format = "binary", buffer = out }
end

return M
