--- Stored forms: what a row of a component is in a snapshot, and back.
--
-- Components without hooks go column-wise through the codec. This module is for
-- the others: it turns one row into the plain value that is encoded, and a
-- decoded value into what the column holds.

local ffi = require("ffi")
local err = require("engram.err")
local lib = require("engram.lib")

local M = {}

-- One FFI field as a plain value: arrays as 1-based tables, char arrays as
-- strings without trailing zeros.
local function plainField(cell, field)
  local n, m = field.dims[1], field.dims[2]
  if not n then return cell end
  if field.isChar and not m then
    local text = ffi.string(cell, n)
    return (text:gsub("%z+$", ""))
  end
  local out = {}
  for i = 0, n - 1 do
    local v = cell[i]
    if m then
      local inner = {}
      for k = 0, m - 1 do inner[k + 1] = v[k] end
      v = inner
    end
    out[i + 1] = v
  end
  return out
end

--- An FFI row as `{field = value}`.
function M.structToTable(info, row)
  local out, fields = {}, info.ffiFields
  for i = 1, #fields do
    local field = fields[i]
    out[field.name] = plainField(row[field.name], field)
  end
  return out
end

local function describe(world, info, id, text)
  local _ = world
  return "component " .. string.format("%q", info.name) .. " of entity "
    .. lib.idText(id) .. ": " .. text
end
M.describe = describe

-- Calls a user's hook and puts entity and component before its error.
local function hook(fn, world, info, id, what, ...)
  local ok, result = pcall(fn, ...)
  if ok then return result end
  if type(result) == "string" then
    error(describe(world, info, id, what .. ": " .. result), 0)
  end
  error(result, 0)
end

--- The plain value of one row of a component whose values the host encodes.
function M.toPlain(world, info, id, cell)
  if info.serialize then
    local plain = hook(info.serialize, world, info, id, "serialize", cell)
    if type(plain) ~= "table" then
      err.raise(describe(world, info, id,
        "serialize returned " .. type(plain) .. ", a table is expected"))
    end
    return plain
  end
  if info.kind == "ffi" then return M.structToTable(info, cell) end
  if info.scalarKind then return { value = cell } end
  return cell
end

local function scalarFrom(world, info, id, data)
  local value = data.value
  if value == nil then return info.scalarDefault end
  if type(value) ~= info.scalarKind then
    err.raise(describe(world, info, id, "value: " .. info.scalarKind
      .. " expected, got " .. type(value)))
  end
  return value
end

-- What `deserialize` may return for a component, as a cell.
local function checkedInstance(world, info, id, value)
  local component, form = require("engram.ecs.values").resolve(value)
  if component ~= info.component or form == "bare" then
    err.raise(describe(world, info, id, "deserialize returned "
      .. err.describe(value) .. ", an instance is expected"))
  end
  if info.scalarKind then return value.value end
  return value
end

--- The cell of one decoded value.
function M.fromPlain(world, info, id, data)
  if info.deserialize then
    local made = hook(info.deserialize, world, info, id, "deserialize", world,
      data)
    return checkedInstance(world, info, id, made)
  end
  if type(data) ~= "table" then
    err.raise(describe(world, info, id, "table expected, got " .. type(data)))
  end
  if info.scalarKind then return scalarFrom(world, info, id, data) end
  return hook(info.new, world, info, id, "new", data)
end

-- Reads one value of a saved raw struct. The core has checked every number.
local READERS = {
  [1] = "int8_t", [2] = "uint8_t", [3] = "int16_t", [4] = "uint16_t",
  [5] = "int32_t", [6] = "uint32_t", [7] = "int64_t", [8] = "uint64_t",
  [9] = "float", [10] = "double", [11] = "bool", [12] = "double",
}
for kind, name in pairs(READERS) do
  READERS[kind] = { type = ffi.typeof(name .. "[1]"), size = ffi.sizeof(name) }
end

local function readCell(at, reader)
  -- Saved bytes have any alignment.
  local box = reader.type()
  ffi.copy(box, at, reader.size)
  return box[0]
end

local function readField(at, field)
  local reader = READERS[field.type]
  local n, m = field.dims[0], field.dims[1]
  if n == 0 then return readCell(at, reader) end
  local out = {}
  for i = 0, n - 1 do
    if m == 0 then
      out[i + 1] = readCell(at + i * reader.size, reader)
    else
      local inner = {}
      for k = 0, m - 1 do
        inner[k + 1] = readCell(at + (i * m + k) * reader.size, reader)
      end
      out[i + 1] = inner
    end
  end
  return out
end

--- A row of saved raw bytes as `{field = value}`, for a component that is not
-- raw any more. `saved` is the eg_snap_component.
function M.rawToTable(saved, at)
  local out = {}
  for i = 0, saved.field_count - 1 do
    local field = saved.fields[i]
    local name = ffi.string(field.name, field.name_len)
    out[name] = readField(at + field.offset, field)
  end
  return out
end

return M
