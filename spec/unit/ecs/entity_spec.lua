local support = dofile("spec/support/ecs.lua")
local engram, raises, refuses = support.engram, support.raises, support.refuses
local kit = support.components("entity")
local P, V, T, N, B, S, G, H = kit.P, kit.V, kit.T, kit.N, kit.B, kit.S, kit.G,
  kit.H

local world
before_each(function() world = engram.newWorld() end)
after_each(function() support.sound(world) end)

describe("get", function()
  it("gives the stored value of every kind", function()
    local t = T(5)
    local id = world:spawn(P(1, 2), t, N(0.5), B(false), S("x\0y"), G)
    assert.equal(2, world:get(id, P).y)
    assert.equal(t, world:get(id, T))
    assert.equal(0.5, world:get(id, N))
    assert.is_false(world:get(id, B))
    assert.equal("x\0y", world:get(id, S))
    assert.equal(G, world:get(id, G))
    assert.is_nil(world:get(id, V))
    assert.is_nil(world:get(id, H))
  end)

  it("gives a reference into the row of an FFI component", function()
    local id = world:spawn(P(1, 2))
    local p = world:get(id, P)
    p.x = 9
    assert.equal(9, world:get(id, P).x)
    world:set(id, P(3, 4)) -- in place: the reference stays good
    assert.equal(3, p.x)
  end)

  it("finds the right row after others have moved", function()
    local ids = {}
    for i = 1, 50 do ids[i] = world:spawn(kit.all(i)) end
    for i = 1, 50, 3 do world:remove(ids[i], T) end
    for i = 2, 50, 3 do world:despawn(ids[i]) end
    for i = 1, 50 do
      local t = world:get(ids[i], T)
      assert.equal(i % 3 == 0, t ~= nil)
      if t then assert.same({ i, { i } }, t.bag) end
      local p = world:get(ids[i], P)
      if i % 3 == 2 then assert.is_nil(p) else assert.equal(-i, p.y) end
      assert.equal(i % 3 ~= 2 and "s" .. i or nil, world:get(ids[i], S))
    end
  end)

  it("marks nothing dirty, getMut its component only", function()
    world:spawn(P(1, 2), N(1), G)
    world:clearEntities() -- forgets the marks
    local id = world:spawn(P(1, 2), N(1), G)
    local arch = world:findArchetypes(P)()
    world._stamp = world._stamp + 1 -- what the end of an update does
    assert.equal(1, world:get(id, P).x)
    assert.is_true(world:has(id, P))
    assert.is_false(arch:anyComponentDirty())
    assert.equal(1, world:getMut(id, P).x)
    assert.is_true(arch:isComponentDirty(P))
    assert.is_false(arch:isComponentDirty(N))
    assert.is_nil(world:getMut(id, V))
    assert.equal(1, world:getMut(id, N))
    assert.equal(G, world:getMut(id, G))
    assert.is_true(arch:isComponentDirty(G))
  end)
end)

