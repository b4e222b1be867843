-- The two ways of the codec agree on random components with random rows, also
-- inside pairs loops of a caller, and while finalizers change what is written.

local codec = require("engram.snapshot.codec")
local core = require("engram.core")
local values = require("spec.support.values")

local check, same, some = values.check, values.same, values.some

local scratch, reference = codec.newScratch(), codec.newScratch()
local Instance = {}
Instance.__index = Instance

local NAMES = { "hp", "maxHp", "name", "x", "y", "a long name of a field", "",
  "end", "\0\1", "k1", "k2", "k3", "k4", "k5", "position" }

-- Fields, and for each a kind that its values keep to most of the time.
local function randomComponent(random)
  local fields, kinds, used = {}, {}, {}
  for _ = 1, random(0, 7) do
    local name = NAMES[random(#NAMES)]
    if not used[name] then
      used[name] = true
      fields[#fields + 1] = name
      kinds[#kinds + 1] = random(6)
    end
  end
  local info = { kind = "table", name = "Random", fields = fields,
    defaults = {}, instanceMt = Instance, adoptable = random(3) > 1 }
  for i = 1, #fields do
    if random(3) == 1 then info.defaults[i] = values.scalar(random) end
  end
  function info.adopt(t)
    t.componentType = nil
    for i = 1, #fields do
      if t[fields[i]] == nil then t[fields[i]] = info.defaults[i] end
    end
    return setmetatable(t, Instance)
  end
  return info, kinds
end

local function randomField(random, kind, odd)
  if random(100) <= odd then return values.value(random, 3) end
  if kind == 1 then return random(-100000, 100000) end
  if kind == 2 then return random() end
  if kind == 3 then return ("text"):rep(random(0, 9)) end
  if kind == 4 then return random(2) == 1 end
  if kind == 5 and random(2) == 1 then return nil end
  return values.scalar(random)
end

local function randomRows(random, info, kinds, n, odd)
  local rows = {}
  for i = 1, n do
    local row = {}
    for k = 1, #kinds do
      row[info.fields[k]] = randomField(random, kinds[k], odd)
    end
    if random(200) <= odd then
      local key
      repeat key = values.scalar(random) until key == key
      row[key] = values.value(random, 2)
    end
    rows[i] = setmetatable(row, Instance)
  end
  return rows
end

local function checkRows(info, rows, seed)
  local n = #rows
  local stop = core.encodeRows(reference, 0, rows, 1, n, info.fields)
  local bytes = codec.text(reference, 0, stop)
  check(codec.write(info, scratch, 0, rows, n) == stop
    and codec.text(scratch, 0, stop) == bytes, "bytes differ, EG_SEED=" .. seed)
  local back, plain = {}, {}
  check(codec.read(info, bytes, 0, stop, back, n) == stop)
  check(core.decodeRows(bytes, 0, stop, plain, 1, n) == stop)
  for i = 1, n do
    check(same(plain[i], rows[i]), "decoded, EG_SEED=" .. seed)
    if info.adoptable then
      check(getmetatable(back[i]) == Instance)
      info.adopt(plain[i])
    end
    check(same(plain[i], back[i]), "rows differ, EG_SEED=" .. seed)
  end
end

describe("generated and generic code", function()
  it("agree on random rows", function()
    local seed = values.seed()
    math.randomseed(seed)
    for round = 1, some(400) do
      local info, kinds = randomComponent(math.random)
      local odd = math.random(3) == 1 and 30 or math.random(0, 2)
      local rows = randomRows(math.random, info, kinds, math.random(0, 300),
        odd)
      checkRows(info, rows, seed)
      if round % 50 == 0 then jit.flush() end
    end
  end)

  it("agree when rows come in more shapes than there are traces", function()
    local fields = {}
    for i = 1, 12 do fields[i] = "flag" .. i end
    local info = { kind = "table", name = "Flags", fields = fields,
      defaults = {}, instanceMt = Instance, adoptable = true,
      adopt = function(t) return setmetatable(t, Instance) end }
    local seed = values.seed()
    math.randomseed(seed)
    for _ = 1, some(20) do
      local rows = {}
      for i = 1, some(2000) do
        local row = {}
        for k = 1, 12 do
          local pick = math.random(4)
          if pick == 1 then row[fields[k]] = true end
          if pick == 2 then row[fields[k]] = false end
          if pick == 3 then row[fields[k]] = math.random(100) / 10 end
        end
        rows[i] = setmetatable(row, Instance)
      end
      checkRows(info, rows, seed)
    end
  end)
end)

describe("a caller's pairs loop", function()
  -- The compiled code of some hosts ends such loops early when what they call
  -- has pairs loops too. It takes ten thousands of passes.
  it("visits everything while rows are written and read in it", function()
    local info = { kind = "table", name = "Test", fields = { "hp", "name" },
      defaults = {}, instanceMt = Instance, adoptable = true,
      adopt = function(t) return setmetatable(t, Instance) end }
    local worlds = {}
    for w = 1, 5 do
      local rows = {}
      for i = 1, w do
        rows[i] = setmetatable({ hp = i, name = "n" .. w }, Instance)
      end
      if w == 4 then rows[2].extra = { 1, { x = 2 } } end
      worlds["w" .. w] = rows
    end
    local back, sizes = {}, {}
    local function vararg(...) return select("#", ...) end
    for _ = 1, some(30000) do
      vararg(1, 2)
      local visited = 0
      for name, rows in pairs(worlds) do
        local n = #rows
        local stop = codec.write(info, scratch, 0, rows, n)
        sizes[name] = sizes[name] or stop
        check(stop == sizes[name])
        check(codec.read(info, codec.address(scratch), 0, stop, back, n)
          == stop)
        visited = visited + 1
      end
      check(visited == 5, "a pairs loop ended early")
    end
    check(back[1].hp == 1)
  end)
end)

describe("a finalizer", function()
  it("may change what is being written; the bytes are one state of it",
    function()
      local shared, big = {}, {}
      local function mess()
        for i = 1, 20 do
          shared["new" .. i] = shared["new" .. i] == nil and { i } or nil
        end
        for i = 1, 400 do big["k" .. i] = nil end
      end
      for _ = 1, some(60) do
        for i = 1, 400 do big["k" .. i] = { ("s"):rep(i % 50) .. i } end
        shared.big, shared.list = big, { 1, 2, { 3 } }
        local garbage = newproxy(true)
        getmetatable(garbage).__gc = mess
        garbage = nil -- luacheck: ignore
        collectgarbage("step", 1)
        local rows = {}
        for i = 1, 20 do
          rows[i] = setmetatable({ a = shared, b = 1LL * i, c = i }, Instance)
        end
        local stop = core.encodeRows(scratch, 0, rows, 1, 20, { "a", "c" })
        if stop then
          local plain = {}
          check(core.decodeRows(codec.address(scratch), 0, stop, plain, 1, 20)
            == stop)
          for i = 1, 20 do check(plain[i].c == i and plain[i].b == i) end
        end
        collectgarbage()
      end
    end)
end)
