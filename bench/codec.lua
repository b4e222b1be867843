-- SPDX-License-Identifier: MIT
-- Rows of table components to bytes and back, beside `string.buffer`.
--
--   luajit bench/codec.lua [ROWS [ROUNDS]]      default 10000 and 100000 rows
--
-- Both sides work on the same rows in one process, in turn: reused buffers,
-- memory touched, columns of the right size, a full collection before each
-- run and the collector stopped within it. Shown are medians in nanoseconds
-- per row. Writing includes the search for keys that are not declared.

local buffer = require("string.buffer")
local tableNew = require("table.new")
local codec = require("engram.snapshot.codec")
local core = require("engram.core")

local ROUNDS = tonumber(arg and arg[2]) or 15

local Instance = {}
Instance.__index = Instance

local function component(name, fields)
  return { kind = "table", name = name, fields = fields, defaults = {},
    instanceMt = Instance, adoptable = true, adopt = function(t)
      return setmetatable(t, Instance)
    end }
end

local health = component("Health", { "hp", "maxHp", "name" })

-- { name, component, row of number i }
local SHAPES = {
  { "{hp, maxHp, name}", health, function(i)
    return { hp = i % 100, maxHp = 100 + i % 7, name = "entity" .. i % 1000 }
  end },
  { "the same, one field nil in half", health, function(i)
    return { hp = i % 100, maxHp = i % 2 == 0 and 100 or nil,
      name = "entity" .. i % 1000 }
  end },
  { "the same, hp whole or not", health, function(i)
    return { hp = i % 3 == 0 and i + 0.5 or i, maxHp = 100,
      name = "entity" .. i % 1000 }
  end },
  { "five doubles", component("Body", { "x", "y", "vx", "vy", "mass" }),
    function(i)
      return { x = i / 7, y = i / 11, vx = i / 13, vy = -i / 17, mass = i / 3 }
    end },
  { "six random booleans", component("Flags",
    { "a", "b", "c", "d", "e", "f" }), function(i)
      return { a = i % 2 == 0, b = i % 3 == 0, c = i % 5 == 0, d = i % 7 == 0,
        e = i % 11 == 0, f = i % 13 == 0 }
    end },
  { "one nested list (generic)", component("Bag", { "gold", "items" }),
    function(i)
      return { gold = i, items = { "sword", "rope", i } }
    end },
}

local function median(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

local function timed(work, prepare)
  if prepare then prepare() end
  collectgarbage()
  collectgarbage()
  collectgarbage("stop")
  local start = os.clock()
  work()
  local time = os.clock() - start
  collectgarbage("restart")
  return time
end

-- Medians of several pieces of work, run in turn; the first rounds are thrown
-- away. `prepare[k]` runs before number k, outside the measurement.
local function race(works, prepare)
  local times = {}
  for k = 1, #works do times[k] = {} end
  for round = -2, ROUNDS do
    for k = 1, #works do
      local time = timed(works[k], prepare[k])
      if round > 0 then times[k][round] = time end
    end
  end
  for k = 1, #works do times[k] = median(times[k]) end
  return times
end

local function makeRows(make, n)
  local rows = tableNew(n, 0)
  for i = 1, n do rows[i] = setmetatable(make(i), Instance) end
  return rows
end

local function bufferWrite(to, rows, n)
  to:reset()
  for i = 1, n do to:encode(rows[i]) end
end

local function bufferRead(from, rows, n)
  for i = 1, n do rows[i] = from:decode() end
end

local function measure(info, make, n)
  local rows, out = makeRows(make, n), makeRows(make, n)
  local scratch, generic = codec.newScratch(), codec.newScratch()
  local reference, source = buffer.new(), buffer.new()
  local stop
  local times = race({
    function() stop = assert(codec.write(info, scratch, 0, rows, n)) end,
    function() bufferWrite(reference, rows, n) end,
    function()
      assert(core.encodeRows(generic, 0, rows, 1, n, info.fields))
    end,
    function()
      assert(codec.read(info, codec.address(scratch), 0, stop, out, n, 1, true))
    end,
    function() bufferRead(source, out, n) end,
    function()
      assert(core.decodeRows(codec.address(scratch), 0, stop, out, 1, n, true))
    end,
  }, { [5] = function() source:set(reference:tostring()) end })
  for k = 1, #times do times[k] = times[k] * 1e9 / n end
  return times
end

local LINE = "%7d  %-32s %6.1f %6.1f %6.2f %7.1f   %6.1f %6.1f %6.2f %7.1f"

print("                                          write                     "
  .. "    read")
print("   rows  row                               engram buffer  ratio generic"
  .. "   engram buffer  ratio generic")
local counts = arg and arg[1] and { tonumber(arg[1]) } or { 10000, 100000 }
for _, n in ipairs(counts) do
  for _, shape in ipairs(SHAPES) do
    local t = measure(shape[2], shape[3], n)
    print(LINE:format(n, shape[1], t[1], t[2], t[1] / t[2], t[3],
      t[4], t[5], t[4] / t[5], t[6]))
  end
end
