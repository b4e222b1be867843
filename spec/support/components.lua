-- Component factories for specs: a copy of the registration modules of its own
-- with an empty registry and a counter in place of the core, so that a spec
-- neither meets nor leaves components of others.

local KEY = "engram.registry"

local MODULES = {
  "engram.err", "engram.ecs.registry", "engram.ecs.values", "engram.ecs.copy",
  "engram.ecs.requires", "engram.ecs.options", "engram.ecs.construct",
  "engram.ecs.ctypes", "engram.ecs.ffi_construct", "engram.ecs.component",
  "engram.ecs.ffi_component", "engram.ecs.scalar", "engram.ecs.tag",
}

-- Compiled once: under a collector at full stress parsing is what costs.
local chunks = {}
local function chunkOf(name)
  if not chunks[name] then
    local path = assert(package.searchpath(name, package.path))
    chunks[name] = assert(loadfile(path))
  end
  return chunks[name]
end

local M = {}

--- Loads a fresh copy. `state`: the registry table to adopt instead of none.
-- Returns a table with the factories and the modules by their last name.
function M.load(state)
  local anchor = debug.getregistry()
  local outside, loaded = anchor[KEY], {}
  anchor[KEY] = state
  for _, name in ipairs(MODULES) do
    loaded[name] = package.loaded[name]
    package.loaded[name] = nil
    package.preload[name] = chunkOf(name)
  end
  local env = {}
  local ok, message = pcall(function()
    for _, name in ipairs(MODULES) do
      env[name:match("[%w_]+$")] = require(name)
    end
  end)
  env.state = anchor[KEY]
  anchor[KEY] = outside
  for _, name in ipairs(MODULES) do
    package.loaded[name] = loaded[name]
    package.preload[name] = nil
  end
  if not ok then error(message, 0) end

  env.backend = { calls = 0, fail = false }
  function env.backend.register(_)
    if env.backend.fail then error("the core refuses") end
    env.backend.calls = env.backend.calls + 1
    return #env.state.info + 1
  end
  env.registry.backend = env.backend
  env.newComponent = env.component.newComponent
  env.newFFIComponent = env.ffi_component.newFFIComponent
  env.newScalarComponent = env.scalar.newScalarComponent
  env.newTagComponent = env.tag.newTagComponent

  --- The record of a component.
  function env.info(component)
    return env.registry.info[component.componentId]
  end

  --- An array of n rows of an FFI component, as a column is: rows are
  -- references.
  function env.column(component, n)
    local ffi = require("ffi")
    local name = tostring(env.info(component).ctype):match("<(.-)>")
    return ffi.new(name .. "[?]", n)
  end
  return env
end

--- Calls `fn` with the arguments; it must raise one line, placed outside
-- engram, that contains each of `texts`.
function M.raises(texts, fn, ...)
  local ok, message = pcall(fn, ...)
  assert(not ok, "no error was raised")
  assert(type(message) == "string", "the error is no string")
  assert(message:find("^%.?/?spec/[%w_/]+%.lua:%d+: "),
    "not placed at the caller: " .. message)
  assert(not message:find("\n"), "more than one line: " .. message)
  for _, text in ipairs(texts) do
    assert(message:find(text, 1, true),
      ("%q not found in %q"):format(text, message))
  end
  return message
end

--- As `raises`, for a factory of `env`: nothing may have been registered, and
-- the name "C" is still free.
function M.refuses(env, texts, factory, options)
  local calls = env.backend.calls
  M.raises(texts, factory, options)
  assert(env.backend.calls == calls, "the core was asked")
  assert(env.registry.componentByName("C") == nil, "the name is taken")
  local container = type(options) == "table" and options.container
  if type(container) == "table" then
    assert(next(container) == nil, "the container was changed")
  end
end

--- Bytes allocated on the Lua heap by `fn()`, after it has run often enough
-- to be compiled.
function M.garbage(fn)
  for _ = 1, 20 do fn() end
  collectgarbage()
  collectgarbage("stop")
  local before = collectgarbage("count")
  fn()
  local after = collectgarbage("count")
  collectgarbage("restart")
  return (after - before) * 1024
end

return M
