-- The registration modules loaded, dropped from package.loaded and loaded
-- again, in plain luajit: busted remembers results of FFI calls, which would
-- hide a type declared twice. Components of both copies must understand each
-- other, since all of them hang in the Lua registry.
-- Run from the root of the tree: luajit tests/lua/registry_reload.lua

package.path = "./lua/?.lua;./lua/?/init.lua;" .. package.path

local count = 0
local function check(ok, what)
  count = count + 1
  print((ok and "ok " or "not ok ") .. count .. " - " .. what)
  if not ok then os.exit(1) end
end

local ids = 0
local backend = {
  register = function()
    ids = ids + 1
    return ids
  end,
}

-- A copy of the modules; `names` of an earlier copy are dropped first.
local function load()
  local own = {}
  local name = next(package.loaded)
  while name ~= nil do
    if type(name) == "string" and name:find("^engram") then
      own[#own + 1] = name
    end
    name = next(package.loaded, name)
  end
  for _, module in ipairs(own) do package.loaded[module] = nil end
  local registry = require("engram.ecs.registry")
  registry.backend = backend
  return {
    registry = registry,
    values = require("engram.ecs.values"),
    closure = require("engram.ecs.requires").closure,
    table = require("engram.ecs.component").newComponent,
    ffi = require("engram.ecs.ffi_component").newFFIComponent,
    scalar = require("engram.ecs.scalar").newScalarComponent,
    tag = require("engram.ecs.tag").newTagComponent,
  }
end

local XY = { { "x", "double" }, { "y", "double" } }

local function declare(copy, suffix, requires)
  local shared = setmetatable({}, { __index = { inherited = suffix } })
  return {
    T = copy.table({ name = "T" .. suffix, container = shared,
      fields = { "x" }, requires = requires }),
    P = copy.ffi({ name = "P" .. suffix, container = {}, fields = XY,
      metatable = { __index = { sum = function(p) return p.x + p.y end } } }),
    S = copy.scalar({ name = "S" .. suffix, kind = "string" }),
    G = copy.tag({ name = "G" .. suffix }),
  }
end

local first = load()
local one = declare(first, "1")
local second = load()
check(first.registry ~= second.registry, "the second load is another copy")
check(first.registry.info == second.registry.info, "it adopts the registry")

local two = declare(second, "2", { one.P(1, 2), one.S("s"), one.G, one.T })
check(two.T.componentId == 5, "ids go on")
for _, copy in ipairs({ first, second }) do
  for _, set in ipairs({ one, two }) do
    for _, key in ipairs({ "T", "P", "S", "G" }) do
      local C = set[key]
      check(copy.registry.componentByName(C.componentName) == C
        and copy.registry.getComponentById(C.componentId) == C,
        C.componentName .. " is found by name and id")
      local value = C()
      check(copy.values.resolve(value) == C, "a value of it is known")
    end
  end
end

local all = second.registry.declaredComponents()
check(all.T1 == one.T and all.T2 == two.T, "both sets are declared")
check(not pcall(first.tag, { name = "T2" })
  and not pcall(second.tag, { name = "T1" }), "names are shared")
local entries = first.closure({ first.registry.info[two.T.componentId] })
check(#entries == 4, "requirements are understood")
check(entries[1].make():sum() == 3, "an FFI value is copied")
check(entries[2].make().value == "s", "a scalar value is copied")
check(entries[4].make().componentType == one.T, "a table is constructed")
check(one.P(3, 4):sum() == 7 and two.P(3, 4):sum() == 7, "methods work")
check(one.T(1).inherited == "1" and two.T(1).inherited == "2",
  "containers keep their metatables")

-- A metatable two containers share, one registered by each copy.
local mt = {}
local A = first.table({ name = "A", container = setmetatable({}, mt),
  fields = { "x" } })
local B = second.table({ name = "B", container = setmetatable({}, mt),
  fields = { "y" } })
check(A(1).x == 1 and B(2).y == 2, "a shared metatable serves both")

for round = 3, 6 do
  local again = declare(load(), tostring(round))
  check(again.P(round, 0).x == round, "load " .. round)
end
print("1.." .. count)
