local support = require("spec.support.components")
local raises = support.raises

describe("the component registry", function()
  local env, registry

  before_each(function()
    env = support.load()
    registry = env.registry
  end)

  it("gives ids from 1 in order of registration", function()
    local a = env.newTagComponent({ name = "A" })
    local b = env.newTagComponent({ name = "B" })
    assert.equal(1, a.componentId)
    assert.equal(2, b.componentId)
    assert.equal(2, env.backend.calls)
  end)

  it("marks the container as a component", function()
    local container = {}
    local c = env.newComponent({ name = "A", container = container })
    assert.equal(container, c)
    assert.equal("A", c.componentName)
    assert.equal("table", c.componentKind)
    assert.equal(c, c.componentType)
    assert.equal(c, env.info(c).component)
  end)

  it("finds components by name and by id", function()
    local a = env.newTagComponent({ name = "A" })
    assert.equal(a, registry.componentByName("A"))
    assert.equal(a, registry.getComponentById(1))
    assert.is_nil(registry.componentByName("B"))
    assert.is_nil(registry.getComponentById(2))
    assert.is_nil(registry.getComponentById(0))
    assert.is_nil(registry.getComponentById(0 / 0))
  end)

  it("raises for a name that is no string and an id that is no number",
    function()
      raises({ "engram.componentByName", "string", "number 1" },
        registry.componentByName, 1)
      raises({ "engram.componentByName", "nil" }, registry.componentByName)
      raises({ "engram.getComponentById", "number", 'string "A"' },
        registry.getComponentById, "A")
    end)

  it("lists declared components in a new table each time", function()
    local a = env.newTagComponent({ name = "A" })
    local b = env.newTagComponent({ name = "B" })
    local first = registry.declaredComponents()
    assert.same({ "A", "B" }, { a.componentName, b.componentName })
    assert.equal(a, first.A)
    assert.equal(b, first.B)
    first.A = nil
    assert.equal(a, registry.declaredComponents().A)
  end)

  it("leaves dense relationship instances out of the list", function()
    registry.add({ name = "Likes->7", component = {}, kind = "relationship",
      dense = true })
    assert.is_nil(registry.declaredComponents()["Likes->7"])
    assert.is_table(registry.componentByName("Likes->7"))
  end)

  it("refuses a name in use, whatever the kinds", function()
    env.newTagComponent({ name = "A" })
    raises({ "engram.newTagComponent", '"A"', "in use" }, env.newTagComponent,
      { name = "A" })
    raises({ "engram.newComponent", '"A"', "in use" }, env.newComponent,
      { name = "A", container = {} })
    raises({ "engram.newFFIComponent", '"A"' }, env.newFFIComponent,
      { name = "A", container = {}, fields = { { "x", "int" } } })
    raises({ "engram.newScalarComponent", '"A"' }, env.newScalarComponent,
      { name = "A", kind = "number" })
    assert.equal(1, env.backend.calls)
  end)

  it("registers nothing when the core refuses, and the name stays free",
    function()
      local forms = {
        function(container)
          return env.newComponent({ name = "A", container = container,
            fields = { "x" } })
        end,
        function(container)
          return env.newFFIComponent({ name = "A", container = container,
            fields = { { "x", "int" } } })
        end,
        function() return env.newScalarComponent({ name = "A",
          kind = "number" }) end,
        function(container)
          return env.newTagComponent({ name = "A", container = container })
        end,
      }
      for i, form in ipairs(forms) do
        env.backend.fail = true
        local container = {}
        local ok, message = pcall(form, container)
        assert.is_false(ok)
        assert.truthy(message:find("the core refuses"))
        assert.is_nil(registry.componentByName("A"))
        assert.is_nil(next(registry.declaredComponents()))
        assert.is_nil(next(container))
        assert.is_nil(getmetatable(container))
        env.backend.fail = false
        form(container)
        assert.is_table(registry.componentByName("A"))
        if i < #forms then
          env = support.load()
          registry = env.registry
        end
      end
    end)

  it("raises when no backend has been set", function()
    registry.backend = nil
    raises({ '"A"', "backend" }, env.newTagComponent, { name = "A" })
  end)

  it("refuses a backend that gives an id in use", function()
    env.newTagComponent({ name = "A" })
    env.backend.register = function() return 1 end
    raises({ '"B"', "no new id" }, env.newTagComponent, { name = "B" })
    assert.is_nil(registry.componentByName("B"))
  end)

  it("is adopted by a second copy of the module", function()
    local P = env.newFFIComponent({ name = "P", container = {},
      fields = { { "x", "double" } } })
    local T = env.newComponent({ name = "T", container = {},
      fields = { "x" } })
    local H = env.newScalarComponent({ name = "H", kind = "number" })
    local other = support.load(env.state)
    assert.not_equal(env.registry, other.registry)
    assert.equal(P, other.registry.componentByName("P"))
    assert.equal(P, (other.values.resolve(P(1))))
    assert.equal(T, (other.values.resolve(T(1))))
    assert.equal("wrapper", select(2, other.values.resolve(H(1))))
    raises({ "in use" }, other.newTagComponent, { name = "P" })
    local late = other.newFFIComponent({ name = "Late", container = {},
      fields = { { "x", "double" } }, requires = { P(3), T(4), H(5) } })
    assert.equal(4, late.componentId)
    assert.equal(late, env.registry.componentByName("Late"))
    assert.equal(late, (env.values.resolve(late(1))))
    raises({ "in use" }, env.newTagComponent, { name = "Late" })
  end)

  it("refuses a registry of another format", function()
    local ok, message = pcall(support.load, { format = 99 })
    assert.is_false(ok)
    assert.truthy(message:find("99", 1, true))
  end)
end)

