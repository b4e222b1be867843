local ffi = require("ffi")
local support = require("spec.support.components")
local raises = support.raises

local env
before_each(function() env = support.load() end)

local XY = { { "x", "double" }, { "y", "float" } }

local function new(options)
  options.name = options.name or "C"
  options.container = options.container or {}
  options.fields = options.fields or XY
  return env.newFFIComponent(options)
end

describe("an FFI component", function()
  it("makes structs whose fields start at zero, false or NULL", function()
    local C = new({ fields = { { "a", "int32_t" }, { "b", "bool" },
      { "p", "void*" }, { "e", "entity" }, { "v", "float[3]" },
      { "s", "char[4]" } } })
    assert.equal("ffi", C.componentKind)
    local c = C()
    assert.equal(0, c.a)
    assert.is_false(c.b)
    assert.is_true(c.p == nil)
    assert.equal(0, c.e)
    assert.equal(0, c.v[0] + c.v[1] + c.v[2])
    assert.equal("", ffi.string(c.s))
  end)

  it("maps arguments to fields in order and ignores the rest", function()
    local C = new({})
    local c = C(1, 2.5, 3)
    assert.equal(1, c.x)
    assert.equal(2.5, c.y)
    assert.equal(0, C(1).y)
    assert.equal(C, c.componentType)
  end)

  it("takes field names that are keywords of Lua", function()
    local C = new({ fields = { { "end", "int" }, { "nil", "int" },
      { "function", "int[1]" } } })
    local c = C(1, 2, { 3 })
    assert.same({ 3, 1, 2 }, { c["function"][0], c["end"], c["nil"] })
    assert.equal(2, C.new({ ["nil"] = 2 })["nil"])
  end)

  it("takes one field, and more than a function has parameters", function()
    assert.equal(4, new({ fields = { { "x", "int" } } })(4).x)
    local fields, args, data = {}, {}, {}
    for i = 1, 240 do
      fields[i] = { "f" .. i, i % 2 == 0 and "int32_t[2]" or "double" }
      args[i] = i % 2 == 0 and { i, 1 } or i
      data["f" .. i] = args[i]
    end
    local C = new({ name = "Many", fields = fields,
      defaults = { [239] = 5, [240] = { 7, 8 } } })
    local a, b, c = C(unpack(args)), C.new(data), C()
    assert.same({ 239, 240, 1 }, { a.f239, a.f240[0], a.f240[1] })
    assert.same({ 239, 240, 1 }, { b.f239, b.f240[0], b.f240[1] })
    assert.same({ 5, 7, 8 }, { c.f239, c.f240[0], c.f240[1] })
    raises({ "Many", "f1" }, C, "x")
  end)

  it("is copied by value into a row", function()
    local C = new({})
    local column, c = env.column(C, 3), C(1, 2)
    column[1] = c
    c.x = 9
    assert.equal(1, column[1].x)
    assert.equal(C, column[1].componentType)
  end)

  it("lets two components have the same fields", function()
    local A, B = new({ name = "A" }), new({ name = "B" })
    assert.equal(A, A(1).componentType)
    assert.equal(B, B(1).componentType)
    assert.is_false(ffi.istype(env.info(A).ctype, B(1)))
  end)

  it("lets component names be any bytes", function()
    for i, name in ipairs({ "a b", "ä", "x\0y", ("n"):rep(200), "a.b", "{" }) do
      assert.equal(i, new({ name = name })(i).x)
    end
  end)

  it("takes a char array as string, table or array", function()
    local C = new({ fields = { { "s", "char[4]" }, { "b", "uint8_t[2]" } } })
    -- A member does not keep its struct alive, so each has a name here.
    local full, zero, list = C("abcd"), C("a\0b"), C({ 65 })
    assert.equal("abcd", ffi.string(full.s, 4))
    assert.equal("a\0b\0", ffi.string(zero.s, 4))
    assert.equal("A", ffi.string(list.s))
    local from = C("xyz")
    local to, bytes = C(from.s), C(nil, "\255")
    assert.equal("xyz", ffi.string(to.s))
    assert.equal(from.s[2], to.s[2])
    assert.equal(255, bytes.b[0])
    raises({ '"C"', '"s"', "4" }, C, "abcde")
  end)

  it("takes arrays as 1-based tables; what they lack is zero", function()
    local C = new({ fields = { { "v", "double[3]" }, { "m", "int8_t[2][3]" } },
      defaults = { { 7, 8, 9 } } })
    local c = C({ 5 }, { { 1, 2, 3 }, { 4 } })
    assert.same({ 5, 0, 0 }, { c.v[0], c.v[1], c.v[2] })
    assert.same({ 1, 3, 4, 0 },
      { c.m[0][0], c.m[0][2], c.m[1][0], c.m[1][2] })
    local default, copied, hole = C(), C(c.v), C({ nil, 1 })
    assert.equal(9, default.v[2])
    assert.equal(5, copied.v[0])
    assert.same({ 0, 1, 5 }, { hole.v[0], hole.v[1], c.v[0] })
    raises({ '"C"', '"v"', "array of at most 3" }, C, { 1, 2, 3, 4 })
    raises({ '"C"', '"v"', "number 1" }, C, 1)
    raises({ '"C"', '"v[2]"', "boolean" }, C, { 1, true })
    raises({ '"C"', '"m"', "array" }, C, nil, { {}, {}, {} })
    raises({ '"C"', '"m[2]"', "array" }, C, nil, { {}, 1 })
    raises({ '"C"', '"m[2][1]"', "string" }, C, nil, { {}, { "x" } })
  end)

  it("takes int64 and uint64 over their range", function()
    local C = new({ fields = { { "i", "int64_t" }, { "u", "uint64_t" },
      { "d", "double" } } })
    local c = C(-0x7fffffffffffffffLL - 1, 0xffffffffffffffffULL, 7LL)
    assert.equal(-0x7fffffffffffffffLL - 1, c.i)
    assert.equal(0xffffffffffffffffULL, c.u)
    assert.equal(7, c.d)
    assert.equal(5LL, C(5).i)
  end)

  it("takes pointers and NULL", function()
    local buffer = ffi.new("int[1]", 42)
    local C = new({ fields = { { "p", "void*" }, { "q", "int*" },
      { "s", "const char*" } }, defaults = { nil, buffer } })
    local c = C(buffer, buffer, "text")
    assert.equal(42, ffi.cast("int *", c.p)[0])
    assert.equal(42, c.q[0])
    assert.equal("text", ffi.string(c.s))
    assert.equal(42, C().q[0])
    assert.is_true(C(ffi.cast("void *", 0)).p == nil)
    raises({ '"C"', '"p"', "pointer", "number 5" }, C, 5)
  end)

  it("raises for an argument the field cannot take, naming the field",
    function()
      local C = new({ fields = { { "x", "double" }, { "b", "bool" } } })
      raises({ '"C"', '"x"', "number", 'string "1"' }, C, "1")
      raises({ '"C"', '"x"', "boolean true" }, C, true)
      raises({ '"C"', '"x"', "table" }, C, {})
      raises({ '"C"', '"x"', "cdata" }, C, C())
      raises({ '"C"', '"b"', "boolean", "number 1" }, C, 1, 1)
      raises({ '"C"', '"b"', "boolean" }, C, 1, 1LL)
      raises({ '"C"', '"x"' }, C.new, { x = "1" })
    end)

  it("costs no memory in compiled code that copies it on", function()
    if not jit.status() then return end
    local C = new({ fields = { { "x", "double" }, { "y", "double" } },
      defaults = { 1, 2 } })
    local I = new({ name = "I", init = function(self) self.y = self.x end })
    local column, inits = env.column(C, 1001), env.column(I, 1001)
    local function fill()
      for i = 1, 1000 do
        column[i] = C(i, 2)
        column[i] = C(i)
        inits[i] = I(i)
      end
    end
    assert.is_true(support.garbage(fill) < 2000)
  end)
end)

