--- Tags: components without data. The component itself is the value.
-- @module engram.ecs.tag

local construct = require("engram.ecs.construct")
local options = require("engram.ecs.options")
local registry = require("engram.ecs.registry")

local rawset = rawset

local STORAGE = 0 -- EG_TAG

local M = {}

--- Registers a tag for the life of the Lua state.
-- Calling it gives the tag, so that code which builds a value of any component
-- by `C()` need not tell tags apart. Since 0.1.
---@param o engram.TagComponentOptions  read, not kept: `name`; `container`,
-- `requires`, `transient`
---@return table component  the container, or a new table
---@raise an unknown option; a name missing or in use; a container that is used
-- or has a `__call` of its own. Nothing is registered then.
function M.newTagComponent(o)
  local info = options.common("engram.newTagComponent", "tag", o, "optional")
  local component = info.component
  info.storage = STORAGE
  local function self() return component end
  info.construct = self
  info.new = self

  registry.add(info)
  rawset(component, "new", self)
  construct.attach(component, self)
  return component
end

return M
