--- Constructors of FFI components.
-- Scalar fields of a small struct go to one initialiser, `ct(a1, a2)`, which
-- the JIT keeps in registers when the value is only copied on. Arguments are
-- checked by type: in compiled code the checks cost nothing, and a wrong one
-- is reported by component and field instead of by the FFI library.
-- @module engram.ecs.ffi_construct

local ffi = require("ffi")
local construct = require("engram.ecs.construct")
local err = require("engram.err")

local pcall, select, type = pcall, select, type
local format = string.format
local copyBytes, fillBytes, istype = ffi.copy, ffi.fill, ffi.istype

local M = {}

-- What `type` says of the value of one element of a field.
local function luaType(f)
  if f.base == "bool" then return "boolean" end
  if f.base == "pointer" then return "cdata" end
  return "number"
end

local EXPECTED = { boolean = "boolean", cdata = "pointer", number = "number" }

-- `label` names the component, and the factory while it registers.
local function reject(label, f, what, v, at)
  err.expected(format("%s: field %q", label, f.name .. (at or "")), what, v)
end

-- Takes a value that is not of the plain type, for an argument: 64-bit integers
-- and other numbers of C for a number, whatever LuaJIT converts for a pointer.
-- A boolean is no number nor a number a boolean, although C would take either.
local function strict(label, f, v, at)
  local expected = luaType(f)
  if v ~= nil and (expected == "cdata"
    or expected == "number" and type(v) == "cdata")
    and pcall(ffi.new, f.element, v) then
    return v
  end
  return reject(label, f, EXPECTED[expected], v, at)
end

-- The same for a stored value: all that LuaJIT converts on assignment.
local function lenient(label, f, v, at)
  if pcall(ffi.new, f.element, v) then return v end
  return reject(label, f, EXPECTED[luaType(f)], v, at)
end

-- Copies what is given for one dimension of an array field. Elements that the
-- table lacks stay zero; LuaJIT's own rule would repeat a single element.
local function fillRow(label, f, row, n, v, accept, at)
  if type(v) ~= "table" or v[n + 1] ~= nil then
    reject(label, f, format("array of at most %d", n), v, at)
  end
  local expected = luaType(f)
  for i = 1, n do
    local x = v[i]
    if x ~= nil then
      if type(x) ~= expected then
        x = accept(label, f, x, format("%s[%d]", at or "", i))
      end
      row[i - 1] = x
    end
  end
end

