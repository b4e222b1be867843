-- All paths (instant, staged, batches, chosen ids) leave the same components
-- and values behind.

local support = dofile("spec/support/ecs.lua")
local engram = support.engram
local kit = support.components("paths")
local P, T, N, B, S, G, H = kit.P, kit.T, kit.N, kit.B, kit.S, kit.G, kit.H

local world
after_each(function() support.sound(world) end)

describe("the instant and the staged path", function()
  local A = engram.newFFIComponent({ name = "paths.A", container = {},
    fields = { { "x", "double" } }, defaults = { 3 },
    requires = { N(1), T, S } })
  local D = engram.newTagComponent({ name = "paths.D",
    requires = { A, G, B(false) } })

  -- Each recipe changes an entity that has P and S.
  local recipes = {
    ["adding and replacing"] = function(e)
      world:set(e, N(2))
      world:set(e, N(3))
      world:set(e, S("new"))
    end,
    ["requirements"] = function(e) world:set(e, D) end,
    ["requirements that are there"] = function(e)
      world:set(e, B(true))
      world:set(e, N(9))
      world:set(e, D)
    end,
    ["a requirement given afterwards"] = function(e)
      world:set(e, A)
      world:set(e, N(9))
      world:set(e, T(1, "bag"))
    end,
    ["a requirement removed"] = function(e)
      world:set(e, D)
      world:remove(e, A)
      world:remove(e, S)
    end,
    ["a requirement removed and asked for again"] = function(e)
      world:set(e, A(8))
      world:remove(e, N)
      world:set(e, D)
      world:remove(e, D)
      world:remove(e, T)
      world:set(e, D)
    end,
    ["coming and going"] = function(e)
      world:set(e, T(4))
      world:remove(e, T)
      world:set(e, T)
      world:remove(e, P)
      world:set(e, P)
      world:remove(e, S)
    end,
    ["removing all"] = function(e)
      world:remove(e, P)
      world:remove(e, S)
    end,
    ["despawning"] = function(e)
      world:set(e, T(4))
      world:despawn(e)
      world:remove(e, P)
    end,
  }

  local function outcome(prepare, change)
    world = engram.newWorld()
    for i = 1, 3 do world:spawn(P(i, i), S("other")) end
    prepare(change)
    local state = support.state(world)
    assert.equal(0, state.pending)
    assert.equal(0, state.depth)
    support.sound(world)
    return state.entities
  end

  for name, recipe in pairs(recipes) do
    it("give the same components and values: " .. name, function()
      local expected = outcome(function()
        recipe(world:spawn(P(1, 2), S("mine")))
      end)
      local function spawnHere() return world:spawn(P(1, 2), S("mine")) end
      local paths = {
        function() -- a change staged
          local e = spawnHere()
          world:defer()
          recipe(e)
          world:commit()
        end,
        function() -- spawn and change staged
          world:defer()
          recipe(spawnHere())
          world:commit()
        end,
        function() -- an explicit id
          world:spawnAt(4, P(1, 2), S("mine"))
          recipe(4)
        end,
        function()
          world:defer()
          world:spawnAt(4, P(1, 2), S("mine"))
          recipe(4)
          world:unwind()
        end,
        function() -- an id of a batch, its rows still to come
          world:defer()
          local e = world:batchSpawn(1, { P, S }, function(arch, row)
            arch:get(P)[row] = P(1, 2)
            arch:get(S)[row] = "mine"
          end)
          recipe(e)
          world:commit()
        end,
        function() -- from inside the callback of a batch
          world:batchSpawn(1, { P, S }, function(arch, row)
            arch:get(P)[row] = P(1, 2)
            arch:get(S)[row] = "mine"
            recipe(arch.entities[row])
          end)
        end,
        function() -- inside a loop
          local e = spawnHere()
          for _ in world:query({ include = { P, S } }):iter() do recipe(e) end
        end,
      }
      for i = 1, #paths do
        assert.same(expected, outcome(paths[i]), "path " .. i)
      end
    end)
  end

  it("close over requirements on every path", function()
    local function check(e, n)
      assert.is_true(world:has(e, D))
      assert.equal(3, world:get(e, A).x)
      assert.equal(n or 1, world:get(e, N))
      assert.is_false(world:get(e, B))
      assert.is_true(world:has(e, G))
      assert.equal("none", world:get(e, S))
      assert.same({ hp = 100, bag = { "rope" } }, world:get(e, T))
    end
    local ids = { world:spawn(D), world:spawn(D, P(1, 1), H) }
    ids[3] = world:spawn()
    world:set(ids[3], D)
    world:spawnAt(50, D)
    ids[4] = 50
    ids[5], ids[6] = world:batchSpawn(2, { D }, function() end), 52
    world:batchSpawnAt({ 60, 62 }, { P, D }, function() end)
    ids[7], ids[8] = 60, 62
    world:defer()
    ids[9] = world:spawn(D)
    ids[10] = world:batchSpawn(1, { D }, function() end)
    ids[11] = world:spawn(P(1, 1))
    world:set(ids[11], D)
    world:batchSpawnAt({ 70 }, { D }, function() end)
    ids[12] = 70
    world:commit()
    ids[6] = ids[5] + 1
    local seen = {}
    for i = 1, #ids do
      check(ids[i])
      local t = world:get(ids[i], T)
      assert.is_nil(seen[t])
      seen[t] = true
    end
    check(world:spawn(N(5), D), 5)
    check(world:spawn(D, N(5)), 5)
  end)
end)
