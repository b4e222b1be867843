--- Saving and loading, beside a copy of the same bytes.

local ffi = require("ffi")
local buffer = require("string.buffer")
local engram = require("engram")
local bench = require("bench.harness")
local components = require("bench.components")

local Position, Velocity = components.Position, components.Velocity
local Health = engram.newComponent{
  name = "Health", container = {}, fields = { "hp", "maxHp", "name" },
}

local function copier(size)
  local a, b = ffi.new("uint8_t[?]", size), ffi.new("uint8_t[?]", size)
  ffi.fill(a, size, 1)
  ffi.fill(b, size, 2)
  return function() ffi.copy(b, a, size) end
end

local function saveLoad(n, label, world, targets)
  local out = buffer.new()
  local bytes = tostring(world:saveSnapshot{ buffer = out }.buffer)
  local copy = copier(#bytes)
  local t = bench.measure{
    { name = "save", run = function() world:saveSnapshot{ buffer = out } end },
    { name = "copy", run = copy },
    { name = "load", run = function() world:loadSnapshot(bytes) end },
    { name = "copy again", run = copy },
  }
  bench.report{ work = "save, " .. label, n = n, ns = t.save.median / n,
    reference = t.copy.median / n, beside = "memcpy of the bytes",
    target = targets.save }
  local extra = (t.load.median - 3 * t["copy again"].median) / n
  bench.report{ work = "load, " .. label, n = n, ns = t.load.median / n,
    reference = t["copy again"].median / n, beside = "memcpy of the bytes",
    target = targets.load }
  print(string.format("%-34s %9d  %9.2f ns per entity above 3 copies", "", n,
    extra))
end

local function structs(n)
  local world = engram.newWorld{ maxEntities = n }
  for i = 1, n do world:spawn(Position(i, 0.5), Velocity(1, i)) end
  saveLoad(n, "structs", world, {
    save = n >= 1000000 and "1.3 x" or "2.5 x", load = "3 x + 6 ns",
  })
  world:close()
end

local function shuffled(n)
  local world = engram.newWorld{ maxEntities = n }
  local order = bench.shuffled(n)
  for i = 1, n do
    world:spawnAt(order[i], Position(i, 0.5), Velocity(1, i))
  end
  saveLoad(n, "structs, shuffled ids", world, { load = "20 ns" })
  world:close()
end

local function tables(n)
  local world, rows = engram.newWorld{ maxEntities = n }, {}
  for i = 1, n do
    local row = Health(i % 100, 100 + i / 8, "soldier " .. i % 1000)
    rows[i] = { hp = row.hp, maxHp = row.maxHp, name = row.name }
    world:spawn(row)
  end
  local out, theirs = buffer.new(), buffer.new()
  local bytes = tostring(world:saveSnapshot{ buffer = out }.buffer)
  local function encode()
    theirs:reset()
    for i = 1, n do theirs:encode(rows[i]) end
  end
  encode()
  local encoded = tostring(theirs)
  local t = bench.measure{
    { name = "save", run = function() world:saveSnapshot{ buffer = out } end },
    { name = "encode", run = encode },
    { name = "load", run = function() world:loadSnapshot(bytes) end },
    { name = "decode", run = function()
        theirs:set(encoded)
        for _ = 1, n do theirs:decode() end
      end },
  }
  bench.report{ work = "save, table rows", n = n, ns = t.save.median / n,
    reference = t.encode.median / n, beside = "string.buffer encode",
    garbage = t.save.garbage / n, target = "1.2 x" }
  bench.report{ work = "load, table rows", n = n, ns = t.load.median / n,
    reference = t.decode.median / n, beside = "string.buffer decode",
    garbage = t.load.garbage / n, target = "0.6 x" }
  world:close()
end

local WORKS = { structs = structs, shuffled = shuffled, tables = tables }
local chosen = WORKS[arg[1]]
assert(chosen, "one of structs, shuffled, tables expected")
table.remove(arg, 1)
for _, n in ipairs(bench.sizes()) do
  chosen(chosen == tables and math.floor(n / 10) or n)
end

bench.finish()
