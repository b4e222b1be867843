-- Loads damaged sources into a world that is not empty, and checks what
-- happened to it: nothing, or a sound world that lives on.

local kit = require("spec.support.snapkit")

local M = {}

local REASONS = { "is damaged", "ends early" }

-- Gives a target a new world: each random change leaves archetypes behind.
local function renew(target)
  if target.world then target.world:close() end
  local world = kit.engram.newWorld({ maxEntities = 256 })
  kit.fill(world, 12, 21)
  world:spawn(kit.Key("home"), kit.Pos(1, 2))
  target.world, target.home = world, kit.save(world)
  target.contents = kit.contents(world)
end

--- A target of damaged loads.
function M.new()
  local target = { refused = 0, accepted = 0, reserved = 0,
    random = kit.random(99) }
  renew(target)
  return setmetatable(target, { __index = M })
end

-- Ids of all entities, ascending.
local function idsOf(world)
  local ids = {}
  for id = 1, kit.C.eg_archetype_count(world._c) do
    local arch = world._archs[id]
    if arch and not arch._staging then
      for row = 1, tonumber(arch.entities[0]) do
        ids[#ids + 1] = arch.entities[row]
      end
    end
  end
  table.sort(ids)
  return ids
end

--- Changes a world at random; it stays sound and can be saved.
function M.churn(world, random, steps)
  local ids = idsOf(world)
  for _ = 1, steps do
    local choice = random(6)
    local at = #ids > 0 and random(#ids) or 0
    if choice <= 2 then
      ids[#ids + 1] = world:spawn(unpack(kit.values(random, 3)))
    elseif at > 0 and choice == 3 then
      world:despawn(table.remove(ids, at))
    elseif at > 0 and choice == 4 then
      world:set(ids[at], kit.value(random))
    elseif at > 0 then
      world:remove(ids[at], kit.makers[random(#kit.makers)].component)
    end
  end
  kit.check(world)
  for i = 1, #ids do assert(world:isAlive(ids[i])) end
  local bytes = kit.save(world)
  assert(kit.verify(bytes))
  return bytes
end

-- The world must be as it was before the load.
local function unchanged(target, thorough)
  local world = target.world
  kit.check(world)
  kit.same(target.home, kit.save(world))
  if thorough then
    kit.same(target.contents, kit.contents(world, false))
    assert(world:byKey("home"))
    assert(world._depth == 0 and not world._staged and not world._busy)
  end
end

-- What came in must be a sound world.
local function alive(target)
  local world = target.world
  kit.check(world)
  local saved, once = pcall(kit.save, world)
  if not saved then
    -- The one thing a load takes that a save does not write.
    assert(once:find("are reserved", 1, true), once)
    target.reserved = target.reserved + 1
    return renew(target)
  end
  assert(kit.verify(once))
  if target.accepted % 4 == 1 then M.churn(world, target.random, 5) end
  if target.accepted % 16 == 1 then
    -- What it saved comes back the same.
    world:loadSnapshot(once)
    kit.same(once, kit.save(world))
  end
  world:loadSnapshot(target.home)
  unchanged(target, false)
  if target.accepted % 80 == 0 then renew(target) end
end

--- Loads bytes. Returns whether they were accepted, and the message if not.
function M.try(target, bytes)
  local valid, why, code = kit.verify(bytes)
  local ok, message = pcall(target.world.loadSnapshot, target.world, bytes)
  if ok then
    target.accepted = target.accepted + 1
    if not valid then error("verify refuses what a load takes: " .. why) end
    alive(target)
    return true
  end
  target.refused = target.refused + 1
  assert(type(message) == "string")
  for _, reason in ipairs(REASONS) do
    if valid and message:find(reason, 1, true) then
      error("a load calls damaged what verify accepts: " .. message)
    end
  end
  unchanged(target, target.refused % 32 == 0)
  return false, message, code
end

--- Every proper prefix.
function M.truncate(target, bytes)
  for size = 0, #bytes - 1 do
    if target:try(bytes:sub(1, size)) then
      error("a snapshot cut to " .. size .. " bytes was loaded")
    end
  end
end

--- Changes each byte, or each `step`-th one, to `each` other values; 255 are
-- all there are.
function M.change(target, bytes, each, step)
  for at = 1, #bytes, step or 1 do
    local was = bytes:byte(at)
    for k = 1, each do
      -- Offsets 1 … 255, other ones at each place when there are few.
      local by = each == 255 and k or (at * 37 + k * 101) % 255 + 1
      local changed = bytes:sub(1, at - 1)
        .. string.char((was + by) % 256) .. bytes:sub(at + 1)
      local ok, message = pcall(target.try, target, changed)
      if not ok then
        error(("byte %d (%d to %d): %s"):format(at - 1, was,
          (was + by) % 256, message), 0)
      end
    end
  end
end

return M
