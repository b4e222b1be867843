--- The rules of the colony: which components there are, and one fixed step.
--
-- Everything that decides what happens next lies in the world, the dice
-- included. So a world that was saved and loaded goes on exactly as the
-- original does, which is what `main.lua` shows.

local bit = require("bit")
local engram = require("engram")

local M = { WIDTH = 640, HEIGHT = 240 }

local band, bxor = bit.band, bit.bxor
local lshift, rshift, tobit = bit.lshift, bit.rshift, bit.tobit

local function struct(name, fields)
  return engram.newFFIComponent{
    name = name, container = {}, fields = fields,
  }
end

local Position = struct("Position", { { "x", "float" }, { "y", "float" } })
local Velocity = struct("Velocity", { { "x", "float" }, { "y", "float" } })
local Life = struct("Life", { { "age", "int32_t" }, { "span", "int32_t" } })
local Dice = struct("Dice", { { "state", "int32_t" }, { "step", "int32_t" },
  { "births", "double" }, { "deaths", "double" } })
local Load = engram.newScalarComponent{ name = "Load", kind = "number" }
local Awake = engram.newScalarComponent{ name = "Awake", kind = "boolean" }
local Scout = engram.newTagComponent{ name = "Scout" }
local Carrying = engram.newTagComponent{ name = "Carrying" }
-- What a scout remembers: where it came from, and the last places it saw.
local Memory = engram.newComponent{
  name = "Memory", container = {}, fields = { "home", "seen", "trips" },
}

M.Position, M.Carrying, M.Scout, M.Dice = Position, Carrying, Scout, Dice

-- Marsaglia's xorshift with 32 bits; the state is a component.
local function roll(dice, sides)
  local x = dice.state
  x = bxor(x, lshift(x, 13))
  x = bxor(x, rshift(x, 17))
  x = bxor(x, lshift(x, 5))
  dice.state = tobit(x)
  return band(rshift(x, 3), 0xfffffff) % sides
end

-- Ants are born at the nest, in the middle, and walk off in any direction.
local NEST_X, NEST_Y = M.WIDTH / 2, M.HEIGHT / 2

local function born(world, dice)
  local x, y = NEST_X + roll(dice, 33) - 16, NEST_Y + roll(dice, 17) - 8
  local vx, vy = (roll(dice, 257) - 128) / 32, (roll(dice, 257) - 128) / 64
  local life = Life(0, 60 + roll(dice, 240))
  dice.births = dice.births + 1
  if roll(dice, 10) == 0 then
    return world:spawn(Position(x, y), Velocity(vx, vy), life, Load(0),
      Awake(true), Scout, Memory({ x = x, y = y }, {}, 0))
  end
  return world:spawn(Position(x, y), Velocity(vx, vy), life, Load(0),
    Awake(roll(dice, 8) ~= 0))
end

--- Finds the queries and the queen of a world, fresh or loaded.
function M.attach(world)
  return {
    world = world,
    queen = world:requireKey("queen"),
    movers = world:query{ include = { Position, Velocity } },
    mortals = world:query{ include = { Life } },
    foragers = world:query{
      include = { Position, Velocity, Load, Awake }, exclude = { Carrying },
    },
    carriers = world:query{ include = { Carrying, Velocity, Position } },
    scouts = world:query{ include = { Scout, Memory, Position } },
  }
end

--- Founds a colony of `size` ants.
function M.found(size, seed)
  local world = engram.newWorld{ maxEntities = 2 * size }
  local queen = world:spawn(engram.EntityKey("queen"),
    engram.Name("Queen Mab"), Dice(seed, 0, 0, 0))
  local dice = world:get(queen, Dice)
  for _ = 1, size do born(world, dice) end
  return M.attach(world)
end

local function move(colony)
  local width, height = M.WIDTH, M.HEIGHT
  for archetype, count in colony.movers:iter() do
    local p, v = archetype:get(Position), archetype:get(Velocity)
    for i = 1, count do
      local x, y = p[i].x + v[i].x, p[i].y + v[i].y
      if x < 0 or x >= width then
        v[i].x = -v[i].x
        x = x + 2 * v[i].x
      end
      if y < 0 or y >= height then
        v[i].y = -v[i].y
        y = y + 2 * v[i].y
      end
      p[i].x, p[i].y = x, y
    end
  end
