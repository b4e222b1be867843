local ffi = require("ffi")
local support = require("spec.support.components")

local env
before_each(function() env = support.load() end)

local function new(name, fields, options)
  options = options or {}
  options.name, options.container, options.fields = name, {}, fields
  return env.newFFIComponent(options)
end

local function record(name, ctype)
  local info = env.info(new(name, { { "f", ctype } }))
  return info.ffiFields[1], info
end

describe("the layout of an FFI component", function()
  it("has canonical types by width and sign on this platform", function()
    local long = "i" .. ffi.sizeof("long") * 8
    local size = "u" .. ffi.sizeof("size_t") * 8
    local char = tonumber(ffi.cast("char", -1)) < 0 and "i8" or "u8"
    for i, case in ipairs({
      { "int8_t", "i8" }, { "uint8_t", "u8" }, { "int16_t", "i16" },
      { "uint16_t", "u16" }, { "int32_t", "i32" }, { "uint32_t", "u32" },
      { "int64_t", "i64" }, { "uint64_t", "u64" }, { "float", "f32" },
      { "double", "f64" }, { "bool", "bool" }, { "entity", "entity" },
      { "char", char }, { "signed char", "i8" }, { "unsigned char", "u8" },
      { "short", "i16" }, { "unsigned short int", "u16" }, { "int", "i32" },
      { "unsigned", "u32" }, { "signed", "i32" }, { "long", long },
      { "long unsigned int", long:gsub("i", "u") }, { "long long", "i64" },
      { "unsigned long long", "u64" }, { "size_t", size },
      { "ptrdiff_t", (size:gsub("u", "i")) }, { "float[4]", "f32[4]" },
      { " int32_t [ 2 ][3] ", "i32[2][3]" }, { "entity[4]", "entity[4]" },
      { "bool[2]", "bool[2]" }, { "void*", "pointer" },
      { "const char *", "pointer" }, { "char*", "pointer" },
      { "float *", "pointer" }, { "const uint8_t*", "pointer" },
      { "int*[2]", "pointer[2]" },
    }) do
      assert.equal(case[2], record("T" .. i, case[1]).type, case[1])
    end
  end)

  it("records elements, dimensions, offsets and what is text", function()
    local info = env.info(new("C", { { "a", "uint8_t" }, { "v", "double[3]" },
      { "m", "int16_t[2][3]" }, { "s", "char[5]" }, { "e", "entity" } }))
    local a, v, m, s, e = unpack(info.ffiFields)
    assert.same({ 1, 3, 6, 5, 1 },
      { a.elements, v.elements, m.elements, s.elements, e.elements })
    assert.same({ { 0, 0 }, { 3, 0 }, { 2, 3 }, { 5, 0 } },
      { a.dims, v.dims, m.dims, s.dims })
    assert.same({ 0, 8, 32, 44, 56 },
      { a.offset, v.offset, m.offset, s.offset, e.offset })
    assert.same({ false, false, false, true },
      { a.isChar, v.isChar, m.isChar, s.isChar })
    assert.same({ "u8", "f64", "i16", "entity" },
      { a.base, v.base, m.base, e.base })
    assert.equal(12, e.code)
    assert.equal(64, info.size)
    assert.equal(64, ffi.sizeof(info.ctype))
    assert.is_false(record("D", "char[2][2]").isChar)
    assert.is_false(record("E", "uint8_t[2]").isChar)
    assert.is_false(record("F", "char").isChar)
  end)

  it("has a fingerprint of canonical types in declared order", function()
    assert.equal("x:f64,n:i32,s:i8[5],t:entity,v:f32[2][2]|48",
      env.info(new("C", { { "x", "double" }, { "n", "int" },
        { "s", "signed char[5]" }, { "t", "entity" },
        { "v", "float[2][2]" } })).fingerprint)
  end)

  it("tells offsets that are not natural in the fingerprint", function()
    local function field(name, type, offset)
      local f = env.ctypes.parse(type)
      f.name, f.offset, f.element = name, offset, ffi.typeof(f.spelling)
      return f
    end
    assert.equal("a:i8,b@4:f64,c:i32|16", env.ctypes.fingerprint({
      field("a", "int8_t", 0), field("b", "double", 4),
      field("c", "int32_t", 12) }, 16))
  end)

  it("has no fingerprint where the column is not stored raw", function()
    local function f() end
    local x = { { "x", "int" } }
    assert.equal("", env.info(new("A", x, { serialize = f })).fingerprint)
    assert.equal("", env.info(new("B", x, { deserialize = f })).fingerprint)
    local info = env.info(new("C", { { "p", "void*" } }))
    assert.equal("", info.fingerprint)
    assert.is_true(info.hasPointers)
  end)

  it("gives the types a column needs", function()
    local info = env.info(new("C", { { "x", "int" } }))
    assert.equal("ffi", info.kind)
    assert.equal(1, info.storage)
    local rows = ffi.new("int[2]", 3, 4)
    assert.equal(4, ffi.cast(info.pointer, rows)[1].x)
    assert.equal(info.component, info.construct().componentType)
    assert.truthy(tostring(info.ctype):find("struct engram_c%d+_C"))
  end)
end)

