-- A value read from a row before a structural change is the value read, however
-- the code around was compiled. Some LuaJIT builds delay a load from C memory
-- past a foreign call when its value is used only afterwards.

local support = dofile("spec/support/ecs.lua")
local engram = support.engram
local kit = support.components("fence")
local P, V, T, G = kit.P, kit.V, kit.T, kit.G

local COUNT, ROUNDS = 500, 40
if os.getenv("EG_GC") then ROUNDS = 2 end -- nothing here is about garbage

-- Each case is a loop of its own, so that it is compiled by itself: reads,
-- changes, and uses what it has read.
local LOOP = [[
local world, ids, P, V, T, G = ...
local value, sum = P(0, 0), 0
for i = 1, #ids do
  local id = ids[i]
  local x = world:get(id, %s).%s
  %s
  sum = sum + x
end
return sum]]

local changes = {
  despawn = "world:despawn(id)",
  remove = "world:remove(id, V)",
  ["remove of a table"] = "world:remove(id, T)",
  ["set of a tag"] = "world:set(id, G)",
  ["set in place"] = "world:set(id, value)",
  spawn = "world:spawn(value)",
  ["a drain"] = "world:defer() world:despawn(id) world:commit()",
}
local names = {}
for name in pairs(changes) do names[#names + 1] = name end

local fields = { { "P", "x" }, { "V", "f" }, { "V", "n" } }

local function entity(world, i, withTable)
  if withTable then return world:spawn(P(i, -i), V(i, i, true), T(i)) end
  return world:spawn(P(i, -i), V(i, i, true))
end

local function check(text, withTable)
  local loop = assert(loadstring(text))
  local world = engram.newWorld()
  for _ = 1, ROUNDS do
    local ids = {}
    for i = 1, COUNT do ids[i] = entity(world, i, withTable) end
    assert.equal(COUNT * (COUNT + 1) / 2, loop(world, ids, P, V, T, G))
    for i = 1, COUNT do world:despawn(ids[i]) end
  end
  world:close()
end

describe("a value read before a change", function()
  for _, name in ipairs(names) do
    it("is not read again after it: " .. name, function()
      for _, field in ipairs(fields) do
        local text = LOOP:format(field[1], field[2], changes[name])
        check(text, false)
        check(text, true)
      end
    end)
  end
end)
