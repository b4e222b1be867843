local support = dofile("spec/support/ecs.lua")
local engram, raises, refuses = support.engram, support.raises,
  support.refuses
local kit = support.components("keys")
local P, T, N, G = kit.P, kit.T, kit.N, kit.G
local EntityKey, Name = engram.EntityKey, engram.Name

local world
before_each(function() world = engram.newWorld({ maxEntities = 100 }) end)
after_each(function() support.sound(world) end)

local function fails() error("on purpose", 0) end

-- Nobody claims the key: a new entity can have it.
local function isFree(key)
  assert.is_nil(world:byKey(key))
  local e = world:spawn(EntityKey(key))
  world:despawn(e)
  world:unwind()
end

describe("an EntityKey", function()
  it("finds its entity, at once at depth 0", function()
    local a = world:spawn(EntityKey("a"), P(1, 1))
    local b = world:spawn()
    world:set(b, EntityKey("b"))
    local c = world:spawn(N(1))
    world:set(c, EntityKey, "c")
    world:spawnAt(50, EntityKey("at"))
    assert.equal(a, world:byKey("a"))
    assert.equal(b, world:byKey("b"))
    assert.equal(c, world:requireKey("c"))
    assert.equal(50, world:byKey("at"))
    assert.equal("a", world:get(a, EntityKey))
    assert.is_nil(world:byKey("d"))
    raises({ "engram.World:requireKey", '"d"' }, function()
      world:requireKey("d")
    end)
  end)

  it("may hold any bytes", function()
    for _, key in ipairs({ "\0", "a\0b", "\255\254", ("x"):rep(1000), "1" }) do
      local e = world:spawn(EntityKey(key))
      assert.equal(e, world:byKey(key))
    end
  end)

  it("is told apart from numbers, which raise", function()
    world:spawn(EntityKey("1"))
    for _, key in ipairs({ 1, true, {}, P }) do
      raises({ "engram.World:byKey: string" }, function() world:byKey(key) end)
      raises({ "string" }, function() world:requireKey(key) end)
    end
    raises({ "byKey", "nil" }, function() world:byKey() end)
  end)

  it("may not be empty", function()
    local e = world:spawn(P)
    for _, value in ipairs({ EntityKey(""), EntityKey }) do
      refuses(world, { "EntityKey", "non-empty" }, function()
        world:spawn(P, value)
      end)
      refuses(world, { "EntityKey", "non-empty" }, function()
        world:spawnAt(9, value)
      end)
      refuses(world, { "engram.World:set", "non-empty", "EntityKey" },
        function() world:set(e, value) end)
      world:defer()
      refuses(world, { "EntityKey" }, function() world:spawn(value) end)
      refuses(world, { "EntityKey" }, function() world:set(e, value) end)
      world:commit()
    end
    refuses(world, { "EntityKey" }, function() world:set(e, EntityKey, "") end)
  end)

  it("is refused to a second entity on every path, naming key and holder",
    function()
      local holder = world:spawn(EntityKey("taken"), T(1))
      local other = world:spawn(EntityKey("other"))
      local plain = world:spawn(P(1, 1), T(2))
      local function refuseAll()
        local texts = { '"taken"', ("entity %.0f"):format(holder) }
        refuses(world, texts, function()
          world:spawn(T(3), EntityKey("taken"))
        end)
        refuses(world, texts, function()
          world:spawnAt(70, EntityKey("taken"))
        end)
        refuses(world, texts, function()
          world:set(plain, EntityKey("taken"))
        end)
        refuses(world, texts, function()
          world:set(other, EntityKey, "taken")
        end)
      end
      refuseAll()
      world:defer()
      refuseAll()
      world:set(plain, N(1)) -- the staged path of set
      refuseAll()
      local pending = world:spawn()
      refuses(world, { '"taken"' }, function()
        world:set(pending, EntityKey("taken"))
      end)
      world:commit()
      assert.equal("other", world:get(other, EntityKey))
      assert.equal(other, world:byKey("other"))
      assert.is_false(world:has(plain, EntityKey))
    end)

  it("may be set again to what it is", function()
    local e = world:spawn(EntityKey("k"))
    world:set(e, EntityKey("k"))
    world:defer()
    world:set(e, EntityKey("k"))
    world:set(e, N(1))
    world:set(e, EntityKey("k"))
    world:commit()
    assert.equal(e, world:byKey("k"))
  end)

  it("of two in one call is the last", function()
    local e = world:spawn(EntityKey("x"), EntityKey("y"))
    assert.equal(e, world:byKey("y"))
    isFree("x")
  end)

  it("is given up by replacing, removing and despawning", function()
    local e = world:spawn(EntityKey("one"), T(1))
    world:set(e, EntityKey("two"))
    isFree("one")
    assert.equal(e, world:byKey("two"))
    world:remove(e, EntityKey)
    isFree("two")
    assert.equal(1, world:get(e, T).hp)
    world:set(e, EntityKey("three"))
    world:remove(e, T)
    assert.equal(e, world:byKey("three"))
    world:despawn(e)
    isFree("three")
  end)

  it("follows its entity through moves and swaps", function()
    local ids = {}
    for i = 1, 30 do ids[i] = world:spawn(EntityKey("k" .. i), T(i)) end
    for i = 1, 30, 3 do world:set(ids[i], G) end
    for i = 2, 30, 3 do world:despawn(ids[i]) end
    for i = 1, 30 do
      assert.equal(i % 3 ~= 2 and ids[i] or nil, world:byKey("k" .. i))
      assert.equal(i % 3 ~= 2 and "k" .. i or nil,
        world:get(ids[i], EntityKey))
    end
  end)

  it("is forgotten by clearEntities", function()
    world:spawn(EntityKey("k"))
    world:defer()
    world:spawn(EntityKey("pending"))
    world:clearEntities()
    isFree("k")
    isFree("pending")
  end)

  it("is separate in every world", function()
    local other = engram.newWorld()
    local a = world:spawn(EntityKey("k"))
    other:spawn()
    local b = other:spawn(EntityKey("k"))
    assert.equal(a, world:byKey("k"))
    assert.equal(b, other:byKey("k"))
  end)
end)

