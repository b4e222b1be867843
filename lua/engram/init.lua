--- engram: an archetype ECS whose worlds can be saved and loaded.
-- `require("engram")` returns this table and sets no global.

require("engram.lib")
local registry = require("engram.ecs.registry")
require("engram.ecs.backend").attach(registry)

local table_ = require("engram.ecs.component")
local struct = require("engram.ecs.ffi_component")
local scalar = require("engram.ecs.scalar")
local tag = require("engram.ecs.tag")
local builtins = require("engram.ecs.builtins")
local world = require("engram.ecs.world")

local engram = {
  newWorld = world.newWorld,
  newComponent = table_.newComponent,
  newFFIComponent = struct.newFFIComponent,
  newScalarComponent = scalar.newScalarComponent,
  newTagComponent = tag.newTagComponent,
  componentByName = registry.componentByName,
  getComponentById = registry.getComponentById,
  declaredComponents = registry.declaredComponents,
  MAX_ENTITIES = world.MAX_ENTITIES,
  DEFAULT_MAX_ENTITIES = world.DEFAULT_MAX_ENTITIES,
  Name = builtins.Name,
  EntityKey = builtins.EntityKey,
  Disabled = builtins.Disabled,
  Paused = builtins.Paused,
  builtins = builtins,
}
engram.ecs = engram

-- What few scripts need is loaded when it is first asked for.
local LATER = { snapshot = "engram.snapshot" }

return setmetatable(engram, {
  __index = function(self, name)
    local path = LATER[name]
    if not path then return nil end
    local module = require(path)
    rawset(self, name, module)
    return module
  end,
})
