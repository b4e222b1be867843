--- Stored forms: what a row of a component is in a snapshot, and back.
--
-- Components without hooks go column-wise through the codec. This module is for
-- the others: it turns one row into the plain value that is encoded, and a
-- decoded value into what the column holds.

local ffi = require("ffi")
local err = require("engram.err")
local lib = require("engram.lib")
local values = require("engram.ecs.values")

local M = {}

--- The name of an FFI component's first pointer field.
function M.pointerField(info)
  for i = 1, #info.ffiFields do
    if info.ffiFields[i].base == "pointer" then
      return info.ffiFields[i].name
    end
  end
end

local function textOf(chars, n)
  return (ffi.string(chars, n):gsub("%z+$", ""))
end

-- One FFI field as a plain value: arrays as 1-based tables, char arrays as
-- strings without trailing zeros.
local function plainField(cell, field)
  local n, m = field.dims[1], field.dims[2]
  if n == 0 then return cell end
  if field.isChar then return textOf(cell, n) end
  local out = {}
  for i = 0, n - 1 do
    local v = cell[i]
    if m ~= 0 then
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

--- A message about one row.
function M.describe(info, id, text)
  return string.format("component %q of entity %s: %s", info.name,
    lib.idText(id), text)
end
local describe = M.describe

--- Calls a user's function and puts entity and component before its error.
-- An error that is no string passes as it is.
function M.hook(fn, info, id, what, ...)
  local ok, result = pcall(fn, ...)
  if ok then return result end
  if type(result) == "string" then
    error(describe(info, id, what .. ": " .. result), 0)
  end
  error(result, 0)
end
local hook = M.hook

--- The plain value of one row of a component whose values the host encodes.
function M.toPlain(info, id, cell)
  if info.serialize then
    local plain = hook(info.serialize, info, id, "serialize", cell)
    if type(plain) ~= "table" then
      err.raise(describe(info, id, "serialize returned "
        .. err.describe(plain) .. ", a table is expected"))
    end
    return plain
  end
  if info.kind == "ffi" then return M.structToTable(info, cell) end
  if info.scalarKind then return { value = cell } end
  return cell
end

local function scalarFrom(info, id, data)
  local value = data.value
  if value == nil then return info.scalarDefault end
  if type(value) ~= info.scalarKind then
    err.raise(describe(info, id, "value: " .. info.scalarKind
      .. " expected, got " .. err.describe(value)))
  end
  return value
end

-- What `deserialize` may return for a component, as a cell.
local function checkedInstance(info, id, value)
  local component, form = values.resolve(value)
  if component ~= info.component or form == "bare" then
    err.raise(describe(info, id, "deserialize returned "
      .. err.describe(value) .. ", an instance is expected"))
  end
  if info.scalarKind then return value.value end
  return value
end

--- The cell of one decoded value.
function M.fromPlain(world, info, id, data)
  if type(data) ~= "table" then
    err.raise(describe(info, id, "table expected, got "
      .. err.describe(data)))
  end
  if info.deserialize then
    return checkedInstance(info, id,
      hook(info.deserialize, info, id, "deserialize", world, data))
  end
  if info.scalarKind then return scalarFrom(info, id, data) end
  return hook(info.new, info, id, "new", data)
end

-- By field type of the core.
local NAMES = { "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32",
  "f64", "bool", "entity" }
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
  local n, m = field.n, field.m
  if n == 0 then return readCell(at, reader) end
  if field.isChar then return textOf(at, n) end
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

--- The layout of a saved raw component, for `rawToTable`: a copy that does not
-- depend on the source, which a hook may take away.
---@param saved ffi.cdata*  eg_snap_component
---@param info table  the component it is now
function M.rawLayout(saved, info)
  local chars = {}
  for i = 1, info.ffiFields and #info.ffiFields or 0 do
    local field = info.ffiFields[i]
    if field.isChar then chars[field.name] = true end
  end
  local out = { size = saved.size }
  for i = 0, saved.field_count - 1 do
    local field = saved.fields[i]
    local name = ffi.string(field.name, field.name_len)
    out[i + 1] = {
      name = name,
      type = field.type,
      offset = field.offset,
      n = field.dims[0],
      m = field.dims[1],
      -- A saved layout does not tell char from other bytes.
      isChar = chars[name] and field.type <= 2 and field.dims[0] > 0
        and field.dims[1] == 0,
    }
  end
  return out
end

--- A row of saved raw bytes as `{field = value}`, for a component that is not
-- raw any more. The core has checked every number.
---@param layout table  of `rawLayout`
---@param at ffi.cdata*  the row
function M.rawToTable(layout, at)
  local out = {}
  for i = 1, #layout do
    local field = layout[i]
    out[field.name] = readField(at + field.offset, field)
  end
  return out
end

--- The type of a saved field as a fingerprint shows it.
function M.typeText(field)
  local text = NAMES[field.type] or "?"
  for i = 0, 1 do
    if field.dims[i] ~= 0 then text = text .. "[" .. field.dims[i] .. "]" end
  end
  return text
end

return M