describe("a staged EntityKey", function()
  it("is claimed at the call and found when the scope closes", function()
    local e = world:spawn(P)
    world:defer()
    local a = world:spawn(EntityKey("a"))
    world:set(e, EntityKey("e"))
    world:spawnAt(60, EntityKey("at"))
    for _, key in ipairs({ "a", "e", "at" }) do
      assert.is_nil(world:byKey(key))
      refuses(world, { '"' .. key .. '"' }, function()
        world:spawn(EntityKey(key))
      end)
    end
    world:commit()
    assert.equal(a, world:byKey("a"))
    assert.equal(e, world:byKey("e"))
    assert.equal(60, world:byKey("at"))
  end)

  it("is given up by a spawn that is cancelled", function()
    world:defer()
    local a = world:spawn(EntityKey("a"), T(1))
    local b = world:spawn()
    world:set(b, EntityKey("b"))
    world:despawn(a)
    world:despawn(b)
    local c = world:spawn(EntityKey("a"))
    world:commit()
    assert.equal(c, world:byKey("a"))
    isFree("b")
  end)

  it("is given up by replacing and removing a pending one", function()
    world:defer()
    local a = world:spawn(EntityKey("one"))
    world:set(a, EntityKey("two"))
    local b = world:spawn(EntityKey("one"))
    world:remove(a, EntityKey)
    local c = world:spawn(EntityKey("two"))
    world:commit()
    assert.equal(b, world:byKey("one"))
    assert.equal(c, world:byKey("two"))
    assert.is_false(world:has(a, EntityKey))
  end)

  it("stays found until the despawn or removal is applied", function()
    local a, b = world:spawn(EntityKey("a")), world:spawn(EntityKey("b"))
    world:defer()
    world:despawn(a)
    world:remove(b, EntityKey)
    assert.equal(a, world:byKey("a"))
    assert.equal(b, world:byKey("b"))
    world:commit()
    isFree("a")
    isFree("b")
  end)

  -- Hand-over inside one scope, by each way of giving up and of taking.
  local gives = {
    remove = function(e) world:remove(e, EntityKey) end,
    despawn = function(e) world:despawn(e) end,
    replace = function(e) world:set(e, EntityKey("elsewhere")) end,
    ["replace with a move"] = function(e)
      world:set(e, N(1))
      world:set(e, EntityKey("elsewhere"))
    end,
  }
  local takes = {
    spawn = function() return world:spawn(EntityKey("k")) end,
    set = function(b)
      world:set(b, EntityKey("k"))
      return b
    end,
    ["set of one moved before"] = function(b)
      world:set(b, EntityKey("k"))
      return b
    end,
    ["replace in place"] = function(_, c)
      world:set(c, EntityKey("k"))
      return c
    end,
    spawnAt = function()
      world:spawnAt(90, EntityKey("k"))
      return 90
    end,
  }
  local names = {}
  for take in next, takes do names[#names + 1] = take end
  table.sort(names)
  for give, giving in pairs(gives) do
    for _, take in ipairs(names) do
      it(("goes over from %s to %s"):format(give, take), function()
        local a = world:spawn(EntityKey("k"), T(1))
        local b, c = world:spawn(P), world:spawn(EntityKey("old"), T(3))
        world:defer()
        if take == "set of one moved before" then world:set(b, G) end
        giving(a)
        local new = takes[take](b, c)
        refuses(world, { '"k"', ("entity %.0f"):format(new) }, function()
          world:spawn(EntityKey("k"))
        end)
        world:commit()
        assert.equal(new, world:byKey("k"))
        assert.equal("k", world:get(new, EntityKey))
        if give:find("replace") then
          assert.equal(a, world:byKey("elsewhere"))
          assert.equal(1, world:get(a, T).hp)
        end
        if take == "replace in place" then isFree("old") end
        world:despawn(new)
        isFree("k")
      end)
    end
  end

  it("swaps between two entities by way of a third key", function()
    local a, b = world:spawn(EntityKey("a")), world:spawn(EntityKey("b"))
    world:defer()
    world:set(a, EntityKey("tmp"))
    world:set(b, EntityKey("a"))
    world:set(a, EntityKey("b"))
    world:commit()
    assert.equal(b, world:byKey("a"))
    assert.equal(a, world:byKey("b"))
    isFree("tmp")
  end)

  it("is set on an id of a batch before its rows exist", function()
    world:defer()
    local e = world:batchSpawn(2, { P }, function(arch, first)
      assert.is_nil(world:byKey("k"))
      assert.is_nil(arch:get(EntityKey))
      assert.equal(1, first)
    end)
    world:set(e, EntityKey("k"))
    world:set(e + 1, EntityKey("gone"))
    world:despawn(e + 1)
    world:commit()
    assert.equal(e, world:byKey("k"))
    isFree("gone")
  end)
end)

describe("a claim", function()
  it("is not made by a call that raises", function()
    local fragile = engram.newComponent({ name = "keys.fragile",
      container = {}, fields = { "x" }, init = fails })
    local e = world:spawn(P)
    local calls = {
      function() world:spawn(EntityKey("k"), fragile) end,
      function() world:spawn(fragile, EntityKey("k")) end,
      function() world:spawn(EntityKey("k"), 5) end,
      function() world:spawnAt(e, EntityKey("k")) end,
      function() world:spawnAt(0, EntityKey("k")) end,
      function() world:spawnAt(9, EntityKey("k"), fragile) end,
      function() world:set(99, EntityKey("k")) end,
    }
    for depth = 0, 1 do
      if depth == 1 then world:defer() end
      for i = 1, #calls do
        assert.is_false((pcall(calls[i])))
      end
      if depth == 1 then world:commit() end
      isFree("k")
    end
    assert.equal(1, world:getStats().entities)
  end)

  it("is not made when there is no slot", function()
    for _ = 1, 99 do world:spawn() end
    local last = world:spawn(EntityKey("first"))
    refuses(world, { "no free entity slot" }, function()
      world:spawn(EntityKey("k"))
    end)
    world:defer()
    refuses(world, { "no free entity slot" }, function()
      world:spawn(EntityKey("k"))
    end)
    world:commit()
    world:despawn(last)
    isFree("k")
  end)

  it("is ignored with the set of an entity staged for despawn", function()
    local e = world:spawn(EntityKey("mine"))
    world:spawn(EntityKey("other"))
    world:defer()
    world:despawn(e)
    world:set(e, EntityKey("other")) -- not even looked at
    world:set(e, EntityKey("new"))
    world:commit()
    isFree("mine")
    isFree("new")
  end)
end)

describe("Name", function()
  it("is not unique and may be empty", function()
    local a, b = world:spawn(Name("x")), world:spawn(Name("x"))
    world:set(a, Name(""))
    assert.equal("", world:get(a, Name))
    assert.equal("x", world:get(b, Name))
    assert.is_nil(world:byKey("x"))
  end)
end)