describe("defaults of an FFI component", function()
  it("stand in for nil only", function()
    local C = new({ fields = { { "a", "int" }, { "b", "bool" },
      { "c", "bool" }, { "d", "double" }, { "s", "char[8]" } },
      defaults = { 7, true, false, -0.0, "hi" } })
    local c = C()
    assert.same({ 7, true, false }, { c.a, c.b, c.c })
    assert.equal(-1 / 0, 1 / c.d)
    assert.equal("hi", ffi.string(c.s))
    assert.same({ 0, false }, { C(0).a, C(nil, false).b })
  end)

  it("are not shared by instances", function()
    local C = new({ fields = { { "v", "int[2]" } }, defaults = { { 1, 2 } } })
    local one, two = C(), C()
    one.v[0] = 9
    assert.same({ 9, 1 }, { one.v[0], two.v[0] })
  end)

  it("are exact for any number", function()
    local C = new({ fields = { { "a", "double" }, { "b", "double" },
      { "c", "int64_t" } }, defaults = { 1 / 0, 0 / 0, 2LL ^ 62 } })
    local c = C()
    assert.equal(1 / 0, c.a)
    assert.not_equal(c.b, c.b)
    assert.equal(2LL ^ 62, c.c)
  end)
end)

describe("construction hooks of an FFI component", function()
  it("C.new goes by name and ignores what is no field", function()
    local C = new({ defaults = { 3, 4 } })
    local c = C.new({ y = 1, z = 9 })
    assert.same({ 3, 1 }, { c.x, c.y })
    raises({ "C.new", "table", "nil" }, C.new)
    raises({ "C.new", "cdata" }, C.new, c)
  end)

  it("init runs last and gets the arguments as given", function()
    local got, count
    local C = new({ defaults = { 1, 2 }, init = function(self, ...)
      got, count = { self.x, self.y, ... }, select("#", ...)
      self.y = 10
    end })
    assert.equal(10, C(5, nil, 7).y)
    assert.same({ 5, 2, 5, nil, 7 }, got)
    assert.equal(3, count)
    assert.equal(10, C.new({ x = 1 }).y)
    assert.same({ 1, 2, 1 }, got)
    assert.is_function(C.init)
  end)

  it("__call replaces the mapping, init does not run", function()
    local C = new({ defaults = { 1, 2 },
      init = function() error("init ran") end,
      __call = function(self, text) self.x = self.x + #text end })
    local c = C("abc")
    assert.same({ 4, 2 }, { c.x, c.y })
  end)

  it("new may give an instance or a table of fields", function()
    local C
    C = new({ defaults = { 1, 2 }, new = function(data)
      if data.whole then return C(7, 8) end
      return data.result
    end })
    assert.equal(7, C.new({ whole = true }).x)
    local c = C.new({ result = { y = 5 } })
    assert.same({ 1, 5 }, { c.x, c.y })
    assert.equal(C, c.componentType)
    raises({ "C.new", "nil" }, C.new, {})
    raises({ "C.new", "number 1" }, C.new, { result = 1 })
  end)

  it("the container supplies methods, also ones added later", function()
    local container = setmetatable({}, { __index = { base = 1 } })
    local C = new({ container = container })
    local c, sum = C(3), 0
    for i = 1, 200 do
      function C:scaled() return self.x * i end
      C.n = i
      sum = sum + c:scaled() - 3 * c.n + c.base
    end
    assert.equal(200, sum)
    assert.is_nil(c.nothing)
  end)

  it("metatable gives methods and operators before the container", function()
    local mt = { __index = { who = function() return "metatable" end },
      __add = function(a, b) return a.x + b.x end,
      __tostring = function(self) return "x=" .. self.x end }
    local C = new({ metatable = mt, container = {
      who = function() return "container" end,
      other = function() return "container" end } })
    local c = C(3)
    assert.equal("metatable", c:who())
    assert.equal("container", c:other())
    assert.equal(5, c + C(2))
    assert.equal("x=3", tostring(c))
    assert.equal(C, c.componentType)
    assert.equal("C", c.componentName)
    assert.equal(3, c.x)
  end)

  it("metatable may serve several components and stays as it was", function()
    local index = { len = function(self) return self.x end }
    local mt = { __index = index }
    local A = new({ name = "A", metatable = mt })
    local B = new({ name = "B", metatable = mt })
    assert.same({ 1, 2 }, { A(1):len(), B(2):len() })
    assert.equal(A, A().componentType)
    assert.equal(B, B().componentType)
    assert.equal(index, mt.__index)
  end)

  it("metatable may have a function for __index", function()
    local C = new({ metatable = { __index = function(self, k)
      if k == "twice" then return self.x * 2 end
      if k == "componentType" then return "forged" end
    end }, container = { more = 1 } })
    local c = C(4)
    assert.equal(8, c.twice)
    assert.equal(1, c.more)
    assert.equal(C, c.componentType)
  end)

  it("fill sets stored fields by name and converts as LuaJIT does", function()
    local C = new({ fields = { { "i", "int32_t" }, { "b", "bool" },
      { "v", "float[2]" } } })
    local fill = env.info(C).fill
    local c = fill(C(1, true, { 1, 2 }), { i = 2.9, v = { 5 }, other = 1 })
    assert.same({ 2, true, 5, 0 }, { c.i, c.b, c.v[0], c.v[1] })
    fill(c, { i = true, b = 0 })
    assert.same({ 1, false }, { c.i, c.b })
    raises({ '"C"', '"i"', "table" }, fill, c, { i = {} })
    raises({ '"C"', '"v[1]"', "string" }, fill, c, { v = { "x" } })
  end)
end)
