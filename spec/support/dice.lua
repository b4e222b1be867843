-- Chance that can be replayed: a generator whose whole state is its seed, so
-- that no other user of math.random is in the way.

local floor = math.floor

local M = {}

local MODULUS, FACTOR = 2 ^ 31 - 1, 16807
local state = 1

--- Starts anew; seeds far apart or not give unlike sequences.
function M.seed(n)
  state = n % MODULUS
  if state == 0 then state = 1 end
  for _ = 1, 5 do M.random(2) end
end

--- 1 to n.
function M.random(n)
  state = state * FACTOR % MODULUS
  return 1 + floor(state / MODULUS * n)
end

function M.chance(percent) return M.random(100) <= percent end

function M.pick(list) return list[M.random(#list)] end

return M
