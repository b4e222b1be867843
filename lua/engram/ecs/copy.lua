--- Deep copies of default values and prototypes.
-- @module engram.ecs.copy

local ffi = require("ffi")
local registry = require("engram.ecs.registry")
local values = require("engram.ecs.values")

local next, rawset, setmetatable, tonumber, type =
  next, rawset, setmetatable, tonumber, type
local getmetatable = debug.getmetatable -- not stopped by `__metatable`
local typeof = ffi.typeof
local byCtype, info, component =
  registry.byCtype, registry.info, values.component

local M = {}

-- A value that needs no copy of its own: everything but tables and FFI values
-- of components. A component itself is a type, not data, and stays shared.
local function isAtom(v)
  local t = type(v)
  if t == "table" then return component(v) ~= nil end
  if t == "cdata" then return byCtype[tonumber(typeof(v))] == nil end
  return true
end

--- Copies a table with all tables below it, each once, so that cycles and
-- shared parts come out as they were. Metatables are kept, keys are not copied:
-- a table used as a key is an identity. FFI values of components are copied,
-- other cdata, functions, threads and userdata are shared.
---@param root any
---@return any copy  `root` itself when it is no table or FFI value
function M.deep(root)
  if isAtom(root) then return root end
  if type(root) == "cdata" then
    return info[byCtype[tonumber(typeof(root))].componentId].ctype(root)
  end
  local copies = { [root] = setmetatable({}, getmetatable(root)) }
  local pending, n, i = { root }, 1, 1
  -- A work list instead of recursion: depth costs no stack. Explicit `next`
  -- because this may run inside a `pairs` loop of the caller.
  while i <= n do
    local source = pending[i]
    local target = copies[source]
    local k, v = next(source)
    while k ~= nil do
      if isAtom(v) then
        rawset(target, k, v)
      elseif type(v) == "cdata" then
        rawset(target, k, M.deep(v))
      else
        local copy = copies[v]
        if copy == nil then
          copy = setmetatable({}, getmetatable(v))
          copies[v] = copy
          n = n + 1
          pending[n] = v
        end
        rawset(target, k, copy)
      end
      k, v = next(source, k)
    end
    i = i + 1
  end
  return copies[root]
end

return M
