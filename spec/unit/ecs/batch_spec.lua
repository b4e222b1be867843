local support = dofile("spec/support/ecs.lua")
local engram, raises, refuses, id = support.engram, support.raises,
  support.refuses, support.id
local kit = support.components("batch")
local P, V, T, N, B, S, G = kit.P, kit.V, kit.T, kit.N, kit.B, kit.S, kit.G

local world
before_each(function() world = engram.newWorld({ maxEntities = 1000 }) end)
after_each(function() support.sound(world) end)

local function nothing() end

-- In all settings the rows exist when `call` and what follows it are over.
local settings = {
  ["at depth 0"] = function(call) call() end,
  ["inside a scope"] = function(call)
    world:defer()
    call()
    world:commit()
  end,
  ["inside a callback"] = function(call)
    world:batchSpawn(1, { kit.H }, call)
  end,
}

for where, within in pairs(settings) do
  describe("a batch " .. where, function()
    it("shows its callback rows of zeros and new instances", function()
      local calls = 0
      within(function()
        world:batchSpawn(5, { P, T, N, V, B, S, G },
          function(arch, first, last, count)
            calls = calls + 1
            assert.equal(5, count)
            assert.equal(last, first + 4)
            assert.equal(7, #arch.componentList)
            local seen = {}
            for row = first, last do
              assert.equal(0, arch:get(P)[row].x)
              assert.equal(0, arch:get(P)[row].y)
              assert.equal(0, arch:get(V)[row].n)
              assert.is_false(arch:get(V)[row].b)
              assert.equal(0, arch:get(N)[row])
              assert.is_false(arch:get(B)[row])
              assert.equal("", arch:get(S)[row])
              assert.equal(G, arch:get(G)[row])
              local t = arch:get(T)[row]
              assert.same({}, t)
              assert.equal(T, t.componentType)
              assert.is_nil(seen[t])
              seen[t] = true
              assert.is_true(world:isAlive(arch.entities[row]))
            end
          end)
      end)
      assert.equal(1, calls)
    end)

    it("shows zeros where rows of others have been", function()
      local ids = {}
      for i = 1, 20 do ids[i] = world:spawn(P(i, i), N(i), T(i), S("old")) end
      for i = 1, 20 do world:despawn(ids[i]) end
      within(function()
        world:batchSpawn(10, { P, N, T, S }, function(arch, first, last)
          for row = first, last do
            assert.equal(0, arch:get(P)[row].x)
            assert.equal(0, arch:get(N)[row])
            assert.same({}, arch:get(T)[row])
            assert.equal("", arch:get(S)[row])
          end
        end)
      end)
    end)

    it("keeps what its callback writes", function()
      local first
      within(function()
        first = world:batchSpawn(3, { P, T, S, B }, function(arch, a, b)
          for row = a, b do
            arch:get(P)[row] = P(row, -row)
            arch:get(T)[row] = T("t" .. row)
            arch:get(S)[row] = "s" .. row
            arch:getMut(B)[row] = true
          end
        end)
      end)
      for i = 0, 2 do
        assert.equal(-i - 1, world:get(first + i, P).y)
        assert.equal("t" .. i + 1, world:get(first + i, T).hp)
        assert.equal("s" .. i + 1, world:get(first + i, S))
        assert.is_true(world:get(first + i, B))
      end
    end)

    it("has the values that are required in place", function()
      local made = 0
      local M = engram.newComponent({ name = "batch.M " .. where,
        container = {}, fields = { "n" }, init = function(self)
          made = made + 1
          self.n = made
          world:despawn(world:spawn()) -- must not disturb
        end })
      local R = engram.newTagComponent({ name = "batch.R " .. where,
        requires = { M, P(3, 4), N(5), S("six"), B, T(7, { "bag" }) } })
      within(function()
        world:batchSpawn(40, { R, N }, function(arch, first, last)
          for row = first, last do
            assert.equal(row - first + 1, arch:get(M)[row].n)
            assert.equal(4, arch:get(P)[row].y)
            assert.equal(0, arch:get(N)[row]) -- named, so not required
            assert.equal("six", arch:get(S)[row])
            assert.is_true(arch:get(B)[row])
            assert.same({ "bag" }, arch:get(T)[row].bag)
          end
          assert.not_equal(arch:get(T)[first], arch:get(T)[last])
          assert.not_equal(arch:get(T)[first].bag, arch:get(T)[last].bag)
        end)
      end)
      assert.equal(40, made)
    end)

    it("may have no components", function()
      local calls = 0
      within(function()
        world:batchSpawn(2, {}, function(arch, first, last, count)
          calls = calls + 1
          assert.equal(0, #arch.componentList)
          assert.equal(2, last - first + 1)
          assert.equal(2, count)
        end)
        world:batchSpawnAt({ 500 }, {}, function(arch, first)
          calls = calls + 1
          assert.equal(500, arch.entities[first])
        end)
      end)
      assert.equal(2, calls)
    end)

    it("of none makes no call", function()
      within(function()
        local first, ids = world:batchSpawn(0, { P }, error)
        assert.is_nil(first)
        assert.same({}, ids)
        assert.equal(0, select("#", world:batchSpawnAt({}, { P }, error)))
      end)
    end)

    it("ignores that a component is listed twice, and the order", function()
      within(function()
        world:batchSpawn(1, { P, N, P }, nothing)
        world:batchSpawn(1, { N, P }, nothing)
      end)
      local arch = world:findArchetypes(P)()
      assert.equal(2, arch.entities[0])
    end)

    it("marks all columns dirty", function()
      world:spawn(P(1, 1), N(1))
      local arch = world:findArchetypes(P)()
      world._stamp = world._stamp + 1
      within(function() world:batchSpawn(1, { P, N }, nothing) end)
      assert.is_true(arch:isComponentDirty(P))
      assert.is_true(arch:isComponentDirty(N))
    end)

    it("with chosen ids takes exactly those", function()
      local order = {}
      within(function()
        world:batchSpawnAt({ id(7, 3), id(5, 0), id(900, 2 ^ 31 - 1) },
          { P, T }, function(arch, first, last)
            for row = first, last do
              order[#order + 1] = arch.entities[row]
              arch:get(P)[row].x = row - first
              arch:get(T)[row].hp = row - first
            end
          end)
      end)
      assert.same({ id(7, 3), 5, id(900, 2 ^ 31 - 1) }, order)
      for i, e in ipairs(order) do
        assert.equal(i - 1, world:get(e, P).x)
        assert.equal(i - 1, world:get(e, T).hp)
      end
    end)
  end)
end

describe("batchSpawn", function()
  it("gives the first id of an ascending run, else all ids", function()
    local first, ids = world:batchSpawn(10, { P }, nothing)
    assert.equal(1, first)
    assert.is_nil(ids)
    assert.equal(11, world:batchSpawn(1, { P }, nothing))
    world:despawn(3)
    world:despawn(2)
    first, ids = world:batchSpawn(2, { P }, nothing)
    assert.equal(id(2, 1), first) -- 2, then 3: a run
    assert.is_nil(ids)
    world:despawn(5)
    world:despawn(8)
    first, ids = world:batchSpawn(3, { P }, nothing)
    assert.is_nil(first)
    assert.same({ id(8, 1), id(5, 1), 12 }, ids)
  end)

  it("reserves the ids that single spawns would get", function()
    local other = engram.newWorld()
    for _, w in ipairs({ world, other }) do
      for _ = 1, 10 do w:spawn() end
      for _, e in ipairs({ 4, 9, 1 }) do w:despawn(e) end
      w:spawnAt(14)
    end
    local _, ids = world:batchSpawn(6, { P }, nothing)
    for i = 1, 6 do assert.equal(other:spawn(P), ids[i]) end
    world:defer()
    other:defer()
    local first = world:batchSpawn(3, { P }, nothing)
    for i = 0, 2 do assert.equal(other:spawn(P), first + i) end
    world:commit()
  end)

  it("raises for what is no list of components", function()
    local bad = { { "P" }, { P(1, 1) }, { N(1) }, { {} }, { 5 }, { false },
      { T() }, { P, T() } }
    for i = 1, #bad do
      refuses(world, { "engram.World:batchSpawn: component at position",
        "of types" }, function() world:batchSpawn(1, bad[i], nothing) end)
      refuses(world, { "engram.World:batchSpawnAt: component at position" },
        function() world:batchSpawnAt({ 1 }, bad[i], nothing) end)
    end
    for _, types in ipairs({ P, "P", 5, true, P(1, 1) }) do
      refuses(world, { "engram.World:batchSpawn: array of components" },
        function() world:batchSpawn(1, types, nothing) end)
    end
    refuses(world, { "array of components", "nil" }, function()
      world:batchSpawn(1, nil, nothing)
    end)
  end)

  it("raises for EntityKey, naming it", function()
    refuses(world, { "batchSpawn", "EntityKey" }, function()
      world:batchSpawn(1, { P, engram.EntityKey }, nothing)
    end)
    refuses(world, { "batchSpawnAt", "EntityKey" }, function()
      world:batchSpawnAt({ 5 }, { engram.EntityKey }, nothing)
    end)
  end)

  it("raises for a bad count or callback", function()
    for _, count in ipairs({ -1, 0.5, 0 / 0, 1 / 0, -1 / 0, "1", true, {} }) do
      refuses(world, { "engram.World:batchSpawn: count" }, function()
        world:batchSpawn(count, { P }, nothing)
      end)
    end
    for _, cb in ipairs({ 1, "f", true, {} }) do
      refuses(world, { "engram.World:batchSpawn: callback" }, function()
        world:batchSpawn(1, { P }, cb)
      end)
      refuses(world, { "engram.World:batchSpawnAt: callback" }, function()
        world:batchSpawnAt({ 1 }, { P }, cb)
      end)
    end
  end)

  it("raises when there are too few slots, and spawns none", function()
    world = engram.newWorld({ maxEntities = 50 })
    world:batchSpawn(40, { P, T }, nothing)
    for _, count in ipairs({ 11, 50, 51, 2 ^ 31, 2 ^ 32, 2 ^ 32 + 1, 2 ^ 40,
      2 ^ 53 }) do
      refuses(world, { "engram.World:batchSpawn: no free entity slot", "50" },
        function() world:batchSpawn(count, { P, T }, nothing) end)
      world:defer()
      refuses(world, { "no free entity slot" }, function()
        world:batchSpawn(count, { P, T }, nothing)
      end)
      world:commit()
    end
    assert.equal(41, world:batchSpawn(10, { P, T }, nothing))
    refuses(world, { "no free entity slot" }, function() world:spawn() end)
  end)
end)

describe("batchSpawnAt", function()
  it("checks every id before anything changes", function()
    local live = world:spawn(P(1, 1))
    world:despawn(world:spawn())
    for _, bad in ipairs({ live, id(live, 1), 0, 1001, 2 ^ 22, -5, 5.5, 2 ^ 53,
      0 / 0, 1 / 0 }) do
      local text = bad == math.floor(bad) and math.abs(bad) < 2 ^ 63
        and ("%.0f"):format(bad) or tostring(bad)
      for at = 1, 3 do
        local ids = { 10, 11, 12 }
        ids[at] = bad
        refuses(world, { "engram.World:batchSpawnAt: entity " .. text },
          function() world:batchSpawnAt(ids, { P, T }, nothing) end)
      end
    end
    assert.equal(id(2, 1), world:spawn())
    assert.equal(3, world:spawn())
  end)

  it("refuses an id given twice, and two for one slot", function()
    for _, ids in ipairs({ { 5, 6, 5 }, { 5, id(5, 1) }, { 7, 7 } }) do
      refuses(world, { "engram.World:batchSpawnAt: entity "
        .. ("%.0f"):format(ids[#ids]), "twice" },
        function() world:batchSpawnAt(ids, { P }, nothing) end)
    end
    world:batchSpawnAt({ 5, 6, 7 }, { P }, nothing)
  end)

  it("refuses pending and retired ids", function()
    world:spawnAt(id(9, 2 ^ 31 - 1))
    world:despawn(id(9, 2 ^ 31 - 1))
    refuses(world, { "batchSpawnAt: entity 9 " }, function()
      world:batchSpawnAt({ 8, 9 }, { P }, nothing)
    end)
    world:defer()
    local e = world:spawn()
    refuses(world, { "batchSpawnAt: entity " .. e }, function()
      world:batchSpawnAt({ 8, e }, { P }, nothing)
    end)
    world:batchSpawnAt({ 8 }, { P }, nothing)
    refuses(world, { "batchSpawnAt: entity 8 " }, function()
      world:batchSpawnAt({ 8 }, { P }, nothing)
    end)
    world:commit()
  end)

  it("refuses what is no array of ids", function()
    refuses(world, { "engram.World:batchSpawnAt: array of ids" }, function()
      world:batchSpawnAt(5, { P }, nothing)
    end)
    for _, e in ipairs({ "5", true, {}, 5LL }) do
      refuses(world, { "batchSpawnAt: id at position 2" }, function()
        world:batchSpawnAt({ 5, e }, { P }, nothing)
      end)
    end
  end)

  it("does not keep the array it is given", function()
    local ids = { 5, 6 }
    world:defer()
    world:batchSpawnAt(ids, { P }, nothing)
    ids[1], ids[2] = 50, nil
    world:commit()
    assert.is_true(world:isAlive(5))
    assert.is_true(world:isAlive(6))
    assert.is_false(world:isAlive(50))
  end)
end)

describe("a staged batch", function()
  it("leaves out ids despawned before the drain", function()
    world:defer()
    local first = world:batchSpawn(5, { P, T }, function(arch, a, b, count)
      assert.equal(3, count)
      for row = a, b do arch:get(T)[row].hp = arch.entities[row] end
    end)
    world:despawn(first)
    world:despawn(first + 3)
    world:commit()
    for i = 0, 4 do
      local e = first + i
      assert.equal(i ~= 0 and i ~= 3, world:isAlive(e))
      local t = world:get(e, T)
      assert.equal(t and e, t and t.hp)
    end
  end)

  it("with no ids left makes no call", function()
    world:defer()
    local first = world:batchSpawn(2, { P, T }, error)
    world:despawn(first)
    world:despawn(first + 1)
    world:batchSpawnAt({ 50 }, { P }, error)
    world:despawn(50)
    world:commit()
    assert.equal(0, world:getStats().entities)
    assert.equal(id(50, 1), world:spawn())
  end)

  it("applies other work on its ids after the callback", function()
    world:defer()
    local e = world:batchSpawn(1, { P }, function(arch, row)
      arch:get(P)[row].x = 1
      assert.is_nil(arch:get(N))
      assert.equal(0, arch:get(P)[row].y)
    end)
    world:set(e, N(5))
    world:set(e, P(8, 9))
    world:commit()
    assert.equal(8, world:get(e, P).x)
    assert.equal(5, world:get(e, N))
  end)
end)

describe("a batch whose callback raises", function()
  it("is reported as it is raised, and its entities exist", function()
    local message = raises({ "mine" }, function()
      world:batchSpawn(3, { P }, function(arch, first)
        arch:get(P)[first].x = 5
        error("mine")
      end)
    end)
    assert.is_truthy(message:find("batch_spec.lua", 1, true))
    assert.equal(5, world:get(1, P).x)
    assert.equal(3, world:getStats().entities)
    world:unwind()
  end)
end)
