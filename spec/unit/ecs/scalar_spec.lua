local ffi = require("ffi")
local support = require("spec.support.components")
local raises = support.raises

local env
before_each(function() env = support.load() end)

describe("a scalar component", function()
  it("has a kind and a default, zero where none is given", function()
    for kind, zero in pairs({ number = 0, boolean = false, string = "" }) do
      local C = env.newScalarComponent({ name = kind, kind = kind })
      assert.equal("scalar", C.componentKind)
      assert.equal(kind, C.scalarKind)
      assert.equal(zero, C.scalarDefault)
      assert.equal(zero, C().value)
      assert.equal(zero, env.info(C).construct())
    end
  end)

  it("takes a default of its kind", function()
    for kind, default in pairs({ number = -0.5, boolean = true,
      string = "a\n\"" }) do
      local C = env.newScalarComponent({ name = kind, kind = kind,
        default = default })
      assert.equal(default, C.scalarDefault)
      assert.equal(default, C().value)
      assert.equal(default, C(nil).value)
    end
    local B = env.newScalarComponent({ name = "B", kind = "boolean",
      default = false })
    assert.is_false(B.scalarDefault)
  end)

  it("keeps odd numbers as they are", function()
    local C = env.newScalarComponent({ name = "C", kind = "number",
      default = 0 / 0 })
    local v = C().value
    assert.not_equal(v, v)
    assert.equal(-1 / 0, 1 / C(-0.0).value)
    assert.equal(2 ^ 53, C(2 ^ 53).value)
  end)

  it("makes wrappers that are never equal to their value", function()
    local C = env.newScalarComponent({ name = "C", kind = "number" })
    local w = C(5)
    assert.equal(5, w.value)
    assert.is_false(w == 5)
    assert.equal(C, w.componentType)
    assert.equal(5, C.new({ value = 5 }).value)
    assert.equal(0, C.new({}).value)
    raises({ "C.new", "table" }, C.new, 5)
  end)

  it("holds false", function()
    local C = env.newScalarComponent({ name = "C", kind = "boolean",
      default = true })
    assert.is_false(C(false).value)
  end)

  it("raises for a value of another type, naming the component", function()
    local wrong = { number = { "1", true, {}, 1LL }, boolean = { 0, "true" },
      string = { 1, false } }
    for _, kind in ipairs({ "number", "boolean", "string" }) do
      local C = env.newScalarComponent({ name = "a " .. kind, kind = kind })
      for _, v in ipairs(wrong[kind]) do
        raises({ '"a ' .. kind .. '"', kind .. " expected" }, C, v)
      end
      raises({ kind .. " expected" }, C, C())
    end
  end)

  it("records its storage", function()
    for i, kind in ipairs({ "number", "boolean", "string" }) do
      local C = env.newScalarComponent({ name = kind, kind = kind,
        transient = i == 1 })
      assert.equal(i + 1, env.info(C).storage)
      assert.equal("", env.info(C).fingerprint)
      assert.equal(i == 1, env.info(C).transient)
    end
  end)

  it("takes serialize and deserialize", function()
    local C = env.newScalarComponent({ name = "C", kind = "string",
      serialize = print, deserialize = type })
    assert.equal(print, env.info(C).serialize)
    assert.equal(type, env.info(C).deserialize)
  end)

  it("costs no memory in compiled code that unwraps it", function()
    if not jit.status() then return end
    local C = env.newScalarComponent({ name = "C", kind = "number" })
    local resolve = env.values.resolve
    local column = ffi.new("double[1001]")
    local function fill()
      for i = 1, 1000 do
        local v = C(i)
        local component, form = resolve(v)
        if component and form == "wrapper" then column[i] = v.value end
      end
    end
    assert.is_true(support.garbage(fill) < 2000)
    assert.equal(1000, column[1000])
  end)
end)

describe("newScalarComponent", function()
  local function refuses(texts, options)
    texts[#texts + 1] = "engram.newScalarComponent"
    support.refuses(env, texts, env.newScalarComponent, options)
  end

  after_each(function()
    env.newScalarComponent({ name = "C", kind = "number" })
  end)

  it("raises for what every factory refuses", function()
    refuses({ "table of options" }, nil)
    refuses({ "name" }, { kind = "number" })
    refuses({ '"C"', "transient", "serialize" }, { name = "C", kind = "number",
      transient = true, serialize = print })
    for _, option in ipairs({ "container", "fields", "defaults", "init",
      "__call", "new", "metatable", "version", "onLoaded" }) do
      refuses({ '"' .. option .. '"' }, { name = "C", kind = "number",
        [option] = {} })
    end
  end)

  it("raises for a kind that is missing or unknown", function()
    refuses({ '"C"', "kind", "nil" }, { name = "C" })
    refuses({ '"C"', "kind", '"table"' }, { name = "C", kind = "table" })
    refuses({ '"C"', "kind", "number 1" }, { name = "C", kind = 1 })
  end)

  it("raises for a default of another type", function()
    refuses({ '"C"', "default", "number expected", '"1"' },
      { name = "C", kind = "number", default = "1" })
    refuses({ '"C"', "default", "string expected", "number 5" },
      { name = "C", kind = "string", default = 5 })
    refuses({ '"C"', "default", "boolean expected" },
      { name = "C", kind = "boolean", default = 0 })
    refuses({ '"C"', "default", "boolean false" },
      { name = "C", kind = "number", default = false })
  end)
end)
