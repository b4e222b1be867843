-- The drain: in which order it works, what it refuses meanwhile, and what an
-- error in a callback leaves.

local support = dofile("spec/support/ecs.lua")
local engram, raises, refuses, id = support.engram, support.raises,
  support.refuses, support.id
local kit = support.components("drain")
local P, T, N, S, G, H = kit.P, kit.T, kit.N, kit.S, kit.G, kit.H

local world
before_each(function() world = engram.newWorld() end)
after_each(function() support.sound(world) end)

local function depth() return world._depth end

local function fails() error("on purpose", 0) end

-- `fn` raises "on purpose".
local function stumbles(fn)
  local ok, message = pcall(fn)
  assert.is_false(ok)
  assert.equal("on purpose", message)
end

describe("inside a drain", function()
  local calls = { "close", "clearEntities", "compact" }

  local function refuseAll()
    for _, name in ipairs(calls) do
      refuses(world, { "engram.World:" .. name .. ": not inside" }, function()
        world[name](world)
      end)
    end
  end

  it("closing, clearing and compacting raise", function()
    local n = 0
    local function cb()
      n = n + 1
      refuseAll()
    end
    world:batchSpawn(1, { P }, cb)
    world:batchSpawnAt({ 50 }, { P }, cb)
    world:defer()
    world:batchSpawn(1, { P }, cb)
    world:commit()
    assert.equal(3, n)
  end)

  it("they raise after an error, until unwind", function()
    for _, call in ipairs({ "batchSpawn", "batchSpawnAt" }) do
      stumbles(function()
        world[call](world, call == "batchSpawn" and 1 or { 9 }, { P }, fails)
      end)
      assert.equal(1, depth())
      refuseAll()
      world:unwind()
      assert.equal(0, depth())
      world:compact()
    end
    world:clearEntities()
    world:spawn()
  end)
end)

