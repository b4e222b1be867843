local kit = require("spec.support.snapkit")
local hooks = require("spec.support.snaphooks")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local raises, refused = kit.raises, kit.refused
local Pos, Body, Num, Tag = kit.Pos, kit.Body, kit.Num, kit.Tag
local Hook, HookFFI, HookNum = kit.Hook, kit.HookFFI, kit.HookNum
local source, withEach = hooks.source, hooks.withEach

-- Constructors that fail on demand.
local fail = {}
local Init = engram.newComponent({ name = "hooks.Init", container = {},
  fields = { "v" },
  init = function() if fail.init then error(fail.init) end end })
local New = engram.newComponent({ name = "hooks.New", container = {},
  new = function(data)
    if fail.new then return fail.new(data) end
    return { v = data.v }
  end })
local Made = engram.newComponent({ name = "hooks.Made", container = {},
  fields = { "v" }, transient = true,
  init = function() if fail.made then error(fail.made) end end })
local Needs = engram.newComponent({ name = "hooks.Needs", container = {},
  requires = { Made } })

after_each(function() fail = {} end)

local function newWorld() return engram.newWorld() end

describe("an error in deserialize", function()
  it("leaves the world as it was, whichever row it is", function()
    local bytes = kit.save((source()))
    for row = 1, 5 do
      withEach(function(_, _, calls)
        if calls == row then error("no luck with it") end
      end, function(name)
        local world = kit.everything()
        local message = refused(world, bytes, { "no luck with it", name,
          "entity " .. row, "deserialize" })
        assert.is_truthy(message:find("hooks_errors_spec.lua:%d+: no luck"))
      end)
    end
  end)

  it("takes back what the hook has staged and written", function()
    local world, ids = source()
    local bytes = kit.save(world)
    withEach(function(w, _, calls)
      w:spawn(Body(1), kit.Key("new" .. calls))
      w:spawnAt(500 + calls, Pos(1, 1))
      w:batchSpawn(3, { Num }, function() end)
      w:despawn(ids[1])
      w:set(ids[2], Tag)
      w:set(ids[3], Num, 9)
      w:remove(ids[4], Body)
      w:set(ids[5], Pos(9, 9))
      w:get(ids[5], Body).hp = 99
      if calls % 4 == 0 then error("late") end
    end, function(name)
      local target = kit.everything()
      kit.fill(target, 30, 5)
      for _ = 1, 3 do refused(target, bytes, { "late", name }) end
      local same = kit.everything()
      kit.fill(same, 30, 5)
      assert.same(kit.nextIds(same, 30), kit.nextIds(target, 30))
      kit.check(target)
    end)
  end)

  it("forgets the ways to archetypes that it had made", function()
    local bytes = kit.save((source()))
    withEach(function(w, _, calls)
      w:set(1, Tag)
      w:set(2, Num(1))
      w:set(2, kit.Text("x"))
      w:remove(3, Pos)
      w:remove(4, Body)
      w:spawn(Tag, Num(1))
      w:spawn(Pos(1, 1), Tag)
      w:batchSpawn(2, { Tag, Body }, function() end)
      if calls == 5 then error("x") end
    end, function()
      -- A world that has the archetypes of the source already.
      local world, ids = source()
      refused(world, bytes, { "x" })
      for _, into in ipairs({ world, (source()) }) do
        into:set(ids[1], Tag)
        into:set(ids[2], Num(1))
        into:set(ids[2], kit.Text("x"))
        into:remove(ids[3], Pos)
        into:remove(ids[4], Body)
        into:spawn(Tag, Num(1))
        into:defer()
        into:set(ids[5], Tag)
        into:spawn(Pos(1, 1), Tag)
        into:commit()
        into:batchSpawn(2, { Tag, Body }, function() end)
        kit.check(into)
      end
      assert.is_true(world:has(ids[1], Tag))
      assert.equal("x", world:get(ids[2], kit.Text))
      assert.is_false(world:has(ids[3], Pos))
      assert.equal(2, world:query({ include = { Num } }):count())
    end)
  end)

  it("and leaves nothing open", function()
    local bytes = kit.save((source()))
    withEach(function(w)
      w:defer()
      w:defer()
      local step, query = w:query({}):iter()
      step(query)
      error("x")
    end, function()
      local world = kit.everything()
      refused(world, bytes, { "x" })
      assert.equal(0, world._depth)
      world:saveSnapshot()
      world:loadSnapshot(wire.snapshot({}))
      world:compact()
      world:close()
    end)
  end)

  it("passes as it is when it is no string", function()
    local bytes = kit.save((source()))
    for _, value in ipairs({ {}, 5, false, print }) do
      withEach(function() error(value) end, function()
        local world = kit.everything()
        local before = kit.state(world)
        local ok, message = pcall(world.loadSnapshot, world, bytes)
        assert.is_false(ok)
        if type(value) == "number" then
          assert.is_truthy(tostring(message):find("5"))
        else
          assert.equal(value, message)
        end
        kit.same(before, kit.state(world))
      end)
    end
  end)

  it("may come from a batch callback in the drain", function()
    local bytes = kit.save((source()))
    withEach(function(w, _, calls)
      w:spawn(Pos(1, 2))
      w:batchSpawn(1, { Num }, function()
        if calls == 3 then error("in the drain") end
      end)
    end, function()
      local world = kit.everything()
      refused(world, bytes, { "in the drain" })
      assert.is_false(world._draining)
      kit.check(world)
      world:batchSpawn(2, { Num }, function() end)
      world:defer()
      world:spawn(Num(1))
      world:commit()
      kit.check(world)
    end)
  end)

  it("may come from a later wave of the drain", function()
    local bytes = kit.save((source()))
    withEach(function(w, _, calls)
      w:batchSpawn(1, { Num }, function()
        w:batchSpawn(1, { Num }, function()
          w:spawn(Tag)
          if calls == 5 then error("second wave") end
        end)
      end)
    end, function()
      local world = kit.everything()
      for _ = 1, 3 do
        local before = kit.state(world)
        local ok, message = pcall(world.loadSnapshot, world, bytes)
        if ok then break end
        assert.is_truthy(message:find("second wave", 1, true))
        kit.same(before, kit.state(world))
      end
    end)
  end)

  it("may come from stack overflow", function()
    local bytes = kit.save((source()))
    local function deep() return 1 + deep() end
    withEach(deep, function()
      refused(kit.everything(), bytes, { "stack overflow" })
    end)
  end)

  it("leaves registrations and queries made in it", function()
    local bytes = kit.save((source()))
    local made = 0
    withEach(function(w, _, calls)
      if calls == 2 then
        made = made + 1
        local T = engram.newTagComponent({ name = "hooks.Late" .. made })
        w:spawn(T, Body(1))
        fail.query = w:query({ include = { Body } })
        error("x")
      end
    end, function()
      local world = newWorld()
      world:spawn(Body(1))
      refused(world, bytes, { "x" })
      local T = engram.componentByName("hooks.Late" .. made)
      world:spawn(T, Body(2))
      assert.equal(2, fail.query:count())
      kit.check(world)
    end)
  end)

  it("makes archetypes that it met first read as empty", function()
    local bytes = kit.save((source()))
    local held
    withEach(function(w)
      for arch in w:findArchetypes(Body) do held = arch end
      error("x")
    end, function()
      local world = newWorld()
      world:spawn(Num(1))
      refused(world, bytes, { "x" })
      assert.equal(0, held.entities[0])
      assert.is_nil(held:get(Body))
      raises({ "set" }, held.set, held, 1, Body(1))
      local id = world:spawn(Hook(1), HookFFI(1), HookNum(1), Pos(1, 1),
        Body(1))
      assert.equal(0, held.entities[0])
      assert.equal(1, world:get(id, Body).hp)
    end)
  end)
end)

