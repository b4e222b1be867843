local support = dofile("spec/support/ecs.lua")
local engram, raises, refuses, id = support.engram, support.raises,
  support.refuses, support.id
local kit = support.components("world")
local P, T, N, S, G = kit.P, kit.T, kit.N, kit.S, kit.G

local world
before_each(function() world = engram.newWorld() end)
after_each(function()
  if rawget(world, "_c") then support.sound(world) end
end)

local function nothing() end

describe("newWorld", function()
  it("needs no options", function()
    assert.equal(2 ^ 20, world.maxEntities)
    assert.equal(1, engram.newWorld({}):spawn())
  end)

  it("takes options within their rules", function()
    for _, config in ipairs({ { maxEntities = 1 },
      { maxEntities = 2 ^ 22 - 1 }, { timestep = 1e-9 }, { timestep = 5 },
      { fixedMaxSteps = 1 }, { fixedMaxSteps = 1000 },
      { fixedOverload = "drop" }, { fixedOverload = "accumulate" } }) do
      assert.equal(1, engram.newWorld(config):spawn())
    end
  end)

  it("raises for values outside their rules, naming the field", function()
    local bad = {
      timestep = { 0, -1, 1 / 0, 0 / 0, "1", true },
      maxEntities = { 0, -1, 1.5, 2 ^ 22, 1 / 0, 0 / 0, "5", true },
      fixedMaxSteps = { 0, -1, 0.5, 1 / 0, 0 / 0, "5" },
      fixedOverload = { "Drop", "", 5, true },
    }
    local names = {}
    for name in pairs(bad) do names[#names + 1] = name end
    for _, name in ipairs(names) do
      for _, value in ipairs(bad[name]) do
        raises({ "engram.newWorld: " .. name, "expected, got " }, function()
          engram.newWorld({ [name] = value })
        end)
      end
    end
  end)

  it("raises for an unknown option, naming it", function()
    raises({ "engram.newWorld", '"maxEntites"' }, function()
      engram.newWorld({ maxEntites = 5 })
    end)
    for _, config in ipairs({ 5, "x", true }) do
      raises({ "engram.newWorld", "table of options" }, function()
        engram.newWorld(config)
      end)
    end
  end)

  it("does not keep or change its options", function()
    local config = { maxEntities = 2 }
    local w = engram.newWorld(config)
    config.maxEntities = 1
    w:spawn()
    w:spawn()
    assert.same({ maxEntities = 1 }, config)
  end)
end)

describe("several worlds", function()
  it("know nothing of each other", function()
    local other = engram.newWorld({ maxEntities = 10 })
    local a = world:spawn(P(1, 1), T(1))
    local b = other:spawn(T(2), N(2))
    assert.equal(a, b)
    assert.is_nil(world:get(a, N))
    assert.is_nil(other:get(b, P))
    world:defer()
    other:set(b, S("at once"))
    assert.equal("at once", other:get(b, S))
    world:set(a, S("later"))
    other:despawn(b)
    assert.is_nil(world:get(a, S))
    world:commit()
    assert.equal("later", world:get(a, S))
    for _ in world:query({}):iter() do
      for _ in other:query({}):iter() do error("it is empty") end
      other:spawn()
      assert.equal(1, other:getStats().entities)
      other:clearEntities()
    end
    other:close()
    assert.is_true(world:isAlive(a))
  end)

  it("can be very many", function()
    local worlds = {}
    for i = 1, 100 do
      worlds[i] = engram.newWorld({ maxEntities = i })
      worlds[i]:spawn(N(i), S("s" .. i))
    end
    for i = 1, 100, 2 do worlds[i]:close() end
    for i = 2, 100, 2 do
      assert.equal(i, worlds[i]:get(1, N))
      assert.equal("s" .. i, worlds[i]:get(1, S))
    end
  end)
end)

describe("getStats", function()
  it("counts entities, archetypes and components", function()
    local empty = world:getStats()
    assert.equal(0, empty.entities)
    assert.equal(0, empty.systems)
    assert.equal(0, empty.fixedStepsDropped)
    assert.equal(0, empty.fixedTimeDropped)
    world:spawn(P)
    world:spawn(P)
    world:spawn(P, T)
    local stats = world:getStats()
    assert.equal(3, stats.entities)
    assert.equal(empty.archetypes + 2, stats.archetypes)
    assert.equal(2, stats.components)
    world:defer()
    world:spawn(N, S)
    stats = world:getStats()
    assert.equal(3, stats.entities)
    world:commit()
    assert.equal(4, world:getStats().components)
  end)

  it("fills a table that is given", function()
    local fill = { mine = 1 }
    world:spawn()
    assert.equal(fill, world:getStats(fill))
    assert.equal(1, fill.entities)
    assert.equal(1, fill.mine)
    raises({ "engram.World:getStats", "table" }, function()
      world:getStats(5)
    end)
  end)
end)

describe("clearEntities", function()
  it("removes all entities; old ids are dead, slots come lowest first",
    function()
      for i = 1, 20 do world:spawn(kit.all(i)) end
      world:despawn(7)
      world:spawnAt(id(30, 5))
      world:clearEntities()
      assert.equal(0, world:getStats().entities)
      for i = 1, 20 do
        assert.is_false(world:isAlive(i))
        assert.is_nil(world:get(i, T))
      end
      for slot = 1, 32 do
        local generation = slot == 30 and 6 or slot <= 20 and 1 or 0
        assert.equal(id(slot, generation), world:spawn(T(slot)))
      end
      assert.equal(30, world:get(id(30, 6), T).hp)
    end)

  it("drops staged work and scopes, and calls nothing back", function()
    local e = world:spawn(P)
    world:defer()
    world:defer()
    world:set(e, N(1))
    local f = world:spawn(T(1))
    world:batchSpawn(2, { P, T }, error)
    world:batchSpawnAt({ 50 }, { P }, error)
    world:despawn(e)
    world:clearEntities()
    assert.equal(0, world._depth)
    for _, dead in ipairs({ e, f, 50 }) do
      assert.is_false(world:isAlive(dead))
    end
    world:commit()
    world:unwind()
    assert.equal(0, world:getStats().entities)
    local a = world:spawn(P, T)
    assert.equal(id(1, 1), a)
    assert.is_nil(world:get(a, N))
    assert.equal(100, world:get(a, T).hp)
    for slot = 2, 5 do assert.equal(1, world:spawn() % 2 ^ 22 - slot + 1) end
  end)

  it("keeps queries, archetypes and cursors", function()
    local query = world:query({ include = { P } })
    world:spawn(P)
    local arch = world:findArchetypes(P)()
    world:clearEntities()
    assert.equal(0, query:count())
    local e = world:spawn(P)
    assert.same({ e }, support.ids(query))
    assert.equal(arch, world:findArchetypes(P)())
  end)

  it("forgets dirty marks", function()
    world:spawn(P, T)
    local arch = world:findArchetypes(P)()
    world:clearEntities()
    assert.is_false(arch:anyComponentDirty())
  end)

  it("lets instances of tables go", function()
    local weak = setmetatable({}, { __mode = "k" })
    for i = 1, 10 do
      local t = T(i)
      weak[t] = true
      world:spawn(t)
    end
    world:clearEntities()
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(weak))
  end)
end)

