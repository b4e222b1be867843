local support = require("spec.support.components")
local raises = support.raises

local env
before_each(function() env = support.load() end)

local function tag(name, requires)
  return env.newTagComponent({ name = name, requires = requires })
end

local function entries(component) return env.info(component).requires end

-- Names of what comes along when the components are added.
local function closure(added, present)
  local infos, there, names = {}, nil, {}
  for i, C in ipairs(added) do infos[i] = env.info(C) end
  if present then
    there = {}
    for _, C in ipairs(present) do there[C.componentId] = true end
  end
  for i, entry in ipairs(env.requires.closure(infos, there)) do
    names[i] = entry.component.componentName
  end
  return names
end

describe("requires", function()
  local T, P, H, G

  before_each(function()
    T = env.newComponent({ name = "T", container = {}, fields = { "list" },
      defaults = { { 0 } } })
    P = env.newFFIComponent({ name = "P", container = {},
      fields = { { "x", "double" } }, defaults = { 5 } })
    H = env.newScalarComponent({ name = "H", kind = "number", default = 3 })
    G = tag("G")
  end)

  it("constructs a bare component anew for every entity", function()
    local R = entries(tag("R", { T, P, H, G }))
    assert.same({ T, P, H, G }, { R[1].component, R[2].component,
      R[3].component, R[4].component })
    local one, two = R[1].make(), R[1].make()
    assert.same({ list = { 0 } }, one)
    assert.equal(T, one.componentType)
    assert.not_equal(one, two)
    assert.not_equal(one.list, two.list)
    local p = R[2].make()
    p.x = 9
    assert.equal(5, R[2].make().x)
    assert.equal(3, R[3].make().value)
    assert.equal(H, (env.values.resolve(R[3].make())))
    assert.equal(G, R[4].make())
  end)

  it("runs the constructor of a bare component each time", function()
    local n = 0
    local C = env.newComponent({ name = "C", container = {}, fields = { "n" },
      init = function(self) n = n + 1; self.n = n end })
    local R = entries(tag("R", { C }))
    assert.equal(0, n)
    assert.same({ 1, 2 }, { R[1].make().n, R[1].make().n })
  end)

  it("copies a table prototype deeply for every entity", function()
    local prototype = T({ { 1 } })
    prototype.self = prototype
    local R = entries(tag("R", { prototype }))
    prototype.list[1][1] = 2
    local one, two = R[1].make(), R[1].make()
    assert.equal(1, one.list[1][1])
    assert.equal(one, one.self)
    assert.equal(T, one.componentType)
    assert.not_equal(one.list[1], two.list[1])
    one.list[1][1] = 7
    assert.equal(1, R[1].make().list[1][1])
  end)

  it("copies FFI and scalar values", function()
    local p, column = P(1), env.column(P, 2)
    column[1].x = 2
    local R = entries(tag("R", { p, column[1], H(8) }))
    p.x, column[1].x = 10, 20
    assert.equal(1, R[1].make().x)
    R[1].make().x = 11
    assert.equal(1, R[1].make().x)
    assert.equal(2, R[2].make().x)
    assert.equal(8, R[3].make().value)
  end)

  it("is not needed: an empty list counts as none", function()
    assert.is_nil(entries(tag("R", {})))
  end)

  it("does not keep the list", function()
    local list = { G }
    local R = tag("R", list)
    list[2] = T
    assert.equal(1, #entries(R))
  end)

  it("raises for what is no component value, naming the position", function()
    for _, v in ipairs({ 1, "G", {}, true, print, 5LL }) do
      raises({ '"R"', "requires[2]", "component value" }, tag, "R", { G, v })
    end
    raises({ '"R"', "requires", "key" }, tag, "R", { G, x = T })
    raises({ '"R"', "requires", "component value" }, tag, "R", { G, nil, T })
    raises({ '"R"', "requires", "number 5" }, tag, "R", 5)
    raises({ '"R"', "requires", "table" }, tag, "R", { { componentType = T } })
    assert.is_nil(env.registry.componentByName("R"))
    tag("R")
  end)

  it("raises for a component that requires itself", function()
    local container = {}
    raises({ '"R"', "requires[1]" }, env.newComponent, { name = "R",
      container = container, requires = { container } })
  end)

  it("raises for EntityKey, bare or with a value", function()
    local Key = env.newScalarComponent({ name = "EntityKey", kind = "string" })
    raises({ '"R"', "EntityKey" }, tag, "R", { G, Key })
    raises({ '"R"', "EntityKey" }, tag, "R", { Key("x") })
  end)

  it("is accepted by every factory", function()
    for i, C in ipairs({
      env.newComponent({ name = "A", container = {}, requires = { G } }),
      env.newFFIComponent({ name = "B", container = {}, requires = { G },
        fields = { { "x", "int" } } }),
      env.newScalarComponent({ name = "C", kind = "string",
        requires = { G } }),
      tag("D", { G }),
    }) do
      assert.equal(G, entries(C)[1].component, i)
    end
  end)
end)

describe("the closure of requires", function()
  it("is transitive and breadth-first", function()
    local A = tag("A")
    local B = tag("B")
    local C = tag("C", { A })
    local D = tag("D", { C, B })
    assert.same({}, closure({ A }))
    assert.same({ "A" }, closure({ C }))
    assert.same({ "C", "B", "A" }, closure({ D }))
  end)

  it("takes the first mention of a component", function()
    local H = env.newScalarComponent({ name = "H", kind = "number" })
    local far = tag("Far", { H(1) })
    local near = tag("Near", { far, H(2), H(3) })
    local made = env.requires.closure({ env.info(near) })
    assert.same({ "Far", "H" }, closure({ near }))
    assert.equal(2, made[2].make().value)
    made = env.requires.closure({ env.info(far), env.info(near) })
    assert.equal(1, #made)
    assert.equal(1, made[1].make().value)
  end)

  it("leaves out what is added by the call", function()
    local A = tag("A")
    local B = tag("B", { A })
    assert.same({}, closure({ B, A }))
    assert.same({}, closure({ A, B }))
  end)

  it("leaves out what is present, and does not follow it", function()
    local A = tag("A")
    local B = tag("B", { A })
    local C = tag("C", { B })
    assert.same({ "B", "A" }, closure({ C }))
    assert.same({}, closure({ C }, { B }))
    assert.same({ "B" }, closure({ C }, { A }))
  end)

  it("goes level by level across several components", function()
    local leaves = {}
    for i = 1, 4 do leaves[i] = tag("L" .. i) end
    local X = tag("X", { leaves[1] })
    local Y = tag("Y", { leaves[2] })
    local A = tag("A", { X, leaves[3] })
    local B = tag("B", { Y, leaves[4] })
    assert.same({ "X", "L3", "Y", "L4", "L1", "L2" }, closure({ A, B }))
    assert.same({ "Y", "L4", "X", "L3", "L2", "L1" }, closure({ B, A }))
  end)
end)
