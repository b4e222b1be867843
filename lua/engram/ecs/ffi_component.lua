--- FFI components: instances are C structs, a column is one block of them.
-- @module engram.ecs.ffi_component

local ffi = require("ffi")
local construct = require("engram.ecs.construct")
local ctypes = require("engram.ecs.ctypes")
local err = require("engram.err")
local ffiConstruct = require("engram.ecs.ffi_construct")
local options = require("engram.ecs.options")
local registry = require("engram.ecs.registry")

local ipairs, next, pcall, rawset, type = ipairs, next, pcall, rawset, type
local format = string.format

local STORAGE = 1 -- EG_RAW

local FN = "engram.newFFIComponent"

local M = {}

-- Checks `{ {name, ctype}, … }`. Returns the names and the parsed fields.
local function readFields(at, fields)
  options.checkArray(at .. ": fields", fields, "{name, ctype} pairs")
  if #fields == 0 then err.raise(at .. ": fields: at least one is needed") end
  local names, parsed, seen = {}, {}, {}
  for i, pair in ipairs(fields) do
    local where = format("%s: fields[%d]", at, i)
    options.checkArray(where, pair, "a name and a ctype")
    if #pair ~= 2 then
      err.raise(where .. ": {name, ctype} expected, got an array of " .. #pair)
    end
    local name, text = pair[1], pair[2]
    options.checkFieldName(at, name, seen)
    if not ctypes.isIdentifier(name) then
      err.raise(format("%s: field %q: the name is no C identifier", at, name))
    end
    if type(text) ~= "string" then
      err.expected(format("%s: field %q", at, name), "ctype (string)", text)
    end
    local f = ctypes.parse(text)
    if f == nil then
      err.raise(format("%s: field %q: the ctype %q is not one a field may have",
        at, name, text))
    end
    f.name = name
    names[i], parsed[i] = name, f
  end
  return names, parsed
end

-- Declares the struct by name. Never a parameterised type: test tools memoise
-- `ffi.typeof` by its first argument, which would mix two components up.
local function declare(at, info)
  local name = registry.structName(info.name)
  local ok, message = pcall(ffi.cdef,
    ctypes.declaration(name, info.ffiFields))
  if not ok then err.raise(at .. ": " .. message) end
  info.ctype = ffi.typeof(name)
  info.pointer = ffi.typeof(name .. " *")
  info.reference = ffi.typeof(name .. " &")
  info.size = ffi.sizeof(info.ctype)
  ctypes.layout(info.ctype, info.ffiFields)
end

-- What an instance resolves beyond its fields: `componentType`, then the
-- user's methods, then the container. A function and not the container itself:
-- the JIT takes what it finds in an `__index` table of cdata for constant, so
-- methods added or replaced later would not be seen by compiled code.
local function indexOf(component, user)
  if user == nil then
    return function(_, k) return component[k] end
  elseif type(user) == "table" then
    return function(_, k)
      if k ~= "componentType" then
        local v = user[k]
        if v ~= nil then return v end
      end
      return component[k]
    end
  end
  return function(self, k)
    if k ~= "componentType" then
      local v = user(self, k)
      if v ~= nil then return v end
    end
    return component[k]
  end
end

local function checkMetatable(at, mt)
  if mt == nil then return end
  local index = mt.__index
  if index ~= nil and type(index) ~= "table" and type(index) ~= "function" then
    err.expected(at .. ": metatable: __index", "table or function", index)
  end
  if mt.__new ~= nil then
    err.raise(at .. ": metatable: __new is not allowed, use __call or new")
  end
end

-- The user's metatable is copied: it may serve several components.
local function attachMetatype(info, user)
  local mt = {}
  if user ~= nil then
    local k, v = next(user)
    while k ~= nil do
      mt[k] = v
      k, v = next(user, k)
    end
  end
  mt.__index = indexOf(info.component, user and user.__index)
  ffi.metatype(info.ctype, mt)
end

--- Registers an FFI component for the life of the Lua state.
-- The container becomes the component: it is callable, `C(a, b, …)` maps
-- arguments to `fields` in order, `C.new(data)` takes a table with fields by
-- name (arrays as 1-based tables, `char[N]` as strings too).
-- An instance finds a name among its fields first, then in `metatable.__index`
-- (table or function), then in the container; `componentType` is always the
-- component.
-- A value with scalar fields of up to 128 bytes in all costs no memory where
-- compiled code only copies it on. Since 0.1.
---@param o engram.FFIComponentOptions  read, not kept: `name`, `container`,
-- `fields` = `{ {name, ctype}, … }`; `defaults`, `init`, `__call`, `new`,
-- `metatable`, `requires`, `serialize`, `deserialize`, `transient`
---@return table component  the container
---@raise as `newComponent`; also a field name that is no C identifier, a
-- ctype that is not allowed, a default the field cannot take
function M.newFFIComponent(o)
  local info, at = options.common(FN, "ffi", o, "required")
  local component = info.component
  local fields, parsed = readFields(at, o.fields)
  local defaults = options.defaults(at, o.defaults, #fields)
  checkMetatable(at, o.metatable)
  info.storage = STORAGE
  info.fields = fields
  info.ffiFields = parsed
  info.defaults = defaults
  declare(at, info)
  local hasArrays, hasPointers = false, false
  for i, f in ipairs(parsed) do
    if defaults[i] ~= nil then
      ffiConstruct.checkDefault(at, f, info.ctype, defaults[i])
    end
    hasArrays = hasArrays or f.suffix ~= ""
    if f.base == "pointer" then hasPointers = true end
  end
  info.hasPointers = hasPointers
  if not (hasPointers or info.serialize or info.deserialize) then
    info.fingerprint = ctypes.fingerprint(parsed, info.size)
  end

  local spec = {
    name = info.name,
    fields = fields,
    ffiFields = parsed,
    defaults = defaults,
    ctype = info.ctype,
    hasArrays = hasArrays,
  }
  info.base = ffiConstruct.constructor(spec)
  info.fill = ffiConstruct.filler(info.name, parsed)
  spec.base, spec.fill = info.base, info.fill
  spec.init, spec.call, spec.new = o.init, o.__call, o.new
  local make = (o.init or o.__call) and ffiConstruct.constructor(spec)
    or info.base
  info.construct = function() return make(component) end
  info.new = ffiConstruct.new(spec, make)

  attachMetatype(info, o.metatable)
  registry.add(info)
  rawset(component, "new", info.new)
  if o.init then rawset(component, "init", o.init) end
  construct.attach(component, make)
  return component
end

return M
