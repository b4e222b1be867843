--- What counts as a component value.
-- `resolve` stands in front of every spawn and set, so it is written to vanish
-- in compiled code: the number of a ctype is a constant there, and the
-- metatable of a table made in the same trace is known.
-- @module engram.ecs.values

local ffi = require("ffi")
local registry = require("engram.ecs.registry")

local getmetatable, rawequal, rawget = getmetatable, rawequal, rawget
local tonumber, type = tonumber, type
local typeof = ffi.typeof
local info, byCtype = registry.info, registry.byCtype

local M = {}

--- Forms of a component value, the second result of `resolve`.
M.INSTANCE = "instance" -- table instance or FFI value: that value
M.WRAPPER = "wrapper"   -- scalar wrapper: its `value`
M.TAG = "tag"           -- tag: presence
M.BARE = "bare"         -- bare component: `info.construct()` for every use

--- Tells whether a value is a component itself.
---@param v any
---@return table|nil component  `v`, or nil when it is none
---@return table|nil info  its record in the registry
local function component(v)
  if type(v) ~= "table" then return nil end
  local id = rawget(v, "componentId")
  if id == nil then return nil end
  local record = info[id]
  if record ~= nil and rawequal(record.component, v) then return v, record end
  return nil
end
M.component = component

--- Finds the component that a value belongs to.
---@param v any
---@return table|nil component  nil when `v` is no component value
---@return string|nil form  "instance", "wrapper", "tag" or "bare"
function M.resolve(v)
  local t = type(v)
  if t == "cdata" then
    return byCtype[tonumber(typeof(v))], "instance"
  elseif t == "table" then
    -- Not by `v.componentType`: a key of that name in the user's own table, or
    -- an `__index` of theirs, must not pass for an instance.
    local mt = getmetatable(v)
    if type(mt) == "table" then
      local owner = rawget(mt, "engramComponent")
      if owner ~= nil then return owner, rawget(mt, "engramForm") end
    end
    local bare, record = component(v)
    if bare == nil then return nil end
    return bare, record.kind == "tag" and "tag" or "bare"
  end
  return nil
end

return M
