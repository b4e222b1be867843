-- Scopes: what opens and closes them, and what is visible inside.

local support = dofile("spec/support/ecs.lua")
local engram, refuses = support.engram, support.refuses
local kit = support.components("scopes")
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

describe("defer and commit", function()
  it("nest, and drain when the outermost closes", function()
    world:defer()
    world:defer()
    local e = world:spawn(N(1))
    assert.equal(2, depth())
    world:commit()
    assert.equal(1, depth())
    assert.is_false(world:isAlive(e))
    world:commit()
    assert.equal(0, depth())
    assert.equal(1, world:get(e, N))
  end)

  it("do nothing at depth 0", function()
    world:commit()
    world:unwind()
    world:commit()
    assert.equal(0, depth())
    assert.equal(1, world:spawn())
  end)

  it("may hold nothing", function()
    world:defer()
    world:commit()
    assert.equal(0, depth())
  end)

  it("return nothing", function()
    assert.equal(0, select("#", world:defer()))
    assert.equal(0, select("#", world:commit()))
    assert.equal(0, select("#", world:unwind()))
  end)
end)

describe("unwind", function()
  it("closes every scope and applies what waits", function()
    for _ = 1, 5 do world:defer() end
    local e = world:spawn(N(1))
    local query = world:query({})
    for _ in query:iter() do fails() end
    world:unwind()
    assert.equal(0, depth())
    assert.is_true(world:isAlive(e))
    for _ in query:iter() do
      world:defer()
      world:set(e, S("x"))
      world:unwind()
      assert.equal("x", world:get(e, S))
    end
    assert.equal(0, depth())
  end)

  it("inside a callback applies the rest at once", function()
    world:defer()
    local order, e = {}, nil
    world:batchSpawn(1, { P }, function()
      order[#order + 1] = "first"
      world:spawn(G)
      assert.is_false(world:isAlive(e))
      world:unwind()
      order[#order + 1] = "after"
      assert.is_true(world:isAlive(e))
      assert.equal(0, depth())
      world:despawn(e) -- at once
      assert.is_false(world:isAlive(e))
      world:defer()
      world:spawn(H)
    end)
    world:batchSpawn(1, { S }, function() order[#order + 1] = "second" end)
    e = world:spawn(N(1))
    world:commit()
    assert.same({ "first", "second", "after" }, order)
    -- The scope opened after the unwind is the callback's own.
    assert.equal(1, depth())
    assert.equal(3, world:getStats().entities)
    world:commit()
    assert.equal(4, world:getStats().entities)
  end)
end)

describe("a loop over a query", function()
  local query, e
  before_each(function()
    query = world:query({})
    e = world:spawn(P(1, 1))
    world:spawn(N(1))
  end)

  it("opens a scope with its first step and closes it at its end", function()
    local f, s, c = query:iter()
    assert.equal(0, depth())
    local arch = f(s, c)
    assert.equal(1, depth())
    world:despawn(e)
    arch = f(s, arch)
    assert.is_true(world:isAlive(e))
    assert.is_nil(f(s, arch))
    assert.equal(0, depth())
    assert.is_false(world:isAlive(e))
  end)

  it("opens and closes one over nothing, too", function()
    for _ in world:query({ include = { T } }):iter() do fails() end
    assert.equal(0, depth())
  end)

  it("leaves its scope open when it is left early", function()
    support.enter(query:iter())
    assert.equal(1, depth())
    world:despawn(e)
    assert.is_true(world:isAlive(e))
    refuses(world, { "engram.World:compact", "scope" }, function()
      world:compact()
    end)
    local n = 0
    for _ in query:iter() do n = n + 1 end -- may go on
    assert.equal(2, n)
    world:unwind()
    assert.is_false(world:isAlive(e))
  end)

  it("leaves its scope open when an error leaves it", function()
    stumbles(function()
      for _ in query:iter() do
        world:set(e, S("x"))
        fails()
      end
    end)
    assert.equal(1, depth())
    assert.is_nil(world:get(e, S))
    world:unwind()
    assert.equal("x", world:get(e, S))
  end)

  it("drains only when the outermost ends", function()
    local seen = 0
    for _ in query:iter() do
      for _, n in query:iter() do
        seen = seen + n
        world:spawn(P(0, 0))
      end
      assert.equal(1, depth())
      assert.equal(2, query:count())
    end
    assert.equal(4, seen)
    assert.equal(6, query:count())
  end)
end)

describe("a batch call", function()
  it("is a scope until it returns", function()
    world:batchSpawn(1, { P }, function()
      assert.equal(1, depth())
      local e = world:spawn()
      assert.is_false(world:isAlive(e))
      world:commit() -- the scope is not the callback's to close
      assert.equal(1, depth())
      assert.is_false(world:isAlive(e))
    end)
    assert.equal(0, depth())
    assert.equal(2, world:getStats().entities)
  end)

  it("leaves scopes that its callback opens", function()
    for _, call in ipairs({ "batchSpawn", "batchSpawnAt" }) do
      world:unwind()
      local late
      world[call](world, call == "batchSpawn" and 1 or { 99 }, { P },
        function()
          world:defer()
          world:defer()
          late = world:spawn()
        end)
      assert.equal(2, depth(), call)
      assert.is_true(world:isAlive(late))
      late = world:spawn()
      world:commit()
      assert.is_false(world:isAlive(late))
      world:commit()
      assert.is_true(world:isAlive(late))
    end
  end)
end)

describe("visible inside a scope", function()
  it("are new ids to set, remove and despawn, structure to nobody", function()
    world:defer()
    local a, b = world:spawn(P(1, 1)), world:spawn()
    world:set(a, N(1))
    world:remove(a, P)
    world:despawn(b)
    assert.is_false(world:isAlive(a))
    assert.equal(0, world:query({}):count())
    assert.is_nil(world:findArchetypes(N)())
    world:commit()
    assert.equal(1, world:get(a, N))
    assert.is_false(world:has(a, P))
  end)

  it("are the columns of a callback's rows", function()
    world:defer()
    world:batchSpawn(3, { P, T, N }, function(arch, first, last)
      for row = first, last do
        local e = arch.entities[row]
        assert.is_true(world:isAlive(e))
        arch:get(P)[row].x = row
        arch:get(N)[row] = row
        assert.equal(row, world:get(e, P).x)
        assert.equal(row, world:get(e, N))
        world:set(e, N(row + 1)) -- present: in place
        assert.equal(row + 1, arch:get(N)[row])
        assert.equal(arch:get(T)[row], world:get(e, T))
      end
    end)
    world:commit()
  end)
end)
