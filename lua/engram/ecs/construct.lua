--- Constructors of table components, and what all factories share.
-- A constructor is generated per component: its fields are literal keys and
-- its defaults literal constants, so a call compiles to the stores and nothing
-- else. Generated text holds only numbers, `%q`-quoted names and these
-- templates; everything else comes in as an upvalue.
-- @module engram.ecs.construct

local copy = require("engram.ecs.copy")
local err = require("engram.err")
local registry = require("engram.ecs.registry")

local next, rawset, select, setmetatable, type, unpack =
  next, rawset, select, setmetatable, type, unpack
local concat, format = table.concat, string.format
local getmetatable = debug.getmetatable -- not stopped by `__metatable`

local M = {}

-- Fields beyond this many are set in a loop: a Lua function has 200 locals.
M.MAX_UNROLLED = 100

--- Names of the parameters `a1, a2, …`.
---@param n number
---@return string list
function M.parameters(n)
  local list = {}
  for i = 1, n do list[i] = "a" .. i end
  return concat(list, ", ")
end

--- Gives the expression for a default: a literal where there is one that reads
-- back exactly, else the value in the table `D`; a table is copied each time.
---@param default any
---@param i number  field
---@return string expression
function M.defaultText(default, i)
  local t = type(default)
  if t == "nil" or t == "boolean" then
    return tostring(default)
  elseif t == "number" and default == default and default ~= 0
    and default > -math.huge and default < math.huge then
    return format("%.17g", default)
  elseif t == "number" and default == 0 and 1 / default > 0 then
    return "0"
  elseif t == "table" or t == "cdata" then
    return format("copy(D[%d])", i)
  end
  return format("D[%d]", i)
end

--- Compiles generated code and calls it.
---@param name string    component, for tracebacks
---@param lines string[]
---@param ... any        what the first line takes from `...`
---@return any ...       what the code returns
function M.compile(name, lines, ...)
  local text, chunk = concat(lines, "\n"), err.chunkName(name)
  local code, message = loadstring(text, chunk) -- codegen: from checked fields
  if code == nil then error(message) end
  return code(...)
end

--- Makes a container callable. A metatable it came with is kept and shared
-- with whatever else uses it, so it gets the dispatcher in place of the
-- constructor. `checkContainer` of the options has made sure it may.
---@param component table
---@param make function  constructor, called with the component first
function M.attach(component, make)
  registry.constructors[component] = make
  local mt = getmetatable(component)
  if mt == nil then
    setmetatable(component, { __call = make })
  else
    rawset(mt, "__call", registry.dispatch)
  end
end

-- { ["x"] = a1, ["y"] = a2 }
local function tableText(fields, valueOf)
  local parts = {}
  for i = 1, #fields do
    parts[i] = format("[%q] = %s", fields[i], valueOf(i))
  end
  return "{" .. concat(parts, ", ") .. "}"
end

