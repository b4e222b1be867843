-- SPDX-License-Identifier: MIT
--- Generates the readers of table rows: the mirror of rowwriter.
-- A reader knows the bytes that a row of one component has when it was written
-- with the same fields: their keys in declared order, some of them left out.
-- It compares whole words, builds the row with one constructor, and stops at
-- the first row that looks different, which codec.lua then gives to the
-- generic decoder. It checks each tag, bound and NaN itself, so it is safe on
-- any bytes; what it accepts, the generic decoder reads the same.
-- @module engram.snapshot.rowreader

local ffi = require("ffi")
local bit = require("bit")
local text = require("engram.snapshot.rowtext")

local M = {}

local HEAD = [[
local cast, str, setmetatable, tonumber, bit, i32p, f64p, get, metatable,
  defaults, deepCopy = ...
local band, lshift = bit.band, bit.lshift
return function(data, at, stop, column, row, last)
  while row <= last do
    local spare = stop - at - $fixed
    if spare < 0 then return row, at end
    local p = data + at
    local left = p[1]
    if p[0] ~= 9 or left > $fields then return row, at end
    p = p + 2
    local kind
]]

-- See rowwriter for the choice. A double is read as one only after its high
-- word has told that it is no NaN: 0x7ff in the exponent is one, or infinite.
-- With its tag, a number takes 5 bytes for tag 6 and 9 for 7: 4 * tag - 19.
local BRANCHES = [[
      elseif kind == 6 then
        v$i = cast(i32p, p + $size1)[0]
        p = p + $size5
      elseif kind == 7
        and band(cast(i32p, p + $size5)[0], 0x7ff00000) ~= 0x7ff00000 then
        v$i = cast(f64p, p + $size1)[0]
        p = p + $size9
]]
local CALL = [[
      elseif band(kind, 0xfe) == 6 then
        v$i = get(p + $size)
        if v$i ~= v$i then return row, at end
        p = p + (lshift(kind, 2) + $offset)
]]

local FIELD = [[
    local v$i
    if $match then
      kind = p[$size]
      if kind >= 0x20 then
        local length = kind - 0x20
        if kind < 0xe0 then
          p = p + $size1
        else
          if kind == 0xff then return row, at end
          length = (kind - 0xe0) * 256 + p[$size1] + 0xc0
          p = p + $size2
        end
        spare = spare - length
        if spare < 0 then return row, at end
        v$i = str(p, length)
        p = p + length
$numbers      elseif kind == 2 then
        v$i = true
        p = p + $size1
      elseif kind == 1 then
        v$i = false
        p = p + $size1
      else
        return row, at
      end
      left = left - 1
    end
]]

local TAIL = [[
    if left ~= 0 then return row, at end
    $defaults
    column[row] = $build
    at = tonumber(p - data)
    row = row + 1
  end
  return row, at
end
]]

local DEFAULT = "if v$i == nil then v$i = $value end"

-- Bytes that a row may take, its strings aside.
local function fixedSize(fields)
  local size = 2
  for i = 1, #fields do
    size = size + 1 + #fields[i] + 9
  end
  return size
end

local function buildText(fields, metatable)
  local entries = {}
  for i = 1, #fields do
    entries[i] = ("[%s] = v%d"):format(text.quote(fields[i]), i)
  end
  local build = "{ " .. table.concat(entries, ", ") .. " }"
  return metatable and "setmetatable(" .. build .. ", metatable)" or build
end

-- Also tells whether a default must be copied.
local function defaultsText(fields, defaults)
  local out, needsCopy = {}, false
  for i = 1, #fields do
    local default = defaults[i]
    if default ~= nil then
      local value = ("defaults[%d]"):format(i)
      if type(default) == "table" or type(default) == "cdata" then
        value = "deepCopy(" .. value .. ")"
        needsCopy = true
      end
      out[#out + 1] = text.fill(DEFAULT, { i = i, value = value })
    end
  end
  return table.concat(out, "\n"), needsCopy
end

--- Makes a reader, or returns nil for fields that none is made for.
-- `read(data, at, stop, column, row, last)` reads rows `row` … `last` from
-- offset `at` on into `column` and returns the first row not read, and its
-- offset. It may leave the last rows before `stop` to others.
---@param fields string[]  distinct
---@param get function  the number whose tag is at a pointer, NaN for damage
---@param branching boolean  numbers are read with branches
---@param metatable? table  of instances; without one the rows are plain
---@param defaults table  for fields that are left out, by position
---@return function? read
function M.new(fields, get, branching, metatable, defaults)
  if not text.fits(fields) then return nil end
  local out = { text.fill(HEAD,
    { fixed = fixedSize(fields), fields = #fields }) }
  for i = 1, #fields do
    local key = text.keyBytes(fields[i])
    local values = {
      i = i, match = text.matchBytes(key),
      size = #key, size1 = #key + 1, size2 = #key + 2,
      size5 = #key + 5, size9 = #key + 9, offset = #key - 19,
    }
    values.numbers = text.fill(branching and BRANCHES or CALL, values)
    out[#out + 1] = text.fill(FIELD, values)
  end
  local filling, needsCopy = defaultsText(fields, defaults)
  out[#out + 1] = text.fill(TAIL, {
    defaults = filling,
    build = buildText(fields, metatable),
  })
  local chunk = assert(loadstring( -- codegen: a reader from field names
    table.concat(out), "=engram.rowreader"))
  return chunk(ffi.cast, ffi.string, setmetatable, tonumber, bit,
    ffi.typeof("const int32_t *"), ffi.typeof("const double *"), get,
    metatable, defaults, needsCopy and require("engram.ecs.copy").deep)
end

return M
