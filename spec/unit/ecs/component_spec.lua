local support = require("spec.support.components")
local raises = support.raises

-- Under a collector at full stress every allocation is dear.
local STRESS = os.getenv("EG_GC") ~= nil

local env
before_each(function() env = support.load() end)

local function new(options)
  options.name = options.name or "C"
  options.container = options.container or {}
  return env.newComponent(options)
end

describe("a table component", function()
  it("needs only a name and a container", function()
    local C = new({})
    assert.equal("table", C.componentKind)
    local instance = C()
    assert.is_nil(next(instance))
    assert.equal(C, instance.componentType)
    assert.not_equal(instance, C())
  end)

  it("maps arguments to fields in order and ignores the rest", function()
    local C = new({ fields = { "a", "b" } })
    assert.same({ a = 1, b = 2 }, C(1, 2, 3))
    assert.same({ b = false }, C(nil, false))
  end)

  it("takes any non-empty string as a field", function()
    local C = new({ fields = { "end", "a b", "q\"]\n\0", "\\" } })
    local c = C(1, 2, 3, 4)
    assert.same({ ["end"] = 1, ["a b"] = 2, ["q\"]\n\0"] = 3, ["\\"] = 4 }, c)
    assert.same(c, C.new(c))
  end)

  it("takes many fields", function()
    local fields, data, args = {}, {}, {}
    for i = 1, 240 do
      fields[i], args[i] = "f" .. i, i
      data["f" .. i] = i
    end
    local C = new({ fields = fields, defaults = { [240] = "last" } })
    assert.same(data, C(unpack(args)))
    assert.same(data, C.new(data))
    assert.equal("last", C().f240)
  end)

  it("resolves what an instance lacks in the container", function()
    local container = {}
    local C = new({ container = container, fields = { "x" } })
    function container:double() return self.x * 2 end
    assert.equal(6, C(3):double())
    assert.equal("C", C(3).componentName)
    assert.equal(getmetatable(C(1)), getmetatable(C(2)))
  end)

  it("keeps the metatable of its container", function()
    local base = { inherited = function() return "yes" end }
    local mt = { __index = base, __tostring = function() return "mine" end }
    local container = setmetatable({}, mt)
    local C = new({ container = container, fields = { "x" } })
    assert.equal(mt, getmetatable(C))
    assert.equal("mine", tostring(C))
    assert.equal(5, C(5).x)
    assert.equal("yes", C(5).inherited())
  end)

  it("lets containers share a metatable", function()
    local mt = {}
    local A = new({ name = "A", container = setmetatable({}, mt),
      fields = { "x" } })
    local B = new({ name = "B", container = setmetatable({}, mt),
      fields = { "y" } })
    assert.equal(1, A(1).x)
    assert.equal(2, B(2).y)
    assert.equal(B, B(2).componentType)
    raises({ "call" }, setmetatable({}, mt))
  end)

  it("works with a metatable that is protected or refuses new keys", function()
    local container = setmetatable({}, { __metatable = false,
      __newindex = function() error("no") end })
    local C = new({ container = container, fields = { "x" } })
    assert.equal(1, C(1).x)
    assert.equal("C", C.componentName)
  end)

  it("does not keep the tables it was given", function()
    local fields, defaults = { "x" }, { { 1 } }
    local C = new({ fields = fields, defaults = defaults })
    fields[1], defaults[1][1] = "y", 2
    assert.same({ x = { 1 } }, C())
  end)
end)

