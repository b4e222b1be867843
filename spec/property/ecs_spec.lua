-- Random operations on a world and on a naive model of it, compared completely
-- again and again. EG_OPS: number of operations (200,000), EG_SEED: replays.

local support = dofile("spec/support/ecs.lua")
local modelFile = assert(loadfile("spec/support/model.lua"))
local compareFile = assert(loadfile("spec/support/model_compare.lua"))
local Model = modelFile()
local kinds = dofile("spec/support/model_types.lua")
local compare = compareFile()(kinds)
local expect = compare.expect
local engram = support.engram
local types, all, nameOf = kinds.types, kinds.all, kinds.nameOf
local dice = kinds.dice
local random, chance, pick = dice.random, dice.chance, dice.pick

-- Most episodes compile the module but neither this file nor the model: their
-- code goes so many ways that compiling it would take most of the time.
local chunk = debug.getinfo(1, "f").func
local function compileDriver(on)
  local set = on and jit.on or jit.off
  set(chunk, true)
  set(modelFile, true)
  set(compareFile, true)
end

-- busted looks globals up by a function, which the JIT does not like.
local error, pcall, tostring, type, unpack =
  error, pcall, tostring, type, unpack
local max, min, remove = math.max, math.min, table.remove

local OPS = tonumber(os.getenv("EG_OPS")) or 200000
if os.getenv("EG_GC") == "full" then OPS = math.ceil(OPS / 5) end
local EPISODE = 2000          -- operations per world
local MARK = {}               -- an error thrown on purpose
local LIMITS = { 6, 40, 300, 300, 3000 } -- maxEntities

-- -- the pair under test ----------------------------------------------------

-- An episode uses some of the components, so that archetypes meet again.
local world, model, names, queries, cursors, everyId, done, budget

local function refused(what, fn, ...)
  local ok, message = pcall(fn, ...)
  expect(not ok, "%s: no error", what)
  expect(type(message) == "string", "%s: %s", what, tostring(message))
  return message
end

-- Runs `fn`, which closes a scope, in both.
local function closing(fn, a, b)
  local was, mark = model.draining, model.unwinds
  local x, y, z = fn(a, b)
  model:closed(was, mark)
  return x, y, z
end

local QUERIES = {
  {}, { include = { "Disabled" } }, { include = { "A" } },
  { include = { "A", "N" }, exclude = { "T" } }, { includeAny = { "T", "S" } },
  { include = { "G" }, includeAny = { "B", "O" }, exclude = { "Q", "Name" } },
  { type = "logic", include = { "A" } },
  { type = "logic", include = { "Paused", "Disabled" } },
  { include = { "EntityKey" } }, { exclude = { "A", "N", "T", "S", "G" } },
}

local function componentsOf(list)
  local out = list and {}
  for i = 1, list and #list or 0 do out[i] = types[list[i]].C end
  return out
end

local function contains(list, name)
  for i = 1, #list do
    if list[i] == name then return true end
  end
  return false
end

