local ffi = require("ffi")
local buffer = require("string.buffer")
local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local Pos, Bag, Num = kit.Pos, kit.Bag, kit.Num

local Floats = engram.newFFIComponent({ name = "trip.Floats", container = {},
  fields = { { "d", "double[2]" }, { "f", "float[3]" } } })
local Integers = engram.newFFIComponent({ name = "trip.Integers",
  container = {}, fields = {
    { "a", "int8_t" }, { "b", "uint8_t" }, { "c", "int16_t" },
    { "d", "uint16_t" }, { "e", "int32_t" }, { "f", "uint32_t" },
    { "g", "int64_t" }, { "h", "uint64_t" }, { "k", "bool" } } })

local function newWorld() return engram.newWorld() end

-- A world loaded from what another one saves.
local function copyOf(world)
  local copy = newWorld()
  copy:loadSnapshot(kit.save(world))
  kit.check(copy)
  return copy
end

local function bits(v)
  return wire.f64(v ~= v and 0 / 0 or v)
end

-- 1 and its neighbours, limits, powers, fractions, odd ones.
local DOUBLES = { 0, -0.0, 1, -1, 1 + 2 ^ -52, 1 - 2 ^ -53, 0.1, 1 / 3,
  5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
  -1.7976931348623157e308, 1 / 0, -1 / 0, 2 ^ 31, 2 ^ 31 - 1, -2 ^ 31,
  -2 ^ 31 - 1, 2 ^ 32, 2 ^ 53, 2 ^ 53 - 1, -2 ^ 53, 2 ^ 63, 2 ^ 64,
  123456789.123456789, math.pi, 1e300, 1e-300, 9007199254740991.5 }