describe("defaults of a table component", function()
  it("stand in for nil only; false counts", function()
    local C = new({ fields = { "a", "b", "c", "d" },
      defaults = { 1, false, nil, "x" } })
    assert.same({ a = 1, b = false, d = "x" }, C())
    assert.same({ a = false, b = true, c = 3, d = "" }, C(false, true, 3, ""))
  end)

  it("keep every number and string exactly", function()
    local odd = { 0.1, -0.0, 1 / 0, -1 / 0, 2 ^ 53, 5e-324, "\0\r\n%q\"", 1e9 }
    local fields = {}
    for i = 1, #odd + 2 do fields[i] = "f" .. i end
    odd[9], odd[10] = 0 / 0, 5LL
    local c = new({ fields = fields, defaults = odd })()
    for i = 1, 8 do assert.equal(odd[i], c["f" .. i]) end
    assert.equal(-1 / 0, 1 / c.f2)
    assert.not_equal(c.f9, c.f9)
    assert.equal(5LL, c.f10)
  end)

  it("that are tables are copied deeply for every instance", function()
    local shared = { n = 1 }
    local mt = {}
    local default = setmetatable({ shared, shared, { deep = {} } }, mt)
    default.self = default
    local C = new({ fields = { "list" }, defaults = { default } })
    local one, two = C().list, C().list
    assert.not_equal(one, two)
    assert.not_equal(one, default)
    assert.not_equal(one[1], two[1])
    assert.not_equal(one[3].deep, two[3].deep)
    assert.equal(one[1], one[2])
    assert.equal(one, one.self)
    assert.equal(mt, getmetatable(one))
    one[1].n = 7
    assert.equal(1, two[1].n)
    assert.equal(1, shared.n)
  end)

  it("may be as deep as memory allows", function()
    local root = {}
    local at = root
    local levels = STRESS and 300 or 100000
    for _ = 1, levels do
      at.next = {}
      at = at.next
    end
    local copied, depth = new({ fields = { "x" }, defaults = { root } })().x, 0
    while copied.next do copied, depth = copied.next, depth + 1 end
    assert.equal(levels, depth)
  end)

  it("share components, functions and table keys, and copy FFI values",
    function()
      local P = env.newFFIComponent({ name = "P", container = {},
        fields = { { "x", "double" } } })
      local key, p = {}, P(4)
      local C = new({ fields = { "x" },
        defaults = { { type = P, print = print, [key] = 1, p = p } } })
      local x = C().x
      assert.equal(P, x.type)
      assert.equal(print, x.print)
      assert.equal(1, x[key])
      assert.equal(4, x.p.x)
      x.p.x = 5
      assert.equal(4, p.x)
      assert.equal(4, C().x.p.x)
    end)
end)

describe("C.new of a table component", function()
  it("takes declared fields, defaults, then all other entries", function()
    local C = new({ fields = { "a", "b" }, defaults = { 1, 2 } })
    local list = {}
    local c = C.new({ b = 5, extra = list, [3] = "three", [false] = 0 })
    assert.same({ a = 1, b = 5, extra = list, [3] = "three", [false] = 0 }, c)
    assert.equal(list, c.extra)
    assert.equal(C, c.componentType)
  end)

  it("takes all entries when no fields are declared", function()
    local C = new({})
    assert.same({ a = 1, [2] = 3 }, C.new({ a = 1, [2] = 3 }))
  end)

  it("neither keeps nor changes the table given", function()
    local C = new({ fields = { "a" }, defaults = { 1 } })
    local data = { z = 1 }
    local c = C.new(data)
    assert.not_equal(data, c)
    assert.same({ z = 1 }, data)
    assert.is_nil(getmetatable(data))
  end)

  it("leaves out a key componentType, which is engram's", function()
    local C = new({})
    local c = C.new({ componentType = "x", a = 1 })
    assert.equal(C, c.componentType)
    assert.is_nil(rawget(c, "componentType"))
  end)

  it("misses no entry inside a pairs loop of the caller", function()
    local C = new({})
    local rows = {}
    for i = 1, 30 do rows["r" .. i] = { a = 1, b = 2, c = 3 } end
    for _ = 1, STRESS and 5 or 300 do
      for _, row in pairs(rows) do
        local c = C.new(row)
        assert(c.a == 1 and c.b == 2 and c.c == 3)
      end
    end
  end)

  it("raises for anything but a table", function()
    local C = new({ fields = { "a" } })
    raises({ "C.new", "table", "nil" }, C.new)
    raises({ "C.new", "number 5" }, C.new, 5)
  end)

  it("is replaced by `new`, whose result becomes an instance", function()
    local given
    local C = new({ new = function(data)
      given = data
      return { sum = data.a + data.b }
    end })
    local data = { a = 1, b = 2, c = 3 }
    local c = C.new(data)
    assert.equal(data, given)
    assert.same({ sum = 3 }, c)
    assert.equal(C, c.componentType)
    assert.equal(C, (env.values.resolve(c)))
  end)

  it("takes an instance that `new` made through the constructor", function()
    local C
    C = new({ fields = { "x" }, new = function(data) return C(data.y) end })
    assert.equal(3, C.new({ y = 3 }).x)
  end)

  it("raises when `new` gives no table, a component, or another's instance",
    function()
      local Other = env.newComponent({ name = "Other", container = {} })
      local H = env.newScalarComponent({ name = "H", kind = "number" })
      local result
      local C = new({ new = function() return result end })
      raises({ "C.new", "nil" }, C.new, {})
      result = 5
      raises({ "C.new", "number 5" }, C.new, {})
      result = Other
      raises({ "C.new", "Other" }, C.new, {})
      result = Other()
      raises({ "C.new", "Other" }, C.new, {})
      result = H(1)
      raises({ "C.new", "H" }, C.new, {})
    end)
end)

