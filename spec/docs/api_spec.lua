-- Every public function has its line in docs/cheatsheet.md and its annotation
-- in lua/engram/types.lua, and neither has one too many.

local markdown = dofile("spec/support/markdown.lua")
local engram = require("engram")
local queries = require("engram.ecs.query")

local TYPES = "lua/engram/types.lua"
local SHEET = "docs/cheatsheet.md"

-- How the pages call an object, where its names are, how types.lua calls it,
-- and what in there is no public name.
local OBJECTS = {
  { sheet = "engram.", types = "engram.", class = "engram", from = engram },
  { sheet = "engram.snapshot.", types = "snapshot.", class = "engram.Snapshot",
    from = engram.snapshot, private = {} },
  { sheet = "world:", types = "World:", class = "engram.World",
    from = getmetatable(engram.newWorld()) },
  { sheet = "query:", types = "Query:", class = "engram.Query",
    from = queries.Query },
  { sheet = "cursor:", types = "Cursor:", class = "engram.Cursor",
    from = queries.Cursor },
  { sheet = "archetype:", types = "Archetype:", class = "engram.Archetype",
    from = require("engram.ecs.archetype"), private = { "new" } },
}

local function publicNames(object)
  local private = {}
  for _, name in ipairs(object.private or {}) do private[name] = true end
  local names = {}
  for name in pairs(object.from) do
    if not name:find("^_") and not private[name] then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

-- Names that stand in a text behind a prefix, which no letter precedes.
local function mentioned(text, prefix)
  local found = {}
  local pattern = "%f[%w_.:]" .. prefix:gsub("%p", "%%%0") .. "([%a_][%w_]*)"
  for name in text:gmatch(pattern) do found[name] = true end
  return found
end

-- Names of the fields that a class of types.lua has, in order.
local function fieldsOf(text, class)
  local found, inside = {}, false
  for line in text:gmatch("([^\n]*)\n") do
    if line:find("^%-%-%-@class ") then
      inside = line == "---@class " .. class
      found.known = found.known or inside
    elseif not line:find("^%-%-%-") then
      inside = false
    elseif inside then
      found[#found + 1] = line:match("^%-%-%-@field ([%a_][%w_]*)")
    end
  end
  assert(found.known, "no class " .. class)
  return found
end

-- Functions and fields that types.lua declares of an object.
local function declared(text, object)
  local found = {}
  local pattern = "\nfunction " .. object.types:gsub("%p", "%%%0")
    .. "([%a_][%w_]*)%("
  for name in text:gmatch(pattern) do found[name] = true end
  for _, name in ipairs(fieldsOf(text, object.class)) do found[name] = true end
  return found
end

for _, object in ipairs(OBJECTS) do
  describe("the names of " .. object.sheet, function()
    it("stand in the cheat sheet", function()
      local sheet = mentioned(markdown.read(SHEET), object.sheet)
      for _, name in ipairs(publicNames(object)) do
        assert(sheet[name], name .. " is missing in " .. SHEET)
      end
    end)

    it("are annotated", function()
      local types = declared(markdown.read(TYPES), object)
      for _, name in ipairs(publicNames(object)) do
        assert(types[name], name .. " is missing in " .. TYPES)
      end
    end)

    it("are all there are", function()
      local world = engram.newWorld()
      local sample = {
        ["engram.World"] = world, ["engram.Query"] = world:query({}),
        ["engram.Archetype"] = nil,
      }
      world:spawn()
      for archetype in world:query({}):iter() do
        sample["engram.Archetype"] = archetype
      end
      local function exists(name)
        return object.from[name] ~= nil
          or sample[object.class] and sample[object.class][name] ~= nil
      end
      for name in pairs(mentioned(markdown.read(SHEET), object.sheet)) do
        assert(exists(name), SHEET .. " has " .. object.sheet .. name)
      end
      for name in pairs(declared(markdown.read(TYPES), object)) do
        assert(exists(name), TYPES .. " has " .. object.types .. name)
      end
    end)
  end)
end

describe("the options in " .. TYPES, function()
  local FACTORIES = {
    ["engram.ComponentOptions"] = engram.newComponent,
    ["engram.FFIComponentOptions"] = engram.newFFIComponent,
    ["engram.ScalarComponentOptions"] = engram.newScalarComponent,
    ["engram.TagComponentOptions"] = engram.newTagComponent,
    ["engram.WorldOptions"] = engram.newWorld,
    ["engram.QueryDescriptor"] = function(options)
      return engram.newWorld():query(options)
    end,
    ["engram.SaveOptions"] = function(options)
      return engram.newWorld():saveSnapshot(options)
    end,
    ["engram.LoadOptions"] = function(options)
      local world = engram.newWorld()
      return world:loadSnapshot(world:saveSnapshot(), options)
    end,
    ["engram.Limits"] = function(limits)
      local world = engram.newWorld()
      return world:loadSnapshot(world:saveSnapshot(), { limits = limits })
    end,
  }
  local text = markdown.read(TYPES)
  local classes, all = {}, {}
  for class in pairs(FACTORIES) do classes[#classes + 1] = class end
  table.sort(classes)
  for _, class in ipairs(classes) do
    for _, name in ipairs(fieldsOf(text, class)) do all[#all + 1] = name end
  end

  -- A value that no option takes: what is checked first is the key.
  local function knows(factory, name)
    local ok, message = pcall(factory, { [name] = coroutine.create(print) })
    return ok or not message:find("unknown option", 1, true)
  end

  for _, class in ipairs(classes) do
    it("are those that the code takes: " .. class, function()
      local listed = {}
      for _, name in ipairs(fieldsOf(text, class)) do listed[name] = true end
      for _, name in ipairs(all) do
        assert.equal(listed[name] or false, knows(FACTORIES[class], name),
          class .. ": " .. name)
      end
    end)
  end
end)

describe("the names of types in " .. TYPES, function()
  it("are all defined", function()
    local text = markdown.read(TYPES)
    local known = {}
    for name in text:gmatch("%-%-%-@class ([%w_.]+)") do known[name] = true end
    for name in text:gmatch("%-%-%-@alias ([%w_.]+)") do known[name] = true end
    for line in text:gmatch("%-%-%-@([^\n]+)") do
      for name in line:gmatch("%f[%w_.]engram%.%u[%w_]*") do
        assert(known[name], name .. " in: " .. line)
      end
    end
  end)
end)