-- Lines of a constructor with one parameter per field.
local function unrolled(spec)
  local fields, defaults, n = spec.fields, spec.defaults, #spec.fields
  local lines = { "local setmetatable, mt, D, copy, hook = ..." }
  local function add(text, ...) lines[#lines + 1] = format(text, ...) end
  if spec.call then
    add("return function(_, ...)")
    add("  local o = setmetatable(%s, mt)", tableText(fields, function(i)
      return M.defaultText(defaults[i], i)
    end))
    add("  hook(o, ...)")
    add("  return o")
  else
    local parameters = M.parameters(n)
    if spec.init then
      -- The arguments go on untouched, so that `init` can count them.
      add("return function(_, ...)")
      if n > 0 then add("  local %s = ...", parameters) end
    else
      add("return function(_%s)", n > 0 and ", " .. parameters or "")
    end
    for i = 1, n do
      if defaults[i] ~= nil then
        add("  if a%d == nil then a%d = %s end", i, i,
          M.defaultText(defaults[i], i))
      end
    end
    add("  local o = setmetatable(%s, mt)", tableText(fields, function(i)
      return "a" .. i
    end))
    if spec.init then add("  hook(o, ...)") end
    add("  return o")
  end
  add("end")
  return lines
end

-- The same in a loop, for very many fields.
local function looped(spec)
  local fields, defaults, mt = spec.fields, spec.defaults, spec.instanceMt
  local n, call, hook = #fields, spec.call, spec.call or spec.init
  return function(_, ...)
    local o = setmetatable({}, mt)
    for i = 1, n do
      local v = nil
      if not call then v = (select(i, ...)) end
      if v == nil then v = copy.deep(defaults[i]) end
      o[fields[i]] = v
    end
    if hook then hook(o, ...) end
    return o
  end
end

--- Builds the positional constructor of a table component.
---@param spec table  `name`, `fields`, `defaults`, `init`, `call`, `instanceMt`
---@return fun(component: table, ...: any): table make
function M.tableConstructor(spec)
  if #spec.fields > M.MAX_UNROLLED then return looped(spec) end
  return M.compile(spec.name, unrolled(spec), setmetatable, spec.instanceMt,
    spec.defaults, copy.deep, spec.call or spec.init)
end

--- Builds a function that unpacks a table to the positional constructor.
---@param name string
---@param fields string[]
---@param make function
---@return fun(data: table): any
function M.unpacker(name, fields, make)
  local n = #fields
  if n > M.MAX_UNROLLED then
    return function(data)
      local list = {}
      for i = 1, n do list[i] = data[fields[i]] end
      return make(nil, unpack(list, 1, n))
    end
  end
  local parts = {}
  for i = 1, n do parts[i] = format(", data[%q]", fields[i]) end
  return M.compile(name, {
    "local make = ...",
    "return function(data)",
    format("  return make(nil%s)", concat(parts)),
    "end",
  }, make)
end

--- Builds `C.new` of a table component: declared fields go through the
-- constructor, then all other entries follow as they are. They come last so
-- that a loaded instance has what was saved and not what `init` computed.
-- Without `fields` a `__call` has no arguments to be given; the entries are
-- the instance then.
---@param spec table
---@param make function
---@return fun(data: table): table
function M.tableNew(spec, make)
  local mt, fn = spec.instanceMt, spec.name .. ".new"
  local unpackData
  if #spec.fields > 0 then
    unpackData = M.unpacker(spec.name, spec.fields, make)
  end
  -- What the loop leaves out; the key is engram's, and a save skips it too.
  local declared = { componentType = true }
  for i = 1, #spec.fields do declared[spec.fields[i]] = true end
  return function(data)
    if type(data) ~= "table" then err.expected(fn, "table", data) end
    local o
    if unpackData then o = unpackData(data) else o = setmetatable({}, mt) end
    local k, v = next(data)
    while k ~= nil do
      if not declared[k] then o[k] = v end
      k, v = next(data, k)
    end
    return o
  end
end

--- Builds the function that turns a decoded table into an instance without
-- copying it: missing fields get their defaults. Only right for a component
-- without `new`, `init` and `__call`, where it gives what `C.new` gives.
---@param spec table
---@return fun(data: table): table
function M.adopter(spec)
  local fields, defaults = spec.fields, spec.defaults
  local lines = {
    "local setmetatable, mt, D, copy = ...",
    "return function(t)",
    '  if t["componentType"] ~= nil then t["componentType"] = nil end',
  }
  for i = 1, #fields do
    if defaults[i] ~= nil then
      lines[#lines + 1] = format("  if t[%q] == nil then t[%q] = %s end",
        fields[i], fields[i], M.defaultText(defaults[i], i))
    end
  end
  lines[#lines + 1] = "  return setmetatable(t, mt)"
  lines[#lines + 1] = "end"
  return M.compile(spec.name, lines, setmetatable, spec.instanceMt, defaults,
    copy.deep)
end

return M
