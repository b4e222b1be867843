local ffi = require("ffi")
local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local raises = kit.raises
local Pos, Body, Bag, Num, Tag = kit.Pos, kit.Body, kit.Bag, kit.Num, kit.Tag

local Pointer = engram.newFFIComponent({ name = "save.Pointer",
  container = {}, fields = { { "n", "int32_t" }, { "p", "void *" } } })
local PointerOne = engram.newFFIComponent({ name = "save.PointerOne",
  container = {}, fields = { { "p", "void *" } },
  serialize = function() return {} end })
local PointerTwo = engram.newFFIComponent({ name = "save.PointerTwo",
  container = {}, fields = { { "n", "int32_t" }, { "p", "char *" } },
  serialize = function(self) return { n = self.n } end,
  deserialize = function(_, data) return data.make() end })
local PointerGone = engram.newFFIComponent({ name = "save.PointerGone",
  container = {}, fields = { { "p", "char *" } }, transient = true })

local function newWorld() return engram.newWorld() end

describe("a save", function()
  it("gives its format and a string.buffer", function()
    local world = newWorld()
    local result = world:saveSnapshot()
    assert.equal("binary", result.format)
    assert.equal("userdata", type(result.buffer))
    assert.is_true(kit.verify(result.buffer))
    assert.is_true(kit.verify(kit.save(world, {})))
    assert.is_true(kit.verify(kit.save(world, { format = "binary" })))
  end)

  it("leaves the world as it was, and gives the same bytes again", function()
    local world = kit.everything()
    local before = kit.state(world)
    local bytes = kit.save(world)
    kit.same(before, kit.state(world))
    kit.same(bytes, kit.save(world))
  end)

  it("has the documented bytes", function()
    local world = newWorld()
    local a = world:spawn(Pos(1, -2.5), Num(3))
    local b = world:spawn(Num(-0.0), Pos(0, 0 / 0))
    local c = world:spawn(Tag, Body(1, nil, "b"))
    world:despawn(world:spawn())
    local nan = wire.hex("00000000 0000f87f")
    assert.equal(wire.snapshot({
      nextId = 5,
      components = { { "kit.Body" }, { "kit.Num" },
        { "kit.Pos", "x:f64,y:f64|16" }, { "kit.Tag" } },
      records = {
        { columns = { 1, 4 }, ids = { c }, data = {
          wire.hash(wire.string("hp"), wire.number(1), wire.string("maxHp"),
            wire.number(10), wire.string("name"), wire.string("b")),
          wire.bool(true),
        } },
        { columns = { 2, 3 }, ids = { a, b }, data = {
          wire.scalar(wire.number(3)), wire.scalar("\7" .. wire.f64(-0.0)),
          wire.f64(1), wire.f64(-2.5), wire.f64(0), nan,
        } },
      },
      allocator = { high = 4, free = { { 4, 1 } } },
      entries = { { "__engram.pipeline", wire.hash(
        wire.string("accumulator"), wire.number(0),
        wire.string("fixedStepCount"), wire.number(0),
        wire.string("phases"), wire.hash()) } },
    }), kit.save(world))
  end)

  it("writes what it measured, whatever sizes numbers take", function()
    local world = newWorld()
    for _, v in ipairs({ 0, -0.0, 1, 0.1, 2 ^ 31, -2 ^ 31, 0 / 0, 1 / 0 }) do
      world:spawn(Num(v), kit.Flag(v == 1), kit.Text(("s"):rep(v == 1 and 300
        or 3)))
    end
    assert.is_true(kit.verify(kit.save(world)))
  end)

  it("leaves out transient components and keeps the entity", function()
    local world = newWorld()
    local id = world:spawn(Pos(1, 2), kit.Temp(5), kit.TempTag,
      kit.TempTable())
    local alone = world:spawn(kit.TempTable())
    local info = engram.snapshot.inspect(kit.save(world))
    assert.same({ "kit.Pos" }, info.components)
    assert.equal(2, info.entityCount)
    local other = newWorld()
    other:loadSnapshot(kit.save(world))
    assert.is_true(other:isAlive(alone))
    assert.equal(2, other:get(id, Pos).y)
    assert.is_false(other:has(id, kit.Temp))
    assert.is_false(other:has(id, kit.TempTag))
  end)

  it("puts archetypes that differ in transients into one record", function()
    local world = newWorld()
    local ids = {}
    for i = 1, 6 do
      local extra = ({ nil, kit.Temp(i), kit.TempTag })[i % 3 + 1]
      ids[i] = extra and world:spawn(Pos(i, i), Body(i), extra)
        or world:spawn(Body(i), Pos(i, i))
    end
    local bytes = kit.save(world)
    local info = engram.snapshot.inspect(bytes)
    assert.equal(1, info.archetypeCount)
    local other = newWorld()
    other:loadSnapshot(bytes)
    kit.same(kit.contents(world), kit.contents(other))
    for i = 1, 6 do assert.equal(i, other:get(ids[i], Body).hp) end
    kit.check(other)
  end)

  it("writes only archetypes with rows and their components", function()
    local world = newWorld()
    local id = world:spawn(Pos(1, 1), Tag, Body())
    world:remove(id, Tag)
    world:despawn(world:spawn(Bag()))
    local info = engram.snapshot.inspect(kit.save(world))
    assert.equal(1, info.archetypeCount)
    assert.same({ "kit.Body", "kit.Pos" }, info.components)
  end)

  it("saves disabled and paused entities", function()
    local world = newWorld()
    local id = world:spawn(Pos(1, 1), engram.Disabled, engram.Paused)
    local other = newWorld()
    other:loadSnapshot(kit.save(world))
    assert.is_true(other:has(id, engram.Disabled))
    assert.is_true(other:has(id, engram.Paused))
  end)

  it("writes one NaN for every NaN of a struct", function()
    local world = newWorld()
    local id = world:spawn(kit.Mixed(), Pos(1, 2))
    local bits = ffi.cast("uint64_t *", world:get(id, Pos))
    local half = ffi.cast("uint32_t *", world:get(id, kit.Mixed).m)
    bits[0] = 0x7ff8000000000000ULL
    half[2] = 0x7fc00000
    local expected = kit.save(world)
    for _, forged in ipairs({ { 0xfff8000000000000ULL, 0xffc00000 },
      { 0x7ff0000000000001ULL, 0x7f800001 },
      { 0xfffb123456789abcULL, 0xffffffff } }) do
      bits[0], half[2] = forged[1], forged[2]
      kit.same(expected, kit.save(world))
    end
    bits[0], half[2] = 0, 0
  end)

  it("writes padding as zeros, and a bool byte as 0 or 1", function()
    local world = newWorld()
    local id = world:spawn(kit.Mixed())
    local expected = kit.save(world)
    local row = world:get(id, kit.Mixed)
    local raw = ffi.cast("uint8_t *", row)
    local offset = ffi.offsetof
    local ctype = ffi.typeof(row)
    -- Between `on` and `x`, behind `b`, behind `flags`.
    for i = 1, 7 do raw[i] = 0xaa end
    raw[offset(ctype, "b") + 1] = 0xbb
    raw[ffi.sizeof(ctype) - 1] = 0xcc
    kit.same(expected, kit.save(world))
    row.on = true
    local on = kit.save(world)
    raw[0] = 2
    assert.equal(on, kit.save(world))
    raw[0] = 0
  end)
end)