end

-- Food lies at the rim. Who finds some turns round and carries it home.
local function forage(colony)
  local world = colony.world
  for archetype, count, entities in colony.foragers:iter() do
    local p, load = archetype:get(Position), archetype:get(Load)
    local v, awake = archetype:get(Velocity), archetype:get(Awake)
    for i = 1, count do
      if awake[i] and (p[i].x < 4 or p[i].x >= M.WIDTH - 4) then
        load[i] = load[i] + 0.1
        v[i].x, v[i].y = (NEST_X - p[i].x) / 64, (NEST_Y - p[i].y) / 64
        world:set(entities[i], Carrying)
      end
    end
  end
end

local function deliver(colony)
  local world = colony.world
  for archetype, count, entities in colony.carriers:iter() do
    local p, v = archetype:get(Position), archetype:get(Velocity)
    for i = 1, count do
      if math.abs(p[i].x - NEST_X) < 4 then
        v[i].x = -v[i].x
        world:remove(entities[i], Carrying)
      end
    end
  end
end

local function remember(colony, step)
  for archetype, count, entities in colony.scouts:iter() do
    local p, memory = archetype:get(Position), archetype:get(Memory)
    for i = 1, count do
      if (entities[i] + step) % 16 == 0 then
        local m = memory[i]
        m.trips = m.trips + 1
        m.seen[m.trips % 4 + 1] = { x = p[i].x, y = p[i].y, step = step }
      end
    end
  end
end

-- The old die, and as many are born: some hundreds in every step.
local function renew(colony, dice)
  local world, dead = colony.world, 0
  for archetype, count, entities in colony.mortals:iter() do
    local life = archetype:get(Life)
    for i = 1, count do
      local age = life[i].age + 1
      life[i].age = age
      if age >= life[i].span then
        world:despawn(entities[i])
        dead = dead + 1
      end
    end
  end
  dice.deaths = dice.deaths + dead
  for _ = 1, dead do born(world, dice) end
end

--- Advances the colony by one step.
function M.step(colony)
  local dice = colony.world:get(colony.queen, Dice)
  dice.step = dice.step + 1
  move(colony)
  forage(colony)
  deliver(colony)
  remember(colony, dice.step)
  renew(colony, dice)
end

-- -- digest -----------------------------------------------------------------

local ffi = require("ffi")
local cell = ffi.new("union { double number; int32_t half[2]; }")

local function mix(h, number)
  cell.number = number
  h = bxor(h, cell.half[0])
  h = tobit(bxor(h, rshift(h, 15)) * 0x2c1b)
  h = bxor(h, cell.half[1])
  return tobit(bxor(h, rshift(h, 13)) * 0x3d4d)
end

local function mixMemory(h, m)
  h = mix(mix(mix(h, m.home.x), m.home.y), m.trips)
  for i = 1, 4 do
    local place = m.seen[i]
    if place then h = mix(mix(mix(h, place.x), place.y), place.step) end
  end
  return h
end

--- A number that depends on every id and every value, in row order.
function M.digest(colony)
  local h = 1
  local dice = colony.world:get(colony.queen, Dice)
  h = mix(mix(mix(h, dice.state), dice.births), dice.deaths)
  for archetype, count, entities in colony.movers:iter() do
    local p, v = archetype:get(Position), archetype:get(Velocity)
    local life, load = archetype:get(Life), archetype:get(Load)
    local awake, memory = archetype:get(Awake), archetype:get(Memory)
    h = mix(h, archetype:get(Carrying) and 1 or 2)
    for i = 1, count do
      h = mix(mix(mix(h, entities[i]), p[i].x), p[i].y)
      h = mix(mix(mix(h, v[i].x), v[i].y), load[i])
      h = mix(mix(mix(h, life[i].age), life[i].span), awake[i] and 1 or 0)
    end
    if memory then
      for i = 1, count do h = mixMemory(h, memory[i]) end
    end
  end
  return bit.tohex(h)
end

return M
