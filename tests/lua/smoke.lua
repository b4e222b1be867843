-- The shortest path through the module: spawn, save, load, compare. It runs in
-- the tree and, by install_smoke.sh, with an installed module from elsewhere.

local engram = require("engram")

local Position = engram.newFFIComponent({
  name = "smoke.Position", container = {},
  fields = { { "x", "double" }, { "y", "double" } },
})
local Pack = engram.newComponent({
  name = "smoke.Pack", container = {}, fields = { "gold", "items" },
})

local world = engram.newWorld()
local ids = {}
for i = 1, 100 do
  ids[i] = world:spawn(Position(i, -i),
    Pack(i * 2, { "rope", deep = { i } }))
end
world:despawn(ids[50])
local bytes = world:saveSnapshot().buffer:tostring()

local copy = engram.newWorld()
copy:spawn(Position(0, 0))
copy:loadSnapshot(bytes)
assert(copy:getStats().entities == 99, "99 entities after the load")
for i = 1, 100 do
  local id = ids[i]
  assert(copy:isAlive(id) == (i ~= 50))
  if i ~= 50 then
    local position, pack = copy:get(id, Position), copy:get(id, Pack)
    assert(position.x == i and position.y == -i)
    assert(pack.gold == i * 2 and pack.items[1] == "rope")
    assert(pack.items.deep[1] == i)
  end
end
assert(copy:saveSnapshot().buffer:tostring() == bytes, "the same bytes again")
assert(copy:spawn() == world:spawn(), "the same next id")

-- Damage is refused, and nothing changes.
local before = copy:saveSnapshot().buffer:tostring()
assert(not pcall(copy.loadSnapshot, copy, bytes:sub(1, -2)))
assert(copy:saveSnapshot().buffer:tostring() == before)

-- A file, written and read.
local path = os.tmpname()
world:saveSnapshot({ path = path })
local file = assert(io.open(path, "rb"))
copy:loadSnapshot(file:read("*a"))
file:close()
os.remove(path)
assert(copy:getStats().entities == world:getStats().entities)

copy:close()
world:close()
print("smoke: fine")
