-- Snapshot specs: one set of components of every kind, worlds full of them,
-- and ways to say that two worlds, or one world at two times, are the same.

local ffi = require("ffi")
local engram = require("engram")
local lib = require("engram.lib")
local registry = require("engram.ecs.registry")
local forms = require("engram.snapshot.forms")

local C = lib.C
local format = string.format

local M = { engram = engram, C = C, verify = engram.snapshot.verify }

-- ---- components ------------------------------------------------------------

M.Pos = engram.newFFIComponent({ name = "kit.Pos", container = {},
  fields = { { "x", "double" }, { "y", "double" } } })
-- Every field type, with padding between and behind them.
M.Mixed = engram.newFFIComponent({ name = "kit.Mixed", container = {},
  fields = {
    { "on", "bool" }, { "x", "double" }, { "b", "int8_t" }, { "f", "float" },
    { "c", "char[6]" }, { "n", "int16_t[3]" }, { "e", "entity" },
    { "big", "int64_t" }, { "u", "uint64_t" }, { "m", "float[2][2]" },
    { "w", "uint16_t" }, { "flags", "bool[3]" },
  } })
M.Small = engram.newFFIComponent({ name = "kit.Small", container = {},
  fields = { { "a", "uint8_t" }, { "f", "float" } } })
M.Body = engram.newComponent({ name = "kit.Body", container = {},
  fields = { "hp", "maxHp", "name" }, defaults = { 10, 10 } })
M.Bag = engram.newComponent({ name = "kit.Bag", container = {} })
M.Built = engram.newComponent({ name = "kit.Built", container = {},
  fields = { "a", "b" },
  init = function(self, a, b) self.sum = (a or 0) + (b or 0) end })
M.Num = engram.newScalarComponent({ name = "kit.Num", kind = "number",
  default = 7 })
M.Flag = engram.newScalarComponent({ name = "kit.Flag", kind = "boolean",
  default = true })
M.Text = engram.newScalarComponent({ name = "kit.Text", kind = "string",
  default = "none" })
M.Tag = engram.newTagComponent({ name = "kit.Tag" })
M.Key, M.Name = engram.EntityKey, engram.Name
M.Disabled = engram.Disabled
M.Temp = engram.newFFIComponent({ name = "kit.Temp", container = {},
  fields = { { "t", "int32_t" } }, transient = true })
M.TempTable = engram.newComponent({ name = "kit.TempTable", container = {},
  transient = true })
M.TempTag = engram.newTagComponent({ name = "kit.TempTag", transient = true })

-- Hooks that a spec may replace for a while; see M.hook.
local hooks = {}
local function pair(name)
  local plain = hooks[name]
  return function(value) return (hooks[name .. ".save"] or plain)(value) end
end
hooks["table"] = function(self) return { level = self.level, more = self.more }
end
hooks["ffi"] = function(self) return { x = self.x, n = self.n } end
hooks["scalar"] = function(value) return { text = tostring(value) } end
M.Hook = engram.newComponent({ name = "kit.Hook", container = {},
  fields = { "level", "more" },
  serialize = pair("table"),
  deserialize = function(world, data)
    local custom = hooks["table.load"]
    if custom then return custom(world, data) end
    return M.Hook.new(data)
  end })
M.HookFFI = engram.newFFIComponent({ name = "kit.HookFFI", container = {},
  fields = { { "x", "double" }, { "n", "int32_t" }, { "cache", "double" } },
  serialize = pair("ffi"),
  deserialize = function(world, data)
    local custom = hooks["ffi.load"]
    if custom then return custom(world, data) end
    return M.HookFFI(data.x, data.n, data.x * 2)
  end })
M.HookNum = engram.newScalarComponent({ name = "kit.HookNum", kind = "number",
  serialize = pair("scalar"),
  deserialize = function(world, data)
    local custom = hooks["scalar.load"]
    if custom then return custom(world, data) end
    return M.HookNum(tonumber(data.text))
  end })

--- Runs `fn` with another hook: name is table, ffi or scalar with `.save` or
-- `.load` behind it.
function M.hook(name, hook, fn)
  hooks[name] = hook
  local ok, message = pcall(fn)
  hooks[name] = nil
  if not ok then error(message, 0) end
end

-- ---- random ----------------------------------------------------------------

