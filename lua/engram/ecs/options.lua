--- Options of the component factories, checked the same way for every kind.
-- Nothing here changes anything: a factory checks first, builds, and registers
-- last, so a call that raises leaves no trace and the name free.
-- @module engram.ecs.options

local copy = require("engram.ecs.copy")
local err = require("engram.err")
local registry = require("engram.ecs.registry")
local requires = require("engram.ecs.requires")

local ipairs, next, rawget, tostring, type =
  ipairs, next, rawget, tostring, type
local format = string.format
local getmetatable = debug.getmetatable -- not stopped by `__metatable`

local M = {}

local function set(words)
  local names = {}
  for word in words:gmatch("%S+") do names[word] = true end
  return names
end

-- The options by kind. Anything else raises as unknown, so an option that is
-- misspelt, or not built yet, is refused and not ignored.
local ALLOWED = {
  table = set([[name container fields defaults init __call new requires
    serialize deserialize transient]]),
  ffi = set([[name container fields defaults init __call new metatable requires
    serialize deserialize transient]]),
  scalar = set("name kind default requires serialize deserialize transient"),
  tag = set("name container requires transient"),
}

-- What the Lua type of an option must be, where it is given.
local TYPES = {
  init = "function", __call = "function", new = "function",
  serialize = "function", deserialize = "function", transient = "boolean",
  metatable = "table",
}

-- Names that every instance resolves to something of engram's.
local RESERVED = {
  componentName = true, componentId = true, componentKind = true,
  componentType = true,
}

--- Checks that `t` is an array: keys exactly 1…n.
---@param fn string  what to name in the message
---@param t any
---@param of string  what the array holds, for the message
function M.checkArray(fn, t, of)
  if type(t) ~= "table" then err.expected(fn, "array of " .. of, t) end
  local n, k = #t, next(t)
  while k ~= nil do
    if type(k) ~= "number" or k < 1 or k > n or k % 1 ~= 0 then
      err.raise(format("%s: array of %s expected, got the key %s", fn, of,
        err.describe(k)))
    end
    k = next(t, k)
  end
  for i = 1, n do
    if t[i] == nil then
      err.raise(format("%s: array of %s expected, got nothing at %d", fn, of,
        i))
    end
  end
end

-- The table that will become the component.
local function checkContainer(at, container)
  if type(container) ~= "table" then
    err.expected(at .. ": container", "table", container)
  end
  local other = rawget(container, "componentName")
  if other ~= nil or rawget(container, "componentId") ~= nil then
    err.raise(format("%s: container: it is component %q already", at,
      tostring(other)))
  end
  local mt = getmetatable(container)
  if mt ~= nil then
    local call = rawget(mt, "__call")
    if call ~= nil and call ~= registry.dispatch then
      err.raise(at .. ": container: its metatable has a __call of its own")
    end
  end
end

local function checkRules(at, options)
  if options.defaults ~= nil and options.fields == nil then
    err.raise(at .. ": defaults need fields")
  end
  if options.init ~= nil and options.fields == nil and options.new == nil then
    err.raise(at .. ": init needs fields or new")
  end
  if options.transient and options.serialize ~= nil then
    err.raise(at .. ": a transient component is not saved, serialize is not "
      .. "allowed with it")
  end
end

--- Checks what the kinds have in common and starts the info of a component.
---@param fn string       the factory
---@param kind string     "table", "ffi", "scalar" or "tag"
---@param options any
---@param container? string "required" or "optional"; nil where there is none
---@return table info     `name`, `kind`, `component`, `requires`, …
---@return string at      function and component, for further messages
function M.common(fn, kind, options, container)
  err.options(fn, options, ALLOWED[kind])
  local name = options.name
  if type(name) ~= "string" or name == "" then
    err.expected(fn .. ": name", "non-empty string", name)
  end
  local at = format("%s: component %q", fn, name)
  if registry.byName[name] ~= nil then
    err.raise(at .. ": the name is in use")
  end
  local component = options.container
  if container == "required" or component ~= nil then
    checkContainer(at, component)
  end
  local option, wanted = next(TYPES)
  while option ~= nil do
    local v = options[option]
    if v ~= nil and type(v) ~= wanted then
      err.expected(at .. ": " .. option, wanted, v)
    end
    option, wanted = next(TYPES, option)
  end
  checkRules(at, options)
  return {
    name = name,
    kind = kind,
    component = component or {},
    requires = requires.normalise(at, options.requires),
    transient = options.transient == true,
    serialize = options.serialize,
    deserialize = options.deserialize,
    fingerprint = "",
  }, at
end

--- Checks the name of one field.
---@param at string
---@param name any
---@param seen table<string, boolean>  names so far; the name is added
function M.checkFieldName(at, name, seen)
  if type(name) ~= "string" or name == "" then
    err.expected(at .. ": fields", "field name (non-empty string)", name)
  end
  if RESERVED[name] then
    err.raise(format("%s: field %q: the name is reserved", at, name))
  end
  if seen[name] then
    err.raise(format("%s: field %q: declared twice", at, name))
  end
  seen[name] = true
end

--- Checks and copies the names of a table component's fields.
---@param at string
---@param fields any
---@return string[] names
function M.fieldNames(at, fields)
  local names, seen = {}, {}
  if fields == nil then return names end
  M.checkArray(at .. ": fields", fields, "field names")
  for i, name in ipairs(fields) do
    M.checkFieldName(at, name, seen)
    names[i] = name
  end
  return names
end

--- Checks and copies the positional defaults. Tables in them are copied here
-- once more than for each instance, so that the user's own stay the user's.
---@param at string
---@param defaults any
---@param n number  fields
---@return table copied  by position, with holes
function M.defaults(at, defaults, n)
  if defaults == nil then return {} end
  if type(defaults) ~= "table" then
    err.expected(at .. ": defaults", "table", defaults)
  end
  local k = next(defaults)
  while k ~= nil do
    if type(k) ~= "number" or k < 1 or k > n or k % 1 ~= 0 then
      err.raise(format("%s: defaults: a position from 1 to %d expected, got "
        .. "the key %s", at, n, err.describe(k)))
    end
    k = next(defaults, k)
  end
  return copy.deep(defaults)
end

return M
