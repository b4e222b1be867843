--- Raising errors about arguments.
-- A message names the function, what it expected and what it was given, and is
-- reported at the line of the user's code that made the call: the first Lua
-- frame that does not belong to engram. So helpers may check arguments at any
-- depth, and no caller has to count levels. Nothing here runs unless a call
-- fails, except `options`.
-- Includes nothing of engram.
-- @module engram.err

local ffi = require("ffi")

local error, next, rawget, tostring, type = error, next, rawget, tostring, type
local format = string.format
local getinfo, getmetatable = debug.getinfo, debug.getmetatable

local M = {}

-- Folder of this file as it appears in chunk names ("@./lua/engram/"); nil
-- when the module was loaded without file names (embedded or stripped).
local HOME = getinfo(1, "S").source:match("^@.*[/\\]")

-- Generated code is loaded under names with this prefix.
local GENERATED = "=engram:"

local LONGEST_STRING = 40 -- bytes of a given string that a message repeats

--- Names a chunk of generated code so that errors pass through it.
---@param what string
---@return string chunkName
function M.chunkName(what)
  return GENERATED .. what:gsub("[^%w_.]", "_"):sub(1, 40)
end

local function isOwn(source)
  return (HOME ~= nil and source:sub(1, #HOME) == HOME)
    or source:sub(1, #GENERATED) == GENERATED
end

--- Raises `message` with the position of the user's call in front.
---@param message string
function M.raise(message)
  local level = 2
  if HOME ~= nil then
    -- Level 2 of `getinfo` is the engram function that called `raise`. C
    -- frames are skipped, so `pcall(engram.newWorld, x)` gets a position too.
    local at = getinfo(level, "S")
    while at ~= nil and (at.what == "C" or isOwn(at.source)) do
      level = level + 1
      at = getinfo(level, "S")
    end
    if at == nil then level = 0 end
  else
    level = 3
  end
  -- One line, whatever names and values it repeats.
  error((message:gsub("\\?\n", "\\n")), level)
end

local function describeTable(v)
  local name = rawget(v, "componentName")
  if type(name) == "string" then return format("component %q", name) end
  local mt = getmetatable(v)
  local component = type(mt) == "table" and rawget(mt, "engramComponent")
  if component then
    return format("a value of component %q", component.componentName)
  end
  return "table"
end

--- Describes a value for the end of a message: its type and, where short, it.
---@param v any
---@return string text
function M.describe(v)
  local t = type(v)
  if t == "string" then
    if #v > LONGEST_STRING then
      return format("string %q...", v:sub(1, LONGEST_STRING))
    end
    return format("string %q", v)
  elseif t == "number" then
    -- Ids have up to 16 digits, more than tostring writes.
    if v % 1 == 0 and v > -2 ^ 53 and v < 2 ^ 53 then
      return format("number %.0f", v)
    end
    return "number " .. tostring(v)
  elseif t == "boolean" then
    return "boolean " .. tostring(v)
  elseif t == "table" then
    return describeTable(v)
  elseif t == "cdata" then
    return "cdata " .. tostring(ffi.typeof(v))
  end
  return t
end

--- Raises `<fn>: <what> expected, got <value>`.
---@param fn string    the function, with the argument or component behind it
---@param what string  what was expected
---@param value any    what came
function M.expected(fn, what, value)
  M.raise(format("%s: %s expected, got %s", fn, what, M.describe(value)))
end

--- Checks a table of options: every key must be one of `allowed`.
-- Of several unknown keys the first in byte order is named.
---@param fn string
---@param t any
---@param allowed table<string, boolean>
function M.options(fn, t, allowed)
  if type(t) ~= "table" then M.expected(fn, "table of options", t) end
  local unknown
  local k = next(t)
  while k ~= nil do
    if not allowed[k] then
      local name = type(k) == "string" and k or M.describe(k)
      if unknown == nil or name < unknown then unknown = name end
    end
    k = next(t, k)
  end
  if unknown ~= nil then
    M.raise(format("%s: unknown option %q", fn, unknown))
  end
end

return M
