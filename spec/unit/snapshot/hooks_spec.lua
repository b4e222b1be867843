local buffer = require("string.buffer")
local kit = require("spec.support.snapkit")
local hooks = require("spec.support.snaphooks")

local raises = kit.raises
local Pos, Num, Tag = kit.Pos, kit.Num, kit.Tag
local Hook, HookFFI, HookNum = kit.Hook, kit.HookFFI, kit.HookNum
local source, withEach = hooks.source, hooks.withEach

-- What hooks hold in common with the test around them.
local fail = {}

after_each(function() fail = {} end)

local function newWorld() return kit.engram.newWorld() end

describe("serialize and deserialize", function()
  it("are the stored form of a component", function()
    local world, ids = source()
    local other = newWorld()
    other:loadSnapshot(kit.save(world))
    kit.same(kit.contents(world), kit.contents(other))
    assert.equal(6, other:get(ids[3], HookFFI).cache)
    kit.same(kit.save(world), kit.save(other))
  end)

  it("get the value, the world and plain data", function()
    local world, ids = source()
    local seen = {}
    kit.hook("table.save", function(self)
      assert.equal(Hook, self.componentType)
      return { stored = self.level * 10 }
    end, function()
      local bytes = kit.save(world)
      local other = newWorld()
      kit.hook("table.load", function(w, data)
        assert.equal(other, w)
        assert.is_nil(getmetatable(data))
        seen[#seen + 1] = data.stored
        return Hook(data.stored)
      end, function() other:loadSnapshot(bytes) end)
      assert.same({ 10, 20, 30, 40, 50 }, seen)
      assert.equal(30, other:get(ids[3], Hook).level)
    end)
  end)

  it("see every saved id alive and the keys", function()
    local world, ids = source()
    local hero = world:spawn(kit.Key("hero"))
    local bytes = kit.save(world)
    withEach(function(w)
      for _, id in ipairs(ids) do
        assert.is_true(w:isAlive(id))
        assert.is_true(w:has(id, Pos))
        assert.equal(id, w:get(id, Pos).x)
      end
      assert.equal(hero, w:byKey("hero"))
      assert.equal(hero, w:requireKey("hero"))
    end, function(_, calls)
      local other = kit.everything()
      other:loadSnapshot(bytes)
      assert.equal(5, calls())
    end)
  end)

  it("find values of rows reached, and none of those to come", function()
    local world, ids = source()
    local bytes = kit.save(world)
    kit.hook("table.load", function(w, data)
      for i, id in ipairs(ids) do
        local other = w:get(id, Hook)
        if i < data.level then
          assert.equal(i, other.level)
          assert.equal(Hook, other.componentType)
        else
          assert.is_nil(other)
        end
      end
      return Hook.new(data)
    end, function() newWorld():loadSnapshot(bytes) end)
  end)

  it("find zeros in structs to come, not what lay there before", function()
    local world, ids = source()
    local bytes = kit.save(world)
    local other = newWorld()
    for _ = 1, 3 do other:loadSnapshot(bytes) end
    kit.hook("ffi.load", function(w, data)
      for i, id in ipairs(ids) do
        local seen = w:get(id, HookFFI)
        local there = i < data.x
        assert.same({ there and i or 0, there and 2 * i or 0 },
          { seen.x, seen.cache })
      end
      return HookFFI(data.x, data.n, data.x * 2)
    end, function() other:loadSnapshot(bytes) end)
  end)

  it("may write rows: those reached keep it", function()
    local world, ids = source()
    local bytes = kit.save(world)
    local other = newWorld()
    kit.hook("scalar.load", function(w, data)
      local n = tonumber(data.text)
      for i = 1, 5 do w:set(ids[i], HookNum, 1000 + n) end
      return HookNum(n)
    end, function() other:loadSnapshot(bytes) end)
    for i = 1, 4 do assert.equal(1005, other:get(ids[i], HookNum)) end
    assert.equal(5, other:get(ids[5], HookNum))
  end)

  it("may look through queries, and leave a loop early", function()
    local world = source()
    local bytes = kit.save(world)
    withEach(function(w, _, calls)
      local n = 0
      for arch, length in w:query({ include = { Pos } }):iter() do
        n = n + length
        assert.is_truthy(arch:get(Pos))
      end
      assert.equal(5, n)
      if calls == 3 then
        local step, query = w:query({ include = { Pos } }):iter()
        step(query)
        w:defer()
      end
    end, function()
      local other = newWorld()
      other:loadSnapshot(bytes)
      assert.equal(0, other._depth)
      other:spawn(Pos(1, 1))
      assert.equal(6, other:query({ include = { Pos } }):count())
    end)
  end)
end)

describe("structural changes in deserialize", function()
  it("wait until all values are there", function()
    local world, ids = source()
    local bytes = kit.save(world)
    withEach(function(w, _, calls)
      local id = w:spawn(Pos(100 + calls, 0), Num(calls))
      assert.is_false(w:isAlive(id))
      w:set(id, Tag)
      if calls == 2 then w:despawn(ids[4]) end
      if calls == 3 then
        w:remove(ids[1], Pos)
        w:set(ids[2], Tag)
      end
      w:commit()
      w:unwind()
      assert.is_false(w:isAlive(id))
      assert.is_true(w:isAlive(ids[4]))
      assert.is_true(w:has(ids[1], Pos))
      assert.is_false(w:has(ids[2], Tag))
    end, function()
      local other = newWorld()
      other:loadSnapshot(bytes)
      kit.check(other)
      assert.equal(9, other:getStats().entities)
      assert.is_false(other:isAlive(ids[4]))
      assert.is_false(other:has(ids[1], Pos))
      assert.is_true(other:has(ids[2], Tag))
      local found = 0
      for _, length in other:query({ include = { Num, Tag } }):iter() do
        found = found + length
      end
      assert.equal(5, found)
    end)
  end)

  it("may be batches, whose callbacks run in the load", function()
    local world = source()
    local bytes = kit.save(world)
    local ran = 0
    local other = newWorld()
    kit.hook("table.load", function(w, data)
      w:batchSpawn(2, { Num }, function(arch, first, last)
        ran = ran + 1
        for row = first, last do arch:get(Num)[row] = data.level end
      end)
      return Hook.new(data)
    end, function() other:loadSnapshot(bytes) end)
    assert.equal(5, ran)
    assert.equal(15, other:getStats().entities)
    kit.check(other)
  end)

  it("may claim keys", function()
    local world, ids = source()
    local bytes = kit.save(world)
    local other = newWorld()
    kit.hook("table.load", function(w, data)
      w:set(ids[data.level], kit.Key("k" .. data.level))
      return Hook.new(data)
    end, function() other:loadSnapshot(bytes) end)
    for i = 1, 5 do assert.equal(ids[i], other:byKey("k" .. i)) end
  end)
end)

describe("inside a hook of a load", function()
  it("the world refuses what would break it", function()
    local world = source()
    local bytes = kit.save(world)
    withEach(function(w)
      for _, call in ipairs({ "saveSnapshot", "compact", "close",
        "clearEntities" }) do
        raises({ "engram.World:" .. call, "load" }, w[call], w)
      end
      raises({ "engram.World:loadSnapshot", "load" }, w.loadSnapshot, w,
        bytes)
    end, function()
      local other = newWorld()
      other:loadSnapshot(bytes)
      kit.same(kit.contents(world), kit.contents(other))
    end)
  end)

  it("no one can yield", function()
    local bytes = kit.save((source()))
    withEach(function() coroutine.yield() end, function(name)
      local world = kit.everything()
      local before = kit.state(world)
      local thread = coroutine.create(function()
        world:loadSnapshot(bytes)
      end)
      local ok, message = coroutine.resume(thread)
      assert.is_false(ok)
      assert.is_truthy(message:find("yield", 1, true))
      assert.is_truthy(message:find(name, 1, true))
      assert.equal("dead", coroutine.status(thread))
      kit.same(before, kit.state(world))
    end)
  end)

  it("not even through a pcall or a coroutine of its own", function()
    local bytes = kit.save((source()))
    withEach(function()
      local ok = pcall(coroutine.yield)
      assert.is_false(ok)
      local inner = coroutine.wrap(function()
        coroutine.yield(1)
        return 2
      end)
      assert.equal(1, inner())
      assert.equal(2, inner())
    end, function()
      local world = newWorld()
      assert(coroutine.resume(coroutine.create(function()
        world:loadSnapshot(bytes)
      end)))
      assert.equal(5, world:getStats().entities)
    end)
  end)

  it("other worlds can be saved and loaded", function()
    local world = source()
    local bytes = kit.save(world)
    local depth = 0
    local inside = kit.everything()
    local expected = kit.save(inside)
    withEach(function()
      if depth > 0 then return end
      depth = 1
      local nested = newWorld()
      nested:loadSnapshot(kit.save(inside))
      nested:loadSnapshot(bytes)
      nested:loadSnapshot(kit.save(inside))
      kit.same(expected, kit.save(nested))
      pcall(nested.loadSnapshot, nested, "rubbish")
      nested:close()
      depth = 0
    end, function()
      local other = kit.everything()
      other:loadSnapshot(bytes)
      kit.same(kit.contents(world), kit.contents(other))
    end)
  end)

  it("the source may be reset, freed or collected", function()
    local world = source()
    local text = kit.save(world)
    for _, take in ipairs({
      function(out) out:reset():put(("\255"):rep(5000)) end,
      function(out) out:free() end,
      function(out) out:set("x") end,
    }) do
      withEach(function(_, _, calls)
        if calls == 1 then take(fail.buffer) end
      end, function()
        fail.buffer = buffer.new():put(text)
        local other = kit.everything()
        other:loadSnapshot(fail.buffer)
        kit.same(kit.contents(world), kit.contents(other))
      end)
    end
    withEach(function()
      fail.result.buffer = nil
      collectgarbage()
      collectgarbage()
    end, function()
      fail.result = world:saveSnapshot()
      local other = kit.everything()
      other:loadSnapshot(fail.result)
      kit.same(kit.contents(world), kit.contents(other))
    end)
  end)

  it("a string that only the load holds stays", function()
    local world = source()
    local junk
    withEach(function(_, _, calls)
      if calls % 4 ~= 1 then return end
      junk = {}
      for i = 1, 50 do junk[i] = ("junk"):rep(i) end
      collectgarbage()
    end, function()
      for _ = 1, 6 do
        local other = newWorld()
        other:loadSnapshot(kit.save(world))
        kit.same(kit.contents(world), kit.contents(other))
      end
    end)
    assert.equal(50, #junk)
  end)
end)
