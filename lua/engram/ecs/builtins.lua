--- The components every world knows.
-- Made once per Lua state; a second copy of the module adopts them.

local registry = require("engram.ecs.registry")
local scalar = require("engram.ecs.scalar")
local tag = require("engram.ecs.tag")
local Keys = require("engram.ecs.keys")

local M = {}

local function adopt(name, make)
  return registry.byName[name] or make({ name = name })
end

local function text(options)
  options.kind = "string"
  return scalar.newScalarComponent(options)
end

--- A name for people; not unique.
M.Name = adopt("Name", text)
--- A unique, non-empty key by which `world:byKey` finds an entity.
M.EntityKey = adopt("EntityKey", text)
--- Keeps an entity out of every query that does not include it.
M.Disabled = adopt("Disabled", tag.newTagComponent)
--- Keeps an entity out of queries of type "logic".
M.Paused = adopt("Paused", tag.newTagComponent)
M.Key = M.EntityKey

registry.info[M.EntityKey.componentId].uniqueKey = Keys

return M
