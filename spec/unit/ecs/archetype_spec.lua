local support = dofile("spec/support/ecs.lua")
local engram, raises, refuses = support.engram, support.raises,
  support.refuses
local kit = support.components("archetype")
local P, V, T, N, B, S, G, H = kit.P, kit.V, kit.T, kit.N, kit.B, kit.S, kit.G,
  kit.H
local EntityKey = engram.EntityKey

local world
before_each(function() world = engram.newWorld() end)
after_each(function()
  if rawget(world, "_c") then support.sound(world) end
end)

local function archetypeOf(component) return (world:findArchetypes(component)())
end

describe("an archetype", function()
  it("has an id, entities and a component list", function()
    local a, b = world:spawn(T, P, G), world:spawn(P, T, G)
    world:spawn(N)
    local arch, other = archetypeOf(T), archetypeOf(N)
    assert.equal("number", type(arch.id))
    assert.not_equal(arch.id, other.id)
    assert.equal(2, arch.entities[0])
    assert.equal(a, arch.entities[1])
    assert.equal(b, arch.entities[2])
    assert.same({ G, P, T }, arch.componentList)
    assert.is_truthy(tostring(arch):find("archetype.P", 1, true))
  end)

  it("is one object for as long as the world lives", function()
    world:spawn(P)
    local arch, id = archetypeOf(P), archetypeOf(P).id
    local list = arch.componentList
    for _ = 1, 100 do world:spawn(P) end
    world:clearEntities()
    world:compact()
    world:spawn(P)
    assert.equal(arch, archetypeOf(P))
    assert.equal(id, arch.id)
    assert.equal(list, arch.componentList)
    assert.equal(1, arch.entities[0])
  end)
end)

describe("a column", function()
  it("of each kind is read and written by row", function()
    local e = world:spawn(kit.all(1))
    local arch = archetypeOf(P)
    arch:get(P)[1].x = 7
    arch:get(P)[1].y = 8
    arch:get(N)[1] = 9
    arch:get(B)[1] = true
    arch:get(S)[1] = "new"
    arch:get(T)[1].hp = 10
    arch:get(G)[1] = "does nothing"
    arch:get(V)[1] = V(1, 2, true)
    assert.equal(7, world:get(e, P).x)
    assert.equal(8, world:get(e, P).y)
    assert.equal(9, world:get(e, N))
    assert.is_true(world:get(e, B))
    assert.equal("new", world:get(e, S))
    assert.equal(10, world:get(e, T).hp)
    assert.equal(G, arch:get(G)[1])
    assert.equal(2, world:get(e, V).n)
  end)

  it("is nil when the component is absent", function()
    world:spawn(P)
    local arch = archetypeOf(P)
    for _, C in ipairs({ V, T, N, B, S, G }) do
      assert.is_nil(arch:get(C))
      assert.is_nil(arch:getMut(C))
    end
  end)

  it("is there though the archetype is empty or has lost its storage",
    function()
      local e = world:spawn(kit.all(1))
      local arch = archetypeOf(P)
      world:despawn(e)
      for _ = 1, 2 do
        for _, C in ipairs({ P, V, T, N, B, S, G }) do
          assert.is_false(arch:get(C) == nil)
          assert.is_not_nil(arch:getMut(C))
        end
        assert.equal(0, arch.entities[0])
        world:compact()
      end
    end)

  it("comes from getMut as from get; only getMut marks dirty", function()
    world:spawn(P, T, N)
    local arch = archetypeOf(P)
    world._stamp = world._stamp + 1
    assert.equal(arch:get(T), arch:getMut(T))
    assert.is_true(arch:isComponentDirty(T))
    assert.is_false(arch:isComponentDirty(P))
    assert.equal(arch:get(P), arch:getMut(P))
    assert.is_true(arch:isComponentDirty(P))
  end)

  it("starts its first row at a multiple of 64 bytes", function()
    local ffi = require("ffi")
    for i = 1, 100 do world:spawn(kit.all(i)) end
    local arch = archetypeOf(P)
    for _, C in ipairs({ P, V, N, B }) do
      local address = tonumber(ffi.cast("uintptr_t", arch:get(C) + 1))
      assert.equal(0, address % 64)
    end
    assert.equal(0, tonumber(ffi.cast("uintptr_t", arch.entities + 1)) % 64)
  end)

  it("of EntityKey is a read-only view", function()
    local e = world:spawn(EntityKey("k"), P)
    local arch = archetypeOf(EntityKey)
    for _, column in ipairs({ arch:get(EntityKey), arch:getMut(EntityKey) }) do
      assert.equal("k", column[1])
      raises({ "EntityKey", "read-only" }, function() column[1] = "other" end)
      raises({ "read-only" }, function() column[2] = "other" end)
    end
    assert.equal("k", world:get(e, EntityKey))
    assert.equal(e, world:byKey("k"))
  end)

  it("raises for what is no component", function()
    world:spawn(P)
    local arch = archetypeOf(P)
    for _, name in ipairs({ "get", "getMut", "markComponentDirty",
      "isComponentDirty" }) do
      for _, bad in ipairs({ 5, "P", {}, true }) do
        raises({ "engram.Archetype:" .. name .. ": component" }, function()
          arch[name](arch, bad)
        end)
      end
      raises({ "engram.Archetype:" .. name, "nil" }, function()
        arch[name](arch)
      end)
    end
  end)
end)