describe("set", function()
  it("adds a component of every kind and keeps the others", function()
    local values = { P(1, 2), V(3, 4, true), T(5), N(6), B(true), S("7"), G }
    local id = world:spawn(H)
    for _, value in ipairs(values) do world:set(id, value) end
    assert.equal(2, world:get(id, P).y)
    assert.equal(4, world:get(id, V).n)
    assert.is_true(world:get(id, V).b)
    assert.equal(values[3], world:get(id, T))
    assert.equal(6, world:get(id, N))
    assert.is_true(world:get(id, B))
    assert.equal("7", world:get(id, S))
    assert.equal(G, world:get(id, G))
    assert.is_true(world:has(id, H))
  end)

  it("replaces values of every kind in place", function()
    local id = world:spawn(kit.all(1))
    local t = T(50)
    local arch = world:findArchetypes(P)()
    world:set(id, P(8, 9))
    world:set(id, t)
    world:set(id, N(-0.0))
    world:set(id, B(true))
    world:set(id, S(""))
    world:set(id, G)
    assert.equal(9, world:get(id, P).y)
    assert.equal(t, world:get(id, T))
    assert.equal(-1 / 0, 1 / world:get(id, N))
    assert.is_true(world:get(id, B))
    assert.equal("", world:get(id, S))
    assert.equal(arch, world:findArchetypes(P)())
  end)

  it("builds a new value from a bare component, every time", function()
    local a, b = world:spawn(), world:spawn()
    for _, C in ipairs({ P, T, N, B, S, G }) do
      world:set(a, C)
      world:set(b, C)
    end
    assert.same({ hp = 100, bag = { "rope" } }, world:get(a, T))
    assert.not_equal(world:get(a, T), world:get(b, T))
    assert.not_equal(world:get(a, T).bag, world:get(b, T).bag)
    assert.equal(0, world:get(a, P).x)
    assert.equal(7, world:get(a, N))
    assert.is_true(world:get(a, B))
    assert.equal("none", world:get(a, S))
  end)

  it("takes a scalar without a wrapper", function()
    local id = world:spawn()
    world:set(id, N, 3)
    world:set(id, B, false)
    world:set(id, S, "")
    assert.equal(3, world:get(id, N))
    assert.is_false(world:get(id, B))
    assert.equal("", world:get(id, S))
    world:set(id, N)
    assert.equal(7, world:get(id, N))
  end)

  it("shares one table between entities that are given it", function()
    local t = T(1)
    local a, b = world:spawn(t), world:spawn()
    world:set(b, t)
    assert.equal(world:get(a, T), world:get(b, T))
  end)

  it("copies FFI values", function()
    local p = P(1, 2)
    local id = world:spawn(p)
    p.x = 5
    assert.equal(1, world:get(id, P).x)
  end)

  it("may be given a row of the column it makes grow", function()
    local a = world:spawn(P(1, 2), N(3))
    local ids = {}
    for i = 1, 300 do
      ids[i] = i % 2 == 0 and world:spawn(N(3), world:get(a, P))
        or world:spawn(N(3))
      if i % 2 == 1 then world:set(ids[i], world:get(a, P)) end
    end
    for i = 1, 300 do
      assert.equal(1, world:get(ids[i], P).x)
      assert.equal(2, world:get(ids[i], P).y)
    end
  end)

  it("refuses what is no component value", function()
    local id = world:spawn(N(1))
    local bad = { 1, "x", true, {}, print, setmetatable({}, {}),
      { componentType = N }, { componentId = N.componentId },
      require("ffi").new("double[1]"), 5LL }
    for i = 1, #bad do
      refuses(world, { "World:set", "component value" }, function()
        world:set(id, bad[i])
      end)
    end
    refuses(world, { "World:set", "component value", "nil" }, function()
      world:set(id, nil)
    end)
  end)

  it("refuses a third argument that does not fit", function()
    local id = world:spawn(N(1), P(1, 2), T(), G)
    for _, value in ipairs({ P, P(1, 1), T, T(), G, N(5) }) do
      refuses(world, { "World:set", "scalar component" }, function()
        world:set(id, value, 5)
      end)
    end
    refuses(world, { "World:set", "entity.N", "number", '"5"' }, function()
      world:set(id, N, "5")
    end)
    refuses(world, { "entity.B", "boolean", "number 0" }, function()
      world:set(id, B, 0)
    end)
    refuses(world, { "entity.S", "string", "number 5" }, function()
      world:set(id, S, 5)
    end)
  end)
end)