describe("values.resolve", function()
  local env, resolve

  before_each(function()
    env = support.load()
    resolve = env.values.resolve
  end)

  it("knows table instances, scalar wrappers, tags and FFI values", function()
    local T = env.newComponent({ name = "T", container = {} })
    local P = env.newFFIComponent({ name = "P", container = {},
      fields = { { "x", "double" } } })
    local H = env.newScalarComponent({ name = "H", kind = "number" })
    local G = env.newTagComponent({ name = "G" })
    assert.same({ T, "instance" }, { resolve(T()) })
    assert.same({ P, "instance" }, { resolve(P()) })
    assert.same({ H, "wrapper" }, { resolve(H(1)) })
    assert.same({ G, "tag" }, { resolve(G) })
    assert.same({ T, "bare" }, { resolve(T) })
    assert.same({ P, "bare" }, { resolve(P) })
    assert.same({ H, "bare" }, { resolve(H) })
  end)

  it("knows a row of a column, which is a reference", function()
    local P = env.newFFIComponent({ name = "P", container = {},
      fields = { { "x", "double" } } })
    local column = env.column(P, 3)
    assert.equal(P, (resolve(column[1])))
  end)

  it("gives nil for everything else", function()
    local P = env.newFFIComponent({ name = "P", container = {},
      fields = { { "x", "double" } } })
    local ffi = require("ffi")
    local column = env.column(P, 3)
    local strict = setmetatable({}, { __index = function() error("x") end })
    local locked = setmetatable({}, { __metatable = "locked" })
    local others = { 1, "P", true, {}, strict, locked, print, 5LL, column,
      ffi.new("int[2]"), column + 1, coroutine.create(print) }
    for i = 1, #others do
      assert.is_nil((resolve(others[i])), "value " .. i)
    end
    assert.is_nil((resolve(nil)))
  end)

  it("is not deceived by keys of engram's in a table of the user's",
    function()
      local T = env.newComponent({ name = "T", container = {} })
      assert.is_nil((resolve({ componentType = T })))
      assert.is_nil((resolve({ componentId = 1, componentType = T })))
      assert.is_nil((resolve(setmetatable({}, { __index = T }))))
      local instance = T()
      instance.componentType = "something else"
      assert.equal(T, (resolve(instance)))
    end)

  it("tells components from other values", function()
    local T = env.newComponent({ name = "T", container = {} })
    local component = env.values.component
    assert.equal(T, (component(T)))
    assert.is_nil((component(T())))
    assert.is_nil((component({ componentId = 1 })))
    assert.is_nil((component(1)))
    assert.is_nil((component(nil)))
  end)
end)
