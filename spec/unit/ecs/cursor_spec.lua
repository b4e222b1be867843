local support = dofile("spec/support/ecs.lua")
local engram, raises = support.engram, support.raises
local kit = support.components("cursor")
local P, N, T = kit.P, kit.N, kit.T

local world, query
before_each(function()
  world = engram.newWorld()
  query = world:query({ include = { P } })
  for i = 1, 3 do
    world:spawn(P(i, i))
    world:spawn(P(i, i), N)
    world:spawn(P(i, i), T)
  end
end)
after_each(function()
  if rawget(world, "_c") then support.sound(world) end
end)

describe("a cursor", function()
  it("iterates as its query does", function()
    local one, two = {}, {}
    for arch in query:iter() do one[#one + 1] = arch end
    for arch, n, entities in query:cursor():iter() do
      two[#two + 1] = arch
      assert.equal(3, n)
      assert.equal(arch.entities, entities)
    end
    assert.same(one, two)
    assert.equal(0, world._depth)
    assert.equal(3, #two)
    for _ in query:newCursor():iter() do two = nil end
    assert.is_nil(two)
  end)

  it("opens its scope with the first step, and closes it when exhausted",
    function()
      local cursor = query:cursor()
      local f, s, c = cursor:iter()
      assert.equal(0, world._depth)
      local arch = f(s, c)
      assert.equal(1, world._depth)
      local e = world:spawn(P)
      arch = f(s, f(s, arch))
      assert.is_not_nil(arch)
      assert.is_nil(f(s, arch))
      assert.equal(0, world._depth)
      assert.is_true(world:isAlive(e))
      assert.is_nil(f(s, arch))
      assert.is_nil(f(s, nil))
      cursor:close()
      assert.equal(0, world._depth)
    end)

  it("can be closed early, which drains when its scope is the last", function()
    local cursor = query:cursor()
    support.enter(cursor:iter())
    local e = world:spawn(P)
    assert.equal(1, world._depth)
    cursor:close()
    assert.equal(0, world._depth)
    assert.is_true(world:isAlive(e))
  end)

  it("can be closed inside its loop, which then ends", function()
    local cursor, steps = query:cursor(), 0
    for _ in cursor:iter() do
      steps = steps + 1
      cursor:close()
    end
    assert.equal(1, steps)
    assert.equal(0, world._depth)
  end)

  it("ends only its own scope", function()
    world:defer()
    local outer, inner = query:cursor(), query:cursor()
    support.enter(outer:iter())
    support.enter(inner:iter())
    assert.equal(3, world._depth)
    outer:close()
    assert.equal(2, world._depth)
    inner:close()
    inner:close()
    assert.equal(1, world._depth)
    world:commit()
  end)

  it("makes one traversal", function()
    local cursor = query:cursor()
    for _ in cursor:iter() do assert.equal(1, world._depth) end
    raises({ "engram.Cursor:iter", "closed" }, function() cursor:iter() end)
    local given = query:cursor()
    given:iter()
    raises({ "engram.Cursor:iter", "one traversal" }, function()
      given:iter()
    end)
    local begun = query:cursor()
    for _ in begun:iter() do
      raises({ "engram.Cursor:iter", "one traversal" }, function()
        begun:iter()
      end)
    end
  end)

  it("that is closed before it begins cannot be used", function()
    local cursor = query:cursor()
    cursor:close()
    cursor:close()
    raises({ "engram.Cursor:iter", "closed" }, function() cursor:iter() end)
    local given = query:cursor()
    local f, s, c = given:iter()
    given:close()
    assert.is_nil(f(s, c))
    assert.equal(0, world._depth)
  end)

  it("takes nobody's scope when it is closed after an unwind", function()
    local cursor = query:cursor()
    support.enter(cursor:iter())
    world:unwind()
    world:defer()
    cursor:close()
    assert.equal(1, world._depth)
    world:commit()
  end)

  it("takes nobody's scope when it ends after an unwind", function()
    for _ in query:cursor():iter() do
      world:unwind()
      world:defer()
    end
    assert.equal(1, world._depth)
    world:unwind()
  end)

  it("takes nobody's scope after clearEntities", function()
    local closed, exhausted = query:cursor(), query:cursor()
    support.enter(closed:iter())
    for _ in exhausted:iter() do
      world:clearEntities()
      world:defer()
    end
    closed:close()
    assert.equal(1, world._depth)
    world:commit()
  end)

  it("may be closed after its world", function()
    local cursor, fresh = query:cursor(), query:cursor()
    support.enter(cursor:iter())
    world:close()
    cursor:close()
    raises({ "world is closed" }, function()
      for _ in fresh:iter() do error("no rows") end
    end)
    fresh:close()
  end)

  it("stays open through an error, until it is closed", function()
    local cursor = query:cursor()
    assert.is_false((pcall(function()
      for _ in cursor:iter() do error("x") end
    end)))
    assert.equal(1, world._depth)
    cursor:close()
    assert.equal(0, world._depth)
  end)

  it("opened in a callback may outlive the drain", function()
    local cursor = query:cursor()
    world:batchSpawn(1, { N }, function()
      support.enter(cursor:iter())
    end)
    assert.equal(1, world._depth)
    local e = world:spawn()
    cursor:close()
    assert.equal(0, world._depth)
    assert.is_true(world:isAlive(e))
  end)
end)