describe("values of tables", function()
  local function saved(value)
    local world = newWorld()
    local bag = Bag()
    bag.v = value
    local id = world:spawn(bag)
    local other = newWorld()
    other:loadSnapshot(kit.save(world))
    return other:get(id, Bag).v, other:get(id, Bag)
  end

  it("drop their metatables", function()
    local v = saved(setmetatable({ 1 }, { __index = { x = 2 } }))
    assert.is_nil(getmetatable(v))
    assert.is_nil(v.x)
    assert.same({ 1 }, v)
  end)

  it("are written raw, without metamethods", function()
    local loud = setmetatable({ a = 1 }, { __pairs = error, __index = error,
      __len = error })
    assert.same({ a = 1 }, saved(loud))
  end)

  it("are written at each place that holds them", function()
    local shared = { 1, { 2 } }
    local v = saved({ a = shared, b = shared, c = shared[2] })
    assert.same({ a = { 1, { 2 } }, b = { 1, { 2 } }, c = { 2 } }, v)
    assert.not_equal(v.a, v.b)
    v.a[2][1] = 9
    assert.same({ 1, { 2 } }, v.b)
  end)

  it("skip a key componentType of an instance, not of nested tables",
    function()
      local world = newWorld()
      local bag = Bag()
      rawset(bag, "componentType", "x")
      bag.v = { componentType = "y" }
      local id = world:spawn(bag)
      local other = newWorld()
      other:loadSnapshot(kit.save(world))
      local got = other:get(id, Bag)
      assert.is_nil(rawget(got, "componentType"))
      assert.equal("y", got.v.componentType)
    end)

  it("raise with entity, component and path", function()
    local cases = {
      { function() end, "function" }, { io.stdout, "userdata" },
      { coroutine.create(print), "thread" }, { ffi.new("int[2]"), "int" },
      { kit.Pos(1, 2), "kit_Pos" },
    }
    for _, case in ipairs(cases) do
      local world = newWorld()
      world:spawn(Bag())
      local bag = Bag()
      bag.list = { 1, { deep = case[1] } }
      local id = world:spawn(bag)
      local before = world:getStats().entities
      raises({ "engram.World:saveSnapshot", '"kit.Bag"', "entity "
        .. id, "list[2].deep", case[2] }, world.saveSnapshot, world)
      assert.equal(before, world:getStats().entities)
      bag.list = nil
      assert.is_true(kit.verify(kit.save(world)))
    end
  end)

  it("raise for keys that cannot be saved", function()
    for _, key in ipairs({ {}, 1LL, print, io.stdout }) do
      local world = newWorld()
      local bag = Bag()
      bag.v = { [key] = 1 }
      world:spawn(bag)
      raises({ '"kit.Bag"', "entity 1" }, world.saveSnapshot, world)
    end
    local world = newWorld()
    local bag = Bag()
    bag.v = { ["__engram.x"] = 1 }
    world:spawn(bag)
    raises({ '"kit.Bag"', "__engram.", "reserved" }, world.saveSnapshot, world)
  end)

  it("raise for a cycle and say so", function()
    local world = newWorld()
    local bag = Bag()
    bag.a = { b = {} }
    bag.a.b.c = bag.a
    world:spawn(bag)
    raises({ "cycle", '"kit.Bag"', "entity 1", "a.b.c" },
      world.saveSnapshot, world)
    bag.a.b.c = bag
    raises({ "cycle" }, world.saveSnapshot, world)
  end)

  it("raise below 512 levels, and do not above", function()
    local world = newWorld()
    local bag = Bag()
    local id = world:spawn(bag)
    local at = bag
    for _ = 1, 511 do
      at[1] = {}
      at = at[1]
    end
    local other = newWorld()
    other:loadSnapshot(kit.save(world))
    local depth, v = 0, other:get(id, Bag)
    while v do
      depth, v = depth + 1, v[1]
    end
    assert.equal(512, depth)
    at[1] = {}
    local message = raises({ "512", "[1][1]", '"kit.Bag"' },
      world.saveSnapshot, world)
    assert.is_nil(message:find("cycle"))
    at[1] = nil
    -- 100,000 levels: the same, without a stack overflow.
    for _ = 1, 1e5 do
      at[1] = {}
      at = at[1]
    end
    raises({ "512" }, world.saveSnapshot, world)
  end)
end)

