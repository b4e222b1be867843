-- SPDX-License-Identifier: MIT
--- Pieces of text for the code that rowwriter and rowreader generate.
-- Field names may be any strings. They get into code only as literals in which
-- each byte that is no letter, digit or underscore is a decimal escape, and as
-- 32-bit numbers of their encoded bytes.
-- @module engram.snapshot.rowtext

local bit = require("bit")

local bor, lshift = bit.bor, bit.lshift

local M = {}

--- Rows with more fields, or with a longer name among them, are left to the
-- generic codec: a trace has room for so many constants only.
M.FIELDS_MAX = 24
M.NAME_MAX = 64

--- A string literal for any bytes.
function M.quote(s)
  return '"' .. s:gsub("[^%w_]", function(c)
    return ("\\%03d"):format(c:byte())
  end) .. '"'
end

--- The encoded form of a field name; `#name` is at most NAME_MAX.
function M.keyBytes(name)
  return string.char(0x20 + #name) .. name
end

-- Four bytes from offset `at` (0-based) as a number; missing ones are 0.
local function word(bytes, at)
  local a, b, c, d = bytes:byte(at + 1, at + 4)
  return bor(a, lshift(b or 0, 8), lshift(c or 0, 16), lshift(d or 0, 24))
end

--- Statements that store `bytes` at p. They may also write up to three bytes
-- behind, to be overwritten by what follows.
function M.storeBytes(bytes)
  local out = {}
  for at = 0, #bytes - 1, 4 do
    out[#out + 1] = ("cast(i32p, p + %d)[0] = %d")
      :format(at, word(bytes, at))
  end
  return table.concat(out, "\n")
end

--- An expression that is true when the bytes at p are `bytes`. Reads only as
-- many.
function M.matchBytes(bytes)
  local out = {}
  local at, size = 0, #bytes
  while size - at >= 4 do
    out[#out + 1] = ("cast(i32p, p + %d)[0] == %d")
      :format(at, word(bytes, at))
    at = at + 4
  end
  if at < size and size >= 4 then -- the last four, some of them once more
    out[#out + 1] = ("cast(i32p, p + %d)[0] == %d")
      :format(size - 4, word(bytes, size - 4))
    at = size
  end
  while at < size do
    out[#out + 1] = ("p[%d] == %d"):format(at, bytes:byte(at + 1))
    at = at + 1
  end
  return table.concat(out, " and ")
end

--- Fills $name in a template; every name must have a value.
function M.fill(template, values)
  return (template:gsub("%$(%w+)", function(name)
    return tostring(assert(values[name], name))
  end))
end

--- True when code can be generated for rows with these fields.
function M.fits(fields)
  if #fields == 0 or #fields > M.FIELDS_MAX then return false end
  for i = 1, #fields do
    local name = fields[i]
    -- The generic writer refuses reserved names, with the right message.
    if #name > M.NAME_MAX or name:sub(1, 9) == "__engram." then
      return false
    end
  end
  return true
end

return M
