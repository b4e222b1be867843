-- SPDX-License-Identifier: MIT
--- Generates the writers of table rows: the mirror of rowreader.
-- A writer knows the fields of one component. It puts a row's bytes down with
-- whole-word stores, as the generic writer in C would: the head, then each
-- declared field that is not nil, in declared order. It stops at the first row
-- that holds anything else than numbers, booleans and short strings, and it
-- does not see other keys; codec.lua counts those.
-- @module engram.snapshot.rowwriter

local ffi = require("ffi")
local bit = require("bit")
local text = require("engram.snapshot.rowtext")

local M = {}

local HEAD = [[
local rawget, type, cast, copy, tonumber, bit, i32p, f64p, put = ...
local band, rshift, tobit = bit.band, bit.rshift, bit.tobit
return function(column, row, last, data, at, capacity)
  local present = 0
  while row <= last do
    local t = column[row]
    local spare = capacity - at - $fixed
    if spare < 0 or type(t) ~= "table" then return row, at, present end
    local p = data + (at + 2)
    local own = 0
    local v, kind
]]

-- Each branch that rows take both ways doubles the number of traces, up to
-- where the JIT gives up. So there are two ways to write a number: with
-- branches, which is quicker as long as a field keeps to one kind of number,
-- and by one call for all kinds.
local BRANCHES = [[
        local whole = tobit(v)
        if whole == v and (whole ~= 0 or 1 / v > 0) then -- not -0
          $whole
          cast(i32p, p + $size1)[0] = whole
          p = p + $size5
        elseif v == v then
          $double
          cast(f64p, p + $size1)[0] = v
          p = p + $size9
        else
          $store
          p = p + ($size + put(p + $size, v))
        end
]]
local CALL = [[
        $store
        p = p + ($size + put(p + $size, v))
]]

local FIELD = [[
    v = rawget(t, $name)
    if v ~= nil then
      kind = type(v)
      if kind == "number" then
        $number
      elseif kind == "string" then
        local length = #v
        spare = spare - length
        if length >= 0x1fc0 or spare < 0 then return row, at, present end
        $store
        if length < 0xc0 then
          p[$size] = length + 0x20
          p = p + $size1
        else
          p[$size] = 0xe0 + rshift(length - 0xc0, 8)
          p[$size1] = band(length - 0xc0, 0xff)
          p = p + $size2
        end
        copy(p, v, length)
        p = p + length
      elseif kind == "boolean" then
        $store
        if v then p[$size] = 2 else p[$size] = 1 end
        p = p + $size1
      else
        return row, at, present
      end
      own = own + 1
    end
]]

local TAIL = [[
    if own == 0 then return row, at, present end
    local head = data + at
    head[0] = 9
    head[1] = own
    present = present + own
    at = tonumber(p - data)
    row = row + 1
  end
  return row, at, present
end
]]

--- Bytes that a row takes at most, its strings aside.
local function fixedSize(fields)
  local size = 2 + 4 -- head; what a last store may write too much
  for i = 1, #fields do
    size = size + 1 + #fields[i] + 9
  end
  return size
end

--- Makes a writer, or returns nil for fields that none is made for.
-- `write(column, row, last, data, at, capacity)` writes rows `row` … `last` at
-- offset `at` of `data`, as far as they fit, and returns the first row not
-- written, the offset behind the last one written, and the number of fields
-- in all of those.
---@param fields string[]  distinct
---@param put function  writes a number at a pointer, returns its size
---@param branching boolean  numbers are written with branches
---@return function? write
---@return integer? fixed  bytes of a row at most, its strings aside
function M.new(fields, put, branching)
  if not text.fits(fields) then return nil end
  local fixed = fixedSize(fields)
  local out = { text.fill(HEAD, { fixed = fixed }) }
  for i = 1, #fields do
    local key = text.keyBytes(fields[i])
    local values = {
      name = text.quote(fields[i]),
      store = text.storeBytes(key),
      whole = text.storeBytes(key .. "\6"),
      double = text.storeBytes(key .. "\7"),
      size = #key, size1 = #key + 1, size2 = #key + 2,
      size5 = #key + 5, size9 = #key + 9,
    }
    values.number = text.fill(branching and BRANCHES or CALL, values)
    out[#out + 1] = text.fill(FIELD, values)
  end
  out[#out + 1] = TAIL
  local chunk = assert(loadstring( -- codegen: a writer from field names
    table.concat(out), "=engram.rowwriter"))
  return chunk(rawget, type, ffi.cast, ffi.copy, tonumber, bit,
    ffi.typeof("int32_t *"), ffi.typeof("double *"), put), fixed
end

return M