describe("a drain", function()
  local log
  before_each(function() log = {} end)

  local function note(what)
    return function() log[#log + 1] = what end
  end

  it("despawns first, so slots and rows are free for what callbacks spawn",
    function()
      local a, b = world:spawn(P(1, 1)), world:spawn(P(2, 2))
      local inside
      world:defer()
      local c = world:spawn(P(3, 3))
      world:batchSpawn(1, { P }, function(arch, row)
        assert.is_false(world:isAlive(a))
        assert.equal(2, row) -- b, then the batch
        assert.equal(b, arch.entities[1])
        inside = world:spawn()
      end)
      world:despawn(a)
      world:commit()
      assert.equal(id(1, 1), inside)
      assert.is_true(world:isAlive(c))
    end)

  it("spawns by archetype in order of first staging: batches, batches with"
    .. " chosen ids, single spawns, in call order", function()
    world:defer()
    local g1 = world:spawn(G)
    local p1 = world:spawn(P(1, 1))
    world:batchSpawnAt({ 100 }, { P }, note("at P"))
    world:batchSpawn(1, { H }, note("H"))
    world:batchSpawn(2, { P }, note("first P"))
    world:batchSpawn(1, { G }, note("G"))
    local p2 = world:spawn(P(2, 2))
    world:batchSpawn(1, { P }, note("second P"))
    world:commit()
    assert.same({ "G", "first P", "second P", "at P", "H" }, log)
    local arch = world:findArchetypes(P)()
    assert.equal(100, arch.entities[4])
    assert.equal(p1, arch.entities[5])
    assert.equal(p2, arch.entities[6])
    assert.equal(g1, world:findArchetypes(G)().entities[2])
  end)

  it("moves after it spawns", function()
    local e = world:spawn(P(1, 1))
    world:defer()
    world:set(e, N(5))
    world:batchSpawn(1, { P }, function(arch)
      assert.is_nil(world:get(e, N))
      assert.equal(e, arch.entities[1])
    end)
    world:commit()
    assert.equal(5, world:get(e, N))
  end)

  it("applies what its callbacks stage in a next wave", function()
    local e = world:spawn(P(1, 1))
    world:batchSpawn(1, { P }, function()
      log[#log + 1] = "one"
      world:despawn(e)
      world:batchSpawn(1, { P }, function()
        log[#log + 1] = "two"
        assert.is_false(world:isAlive(e))
        world:batchSpawn(1, { P }, note("three"))
      end)
      assert.is_true(world:isAlive(e))
    end)
    assert.same({ "one", "two", "three" }, log)
  end)

  it("gives up after 64 waves, and can go on when they end", function()
    local left, n = 100, 0
    local function again()
      n = n + 1
      left = left - 1
      if left > 0 then world:batchSpawn(1, { P }, again) end
    end
    raises({ "_drain exceeded MAX_DRAIN_ITERATIONS; likely an observer cascade"
      .. " with no fixed point" }, function() world:batchSpawn(1, { P }, again)
    end)
    assert.is_true(n >= 64 and n <= 65)
    world:unwind()
    assert.equal(100, n)
    assert.equal(100, world:getStats().entities)
    assert.equal(0, depth())
    left = 64
    world:defer()
    world:batchSpawn(1, { P }, again)
    world:commit()
    assert.equal(164, n)
  end)

  it("drops work staged for an entity that is despawned with it", function()
    local e = world:spawn(P(1, 1))
    world:defer()
    world:set(e, T(5))
    world:set(e, S("x"))
    local f = world:spawn(T(6), S("y"))
    world:despawn(f)
    world:despawn(e)
    world:commit()
    assert.equal(id(1, 1), world:spawn(T(1)))
    assert.is_nil(world:get(id(1, 1), S))
    assert.equal(1, world:getStats().entities)
  end)

  it("frees slots in the order of the despawns", function()
    for _ = 1, 4 do world:spawn() end
    world:defer()
    local pending = world:spawn()
    world:despawn(2)
    world:despawn(pending)
    world:despawn(3)
    assert.equal(6, world:spawn()) -- nothing is free before the drain
    world:commit()
    assert.equal(id(3, 1), world:spawn())
    assert.equal(id(5, 1), world:spawn())
    assert.equal(id(2, 1), world:spawn())
  end)

  it("keeps columns in step while they grow and move", function()
    local ids = {}
    world:defer()
    for i = 1, 200 do ids[i] = world:spawn(kit.all(i)) end
    world:commit()
    world:defer()
    for i = 1, 200 do
      if i % 3 == 0 then world:set(ids[i], H) end
      if i % 3 == 1 then world:remove(ids[i], T) end
      if i % 5 == 0 then world:despawn(ids[i]) end
    end
    world:commit()
    for i = 1, 200 do
      local alive = i % 5 ~= 0
      assert.equal(alive, world:isAlive(ids[i]))
      assert.equal(alive and "s" .. i or nil, world:get(ids[i], S))
      assert.equal(alive and i / 2 or nil, world:get(ids[i], N))
      local t = world:get(ids[i], T)
      assert.equal(alive and i % 3 ~= 1, t ~= nil)
      if t then assert.same({ i, { i } }, t.bag) end
      assert.equal(alive and i % 3 == 0, world:has(ids[i], H))
    end
  end)
end)

describe("an error in a callback", function()
  it("at depth 0 leaves the entities and the scope", function()
    local e
    stumbles(function()
      world:batchSpawn(2, { P, S }, function(arch, first)
        e = arch.entities[first]
        arch:get(S)[first] = "written"
        world:spawn(N(1))
        fails()
      end)
    end)
    assert.equal(1, depth())
    assert.equal("written", world:get(e, S))
    assert.equal("", world:get(e + 1, S))
    assert.equal(0, world:get(e + 1, P).x)
    world:commit() -- does not close what the drain holds
    assert.equal(1, depth())
    world:set(e, G)
    assert.is_false(world:has(e, G))
    world:unwind()
    assert.equal(0, depth())
    assert.equal(3, world:getStats().entities)
    assert.is_true(world:has(e, G))
  end)

  it("inside a drain lets unwind finish it", function()
    local e, gone = world:spawn(P(1, 1), T(1)), world:spawn(T(2))
    local calls = {}
    world:defer()
    world:set(e, N(5))
    world:despawn(gone)
    world:batchSpawn(1, { G }, function()
      calls[#calls + 1] = "before"
    end)
    world:batchSpawn(2, { S }, function()
      calls[#calls + 1] = "fails"
      world:spawn(H)
      fails()
    end)
    world:batchSpawn(1, { H, S }, function() calls[#calls + 1] = "after" end)
    local f = world:spawn(T(9))
    stumbles(function() world:commit() end)
    assert.same({ "before", "fails" }, calls)
    assert.is_false(world:isAlive(gone))
    assert.is_nil(world:get(e, N))
    assert.is_false(world:isAlive(f))
    world:unwind()
    assert.same({ "before", "fails", "after" }, calls)
    assert.equal(5, world:get(e, N))
    assert.equal(1, world:get(e, T).hp)
    assert.equal(9, world:get(f, T).hp)
    assert.equal(7, world:getStats().entities)
    assert.equal(0, depth())
  end)

  it("in unwind itself can be followed by another unwind", function()
    world:defer()
    for i = 1, 3 do
      world:batchSpawn(i, { P }, fails)
    end
    for _ = 1, 3 do stumbles(function() world:unwind() end) end
    world:unwind()
    assert.equal(6, world:getStats().entities)
  end)
end)
