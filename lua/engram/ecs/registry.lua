--- The registry of components of this Lua state.
-- Registration is for the life of the state, so its tables hang in the Lua
-- registry and not in this module: a second copy of the module (a cleared
-- `package.loaded`, another path) adopts them, and the components of both
-- copies are the same. Ids run from 1 in order of registration.
-- Names and ids are claimed by `add` and by nothing else, as the last step of a
-- factory that has checked everything.
-- @module engram.ecs.registry

local ffi = require("ffi")
local err = require("engram.err")

local rawset, tonumber, type = rawset, tonumber, type
local format = string.format

local KEY = "engram.registry"
local FORMAT = 1 -- grows when the tables below change their meaning

-- Calls a component whose container came with a metatable of its own. Several
-- containers may share it, so the constructor is found by the container.
local function newDispatch(constructors)
  return function(container, ...)
    local make = constructors[container]
    if make == nil then
      err.raise("attempt to call a table value that is no component")
    end
    return make(container, ...)
  end
end

local function newState()
  local constructors = {}
  return {
    format = FORMAT,
    info = {},        -- id -> info
    byName = {},      -- name -> component
    byCtype = {},     -- number of a ctype -> component
    constructors = constructors, -- component -> its constructor
    dispatch = newDispatch(constructors),
    structs = 0,      -- serial number of the last struct declared
  }
end

local anchor = debug.getregistry()
local state = anchor[KEY]
if state == nil then
  state = newState()
  anchor[KEY] = state
elseif state.format ~= FORMAT then
  error(format("engram: this Lua state holds a component registry of format "
    .. "%s, this copy of the module needs %d", tostring(state.format), FORMAT))
end

local M = {
  info = state.info,
  byName = state.byName,
  byCtype = state.byCtype,
  constructors = state.constructors,
  dispatch = state.dispatch,
}

--- The C registry: an object with `register(info) -> id`, set by whoever loads
-- the core. It may raise; then nothing has been registered.
M.backend = nil

--- Registers a component that is ready to use, and marks it as one.
-- Asks the backend for the id, which is the last thing that can fail.
---@param info table  `name`, `component`, `kind` and what the kind needs
---@return table component
function M.add(info)
  local name, component = info.name, info.component
  if state.byName[name] ~= nil then
    err.raise(format("engram: component %q: the name is in use", name))
  end
  if M.backend == nil then
    err.raise(format("engram: component %q: no backend to register it", name))
  end
  local id = M.backend.register(info)
  if type(id) ~= "number" or id < 1 or state.info[id] ~= nil then
    err.raise(format("engram: component %q: the backend gave no new id", name))
  end
  info.id = id
  state.info[id] = info
  state.byName[name] = component
  if info.ctype ~= nil then
    -- A row of a column is a reference, which is a ctype of its own.
    state.byCtype[tonumber(info.ctype)] = component
    state.byCtype[tonumber(info.reference)] = component
  end
  rawset(component, "componentName", name)
  rawset(component, "componentId", id)
  rawset(component, "componentKind", info.kind)
  rawset(component, "componentType", component)
  return component
end

--- Gives a C struct name that this Lua state has not declared yet.
---@param name string  component name, any bytes
---@return string structName  such as `struct engram_c3_Position`
function M.structName(name)
  local readable = name:gsub("[^%w_]", "_"):sub(1, 40)
  local full
  repeat
    state.structs = state.structs + 1
    full = format("struct engram_c%d_%s", state.structs, readable)
  until not pcall(ffi.typeof, full)
  return full
end

--- Finds a component by name, dense relationship instances included.
---@param name string
---@return table|nil component
---@raise when `name` is no string
function M.componentByName(name)
  if type(name) ~= "string" then
    err.expected("engram.componentByName", "name (string)", name)
  end
  return state.byName[name]
end

--- Finds a component by id. Ids follow the order of registration and differ
-- between runs.
---@param id number  1-based
---@return table|nil component
---@raise when `id` is no number
function M.getComponentById(id)
  if type(id) ~= "number" then
    err.expected("engram.getComponentById", "id (number)", id)
  end
  local info = state.info[id]
  return info and info.component
end

--- Lists the declared components, without dense relationship instances.
---@return table<string, table> components  new table, name to component.
-- O(components)
function M.declaredComponents()
  local all = {}
  for id = 1, #state.info do
    local info = state.info[id]
    if not info.dense then all[info.name] = info.component end
  end
  return all
end

return M
