--- Snapshots apart from a world: `engram.snapshot`.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local document = require("engram.snapshot.document")
local source = require("engram.snapshot.source")

local C = lib.C

local M = { VERSION = document.VERSION }

local CODES = {
  [-40] = "truncated", [-41] = "corrupt", [-42] = "version", [-43] = "limit",
}

local snapOut = ffi.new("eg_snap *[1]")
local failure = ffi.new("eg_snap_error")
-- Holds the source while a document is open over its bytes: compiled code may
-- forget an argument that is not read again.
local anchor = {} -- luacheck: ignore 241

-- Opens bytes with `open`; nil, message, code, offset when they are refused.
local function open(fn, pointer, length)
  snapOut[0] = nil
  local code = fn(nil, pointer, length, nil, snapOut, failure)
  if code == 0 then return ffi.gc(snapOut[0], C.eg_snap_close) end
  anchor.source = nil
  if not CODES[code] then
    err.raise("engram.snapshot: " .. lib.message(code))
  end
  return nil, document.describe(failure), CODES[code], tonumber(failure.offset)
end

local function close(snap)
  C.eg_snap_close(ffi.gc(snap, nil))
  anchor.source = nil
end

--- Checks a whole snapshot without a world and without components. Safe on any
-- bytes. What it accepts, a load refuses only for reasons that need a world or
-- registered components. Linear in the size, memory in proportion. Since 0.1.
---@param bytes engram.Source  read, not kept or consumed
---@return true? ok
---@return string? message
---@return string? code  "truncated", "corrupt", "version" or "limit"
---@return integer? byteOffset  0-based
function M.verify(bytes)
  local pointer, length = source.bytes("engram.snapshot.verify", bytes)
  anchor.source = bytes
  local snap, message, code, offset = open(C.eg_snap_open, pointer, length)
  if not snap then return nil, message, code, offset end
  close(snap)
  return true
end

--- Reads the beginning of a snapshot: counts and the component table. What
-- follows is not looked at, and may be missing. Safe on any bytes. Linear in
-- the size of the table. Since 0.1.
---@param bytes engram.Source  read, not kept or consumed
---@return engram.Inspection? info  version, nextEntityId, entityCount,
-- archetypeCount, componentCount, components (sorted names), fingerprints
-- (name → text)
---@return string? message
---@return string? code
---@return integer? byteOffset
function M.inspect(bytes)
  local pointer, length = source.bytes("engram.snapshot.inspect", bytes)
  anchor.source = bytes
  local snap, message, code, offset = open(C.eg_snap_inspect, pointer, length)
  if not snap then return nil, message, code, offset end
  local info = document.prelude(snap)
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

return M
