-- What each call does to an entity in each state.

local support = dofile("spec/support/ecs.lua")
local engram = support.engram
local kit = support.components("staged")
local P, V, T, N, B, S, G = kit.P, kit.V, kit.T, kit.N, kit.B, kit.S, kit.G

local world, query
before_each(function()
  world = engram.newWorld()
  query = world:query({})
end)
after_each(function() support.sound(world) end)

local function isMatched(id)
  local found = false
  local cursor = query:cursor()
  for _, n, entities in cursor:iter() do
    for row = 1, n do found = found or entities[row] == id end
  end
  return found
end

describe("a committed entity inside a scope", function()
  local id
  before_each(function()
    id = world:spawn(P(1, 2), T(3), S("4"))
    world:defer()
  end)

  it("is alive, readable and matched", function()
    assert.is_true(world:isAlive(id))
    assert.equal(2, world:get(id, P).y)
    assert.is_true(world:has(id, T))
    assert.is_true(isMatched(id))
  end)

  it("is written in place by set when it has the component", function()
    local t, arch = T(9), world:findArchetypes(P)()
    world:set(id, P(5, 6))
    world:set(id, t)
    world:set(id, S("new"))
    assert.equal(5, world:get(id, P).x)
    assert.equal(t, world:get(id, T))
    assert.equal("new", world:get(id, S))
    assert.is_true(arch:isComponentDirty(P))
    world:commit()
    assert.equal(5, world:get(id, P).x)
    assert.equal(t, world:get(id, T))
  end)

  it("gets a component it lacks when the scope closes", function()
    world:set(id, N(7))
    world:set(id, G)
    world:set(id, V(1, 2, true))
    for _, C in ipairs({ N, G, V }) do
      assert.is_nil(world:get(id, C))
      assert.is_false(world:has(id, C))
    end
    assert.is_true(isMatched(id))
    assert.equal(3, #world:findArchetypes(P)().componentList)
    world:commit()
    assert.equal(7, world:get(id, N))
    assert.is_true(world:has(id, G))
    assert.equal(2, world:get(id, V).n)
    assert.equal(2, world:get(id, P).y)
    assert.equal(3, world:get(id, T).hp)
    assert.equal("4", world:get(id, S))
  end)

  it("loses a component when the scope closes", function()
    world:remove(id, T)
    world:remove(id, S)
    world:remove(id, N) -- absent: nothing
    assert.equal(3, world:get(id, T).hp)
    assert.is_true(world:has(id, S))
    world:commit()
    assert.is_nil(world:get(id, T))
    assert.is_nil(world:get(id, S))
    assert.equal(2, world:get(id, P).y)
  end)

  it("is alive, readable and matched until its staged despawn", function()
    world:despawn(id)
    assert.is_true(world:isAlive(id))
    assert.equal(2, world:get(id, P).y)
    assert.equal(3, world:get(id, T).hp)
    assert.is_true(isMatched(id))
    world:commit()
    assert.is_false(world:isAlive(id))
    assert.is_nil(world:get(id, P))
    assert.is_false(isMatched(id))
  end)

  it("ignores set, remove and despawn after a staged despawn", function()
    world:despawn(id)
    world:set(id, N(1))
    world:set(id, P(8, 8))
    world:set(id, engram.EntityKey("ghost"))
    world:remove(id, T)
    world:despawn(id)
    assert.equal(1, world:get(id, P).x)
    assert.is_true(world:has(id, T))
    world:commit()
    assert.is_false(world:isAlive(id))
    assert.equal(0, world:getStats().entities)
    assert.is_nil(world:byKey("ghost"))
    world:spawn(engram.EntityKey("ghost")) -- nobody claims it
  end)
end)

describe("an entity with a staged change", function()
  local id
  before_each(function()
    id = world:spawn(P(1, 2), T(3))
    world:defer()
    world:set(id, N(5))
  end)

  it("is matched in its old archetype and has its committed structure",
    function()
      assert.is_true(world:isAlive(id))
      assert.is_nil(world:get(id, N))
      assert.is_true(world:has(id, P))
      assert.is_true(isMatched(id))
    end)

  it("keeps the last value that is set, written in the drain", function()
    world:set(id, N(6))
    world:set(id, P(8, 9))
    local t = T(10)
    world:set(id, T(9))
    world:set(id, t)
    assert.equal(1, world:get(id, P).x)
    assert.equal(3, world:get(id, T).hp)
    world:commit()
    assert.equal(6, world:get(id, N))
    assert.equal(8, world:get(id, P).x)
    assert.equal(t, world:get(id, T))
  end)

  it("takes more components and lets others go", function()
    world:set(id, S("s"))
    world:remove(id, P)
    world:set(id, G)
    world:remove(id, N)
    world:set(id, B(false))
    world:commit()
    assert.same({ false, true, false, true, true, true }, { world:has(id, P),
      world:has(id, T), world:has(id, N), world:has(id, S), world:has(id, G),
      world:has(id, B) })
    assert.equal("s", world:get(id, S))
    assert.is_false(world:get(id, B))
    assert.equal(3, world:get(id, T).hp)
  end)

  it("takes the committed value along as it is at the drain", function()
    world:get(id, P).x = 77
    world:get(id, T).hp = 78
    world:commit()
    assert.equal(77, world:get(id, P).x)
    assert.equal(78, world:get(id, T).hp)
  end)

  it("forgets the change when it is despawned", function()
    world:set(id, T(9))
    world:despawn(id)
    world:commit()
    assert.is_false(world:isAlive(id))
    local fresh = world:spawn(N)
    assert.equal(7, world:get(fresh, N))
  end)

  it("is as it was when every change is taken back", function()
    world:remove(id, N)
    local arch = world:findArchetypes(P)()
    world:commit()
    assert.equal(arch, world:findArchetypes(P)())
    assert.equal(2, world:get(id, P).y)
    assert.equal(3, world:get(id, T).hp)
    assert.is_false(world:has(id, N))
  end)

  it("keeps its row when a component goes and comes back", function()
    world:remove(id, N)
    local others = world:spawn(P(0, 0), T(0))
    local arch = world:findArchetypes(P)()
    local t = T(11)
    world:remove(id, P)
    world:remove(id, T)
    world:set(id, P(3, 3))
    world:set(id, t)
    world:commit()
    assert.equal(id, arch.entities[1])
    assert.equal(others, arch.entities[2])
    assert.equal(3, world:get(id, P).x)
    assert.equal(t, world:get(id, T))
  end)
end)

describe("a staged spawn", function()
  local id
  before_each(function()
    world:defer()
    id = world:spawn(P(1, 2), T(3))
  end)

  it("is not alive, holds nothing and is not matched", function()
    assert.is_false(world:isAlive(id))
    for _, C in ipairs({ P, T, N }) do
      assert.is_nil(world:get(id, C))
      assert.is_nil(world:getMut(id, C))
      assert.is_false(world:has(id, C))
    end
    world:markComponentDirty(id, P)
    assert.is_false(isMatched(id))
    assert.equal(0, query:count())
    assert.equal(0, world:getStats().entities)
    assert.is_nil(world:findArchetypes(P)())
    world:commit()
    assert.is_true(world:isAlive(id))
    assert.is_true(isMatched(id))
  end)

  it("lets set join the pending components", function()
    local t = T(7)
    world:set(id, N(5))
    world:set(id, P(8, 9))
    world:set(id, t)
    world:set(id, G)
    world:set(id, S, "raw")
    assert.is_nil(world:get(id, N))
    world:commit()
    assert.equal(5, world:get(id, N))
    assert.equal(9, world:get(id, P).y)
    assert.equal(t, world:get(id, T))
    assert.is_true(world:has(id, G))
    assert.equal("raw", world:get(id, S))
  end)

  it("lets remove leave the pending components", function()
    world:remove(id, T)
    world:remove(id, N) -- absent: nothing
    world:set(id, N(1))
    world:remove(id, N)
    world:remove(id, P)
    world:commit()
    assert.is_true(world:isAlive(id))
    for _, C in ipairs({ P, T, N }) do assert.is_false(world:has(id, C)) end
  end)

  it("is cancelled by despawn: nothing is placed", function()
    world:set(id, S("gone"))
    world:despawn(id)
    world:despawn(id)
    world:set(id, N(1))
    world:remove(id, P)
    world:commit()
    assert.is_false(world:isAlive(id))
    assert.equal(0, world:getStats().entities)
    assert.equal(support.id(1, 1), world:spawn())
  end)

  it("leaves no cell behind when it is cancelled", function()
    local ids = {}
    for i = 1, 40 do ids[i] = world:spawn(T(i), S("s" .. i)) end
    for i = 1, 40, 2 do world:despawn(ids[i]) end
    for i = 2, 40, 4 do world:set(ids[i], N(i)) end
    world:commit()
    for i = 2, 40, 2 do
      assert.equal(i, world:get(ids[i], T).hp)
      assert.equal("s" .. i, world:get(ids[i], S))
      assert.equal((i % 4 == 2) and i or nil, world:get(ids[i], N))
    end
    for i = 1, 40, 2 do assert.is_false(world:isAlive(ids[i])) end
  end)
end)

describe("an id of a staged batch", function()
  it("is pending, and takes changes before its rows exist", function()
    world:defer()
    local first = world:batchSpawn(4, { P, T }, function(arch, a, b)
      for row = a, b do
        arch:get(P)[row].x = row
        arch:get(T)[row].hp = "filled"
      end
    end)
    local a, b, c, d = first, first + 1, first + 2, first + 3
    assert.is_false(world:isAlive(a))
    assert.is_nil(world:get(a, P))
    assert.is_false(isMatched(a))
    world:set(a, P(50, 60))
    world:set(b, N(5))
    world:remove(b, T)
    world:remove(c, N) -- absent
    world:set(c, S("c"))
    world:remove(c, S)
    world:despawn(d)
    world:set(d, N(1))
    world:commit()
    assert.equal(60, world:get(a, P).y)
    assert.equal("filled", world:get(a, T).hp)
    assert.equal(5, world:get(b, N))
    assert.is_false(world:has(b, T))
    assert.equal("filled", world:get(c, T).hp)
    assert.is_false(world:has(c, S))
    assert.is_false(world:isAlive(d))
    assert.equal(3, world:getStats().entities)
  end)
end)
