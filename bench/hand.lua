--- What a programmer would write by hand for one fixed set of components: FFI
-- arrays, a slot table with a free list, swap removal. The reference for
-- spawn, despawn, get, set, add and remove. It checks ids as engram does, and
-- does nothing else: no growth, no other sets, no dirty marks.

local ffi = require("ffi")

ffi.cdef[[
typedef struct { double x, y; } hand_pair;
typedef struct { double id; int32_t table, row; } hand_slot;
]]

local Hand = {}
Hand.__index = Hand

local function newTable(capacity, third)
  local t = {
    count = 0,
    ids = ffi.new("double[?]", capacity + 1),
    position = ffi.new("hand_pair[?]", capacity + 1),
    velocity = ffi.new("hand_pair[?]", capacity + 1),
  }
  if third then t.force = ffi.new("hand_pair[?]", capacity + 1) end
  return t
end

function Hand.new(capacity)
  local slots = ffi.new("hand_slot[?]", capacity + 2)
  for i = 0, capacity + 1 do slots[i].row = i + 1 end
  return setmetatable({ two = newTable(capacity), three = newTable(capacity,
    true), slots = slots, free = 1 }, Hand)
end

-- The quick way to cut the slot out of an id; `%` would be slower.
local SLOTS, MASK = 4194304, 0x3fffffLL
local int64, cast, band = ffi.typeof("int64_t"), ffi.cast, bit.band

local function slotOf(id) return band(cast(int64, id), MASK) end

function Hand:spawn(x, y, vx, vy)
  local t, slot = self.two, self.free
  local record = self.slots[slot]
  local id = slot - record.id
  self.free = record.row
  local row = t.count + 1
  t.count = row
  t.ids[row] = id
  t.position[row].x, t.position[row].y = x, y
  t.velocity[row].x, t.velocity[row].y = vx, vy
  record.id, record.table, record.row = id, 2, row
  return id
end

function Hand:despawn(id)
  local slot = tonumber(slotOf(id))
  local record = self.slots[slot]
  if record.id ~= id then return end
  local t = self.two
  local row, last = record.row, t.count
  local moved = t.ids[last]
  t.ids[row] = moved
  t.position[row], t.velocity[row] = t.position[last], t.velocity[last]
  self.slots[slotOf(moved)].row = row
  t.count = last - 1
  record.id = -(id - slot + SLOTS)
  record.row = self.free
  self.free = slot
end

function Hand:get(id)
  local record = self.slots[slotOf(id)]
  if record.id == id then return self.two.position[record.row] end
end

function Hand:set(id, x, y)
  local record = self.slots[slotOf(id)]
  if record.id ~= id then return end
  local p = self.two.position[record.row]
  p.x, p.y = x, y
end

local function move(self, id, from, to, kind)
  local record = self.slots[slotOf(id)]
  local row, last, toRow = record.row, from.count, to.count + 1
  to.ids[toRow] = id
  to.position[toRow] = from.position[row]
  to.velocity[toRow] = from.velocity[row]
  to.count = toRow
  local moved = from.ids[last]
  from.ids[row] = moved
  from.position[row] = from.position[last]
  from.velocity[row] = from.velocity[last]
  if from.force then from.force[row] = from.force[last] end
  self.slots[slotOf(moved)].row = row
  from.count = last - 1
  record.table, record.row = kind, toRow
  return toRow
end

function Hand:add(id, x, y)
  local row = move(self, id, self.two, self.three, 3)
  local force = self.three.force[row]
  force.x, force.y = x, y
end

function Hand:remove(id)
  move(self, id, self.three, self.two, 2)
end

return Hand
