--- Components that come along with others.
-- An entry of `requires` is kept as `{component, make}`. `make()` gives the
-- component value for one entity: a new instance for a bare component, a deep
-- copy of a table prototype, a fresh FFI value, a scalar wrapper, the tag.
-- @module engram.ecs.requires

local copy = require("engram.ecs.copy")
local err = require("engram.err")
local registry = require("engram.ecs.registry")
local values = require("engram.ecs.values")

local format = string.format
local info = registry.info

local M = {}

local function maker(component, form, v)
  local record = info[component.componentId]
  if form == values.TAG then
    return record.construct
  elseif form == values.BARE then
    -- Through the container: a scalar gives a wrapper then.
    return function() return component() end
  elseif form == values.WRAPPER then
    local raw = v.value
    return function() return component(raw) end
  elseif type(v) == "cdata" then
    -- Copied now, so that a row reference may be given.
    local ctype = record.ctype
    local kept = ctype(v)
    return function() return ctype(kept) end
  end
  local prototype = copy.deep(v)
  return function() return copy.deep(prototype) end
end

--- Checks a `requires` option and gives it in the form above.
---@param at string  function and component, for messages
---@param list any
---@return table[]|nil entries  nil when nothing is required
function M.normalise(at, list)
  if list == nil then return nil end
  -- Not `options.checkArray`: options require this module.
  if type(list) ~= "table" then
    err.expected(at .. ": requires", "array of component values", list)
  end
  local n, k = #list, next(list)
  while k ~= nil do
    if type(k) ~= "number" or k < 1 or k > n or k % 1 ~= 0 then
      err.raise(format("%s: requires: array of component values expected, got "
        .. "the key %s", at, err.describe(k)))
    end
    k = next(list, k)
  end
  local entries = {}
  for i = 1, n do
    local v = list[i]
    local component, form = values.resolve(v)
    if component == nil then
      err.expected(format("%s: requires[%d]", at, i), "component value", v)
    end
    -- A key is unique in its world; a second entity could not have it.
    if info[component.componentId].uniqueKey
      or component.componentName == "EntityKey" then
      err.raise(format("%s: requires[%d]: EntityKey is not allowed here", at,
        i))
    end
    entries[i] = { component = component, make = maker(component, form, v) }
  end
  return n > 0 and entries or nil
end

--- Lists what comes along when components are added: the requirements of
-- `added`, then theirs, breadth-first; of two entries for one component the
-- first counts. What is added or present already is left out, and the
-- requirements of what is present are not followed.
---@param added table[]  infos of the components being added, in order
---@param present? table<number, any>  by component id: those already there
---@return table[] entries  new array, in order of mention; may be empty
function M.closure(added, present)
  local seen, queue, entries = {}, {}, {}
  local n = #added
  for i = 1, n do
    queue[i] = added[i]
    seen[added[i].id] = true
  end
  local i = 1
  while i <= n do
    local list = queue[i].requires
    for j = 1, list and #list or 0 do
      local required = list[j]
      local id = required.component.componentId
      if not seen[id] then
        seen[id] = true
        if present == nil or present[id] == nil then
          entries[#entries + 1] = required
          n = n + 1
          queue[n] = info[id]
        end
      end
    end
    i = i + 1
  end
  return entries
end

return M
