--- Unique keys: who claims a key, and who holds it.
--
-- A claim follows the calls (made by `spawn` and `set`, given up by `remove`,
-- `despawn` or a replacement), so two entities can never be on their way to one
-- key. What `byKey` answers follows committed structure. The two differ only
-- while a scope is open.

local err = require("engram.err")

local Keys = {}
Keys.__index = Keys

function Keys.new()
  return setmetatable({
    claims = {},     -- key → id, pending ids included
    claimed = {},    -- id → key
    committed = {},  -- key → id
  }, Keys)
end

--- Raises unless `id` may claim `key` (id 0: an entity to come).
function Keys:check(key, id, name)
  if type(key) ~= "string" or key == "" then
    err.expected("engram.World:" .. name, "non-empty EntityKey", key)
  end
  local holder = self.claims[key]
  if holder and holder ~= id then
    err.raise(string.format(
      "engram.World:%s: EntityKey %q is held by entity %.0f", name, key,
      holder))
  end
end

--- Gives up what an entity claims.
function Keys:release(id)
  local key = self.claimed[id]
  if key == nil then return end
  self.claimed[id] = nil
  self.claims[key] = nil
end

--- Claims a checked key; `now`: the value is committed as well.
function Keys:claim(key, id, now)
  self:release(id)
  self.claims[key] = id
  self.claimed[id] = key
  if now then self.committed[key] = id end
end

--- A committed key left its entity, by removal or replacement.
function Keys:dropped(key, id)
  if key ~= nil and self.committed[key] == id then self.committed[key] = nil end
end

--- A key's value reached its row.
function Keys:placed(key, id)
  if key ~= nil then self.committed[key] = id end
end

--- A read-only view of a column of keys.
function Keys.view(column)
  return setmetatable({}, {
    __index = column,
    __newindex = function()
      err.raise("engram: the EntityKey column is read-only; use world:set")
    end,
  })
end

return Keys