describe("numbers come back bit for bit", function()
  it("in structs", function()
    local world, ids = newWorld(), {}
    for i, v in ipairs(DOUBLES) do
      local value = Floats()
      value.d[0], value.d[1], value.f[1] = v, -v, v
      ids[i] = world:spawn(value, Pos(v, 0))
    end
    local copy = copyOf(world)
    for i, v in ipairs(DOUBLES) do
      local got = copy:get(ids[i], Floats)
      assert.equal(bits(v), bits(got.d[0]))
      assert.equal(bits(-v), bits(got.d[1]))
      assert.equal(wire.f32(v), wire.f32(got.f[1]))
      assert.equal(bits(v), bits(copy:get(ids[i], Pos).x))
    end
  end)

  it("in scalars and tables", function()
    local world, ids = newWorld(), {}
    for i, v in ipairs(DOUBLES) do
      local bag = Bag()
      bag[1], bag.v = v, { { v } }
      ids[i] = world:spawn(Num(v), bag, kit.Body(v, 1, "x"))
    end
    local copy = copyOf(world)
    for i, v in ipairs(DOUBLES) do
      assert.equal(bits(v), bits(copy:get(ids[i], Num)))
      local bag = copy:get(ids[i], Bag)
      assert.equal(bits(v), bits(bag[1]))
      assert.equal(bits(v), bits(bag.v[1][1]))
      assert.equal(bits(v), bits(copy:get(ids[i], kit.Body).hp))
    end
  end)

  it("as keys, except that 0 and -0 are one key", function()
    local world = newWorld()
    local bag = Bag()
    for _, v in ipairs(DOUBLES) do bag[v] = wire.f64(v) end
    local id = world:spawn(bag)
    local got = copyOf(world):get(id, Bag)
    for _, v in ipairs(DOUBLES) do
      if v ~= 0 then assert.equal(wire.f64(v), got[v]) end
    end
    assert.equal(#kit.sortedKeys(bag), #kit.sortedKeys(got))
  end)

  it("also NaN", function()
    local world = newWorld()
    local bag = Bag()
    bag.v, bag[1] = 0 / 0, -(0 / 0)
    local floats = Floats()
    floats.d[0], floats.f[0] = 0 / 0, 0 / 0
    local id = world:spawn(bag, Num(0 / 0), floats, Pos(0 / 0, 1))
    local copy = copyOf(world)
    local function isNaN(v) return type(v) == "number" and v ~= v end
    assert.is_true(isNaN(copy:get(id, Bag).v))
    assert.is_true(isNaN(copy:get(id, Bag)[1]))
    assert.is_true(isNaN(copy:get(id, Num)))
    assert.is_true(isNaN(copy:get(id, Floats).d[0]))
    assert.is_true(isNaN(copy:get(id, Floats).f[0]))
    assert.is_true(isNaN(copy:get(id, Pos).x))
    kit.same(kit.save(world), kit.save(copy))
  end)

  it("as integers of every width", function()
    local world = newWorld()
    local low = world:spawn(Integers(-128, 0, -32768, 0, -2 ^ 31, 0,
      -9223372036854775807LL - 1, 0, false))
    local high = world:spawn(Integers(127, 255, 32767, 65535, 2 ^ 31 - 1,
      2 ^ 32 - 1, 9223372036854775807LL, 18446744073709551615ULL, true))
    local copy = copyOf(world)
    for _, id in ipairs({ low, high }) do
      local a, b = world:get(id, Integers), copy:get(id, Integers)
      for _, name in ipairs({ "a", "b", "c", "d", "e", "f", "g", "h", "k" }) do
        assert.equal(tostring(a[name]), tostring(b[name]))
      end
    end
    assert.equal(18446744073709551615ULL, copy:get(high, Integers).h)
  end)

  it("as 64-bit cdata in tables, with their type", function()
    local world = newWorld()
    local bag = Bag()
    local list = { 0LL, -1LL, 9223372036854775807LL,
      -9223372036854775807LL - 1, 0ULL, 18446744073709551615ULL, 5ULL }
    bag.list = list
    local id = world:spawn(bag)
    local got = copyOf(world):get(id, Bag).list
    assert.equal(#list, #got)
    for i, v in ipairs(list) do
      assert.equal(tostring(ffi.typeof(v)), tostring(ffi.typeof(got[i])))
      assert.is_true(v == got[i])
    end
  end)
end)

describe("tables come back with the same keys", function()
  local function trip(value)
    local world = newWorld()
    local bag = Bag()
    bag.v = value
    local id = world:spawn(bag)
    return copyOf(world):get(id, Bag).v
  end

  it("of every type", function()
    local t = { [1] = "one", [0] = "zero", [-1] = "minus", [1.5] = "half",
      [true] = "yes", [false] = "no", ["1"] = "text", ["true"] = "text",
      [""] = "empty", ["a\0b"] = "zero byte", [1e300] = "huge",
      [1 / 0] = "infinite" }
    assert.equal(kit.show(t), kit.show(trip(t)))
  end)

  it("whatever the gaps", function()
    for _, t in ipairs({ { nil, 2 }, { 1, nil, 3 }, { [3] = 1, [2 ^ 40] = 2 },
      { [0] = 1, 2, 3 }, { 1, 2, nil, nil, 5, x = 6 }, { [2] = false } }) do
      assert.equal(kit.show(t), kit.show(trip(t)))
    end
  end)

  it("when they are empty", function()
    assert.same({}, trip({}))
    assert.same({ {}, { {} }, a = {} }, trip({ {}, { {} }, a = {} }))
  end)

  it("in time by entries, not by the largest key", function()
    local started = os.clock()
    assert.same({ [2 ^ 31] = 1, [2 ^ 53] = 2, [1e15] = 3 },
      trip({ [2 ^ 31] = 1, [2 ^ 53] = 2, [1e15] = 3 }))
    assert.is_true(os.clock() - started < 1)
  end)

  it("with very many entries", function()
    local t = { list = {}, map = {} }
    for i = 1, 9000 do
      t.list[i] = i / 2
      t.map["key" .. i * 7] = i
    end
    assert.equal(kit.show(t), kit.show(trip(t)))
  end)

  it("and strings of any bytes and length", function()
    local bytes = {}
    for i = 0, 255 do bytes[i + 1] = string.char(i) end
    local all = table.concat(bytes)
    for _, n in ipairs({ 0, 1, 191, 192, 193, 0x1fbf, 0x1fc0, 0x1fc1,
      1e6 }) do
      local s = all:rep(math.floor(n / 256) + 1):sub(1, n)
      local world = newWorld()
      local bag = Bag()
      bag.v, bag[s] = s, 1
      local id = world:spawn(bag, kit.Text(s), kit.Name(s), kit.Body(1, 2, s))
      local copy = copyOf(world)
      assert.is_true(s == copy:get(id, Bag).v)
      assert.equal(1, copy:get(id, Bag)[s])
      assert.is_true(s == copy:get(id, kit.Text))
      assert.is_true(s == copy:get(id, kit.Name))
      assert.is_true(s == copy:get(id, kit.Body).name)
    end
  end)

  it("whatever names and values are equal", function()
    -- The same text as component, field, key and value.
    local world = newWorld()
    local bag = Bag()
    bag["kit.Bag"], bag.value, bag.name, bag.hp = "value", "kit.Bag", "hp",
      "name"
    local id = world:spawn(bag, kit.Body("name", "hp", "kit.Body"),
      kit.Text("value"), kit.Name("Name"))
    local copy = copyOf(world)
    assert.equal(kit.contents(world), kit.contents(copy))
    assert.equal("kit.Bag", copy:get(id, Bag).value)
  end)
end)

describe("ids come back", function()
  it("with any slot and generation", function()
    local world = engram.newWorld({ maxEntities = engram.MAX_ENTITIES })
    local top = 2 ^ 22 - 1
    local ids = { 1, 2 ^ 22 * 5 + 2, 2 ^ 53 - 1, 2 ^ 22 * (2 ^ 31 - 1) + 77,
      2 ^ 32 + 3, 2 ^ 22 * 1000 + top - 1 }
    for i, id in ipairs(ids) do world:spawnAt(id, Num(i)) end
    local copy = engram.newWorld({ maxEntities = engram.MAX_ENTITIES })
    copy:loadSnapshot(kit.save(world))
    kit.check(copy)
    for i, id in ipairs(ids) do
      assert.is_true(copy:isAlive(id))
      assert.equal(i, copy:get(id, Num))
    end
    kit.same(kit.save(world), kit.save(copy))
  end)

  it("inside entity fields, as they are", function()
    local world = newWorld()
    local mixed = kit.Mixed()
    mixed.e = 2 ^ 52 + 12345
    local id = world:spawn(mixed)
    assert.equal(2 ^ 52 + 12345, copyOf(world):get(id, kit.Mixed).e)
  end)

  it("in the same row order", function()
    local world = newWorld()
    for i = 1, 30 do world:spawn(Pos(i, i)) end
    for i = 1, 30, 4 do world:despawn(i) end
    local copy = copyOf(world)
    local function rows(w)
      local out = {}
      for arch, n in w:findArchetypes(Pos) do
        for row = 1, n do out[row] = arch.entities[row] end
      end
      return out
    end
    assert.same(rows(world), rows(copy))
  end)
end)

describe("whole worlds come back", function()
  local function trips(world, into)
    local bytes = kit.save(world)
    assert.is_true(kit.verify(bytes))
    into:loadSnapshot(bytes)
    kit.check(into)
    kit.same(kit.contents(world), kit.contents(into))
    kit.same(bytes, kit.save(into))
  end

  it("of every kind of component, into any world", function()
    local world = kit.everything()
    trips(world, newWorld())
    trips(world, kit.everything())
    local full = newWorld()
    kit.fill(full, 80, 11)
    trips(world, full)
    trips(world, full)
    trips(world, world)
  end)

  it("of any number of rows", function()
    local into = newWorld()
    for _, n in ipairs({ 0, 1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255,
      256, 257, 1000, 3 }) do
      local world = newWorld()
      for i = 1, n do
        world:spawn(Pos(i, -i), kit.Small(i % 256, i / 2), kit.Body(i, i, "b"),
          kit.Text("t" .. i), kit.Flag(i % 2 == 0), Num(i / 3), kit.Tag)
      end
      trips(world, into)
    end
  end)

  it("filled at random", function()
    local into = newWorld()
    for seed = 1, 12 do
      local world = newWorld()
      kit.fill(world, 10 * seed, seed * 101)
      trips(world, into)
    end
  end)

  it("with more components than fit one byte of a number", function()
    local parts = {}
    for i = 1, 300 do
      parts[i] = engram.newTagComponent({ name = "trip.T" .. i })
    end
    local world = newWorld()
    world:spawn(unpack(parts))
    for i = 1, 300, 7 do world:spawn(parts[i], parts[300 - i + 1]) end
    trips(world, newWorld())
  end)

  it("the snapshot shares nothing with either world", function()
    local world = newWorld()
    local bag = Bag()
    bag.list = { 1, 2 }
    local id = world:spawn(bag, Pos(1, 2))
    local bytes = kit.save(world)
    local a, b = newWorld(), newWorld()
    a:loadSnapshot(bytes)
    b:loadSnapshot(bytes)
    a:get(id, Bag).list[1] = 9
    a:get(id, Pos).x = 9
    world:get(id, Bag).list[2] = 8
    world:despawn(id)
    assert.same({ 1, 2 }, b:get(id, Bag).list)
    assert.equal(1, b:get(id, Pos).x)
    local c = newWorld()
    c:loadSnapshot(bytes)
    kit.same(kit.contents(b), kit.contents(c))
  end)
end)

describe("the host's own decoder", function()
  it("reads the values of a save", function()
    local world = newWorld()
    local bag = Bag()
    bag.v = { 1, 2.5, "x", { a = true, [5] = false }, -7LL, {} }
    world:spawn(bag)
    world:spawn(Num(0.25), kit.Text("text"))
    local snap = ffi.new("eg_snap *[1]")
    local column = ffi.new("eg_snap_column")
    local bytes = kit.save(world, { customData = { k = { deep = { 1 } } } })
    assert(kit.C.eg_snap_open(nil, bytes, #bytes, nil, snap, nil) == 0)
    local function decoded(record, index)
      assert(kit.C.eg_snap_column_at(snap[0], record, index, column) == 0)
      local from = tonumber(column.offset)
      return buffer.decode(bytes:sub(from + 1, from
        + tonumber(column.length)))
    end
    assert.equal(kit.show({ v = bag.v }), kit.show(decoded(0, 0)))
    assert.same({ value = 0.25 }, decoded(1, 0))
    assert.same({ value = "text" }, decoded(1, 1))
    local entry = ffi.new("eg_snap_entry")
    local last = 0
    while kit.C.eg_snap_entry_at(snap[0], last, entry) == 0 do
      last = last + 1
    end
    local from = tonumber(entry.value)
    assert.same({ deep = { 1 } }, buffer.decode(bytes:sub(from + 1, from
      + tonumber(entry.value_len))))
    kit.C.eg_snap_close(snap[0])
  end)
end)