describe("newFFIComponent", function()
  local good = { { "x", "int" } }

  local function refuses(texts, options)
    texts[#texts + 1] = "engram.newFFIComponent"
    support.refuses(env, texts, env.newFFIComponent, options)
  end

  after_each(function() new("C", good) end)

  local function refusesFields(texts, fields)
    texts[#texts + 1] = '"C"'
    refuses(texts, { name = "C", container = {}, fields = fields })
  end

  it("raises for what every factory refuses", function()
    refuses({ "table of options" }, nil)
    refuses({ "name" }, { container = {}, fields = good })
    refuses({ '"C"', "container" }, { name = "C", fields = good })
    refuses({ '"kind"' }, { name = "C", container = {}, fields = good,
      kind = "number" })
    refuses({ '"saved"' }, { name = "C", container = {}, fields = good,
      saved = {} })
    refuses({ '"C"', "transient", "serialize" }, { name = "C", container = {},
      fields = good, transient = true, serialize = print })
    refuses({ '"C"', "__call" }, { name = "C", fields = good,
      container = setmetatable({}, { __call = print }) })
  end)

  it("raises for fields that are missing or not {name, ctype} pairs",
    function()
      refusesFields({ "fields", "nil" }, nil)
      refusesFields({ "at least one" }, {})
      refusesFields({ "fields[1]", 'string "x"' }, { "x" })
      refusesFields({ "fields[2]", "array of 1" }, { { "x", "int" }, { "y" } })
      refusesFields({ "fields[1]", "array of 3" }, { { "x", "int", 5 } })
      refusesFields({ "fields[1]", "key" }, { { "x", "int", default = 5 } })
      refusesFields({ "fields", "key" }, { x = "int" })
      refusesFields({ "number 1" }, { { 1, "int" } })
      refusesFields({ '"x"', "ctype", "number 4" }, { { "x", 4 } })
    end)

  it("raises for names that are no identifiers, reserved or repeated",
    function()
      for _, name in ipairs({ "1x", "a b", "a-b", "", "int", "struct", "bool",
        "while", "__asm__", "ä", "a\0", "a;int b", "a[3]" }) do
        local shown = name == "a\0" and "a" or name
        refusesFields({ shown }, { { name, "int" } })
      end
      for _, name in ipairs({ "componentName", "componentId", "componentKind",
        "componentType" }) do
        refusesFields({ name, "reserved" }, { { name, "int" } })
      end
      refusesFields({ '"x"', "twice" }, { { "x", "int" }, { "x", "float" } })
    end)

  it("raises for ctypes that a field may not have, naming the field",
    function()
      for _, ctype in ipairs({ "", " ", "string", "struct foo", "void",
        "long double", "void**", "int**", "float[0]", "float[]", "float[?]",
        "float[-1]", "float[1.5]", "float[2][2][2]", "entity*",
        "entity[2][2]", "[4]", "int x", "int; int y", "$", "const int",
        "unsigned signed", "short char", "long long long", "int8_t int",
        "double[99999999999999]", "float[4", "complex", "int (*)(int)" }) do
        refusesFields({ '"x"', ("%q"):format(ctype) }, { { "x", ctype } })
      end
    end)

  it("raises for a struct too large to declare", function()
    refusesFields({ "engram" }, { { "x", "double[16777216][16777216]" } })
  end)

  it("raises for defaults the fields cannot take, naming the field",
    function()
      for _, case in ipairs({ { "int", "x" }, { "int", {} }, { "int", true },
        { "bool", 1 }, { "float[2]", 5 }, { "float[2]", { 1, 2, 3 } },
        { "float[2]", { "x" } }, { "char[2]", "abc" }, { "void*", 5 },
        { "entity", "x" } }) do
        refuses({ '"C"', '"x', "expected" }, { name = "C", container = {},
          fields = { { "x", case[1] } }, defaults = { case[2] } })
      end
      refuses({ '"C"', "defaults", "number 2" }, { name = "C", container = {},
        fields = good, defaults = { 1, 2 } })
    end)

  it("raises for a metatable it cannot use", function()
    local function with(mt)
      return { name = "C", container = {}, fields = good, metatable = mt }
    end
    refuses({ '"C"', "metatable", "number 5" }, with(5))
    refuses({ '"C"', "__index", "number 5" }, with({ __index = 5 }))
    refuses({ '"C"', "__new" }, with({ __new = print }))
  end)
end)
