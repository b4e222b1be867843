--- A steady frame: iterate, spawn and despawn 1 % of the entities. What counts
-- is that nothing is allocated: no Lua heap, no row storage.

local engram = require("engram")
local bench = require("bench.harness")
local components = require("bench.components")

local Position, Velocity = components.Position, components.Velocity
local C = require("engram.lib").C
local stats = require("ffi").new("eg_stats")

local function heldBytes(world)
  C.eg_world_stats(world._c, stats)
  return tonumber(stats.bytes)
end

for _, n in ipairs(bench.sizes()) do
  local world = engram.newWorld{ maxEntities = 2 * n }
  for i = 1, n do world:spawn(Position(i, 0), Velocity(1, i)) end
  local query = world:query{ include = { Position, Velocity } }
  local each = math.floor(n / 100)
  local function frame()
    for archetype, count, entities in query:iter() do
      local p, v = archetype:get(Position), archetype:get(Velocity)
      for i = 1, count do
        p[i].x = p[i].x + v[i].x
        p[i].y = p[i].y + v[i].y
      end
      for i = 1, each do world:despawn(entities[i * 97]) end
      for i = 1, each do world:spawn(Position(i, 1), Velocity(1, 1)) end
    end
  end
  local frames = n > 500000 and 100 or 1000
  local function measure(count)
    collectgarbage()
    collectgarbage("stop")
    local heap, held, from = collectgarbage("count"), heldBytes(world),
      bench.now()
    for _ = 1, count do frame() end
    local spent = bench.now() - from
    local grown = (collectgarbage("count") - heap) * 1024 / count
    return spent, grown, heldBytes(world) - held
  end
  -- The first pass warms the measuring itself up as well.
  measure(200)
  local spent, grown, more = measure(frames)
  collectgarbage("restart")
  bench.report{ work = "steady frame, per entity", n = n,
    ns = spent / frames / n, garbage = grown }
  print(string.format("%-34s %9d  %9.2f bytes of Lua heap per frame, %d bytes"
    .. " of rows in all   target 0", "", n, grown, more))
  world:close()
end

bench.finish()
