local support = require("spec.support.components")
local raises = support.raises

local env
before_each(function() env = support.load() end)

local function new(options)
  options.name = options.name or "C"
  options.container = options.container or {}
  return env.newComponent(options)
end

describe("newComponent", function()
  local function refuses(texts, options)
    texts[#texts + 1] = "engram.newComponent"
    support.refuses(env, texts, env.newComponent, options)
  end

  after_each(function()
    if not env.registry.componentByName("C") then new({}) end
  end)

  it("raises for options that are no table", function()
    refuses({ "table of options", "nil" }, nil)
    refuses({ 'string "C"' }, "C")
  end)

  it("raises for an option it does not know, later ones included", function()
    for _, option in ipairs({ "feilds", "metatable", "kind", "default", "saved",
      "version", "migrate", "renamedFrom", "onSaving", "onLoaded",
      "entityFields", "sparse", "exclusive" }) do
      refuses({ '"' .. option .. '"' },
        { name = "C", container = {}, [option] = true })
    end
    refuses({ "number 1" }, { "x", name = "C", container = {} })
  end)

  it("raises for a missing, empty or wrong name", function()
    for _, name in ipairs({ false, "", 5 }) do
      refuses({ "name", "non-empty string" },
        { name = name or nil, container = {} })
    end
  end)

  it("raises for a container that is missing, no table, or taken", function()
    refuses({ '"C"', "container", "nil" }, { name = "C" })
    refuses({ '"C"', "container" }, { name = "C", container = "x" })
    local A = env.newTagComponent({ name = "A" })
    raises({ '"C"', '"A"' }, env.newComponent, { name = "C", container = A })
    assert.equal("A", A.componentName)
  end)

  it("raises for a container whose metatable has a __call", function()
    local mt = { __call = function() return "mine" end }
    local container = setmetatable({}, mt)
    refuses({ '"C"', "__call" }, { name = "C", container = container })
    assert.equal("mine", container())
    assert.is_nil(next(container))
  end)

  it("raises for an option of a wrong type, naming it", function()
    for _, option in ipairs({ "init", "__call", "new", "serialize",
      "deserialize", "transient", "fields", "defaults", "requires" }) do
      refuses({ '"C"', option },
        { name = "C", container = {}, fields = { "a" }, [option] = "x" })
    end
  end)

  it("raises for defaults without fields, and init without fields or new",
    function()
      refuses({ '"C"', "defaults", "fields" },
        { name = "C", container = {}, defaults = {} })
      refuses({ '"C"', "init", "fields" },
        { name = "C", container = {}, init = function() end })
      refuses({ '"C"', "init", "fields" }, { name = "C", container = {},
        init = function() end, __call = function() end })
    end)

  it("raises for transient with serialize; deserialize alone is allowed",
    function()
      refuses({ '"C"', "transient", "serialize" }, { name = "C", container = {},
        transient = true, serialize = function() end })
      new({ name = "D", transient = true, deserialize = function() end })
      new({ name = "E", transient = false, serialize = function() end })
    end)

  it("raises for fields that are no array of distinct free names", function()
    for text, fields in pairs({
      ["componentName"] = { "componentName" },
      ["componentId"] = { "a", "componentId" },
      ["componentKind"] = { "componentKind" },
      ["componentType"] = { "componentType" },
      ["declared twice"] = { "a", "b", "a" },
      ["number 5"] = { 5 },
      ['string ""'] = { "" },
      ['string "x"'] = { "a", x = "b" },
      ["nothing at 2"] = { "a", nil, nil, nil, "b" },
      ["table"] = { { "x", "double" } },
    }) do
      refuses({ '"C"', text }, { name = "C", container = {}, fields = fields })
    end
  end)

  it("raises for defaults that are not positions of fields", function()
    for text, defaults in pairs({
      ['string "a"'] = { a = 1 }, ["number 3"] = { 1, 2, 3 },
      ["number 0"] = { [0] = 1 }, ["1.5"] = { [1.5] = 1 },
    }) do
      refuses({ '"C"', "defaults", text }, { name = "C", container = {},
        fields = { "a", "b" }, defaults = defaults })
    end
  end)

  it("records what loading needs", function()
    local function f() end
    local info = env.info(new({ fields = { "a" }, serialize = f,
      deserialize = f }))
    assert.equal("table", info.kind)
    assert.equal(4, info.storage)
    assert.same({ "a" }, info.fields)
    assert.equal("", info.fingerprint)
    assert.is_false(info.transient)
    assert.equal(f, info.serialize)
    assert.equal(f, info.deserialize)
    assert.is_true(info.adoptable)
    assert.equal(info.component, info.construct().componentType)
    for _, option in ipairs({ "init", "new", "__call" }) do
      local C = new({ name = option, fields = { "a" }, [option] = f })
      assert.is_false(env.info(C).adoptable)
      assert.is_nil(env.info(C).adopt)
    end
    assert.is_true(env.info(new({ name = "T", transient = true })).transient)
  end)

  it("adopts a decoded table as C.new would copy it", function()
    local C = new({ fields = { "a", "b" }, defaults = { 1, { 2 } } })
    local data = { a = false, z = 1, componentType = "x" }
    local c = env.info(C).adopt(data)
    assert.equal(data, c)
    assert.same({ a = false, b = { 2 }, z = 1 }, c)
    assert.equal(C, c.componentType)
  end)
end)
