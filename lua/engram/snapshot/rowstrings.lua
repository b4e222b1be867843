-- SPDX-License-Identifier: MIT
--- Rows of string scalars, each stored as `{value = string}`: what rowwriter
-- and rowreader are for tables. See there for the contracts.
-- @module engram.snapshot.rowstrings

local ffi = require("ffi")
local bit = require("bit")

local band, rshift = bit.band, bit.rshift
local cast, copy, str = ffi.cast, ffi.copy, ffi.string
local type = type
local i32p = ffi.typeof("int32_t *")
local constI32p = ffi.typeof("const int32_t *")

-- A table of one pair, and its key: 09 01 25 "value".
local HEAD0, HEAD1 = 0x76250109, 0x65756c61

local M = {}

--- Bytes of a row at most, the string aside.
M.FIXED = 8 + 2

function M.write(column, row, last, data, at, capacity)
  while row <= last do
    local v = column[row]
    if type(v) ~= "string" then return row, at end
    local length = #v
    if length >= 0x1fc0 or capacity - at - 10 < length then return row, at end
    local p = data + at
    cast(i32p, p)[0] = HEAD0
    cast(i32p, p + 4)[0] = HEAD1
    if length < 0xc0 then
      p[8] = length + 0x20
      copy(p + 9, v, length)
      at = at + 9 + length
    else
      p[8] = 0xe0 + rshift(length - 0xc0, 8)
      p[9] = band(length - 0xc0, 0xff)
      copy(p + 10, v, length)
      at = at + 10 + length
    end
    row = row + 1
  end
  return row, at
end

function M.read(data, at, stop, column, row, last)
  while row <= last do
    local spare = stop - at - 10
    local p = data + at
    if spare < 0 or cast(constI32p, p)[0] ~= HEAD0
      or cast(constI32p, p + 4)[0] ~= HEAD1 then
      return row, at
    end
    local kind, size = p[8], 9
    local length = kind - 0x20
    if kind >= 0xe0 then
      length = (kind - 0xe0) * 256 + p[9] + 0xc0
      size = 10
    end
    if length < 0 or length > spare or kind == 0xff then return row, at end
    column[row] = str(p + size, length)
    at = at + size + length
    row = row + 1
  end
  return row, at
end

return M