-- Sets an array field from a 1-based table (of tables), from a string where
-- the elements are bytes, or from an array of the same type.
local function fillArray(label, f, array, v, accept)
  local n, m = f.dims[1], f.dims[2]
  local t = type(v)
  if t == "cdata" and istype(f.ctype, v) then
    copyBytes(array, v, ffi.sizeof(f.ctype))
    return
  end
  fillBytes(array, ffi.sizeof(f.ctype))
  if t == "string" and m == 0 and ffi.sizeof(f.element) == 1
    and f.base ~= "bool" then
    if #v > n then
      reject(label, f, format("string of at most %d bytes", n), v)
    end
    copyBytes(array, v, #v)
  elseif m == 0 then
    fillRow(label, f, array, n, v, accept)
  else
    if t ~= "table" or v[n + 1] ~= nil then
      reject(label, f, format("array of at most %d arrays", n), v)
    end
    for i = 1, n do
      if v[i] ~= nil then
        fillRow(label, f, array[i - 1], m, v[i], accept, format("[%d]", i))
      end
    end
  end
end

--- Builds `fill(instance, data)`: sets the fields that `data` holds, by name,
-- and leaves the others. Numbers and booleans convert as LuaJIT converts on
-- assignment; what it cannot convert raises with component and field. This is
-- how stored values come back.
---@param name string
---@param fields table[]
---@return fun(instance: ffi.cdata*, data: table): ffi.cdata*
function M.filler(name, fields)
  local label = format("component %q", name)
  return function(o, data)
    for i = 1, #fields do
      local f = fields[i]
      local v = data[f.name]
      if v ~= nil then
        if f.suffix ~= "" then
          fillArray(label, f, o[f.name], v, lenient)
        else
          if type(v) ~= luaType(f) then v = lenient(label, f, v) end
          o[f.name] = v
        end
      end
    end
    return o
  end
end

--- Checks the default of a field at registration.
---@param at string  factory and component
---@param f table
---@param ctype ffi.ctype*
---@param v any
---@return ffi.cdata* scratch  to be dropped; a reference to a member does not
-- keep its struct alive, so this function has to hold on to it to the end
function M.checkDefault(at, f, ctype, v)
  local scratch = ctype()
  if f.suffix ~= "" then
    fillArray(at, f, scratch[f.name], v, strict)
  elseif type(v) ~= luaType(f) or f.base == "pointer" then
    strict(at, f, v)
  end
  return scratch
end

-- The value used where an argument is nil.
local function defaultText(f, default, i)
  if default == nil then
    if f.base == "pointer" or f.suffix ~= "" then return "nil" end
    return f.base == "bool" and "false" or "0"
  end
  -- Arrays are copied into the struct, so the default itself may be handed on.
  if type(default) == "table" or type(default) == "cdata" then
    return format("D[%d]", i)
  end
  return construct.defaultText(default, i)
end

-- Statement that brings argument `a<i>` to a value the field can take.
local function checkText(f, default, i)
  local a = "a" .. i
  local text = defaultText(f, default, i)
  if f.suffix ~= "" then
    return text ~= "nil" and format("if %s == nil then %s = %s end", a, a, text)
      or nil
  end
  local expected = luaType(f)
  if expected == "cdata" then
    if text == "nil" then
      return format("if %s ~= nil then %s = check(%d, %s) end", a, a, i, a)
    end
    return format("if %s == nil then %s = %s else %s = check(%d, %s) end", a, a,
      text, a, i, a)
  end
  return format("if %s == nil then %s = %s elseif type(%s) ~= %q then "
    .. "%s = check(%d, %s) end", a, a, text, a, expected, a, i, a)
end

-- Lines of a constructor with one parameter per field.
local function unrolled(spec)
  local fields, defaults, n = spec.ffiFields, spec.defaults, #spec.ffiFields
  local lines = { "local ct, D, check, fillArray, hook, type = ..." }
  local function add(text, ...) lines[#lines + 1] = format(text, ...) end
  local parameters = construct.parameters(n)
  if spec.call then
    add("return function(_, ...)")
    for i = 1, n do
      add("  local a%d = %s", i, defaultText(fields[i], defaults[i], i))
    end
  else
    if spec.init then
      add("return function(_, ...)")
      add("  local %s = ...", parameters)
    else
      add("return function(_, %s)", parameters)
    end
    for i = 1, n do
      local text = checkText(fields[i], defaults[i], i)
      if text then add("  %s", text) end
    end
  end
  if spec.hasArrays then
    add("  local o = ct()")
    for i = 1, n do
      if fields[i].suffix == "" then
        add("  o[%q] = a%d", fields[i].name, i)
      else
        add("  if a%d ~= nil then fillArray(%d, o[%q], a%d) end", i, i,
          fields[i].name, i)
      end
    end
  else
    add("  local o = ct(%s)", parameters)
  end
  if spec.call or spec.init then add("  hook(o, ...)") end
  add("  return o")
  add("end")
  return lines
end

-- The same in a loop, for very many fields.
local function looped(spec, check, fill)
  local fields, defaults, ct = spec.ffiFields, spec.defaults, spec.ctype
  local n, call, hook = #fields, spec.call, spec.call or spec.init
  return function(_, ...)
    local o = ct()
    for i = 1, n do
      local f, v = fields[i], nil
      if not call then v = (select(i, ...)) end
      if v == nil then v = defaults[i] end
      if v ~= nil then
        if f.suffix ~= "" then
          fill(i, o[f.name], v)
        else
          if type(v) ~= luaType(f) then v = check(i, v) end
          o[f.name] = v
        end
      end
    end
    if hook then hook(o, ...) end
    return o
  end
end

--- Builds the positional constructor of an FFI component.
---@param spec table  `name`, `ctype`, `ffiFields`, `defaults`, `init`, `call`,
-- `hasArrays`
---@return fun(component: table, ...: any): ffi.cdata* make
function M.constructor(spec)
  local name, fields = spec.name, spec.ffiFields
  local label = format("component %q", name)
  local function check(i, v) return strict(label, fields[i], v) end
  local function fill(i, array, v)
    fillArray(label, fields[i], array, v, strict)
  end
  if #fields > construct.MAX_UNROLLED then return looped(spec, check, fill) end
  return construct.compile(name, unrolled(spec), spec.ctype, spec.defaults,
    check, fill, spec.call or spec.init, type)
end

--- Builds `C.new`. A `new` of the user's may return an instance, or a table
-- of fields, which then becomes one: defaults, and the fields by name.
---@param spec table   also `fields`, `new`, `fill`, `base`
---@param make function
---@return fun(data: table): ffi.cdata*
function M.new(spec, make)
  local fn, ct = spec.name .. ".new", spec.ctype
  local userNew, fill, base = spec.new, spec.fill, spec.base
  if userNew then
    return function(data)
      local o = userNew(data)
      if istype(ct, o) then return o end
      if type(o) == "table" then return fill(base(), o) end
      return err.expected(fn, "an instance or a table from `new`", o)
    end
  end
  local unpackData = construct.unpacker(spec.name, spec.fields, make)
  return function(data)
    if type(data) ~= "table" then err.expected(fn, "table", data) end
    return unpackData(data)
  end
end

return M
