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

local OPTIONS = { format = true, buffer = true, path = true, customData = true }

local jobOut = ffi.new("eg_save *[1]")
local hostedOut = ffi.new("eg_save_column *[1]")
local sizeOut = ffi.new("uint64_t[1]")
local stepOut = ffi.new("const char *[1]")
local osOut = ffi.new("int[1]")

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
  return { path = path, keys = keys, values = list }
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

-- Encodes one plain value per row: components with hooks.
local function encodeEach(info, arch, column, scratch, at)
  local count, entities = tonumber(arch.entities[0]), arch.entities
  for row = 1, count do
    local id = entities[row]
    local plain = forms.toPlain(info, id, column[row])
    local stop, message = core.encode(scratch, at, plain)
    if not stop then
      fail("cannot save", forms.describe(info, id, message))
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
    return encodeEach(info, arch, column, scratch, at)
  end
  local stop, message, row = codec.write(info, scratch, at, column,
    item.rows)
  if not stop then
    fail("cannot save",
      forms.describe(info, arch.entities[row], message))
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
  local keys = options.keys
  for i = 1, #keys do
    at = putEntry(scratch, at, keys[i], options.values[i])
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

local function save(world, options, out)
  local tools = toolsOf(world)
  local job, data, dataLen = prepare(world, tools, options)
  local code = C.eg_save_measure(job, data, dataLen, sizeOut)
  if code < 0 then fail("measure", lib.message(code)) end
  local size = tonumber(sizeOut[0])
  if size > MOST then
    fail("size", string.format("%.0f bytes, but a string.buffer holds %d",
      size, MOST))
  end
  -- Hooks had the buffer in their hands.
  out:reset()
  local to = out:reserve(size)
  code = C.eg_save_write(job, to, size)
  if code < 0 then fail("write", lib.message(code)) end
  out:commit(size)
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
-- the disk; `customData`: map from string keys to plain values
---@return engram.Saved result  `{format = "binary", buffer = string.buffer}`;
-- the buffer is the one given or a new one, the caller's
---@raise an open scope; a value that cannot be saved (with entity, component,
-- field path); more than just below 2 GiB; a file that cannot be written; what
-- a hook raises; no memory. A given buffer is then empty, an existing file as
-- it was.
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
