--- Cells: from what a caller gave to what a column holds, and the moves of
-- Lua-held cells that mirror the core's row moves.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local registry = require("engram.ecs.registry")

local tonumber, type, typeof = tonumber, type, ffi.typeof
local byCtype, info = registry.byCtype, registry.info

local M = {}

--- Raises for an entity that is neither committed nor pending.
function M.dead(name, id)
  err.raise("engram.World:" .. name .. ": Entity ID not found: "
    .. lib.idText(id))
end

--- Raises for a value that is no component value, naming its position.
function M.bad(name, position, value)
  err.expected("engram.World:" .. name, "component value at position "
    .. position, value)
end

--- The cell of a component value: instances as they are, bare components
-- constructed, scalar wrappers opened. Tags have none, and their column
-- ignores what is written.
function M.of(component, value)
  local record = info[component.componentId]
  if rawequal(value, component) then
    if record.kind == "tag" then return true end
    return record.construct()
  end
  if record.scalarKind then return value.value end
  return value
end

--- The cell again, a copy where it is a reference into a column: that dangles
-- once the column's storage grows.
function M.kept(content)
  if type(content) ~= "cdata" then return content end
  local number = tonumber(typeof(content))
  local ctype = info[byCtype[number].componentId].ctype
  if number == tonumber(ctype) then return content end
  return ctype(content)
end

--- Mirrors the removal of `row` from a dense archetype: the last row fills the
-- hole. Call it after the core has done so, with the row count before.
function M.removed(arch, row, last)
  local host, at = arch._host, arch.id
  for i = 1, arch._hostCount do
    local col = host[i][at]
    if row ~= last then col[row] = col[last] end
    col[last] = nil
  end
end

--- Mirrors a move: cells both archetypes have are carried over.
function M.moved(arch, row, last, dst, toRow)
  local host, from, to = arch._host, arch.id, dst.id
  for i = 1, arch._hostCount do
    local store = host[i]
    local col, dstCol = store[from], store[to]
    if dstCol then dstCol[toRow] = col[row] end
    if row ~= last then col[row] = col[last] end
    col[last] = nil
  end
end

--- Moves staged Lua cells to another place and forgets them here.
-- `to` nil: they are dropped.
function M.carried(staged, row, to, toRow)
  local host, at = staged._host, staged.id
  for i = 1, staged._hostCount do
    local store = host[i]
    local col = store[at]
    local dstCol = to and store[to.id]
    if dstCol then dstCol[toRow] = col[row] end
    col[row] = nil
  end
end

return M
