--- Scopes, and what happens when the outermost one closes.
--
-- The drain pulls steps from the core. The core applies by itself whatever
-- concerns bytes alone and reports the rest; each report is answered here. An
-- error thrown by a callback leaves the drain where it is: `unwind` goes on
-- with the next step.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")
local cell = require("engram.ecs.cell")
local stores = require("engram.ecs.store")
local batch = require("engram.ecs.batch")

local C = lib.C
local fence = stores.fence

local MAX_WAVES = 64

local M = {}

local ENDLESS = "_drain exceeded MAX_DRAIN_ITERATIONS; likely an observer"
  .. " cascade with no fixed point"

-- Commits or drops the keys of one step.
local function despawned(world, op)
  local arch = world._archs[op.from]
  if arch._keyed then
    local store = world._keyStore
    world._keys:dropped(store[arch.id][op.row], op.entity)
  end
  cell.removed(arch, op.row, op.last)
end

local function spawned(world, op)
  local arch, staged = world._archs[op.to], world._archs[op.staged]
  if staged then cell.carried(staged, op.staged_row, arch, op.to_row) end
  if arch._keyed then
    local key = world._keyStore[arch.id][op.to_row]
    world._keys:placed(key, op.entity)
  end
end

local function moved(world, op)
  local from, to = world._archs[op.from], world._archs[op.to]
  local staged = op.staged ~= 0 and world._archs[op.staged] or nil
  local store = world._keyStore
  local key = from._keyed and store[from.id][op.row]
  if from ~= to then cell.moved(from, op.row, op.last, to, op.to_row) end
  if staged then cell.carried(staged, op.staged_row, to, op.to_row) end
  if key then world._keys:dropped(key, op.entity) end
  if to._keyed then
    world._keys:placed(store[to.id][op.to_row], op.entity)
  end
end

local ANSWER = {
  [1] = despawned,
  [2] = function() end, -- a cancelled spawn: its cells went when it was
  [3] = spawned,
  [4] = moved,
  [5] = batch.placed,
}

-- Runs waves until nothing is left. Returns false when a callback has called
-- `unwind`: that has done the rest, and what is staged now is not ours.
local function run(world, unwinds)
  local c, op = world._c, world._op
  if world._unwinds ~= unwinds then return false end
  while C.eg_stage_pending(c) ~= 0 do
    if world._waves >= MAX_WAVES then err.raise("engram: " .. ENDLESS) end
    stores.check(C.eg_drain_begin(c), "commit")
    repeat
      fence[0] = 0
      local kind = C.eg_drain_next(c, op)
      -- Also when that failed: steps before may have moved columns.
      stores.sync(world, true)
      stores.check(kind, "commit")
      if kind ~= 0 then ANSWER[kind](world, op) end
      if world._unwinds ~= unwinds then return false end
    until kind == 0
    world._waves = world._waves + 1
  end
  return true
end

--- Ends a drain that began when `unwinds` was the world's count of unwinds:
-- applies what is staged and closes its scope. Those that callbacks have opened
-- and not closed stay open.
function M.finish(world, unwinds)
  if not run(world, unwinds) then return end
  world._draining = false
  world._staged = false
  world._waves = 0
  world._depth = world._depth - 1
end

--- Begins a drain: the world is in a scope of its own. Returns what `finish`
-- wants.
function M.begin(world)
  world._draining = true
  world._depth = 1
  return world._unwinds
end

-- Applies everything staged.
local function drain(world)
  M.finish(world, M.begin(world))
end

--- Opens a scope: structural changes wait until the outermost one closes. Each
-- `defer` wants one `commit`. O(1).
function M.defer(world)
  world._depth = world._depth + 1
end

--- Closes one scope, and applies what waits when it was the outermost.
-- At depth 0 nothing happens. Scopes a drain or a load holds stay open.
-- O(staged work) for the outermost.
---@raise what a callback raises, and no memory: the rest waits for `unwind`;
-- callbacks that stage more without end, after 64 waves
function M.commit(world)
  local depth = world._depth
  if depth <= world._floor or world._draining and depth <= 1 then return end
  if depth > 1 then
    world._depth = depth - 1
  elseif depth == 1 then
    if world._staged then return drain(world) end
    world._depth = 0
  end
end

--- Closes every scope and applies what waits, also after an error has
-- interrupted a drain: it goes on with the next step. At depth 0 nothing
-- happens. Scopes a save or a load holds stay open. O(staged work).
---@raise as `commit`
function M.unwind(world)
  world._unwinds = world._unwinds + 1
  world._depth = world._floor
  if world._floor ~= 0 then return end
  if world._staged or world._draining then
    world._waves = 0
    drain(world)
  end
end

--- A world's drain op: one struct, reused.
function M.newOp()
  return ffi.new("eg_drain_op")
end

return M
