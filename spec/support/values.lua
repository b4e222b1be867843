-- Plain values for the specs of the codec: comparing, printing, making them.
-- No pairs loops: these run inside loops of all kinds.

local ffi = require("ffi")

local M = {}

local function sameBits(a, b)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return a == b and 1 / a == 1 / b
end

local function countKeys(t)
  local n, k = 0, next(t)
  while k ~= nil do
    n = n + 1
    k = next(t, k)
  end
  return n
end
M.countKeys = countKeys

--- Whether two values are the same in type and content, all the way down; -0
-- differs from 0, NaN equals NaN.
function M.same(a, b)
  local kind = type(a)
  if kind ~= type(b) then return false end
  if kind == "number" then return sameBits(a, b) end
  if kind == "cdata" then
    return ffi.istype(ffi.typeof(a), b) and a == b
  end
  if kind ~= "table" then return a == b end
  if countKeys(a) ~= countKeys(b) then return false end
  local k, v = next(a)
  while k ~= nil do
    if not M.same(v, rawget(b, k)) then return false end
    k, v = next(a, k)
  end
  return true
end

-- With a collection at every turn, allocating a megabyte takes seconds.
local LESS = ({ stress = 20, full = 500 })[os.getenv("EG_GC")] or 1

--- A number of rounds or rows; fewer under a stressed collector.
function M.some(n)
  return math.ceil(n / LESS)
end

--- The steps in which a loop over all bytes goes: 1, more when stressed.
M.STEP = LESS == 1 and 1 or LESS + 1

--- Fails the spec. Cheaper than the assertions of busted, for long loops.
function M.check(condition, message)
  if not condition then error(message or "check failed", 2) end
end

function M.hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

function M.unhex(text)
  return (text:gsub("%s", ""):gsub("..", function(pair)
    return string.char(tonumber(pair, 16))
  end))
end

--- A seed: EG_SEED, or one from the clock. Print it when a spec fails.
function M.seed()
  return tonumber(os.getenv("EG_SEED")) or os.time() % 1000000
end

--- Numbers with something special about them.
M.NUMBERS = { 0, -0.0, 1, -1, 0.5, 2 ^ 31 - 1, -2 ^ 31, 2 ^ 31, -2 ^ 31 - 1,
  2 ^ 32, 2 ^ 53, -2 ^ 53, 2 ^ 53 + 2, 1e308, -1e308, 5e-324, -5e-324,
  2.2250738585072014e-308, 1 / 0, -1 / 0, 0 / 0, 0.1, math.pi,
  2 ^ 31 - 0.5, 1e15, 4503599627370497.5 }

--- Lengths of strings and tables at which the form of a count changes.
M.SIZES = { 0, 1, 2, 0xbe, 0xbf, 0xc0, 0xc1, 0xdd, 0xde, 0xdf, 0xe0, 0xe1,
  0x1fbe, 0x1fbf, 0x1fc0, 0x1fc1, 0x1fde, 0x1fdf, 0x1fe0, 0x1fe1, 70000 }
if LESS == 500 then M.SIZES = { 0, 1, 0xbf, 0xc0, 0xdf, 0xe0 } end

local SCALARS = {
  function(random) return M.NUMBERS[random(#M.NUMBERS)] end,
  function(random) return random(-1000, 1000) end,
  function(random) return random() * 2 ^ random(-40, 40) end,
  function(random) return random(2) == 1 end,
  function(random)
    return ("abc\0\n\"x"):rep(random(0, 4)):sub(1, random(0, 28))
  end,
  function(random) return tostring(random(20)) end,
}

function M.scalar(random)
  return SCALARS[random(#SCALARS)](random)
end

--- A random plain value, tables up to `depth` levels.
function M.value(random, depth)
  local pick = depth > 0 and random(10) or 1
  if pick <= 5 then return M.scalar(random) end
  if pick == 6 then
    local bits = ffi.new("int64_t", random(-2 ^ 31, 2 ^ 31)) * random(2 ^ 31)
    return random(2) == 1 and bits or ffi.cast("uint64_t", bits)
  end
  local t = {}
  for i = 1, random(0, 6) do
    local key = i
    if pick >= 8 then
      repeat key = M.scalar(random) until key == key
    end
    t[key] = M.value(random, depth - 1)
  end
  return t
end

return M