describe("a pointer field", function()
  it("raises with component and field", function()
    local world = newWorld()
    world:spawn(Pos(1, 1))
    local id = world:spawn(Pointer(1))
    raises({ "engram.World:saveSnapshot", '"save.Pointer"', "entity " .. id,
      "p:", "pointer" }, world.saveSnapshot, world)
    world:despawn(id)
    assert.is_true(kit.verify(kit.save(world)))
  end)

  it("raises with one hook only", function()
    local world = newWorld()
    world:spawn(PointerOne())
    raises({ '"save.PointerOne"', "p:" }, world.saveSnapshot, world)
  end)

  it("is fine with both hooks, or when transient", function()
    local world = newWorld()
    world:spawn(PointerTwo(3), PointerGone())
    assert.same({ "save.PointerTwo" },
      engram.snapshot.inspect(kit.save(world)).components)
  end)
end)

describe("options of a save", function()
  it("are checked", function()
    local world = newWorld()
    raises({ "saveSnapshot", "colour" }, world.saveSnapshot, world,
      { colour = 1 })
    raises({ "saveSnapshot", "filterQuery" }, world.saveSnapshot, world,
      { filterQuery = {} })
    raises({ "saveSnapshot" }, world.saveSnapshot, world, 5)
    raises({ "format" }, world.saveSnapshot, world, { format = "xml" })
    raises({ "format" }, world.saveSnapshot, world, { format = "table" })
    raises({ "buffer", "string.buffer" }, world.saveSnapshot, world,
      { buffer = {} })
    raises({ "buffer", "string.buffer" }, world.saveSnapshot, world,
      { buffer = io.stdout })
    for _, path in ipairs({ "", "a\0b", 5, true }) do
      raises({ "path" }, world.saveSnapshot, world, { path = path })
    end
  end)

  it("are not changed", function()
    local world = newWorld()
    local options = { customData = { a = { 1 } } }
    world:saveSnapshot(options)
    assert.same({ customData = { a = { 1 } } }, options)
  end)
end)

describe("a save is refused", function()
  local function refused(world, ...)
    raises({ "engram.World:saveSnapshot", ... }, world.saveSnapshot, world)
  end

  it("in an open scope", function()
    local world = newWorld()
    world:spawn(Pos(1, 1))
    world:defer()
    refused(world, "scope")
    world:spawn(Pos(2, 2))
    refused(world, "scope")
    world:commit()
    assert.equal(2, world:getStats().entities)
    world:saveSnapshot()
    local step, query = world:query({ include = { Pos } }):iter()
    step(query) -- a loop that is left early
    refused(world, "scope")
    world:unwind()
    world:saveSnapshot()
  end)

  it("in a batch callback and in a drain", function()
    local world = newWorld()
    local calls = 0
    local function callback()
      calls = calls + 1
      refused(world)
    end
    world:batchSpawn(1, { Pos }, callback)
    world:defer()
    world:batchSpawn(1, { Pos }, callback)
    world:commit()
    assert.equal(2, calls)
    world:saveSnapshot()
  end)

  it("after an error in a callback, until unwind", function()
    local world = newWorld()
    pcall(world.batchSpawn, world, 1, { Pos }, function() error("x") end)
    refused(world, "unwind")
    world:unwind()
    world:saveSnapshot()
  end)

  it("of a closed world", function()
    local world = newWorld()
    world:close()
    raises({ "world is closed" }, function() world:saveSnapshot() end)
    raises({ "world is closed" }, function() world:loadSnapshot("") end)
  end)
end)