describe("remove", function()
  it("takes one component and keeps the others", function()
    local id = world:spawn(kit.all(3))
    local t = world:get(id, T)
    for _, C in ipairs({ P, N, G, V, B }) do
      world:remove(id, C)
      assert.is_false(world:has(id, C))
      assert.is_nil(world:get(id, C))
    end
    assert.equal(t, world:get(id, T))
    assert.equal("s3", world:get(id, S))
    world:remove(id, T)
    world:remove(id, S)
    assert.is_true(world:isAlive(id))
  end)

  it("does nothing when the component is absent", function()
    local id = world:spawn(P(1, 2))
    local before = support.state(world)
    for _, C in ipairs({ V, T, N, B, S, G }) do world:remove(id, C) end
    assert.same(before, support.state(world))
  end)

  it("forgets the value: what comes back is new", function()
    local id = world:spawn(P(5, 5), T(5), N(5))
    for _, C in ipairs({ P, T, N }) do
      world:remove(id, C)
      world:set(id, C)
    end
    assert.equal(0, world:get(id, P).x)
    assert.equal(100, world:get(id, T).hp)
    assert.equal(7, world:get(id, N))
  end)
end)

describe("despawn", function()
  it("ends an entity once", function()
    local a, b = world:spawn(kit.all(1)), world:spawn(kit.all(2))
    world:despawn(a)
    world:despawn(a)
    assert.is_false(world:isAlive(a))
    assert.is_true(world:isAlive(b))
    assert.equal("s2", world:get(b, S))
    assert.equal(1, world:getStats().entities)
    assert.equal(support.id(1, 1), world:spawn())
    world:despawn(a)
    assert.equal(2, world:getStats().entities)
  end)
end)