describe("a result of deserialize", function()
  it("must be an instance", function()
    local bytes = kit.save((source()))
    for _, wrong in ipairs({ 5, "x", true, {}, Body(1), Tag, Pos, Num(1),
      Pos(1, 1), print }) do
      withEach(function() return wrong end, function(name)
        refused(kit.everything(), bytes, { name, "entity 1", "deserialize",
          "instance" })
      end)
    end
    for _, bare in ipairs({ Hook, HookFFI, HookNum }) do
      withEach(function() return bare end, function(name)
        refused(kit.everything(), bytes, { name, "instance" })
      end)
    end
  end)

  it("must be there", function()
    local bytes = kit.save((source()))
    for _, name in ipairs(kit.sortedKeys(hooks.NAMES)) do
      kit.hook(name, function() end, function()
        refused(kit.everything(), bytes, { hooks.NAMES[name], "nil",
          "instance" })
      end)
    end
  end)

  it("may be one instance for two entities, or a row of another", function()
    local world, ids = source()
    local bytes = kit.save(world)
    local one = Hook("one")
    local other = newWorld()
    kit.hook("table.load", function() return one end, function()
      kit.hook("ffi.load", function(w, data)
        if data.x > 1 then return w:get(ids[1], HookFFI) end
        return HookFFI(7, 8)
      end, function() other:loadSnapshot(bytes) end)
    end)
    assert.equal(one, other:get(ids[1], Hook))
    assert.equal(one, other:get(ids[5], Hook))
    for i = 1, 5 do assert.equal(7, other:get(ids[i], HookFFI).x) end
  end)
end)

describe("constructors that fail in a load", function()
  it("are reported with component and entity", function()
    local world = newWorld()
    for i = 1, 3 do world:spawn(Init(i), New.new({ v = i }), Needs()) end
    local bytes = kit.save(world)
    fail.init = "bad init"
    refused(kit.everything(), bytes, { "bad init", '"hooks.Init"',
      "entity 1" })
    fail = { new = function() error("bad new") end }
    refused(kit.everything(), bytes, { "bad new", '"hooks.New"', "entity 1" })
    fail = { new = function() return 5 end }
    refused(kit.everything(), bytes, { '"hooks.New"', "entity 1" })
    fail = { made = "bad required" }
    refused(kit.everything(), bytes, { "bad required", '"hooks.Made"',
      "entity 1" })
    fail = {}
    local other = newWorld()
    other:loadSnapshot(bytes)
    assert.is_true(other:has(2, Made))
  end)
end)
