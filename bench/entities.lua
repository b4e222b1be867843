--- Entities one by one and in batches, beside the same done by hand.

local ffi = require("ffi")
local engram = require("engram")
local bench = require("bench.harness")
local components = require("bench.components")
local Hand = require("bench.hand")

local Position, Velocity = components.Position, components.Velocity
local Force = components.Force

local function report(work, n, t, target)
  bench.report{ work = work, n = n, ns = t.engram.median / n,
    reference = t.hand.median / n, beside = "by hand, FFI arrays",
    garbage = t.engram.garbage / n, target = target }
end

-- Each workload has loops of its own, as each place in a game has.

local function spawnFresh(n, world, hand, ids)
  local t = bench.measure{
    { name = "engram", before = function() world:clearEntities() end,
      run = function()
        for i = 1, n do ids[i] = world:spawn(Position(i, 2), Velocity(1, i)) end
      end },
    { name = "hand", before = function()
        for i = 1, n do hand:despawn(ids[n + i]) end
      end, run = function()
        for i = 1, n do ids[n + i] = hand:spawn(i, 2, 1, i) end
      end },
  }
  report("spawn, slots in order", n, t, "20 ns")
end

local function spawnRecycled(n, world, hand, ids)
  local t = bench.measure{
    { name = "engram", before = function()
        for i = 1, n do world:despawn(ids[i]) end
      end, run = function()
        for i = 1, n do ids[i] = world:spawn(Position(i, 2), Velocity(1, i)) end
      end },
    { name = "hand", before = function()
        for i = 1, n do hand:despawn(ids[n + i]) end
      end, run = function()
        for i = 1, n do ids[n + i] = hand:spawn(i, 2, 1, i) end
      end },
  }
  report("spawn, slots recycled", n, t, "20 ns")
end

local function despawn(n, world, hand, ids)
  local t = bench.measure{
    { name = "engram", before = function()
        world:clearEntities()
        for i = 1, n do ids[i] = world:spawn(Position(i, 2), Velocity(1, i)) end
      end, run = function()
        for i = n, 1, -1 do world:despawn(ids[i]) end
      end },
    { name = "hand", before = function()
        for i = 1, n do ids[n + i] = hand:spawn(i, 2, 1, i) end
      end, run = function()
        for i = n, 1, -1 do hand:despawn(ids[n + i]) end
      end },
  }
  report("despawn", n, t, "15 ns")
end

local function addRemove(n, world, hand, ids)
  local function addAll()
    for i = 1, n do world:set(ids[i], Force(1, i)) end
  end
  local function removeAll()
    for i = 1, n do world:remove(ids[i], Force) end
  end
  local function handAdd()
    for i = 1, n do hand:add(ids[n + i], 1, i) end
  end
  local function handRemove()
    for i = 1, n do hand:remove(ids[n + i]) end
  end
  local t = bench.measure{
    { name = "add", run = addAll }, { name = "hand add", run = handAdd },
    { name = "remove", run = removeAll },
    { name = "hand remove", run = handRemove },
  }
  report("add a third component", n, { engram = t.add, hand = t["hand add"] },
    "25 ns")
  report("remove it", n, { engram = t.remove, hand = t["hand remove"] },
    "25 ns")
end

local function getSet(n, world, hand, ids)
  local order = bench.shuffled(n)
  local mine = ffi.new("double[?]", n + 1)
  local theirs = ffi.new("double[?]", n + 1)
  for i = 1, n do
    mine[i], theirs[i] = ids[order[i]], ids[n + order[i]]
  end
  local sum = 0
  local t = bench.measure{
    { name = "engram", run = function()
        for i = 1, n do sum = sum + world:get(mine[i], Position).x end
      end },
    { name = "hand", run = function()
        for i = 1, n do sum = sum + hand:get(theirs[i]).x end
      end },
  }
  report("get by random id", n, t, "9 ns")
  t = bench.measure{
    { name = "engram", run = function()
        for i = 1, n do world:set(mine[i], Position(i, 3)) end
      end },
    { name = "hand", run = function()
        for i = 1, n do hand:set(theirs[i], i, 3) end
      end },
  }
  report("set in place by random id", n, t, "12 ns")
  assert(sum > 0)
end

local function batch(n, world, hand, ids)
  local types = { Position, Velocity }
  local function write(archetype, first, last)
    local p, v = archetype:get(Position), archetype:get(Velocity)
    for i = first, last do
      p[i].x, p[i].y = i, 2
      v[i].x, v[i].y = 1, i
    end
  end
  for i = 1, n do hand:despawn(ids[n + i]) end
  local t = bench.measure{
    { name = "engram", before = function() world:clearEntities() end,
      run = function() world:batchSpawn(n, types, write) end },
    { name = "hand", before = function()
        for i = 1, n do hand:despawn(ids[n + i]) end
      end, run = function()
        for i = 1, n do ids[n + i] = hand:spawn(i, 2, 1, i) end
      end },
  }
  report("batchSpawn with its fill loop", n, t, "5 ns")
end

local WORKS = {
  fresh = spawnFresh, recycled = spawnRecycled, despawn = despawn,
  move = addRemove, access = getSet, batch = batch,
}

local chosen = WORKS[arg[1]]
assert(chosen, "one of fresh, recycled, despawn, move, access, batch expected")
table.remove(arg, 1)
for _, n in ipairs(bench.sizes()) do
  local world = engram.newWorld{ maxEntities = n }
  local hand, ids = Hand.new(n), ffi.new("double[?]", 2 * n + 1)
  for i = 1, n do
    ids[i] = world:spawn(Position(i, 2), Velocity(1, i))
    ids[n + i] = hand:spawn(i, 2, 1, i)
  end
  if chosen == despawn then
    for i = 1, n do hand:despawn(ids[n + i]) end
  end
  chosen(n, world, hand, ids)
  world:close()
end

bench.finish()