describe("compact", function()
  it("gives capacity back and keeps every value", function()
    local ids = {}
    for i = 1, 1000 do ids[i] = world:spawn(kit.all(i)) end
    for i = 1, 1000 do
      if i % 100 ~= 0 then world:despawn(ids[i]) end
    end
    local pruned, compacted = world:compact()
    assert.equal(0, pruned)
    assert.is_true(compacted >= 1)
    for i = 100, 1000, 100 do
      assert.equal("s" .. i, world:get(ids[i], S))
      assert.equal(i, world:get(ids[i], P).x)
      assert.same({ i, { i } }, world:get(ids[i], T).bag)
    end
    for i = 1, 100 do world:spawn(kit.all(i)) end
    assert.equal(110, world:getStats().entities)
    assert.equal("s500", world:get(ids[500], S))
    assert.same({ 0, 0 }, { world:compact(), 0 })
  end)

  it("raises in an open scope, saying why", function()
    world:defer()
    refuses(world, { "engram.World:compact", "scope" }, function()
      world:compact()
    end)
    world:commit()
    world:compact()
  end)
end)

describe("close", function()
  it("may be called again, and in an open scope", function()
    world:spawn(kit.all(1))
    support.enter(world:query({}):iter())
    world:spawn(kit.all(2))
    assert.equal(0, select("#", world:close()))
    world:close()
    assert.equal(0, select("#", world:close()))
  end)

  it("makes every other method raise", function()
    local e = world:spawn(P)
    world:close()
    local calls = {
      isAlive = { e }, get = { e, P }, getMut = { e, P }, has = { e, P },
      set = { e, P }, remove = { e, P }, despawn = { e }, spawn = { P },
      spawnAt = { 5, P }, batchSpawn = { 1, { P }, nothing },
      batchSpawnAt = { { 5 }, { P }, nothing }, markComponentDirty = { e, P },
      defer = {}, commit = {}, unwind = {}, clearEntities = {}, compact = {},
      getStats = {}, byKey = { "k" }, requireKey = { "k" }, query = { {} },
      newQuery = { {} }, findArchetypes = { P }, saveSnapshot = {},
      loadSnapshot = { "" },
    }
    local names = {}
    for name in pairs(calls) do names[#names + 1] = name end
    for _, name in ipairs(names) do
      raises({ "world is closed" }, function()
        world[name](world, unpack(calls[name]))
      end)
      raises({ "world is closed" }, function() world[name](world) end)
    end
    raises({ "world is closed" }, function() local _ = world.maxEntities end)
    raises({ "world is closed" }, function() world:noSuchMethod() end)
    assert.is_truthy(tostring(world):find("closed", 1, true))
  end)

  it("inside a constructor makes the call that runs it raise", function()
    local Bomb = engram.newComponent({ name = "world.Bomb", container = {},
      fields = { "x" }, init = function() world:close() end })
    local Fuse = engram.newTagComponent({ name = "world.Fuse",
      requires = { Bomb } })
    local calls = {
      function(e) world:set(e, Bomb) end,
      function(e) world:set(e, Fuse) end,
      function() world:spawn(Bomb) end,
      function() world:spawn(P(1, 1), Fuse) end,
      function() world:spawnAt(5, Bomb) end,
      function(e)
        world:defer()
        world:set(e, N(1))
        world:set(e, Fuse)
      end,
    }
    for i = 1, #calls do
      world = engram.newWorld()
      local e = world:spawn(P(1, 1))
      local ok, message = pcall(calls[i], e)
      assert.is_false(ok)
      assert.is_truthy(message:find("world is closed", 1, true), message)
    end
  end)
end)

describe("a constructor that changes the entity being changed", function()
  local act
  local Meddler = engram.newComponent({ name = "world.Meddler",
    container = {}, fields = { "x" }, init = function() act() end })
  local Needs = engram.newScalarComponent({ name = "world.Needs",
    kind = "number", requires = { Meddler, S("required") } })

  for _, depth in ipairs({ 0, 1 }) do
    for _, value in ipairs({ Meddler, Needs(5) }) do
      local what = value == Meddler and "given" or "required"
      local function run(change)
        local e = world:spawn(P(1, 1), T(1))
        for _ = 1, depth do world:defer() end
        if depth > 0 then world:set(e, G) end
        act = function()
          act = nothing
          change(e)
        end
        local ok, message = pcall(world.set, world, e, value)
        act = nothing
        world:unwind()
        return e, ok, message
      end

      it(("at depth %d, %s: adds and removes"):format(depth, what), function()
        local e, ok = run(function(x)
          world:set(x, N(9))
          world:remove(x, T)
          for i = 1, 40 do world:spawn(P(i, i), T(i)) end
        end)
        assert.is_true(ok)
        assert.equal(9, world:get(e, N))
        assert.is_false(world:has(e, T))
        assert.is_true(world:has(e, Meddler))
        assert.equal(1, world:get(e, P).x)
        if what == "required" then
          assert.equal(5, world:get(e, Needs))
          assert.equal("required", world:get(e, S))
        end
      end)

      it(("at depth %d, %s: despawns it"):format(depth, what), function()
        local e, ok, message = run(function(x) world:despawn(x) end)
        if depth == 0 then
          assert.is_false(ok)
          assert.is_truthy(message:find("Entity ID not found: " .. e, 1, true))
        end
        assert.is_false(world:isAlive(e))
        assert.equal(0, world:getStats().entities)
      end)

      it(("at depth %d, %s: closes all scopes"):format(depth, what), function()
        local e, ok = run(function(x)
          world:set(x, S("early"))
          world:unwind()
        end)
        assert.is_true(ok)
        assert.is_true(world:has(e, Meddler))
        assert.equal("early", world:get(e, S))
      end)
    end
  end
end)
