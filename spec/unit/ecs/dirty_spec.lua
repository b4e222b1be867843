-- Dirty bits: one per archetype and component. They are cleared at the end of
-- an update; until there is one, these specs do what it will do.

local support = dofile("spec/support/ecs.lua")
local engram = support.engram
local kit = support.components("dirty")
local P, T, N, S, G, H = kit.P, kit.T, kit.N, kit.S, kit.G, kit.H

local world
before_each(function() world = engram.newWorld() end)
after_each(function() support.sound(world) end)

local function clear() world._stamp = world._stamp + 1 end

local function archetypeWith(list)
  local cursor = world:query({ temp = true }):cursor()
  for arch in cursor:iter() do
    local same = #arch.componentList == #list
    for _, C in ipairs(list) do same = same and arch:get(C) ~= nil end
    if same then
      cursor:close()
      return arch
    end
  end
end

-- The dirty components of an archetype, by name.
local function dirty(arch)
  local names = {}
  for C in arch:dirtyComponents() do
    assert.is_true(arch:isComponentDirty(C))
    names[#names + 1] = C.componentName:sub(-1)
  end
  assert.equal(#names > 0, arch:anyComponentDirty())
  return table.concat(names)
end

describe("a component is marked dirty", function()
  local e, arch
  before_each(function()
    e = world:spawn(P, T, N, G)
    arch = archetypeWith({ P, T, N, G })
    clear()
    assert.equal("", dirty(arch))
  end)

  it("by getMut, set, arch:getMut, arch:set and markComponentDirty", function()
    world:getMut(e, P)
    assert.equal("P", dirty(arch))
    clear()
    world:set(e, N(5))
    assert.equal("N", dirty(arch))
    world:set(e, T())
    assert.equal("NT", dirty(arch))
    clear()
    world:set(e, G)
    assert.equal("G", dirty(arch))
    clear()
    arch:getMut(T)
    assert.equal("T", dirty(arch))
    clear()
    arch:set(1, P(1, 1))
    assert.equal("P", dirty(arch))
    clear()
    world:markComponentDirty(e, N)
    assert.equal("N", dirty(arch))
    clear()
    arch:markComponentDirty(G)
    assert.equal("G", dirty(arch))
    arch:markAllComponentsDirty()
    assert.equal("GNPT", dirty(arch)) -- in canonical order
  end)

  it("inside a scope by a write, at once", function()
    world:defer()
    world:set(e, P(1, 1))
    assert.equal("P", dirty(arch))
    world:commit()
    assert.equal("P", dirty(arch))
  end)

  it("not by reading, iterating, or a write through get", function()
    world:get(e, P).x = 1
    arch:get(N)[1] = 5
    for a, n in world:query({}):iter() do
      for row = 1, n do a:get(P)[row].x = 7 end
    end
    for a in world:findArchetypes(P) do a:get(T)[1].hp = 1 end
    assert.is_true(world:has(e, P))
    assert.equal("", dirty(arch))
  end)

  it("not where it is absent", function()
    world:getMut(e, S)
    world:markComponentDirty(e, S)
    world:markComponentDirty(99, P)
    arch:getMut(S)
    arch:markComponentDirty(S)
    world:remove(e, S)
    assert.is_false(arch:isComponentDirty(S))
    assert.equal("", dirty(arch))
  end)

  it("in its own archetype only", function()
    local other = world:spawn(P)
    local its = archetypeWith({ P })
    clear()
    world:set(other, P(1, 1))
    assert.equal("P", dirty(its))
    assert.equal("", dirty(arch))
  end)
end)

describe("all components are marked dirty", function()
  -- Each change happens to archetype {P, T} or leads to it or away from it.
  local changes = {
    spawn = function() world:spawn(P, T) end,
    spawnAt = function() world:spawnAt(50, P, T) end,
    batchSpawn = function() world:batchSpawn(2, { P, T }, function() end) end,
    batchSpawnAt = function()
      world:batchSpawnAt({ 60, 61 }, { P, T }, function() end)
    end,
    despawn = function(e) world:despawn(e) end,
    ["moving away"] = function(e) world:set(e, N(1)) end,
    ["moving away with tables"] = function(e) world:set(e, S("x")) end,
    ["losing a component"] = function(e) world:remove(e, T) end,
    ["moving in"] = function(_, f) world:set(f, T) end,
    ["moving in by a removal"] = function(_, _, g) world:remove(g, G) end,
  }
  local names = {}
  for name in pairs(changes) do names[#names + 1] = name end

  for _, name in ipairs(names) do
    it("by " .. name .. ", instantly and in a drain", function()
      for staged = 0, 1 do
        world = engram.newWorld()
        local e = world:spawn(P, T)
        local f, g = world:spawn(P), world:spawn(P, T, G)
        world:spawn(P, T)
        local arch = archetypeWith({ P, T })
        clear()
        if staged == 1 then world:defer() end
        changes[name](e, f, g)
        if staged == 1 then
          if name ~= "batchSpawn" then assert.equal("", dirty(arch)) end
          world:commit()
        end
        assert.equal("PT", dirty(arch))
      end
    end)
  end

  it("of both archetypes of a move", function()
    for staged = 0, 1 do
      world = engram.newWorld()
      local e = world:spawn(P, T)
      world:set(world:spawn(P, T), H)
      local from, to = archetypeWith({ P, T }), archetypeWith({ P, T, H })
      clear()
      if staged == 1 then world:defer() end
      world:set(e, H)
      if staged == 1 then world:commit() end
      assert.equal("PT", dirty(from))
      assert.equal("HPT", dirty(to))
    end
  end)
end)

describe("dirty marks", function()
  it("last until they are cleared, and are forgotten by clearEntities",
    function()
      world:spawn(P)
      local arch = archetypeWith({ P })
      for _ = 1, 3 do
        for _ in world:query({}):iter() do assert.equal("P", dirty(arch)) end
      end
      world:clearEntities()
      assert.equal("", dirty(arch))
      world:spawn(P)
      assert.equal("P", dirty(arch))
    end)
end)