describe("init and __call of a table component", function()
  it("init runs last and gets the arguments as given", function()
    local seen, count
    local C = new({ fields = { "a", "b" }, defaults = { 1, 2 },
      init = function(self, ...)
        seen, count = { self.a, self.b, ... }, select("#", ...)
        self.extra = true
      end })
    local c = C(nil, 5, 6, nil)
    assert.same({ 1, 5, nil, 5, 6 }, seen)
    assert.equal(4, count)
    assert.same({ a = 1, b = 5, extra = true }, c)
    C()
    assert.equal(0, count)
  end)

  it("init never sees the table of C.new, whose other entries come last",
    function()
      local first
      local C = new({ fields = { "a", "b" },
        init = function(self, a, b)
          first = a
          self.sum = a + b
        end })
      assert.equal(3, C.new({ a = 1, b = 2 }).sum)
      assert.equal(1, first)
      assert.equal(9, C.new({ a = 1, b = 2, sum = 9 }).sum)
    end)

  it("init is reached as C.init", function()
    local function init() end
    assert.equal(init, new({ fields = {}, init = init }).init)
  end)

  it("init with new and without fields gets the bare instance", function()
    local C = new({ init = function(self, a) self.a = a end,
      new = function() return {} end })
    assert.same({ a = 4 }, C(4))
    assert.same({}, C.new({ a = 4 }))
  end)

  it("an error in init reaches the caller unchanged", function()
    local C = new({ fields = { "a" }, init = function() error({ 1 }) end })
    local ok, e = pcall(C, 1)
    assert.is_false(ok)
    assert.same({ 1 }, e)
  end)

  it("__call gets an instance with defaults, and init does not run", function()
    local inits = 0
    local C = new({ fields = { "a", "b" }, defaults = { 1, { 2 } },
      init = function(self) inits = inits + 1; self.inited = true end,
      __call = function(self, ...)
        self.got = { self.a, self.b[1], ... }
      end })
    local c = C(8, 9)
    assert.same({ 1, 2, 8, 9 }, c.got)
    assert.equal(1, c.a)
    assert.equal(0, inits)
    C.init(c)
    assert.is_true(c.inited)
    assert.not_equal(c.b, C().b)
  end)

  it("C.new goes through __call where there are fields to unpack", function()
    local C = new({ fields = { "a", "b" },
      __call = function(self, a, b) self.a, self.b = a * 10, b end })
    assert.same({ a = 10, b = 2, c = 3 }, C.new({ a = 1, b = 2, c = 3 }))
  end)

  it("C.new without fields does not call __call", function()
    local C = new({ __call = function(self, text) self.n = #text end })
    assert.same({ n = 3 }, C("abc"))
    assert.same({ n = 3 }, C.new({ n = 3 }))
  end)

  it("are never called by registering", function()
    local function fail() error("called") end
    new({ fields = { "a" }, init = fail, __call = fail, new = fail })
  end)
end)
