-- What the specs of worlds share: a set of components of every kind, checks of
-- errors, and a picture of a world to compare before and after.

local engram = require("engram")
local C = require("engram.lib").C
local ffi = require("ffi")
local same = require("luassert").same

local M = { engram = engram }

--- Components of every kind. Registration is for the life of the state, so each
-- spec file names its own by a prefix of its own.
function M.components(prefix)
  local function name(suffix) return prefix .. "." .. suffix end
  local kit = {
    P = engram.newFFIComponent({ name = name("P"), container = {},
      fields = { { "x", "double" }, { "y", "double" } } }),
    V = engram.newFFIComponent({ name = name("V"), container = {},
      fields = { { "f", "float" }, { "n", "int32_t" }, { "b", "bool" } } }),
    T = engram.newComponent({ name = name("T"), container = {},
      fields = { "hp", "bag" }, defaults = { 100, { "rope" } } }),
    N = engram.newScalarComponent({ name = name("N"), kind = "number",
      default = 7 }),
    B = engram.newScalarComponent({ name = name("B"), kind = "boolean",
      default = true }),
    S = engram.newScalarComponent({ name = name("S"), kind = "string",
      default = "none" }),
    G = engram.newTagComponent({ name = name("G") }),
    H = engram.newTagComponent({ name = name("H") }),
  }
  --- One value of each kind, in an order of its own.
  function kit.all(i)
    return kit.S("s" .. i), kit.P(i, -i), kit.G, kit.T(i, { i, { i } }),
      kit.N(i / 2), kit.V(i, i, i % 2 == 0), kit.B(i % 2 == 0)
  end
  return kit
end

--- `fn()` must raise one line, placed inside `fn`, that holds each of `texts`.
-- `fn` must not tail-call what raises. Returns the message.
function M.raises(texts, fn)
  local ok, message = pcall(fn)
  assert(not ok, "no error was raised")
  assert(type(message) == "string", "the error is no string")
  local at = debug.getinfo(fn, "S")
  local file, line, text = message:match("^(.-):(%d+): (.*)$")
  assert(file == at.short_src and tonumber(line) >= at.linedefined
    and tonumber(line) <= at.lastlinedefined,
    "not placed at the caller: " .. message)
  assert(not message:find("\n"), "more than one line: " .. message)
  for _, part in ipairs(texts) do
    assert(text:find(part, 1, true),
      ("%q not found in %q"):format(part, message))
  end
  return message
end

--- Every invariant the core can check by itself.
function M.sound(world)
  local fault = C.eg_world_check(world._c)
  assert(fault == nil, fault ~= nil and ffi.string(fault) or "")
end

-- A value as plain Lua, to compare by content.
local function plain(v)
  if type(v) ~= "cdata" then return v end
  local out = {}
  for _, field in ipairs({ "x", "y", "f", "n", "b" }) do
    local known, x = pcall(function() return v[field] end)
    if known then out[field] = x end
  end
  return out
end

local function rowOf(arch, row)
  local values = {}
  for _, component in ipairs(arch.componentList) do
    local v = plain(arch:get(component)[row])
    values[component.componentName] = v == component and "tag" or v
  end
  return values
end

--- Committed entities with their values, by id as text; staged work and scopes.
function M.state(world)
  local out = { depth = world._depth, entities = {}, next = {} }
  for i = 1, C.eg_archetype_count(world._c) do
    local arch = world._archs[i]
    if arch and not arch._staging then
      for row = 1, arch.entities[0] do
        local id = arch.entities[row]
        out.entities[("%.0f"):format(id)] = rowOf(arch, row)
      end
    end
  end
  out.pending = C.eg_stage_pending(world._c)
  out.count = world:getStats().entities
  return out
end

--- As `raises`, and the world is as it was.
function M.refuses(world, texts, fn)
  local before = M.state(world)
  local message = M.raises(texts, fn)
  same(before, M.state(world))
  M.sound(world)
  return message
end

--- Ids a query yields, ascending.
function M.ids(query)
  local out = {}
  for _, n, entities in query:iter() do
    for row = 1, n do out[#out + 1] = entities[row] end
  end
  table.sort(out)
  return out
end

--- The first step of a loop, as `for` makes it, and no other: what leaving a
-- loop early comes to.
function M.enter(step, state, control)
  return step(state, control)
end

--- An id from its parts.
function M.id(slot, generation)
  return generation * 2 ^ 22 + slot
end

return M
