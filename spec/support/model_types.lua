-- The components of the property test of worlds, and their models.

local engram = require("engram")
local dice = dofile("spec/support/dice.lua")
local random, chance = dice.random, dice.chance
local rep, char = string.rep, string.char

-- Per type: `make()` gives a value and its model, `fresh()` the model of what a
-- bare component becomes, `zero()` of what a batch starts with, `same` compares
-- what a world holds with a model, `write` changes a row in place.
local types, all = {}, {}
local seen = setmetatable({}, { __mode = "k" }) -- tables once given to a world

local function define(name, t)
  types[name] = t
  all[#all + 1] = name
end

local function number() return random(1000) - 500 + random(4) / 4 end
local function text() return rep(char(random(256) - 1),
  random(5) - 1) .. random(9) end

local A = engram.newFFIComponent({ name = "model.A", container = {},
  fields = { { "x", "double" }, { "y", "float" }, { "n", "int32_t" } },
  defaults = { 1.5, nil, -2 } })
define("A", {
  C = A,
  make = function()
    local x, y, n = number(), number(), random(9)
    return A(x, y, n), { x = x, y = y, n = n }
  end,
  fresh = function() return { x = 1.5, y = 0, n = -2 } end,
  zero = function() return { x = 0, y = 0, n = 0 } end,
  same = function(v, m) return v.x == m.x and v.y == m.y and v.n == m.n end,
  write = function(column, row, m)
    m.x = number()
    column[row].x = m.x
  end,
})
-- Three bytes: a size no special case of the core knows.
local O = engram.newFFIComponent({ name = "model.O", container = {},
  fields = { { "k", "uint8_t[3]" } } })
define("O", {
  C = O,
  make = function()
    local a, b = random(256) - 1, random(256) - 1
    return O.new({ k = { a, b, 7 } }), { a, b, 7 }
  end,
  fresh = function() return { 0, 0, 0 } end,
  zero = function() return { 0, 0, 0 } end,
  same = function(v, m)
    return v.k[0] == m[1] and v.k[1] == m[2] and v.k[2] == m[3]
  end,
  write = function(column, row, m)
    m[2] = random(256) - 1
    column[row].k[1] = m[2]
  end,
})

-- Tables: stored by reference, so the model knows which one it is, or, where
-- the world made it, that it is nobody else's.
local function sameTable(v, m)
  if not m.ref then
    if seen[v] then return false end
    seen[v], m.ref = true, v
  end
  return m.ref == v and v.hp == m.hp
    and (v.bag and v.bag[1]) == m.item and (v.bag and #v.bag) == m.count
end
local function writeTable(column, row, m)
  local v = column[row]
  m.hp = number()
  v.hp = m.hp
  if v.bag then
    v.bag[#v.bag + 1] = "more"
    m.count = m.count + 1
    m.item = v.bag[1]
  end
end
local function tableType(name, requires)
  local T = engram.newComponent({ name = "model." .. name, container = {},
    fields = { "hp", "bag" }, defaults = { 100, { "rope" } },
    requires = requires })
  return {
    C = T,
    make = function()
      local hp, item = number(), text()
      local v = T(hp, { item, { deep = { hp } } })
      seen[v] = true
      return v, { ref = v, hp = hp, item = item, count = 2 }
    end,
    fresh = function() return { hp = 100, item = "rope", count = 1 } end,
    zero = function() return {} end,
    same = sameTable,
    write = writeTable,
  }
end
define("T", tableType("T"))

local function equal(v, m) return v == m end
local function scalar(name, component, make, zero)
  define(name, {
    C = component,
    make = function()
      local v = make()
      return component(v), v
    end,
    raw = make,
    fresh = function() return component.scalarDefault end,
    zero = function() return zero end,
    same = equal,
    write = function(column, row)
      column[row] = make()
      return column[row]
    end,
  })
  return component
end
local function declared(name, kind, default)
  return engram.newScalarComponent({ name = "model." .. name, kind = kind,
    default = default })
end
local N = scalar("N", declared("N", "number", 7), number, 0)
scalar("B", declared("B", "boolean", true), function() return chance(50) end,
  false)
local S = scalar("S", declared("S", "string", "none"), text, "")
scalar("Name", engram.Name, text, "")
scalar("EntityKey", engram.EntityKey, function()
  return "key" .. random(12)
end, "")
types.EntityKey.write = nil -- its column is read-only

local function tag(name, component)
  define(name, {
    C = component,
    make = function() return component, true end,
    fresh = function() return true end,
    zero = function() return true end,
    same = function(v) return v == component end,
    write = function(column, row)
      column[row] = 5 -- does nothing
      return true
    end,
  })
end
tag("G", engram.newTagComponent({ name = "model.G" }))
tag("Disabled", engram.Disabled)
tag("Paused", engram.Paused)

-- Requirements, two levels deep and of every form.
local prototype = types.T.C(3, { "proto" })
local R = engram.newTagComponent({ name = "model.R", requires = { A(4, 5, 6),
  S("required"), types.G.C, prototype } })
tag("R", R)
types.R.requires = {
  { "A", function() return { x = 4, y = 5, n = 6 } end },
  { "S", function() return "required" end },
  { "G", function() return true end },
  { "T", function() return { hp = 3, item = "proto", count = 1 } end },
}
define("Q", tableType("Q", { N(5), R, A, types.B.C }))
types.Q.requires = {
  { "N", function() return 5 end },
  { "R", function() return true end },
  { "A", types.A.fresh },
  { "B", function() return true end },
}

local nameOf = {} -- component → name here
for i = 1, #all do nameOf[types[all[i]].C] = all[i] end

return { types = types, all = all, nameOf = nameOf, dice = dice }
