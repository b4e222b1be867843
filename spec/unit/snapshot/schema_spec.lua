local ffi = require("ffi")
local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local refused = kit.refused

local serial = 0

-- A new FFI component with a name of its own.
local function struct(fields, options)
  serial = serial + 1
  local o = { name = ("schema.S%03d"):format(serial), container = {},
    fields = fields }
  for key, value in pairs(options or {}) do o[key] = value end
  return engram.newFFIComponent(o)
end

local function tableComponent(options)
  serial = serial + 1
  local o = { name = ("schema.S%03d"):format(serial), container = {} }
  for key, value in pairs(options or {}) do o[key] = value end
  return engram.newComponent(o)
end

-- Saves two entities with these values of component `from` and loads them as
-- component `to`, whose name has the same length. Gives the world.
local function loadAs(values, from, to, into)
  local world = engram.newWorld()
  for i = 1, #values do world:spawn(values[i]) end
  local bytes = kit.save(world):gsub(from.componentName, to.componentName)
  assert(kit.verify(bytes))
  into = into or engram.newWorld()
  into:loadSnapshot(bytes)
  kit.check(into)
  return into, bytes
end

-- The same, when the load must be refused with these texts.
local function cannot(values, from, to, texts)
  local world = engram.newWorld()
  for i = 1, #values do world:spawn(values[i]) end
  local bytes = kit.save(world):gsub(from.componentName, to.componentName)
  texts[#texts + 1] = to.componentName
  return refused(kit.everything(), bytes, texts)
end

describe("a struct that has changed since the save", function()
  it("keeps equal fields and drops those that went", function()
    local Old = struct({ { "a", "int8_t" }, { "b", "double" },
      { "c", "float[3]" }, { "d", "int32_t" } })
    local New = struct({ { "b", "double" }, { "c", "float[3]" } })
    local v = Old(1, 2.5, nil, 7)
    v.c[0], v.c[2] = 0.5, -1
    local world = loadAs({ v, Old(9, -0.0) }, Old, New)
    local got = world:get(1, New)
    assert.equal(2.5, got.b)
    assert.same({ 0.5, 0, -1 }, { got.c[0], got.c[1], got.c[2] })
    assert.equal(-1 / 0, 1 / world:get(2, New).b)
  end)

  it("gives added fields their default, zero without one", function()
    local Old = struct({ { "b", "double" } })
    local New = struct({ { "a", "int16_t" }, { "b", "double" },
      { "c", "float[2]" }, { "d", "bool" }, { "e", "entity" },
      { "f", "char[4]" } },
      { defaults = { 5, 99, { 1, 2 }, true, 3, "ab" } })
    local Zero = struct({ { "b", "double" }, { "x", "int32_t[2]" },
      { "y", "bool" } })
    local got = loadAs({ Old(1.25) }, Old, New):get(1, New)
    assert.equal(5, got.a)
    assert.equal(1.25, got.b)
    assert.same({ 1, 2 }, { got.c[0], got.c[1] })
    assert.is_true(got.d)
    assert.equal(3, got.e)
    assert.equal("ab", ffi.string(got.f))
    got = loadAs({ Old(1.25) }, Old, Zero):get(1, Zero)
    assert.same({ 1.25, 0, 0, false }, { got.b, got.x[0], got.x[1], got.y })
  end)

  it("finds fields in another order", function()
    local Old = struct({ { "a", "int8_t" }, { "b", "double" },
      { "c", "int16_t" }, { "d", "bool" } })
    local New = struct({ { "d", "bool" }, { "c", "int16_t" },
      { "a", "int8_t" }, { "b", "double" } })
    local world = loadAs({ Old(-3, 0.5, 300, true), Old(4, 1 / 0, -300) },
      Old, New)
    local got = world:get(1, New)
    assert.same({ -3, 0.5, 300, true }, { got.a, got.b, got.c, got.d })
    got = world:get(2, New)
    assert.same({ 4, 1 / 0, -300, false }, { got.a, got.b, got.c, got.d })
  end)

  it("does not run constructors for it", function()
    local Old = struct({ { "a", "double" } })
    local New = struct({ { "a", "double" }, { "b", "double" } },
      { defaults = { 1, 2 }, init = function() error("called") end })
    local got = loadAs({ Old(7) }, Old, New):get(1, New)
    assert.same({ 7, 2 }, { got.a, got.b })
  end)

  it("converts numeric types as an assignment does", function()
    local TYPES = { "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t",
      "uint32_t", "int64_t", "uint64_t", "float", "double", "bool" }
    local VALUES = {
      int8_t = { 0, 1, -1, 127, -128 }, uint8_t = { 0, 1, 200, 255 },
      int16_t = { 0, -1, 32767, -32768 }, uint16_t = { 0, 1, 65535 },
      int32_t = { 0, -1, 2 ^ 31 - 1, -2 ^ 31 },
      uint32_t = { 0, 1, 2 ^ 32 - 1 },
      int64_t = { 0LL, -1LL, 5LL, 2LL ^ 40, -2LL ^ 62 },
      uint64_t = { 0ULL, 1ULL, 2ULL ^ 40 },
      float = { 0, 1, 0.5, -1.75, 100.25, 1e10 },
      double = { 0, 1, 0.5, -1.75, 100.25, 1e10, 127.9 },
      bool = { false, true },
    }
    local components = {}
    for _, name in ipairs(TYPES) do
      components[name] = struct({ { "v", name } })
    end
    for _, from in ipairs(TYPES) do
      for _, to in ipairs(TYPES) do
        local Old, New = components[from], components[to]
        local values = {}
        for i, v in ipairs(VALUES[from]) do values[i] = Old(v) end
        local world = loadAs(values, Old, New)
        for i = 1, #values do
          -- What the host makes of it, as long as the value fits.
          local cell = ffi.new(to .. "[1]")
          local v = values[i].v
          if from == "bool" then v = v and 1 or 0 end
          local number = tonumber(v)
          local whole = number < 0 and math.ceil(number) or math.floor(number)
          local fits = to == "float" or to == "double"
          if to == "bool" then
            cell[0], fits = number ~= 0, true
          elseif fits then
            cell[0] = number
          else
            cell[0] = ffi.cast(to, ffi.cast("int64_t", v))
            fits = tonumber(cell[0]) == whole
          end
          if fits then
            assert.equal(tostring(cell[0]), tostring(world:get(i, New).v),
              from .. " to " .. to .. " of " .. tostring(v))
          end
        end
      end
    end
  end)

  it("makes one NaN of NaN, and a number of it where it must", function()
    local Old = struct({ { "a", "double" }, { "b", "float" } })
    local New = struct({ { "a", "float" }, { "b", "double" } })
    local Whole = struct({ { "a", "int32_t" }, { "b", "bool" } })
    local world = loadAs({ Old(0 / 0, 0 / 0) }, Old, New)
    local got = world:get(1, New)
    assert.is_true(got.a ~= got.a and got.b ~= got.b)
    assert.is_true(kit.verify(kit.save(world)))
    world = loadAs({ Old(0 / 0, 0 / 0), Old(1e300, -1 / 0) }, Old, Whole)
    assert.equal("number", type(world:get(1, Whole).a))
    assert.is_true(world:get(2, Whole).b)
  end)

  it("raises for another array length or shape, naming both", function()
    local Old = struct({ { "x", "float" }, { "v", "float[3]" },
      { "m", "int8_t[2][2]" } })
    cannot({ Old() }, Old, struct({ { "v", "float[4]" } }),
      { '"v"', "f32[4]", "f32[3]", "array length" })
    cannot({ Old() }, Old, struct({ { "v", "float" } }),
      { '"v"', "here f32,", "saved as f32[3]" })
    cannot({ Old() }, Old, struct({ { "x", "float[1]" } }),
      { '"x"', "f32[1]" })
    cannot({ Old() }, Old, struct({ { "m", "int8_t[4]" } }),
      { '"m"', "i8[4]", "i8[2][2]" })
    cannot({ Old() }, Old, struct({ { "m", "int8_t[2][3]" } }),
      { '"m"', "i8[2][3]", "i8[2][2]" })
  end)

  it("checks numbers of the old layout", function()
    local New = struct({ { "b", "double" }, { "a", "bool" } })
    local function bytes(a, b)
      return wire.snapshot({
        components = { { New.componentName, "a:bool,b:f64|16" } },
        records = { { columns = { 1 }, ids = { 4 }, data = {
          a .. ("\0"):rep(7) .. b } } },
      })
    end
    local world = engram.newWorld()
    world:loadSnapshot(bytes("\1", wire.f64(2)))
    assert.is_true(world:get(4, New).a)
    refused(kit.everything(), bytes("\2", wire.f64(2)), { "offset" })
    refused(kit.everything(), bytes("\1", wire.hex("010000000000f8ff")),
      { "offset" })
  end)

  it("reads layouts of other compilers and spellings of types", function()
    local New = struct({ { "a", "int32_t" }, { "b", "double" },
      { "c", "float" } })
    local world = engram.newWorld()
    world:loadSnapshot(wire.snapshot({
      components = { { New.componentName, "a@2:int,b@7:double,c:float|21" } },
      records = { { columns = { 1 }, ids = { 1 }, data = {
        "\0\0" .. wire.u32(5) .. "\0" .. wire.f64(0.5) .. "\0"
          .. wire.f32(8) .. "\0" } } },
    }))
    local got = world:get(1, New)
    assert.same({ 5, 0.5, 8 }, { got.a, got.b, got.c })
  end)

  it("writes its own layout in the next save", function()
    local Old = struct({ { "a", "int8_t" }, { "b", "float" } })
    local New = struct({ { "b", "double" }, { "z", "int32_t" } })
    local world = loadAs({ Old(1, 0.5) }, Old, New)
    assert.equal("b:f64,z:i32|16", engram.snapshot.inspect(
      kit.save(world)).fingerprints[New.componentName])
    local again = engram.newWorld()
    again:loadSnapshot(kit.save(world))
    kit.same(kit.contents(world), kit.contents(again))
  end)

  it("works for very many rows, and for two records of one archetype",
    function()
      local Old = struct({ { "a", "int16_t" }, { "b", "float" } })
      local New = struct({ { "b", "float" }, { "a", "int32_t" } })
      local source = engram.newWorld()
      local rows = 3000
      for i = 1, rows do
        if i % 3 == 0 then
          source:spawn(Old(i, i / 2), kit.TempTag)
        else
          source:spawn(Old(i, i / 2))
        end
      end
      local bytes = kit.save(source):gsub(Old.componentName,
        New.componentName)
      local world = engram.newWorld()
      world:loadSnapshot(bytes)
      for i = 1, rows do
        local got = world:get(i, New)
        assert(got.a == i and got.b == i / 2)
      end
    end)
end)

describe("a struct that has hooks now", function()
  it("gives deserialize what was saved, by field", function()
    local Old = struct({ { "a", "int8_t" }, { "b", "double" },
      { "c", "float[2]" }, { "t", "char[4]" }, { "m", "int16_t[2][2]" },
      { "k", "bool" }, { "g", "int64_t" }, { "e", "entity" } })
    local seen = {}
    local New
    New = struct({ { "b", "double" }, { "t", "char[8]" } }, {
      serialize = function(self) return { b = self.b } end,
      deserialize = function(_, data)
        seen[#seen + 1] = data
        return New.new({ b = data.b * 2, t = data.t })
      end,
    })
    local v = Old(-1, 0.25)
    v.c[1], v.t, v.m[1][0], v.k, v.g, v.e = 2, "ab", -7, true, -2LL ^ 40, 9
    local world = loadAs({ v, Old() }, Old, New)
    assert.equal(0.5, world:get(1, New).b)
    assert.equal("ab", ffi.string(world:get(1, New).t))
    assert.equal(kit.show({ a = -1, b = 0.25, c = { 0, 2 }, t = "ab",
      m = { { 0, 0 }, { -7, 0 } }, k = true, g = -2LL ^ 40, e = 9 }),
      kit.show(seen[1]))
    assert.equal(2, #seen)
  end)

  it("with the source gone after the first hook", function()
    local buffer = require("string.buffer")
    local Old = struct({ { "long_name_of_a_field", "double" } })
    local New, source
    New = struct({ { "long_name_of_a_field", "double" } }, {
      serialize = function() return {} end,
      deserialize = function(_, data)
        source:free()
        collectgarbage()
        return New.new(data)
      end,
    })
    local world = engram.newWorld()
    for i = 1, 40 do
      world:spawn(Old(i), i % 2 == 0 and kit.Tag or kit.Num(1))
    end
    local bytes = kit.save(world):gsub(Old.componentName, New.componentName)
    source = buffer.new():put(bytes)
    local into = engram.newWorld()
    into:loadSnapshot(source)
    for i = 1, 40 do
      assert.equal(i, into:get(i, New).long_name_of_a_field)
    end
  end)

  it("with another load inside", function()
    local Old = struct({ { "a", "double" } })
    local Other = struct({ { "zzz", "float[5]" }, { "b", "double" } })
    local New, inner
    New = struct({ { "a", "double" } }, {
      serialize = function() return {} end,
      deserialize = function(_, data)
        if inner then engram.newWorld():loadSnapshot(inner) end
        return New.new(data)
      end,
    })
    local OtherNew
    OtherNew = struct({ { "b", "double" } }, {
      serialize = function() return {} end,
      deserialize = function(_, data) return OtherNew.new({ b = data.b }) end,
    })
    local world = engram.newWorld()
    world:spawn(Other(nil, 4))
    inner = kit.save(world):gsub(Other.componentName, OtherNew.componentName)
    local got = loadAs({ Old(1), Old(2), Old(3) }, Old, New)
    for i = 1, 3 do assert.equal(i, got:get(i, New).a) end
  end)

  it("reads the raw form with serialize alone as well", function()
    local Old = struct({ { "a", "double" }, { "b", "int32_t" } })
    local New = struct({ { "b", "int32_t" }, { "c", "double" } }, {
      defaults = { nil, 5 },
      serialize = function(self) return { b = self.b } end,
    })
    local got = loadAs({ Old(1, 2) }, Old, New):get(1, New)
    assert.same({ 2, 5 }, { got.b, got.c })
  end)

  it("is stored raw again when the hooks are gone", function()
    local Old
    Old = struct({ { "a", "double" }, { "v", "int8_t[2]" } }, {
      serialize = function(self)
        return { a = self.a, v = { self.v[0], self.v[1] }, extra = 1 }
      end,
    })
    local New = struct({ { "v", "int8_t[2]" }, { "a", "float" },
      { "z", "double" } }, { defaults = { nil, nil, 3 } })
    local v = Old(0.5)
    v.v[1] = -4
    local got = loadAs({ v }, Old, New):get(1, New)
    assert.same({ 0, -4, 0.5, 3 }, { got.v[0], got.v[1], got.a, got.z })
  end)

  it("with deserialize alone is stored by field", function()
    local Two
    Two = struct({ { "a", "double" }, { "c", "char[5]" },
      { "n", "int16_t[2]" } }, {
      deserialize = function(_, data)
        return Two.new({ a = data.a + 1, c = data.c, n = data.n })
      end,
    })
    local world = engram.newWorld()
    local v = Two(1)
    v.c, v.n[1] = "xyz", 77
    local id = world:spawn(v)
    local other = engram.newWorld()
    other:loadSnapshot(kit.save(world))
    local got = other:get(id, Two)
    assert.equal(2, got.a)
    assert.equal("xyz", ffi.string(got.c))
    assert.equal(77, got.n[1])
  end)

  it("raises for a value that a field cannot take, naming it", function()
    local Old = tableComponent()
    local New = struct({ { "a", "double" } })
    local v = Old()
    v.a = "text"
    cannot({ v }, Old, New, { '"a"', "entity 1" })
  end)
end)

describe("a component of another kind now", function()
  local Struct = struct({ { "x", "double" }, { "value", "float" } })
  local Table = tableComponent({ fields = { "x" } })
  local Bare = tableComponent()
  serial = serial + 1
  local Tag = engram.newTagComponent({ name = ("schema.S%03d"):format(serial) })
  local scalars = {}
  for _, kind in ipairs({ "number", "boolean", "string" }) do
    serial = serial + 1
    scalars[kind] = engram.newScalarComponent({ kind = kind,
      name = ("schema.S%03d"):format(serial),
      default = ({ number = 3, boolean = true, string = "d" })[kind] })
  end

  it("struct to table: an instance with the fields", function()
    local world = loadAs({ Struct(2, 0.5) }, Struct, Table)
    local got = world:get(1, Table)
    assert.equal(Table, got.componentType)
    assert.same({ 2, 0.5 }, { got.x, got.value })
  end)

  it("table to struct: by field, defaults for the rest", function()
    local v = Bare()
    v.x, v.other = 2.5, { 1 }
    local got = loadAs({ v }, Bare, Struct):get(1, Struct)
    assert.same({ 2.5, 0 }, { got.x, got.value })
  end)

  it("struct or table to scalar: its field value, or the default", function()
    assert.equal(0.5, loadAs({ Struct(1, 0.5) }, Struct, scalars.number):get(1,
      scalars.number))
    local v = Bare()
    v.value = "text"
    assert.equal("text", loadAs({ v }, Bare, scalars.string):get(1,
      scalars.string))
    assert.equal("d", loadAs({ Bare() }, Bare, scalars.string):get(1,
      scalars.string))
    assert.equal(3, loadAs({ Bare() }, Bare, scalars.number):get(1,
      scalars.number))
    assert.is_true(loadAs({ Bare() }, Bare, scalars.boolean):get(1,
      scalars.boolean))
  end)

  it("scalar to table: an instance with a value", function()
    assert.equal(9, loadAs({ scalars.number(9) }, scalars.number,
      Bare):get(1, Bare).value)
    assert.equal("t", loadAs({ scalars.string("t") }, scalars.string,
      Bare):get(1, Bare).value)
  end)

  it("scalar to scalar of another type: raises", function()
    local values = { number = 1, boolean = false, string = "1" }
    for _, from in ipairs(kit.sortedKeys(values)) do
      for _, to in ipairs(kit.sortedKeys(values)) do
        if from ~= to then
          cannot({ scalars[from](values[from]) }, scalars[from], scalars[to],
            { "offset" })
        end
      end
    end
    local v = Bare()
    v.value = {}
    for _, to in ipairs(kit.sortedKeys(scalars)) do
      cannot({ v }, Bare, scalars[to], { "value" })
    end
    v.value = 1LL
    cannot({ v }, Bare, scalars.number, { "another type" })
  end)

  it("anything to tag: raises, as data would be lost", function()
    cannot({ Struct(1, 2) }, Struct, Tag, { "tag" })
    cannot({ Table(1) }, Table, Tag, { "tag" })
    cannot({ scalars.number(1) }, scalars.number, Tag, { "tag" })
    cannot({ scalars.string("") }, scalars.string, Tag, { "tag" })
  end)

  it("tag to anything: raises", function()
    cannot({ Tag }, Tag, Struct, { "boolean" })
    cannot({ Tag }, Tag, Table, { "boolean" })
    cannot({ Tag }, Tag, scalars.number, { "scalar" })
    cannot({ Tag }, Tag, scalars.boolean, { "scalar" })
    cannot({ Tag }, Tag, scalars.string, { "boolean" })
  end)

  it("tags must be true in every row", function()
    refused(kit.everything(), wire.snapshot({
      components = { { "kit.Tag" } },
      records = { { columns = { 1 }, ids = { 1, 2, 3 }, data = {
        "\2\2\1" } } },
    }), { "tag", "kit.Tag" })
  end)

  it("rows that are no table raise with entity and component", function()
    for _, name in ipairs({ "kit.Body", "kit.Bag", "kit.Built", "kit.Hook",
      "kit.HookFFI", "kit.HookNum", "kit.Text" }) do
      refused(kit.everything(), wire.snapshot({
        components = { { name } },
        records = { { columns = { 1 }, ids = { 7, 8 }, data = {
          wire.hash() .. wire.number(5) } } },
      }), { '"' .. name .. '"' })
    end
  end)

  it("a pointer cannot be loaded into", function()
    local Old = struct({ { "n", "int32_t" } })
    local New = struct({ { "n", "int32_t" }, { "p", "void *" } },
      { transient = true })
    cannot({ Old(1) }, Old, New, { '"p"', "pointer" })
  end)
end)

describe("scalars", function()
  it("take their value from any place in a table, and the default without",
    function()
      local s, n = wire.string, wire.number
      local world = engram.newWorld()
      world:loadSnapshot(wire.snapshot({
        components = { { "kit.Num" } },
        records = { { columns = { 1 }, ids = { 1, 2, 3, 4, 5 }, data = {
          wire.hash(s("a"), wire.hash(n(1), s("x")), s("value"), n(5)),
          wire.hash(),
          wire.hash(s("other"), n(1)),
          "\13\3\1" .. n(7) .. n(8) .. s("value") .. n(9),
          wire.hash(s("value"), "\0"),
        } } },
      }))
      for id, v in ipairs({ 5, 7, 7, 9, 7 }) do
        assert.equal(v, world:get(id, kit.Num))
      end
      kit.check(world)
    end)
end)