describe("arch:set", function()
  local e, arch
  before_each(function()
    world:spawn(kit.all(5))
    e = world:spawn(kit.all(6))
    arch = archetypeOf(P)
  end)

  it("replaces values of each kind in place, and marks them dirty", function()
    world._stamp = world._stamp + 1
    local t = T(50)
    for _, value in ipairs({ P(8, 9), V(1, 2, true), t, N(3), B(false), S("x"),
      G }) do
      assert.is_false(arch:isComponentDirty(value.componentType))
      assert.equal(0, select("#", arch:set(2, value)))
      assert.is_true(arch:isComponentDirty(value.componentType))
    end
    assert.equal(9, world:get(e, P).y)
    assert.equal(t, world:get(e, T))
    assert.equal(3, world:get(e, N))
    assert.is_false(world:get(e, B))
    assert.equal("x", world:get(e, S))
    assert.equal("s5", arch:get(S)[1])
  end)

  it("builds new values from bare components", function()
    arch:set(1, T)
    arch:set(2, T)
    arch:set(2, N)
    arch:set(2, P)
    assert.not_equal(arch:get(T)[1], arch:get(T)[2])
    assert.equal(100, arch:get(T)[2].hp)
    assert.equal(7, arch:get(N)[2])
    assert.equal(0, arch:get(P)[2].x)
  end)

  it("works inside a scope and on rows about to go", function()
    world:defer()
    world:set(e, H)
    world:remove(e, N)
    arch:set(2, P(1, 1))
    arch:set(2, S("late"))
    world:commit()
    assert.equal(1, world:get(e, P).x)
    assert.equal("late", world:get(e, S))
  end)

  it("survives a constructor that makes the columns move", function()
    local Busy = engram.newComponent({ name = "archetype.Busy", container = {},
      fields = { "n" }, init = function(self)
        self.n = 1
        local again = self.componentType.again
        for i = 1, again and 50 or 0 do world:spawn(P(i, i), again) end
      end })
    Busy.again = setmetatable({}, getmetatable(Busy()))
    local id = world:spawn(P(1, 1), Busy.again)
    local found
    for a in world:findArchetypes(Busy) do found = a end
    found:set(1, Busy)
    assert.equal(1, world:get(id, Busy).n)
    assert.equal(51, found.entities[0])
  end)

  it("raises for an absent component, naming it", function()
    refuses(world, { "engram.Archetype:set", "archetype.H", "absent" },
      function() arch:set(1, H) end)
    refuses(world, { "engram.Archetype:set", "Name" }, function()
      arch:set(1, engram.Name("x"))
    end)
  end)

  it("raises for a value that has no componentType", function()
    for _, bad in ipairs({ 5, "x", {}, true, 5LL }) do
      refuses(world, { "engram.Archetype:set", "componentType" }, function()
        arch:set(1, bad)
      end)
    end
    refuses(world, { "componentType", "nil" }, function() arch:set(1) end)
  end)

  it("raises for a row out of range", function()
    for _, row in ipairs({ 0, 3, -1, 1.5, 1 / 0, 0 / 0, 2 ^ 32 + 1, "1", true })
    do
      refuses(world, { "engram.Archetype:set", "row 1 to 2" }, function()
        arch:set(row, P(1, 1))
      end)
    end
    world:despawn(e)
    refuses(world, { "row 1 to 1" }, function() arch:set(2, P(1, 1)) end)
  end)

  it("claims an EntityKey as set does", function()
    local a = world:spawn(EntityKey("a"))
    local b = world:spawn(EntityKey("b"))
    local keyed = archetypeOf(EntityKey)
    refuses(world, { '"a"', ("%.0f"):format(a) }, function()
      keyed:set(2, EntityKey("a"))
    end)
    refuses(world, { "EntityKey" }, function()
      keyed:set(2, EntityKey(""))
    end)
    keyed:set(2, EntityKey("c"))
    assert.equal(b, world:byKey("c"))
    assert.is_nil(world:byKey("b"))
    world:spawn(EntityKey("b"))
  end)
end)

describe("an archetype of a closed world", function()
  it("raises when it is used", function()
    world:spawn(P)
    local arch = archetypeOf(P)
    world:close()
    for _, name in ipairs({ "get", "getMut", "markComponentDirty",
      "isComponentDirty" }) do
      raises({ "world is closed" }, function() arch[name](arch, P) end)
    end
    raises({ "world is closed" }, function() arch:anyComponentDirty() end)
    raises({ "world is closed" }, function() arch:markAllComponentsDirty() end)
    raises({ "world is closed" }, function() arch:set(1, P(1, 1)) end)
    raises({ "world is closed" }, function() local _ = arch.entities[0] end)
    raises({ "world is closed" }, function()
      for _ in arch:dirtyComponents() do error("none") end
    end)
    assert.same({ P }, arch.componentList)
  end)
end)