--- A generator of whole numbers 1 … n, the same on every build.
function M.random(seed)
  local state = seed % 2147483647
  if state == 0 then state = 1 end
  return function(n)
    state = state * 16807 % 2147483647
    return math.floor(state / 2147483647 * n) + 1
  end
end

local NUMBERS = { 0, -0.0, 1, -1, 0.5, -2.25, 1 / 0, -1 / 0, 0 / 0, 2 ^ 31,
  -2 ^ 31, 2 ^ 31 - 1, 2 ^ 53, -2 ^ 53, 5e-324, 1.7976931348623157e308,
  math.pi, 1e15 + 0.5 }
local STRINGS = { "", "a", "value", "name", "a\0b", ("x"):rep(190),
  ("y"):rep(300), "gr\195\188n", "1", "true", "\255\254", "__index" }

function M.number(random) return NUMBERS[random(#NUMBERS)] end
function M.string(random) return STRINGS[random(#STRINGS)] end

--- A plain value: scalars, 64-bit integers, tables with every kind of key.
function M.plain(random, depth)
  local kind = random(depth > 0 and 8 or 5)
  if kind == 1 then return M.string(random) end
  if kind == 2 then return random(2) == 1 end
  if kind == 3 then return ffi.new("int64_t", random(1000) - 500) end
  if kind == 4 then return ffi.new("uint64_t", random(1000)) * 2 ^ 40 end
  if kind == 5 then return M.number(random) end
  local t = {}
  for i = 1, random(4) - 1 do
    local key = i
    if kind == 7 then key = M.string(random) .. i end
    if kind == 8 then
      key = ({ i * 3, -i, i + 0.5, i % 2 == 0, tostring(i) })[random(5)]
    end
    t[key] = M.plain(random, depth - 1)
  end
  return t
end

-- ---- worlds ----------------------------------------------------------------

local makers = {}
local function maker(name, make)
  makers[#makers + 1] = { component = M[name], make = make }
end
maker("Pos", function(r) return M.Pos(M.number(r), M.number(r)) end)
maker("Mixed", function(r)
  local v = M.Mixed()
  v.on, v.x, v.b, v.f = r(2) == 1, M.number(r), r(200) - 100, r(9) / 8
  ffi.copy(v.c, "abcdef", r(6))
  for i = 0, 2 do v.n[i] = r(60000) - 30000 end
  v.e, v.big, v.u = r(50), -2LL ^ 40 * r(9), 2ULL ^ 60 + r(9)
  v.m[0][1], v.m[1][0], v.w = r(7) / 4, M.number(r), r(65535)
  v.flags[r(3) - 1] = true
  return v
end)
maker("Small", function(r) return M.Small(r(255), M.number(r)) end)
maker("Body", function(r)
  local body = M.Body(r(100), 100, M.string(r))
  if r(6) == 1 then body.extra = M.plain(r, 2) end
  return body
end)
maker("Bag", function(r)
  local bag = M.Bag()
  for i = 1, r(4) - 1 do bag[M.string(r) .. i] = M.plain(r, 3) end
  return bag
end)
maker("Built", function(r) return M.Built(r(9), r(9)) end)
maker("Num", function(r) return M.Num(M.number(r)) end)
maker("Flag", function(r) return M.Flag(r(2) == 1) end)
maker("Text", function(r) return M.Text(M.string(r)) end)
maker("Tag", function() return M.Tag end)
maker("Name", function(r) return M.Name(M.string(r)) end)
maker("Disabled", function() return M.Disabled end)
maker("Hook", function(r) return M.Hook(r(9), M.plain(r, 2)) end)
maker("HookFFI", function(r)
  local x = r(100)
  return M.HookFFI(x, r(100), x * 2)
end)
maker("HookNum", function(r) return M.HookNum(r(100)) end)
maker("Temp", function(r) return M.Temp(r(100)) end)
maker("TempTag", function() return M.TempTag end)
M.makers = makers

--- A value of a component picked at random.
function M.value(random)
  return makers[random(#makers)].make(random)
end

--- Random component values, each component at most once.
function M.values(random, most)
  local out, seen = {}, {}
  for _ = 1, random(most + 1) - 1 do
    local pick = makers[random(#makers)]
    if not seen[pick] then
      seen[pick] = true
      out[#out + 1] = pick.make(random)
    end
  end
  return out
end

--- Fills a world with `n` entities of all kinds, some of them dead again.
-- Returns the ids that are alive.
function M.fill(world, n, seed)
  local random = M.random(seed or 1)
  local ids = {}
  for i = 1, n do
    local values = M.values(random, 4)
    if random(8) == 1 then values[#values + 1] = M.Key("key" .. i) end
    ids[#ids + 1] = world:spawn(unpack(values))
    if random(4) == 1 then
      world:despawn(table.remove(ids, random(#ids)))
    end
  end
  return ids
end

--- A world with one entity of each kind of component, and dead slots.
function M.everything(options)
  local world = engram.newWorld(options)
  local random = M.random(42)
  for i = 1, #makers do world:spawn(makers[i].make(random)) end
  local all = {}
  for i = 1, #makers do all[i] = makers[i].make(random) end
  world:spawn(unpack(all))
  local dead = world:spawn(M.Pos(1, 2), M.Key("dead"))
  world:spawn(M.Key("hero"), M.Pos(3, 4))
  world:despawn(dead)
  world:despawn(3)
  world._clock.accumulator, world._clock.steps = 0.0078125, 11
  -- The end of a frame, then two changes: few archetypes are dirty.
  world._stamp = world._stamp + 1
  world:getMut(1, M.Pos)
  world:set(5, M.Tag)
  return world
end

-- ---- comparing -------------------------------------------------------------

local function sortedKeys(t)
  local keys = {}
  local k = next(t)
  while k ~= nil do
    keys[#keys + 1] = k
    k = next(t, k)
  end
  table.sort(keys, function(a, b)
    if type(a) ~= type(b) then return type(a) < type(b) end
    if type(a) == "boolean" then return not a and b end
    return a < b
  end)
  return keys
end
M.sortedKeys = sortedKeys

--- Any value as text; equal texts mean equal values, down to -0 and NaN.
function M.show(v)
  if type(v) == "number" then
    if v ~= v then return "nan" end
    if v == 0 and 1 / v < 0 then return "-0" end
    return format("%.17g", v)
  elseif type(v) == "string" then
    return format("%q", v)
  elseif type(v) ~= "table" then
    return tostring(v)
  end
  local out, keys = {}, sortedKeys(v)
  for i = 1, #keys do
    out[i] = "[" .. M.show(keys[i]) .. "]=" .. M.show(v[keys[i]])
  end
  return "{" .. table.concat(out, ",") .. "}"
end

-- One component of a row as text.
local function cellText(info, column, row)
  if info.kind == "tag" then return "tag" end
  local cell = column[row]
  if info.kind == "ffi" then
    cell = forms.structToTable(info, cell)
  elseif info.kind == "table" and getmetatable(cell) ~= info.instanceMt then
    return "no instance: " .. M.show(cell)
  end
  return M.show(cell)
end

local function entityText(world, arch, row, transient)
  local out = {}
  for i = 1, #arch.componentList do
    local info = registry.info[arch.componentList[i].componentId]
    if transient or not info.transient then
      out[#out + 1] = info.name .. "="
        .. cellText(info, world._stores[info.id][arch.id], row)
    end
  end
  return table.concat(out, " ")
end

--- What a world holds, an entity a line, ascending ids. Without transient
-- components unless `all`.
function M.contents(world, all)
  local ids, text = {}, {}
  for id = 1, C.eg_archetype_count(world._c) do
    local arch = world._archs[id]
    if arch and not arch._staging then
      for row = 1, tonumber(arch.entities[0]) do
        local entity = arch.entities[row]
        ids[#ids + 1] = entity
        text[entity] = format("%.0f %s", entity,
          entityText(world, arch, row, all))
      end
    end
  end
  table.sort(ids)
  for i = 1, #ids do ids[i] = text[ids[i]] end
  return table.concat(ids, "\n")
end

--- The bytes of a save.
function M.save(world, options)
  return world:saveSnapshot(options).buffer:tostring()
end

--- Raises when a structure of the world is not sound.
function M.check(world)
  local fault = C.eg_world_check(world._c)
  if fault ~= nil then error("unsound world: " .. ffi.string(fault), 2) end
end

local function keysText(world)
  local keys = world._keys
  return "committed " .. M.show(keys.committed) .. "\nclaims "
    .. M.show(keys.claims) .. "\nclaimed " .. M.show(keys.claimed)
end

local function archetypesText(world)
  local out = {}
  for id = 1, C.eg_archetype_count(world._c) do
    local arch = world._archs[id]
    if arch then
      local dirty = {}
      for component in arch:dirtyComponents() do
        dirty[#dirty + 1] = component.componentName
      end
      local ids = {}
      for row = 1, tonumber(arch.entities[0]) do
        ids[row] = format("%.0f", arch.entities[row])
      end
      out[#out + 1] = format("%s rows %s dirty %s", tostring(arch),
        table.concat(ids, ","), table.concat(dirty, ","))
    end
  end
  return table.concat(out, "\n")
end

--- Everything that a failed load must restore, as text: contents with
-- transient components, rows, dirty bits, keys, clock, scope, and the bytes of
-- a save, which hold the allocator.
function M.state(world)
  M.check(world)
  local saved = M.save(world)
  return table.concat({
    M.contents(world, true), archetypesText(world), keysText(world),
    format("clock %s depth %d staged %s waves %d batches %s",
      M.show(world._clock), world._depth, tostring(world._staged),
      world._waves, tostring(next(world._batches))),
    (saved:gsub("[^%w]", function(c) return ("\\%d"):format(c:byte()) end)),
  }, "\n")
end

--- Raises when two long texts differ, with the place where they do.
function M.same(expected, got)
  if expected == got then return end
  local at = 1
  while expected:byte(at) == got:byte(at) do at = at + 1 end
  local from = math.max(at - 60, 1)
  error(format("differ at %d of %d and %d bytes:\n  %q\n  %q", at, #expected,
    #got, expected:sub(from, at + 60), got:sub(from, at + 60)), 2)
end

--- The ids a world hands out next. It gets these entities.
function M.nextIds(world, n)
  local ids = {}
  for i = 1, n do ids[i] = world:spawn() end
  return ids
end

--- Memory the core holds for a world, bytes.
function M.memory(world)
  local stats = ffi.new("eg_stats")
  C.eg_world_stats(world._c, stats)
  return tonumber(stats.bytes)
end

--- Calls `fn`; it must raise a string with each of the texts. Returns it.
function M.raises(texts, fn, ...)
  local ok, message = pcall(fn, ...)
  if ok then error("no error was raised", 2) end
  if type(message) ~= "string" then
    error("the error is no string: " .. tostring(message), 2)
  end
  for _, text in ipairs(texts) do
    if not message:find(text, 1, true) then
      error(format("%q not found in %q", text, message), 2)
    end
  end
  return message
end

--- `loadSnapshot(bytes)` must raise these texts and leave the world as it was.
function M.refused(world, bytes, texts, options)
  local before = M.state(world)
  local ok, message = pcall(world.loadSnapshot, world, bytes, options)
  if ok then error("the load succeeded", 2) end
  local same, where = pcall(M.same, before, M.state(world))
  if not same then
    error("the world has changed: " .. where .. "\nthe error was: "
      .. tostring(message), 2)
  end
  for _, text in ipairs(texts) do
    if not tostring(message):find(text, 1, true) then
      error(format("%q not found in %q", text, tostring(message)), 2)
    end
  end
  return message
end

-- ---- other processes -------------------------------------------------------

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end
M.quote = quote

--- Runs a Lua text in another luajit with these flags; returns what it prints.
function M.run(text, flags, ...)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local words = {}
  for i = 1, select("#", ...) do words[i] = quote((select(i, ...))) end
  local command = format("LUA_PATH=%s LUA_CPATH=%s %s %s %s %s 2>&1",
    quote(package.path), quote(package.cpath),
    os.getenv("LUAJIT") or "luajit", flags or "", quote(path),
    table.concat(words, " "))
  local pipe = assert(io.popen(command))
  local out = pipe:read("*a")
  pipe:close()
  os.remove(path)
  return out
end

--- A new empty folder, in memory where there is such a place: flushing files
-- to a disk takes its time. Remove it with M.remove.
function M.folder()
  local pipe = assert(io.popen("mktemp -d -p /dev/shm 2>/dev/null"
    .. " || mktemp -d"))
  local path = pipe:read("*l")
  pipe:close()
  return assert(path)
end

function M.remove(folder)
  assert(folder:find("/tmp%.%w+$"), folder)
  os.execute("rm -rf " .. quote(folder))
end

function M.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

function M.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

--- Names in a folder, sorted.
function M.list(folder)
  local pipe = assert(io.popen("ls -A " .. quote(folder)))
  local names = {}
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

return M
