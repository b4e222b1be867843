local buffer = require("string.buffer")
local kit = require("spec.support.snapkit")
local hooks = require("spec.support.snaphooks")
local wire = require("spec.support.snapwire")

local raises = kit.raises
local Pos, Num, Tag = kit.Pos, kit.Num, kit.Tag
local Hook, HookFFI, HookNum = kit.Hook, kit.HookFFI, kit.HookNum
local source = hooks.source

local function newWorld() return kit.engram.newWorld() end

describe("serialize", function()
  it("must return a table", function()
    local world = source()
    for _, wrong in ipairs({ 5, "x", true, print, HookNum(1) == nil }) do
      kit.hook("table.save", function() return wrong end, function()
        raises({ '"kit.Hook"', "entity 1", "serialize", "table" },
          world.saveSnapshot, world)
      end)
    end
    kit.hook("table.save", function() end, function()
      raises({ '"kit.Hook"', "nil" }, world.saveSnapshot, world)
    end)
  end)

  it("may return an instance, which is stored plainly", function()
    local world, ids = source()
    local other = newWorld()
    kit.hook("table.save", function(self) return self end, function()
      other:loadSnapshot(kit.save(world))
    end)
    assert.equal(3, other:get(ids[3], Hook).level)
  end)

  it("is reported with entity, component and path when its result cannot be "
    .. "saved", function()
    local world = source()
    kit.hook("ffi.save", function(self)
      return { deep = { self.x > 2 and print or 1 } }
    end, function()
      raises({ "saveSnapshot", '"kit.HookFFI"', "entity 3", "deep[1]",
        "function" }, world.saveSnapshot, world)
    end)
  end)

  it("keeps its error's text; the world stays, the buffer is empty", function()
    for _, name in ipairs({ "table.save", "ffi.save", "scalar.save" }) do
      for row = 1, 5 do
        local calls = 0
        local world = kit.everything()
        for i = 1, 5 do world:spawn(Hook(i), HookFFI(i), HookNum(i)) end
        local before = kit.state(world)
        local out = buffer.new():put("old")
        kit.hook(name, function()
          calls = calls + 1
          if calls == row then error("cannot be") end
          return {}
        end, function()
          raises({ "cannot be", "kit.Hook", "serialize", "entity" },
            world.saveSnapshot, world, { buffer = out })
        end)
        assert.equal(0, #out)
        kit.same(before, kit.state(world))
      end
    end
  end)

  it("cannot yield", function()
    local world = source()
    kit.hook("table.save", function() coroutine.yield() end, function()
      local thread = coroutine.create(function() world:saveSnapshot() end)
      local ok, message = coroutine.resume(thread)
      assert.is_false(ok)
      assert.is_truthy(message:find("yield", 1, true))
    end)
    assert.equal(0, world._depth)
    world:saveSnapshot()
  end)

  it("may change structure: after the save, and not in it", function()
    local world, ids = source()
    local expected = kit.save(world)
    kit.hook("table.save", function(self)
      world:spawn(Pos(1, 1), Num(self.level))
      world:despawn(ids[self.level])
      world:set(ids[1], Tag)
      world:commit()
      world:unwind()
      local step, query = world:query({}):iter()
      step(query)
      return { level = self.level, more = self.more }
    end, function()
      kit.same(expected, kit.save(world))
    end)
    kit.check(world)
    assert.equal(0, world._depth)
    assert.equal(5, world:getStats().entities)
    assert.equal(5, world:query({ include = { Num } }):count())
  end)

  it("has its changes applied also when the save fails", function()
    local world, ids = source()
    kit.hook("table.save", function(self)
      world:despawn(ids[5])
      if self.level == 3 then error("third") end
      return {}
    end, function()
      raises({ "third" }, world.saveSnapshot, world)
    end)
    kit.check(world)
    assert.is_false(world:isAlive(ids[5]))
    assert.equal(0, world._depth)
  end)

  it("may write values: those not reached are saved with it", function()
    local world, ids = source()
    kit.hook("table.save", function(self)
      world:set(ids[5], HookNum, 1000 + self.level)
      world:get(ids[5], Pos).x = self.level
      return { level = self.level }
    end, function()
      local other = newWorld()
      other:loadSnapshot(kit.save(world))
      assert.equal(1005, other:get(ids[5], HookNum))
      assert.equal(5, other:get(ids[5], Pos).x)
    end)
  end)

  it("meets a world that refuses what would break it", function()
    local world = source()
    local bytes = kit.save(world)
    local calls = 0
    kit.hook("ffi.save", function(self)
      for _, call in ipairs({ "saveSnapshot", "compact", "close",
        "clearEntities" }) do
        raises({ "engram.World:" .. call, "save" }, world[call], world)
      end
      raises({ "engram.World:loadSnapshot", "save" }, world.loadSnapshot,
        world, bytes)
      calls = calls + 1
      return { x = self.x, n = self.n }
    end, function() kit.same(bytes, kit.save(world)) end)
    assert.equal(5, calls)
  end)

  it("may use the buffer it is saved into", function()
    local world = source()
    local expected = kit.save(world)
    local out = buffer.new()
    for _, use in ipairs({ function() out:put("junk") end,
      function() out:free() end, function() out:reserve(100) end }) do
      kit.hook("table.save", function(self)
        use()
        return { level = self.level, more = self.more }
      end, function()
        world:saveSnapshot({ buffer = out })
        kit.same(expected, out:tostring())
      end)
    end
  end)

  it("may save other worlds", function()
    local world = source()
    local expected = kit.save(world)
    local inside = kit.everything()
    local within
    kit.hook("scalar.save", function(value)
      if not within then
        within = true
        kit.save(inside)
        within = nil
      end
      return { text = tostring(value) }
    end, function() kit.same(expected, kit.save(world)) end)
  end)

  it("does not see changes of custom data taken over", function()
    local world = source()
    local data = { a = 1, b = 2 }
    local expected = kit.save(world, { customData = data })
    kit.hook("table.save", function(self)
      data.a, data.c = nil, 3
      return { level = self.level, more = self.more }
    end, function()
      kit.same(expected, kit.save(world, { customData = data }))
    end)
  end)

  it("alone gives data that C.new reads", function()
    local bytes = wire.snapshot({
      components = { { "kit.Hook" } },
      records = { { columns = { 1 }, ids = { 1 }, data = {
        wire.hash(wire.string("level"), wire.number(4)) } } },
    })
    local world = newWorld()
    world:loadSnapshot(bytes)
    assert.equal(4, world:get(1, Hook).level)
  end)
end)

describe("an error in a batch that serialize has staged", function()
  it("is raised, and the buffer is empty", function()
    local world = source()
    local out = buffer.new()
    kit.hook("table.save", function(self)
      if self.level == 2 then
        world:batchSpawn(1, { Num }, function() error("staged error") end)
      end
      return {}
    end, function()
      raises({ "staged error" }, world.saveSnapshot, world, { buffer = out })
    end)
    assert.equal(0, #out)
    world:unwind()
    kit.check(world)
    world:saveSnapshot()
  end)
end)
