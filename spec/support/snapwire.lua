-- Snapshots written by hand: an encoder that shares nothing with engram, for
-- snapshots that no save would write.

local ffi = require("ffi")

local M = {}

local box = ffi.new("union { double d; int32_t i; uint32_t u; uint8_t b[8]; }")

--- The little-endian bytes of a double, a 32-bit number.
function M.f64(v)
  box.d = v
  return ffi.string(box.b, 8)
end

function M.u32(v)
  box.u = v
  return ffi.string(box.b, 4)
end

local float = ffi.new("union { float f; uint8_t b[4]; }")
function M.f32(v)
  float.f = v
  return ffi.string(float.b, 4)
end

--- Bytes from hexadecimal digits; blanks and comments are left out.
function M.hex(text)
  return (text:gsub("#[^\n]*", ""):gsub("%s+", ""):gsub("..", function(two)
    return string.char((assert(tonumber(two, 16), two)))
  end))
end

--- A number in one, two or five bytes.
function M.u(v)
  if v < 0xe0 then return string.char(v) end
  if v < 0x1fe0 then
    v = v - 0xe0
    return string.char(0xe0 + math.floor(v / 256), v % 256)
  end
  return "\255" .. M.u32(v)
end

function M.number(v)
  if v % 1 == 0 and v >= -2 ^ 31 and v < 2 ^ 31 and (v ~= 0 or 1 / v > 0) then
    box.i = v
    return "\6" .. ffi.string(box.b, 4)
  end
  return v ~= v and M.hex("07 00 00 00 00 00 00 f8 7f") or "\7" .. M.f64(v)
end

function M.string(s) return M.u(#s + 0x20) .. s end
function M.bool(b) return b and "\2" or "\1" end

--- A hash table from a flat list of encoded keys and values.
function M.hash(...)
  local n = select("#", ...)
  if n == 0 then return "\8" end
  return "\9" .. M.u(n / 2) .. table.concat({ ... })
end

--- {value = v}, the stored form of a scalar.
function M.scalar(encoded)
  return M.hash(M.string("value"), encoded)
end

--- Ids as they stand in a record.
function M.ids(list)
  local out = {}
  for i = 1, #list do
    -- A string stands for eight bytes as they are.
    out[i] = type(list[i]) == "string" and list[i] or M.f64(list[i])
  end
  return table.concat(out)
end

--- The value of the allocator entry: `free` holds {slot, generation} and runs
-- {slot, generation, count}; `floors` holds {slot, highest}.
function M.allocator(a)
  local out, free = {}, 0
  for _, item in ipairs(a.free or {}) do
    free = free + (item[3] or 1)
    out[#out + 1] = M.u32(item[1])
    out[#out + 1] = M.u32(item[3] and item[2] + 2 ^ 31 or item[2])
    if item[3] then out[#out + 1] = M.u32(item[3]) end
  end
  for _, slot in ipairs(a.retired or {}) do out[#out + 1] = M.u32(slot) end
  for _, item in ipairs(a.floors or {}) do
    out[#out + 1] = M.u32(item[1]) .. M.u32(item[2])
  end
  return M.string(M.u32(a.high) .. M.u32(a.freeCount or free)
    .. M.u32(a.retiredCount or #(a.retired or {}))
    .. M.u32(a.floorCount or #(a.floors or {})) .. table.concat(out))
end

local function record(r)
  local out = { M.number(r.columnCount or #r.columns),
    M.number(r.rows or #r.ids) }
  for i = 1, #r.columns do out[#out + 1] = M.number(r.columns[i]) end
  out[#out + 1] = M.number(r.mode or 0)
  out[#out + 1] = r.mode == 1 and "" or M.ids(r.ids)
  out[#out + 1] = table.concat(r.data or {})
  return table.concat(out)
end

--- A snapshot. `components`: {name, fingerprint} each; `records`: {columns =
-- table indices, ids =, data = bytes of each column}; `allocator` as above;
-- `entries`: {key, encoded value} each. Counts can be given to be wrong.
function M.snapshot(s)
  local rows = 0
  for _, r in ipairs(s.records or {}) do rows = rows + #r.ids end
  local out = {
    s.versionBytes or M.number(s.version or 1),
    M.number(s.nextId or 1),
    M.number(s.entities or rows),
    M.number(s.recordCount or #(s.records or {})),
    M.number(s.componentCount or #(s.components or {})),
  }
  for _, c in ipairs(s.components or {}) do
    out[#out + 1] = M.string(c[1])
    out[#out + 1] = M.string(c[2] or "")
  end
  for _, r in ipairs(s.records or {}) do out[#out + 1] = record(r) end
  if s.allocator then
    out[#out + 1] = M.bool(true) .. M.string("__engram.allocator")
      .. M.allocator(s.allocator)
  end
  for _, e in ipairs(s.entries or {}) do
    out[#out + 1] = M.bool(true) .. M.string(e[1]) .. e[2]
  end
  out[#out + 1] = M.bool(false) .. (s.tail or "")
  return table.concat(out)
end

return M
