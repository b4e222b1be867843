--- Iteration: pos += vel * dt over two components of two doubles.

local ffi = require("ffi")
local engram = require("engram")
local bench = require("bench.harness")
local components = require("bench.components")

local Position, Velocity = components.Position, components.Velocity

ffi.cdef[[
typedef struct { double x, y; } bench_pair;
void bench_integrate(bench_pair *p, const bench_pair *v, size_t n, double dt);
]]
local loops = ffi.load((os.getenv("BUILD") or "build") .. "/bench/loops.so")

local DT = 1 / 60

local function forWorld(world)
  local query = world:query{ include = { Position, Velocity } }
  return function()
    for archetype, count in query:iter() do
      local p, v = archetype:get(Position), archetype:get(Velocity)
      for i = 1, count do
        p[i].x = p[i].x + v[i].x * DT
        p[i].y = p[i].y + v[i].y * DT
      end
    end
  end
end

local function forArrays(p, v, n)
  return function()
    for i = 1, n do
      p[i].x = p[i].x + v[i].x * DT
      p[i].y = p[i].y + v[i].y * DT
    end
  end
end

for _, n in ipairs(bench.sizes()) do
  local world = engram.newWorld{ maxEntities = n }
  for i = 1, n do world:spawn(Position(i, 0), Velocity(1, i)) end
  -- Arrays for each, so that none finds its data warm from the one before.
  local function arrays()
    local p = ffi.new("bench_pair[?]", n + 1)
    local v = ffi.new("bench_pair[?]", n + 1)
    for i = 0, n do p[i].x, v[i].y = i, i end
    return p, v
  end
  local p, v = arrays()
  local cp, cv = arrays()
  local t = bench.measure{
    { name = "engram", run = forWorld(world) },
    { name = "arrays", run = forArrays(p, v, n) },
    { name = "C", run = function()
      loops.bench_integrate(cp + 1, cv + 1, n, DT)
    end },
  }
  bench.report{ work = "iterate", n = n, ns = t.engram.median / n,
    reference = t.arrays.median / n, beside = "LuaJIT, FFI arrays",
    garbage = t.engram.garbage / n, target = "1.15 x" }
  bench.report{ work = "iterate", n = n, ns = t.engram.median / n,
    reference = t.C.median / n, beside = "C, -O2, scalar", target = "1.6 x" }
  world:close()
end

bench.finish()
