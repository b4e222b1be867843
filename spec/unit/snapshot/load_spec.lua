local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local raises, refused = kit.raises, kit.refused
local Pos, Body, Bag, Num, Tag = kit.Pos, kit.Body, kit.Bag, kit.Num, kit.Tag

local Part = engram.newComponent({ name = "load.Part", container = {},
  fields = { "v" }, defaults = { 5 } })
local Derived = engram.newFFIComponent({ name = "load.Derived",
  container = {}, fields = { { "a", "int32_t" }, { "b", "double" } },
  defaults = { 3, 0.5 }, transient = true })
local Level = engram.newScalarComponent({ name = "load.Level",
  kind = "number", default = 4, transient = true })
local Marked = engram.newTagComponent({ name = "load.Marked",
  transient = true, requires = { Level } })
local Whole = engram.newComponent({ name = "load.Whole", container = {},
  fields = { "n" }, requires = { Part, Derived, Marked } })

local function newWorld(options) return engram.newWorld(options) end

local function moved(world, options)
  local other = newWorld()
  return other, other:loadSnapshot(kit.save(world), options)
end

describe("a load", function()
  it("replaces what the world held", function()
    local world = newWorld()
    local a = world:spawn(Pos(1, 2), Body(3, 4, "a"))
    local b = world:spawn(Num(5), Tag)
    local other = newWorld()
    for i = 1, 40 do other:spawn(Pos(i, i), Bag()) end
    other:loadSnapshot(kit.save(world))
    kit.check(other)
    assert.equal(2, other:getStats().entities)
    assert.equal(2, other:get(a, Pos).y)
    assert.equal("a", other:get(a, Body).name)
    assert.equal(5, other:get(b, Num))
    assert.is_true(other:has(b, Tag))
    assert.is_false(other:has(a, Bag))
    for id = 3, 40 do
      assert.is_false(other:isAlive(id))
      assert.is_nil(other:get(id, Pos))
      raises({ "Entity ID not found: " .. id }, other.set, other, id, Tag)
    end
    kit.same(kit.contents(world), kit.contents(other))
  end)

  it("gives the prelude", function()
    local world = newWorld()
    world:spawn(Pos(1, 1), Body())
    world:spawn(Num(1))
    world:despawn(world:spawn())
    local _, prelude = moved(world)
    assert.same({ version = 1, nextEntityId = 4, entityCount = 2,
      archetypeCount = 2, skipped = {}, componentTable = {
        { name = "kit.Body", fingerprint = "" },
        { name = "kit.Num", fingerprint = "" },
        { name = "kit.Pos", fingerprint = "x:f64,y:f64|16" },
      } }, prelude)
  end)

  it("makes instances again", function()
    local world = newWorld()
    local id = world:spawn(Body(1, 2, "x"), Bag(), kit.Built(2, 3))
    local other = moved(world)
    assert.equal(Body, other:get(id, Body).componentType)
    assert.equal(Bag, other:get(id, Bag).componentType)
    local built = other:get(id, kit.Built)
    assert.equal(kit.Built, built.componentType)
    assert.equal(5, built.sum)
  end)

  it("loads what was saved and not what a constructor computes", function()
    local world = newWorld()
    local built = kit.Built(2, 3)
    built.sum, built.own = 77, true
    local id = world:spawn(built)
    local got = moved(world):get(id, kit.Built)
    assert.equal(77, got.sum)
    assert.is_true(got.own)
  end)

  it("fills missing fields of tables with defaults, deep copies", function()
    local bytes = wire.snapshot({
      components = { { "kit.Body" } },
      records = { { columns = { 1 }, ids = { 1, 2 }, data = {
        wire.hash(wire.string("name"), wire.string("a")), wire.hash() } } },
    })
    local world = newWorld()
    world:loadSnapshot(bytes)
    assert.same({ 10, 10, "a" }, { world:get(1, Body).hp,
      world:get(1, Body).maxHp, world:get(1, Body).name })
    assert.equal(10, world:get(2, Body).hp)
    assert.is_nil(world:get(2, Body).name)
  end)

  it("loads an empty snapshot into a full world", function()
    local world = kit.everything()
    local bytes = kit.save(newWorld())
    world:loadSnapshot(bytes)
    kit.check(world)
    assert.equal(0, world:getStats().entities)
    assert.is_nil(world:byKey("hero"))
    assert.equal(bytes, kit.save(world))
    assert.equal(1, world:spawn(kit.Key("hero")))
  end)

  it("keeps archetypes, queries and the objects a caller holds", function()
    local world = newWorld()
    world:spawn(Pos(1, 1))
    local query = world:query({ include = { Pos } })
    local held
    for arch in query:iter() do held = arch end
    local bytes = kit.save(world)
    world:spawn(Pos(2, 2), Tag)
    world:loadSnapshot(bytes)
    local seen = {}
    for arch, length in query:iter() do seen[#seen + 1] = { arch, length } end
    assert.equal(1, #seen)
    assert.equal(held, seen[1][1])
    assert.equal(1, seen[1][2])
    assert.equal(1, query:count())
    assert.equal(1, held:get(Pos)[1].x)
  end)

  it("offers archetypes it makes to queries", function()
    local world = newWorld()
    world:spawn(Pos(1, 1), Body(), Tag)
    local bytes = kit.save(world)
    local other = newWorld()
    local query = other:query({ include = { Body }, exclude = { Num } })
    assert.equal(0, query:count())
    other:loadSnapshot(bytes)
    assert.equal(1, query:count())
  end)

  it("rebuilds the keys", function()
    local world = newWorld()
    local hero = world:spawn(kit.Key("hero"))
    local other = newWorld()
    other:spawn(Pos(1, 1))
    local villain = other:spawn(kit.Key("villain"))
    other:loadSnapshot(kit.save(world))
    assert.equal(hero, other:byKey("hero"))
    assert.equal(hero, other:requireKey("hero"))
    assert.is_nil(other:byKey("villain"))
    assert.is_false(other:isAlive(villain))
    raises({ "hero" }, other.spawn, other, kit.Key("hero"))
    other:spawn(kit.Key("villain"))
    other:despawn(hero)
    assert.is_nil(other:byKey("hero"))
    other:spawn(kit.Key("hero"))
  end)

  it("marks everything dirty", function()
    local world = newWorld()
    world:spawn(Pos(1, 1), Body())
    local other = moved(world)
    for arch in other:findArchetypes(Pos) do
      assert.is_true(arch:isComponentDirty(Pos))
      assert.is_true(arch:isComponentDirty(Body))
    end
  end)

  it("restores the clock, and keeps its own where the source has none",
    function()
      local world = newWorld()
      world._clock.accumulator, world._clock.steps = 0.015625, 77
      local bytes = kit.save(world)
      local other = newWorld()
      other._clock.accumulator, other._clock.steps = 0.5, 3
      other:loadSnapshot(wire.snapshot({}))
      assert.same({ accumulator = 0.5, steps = 3 }, other._clock)
      other:loadSnapshot(bytes)
      assert.same({ accumulator = 0.015625, steps = 77 }, other._clock)
    end)

  it("lets every loaded entity be changed", function()
    local world = newWorld()
    local ids = kit.fill(world, 60, 3)
    local other = moved(world)
    for i, id in ipairs(ids) do
      if i % 3 == 0 then
        other:despawn(id)
      elseif i % 3 == 1 then
        other:set(id, Pos(id, 0))
        other:set(id, Body(id))
      else
        other:remove(id, Pos)
        other:set(id, Tag)
      end
      kit.check(other)
    end
    kit.same(kit.save((moved(other))), kit.save(other))
  end)

  it("separates table values that two entities shared", function()
    local world = newWorld()
    local shared = Body(1, 2, "s")
    local a, b = world:spawn(shared), world:spawn(shared)
    local other = moved(world)
    other:get(a, Body).hp = 9
    assert.equal(1, other:get(b, Body).hp)
    assert.equal(1, shared.hp)
  end)
end)

describe("what requires adds in a load", function()
  local function whole(known)
    return wire.snapshot({
      components = { { "load.Whole" }, known and { "load.Part" } or nil },
      records = { { columns = { 1 }, ids = { 1, 2 }, data = {
        wire.hash(wire.string("n"), wire.number(1)),
        wire.hash(wire.string("n"), wire.number(2)) } } },
    })
  end

  it("arrives when the source does not know it", function()
    local world = newWorld()
    world:loadSnapshot(whole(false))
    for id = 1, 2 do
      assert.equal(id, world:get(id, Whole).n)
      assert.equal(5, world:get(id, Part).v)
      assert.equal(3, world:get(id, Derived).a)
      assert.equal(0.5, world:get(id, Derived).b)
      assert.is_true(world:has(id, Marked))
      assert.equal(4, world:get(id, Level))
    end
    assert.not_equal(world:get(1, Part), world:get(2, Part))
    kit.check(world)
  end)

  it("does not when the game had removed it; transients do", function()
    local world = newWorld()
    world:loadSnapshot(whole(true))
    assert.is_false(world:has(1, Part))
    assert.is_true(world:has(1, Derived))
    assert.is_true(world:has(1, Marked))
  end)

  it("does not touch entities without it, and comes back each time",
    function()
      local world = newWorld()
      world:loadSnapshot(whole(false))
      local bare = world:spawn(Pos(1, 1))
      world:get(1, Derived).a = 99
      local other = moved(world)
      assert.is_false(other:has(bare, Part))
      assert.equal(3, other:get(1, Derived).a)
      assert.equal(5, other:get(1, Part).v)
    end)

  it("is not added for transients that nothing requires", function()
    local world = newWorld()
    local id = world:spawn(Pos(1, 1), kit.Temp(3))
    assert.is_false(moved(world):has(id, kit.Temp))
  end)
end)

describe("components that are not registered", function()
  local function bytes()
    return wire.snapshot({
      components = { { "kit.Num" }, { "load.Lost", "q:f64|8" },
        { "load.Away" }, { "load.Empty" } },
      records = {
        { columns = { 1, 2, 3 }, ids = { 1 }, data = {
          wire.scalar(wire.number(8)), wire.f64(1), wire.bool(true) } },
        { columns = { 1 }, ids = { 2 }, data = {
          wire.scalar(wire.number(9)) } },
        { columns = { 2 }, ids = { 3 }, data = { wire.f64(1) } },
      },
    })
  end

  it("raise, all of them named", function()
    local world = kit.everything()
    refused(world, bytes(), { "loadSnapshot", '"load.Away"', '"load.Empty"',
      '"load.Lost"' })
    refused(world, bytes(), { '"load.Away"' }, { unknown = "error" })
  end)

  it("are dropped on request, and reported", function()
    local world = kit.everything()
    local prelude = world:loadSnapshot(bytes(), { unknown = "skip" })
    assert.same({ "load.Away", "load.Empty", "load.Lost" }, prelude.skipped)
    assert.equal(4, #prelude.componentTable)
    kit.check(world)
    assert.equal(3, world:getStats().entities)
    assert.equal(8, world:get(1, Num))
    assert.equal(9, world:get(2, Num))
    assert.is_true(world:isAlive(3))
  end)

  it("are checked all the same", function()
    local nan = wire.hex("0100000000 00f8ff")
    local world = kit.everything()
    refused(world, wire.snapshot({
      components = { { "load.Lost", "q:f64|8" } },
      records = { { columns = { 1 }, ids = { 1 }, data = { nan } } },
    }), { "damaged", "load.Lost" }, { unknown = "skip" })
  end)
end)

describe("a load refuses", function()
  local small = wire.snapshot({
    components = { { "kit.Num" } },
    records = { { columns = { 1 }, ids = { 1, 5 }, data = {
      wire.scalar(wire.number(1)), wire.scalar(wire.number(2)) } } },
  })

  it("a version it does not know, naming both", function()
    for _, version in ipairs({ 2, 3, 7, 2 ^ 31, 2 ^ 40 }) do
      refused(kit.everything(), wire.snapshot({ version = version }),
        { "version", ("%.14g"):format(version), "1" })
    end
  end)

  it("sources of other types", function()
    local world = newWorld()
    for _, src in ipairs({ 5, true, {}, print, io.stdout,
      { format = "table", snapshot = {} }, { format = "binary" } }) do
      raises({ "engram.World:loadSnapshot", "expected" },
        world.loadSnapshot, world, src)
    end
    raises({ "loadSnapshot", "nil" }, world.loadSnapshot, world)
  end)

  it("options it does not know", function()
    local world = newWorld()
    local function bad(options, ...)
      raises({ "loadSnapshot", ... }, world.loadSnapshot, world, small,
        options)
    end
    bad({ colour = 1 }, "colour")
    bad(5, "options")
    bad({ unknown = "keep" }, "unknown")
    bad({ unknown = true }, "unknown")
    bad({ limits = 5 }, "limits")
    bad({ limits = { rows = 1 } }, "rows")
    bad({ limits = { bytes = -1 } }, "bytes")
    bad({ limits = { bytes = 1.5 } }, "bytes")
    bad({ limits = { entities = 0 / 0 } }, "entities")
    bad({ limits = { entities = "1" } }, "entities")
    bad({ limits = { depth = 513 } }, "depth")
    assert.equal(0, world:getStats().entities)
  end)

  it("what goes beyond a limit, naming it", function()
    local world = kit.everything()
    refused(world, small, { "limit", "entities" },
      { limits = { entities = 1 } })
    refused(world, small, { "limit", "bytes" },
      { limits = { bytes = #small - 1 } })
    world:loadSnapshot(small, { limits = { entities = 2, bytes = #small } })
    local deep = wire.snapshot({ entries = { { "x",
      wire.hash(wire.number(1), wire.hash(wire.number(1), wire.hash())) } } })
    refused(world, deep, { "limit", "depth" }, { limits = { depth = 2 } })
    world:loadSnapshot(deep, { limits = { depth = 3 } })
  end)

  it("slots above maxEntities", function()
    local world = newWorld({ maxEntities = 4 })
    world:spawn(Pos(1, 1))
    refused(world, small, { "maxEntities", "4" })
    refused(world, wire.snapshot({ allocator = { high = 5,
      free = { { 1, 0, 5 } } } }), { "maxEntities" })
    local roomy = newWorld({ maxEntities = 5 })
    roomy:loadSnapshot(small)
    kit.check(roomy)
    assert.equal(2, roomy:get(5, Num))
  end)

  it("more rows than maxEntities, by default", function()
    local world = newWorld({ maxEntities = 1 })
    refused(world, small, { "limit", "entities" })
  end)

  it("an EntityKey twice, and an empty one", function()
    local function keys(a, b)
      return wire.snapshot({
        components = { { "EntityKey" } },
        records = { { columns = { 1 }, ids = { 1, 2 }, data = {
          wire.scalar(wire.string(a)), wire.scalar(wire.string(b)) } } },
      })
    end
    local world = kit.everything()
    refused(world, keys("a", "a"), { "EntityKey", '"a"', "1" })
    refused(world, keys("a", ""), { "EntityKey" })
    world:loadSnapshot(keys("a", "b"))
    assert.equal(2, world:byKey("b"))
  end)

  it("an EntityKey twice in two archetypes", function()
    local bytes = wire.snapshot({
      components = { { "EntityKey" }, { "kit.Tag" } },
      records = {
        { columns = { 1 }, ids = { 1 }, data = {
          wire.scalar(wire.string("k")) } },
        { columns = { 1, 2 }, ids = { 2 }, data = {
          wire.scalar(wire.string("k")), wire.bool(true) } },
      },
    })
    refused(kit.everything(), bytes, { "EntityKey", '"k"' })
  end)

  it("records by rows", function()
    refused(kit.everything(), wire.snapshot({
      components = { { "kit.Num" } },
      records = { { columns = { 1 }, mode = 1, rows = 1, ids = { 1 }, data = {
        wire.number(1) .. wire.number(1) .. wire.scalar(wire.number(2)) } } },
    }), { "by rows" })
  end)

  it("an open scope, a drain, a closed world", function()
    local world = newWorld()
    local bytes = kit.save(world)
    world:defer()
    local id = world:spawn(Pos(1, 1))
    raises({ "loadSnapshot", "scope" }, world.loadSnapshot, world, bytes)
    world:commit()
    assert.is_true(world:isAlive(id))
    world:defer()
    world:batchSpawn(1, { Pos }, function()
      raises({ "loadSnapshot", "drain" }, world.loadSnapshot, world, bytes)
    end)
    world:commit()
    assert.equal(2, world:getStats().entities)
    world:loadSnapshot(bytes)
    assert.equal(0, world:getStats().entities)
  end)
end)

describe("data entries", function()
  it("that no one asked for are skipped, reserved or not", function()
    local world = newWorld()
    world:loadSnapshot(wire.snapshot({
      records = { { columns = {}, ids = { 3 } } },
      entries = {
        { "mine", wire.number(1) }, { "mine", wire.bool(true) },
        { "__engram.later", wire.hash(wire.number(1), wire.number(2)) },
        { "__engram.pipeline", wire.hash(wire.string("fixedStepCount"),
          wire.number(9), wire.string("new"), wire.hash()) },
        { "", "\0" },
      },
    }))
    assert.is_true(world:isAlive(3))
    assert.equal(9, world._clock.steps)
    assert.equal(0, world._clock.accumulator)
  end)
end)

describe("after a load that failed", function()
  -- A source with components the world never met, damaged in a key.
  local function bytes()
    local world = newWorld()
    world:spawn(Pos(1, 1), Body(), kit.Small(1, 2), kit.Text("x"))
    world:spawn(Pos(1, 1), Whole(1))
    world:spawn(kit.Key("a"))
    local good = kit.save(world)
    local at = assert(good:find("\33a", 1, true)) -- the key "a"
    return good:sub(1, at - 1) .. "\32" .. good:sub(at + 2)
  end

  it("the world is as it was", function()
    local world = kit.everything()
    refused(world, bytes(), { "EntityKey" })
    for _ = 1, 20 do refused(world, bytes(), { "EntityKey" }) end
    kit.fill(world, 50, 9)
    refused(world, bytes(), { "EntityKey" })
  end)

  it("archetypes it made are gone and queries do not see them", function()
    local world = newWorld()
    world:spawn(Pos(1, 1))
    local query = world:query({ include = { Pos } })
    local any = world:query({})
    local archetypes = world:getStats().archetypes
    refused(world, bytes(), { "EntityKey" })
    assert.equal(archetypes, world:getStats().archetypes)
    assert.equal(1, query:count())
    assert.equal(1, any:count())
    local id = world:spawn(Pos(2, 2), Body(), kit.Small(3, 4), kit.Text("y"))
    assert.equal("y", world:get(id, kit.Text))
    assert.equal(2, query:count())
    kit.check(world)
  end)

  it("everything can be done that could be done before", function()
    local world, same = kit.everything(), kit.everything()
    refused(world, bytes(), { "EntityKey" })
    for _, w in ipairs({ world, same }) do
      local random = kit.random(5)
      for i = 1, 60 do
        local id = w:spawn(unpack(kit.values(random, 4)))
        if i % 3 == 0 then w:despawn(id) end
        if i % 5 == 0 then w:set(1, kit.value(random)) end
      end
      kit.check(w)
    end
    kit.same(kit.contents(same, true), kit.contents(world, true))
    kit.same(kit.save(same), kit.save(world))
  end)

  it("a good load works, with fewer slots or more", function()
    local tiny = newWorld()
    tiny:spawn(Num(1))
    local big = newWorld()
    for i = 1, 300 do big:spawn(kit.Key("k" .. i)) end
    local bad = kit.save(big):gsub("\36k300", "\36k299", 1)
    local world = newWorld()
    refused(world, bad, { "k299" })
    world:loadSnapshot(kit.save(tiny))
    kit.check(world)
    assert.is_false(world:isAlive(200))
    assert.equal(2, world:spawn())
    world:loadSnapshot(kit.save(big))
    kit.check(world)
    assert.equal(300, world:byKey("k300"))
  end)
end)
