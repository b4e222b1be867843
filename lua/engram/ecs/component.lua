--- Table components: instances are Lua tables, stored by reference.
-- @module engram.ecs.component

local construct = require("engram.ecs.construct")
local err = require("engram.err")
local options = require("engram.ecs.options")
local registry = require("engram.ecs.registry")

local rawget, rawset, setmetatable, type =
  rawget, rawset, setmetatable, type
local getmetatable = debug.getmetatable -- not stopped by `__metatable`

local STORAGE = 4 -- EG_HOST

local M = {}

-- The result of a user's `new` becomes an instance where it is not one yet.
-- What belongs to engram under another name is refused: giving it a second
-- metatable would break it.
local function wrapNew(spec)
  local userNew, mt, fn = spec.new, spec.instanceMt, spec.name .. ".new"
  return function(data)
    local o = userNew(data)
    if type(o) ~= "table" then err.expected(fn, "table from `new`", o) end
    local found = getmetatable(o)
    if found == mt then return o end
    if rawget(o, "componentId") ~= nil
      or found ~= nil and rawget(found, "engramComponent") ~= nil then
      err.expected(fn, "an instance or a plain table from `new`", o)
    end
    return setmetatable(o, mt)
  end
end

--- Registers a table component for the life of the Lua state.
-- The container becomes the component: it is callable, `C(a, b, …)` maps
-- arguments to `fields` in order, and `C.new(data)` takes a table. Instances
-- have one metatable, whose `__index` is the container.
-- Calls with `fields` of up to 100 names are generated code. Since 0.1.
---@param o engram.ComponentOptions  read, not kept: `name`, `container`;
-- `fields`, `defaults`, `init`, `__call`, `new`, `requires`, `serialize`,
-- `deserialize`, `transient`
---@return table component  the container
---@raise an unknown option; a name missing or in use; a container missing,
-- used or with a `__call` of its own; a bad option or combination. Nothing is
-- registered then.
function M.newComponent(o)
  local info, at = options.common("engram.newComponent", "table", o, "required")
  local component = info.component
  local fields = options.fieldNames(at, o.fields)
  info.storage = STORAGE
  info.fields = fields
  info.defaults = options.defaults(at, o.defaults, #fields)
  info.instanceMt = {
    __index = component,
    engramComponent = component,
    engramForm = "instance",
  }
  info.adoptable = not (o.init or o.__call or o.new)

  local spec = {
    name = info.name,
    fields = fields,
    defaults = info.defaults,
    instanceMt = info.instanceMt,
    init = o.init,
    call = o.__call,
    new = o.new,
  }
  local make = construct.tableConstructor(spec)
  local new = o.new and wrapNew(spec) or construct.tableNew(spec, make)
  info.construct = function() return make(component) end
  info.new = new
  if info.adoptable then info.adopt = construct.adopter(spec) end

  registry.add(info)
  rawset(component, "new", new)
  if o.init then rawset(component, "init", o.init) end
  construct.attach(component, make)
  return component
end

return M
