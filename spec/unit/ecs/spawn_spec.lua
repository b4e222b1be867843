local support = dofile("spec/support/ecs.lua")
local engram, refuses, id = support.engram, support.refuses, support.id
local kit = support.components("spawn")
local P, V, T, N, B, S, G, H = kit.P, kit.V, kit.T, kit.N, kit.B, kit.S, kit.G,
  kit.H

local LAST = 2 ^ 31 - 1 -- the highest generation

local world
before_each(function() world = engram.newWorld({ maxEntities = 1000 }) end)
after_each(function() support.sound(world) end)

describe("spawn", function()
  it("stores any number of values of all kinds", function()
    local values = { P(1, 2), V(3, 4, true), T(5, "b"), N(6), B(false), S("s"),
      G, H, engram.Name("n"), engram.Paused, engram.EntityKey("key") }
    for n = 0, #values do
      local e = world:spawn(unpack(values, 1, n))
      assert.is_true(world:isAlive(e))
      for i, value in ipairs(values) do
        assert.equal(i <= n, world:has(e, value.componentType))
      end
    end
    local e = world:byKey("key")
    assert.equal(2, world:get(e, P).y)
    assert.equal(4, world:get(e, V).n)
    assert.equal(values[3], world:get(e, T))
    assert.equal(6, world:get(e, N))
    assert.is_false(world:get(e, B))
    assert.equal("s", world:get(e, S))
    assert.equal("n", world:get(e, engram.Name))
  end)

  it("leads to one archetype in any order of the values", function()
    world:spawn(P(1, 1), N(1), G)
    world:spawn(G, P(1, 1), N(1))
    world:spawn(N(1), G, P(1, 1))
    local n = 0
    for _, length in world:findArchetypes(P) do
      n = n + 1
      assert.equal(3, length)
    end
    assert.equal(1, n)
  end)

  it("lets the last of two values for one component win", function()
    local last = T(2)
    local e = world:spawn(P(1, 1), T(1), N(1), P(2, 2), N(2), last, S("a"),
      S("b"))
    assert.equal(2, world:get(e, P).x)
    assert.equal(2, world:get(e, N))
    assert.equal(last, world:get(e, T))
    assert.equal("b", world:get(e, S))
    assert.equal(4, #world:findArchetypes(P)().componentList)
  end)

  it("builds bare components anew for every entity", function()
    local a, b = world:spawn(P, T, N, B, S, G), world:spawn(P, T, N, B, S, G)
    for _, e in ipairs({ a, b }) do
      assert.equal(0, world:get(e, P).y)
      assert.same({ hp = 100, bag = { "rope" } }, world:get(e, T))
      assert.equal(7, world:get(e, N))
      assert.is_true(world:get(e, B))
      assert.equal("none", world:get(e, S))
    end
    assert.not_equal(world:get(a, T), world:get(b, T))
  end)

  it("names the position of a bad value, and changes nothing", function()
    for n = 0, 10 do
      local values = {}
      for i = 1, n do values[i] = N(i) end
      for _, bad in ipairs({ 5, "x", false, {}, print, 5LL }) do
        values[n + 1] = bad
        values[n + 2] = P(1, 1)
        refuses(world, { "engram.World:spawn: component value at position "
          .. n + 1 }, function() world:spawn(unpack(values, 1, n + 2)) end)
      end
      values[n + 1] = nil
      refuses(world, { "position " .. n + 1 .. " expected, got nil" },
        function() world:spawn(unpack(values, 1, n + 1)) end)
    end
    assert.equal(1, world:spawn())
  end)

  it("lets an error of a constructor through, and changes nothing", function()
    local fails = engram.newComponent({ name = "spawn.fails", container = {},
      fields = { "x" }, init = function() error("not today", 0) end })
    local ok, message = pcall(world.spawn, world, P(1, 1), fails, T())
    assert.is_false(ok)
    assert.equal("not today", message)
    assert.equal(0, world:getStats().entities)
    assert.equal(1, world:spawn())
    local before = support.state(world)
    assert.is_false((pcall(world.set, world, 1, fails)))
    assert.is_false((pcall(world.spawnAt, world, 5, fails)))
    assert.same(before, support.state(world))
  end)

  it("survives constructors that spawn and despawn", function()
    local deep = 0
    local Nest = engram.newComponent({ name = "spawn.Nest", container = {},
      fields = { "egg" }, init = function(self)
        deep = deep + 1
        if deep < 40 then self.egg = world:spawn(P(deep, 0), self.componentType)
        end
        deep = deep - 1
        world:despawn(world:spawn(P(0, 0), T()))
      end })
    local e = world:spawn(P(1, 2), Nest)
    local n = 0
    while e do
      n = n + 1
      assert.is_true(world:isAlive(e))
      e = world:get(e, Nest).egg
    end
    assert.equal(40, n)
  end)
end)

describe("an id", function()
  it("counts from 1 and is reused last in, first out", function()
    for i = 1, 10 do assert.equal(i, world:spawn(P(i, i))) end
    world:despawn(3)
    world:despawn(7)
    world:despawn(1)
    assert.equal(id(1, 1), world:spawn())
    assert.equal(id(7, 1), world:spawn())
    world:despawn(id(7, 1))
    assert.equal(id(7, 2), world:spawn())
    assert.equal(id(3, 1), world:spawn())
    assert.equal(11, world:spawn())
  end)

  it("is never issued twice", function()
    local seen, live = {}, {}
    for i = 1, 5000 do
      if i % 3 == 0 and #live > 0 then
        world:despawn(table.remove(live, 1 + i * 7 % #live))
      elseif #live < 500 then
        local e = world:spawn()
        assert.is_nil(seen[e])
        seen[e] = true
        live[#live + 1] = e
      end
    end
  end)

  it("retires its slot with the last generation", function()
    world = engram.newWorld({ maxEntities = 2 })
    world:spawnAt(id(1, LAST), N(1))
    assert.equal(2 ^ 53 - 2 ^ 22 + 1, id(1, LAST))
    assert.equal(1, world:get(id(1, LAST), N))
    world:despawn(id(1, LAST))
    assert.is_false(world:isAlive(id(1, LAST)))
    refuses(world, { "spawnAt", ("%.0f"):format(id(1, LAST)) }, function()
      world:spawnAt(id(1, LAST))
    end)
    refuses(world, { "spawnAt", "1" }, function() world:spawnAt(1) end)
    assert.equal(2, world:spawn())
    refuses(world, { "no free entity slot" }, function() world:spawn() end)
    world:clearEntities()
    assert.equal(id(2, 1), world:spawn())
    refuses(world, { "no free entity slot" }, function() world:spawn() end)
    refuses(world, { "no free entity slot" }, function()
      world:batchSpawn(1, { N }, function() end)
    end)
  end)

  it("retires a staged spawn given up, too", function()
    world = engram.newWorld({ maxEntities = 1 })
    world:defer()
    world:spawnAt(id(1, LAST))
    world:despawn(id(1, LAST))
    world:commit()
    refuses(world, { "no free entity slot" }, function() world:spawn() end)
  end)
end)

describe("maxEntities", function()
  it("is a limit that raises, and then spawning works again", function()
    world = engram.newWorld({ maxEntities = 5 })
    for i = 1, 5 do world:spawn(N(i), T(i), S("s" .. i)) end
    refuses(world, { "engram.World:spawn: no free entity slot", "5" },
      function() world:spawn(N(6), T(6), S("no")) end)
    refuses(world, { "no free entity slot" }, function()
      world:spawn(N(1), N(1), N(1), N(1), N(1), N(1), N(1), N(1), N(1))
    end)
    world:despawn(2)
    assert.equal(id(2, 1), world:spawn(N(7), T(7), S("s7")))
    assert.equal(7, world:get(id(2, 1), T).hp)
    for _, e in ipairs({ 1, 3, 4, 5 }) do
      assert.equal("s" .. e, world:get(e, S))
      assert.equal(e, world:get(e, T).hp)
    end
  end)

  it("counts staged spawns, and frees their slots in the drain", function()
    world = engram.newWorld({ maxEntities = 3 })
    local a = world:spawn()
    world:defer()
    local b, c = world:spawn(N(2)), world:spawn(T(3))
    refuses(world, { "no free entity slot" }, function() world:spawn(T()) end)
    world:despawn(c)
    world:despawn(a)
    refuses(world, { "no free entity slot" }, function() world:spawn() end)
    refuses(world, { "no free entity slot" }, function()
      world:batchSpawn(1, {}, function() end)
    end)
    world:commit()
    assert.equal(2, world:get(b, N))
    assert.equal(id(1, 1), world:spawn())
    assert.equal(id(3, 1), world:spawn())
  end)
end)

describe("spawnAt", function()
  it("takes a chosen id and its values", function()
    assert.equal(0, select("#", world:spawnAt(id(5, 3), P(1, 2), T(4), G)))
    assert.equal(2, world:get(id(5, 3), P).y)
    assert.equal(4, world:get(id(5, 3), T).hp)
    assert.is_true(world:has(id(5, 3), G))
    assert.is_false(world:isAlive(5))
  end)

  it("leaves skipped slots to be handed out lowest first", function()
    world:spawn()
    world:spawnAt(6)
    world:spawnAt(id(4, 9))
    for _, slot in ipairs({ 2, 3, 5, 7, 8 }) do
      assert.equal(slot, world:spawn())
    end
  end)

  it("takes a slot out of the middle of the free ones", function()
    for _ = 1, 8 do world:spawn() end
    for slot = 1, 6 do world:despawn(slot) end
    world:spawnAt(id(3, 1))
    world:spawnAt(id(6, 7))
    world:spawnAt(id(1, 4))
    for _, slot in ipairs({ 5, 4, 2 }) do
      assert.equal(id(slot, 1), world:spawn())
    end
    assert.equal(9, world:spawn())
  end)

  it("lets the next generation be one more than the highest ever", function()
    world:spawnAt(id(1, 40))
    world:despawn(id(1, 40))
    world:spawnAt(id(1, 3))
    assert.is_true(world:isAlive(id(1, 3)))
    world:despawn(id(1, 3))
    assert.equal(id(1, 41), world:spawn())
    world:despawn(id(1, 41))
    world:spawnAt(id(1, 5))
    world:clearEntities()
    assert.equal(id(1, 42), world:spawn())
  end)

  it("works at the ends of the range", function()
    world:spawnAt(id(1000, LAST - 1), N(5))
    assert.equal(5, world:get(id(1000, LAST - 1), N))
    world:despawn(id(1000, LAST - 1))
    assert.equal(1, world:spawn(N(6)) % 2 ^ 22 - 999) -- slot 1000 first
    assert.equal(6, world:get(id(1000, LAST), N))
    world:despawn(id(1000, LAST))
    assert.equal(1, world:spawn())
  end)

  it("refuses ids that are not dead, occupied or none of the world", function()
    local live = world:spawn(N(1))
    world:spawnAt(id(2, 5), N(2))
    for _, bad in ipairs({ live, id(2, 5), id(2, 4), id(2, 6), id(1, 1), 0,
      2 ^ 22, id(1001, 0), -1, 1.5, 2 ^ 53, 1 / 0, -1 / 0, 0 / 0, 1e300 }) do
      local text = bad == math.floor(bad) and math.abs(bad) < 2 ^ 63
        and ("%.0f"):format(bad) or tostring(bad)
      refuses(world, { "engram.World:spawnAt: entity " .. text }, function()
        world:spawnAt(bad, N(1), T(), S("s"))
      end)
      world:defer()
      refuses(world, { "engram.World:spawnAt: entity " .. text }, function()
        world:spawnAt(bad, N(1), T(), S("s"))
      end)
      world:commit()
    end
    assert.equal(3, world:spawn())
  end)

  it("refuses pending ids and their slots", function()
    world:defer()
    local a = world:spawn(N(1))
    world:spawnAt(id(7, 2))
    for _, bad in ipairs({ a, id(1, 1), id(7, 2), 7, id(7, 3) }) do
      refuses(world, { "spawnAt" }, function() world:spawnAt(bad) end)
    end
    world:despawn(a) -- the slot is held until the drain
    refuses(world, { "spawnAt" }, function() world:spawnAt(a) end)
    refuses(world, { "spawnAt" }, function() world:spawnAt(id(1, 1)) end)
    world:commit()
    world:spawnAt(a)
    assert.is_true(world:isAlive(a))
  end)

  it("names the position of a bad value", function()
    refuses(world, { "engram.World:spawnAt: component value at position 2" },
      function() world:spawnAt(9, N(1), 5) end)
    assert.is_false(world:isAlive(9))
  end)

  it("works with many values and inside a scope", function()
    world:defer()
    world:spawnAt(9, kit.all(4))
    assert.is_false(world:isAlive(9))
    world:set(9, N(77))
    world:commit()
    assert.equal(77, world:get(9, N))
    assert.same({ 4, { 4 } }, world:get(9, T).bag)
    assert.equal("s4", world:get(9, S))
  end)
end)
