-- A naive model of a world, to compare the real one with: entities are plain
-- tables, there are no archetypes and no rows. What is staged is kept per
-- entity as the set it shall have and the values given for it.
--
-- A drain is pulled: `advance(token)` applies steps up to the batch whose
-- callback the real world has just made, `advance()` the rest. Values are
-- opaque; the caller compares them. Nothing here walks a table inside another
-- walk.

local Model = {}
Model.__index = Model

local SLOTS, LAST = 2 ^ 22, 2 ^ 31 - 1

--- `types`: by name `{requires = {{name, fresh}, …}, zero = fn}`; `fresh()` and
-- `zero()` give values.
function Model.new(types, max)
  return setmetatable({
    types = types,
    max = max,
    stack = {},        -- freed slots, the last one is taken first
    used = {},         -- slots that are not "never used"
    fresh = 1,         -- no slot below it is never used
    next = {},         -- generation a slot issues next
    retired = 0,
    held = {},         -- slot → id, pending ones included
    heldCount = 0,
    live = 0,
    entities = {},     -- id → record
    keys = {},         -- claims: key → id
    keyOf = {},        -- id → key
    depth = 0,
    lowest = 0,        -- least depth since whoever asks has set it
    draining = false,
    unwinds = 0,
    despawns = {},     -- staged, in call order
    changes = {},
    batches = {},
    wave = false,
    sequence = 0,
  }, Model)
end

-- -- slots ------------------------------------------------------------------

function Model.parts(id)
  local slot = id % SLOTS
  return slot, (id - slot) / SLOTS
end

function Model:freeSlots()
  return self.max - self.heldCount - self.retired
end

local function hold(self, slot, generation)
  local id = generation * SLOTS + slot
  self.used[slot] = true
  self.held[slot] = id
  self.heldCount = self.heldCount + 1
  self.next[slot] = math.max(self.next[slot] or 0, generation + 1)
  return id
end

local function take(self)
  local slot = table.remove(self.stack)
  if not slot then
    while self.used[self.fresh] do self.fresh = self.fresh + 1 end
    slot = self.fresh
    if slot > self.max then return nil end
  end
  return hold(self, slot, self.next[slot] or 0)
end

-- Why an id may not be chosen, or nil.
function Model:refusal(id)
  if id ~= id or id < 1 or id % 1 ~= 0 then return "no id" end
  local slot, generation = Model.parts(id)
  if slot < 1 or slot > self.max or generation > LAST then return "no id" end
  if self.held[slot] then return "in use" end
  if (self.next[slot] or 0) > LAST then return "retired" end
end

local function takeAt(self, id)
  local slot, generation = Model.parts(id)
  for i = 1, #self.stack do
    if self.stack[i] == slot then
      table.remove(self.stack, i)
      break
    end
  end
  return hold(self, slot, generation)
end

