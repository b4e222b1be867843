local support = require("spec.support.components")
local raises = support.raises

local env
before_each(function() env = support.load() end)

describe("a tag", function()
  it("is its own value", function()
    local T = env.newTagComponent({ name = "T" })
    assert.equal("T", T.componentName)
    assert.equal("tag", T.componentKind)
    assert.equal(T, T.componentType)
    assert.equal(T, T())
    assert.equal(T, T.new({}))
    assert.equal(T, env.info(T).construct())
    assert.equal(0, env.info(T).storage)
  end)

  it("may have a container", function()
    local container = setmetatable({ x = 1 }, { __index = { y = 2 } })
    local T = env.newTagComponent({ name = "T", container = container,
      transient = true })
    assert.equal(container, T)
    assert.same({ 1, 2 }, { T.x, T.y })
    assert.equal(T, T())
    assert.is_true(env.info(T).transient)
  end)

  it("may require components", function()
    local A = env.newTagComponent({ name = "A" })
    local B = env.newTagComponent({ name = "B", requires = { A } })
    assert.equal(A, env.info(B).requires[1].component)
    assert.is_nil(env.info(A).requires)
  end)
end)

describe("newTagComponent", function()
  local function refuses(texts, options)
    texts[#texts + 1] = "engram.newTagComponent"
    support.refuses(env, texts, env.newTagComponent, options)
  end

  after_each(function() env.newTagComponent({ name = "C" }) end)

  it("raises for what every factory refuses", function()
    refuses({ "table of options" }, nil)
    refuses({ "name" }, {})
    refuses({ '"C"', "container", "number 1" }, { name = "C", container = 1 })
    refuses({ '"C"', "__call" }, { name = "C",
      container = setmetatable({}, { __call = print }) })
    refuses({ '"C"', "transient", "boolean" }, { name = "C", transient = 1 })
  end)

  it("raises for options of other kinds", function()
    for _, option in ipairs({ "fields", "defaults", "init", "__call", "new",
      "metatable", "kind", "default", "serialize", "deserialize", "saved",
      "version", "exclusive" }) do
      refuses({ '"' .. option .. '"' }, { name = "C", [option] = {} })
    end
  end)

  it("raises for a container that is a component", function()
    local A = env.newTagComponent({ name = "A" })
    raises({ '"C"', '"A"' }, env.newTagComponent, { name = "C", container = A })
  end)
end)
