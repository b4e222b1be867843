-- Snapshot specs about hooks: a source whose rows have hooks of each kind, and
-- ways to put a spec's own code into them.

local kit = require("spec.support.snapkit")

local M = {}

local Hook, HookFFI, HookNum = kit.Hook, kit.HookFFI, kit.HookNum

--- Five entities with each kind of hook. Returns the world and their ids.
function M.source()
  local world = kit.engram.newWorld()
  local ids = {}
  for i = 1, 5 do
    ids[i] = world:spawn(Hook(i, { i }), HookFFI(i, i, 2 * i), HookNum(i),
      kit.Pos(i, i), kit.Body(i))
  end
  return world, ids
end

--- The load hooks by name, and the component each belongs to.
M.NAMES = { ["table.load"] = "kit.Hook", ["ffi.load"] = "kit.HookFFI",
  ["scalar.load"] = "kit.HookNum" }

local MAKE = {
  ["table.load"] = function(data) return Hook.new(data) end,
  ["ffi.load"] = function(data) return HookFFI(data.x, data.n, data.x * 2) end,
  ["scalar.load"] = function(data) return HookNum(tonumber(data.text)) end,
}

--- Runs `fn(componentName, calls)` once with a load hook of each kind. The hook
-- calls `hook(world, data, number of calls)`; what that returns is the result,
-- or, when it is nothing, the right instance. `calls()` is their number.
function M.withEach(hook, fn)
  for _, name in ipairs(kit.sortedKeys(M.NAMES)) do
    local calls = 0
    kit.hook(name, function(world, data)
      calls = calls + 1
      local result = hook(world, data, calls)
      if result ~= nil then return result end
      return MAKE[name](data)
    end, function() fn(M.NAMES[name], function() return calls end) end)
  end
end

return M