local function newQuery(d, temp)
  local q = { include = d.include or {}, exclude = {}, any = d.includeAny }
  for i = 1, d.exclude and #d.exclude or 0 do q.exclude[i] = d.exclude[i] end
  if not contains(q.include, "Disabled") then
    q.exclude[#q.exclude + 1] = "Disabled"
  end
  if d.type == "logic" and not contains(q.include, "Paused") then
    q.exclude[#q.exclude + 1] = "Paused"
  end
  q.real = world:query({ include = componentsOf(d.include), type = d.type,
    exclude = componentsOf(d.exclude), includeAny = componentsOf(d.includeAny),
    temp = temp })
  return q
end

local function start(limit)
  world = engram.newWorld({ maxEntities = limit })
  model = Model.new(types, limit)
  queries, cursors, everyId, names = {}, {}, {}, {}
  local left = { unpack(all) }
  for i = 1, 4 + random(4) do
    names[i] = remove(left, random(#left))
  end
  for i = 1, #QUERIES do queries[i] = newQuery(QUERIES[i]) end
end

-- -- operations -------------------------------------------------------------

local act

-- Some operations more, one level deeper.
local function acts(level, most)
  for _ = 1, random(most) do act(level + 1) end
end

local function values(most)
  local list, given, models, n = {}, {}, {}, random(most + 1) - 1
  for i = 1, n do
    local name = pick(names)
    list[i] = name
    if chance(15) and name ~= "EntityKey" then
      given[i], models[i] = types[name].C, types[name].fresh()
    else
      given[i], models[i] = types[name].make()
    end
  end
  return list, given, models
end

local function keyIn(list, models)
  local key
  for i = 1, #list do
    if list[i] == "EntityKey" then key = models[i] end
  end
  return key
end

-- An id: mostly live or pending, sometimes dead or none at all.
local function anyId()
  if #everyId == 0 or chance(5) then
    return pick({ 0, 1, 2 ^ 22, 1.5, -3, 2 ^ 53, 1 / 0, 0 / 0, -2 ^ 21 })
  end
  for _ = 1, 8 do
    local id = everyId[max(1, #everyId - random(400))]
    local record = model.entities[id]
    if record and not record.gone then return id end
  end
  return pick(everyId)
end

-- An id for spawnAt and its like: legal ones of every sort, and illegal ones.
local function chosenId()
  local sort = random(10)
  if sort <= 3 and #everyId > 0 then return pick(everyId) end
  if sort == 4 then return anyId() end
  local slot = random(min(model.max, 400))
  local generation = pick({ 0, 1, 5, random(1000), 2 ^ 31 - 2, 2 ^ 31 - 1 })
  if sort >= 7 then generation = model.next[slot] or 0 end
  return generation * 2 ^ 22 + slot
end

local function remember(id) everyId[#everyId + 1] = id end

local OPERATIONS = {}
local function operation(weight, fn)
  for _ = 1, weight do OPERATIONS[#OPERATIONS + 1] = fn end
end

local function spawn()
  local list, given, models = values(10)
  local key = keyIn(list, models)
  if key and model:keyTaken(key) then
    local message = refused("taken key", world.spawn, world, unpack(given))
    expect(message:find(key, 1, true), "key in: %s", message)
    return
  end
  local id = model:spawn(list, models)
  if not id then
    local message = refused("full", world.spawn, world, unpack(given))
    expect(message:find("no free entity slot", 1, true), "%s", message)
    return
  end
  local real = world:spawn(unpack(given))
  expect(real == id, "spawn gave %.0f, not %.0f", real, id)
  remember(id)
end
operation(14, spawn)

operation(4, function() -- spawnAt
  local id, list, given, models = chosenId(), values(4)
  local key = keyIn(list, models)
  if model:refusal(id) or key and model:keyTaken(key) then
    refused("spawnAt", world.spawnAt, world, id, unpack(given))
    return
  end
  model:spawnAt(id, list, models)
  world:spawnAt(id, unpack(given))
  remember(id)
end)

operation(24, function() -- set
  local id, name = anyId(), pick(names)
  local t, raw = types[name], nil
  local given, m = t.make()
  if t.raw and chance(40) then
    given, raw = t.C, m
  elseif name ~= "EntityKey" and chance(20) then
    given, m = t.C, t.fresh()
  end
  local record = model.entities[id]
  if not record then
    local message = refused("dead", world.set, world, id, given, raw)
    expect(message:find("Entity ID not found: ", 1, true), "%s", message)
  elseif name == "EntityKey" and not record.gone and model:keyTaken(m, id) then
    refused("taken key", world.set, world, id, given, raw)
  else
    model:set(id, name, m)
    world:set(id, given, raw)
  end
end)

operation(2, function() -- one table in two entities
  local a, b = anyId(), anyId()
  local one, two = model.entities[a], model.entities[b]
  if one and two and one.live and one.comps.T then
    local v = world:get(a, types.T.C)
    if not one.comps.T.ref then types.T.same(v, one.comps.T) end
    model:set(b, "T", one.comps.T)
    world:set(b, v)
  end
end)

operation(12, function() -- remove
  local id, name = anyId(), pick(names)
  model:remove(id, name)
  world:remove(id, types[name].C)
end)

operation(12, function() -- despawn
  local id = anyId()
  model:despawn(id)
  world:despawn(id)
end)

operation(12, function() -- write in place
  local id, name = anyId(), pick(names)
  local record = model.entities[id]
  local here = record and record.live and record.comps[name] ~= nil
  local v = world:getMut(id, types[name].C)
  expect((v ~= nil) == (here or false), "getMut of %.0f", id)
  if here and type(record.comps[name]) == "table" then
    types[name].write({ v }, 1, record.comps[name])
  end
end)

-- Checks the rows a batch has got, fills them, and goes on with operations.
local function fill(batch, level)
  return function(arch, first, last, count)
    if not model.draining then model:begin() end
    local placed = model:advance(batch)
    expect(count == #placed and last - first + 1 == count, "rows of a batch")
    for i = 1, count do
      local id = arch.entities[first + i - 1]
      expect(id == placed[i], "id in a batch")
      compare.row(world, model, arch, first + i - 1, id)
    end
    for i = 1, count do
      for k = 1, #arch.componentList do
        local component = arch.componentList[k]
        local name = nameOf[component]
        local comps = model.entities[placed[i]].comps
        if chance(60) then
          local m = types[name].write(arch:getMut(component), first + i - 1,
            comps[name])
          if m ~= nil then comps[name] = m end
        end
      end
    end
    if chance(60) then acts(level, 6) end
  end
end

local function batchTypes()
  local list = {}
  for i = 1, random(5) - 1 do
    repeat list[i] = pick(names) until list[i] ~= "EntityKey"
  end
  return list, componentsOf(list)
end

-- Runs a batch call in both; `fn` is the real one.
local function batchCall(fn)
  local mark, outermost = model.unwinds, model.depth == 0
  if outermost then model:begin() end
  local a, b = fn()
  if outermost then model:finish(mark) end
  return a, b
end

operation(4, function(level) -- batchSpawn
  local list, components = batchTypes()
  local count = random(chance(10) and 60 or 6) - 1
  if count == 0 then
    local first, ids = world:batchSpawn(0, components, error)
    expect(first == nil and #ids == 0, "a batch of none")
    return
  end
  local batch = model:batchSpawn(count, list)
  if not batch then
    refused("full", world.batchSpawn, world, count, components, error)
    return
  end
  for i = 1, count do remember(batch.ids[i]) end
  local first, ids = batchCall(function()
    return world:batchSpawn(count, components, fill(batch, level))
  end)
  local run = true
  for i = 2, count do run = run and batch.ids[i] == batch.ids[i - 1] + 1 end
  expect((first ~= nil) == run and (ids == nil) == run, "result of a batch")
  for i = 1, count do
    expect((run and first + i - 1 or ids[i]) == batch.ids[i],
      "id of a batch")
  end
end)

operation(3, function(level) -- batchSpawnAt
  local list, components = batchTypes()
  local ids, taken, bad = {}, {}, false
  for i = 1, random(6) - 1 do
    local id = chosenId()
    for _ = 1, 10 do
      if not (model:refusal(id) or taken[id % 2 ^ 22]) then break end
      if chance(5) then break end
      id = chosenId()
    end
    bad = bad or model:refusal(id) ~= nil or taken[id % 2 ^ 22] == true
    if not bad then taken[id % 2 ^ 22] = true end
    ids[i] = id
  end
  if bad then
    refused("batchSpawnAt", world.batchSpawnAt, world, ids, components, error)
    return
  elseif #ids == 0 then
    world:batchSpawnAt(ids, components, error)
    return
  end
  local batch = model:batchSpawnAt(ids, list)
  for i = 1, #ids do remember(ids[i]) end
  batchCall(function()
    world:batchSpawnAt(ids, components, fill(batch, level))
  end)
end)

operation(3, function() -- defer
  if model.depth > 5 then return end
  model:defer()
  world:defer()
end)

operation(7, function() closing(world.commit, world) end)

local function unwind()
  local mark = model:unwind()
  world:unwind()
  if mark then model:finish(mark) end
end
operation(1, unwind)

-- A traversal by `f, s`: visits every match once, with operations in between,
-- and ends early by chance. Returns whether it came to its end.
local function traverse(q, f, s, level, stay)
  local expected, left = model:matching(q.include, q.exclude, q.any)
  local outer = model.lowest
  model:defer()
  local was, mark = model.draining, model.unwinds
  local arch, length, entities = f(s, nil)
  if not arch then model:closed(was, mark) end
  local depth = model.depth
  model.lowest = depth
  while arch do
    for row = 1, length do
      if model.lowest < depth then break end
      local id = entities[row]
      expect(expected[id], "%.0f is visited, or twice", id)
      expected[id], left = nil, left - 1
      if chance(10) then
        local name = pick(names)
        local column = arch:getMut(types[name].C)
        expect((column ~= nil) == (model.entities[id].comps[name] ~= nil),
          "column of %s", name)
        if column ~= nil and types[name].write then
          local comps = model.entities[id].comps
          local m = types[name].write(column, row, comps[name])
          if m ~= nil then comps[name] = m end
        end
      end
      if chance(level < 2 and 12 or 4) then acts(level, 3) end
    end
    -- Rows may have changed under a loop whose scope is gone.
    local gone = model.lowest < depth
    model.lowest = min(outer, model.lowest)
    if gone or not stay and chance(5) then return false end
    was, mark = model.draining, model.unwinds
    arch, length, entities = f(s, arch)
    if not arch then model:closed(was, mark) end
    model.lowest = depth
  end
  model.lowest = min(outer, model.depth)
  expect(left == 0, "%d entities are not visited", left)
  return true
end

operation(4, function(level) -- a loop
  if level > 3 or model.depth > 6 then return end
  local q = pick(queries)
  if chance(10) then q = newQuery(pick(QUERIES), true) end
  local f, s = q.real:iter()
  traverse(q, f, s, level, chance(70))
end)

local function closeCursor(cursor)
  if cursor.mark == model.unwinds and cursor.open then
    cursor.open = false
    closing(cursor.real.close, cursor.real)
  else
    cursor.real:close()
  end
end

operation(3, function(level) -- a cursor
  if level > 3 or model.depth > 6 then return end
  local q = pick(queries)
  local cursor = { real = q.real:cursor(), mark = model.unwinds, open = true }
  local f, s = cursor.real:iter()
  refused("a second traversal", cursor.real.iter, cursor.real)
  if traverse(q, f, s, level, chance(30)) then
    cursor.open = false
  elseif chance(50) then
    closeCursor(cursor)
  else
    cursors[#cursors + 1] = cursor
  end
  if not cursor.open then
    cursor.real:close()
    refused("a closed cursor", cursor.real.iter, cursor.real)
  end
end)

operation(2, function() -- a cursor closed late
  if #cursors > 0 then closeCursor(remove(cursors, random(#cursors))) end
end)

operation(3, function() -- arch:set
  local name = pick(names)
  local arch, length, entities = world:findArchetypes(types[name].C)()
  if not arch then return end
  local row = random(length)
  local id = entities[row]
  local given, m = types[name].make()
  local record = model.entities[id]
  if name == "EntityKey" and not record.gone and model:keyTaken(m, id) then
    refused("taken key", arch.set, arch, row, given)
  elseif name == "EntityKey" then
    model:set(id, name, m)
    arch:set(row, given)
  else
    record.comps[name] = m
    arch:set(row, given)
  end
end)

operation(1, function() -- clearEntities
  if not chance(10) then return end
  if model.draining then
    refused("clear", world.clearEntities, world)
  else
    world:clearEntities()
    model:clear()
  end
end)

operation(1, function() -- compact, close
  if model.depth > 0 then refused("compact", world.compact, world)
  else world:compact() end
  if model.draining then refused("close", world.close, world) end
end)

operation(1, function(level) -- an error that leaves callbacks and loops
  if level > 0 and chance(20) then error(MARK, 0) end
end)

local function compareAll()
  compare.all(world, model, queries, names, everyId)
end
operation(6, compareAll)

-- -- operations with snapshots ----------------------------------------------
-- They come here: `operation(weight, fn)` as above, which saves or loads in the
-- middle, and does to the model what the load does to the world.

-- -- the run ----------------------------------------------------------------

function act(level)
  if done >= budget or level > 6 then return end
  done = done + 1
  pick(OPERATIONS)(level)
  expect(world._depth == model.depth, "depth is %d, not %d", world._depth,
    model.depth)
end

local function attempt(fn)
  local ok, message = xpcall(fn, function(m)
    return m == MARK and m or debug.traceback(tostring(m), 2)
  end)
  if not ok and message ~= MARK then error(message, 0) end
end

local function episode(ops)
  start(pick(LIMITS))
  done, budget = 0, ops
  while done < budget do
    attempt(function() act(0) end)
    if model.depth > 0 and chance(model.draining and 30 or 4) then
      attempt(unwind)
    end
  end
  for _ = 1, 10 do
    if model.depth > 0 then attempt(unwind) end
  end
  expect(model.depth == 0, "scopes are left")
  compareAll()
  world:close()
end

describe("random operations", function()
  it("leave the world and a naive model alike", function()
    local seed = tonumber(os.getenv("EG_SEED"))
      or os.time() % 1000000 * 2000 + 1
    io.write(("[ecs: EG_SEED=%d EG_OPS=%d]"):format(seed, OPS))
    local left = OPS
    while left > 0 do
      local ops = min(left, EPISODE)
      dice.seed(seed)
      compileDriver(chance(10))
      local ok, message = pcall(episode, ops)
      if not ok then
        error(("EG_SEED=%d EG_OPS=%d, operation %d: %s"):format(seed, ops, done,
          tostring(message)), 0)
      end
      left, seed = left - ops, seed + 1
    end
  end)
end)
