--- Scalar components: one number, boolean or string per entity.
-- Columns and `get` deal in raw values. `C(v)` is a wrapper that carries the
-- component to `spawn` and `set`; compiled code does not allocate it.
-- @module engram.ecs.scalar

local construct = require("engram.ecs.construct")
local err = require("engram.err")
local options = require("engram.ecs.options")
local registry = require("engram.ecs.registry")

local rawset, type = rawset, type
local format = string.format

local ZEROS = { number = 0, boolean = false, string = "" }
local STORAGES = { number = 2, boolean = 3, string = 4 } -- EG_NUMBER, …

local M = {}

-- `C(v)`. One chunk per component, for the same reason as elsewhere: its
-- metatable is a constant of the code.
local function constructor(info, mt)
  local kind, name = info.scalarKind, info.name
  local function reject(v)
    err.expected(format("component %q", name), kind, v)
  end
  return construct.compile(name, {
    "local setmetatable, type, mt, D, reject = ...",
    "return function(_, v)",
    "  if v == nil then",
    "    v = " .. construct.defaultText(info.scalarDefault, 1),
    format("  elseif type(v) ~= %q then", kind),
    "    reject(v)",
    "  end",
    "  return setmetatable({ value = v }, mt)",
    "end",
  }, setmetatable, type, mt, { info.scalarDefault }, reject)
end

--- Registers a scalar component for the life of the Lua state.
-- The component has `scalarKind` and `scalarDefault`. `C(v)` is a wrapper for
-- `spawn` and `set`, never equal to `v`; without an argument it holds the
-- default. `C.new(data)` is `C(data.value)`. Since 0.1.
---@param o engram.ScalarComponentOptions  read, not kept: `name`, `kind`
-- (`"number"`, `"boolean"` or `"string"`); `default` (0, false or ""),
-- `requires`, `serialize`, `deserialize`, `transient`
---@return table component
---@raise an unknown option; a name missing or in use; a kind missing or
-- unknown; a default of another type. Nothing is registered then.
function M.newScalarComponent(o)
  local info, at = options.common("engram.newScalarComponent", "scalar", o)
  local component, kind, default = info.component, o.kind, o.default
  if kind == nil or ZEROS[kind] == nil then
    err.expected(at .. ": kind", '"number", "boolean" or "string"', kind)
  end
  if default == nil then
    default = ZEROS[kind]
  elseif type(default) ~= kind then
    err.expected(at .. ": default", kind, default)
  end
  info.storage = STORAGES[kind]
  info.scalarKind, info.scalarDefault = kind, default
  info.wrapperMt = {
    __index = component,
    engramComponent = component,
    engramForm = "wrapper",
  }
  local make = constructor(info, info.wrapperMt)
  info.construct = function() return default end
  info.new = function(data)
    if type(data) ~= "table" then
      err.expected(info.name .. ".new", "table", data)
    end
    return make(component, data.value)
  end

  registry.add(info)
  rawset(component, "scalarKind", kind)
  rawset(component, "scalarDefault", default)
  rawset(component, "new", info.new)
  construct.attach(component, make)
  return component
end

return M
