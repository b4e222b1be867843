local engram = require("engram")

local Position = engram.newFFIComponent{name = "Position", container = {},
  fields = {{"x", "double"}, {"y", "double"}}}
local Velocity = engram.newFFIComponent{name = "Velocity", container = {},
  fields = {{"x", "double"}, {"y", "double"}}}
local Bag = engram.newComponent{name = "Bag", container = {},
  fields = {"items"}}

local world = engram.newWorld()
local hero = world:spawn(Position(1, 2), Velocity(3, 4),
  Bag({"rope", lamp = {lit = true}}))

local moving = world:query{include = {Position, Velocity}}
for archetype, count in moving:iter() do
  local position = archetype:get(Position)
  local velocity = archetype:get(Velocity)
  for row = 1, count do
    position[row].x = position[row].x + velocity[row].x
    position[row].y = position[row].y + velocity[row].y
  end
end

local save = tostring(world:saveSnapshot().buffer)  -- bytes: to disk, anywhere
world:despawn(hero)
world:loadSnapshot(save)                            -- all of it, or an error
print(world:get(hero, Position).x, world:get(hero, Bag).items.lamp.lit)
