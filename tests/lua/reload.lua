-- The whole module loaded, dropped from package.loaded and loaded again, in
-- plain luajit: test tools remember results of FFI calls, which would hide a
-- type declared twice. Components and worlds of both copies must understand
-- each other. Run by tools/run_tests.sh, or from the root of the tree:
--   luajit tests/lua/reload.lua

-- Drops every engram module; returns the names.
local function forget()
  local own, name = {}, next(package.loaded)
  while name ~= nil do
    if type(name) == "string" and name:find("^engram") then
      own[#own + 1] = name
    end
    name = next(package.loaded, name)
  end
  for _, module in ipairs(own) do package.loaded[module] = nil end
  return own
end

local XY = { { "x", "double" }, { "y", "double" } }

local function declare(engram, suffix, requires)
  local function name(kind) return "reload." .. kind .. suffix end
  return {
    engram.newFFIComponent({ name = name("P"), container = {}, fields = XY,
      requires = requires }),
    engram.newComponent({ name = name("T"), container = {},
      fields = { "hp", "bag" }, defaults = { 1, { "rope" } } }),
    engram.newScalarComponent({ name = name("S"), kind = "string" }),
    engram.newScalarComponent({ name = name("N"), kind = "number" }),
    engram.newTagComponent({ name = name("G") }),
  }
end

-- A world of any copy with components of any copy: all paths once.
local function exercise(engram, world, set)
  local P, T, S, N, G = unpack(set)
  local query = world:query({ include = { P }, exclude = { G } })
  local before = query:count()
  local a = world:spawn(P(1, 2), T(3, { 4 }), S("s"), N(5))
  local b = world:spawn(P, T)
  assert(world:get(a, P).y == 2 and world:get(a, T).bag[1] == 4)
  assert(world:get(b, T).bag[1] == "rope")
  world:set(b, P(7, 8))
  world:set(b, N, 9)
  world:defer()
  world:set(a, engram.Name("name"))
  world:set(b, engram.EntityKey("key" .. b))
  local c = world:spawn(P(1, 1), S("pending"))
  world:batchSpawn(3, { P, T, S }, function(arch, first, last)
    for row = first, last do
      arch:get(P)[row], arch:get(T)[row] = P(row, 0), T(row)
    end
  end)
  world:commit()
  assert(world:get(a, engram.Name) == "name")
  assert(world:byKey("key" .. b) == b and world:get(b, N) == 9)
  assert(world:get(c, S) == "pending")
  assert(query:count() == before + 6)
  world:set(c, G)
  world:remove(a, T)
  assert(query:count() == before + 5)
  local sum = 0
  for arch, n in query:iter() do
    for row = 1, n do sum = sum + arch:get(P)[row].x end
  end
  assert(sum > 0)
  world:despawn(a)
  assert(not world:isAlive(a))
  local fault = require("engram.lib").C.eg_world_check(world._c)
  assert(fault == nil, fault)
end

local one = require("engram")
local setOne = declare(one, "1")
local worldOne = one.newWorld()
exercise(one, worldOne, setOne)

local names = forget()
assert(#names > 10, "the module has more parts than that")
local two = require("engram")
assert(two ~= one, "the second load is another copy")
assert(two.Name == one.Name and two.Disabled == one.Disabled,
  "builtins are the same")
assert(two.componentByName("reload.P1") == setOne[1], "components are known")

local setTwo = declare(two, "2", { setOne[5], setOne[3]("required") })
local worldTwo = two.newWorld()
for _, engram in ipairs({ one, two }) do
  for _, world in ipairs({ worldOne, worldTwo }) do
    for _, set in ipairs({ setOne, setTwo }) do
      exercise(engram, world, set)
    end
  end
end
local e = worldOne:spawn(setTwo[1](1, 2))
assert(worldOne:has(e, setOne[5]) and worldOne:get(e, setOne[3]) == "required",
  "requirements across copies")
assert(not pcall(two.newTagComponent, { name = "reload.P1" }),
  "names are shared")

-- A snapshot goes from a world of one copy into a world of the other.
local bytes = worldOne:saveSnapshot().buffer:tostring()
worldTwo:loadSnapshot(bytes)
assert(worldTwo:getStats().entities == worldOne:getStats().entities)
assert(worldTwo:saveSnapshot().buffer:tostring() == bytes)

-- Again and again, with worlds of all copies around.
local worlds = { worldOne, worldTwo }
for round = 3, 6 do
  forget()
  local engram = require("engram")
  local set = declare(engram, tostring(round))
  worlds[round] = engram.newWorld()
  for i = 1, round do exercise(engram, worlds[i], set) end
end

-- Only the module's own table was dropped, not the compiled part.
forget()
package.loaded["engram.core"] = nil
local last = require("engram")
exercise(last, last.newWorld(), setOne)
for _, world in ipairs(worlds) do world:close() end
forget()
collectgarbage()
collectgarbage()
