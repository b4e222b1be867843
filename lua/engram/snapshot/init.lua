--- Snapshots apart from a world: `engram.snapshot`.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local source = require("engram.snapshot.source")

local C = lib.C

local M = { VERSION = 1 }

local CODES = {
  [-40] = "truncated", [-41] = "corrupt", [-42] = "version", [-43] = "limit",
}

local snapOut = ffi.new("eg_snap *[1]")
local failure = ffi.new("eg_snap_error")

--- What is wrong, in one line: reason, versions, offset.
function M.describe(e)
  local reason = e.reason ~= nil and ffi.string(e.reason)
    or lib.message(e.code)
  if e.code == -42 then
    return string.format("%s: found %s, known is %d", reason,
      tostring(e.version), M.VERSION)
  end
  return string.format("%s: %s (byte offset %.0f)", lib.message(e.code),
    reason, tonumber(e.offset))
end

-- Opens bytes with `open`; nil, message, code, offset when they are refused.
local function open(fn, pointer, length)
  snapOut[0] = nil
  local code = fn(nil, pointer, length, nil, snapOut, failure)
  if code == 0 then return ffi.gc(snapOut[0], C.eg_snap_close) end
  if not CODES[code] then err.raise("engram.snapshot: " .. lib.message(code)) end
  return nil, M.describe(failure), CODES[code], tonumber(failure.offset)
end

local function close(snap)
  C.eg_snap_close(ffi.gc(snap, nil))
end

--- Checks a whole snapshot without a world and without components. Safe on any
-- bytes. What it accepts, a load refuses only for reasons that need a world or
-- registered components. Linear in the size.
---@param bytes string|userdata  string, string.buffer or saveSnapshot's result
---@return true? ok
---@return string? message
---@return string? code  "truncated", "corrupt", "version" or "limit"
---@return integer? byteOffset  0-based
function M.verify(bytes)
  local pointer, length = source.bytes("engram.snapshot.verify", bytes)
  local snap, message, code, offset = open(C.eg_snap_open, pointer, length)
  if not snap then return nil, message, code, offset end
  close(snap)
  return true
end

--- Reads the beginning of a snapshot: counts and the component table.
---@param bytes string|userdata
---@return table? info  version, nextEntityId, entityCount, archetypeCount,
-- componentCount, components (sorted names), fingerprints (name → text)
---@return string? message
---@return string? code
---@return integer? byteOffset
function M.inspect(bytes)
  local pointer, length = source.bytes("engram.snapshot.inspect", bytes)
  local snap, message, code, offset = open(C.eg_snap_inspect, pointer, length)
  if not snap then return nil, message, code, offset end
  local info = M.prelude(snap)
  close(snap)
  local names, fingerprints = {}, {}
  for i = 1, #info.componentTable do
    local entry = info.componentTable[i]
    names[i] = entry.name
    fingerprints[entry.name] = entry.fingerprint
  end
  table.sort(names)
  return {
    version = info.version,
    nextEntityId = info.nextEntityId,
    entityCount = info.entityCount,
    archetypeCount = info.archetypeCount,
    componentCount = #names,
    components = names,
    fingerprints = fingerprints,
  }
end

local prelude = ffi.new("eg_snap_prelude")
local component = ffi.new("eg_snap_component")

--- The prelude of an open document as a table.
function M.prelude(snap)
  C.eg_snap_prelude_of(snap, prelude)
  local list = {}
  for i = 0, prelude.components - 1 do
    C.eg_snap_component_at(snap, i, component)
    list[i + 1] = {
      name = ffi.string(component.name, component.name_len),
      fingerprint = ffi.string(component.fingerprint,
        component.fingerprint_len),
    }
  end
  return {
    version = prelude.version,
    nextEntityId = prelude.next_id,
    entityCount = prelude.entities,
    archetypeCount = prelude.records,
    componentTable = list,
    skipped = {},
  }
end

return M
