--- Plans: which archetype a list of component values leads to, found once.
--
-- A *node* stands for a sequence of component ids given to `spawn`; the tree is
-- walked with one array access per value. A *transition* stands for adding one
-- component to an archetype. Both know the components that `requires` adds.

local newtable = require("table.new")
local cell = require("engram.ecs.cell")
local registry = require("engram.ecs.registry")
local requires = require("engram.ecs.requires")
local stores = require("engram.ecs.store")

local M = {}

-- Nodes are indexed by component ids, the first of them without hashing.
local IDS = 32

-- Component ids in order of first mention.
local function distinct(ids)
  local seen, out = {}, {}
  for i = 1, #ids do
    local id = ids[i]
    if not seen[id] then
      seen[id] = true
      out[#out + 1] = id
    end
  end
  return out
end

-- Makes the cell of a component value.
local function cellMaker(entry)
  local component, make = entry.component, entry.make
  return function() return cell.of(component, make()) end
end

-- What `requires` adds to the given ids: entries {store, make}, in order;
-- `make()` gives a cell.
local function initials(world, given, present)
  local infos = {}
  for i = 1, #given do infos[i] = registry.info[given[i]] end
  local entries = requires.closure(infos, present)
  local out = {}
  for i = 1, #entries do
    out[i] = {
      store = stores.of(world, entries[i].component.componentId),
      make = cellMaker(entries[i]),
    }
  end
  return out
end

local function newNode(ids)
  local node = newtable(IDS, 8)
  node.ids, node.ready = ids, false
  return node
end

--- The empty node a world's spawns start from.
function M.root()
  return newNode({})
end

--- The node after one more component; made on first use.
function M.extend(node, id)
  local ids = {}
  for i = 1, #node.ids do ids[i] = node.ids[i] end
  ids[#ids + 1] = id
  local child = newNode(ids)
  node[id] = child
  return child
end

--- Completes a node: its archetype, the values to add, the slow cases.
function M.finish(world, node)
  local given = distinct(node.ids)
  local all = {}
  for i = 1, #given do
    stores.of(world, given[i])
    all[i] = given[i]
  end
  local inits = initials(world, given)
  for i = 1, #inits do all[#all + 1] = inits[i].store.id end
  node.arch = stores.find(world, all, false)
  node.inits = inits
  -- Unique keys are claimed, required values made: not on the plain path.
  node.special = #inits > 0 or node.arch._keyed
  node.all = all
  node.ready = true
end

--- The staging archetype of a node's set.
function M.staged(world, node)
  local staged = stores.find(world, node.all, true)
  node.staged = staged
  return staged
end

--- The transition that adds component `id` to `arch`, which lacks it.
-- `dst` is the archetype reached, `inits` what `requires` adds on the way.
function M.transition(world, arch, id)
  local t = arch._add[id]
  if t then return t end
  local present = {}
  for i = 1, #arch._ids do present[arch._ids[i]] = true end
  stores.of(world, id)
  local inits = initials(world, { id }, present)
  local all, added = {}, { id }
  for i = 1, #arch._ids do all[i] = arch._ids[i] end
  all[#all + 1] = id
  for i = 1, #inits do
    all[#all + 1] = inits[i].store.id
    added[#added + 1] = inits[i].store.id
  end
  t = {
    dst = #inits == 0 and stores.with(world, arch, id)
      or stores.find(world, all, false),
    inits = inits,
    added = added,
  }
  t.special = #inits > 0 or arch._hostCount > 0 or t.dst._keyed
  arch._add[id] = t
  return t
end

--- The staging archetype that holds exactly what a transition adds.
function M.delta(world, t)
  local staged = stores.find(world, t.added, true)
  t.delta = staged
  return staged
end

--- The archetype without component `id`, which `arch` has.
function M.removal(world, arch, id)
  local dst = stores.without(world, arch, id)
  arch._remove[id] = dst
  return dst
end

return M