describe("a dead id", function()
  -- Numbers that never name a live entity of `world`.
  local function dead()
    local a, b = world:spawn(P(1, 2)), world:spawn(P(3, 4))
    world:despawn(a) -- old generation, slot free
    world:despawn(b)
    local reused = world:spawn(N(1)) -- slot of b again
    assert.equal(b + 2 ^ 22, reused)
    return { 0, -0, a, b, 1.5, -1, -a, -reused, 99, 2 ^ 21, -2 ^ 21,
      2 ^ 22 - 1, 2 ^ 22, 2 ^ 22 * 7 + 5, 2 ^ 53, 2 ^ 53 - 1, 2 ^ 60, 2 ^ 63,
      2 ^ 64, 1e300, -1e300, 1 / 0, -1 / 0, 0 / 0, -(0 / 0), reused + 0.5 }
  end

  local function decimal(id)
    return id == math.floor(id) and math.abs(id) < 2 ^ 63
      and ("%.0f"):format(id) or tostring(id)
  end

  -- In each setting `world` is at another depth; `fn` runs in it.
  local settings = {
    ["at depth 0"] = function(fn) fn() end,
    ["inside defer"] = function(fn)
      world:defer()
      world:defer()
      fn()
      world:commit()
      world:commit()
    end,
    ["inside a loop"] = function(fn)
      for _ in world:query({}):iter() do fn() end
    end,
    ["inside a callback"] = function(fn)
      world:batchSpawn(1, { H }, fn)
    end,
    ["inside a callback of a drain"] = function(fn)
      world:defer()
      world:batchSpawn(1, { H }, fn)
      world:commit()
    end,
  }

  for where, within in pairs(settings) do
    it("has nothing and takes nothing " .. where, function()
      local ids, calls = dead(), 0
      within(function()
        calls = calls + 1
        for _, id in ipairs(ids) do
          for _, C in ipairs({ P, V, T, N, B, S, G }) do
            assert.is_nil(world:get(id, C))
            assert.is_nil(world:getMut(id, C))
            assert.is_false(world:has(id, C))
            world:remove(id, C)
            world:markComponentDirty(id, C)
          end
          assert.is_false(world:isAlive(id))
          world:despawn(id)
        end
      end)
      assert.equal(1, calls)
      assert.equal(0, world._depth)
    end)

    it("is named by the error of set " .. where, function()
      local ids = dead()
      within(function()
        for _, id in ipairs(ids) do
          for _, value in ipairs({ P(1, 2), T(), N(1), S("x"), G, N, T,
            engram.EntityKey("k") }) do
            raises({ "World:set: Entity ID not found: " .. decimal(id) },
              function() world:set(id, value) end)
          end
          raises({ "Entity ID not found: " .. decimal(id) }, function()
            world:set(id, N, 5)
          end)
        end
      end)
      assert.is_nil(world:byKey("k"))
    end)
  end

  it("stays dead through reuse of its slot", function()
    local old = {}
    for generation = 0, 20 do
      local id = world:spawn(P(1, 2))
      assert.equal(support.id(1, generation), id)
      for _, gone in ipairs(old) do assert.is_false(world:isAlive(gone)) end
      old[#old + 1] = id
      world:despawn(id)
    end
  end)

  it("is not confused with a pending slot of the opposite sign", function()
    world = engram.newWorld({ maxEntities = engram.MAX_ENTITIES })
    local id = 2 ^ 21
    world:spawnAt(id, P(1, 2))
    raises({ "Entity ID not found: -2097152" }, function()
      world:set(-id, N(1))
    end)
    world:despawn(id)
    world:defer()
    world:spawnAt(id, P(1, 2))
    assert.is_false(world:isAlive(-id))
    assert.is_false(world:isAlive(id))
    assert.is_nil(world:get(-id, P))
    assert.is_false(world:has(-id, P))
    world:despawn(-id)
    world:remove(-id, P)
    world:commit()
    assert.equal(2, world:get(id, P).y)
  end)
end)

describe("an argument of the wrong type", function()
  it("raises in every call, dead entity or not", function()
    local id = world:spawn(P(1, 2))
    for _, name in ipairs({ "get", "getMut", "has", "remove",
      "markComponentDirty" }) do
      local at = "engram.World:" .. name .. ": "
      for _, e in ipairs({ id, 0, 99 }) do
        for _, C in ipairs({ 1, "P", true, {}, print }) do
          refuses(world, { at, "component expected, got " }, function()
            world[name](world, e, C)
          end)
        end
        refuses(world, { at, "component", "nil" }, function()
          world[name](world, e)
        end)
      end
      for _, e in ipairs({ "1", true, {}, 1LL, P }) do
        refuses(world, { at, "entity id" }, function()
          world[name](world, e, P)
        end)
      end
      refuses(world, { at, "entity id", "nil" }, function()
        world[name](world, nil, P)
      end)
    end
    for _, name in ipairs({ "isAlive", "despawn", "set", "spawnAt" }) do
      for _, e in ipairs({ "1", true, {}, 1LL, P }) do
        refuses(world, { "engram.World:" .. name .. ": ", "entity id" },
          function() world[name](world, e, P(1, 2)) end)
      end
    end
    refuses(world, { "component value" }, function() world:set(0, {}) end)
  end)

  it("names what came", function()
    refuses(world, { "engram.World:despawn: entity id expected, got nil" },
      function() world:despawn() end)
    refuses(world, { 'got component "entity.P"' }, function()
      world:despawn(P)
    end)
    refuses(world, { 'got string "a\\nb"' }, function()
      world:despawn("a\nb")
    end)
  end)
end)

describe("the negated id of a pending entity", function()
  -- Of slot 2^21 it has the slot of the entity itself, and the record holds it.
  it("is dead for every call", function()
    world = engram.newWorld{ maxEntities = 2 ^ 22 - 1 }
    local id = -2 ^ 21
    world:defer()
    world:spawnAt(2 ^ 21, P(1, 2))
    assert.is_false(world:isAlive(id))
    assert.is_nil(world:get(id, P))
    assert.is_nil(world:getMut(id, P))
    assert.is_false(world:has(id, P))
    world:markComponentDirty(id, P)
    world:remove(id, P)
    world:despawn(id)
    raises({ "Entity ID not found: -2097152" }, function()
      world:set(id, P(3, 4))
    end)
    world:commit()
    assert.equal(1, world:get(2 ^ 21, P).x)
  end)
end)