local function release(self, id)
  local slot = Model.parts(id)
  self.held[slot] = nil
  self.heldCount = self.heldCount - 1
  if self.next[slot] > LAST then
    self.retired = self.retired + 1
  else
    self.stack[#self.stack + 1] = slot
  end
end

-- -- component sets ---------------------------------------------------------

-- Adds `names` and what they require to `set`, calling put(name, value or nil)
-- for each that was absent; the ones given come first, without a value.
local function add(self, set, names, put)
  local queue, seen = {}, {}
  for i = 1, #names do
    local name = names[i]
    if not seen[name] then
      seen[name] = true
      queue[#queue + 1] = name
      if not set[name] then
        set[name] = true
        put(name, nil)
      end
    end
  end
  local i = 1
  while i <= #queue do
    local requires = self.types[queue[i]].requires or {}
    for k = 1, #requires do
      local name, fresh = requires[k][1], requires[k][2]
      if not seen[name] then
        seen[name] = true
        if not set[name] then
          set[name] = true
          put(name, fresh())
          queue[#queue + 1] = name
        end
      end
    end
    i = i + 1
  end
end

local function setOf(comps)
  local set = {}
  for name in pairs(comps) do set[name] = true end
  return set
end

-- One text per set, for the grouping of a drain.
local function signature(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, "\0")
end

-- -- keys -------------------------------------------------------------------

--- Whether another entity claims a key (id nil: an entity to come).
function Model:keyTaken(key, id)
  local holder = self.keys[key]
  return key == "" or holder ~= nil and holder ~= id
end

local function giveUp(self, id)
  local key = self.keyOf[id]
  if key then
    self.keyOf[id] = nil
    self.keys[key] = nil
  end
end

local function claim(self, id, key)
  giveUp(self, id)
  self.keyOf[id] = key
  self.keys[key] = id
end

--- Whether `id` (or nil) is right for the committed holder of a key. Inside a
-- scope several may hold it, of which all but one are about to lose it; the one
-- that claims it comes first.
function Model:mayHold(key, id)
  local claimer, count, found = self.keys[key], 0, false
  for other, record in pairs(self.entities) do
    if record.live and record.comps.EntityKey == key then
      if other == claimer then return id == claimer end
      count = count + 1
      found = found or other == id
    end
  end
  return found or count == 0 and id == nil
end

-- -- changes ----------------------------------------------------------------

local function stageChange(self, record, kind, set)
  self.sequence = self.sequence + 1
  record.plan = { set = set, values = {} }
  self.changes[#self.changes + 1] = { record = record, plan = record.plan,
    kind = kind, sequence = self.sequence }
  return record.plan
end

local function newRecord(self, id)
  local record = { id = id, live = false, comps = {} }
  self.entities[id] = record
  return record
end

local function makeLive(self, record)
  record.live = true
  self.live = self.live + 1
end

local function apply(record, plan)
  local comps = {}
  for name in pairs(plan.set) do
    local value = plan.values[name]
    if value == nil then value = record.comps[name] end
    comps[name] = value
  end
  record.comps = comps
  record.plan = nil
end

local function place(self, id, names, values)
  local record = newRecord(self, id)
  local plan = stageChange(self, record, "spawn", {})
  add(self, plan.set, names, function(name, value)
    plan.values[name] = value
  end)
  for i = 1, #names do plan.values[names[i]] = values[i] end
  if plan.values.EntityKey then claim(self, id, plan.values.EntityKey) end
  if self.depth == 0 then
    self.changes[#self.changes] = nil
    apply(record, plan)
    makeLive(self, record)
  end
  return id
end

--- Spawns; nil when there is no slot. Of two values for a name the last wins.
function Model:spawn(names, values)
  local id = take(self)
  return id and place(self, id, names, values)
end

--- Spawns at an id that `refusal` has nothing against.
function Model:spawnAt(id, names, values)
  return place(self, takeAt(self, id), names, values)
end

-- The plan of a record that has staged work or is pending; nil: change it now.
local function planOf(self, record)
  if record.plan then return record.plan end
  if not record.live then -- an id of a batch
    return stageChange(self, record, "change", setOf(record.batch.set))
  end
end

--- Adds or replaces. The id must be live or pending.
function Model:set(id, name, value)
  local record = self.entities[id]
  if record.gone then return end
  local plan = planOf(self, record)
  if not plan and record.comps[name] == nil and self.depth > 0 then
    plan = stageChange(self, record, "change", setOf(record.comps))
  end
  if plan then
    if not plan.set[name] then
      add(self, plan.set, { name }, function(n, v) plan.values[n] = v end)
    end
    plan.values[name] = value
  else
    if record.comps[name] == nil then
      add(self, setOf(record.comps), { name }, function(n, v)
        record.comps[n] = v
      end)
    end
    record.comps[name] = value
  end
  if name == "EntityKey" then claim(self, id, value) end
end

function Model:remove(id, name)
  local record = self.entities[id]
  if not record or record.gone then return end
  local has
  if record.plan then
    has = record.plan.set[name]
  elseif record.live then
    has = record.comps[name] ~= nil
  else
    has = record.batch.set[name]
  end
  if not has then return end
  local plan = planOf(self, record)
  if not plan and self.depth > 0 then
    plan = stageChange(self, record, "change", setOf(record.comps))
  end
  if plan then
    plan.set[name], plan.values[name] = nil, nil
  else
    record.comps[name] = nil
  end
  if name == "EntityKey" then giveUp(self, id) end
end

local function forget(self, record)
  if record.live then self.live = self.live - 1 end
  self.entities[record.id] = nil
  release(self, record.id)
end

function Model:despawn(id)
  local record = self.entities[id]
  if not record or record.gone then return end
  giveUp(self, id)
  if self.depth == 0 then return forget(self, record) end
  record.gone, record.plan = true, nil
  self.despawns[#self.despawns + 1] = record
end

-- -- batches ----------------------------------------------------------------

local function stageBatch(self, ids, names, chosen)
  local batch = { ids = ids, set = {}, values = {}, chosen = chosen }
  self.sequence = self.sequence + 1
  batch.sequence = self.sequence
  add(self, batch.set, names, function() end)
  batch.names = names
  for i = 1, #ids do newRecord(self, ids[i]).batch = batch end
  self.batches[#self.batches + 1] = batch
  return batch
end

--- Stages a batch, at depth 0 as well (then `begin` first); nil without slots.
function Model:batchSpawn(count, names)
  if count > self:freeSlots() then return nil end
  local ids = {}
  for i = 1, count do ids[i] = take(self) end
  return stageBatch(self, ids, names, false)
end

--- The ids must be free and distinct.
function Model:batchSpawnAt(ids, names)
  local own = {}
  for i = 1, #ids do own[i] = takeAt(self, ids[i]) end
  return stageBatch(self, own, names, true)
end

-- -- drains -----------------------------------------------------------------

function Model:pending()
  return self.wave or #self.despawns > 0 or #self.changes > 0
    or #self.batches > 0
end

-- Spawns of a wave: sets by first staging, in each batches, then batches with
-- chosen ids, then single spawns, each in call order.
local function spawnOrder(changes, batches)
  local items = {}
  for i = 1, #batches do
    items[#items + 1] = { batch = batches[i], sequence = batches[i].sequence,
      set = signature(batches[i].set), rank = batches[i].chosen and 2 or 1 }
  end
  for i = 1, #changes do
    local change = changes[i]
    if change.kind == "spawn" and change.record.plan == change.plan then
      items[#items + 1] = { change = change, sequence = change.sequence,
        set = signature(change.plan.set), rank = 3 }
    end
  end
  table.sort(items, function(a, b) return a.sequence < b.sequence end)
  local groups, count = {}, 0
  for i = 1, #items do
    local item = items[i]
    if not groups[item.set] then
      count = count + 1
      groups[item.set] = count
    end
    item.group = groups[item.set]
  end
  table.sort(items, function(a, b)
    if a.group ~= b.group then return a.group < b.group end
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.sequence < b.sequence
  end)
  return items
end

local function newWave(self)
  local steps = {}
  for i = 1, #self.despawns do
    steps[#steps + 1] = { despawn = self.despawns[i] }
  end
  local items = spawnOrder(self.changes, self.batches)
  for i = 1, #items do steps[#steps + 1] = items[i] end
  for i = 1, #self.changes do
    if self.changes[i].kind == "change" then
      steps[#steps + 1] = { change = self.changes[i] }
    end
  end
  self.despawns, self.changes, self.batches = {}, {}, {}
  return { steps = steps, at = 0 }
end

local function placeBatch(self, batch)
  local placed = {}
  for i = 1, #batch.ids do
    local record = self.entities[batch.ids[i]]
    if record and record.batch == batch and not record.gone then
      local comps, set = {}, {}
      add(self, set, batch.names, function(name, value)
        comps[name] = value
      end)
      for k = 1, #batch.names do
        local name = batch.names[k]
        comps[name] = self.types[name].zero()
      end
      record.comps, record.batch = comps, nil
      makeLive(self, record)
      placed[#placed + 1] = record.id
    end
  end
  return placed
end

--- Applies steps up to the callback of `batch`, whose placed ids are returned;
-- without it up to the end: no callback may be left then.
function Model:advance(batch)
  while true do
    if not self.wave then
      if not self:pending() then
        assert(not batch, "a callback that the model does not expect")
        return
      end
      self.wave = newWave(self)
    end
    local wave = self.wave
    wave.at = wave.at + 1
    local step = wave.steps[wave.at]
    if not step then
      self.wave = false
    elseif step.despawn then
      forget(self, step.despawn)
    elseif step.batch then
      local placed = placeBatch(self, step.batch)
      if #placed > 0 then
        assert(step.batch == batch, "another callback than the model expects")
        return placed
      end
    elseif step.change.record.plan == step.change.plan then
      local record = step.change.record
      apply(record, step.change.plan)
      if not record.live then makeLive(self, record) end
    end
  end
end

local function setDepth(self, depth)
  self.depth = depth
  self.lowest = math.min(self.lowest, depth)
end

--- A drain begins: the outermost scope closes.
function Model:begin()
  self.draining = true
  setDepth(self, 0)
  self.depth = 1
end

--- It ends, unless an unwind in a callback (`mark`: unwinds before) has.
function Model:finish(mark)
  if self.unwinds ~= mark then return end
  self:advance()
  self.draining = false
  setDepth(self, self.depth - 1)
end

function Model:defer()
  self.depth = self.depth + 1
end

--- A scope has closed. `was`, `mark`: `draining` and `unwinds` before the call
-- that closed it, which may have made callbacks.
function Model:closed(was, mark)
  if self.unwinds ~= mark then return end
  if self.draining and not was then
    self:finish(mark)
  elseif self.depth == 0 or self.draining and self.depth <= 1 then
    return
  elseif self.depth == 1 and self:pending() then
    self:begin()
    self:finish(mark)
  else
    setDepth(self, self.depth - 1)
  end
end

--- Before the real unwind; returns the mark for `finish`, or nil.
function Model:unwind()
  self.unwinds = self.unwinds + 1
  setDepth(self, 0)
  if self:pending() or self.draining then
    self:begin()
    return self.unwinds
  end
end

function Model:clear()
  local ids = {}
  for id in pairs(self.entities) do ids[#ids + 1] = id end
  for i = 1, #ids do release(self, ids[i]) end
  local used = {}
  for slot, generation in pairs(self.next) do
    if generation > LAST then used[slot] = true end
  end
  self.used, self.fresh, self.stack = used, 1, {}
  self.entities, self.live = {}, 0
  self.keys, self.keyOf = {}, {}
  self.despawns, self.changes, self.batches = {}, {}, {}
  setDepth(self, 0)
  self.unwinds = self.unwinds + 1
end

--- Ids of committed entities with all of `include`, none of `exclude`, one of
-- `any` if given; as a set, and their number.
function Model:matching(include, exclude, any)
  local out, count = {}, 0
  for id, record in pairs(self.entities) do
    local ok = record.live
    for i = 1, #include do ok = ok and record.comps[include[i]] ~= nil end
    for i = 1, #exclude do ok = ok and record.comps[exclude[i]] == nil end
    local one = any == nil
    for i = 1, any and #any or 0 do
      one = one or record.comps[any[i]] ~= nil
    end
    if ok and one then
      out[id] = true
      count = count + 1
    end
  end
  return out, count
end

return Model
