--- Open documents of the core, in Lua's terms: the prelude as a table, a
-- failure as one line of text.

local ffi = require("ffi")
local lib = require("engram.lib")

local C = lib.C

local M = { VERSION = 1 }

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
