-- Two worlds, one of them loaded from the other again and again, get the same
-- random operations: ids, contents and saves stay equal. Loads that fail happen
-- in between and change nothing.
--
-- EG_SEED=n replays a run, EG_OPS=n sets its length.

local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram

local SEED = tonumber(os.getenv("EG_SEED")) or os.time() % 1000003
local OPS = math.min(tonumber(os.getenv("EG_OPS")) or 12000, 12000)
local MAX = 400

-- Transient components do not come back, so they have a test of their own.
local makers = {}
for _, maker in ipairs(kit.makers) do
  if not maker.component.componentName:find("Temp") then
    makers[#makers + 1] = maker
  end
end

local function values(random, most)
  local out, seen = {}, {}
  for _ = 1, random(most + 1) - 1 do
    local maker = makers[random(#makers)]
    if not seen[maker] then
      seen[maker] = true
      out[#out + 1] = maker.make(random)
    end
  end
  return out
end

local function value(random) return makers[random(#makers)].make(random) end

local query = setmetatable({}, { __mode = "k" })
local function queryOf(world)
  query[world] = query[world] or world:query({ include = { kit.Pos } })
  return query[world]
end

-- ---- operations ------------------------------------------------------------

-- Each takes a world, a generator in the same state for every world, and the
-- ids that are alive; it returns what must be equal in all worlds, and may
-- return ids that were made.

local ops = {}

function ops.spawn(world, random)
  local ok, id = pcall(world.spawn, world, unpack(values(random, 4)))
  return ok and id or "full", ok and { id } or nil
end

function ops.spawnKey(world, random)
  local ok, id = pcall(world.spawn, world, kit.Key("key" .. random(30)),
    unpack(values(random, 2)))
  return ok and id or "refused", ok and { id } or nil
end

function ops.spawnAt(world, random)
  local id = 2 ^ 22 * (random(6) - 1) + random(MAX)
  local ok = pcall(world.spawnAt, world, id, unpack(values(random, 2)))
  return ok, ok and { id } or nil
end

function ops.batch(world, random)
  local types, seen = {}, {}
  for _ = 1, random(3) do
    local component = makers[random(#makers)].component
    if not seen[component] then
      seen[component] = true
      types[#types + 1] = component
    end
  end
  local seed = random(1000)
  local ok, first, ids = pcall(world.batchSpawn, world, random(6), types,
    function(arch, from, to)
      local fill = kit.random(seed)
      for row = from, to do
        if arch:get(kit.Pos) then arch:get(kit.Pos)[row].x = fill(100) end
        if arch:get(kit.Body) then
          arch:set(row, kit.Body(fill(9), 1, "b"))
        end
        if arch:get(kit.Num) then arch:get(kit.Num)[row] = fill(9) end
        -- What a batch made has no hook-ready values yet.
        if arch:get(kit.Hook) then arch:set(row, kit.Hook(fill(9))) end
        if arch:get(kit.HookFFI) then arch:set(row, kit.HookFFI(1, 2, 2)) end
        if arch:get(kit.Built) then arch:set(row, kit.Built(1, 2)) end
      end
    end)
  if not ok then return "full" end
  local list = ids or {}
  if first then
    local n = 0
    while world:isAlive(first + n) and n < 6 do n = n + 1 end
    return first
  end
  return table.concat(list, ","), list
end

function ops.despawn(world, random, ids)
  world:despawn(ids[random(#ids)])
end

function ops.set(world, random, ids)
  world:set(ids[random(#ids)], value(random))
end

function ops.setKey(world, random, ids)
  return (pcall(world.set, world, ids[random(#ids)],
    kit.Key("key" .. random(30))))
end

function ops.remove(world, random, ids)
  local component = makers[random(#makers)].component
  if random(8) == 1 then component = kit.Key end
  world:remove(ids[random(#ids)], component)
end

function ops.write(world, random, ids)
  local id = ids[random(#ids)]
  local pos, body, bag = world:getMut(id, kit.Pos), world:get(id, kit.Body),
    world:get(id, kit.Bag)
  local x = kit.number(random)
  if pos then pos.x = x end
  if body then body.hp, body.extra = x, random(3) == 1 and { x } or nil end
  if bag then bag[random(5)] = kit.plain(random, 2) end
  return pos ~= nil
end

function ops.scope(world, random, ids)
  local made = {}
  world:defer()
  for _ = 1, random(8) do
    local choice, id = random(5), ids[random(#ids)]
    if choice == 1 then
      local ok, new = pcall(world.spawn, world, unpack(values(random, 3)))
      if ok then made[#made + 1] = new end
    elseif choice == 2 then
      world:despawn(id)
    else
      local v = value(random)
      if choice == 3 then
        pcall(world.set, world, id, v)
      elseif choice == 4 then
        world:remove(id, makers[random(#makers)].component)
      elseif #made > 0 then
        pcall(world.set, world, made[random(#made)], v)
      end
    end
  end
  world:commit()
  return table.concat(made, ","), made
end

function ops.iterate(world, random)
  local seen = 0
  local limit = random(20)
  for arch, length, entities in queryOf(world):iter() do
    local pos = arch:get(kit.Pos)
    for row = 1, length do
      pos[row].y = pos[row].y + 1
      seen = seen + 1
      if seen == limit then world:remove(entities[row], kit.Pos) end
      if seen == limit + 1 then world:set(entities[row], kit.Tag) end
    end
  end
  return seen
end

function ops.byKey(world, random)
  return world:byKey("key" .. random(30))
end

local names = kit.sortedKeys(ops)

-- ---- comparing -------------------------------------------------------------

local function alive(world)
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

local function compare(a, b)
  kit.check(a)
  kit.check(b)
  kit.same(kit.contents(a), kit.contents(b))
  kit.same(kit.save(a), kit.save(b))
  assert.equal(queryOf(a):count(), queryOf(b):count())
  for i = 1, 30 do
    assert.equal(a:byKey("key" .. i), b:byKey("key" .. i))
  end
end

-- A copy of `bytes` that no load accepts.
local function damaged(bytes, random)
  local choice = random(4)
  if choice == 1 then return bytes:sub(1, random(#bytes) - 1) end
  if choice == 2 then return bytes .. "\1" end
  if choice == 3 then return "\6\2" .. bytes:sub(3) end
  -- Good until the keys are rebuilt.
  return wire.snapshot({
    components = { { "EntityKey" }, { "kit.Bag" } },
    records = { { columns = { 1, 2 }, ids = { 3, 7, 200 }, data = {
      wire.scalar(wire.string("x")), wire.scalar(wire.string("y")),
      wire.scalar(wire.string("x")), "\8\8\8" } } },
  })
end

-- What may happen to a pair of worlds between operations. Returns the pair.
local between = {}

-- The copy becomes the original once more, in place, in a new world, or both
-- load what they have saved themselves.
function between.load(a, b)
  b:loadSnapshot(kit.save(a))
  return a, b
end

function between.fresh(a)
  local b = engram.newWorld({ maxEntities = MAX })
  b:loadSnapshot(kit.save(a))
  return a, b
end

function between.itself(a, b)
  a:loadSnapshot(kit.save(a))
  return a, b
end

function between.swapped(a, b)
  a:loadSnapshot(kit.save(b))
  return b, a
end

function between.failed(a, b, random)
  local bytes = damaged(kit.save(a), random)
  assert.is_false((pcall(a.loadSnapshot, a, bytes)))
  return a, b
end

function between.compact(a, b, random)
  if random(2) == 1 then a:compact() else b:compact() end
  return a, b
end

function between.clear(a, b, random)
  if random(6) == 1 then
    a:clearEntities()
    b:clearEntities()
  end
  return a, b
end

local events = kit.sortedKeys(between)

local function apply(name, seed, ids, world)
  return ops[name](world, kit.random(seed), ids)
end

local function run(seed, count)
  local random = kit.random(seed)
  local a = engram.newWorld({ maxEntities = MAX })
  local b = engram.newWorld({ maxEntities = MAX })
  for step = 1, count do
    local ids = alive(a)
    if #ids == 0 then
      ids = { a:spawn(kit.Pos(1, 2)) }
      b:spawn(kit.Pos(1, 2))
    end
    local name = names[random(#names)]
    -- Full worlds make room.
    if #ids > MAX - 40 then name = "despawn" end
    local opSeed = random(1e6)
    local got, expected = apply(name, opSeed, ids, b), apply(name, opSeed, ids,
      a)
    assert.equal(expected, got, name)
    if step % 25 == 0 then
      a, b = between[events[random(#events)]](a, b, random)
    end
    if step % 100 == 0 then compare(a, b) end
  end
  compare(a, b)
  a:close()
  b:close()
end

describe("a world and its copy (seed " .. SEED .. ")", function()
  -- Many short lives: each begins anew with archetypes and slots.
  local RUNS = 24

  it("stay equal through random operations, saves and loads", function()
    for i = 1, RUNS do
      local seed = SEED + i * 7919
      local ok, message = pcall(run, seed, math.ceil(OPS / RUNS))
      if not ok then
        error(("EG_SEED=%d, run %d: %s"):format(SEED, i,
          type(message) == "table" and tostring(message.message)
            or tostring(message)), 0)
      end
    end
  end)

  it("differ in transient components only", function()
    for i = 1, 20 do
      local world = engram.newWorld({ maxEntities = MAX })
      kit.fill(world, 60, SEED + i)
      local copy = engram.newWorld({ maxEntities = MAX })
      kit.fill(copy, 30, SEED - i)
      copy:loadSnapshot(kit.save(world))
      kit.check(copy)
      kit.same(kit.contents(world), kit.contents(copy))
      kit.same(kit.save(world), kit.save(copy))
      assert.same(kit.nextIds(world, 30), kit.nextIds(copy, 30))
    end
  end)
end)
