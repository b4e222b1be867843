-- The loops that are documented as hot compile: a finished loop trace, no trace
-- aborts once warm, and no garbage.

-- busted looks globals up by a function; nothing of it may be in a loop here.
local collectgarbage, jit, tostring = collectgarbage, jit, tostring

-- A copy of the module of its own: where other specs have made the JIT give up
-- on a function, this would find it given up.
local loaded = {}
for name, module in pairs(package.loaded) do
  if type(name) == "string" and name:find("^engram") then
    loaded[name] = module
  end
end
for name in pairs(loaded) do package.loaded[name] = nil end
local ffi = require("ffi")
local support = dofile("spec/support/ecs.lua")
local C = require("engram.lib").C
for name, module in pairs(loaded) do package.loaded[name] = module end

local engram = support.engram
local vmdef = require("jit.vmdef")
local jutil = require("jit.util")
local kit = support.components("hot")
local P, V, A = kit.P, engram.newFFIComponent({ name = "hot.V2",
  container = {}, fields = { { "x", "double" }, { "y", "double" } } }),
  engram.newFFIComponent({ name = "hot.A", container = {},
    fields = { { "x", "double" }, { "y", "double" } } })

local COUNT = 2000

-- Traces mean nothing in the interpreter and little in instrumented builds.
local skip
if not jit.status() then
  skip = "the JIT is off"
elseif package.cpath:find("/cov/", 1, true)
  or package.cpath:find("/asan/", 1, true) then
  skip = "an instrumented build"
end

local function test(name, fn)
  it(name, skip and function() pending(skip) end or fn)
end

local HERE = debug.getinfo(1, "S").short_src:match("[^/]+$")

-- Calls fn() `times` times and returns what the JIT did with the loops of this
-- file: finished loop traces, and the reasons of aborts. Small loops inside the
-- module that mostly make no round are tried now and then; they do not count.
local function watch(times, fn)
  local loops, aborts, ours = 0, {}, false
  local function event(what, tr, func, pc, code)
    if what == "start" then
      ours = jutil.funcinfo(func, pc).loc:find(HERE, 1, true) ~= nil
    elseif what == "stop" and ours then
      local info = jutil.traceinfo(tr)
      if info and info.linktype == "loop" then loops = loops + 1 end
    elseif what == "abort" and ours then
      local text = vmdef.traceerr[code] or tostring(code)
      -- Nor do loops around a compiled one, for the same reason.
      if text ~= "inner loop in root trace"
        and text ~= "leaving loop in root trace" then
        aborts[#aborts + 1] = jutil.funcinfo(func, pc).loc .. ": " .. text
      end
    end
  end
  jit.attach(event, "trace")
  for _ = 1, times do fn() end
  jit.attach(event)
  return loops, aborts
end

-- The body runs in a loop of its own; `before()` prepares each run.
local function compiles(body, before)
  jit.flush()
  local function run()
    if before then before() end
    body()
  end
  local loops = watch(90, run)
  assert.is_true(loops >= 1, "no loop trace was finished")
  local _, aborts = watch(30, run)
  assert.same({}, aborts)
end

-- Bytes the Lua heap grows by in `times` calls, with the collector stopped.
local function growth(times, fn)
  collectgarbage()
  collectgarbage("stop")
  local before = collectgarbage("count")
  for _ = 1, times do fn() end
  local after = collectgarbage("count")
  collectgarbage("restart")
  return (after - before) * 1024
end

-- After 200 frames, 1,000 grow the heap by nothing. A trace that is compiled
-- late takes memory once, so there are more tries; garbage shows in each.
local function makesNoGarbage(frame)
  growth(200, frame)
  local bytes
  for _ = 1, 5 do
    bytes = growth(1000, frame)
    if bytes == 0 then return end
  end
  error(("%.0f bytes in 1,000 frames"):format(bytes))
end

-- Bytes the core holds for rows and slots.
local function held(world)
  local stats = ffi.new("eg_stats")
  C.eg_world_stats(world._c, stats)
  return tonumber(stats.bytes)
end

local function filled()
  local world, ids = engram.newWorld({ maxEntities = 4 * COUNT }), {}
  for i = 1, COUNT do ids[i] = world:spawn(P(i, i), V(1, 2)) end
  return world, ids
end

describe("compiled", function()
  test("is iterating two FFI columns", function()
    local world = filled()
    local query, dt = world:query({ include = { P, V } }), 1 / 60
    compiles(function()
      for arch, n in query:iter() do
        local p, v = arch:get(P), arch:get(V)
        for i = 1, n do
          p[i].x = p[i].x + v[i].x * dt
          p[i].y = p[i].y + v[i].y * dt
        end
      end
    end)
  end)

  test("is spawning with two FFI values, on fresh and on recycled slots",
    function()
      local world = engram.newWorld()
      compiles(function()
        for i = 1, COUNT do world:spawn(P(i, 2), V(1, i)) end
      end, function() world:clearEntities() end)
      local ids = {}
      compiles(function()
        for i = 1, COUNT do ids[i] = world:spawn(P(i, 2), V(1, i)) end
      end, function()
        for i = #ids, 1, -1 do world:despawn(ids[i]) end
      end)
    end)

  test("is setting in place", function()
    local world, ids = filled()
    compiles(function()
      for i = 1, COUNT do world:set(ids[i], P(i, 1)) end
    end)
    assert.equal(1, world:get(ids[5], P).y)
  end)

  test("is adding and removing a third component", function()
    local world, ids = filled()
    compiles(function()
      for i = 1, COUNT do world:set(ids[i], A(i, 2)) end
    end, function()
      for i = 1, COUNT do world:remove(ids[i], A) end
    end)
    compiles(function()
      for i = 1, COUNT do world:remove(ids[i], A) end
    end, function()
      for i = 1, COUNT do world:set(ids[i], A(i, 2)) end
    end)
  end)

  test("is despawning", function()
    local world, ids = filled()
    compiles(function()
      for i = 1, COUNT do world:despawn(ids[i]) end
    end, function()
      world:clearEntities()
      for i = 1, COUNT do ids[i] = world:spawn(P(i, 2), V(1, i)) end
    end)
  end)

  test("is getting by id", function()
    local world, ids = filled()
    local sum = 0
    compiles(function()
      for i = 1, COUNT do sum = sum + world:get(ids[i], P).x end
    end)
    assert.is_true(sum > 0)
  end)

  test("is asking isAlive and has", function()
    local world, ids = filled()
    local n = 0
    compiles(function()
      for i = 1, COUNT do
        if world:isAlive(ids[i]) and world:has(ids[i], P)
          and not world:has(ids[i], A) then n = n + 1 end
      end
    end)
    assert.equal(0, n % COUNT)
  end)

  test("is filling a batch", function()
    local world = engram.newWorld()
    local types = { P, V }
    local function fill(arch, first, last)
      local p, v = arch:get(P), arch:get(V)
      for i = first, last do
        p[i].x, p[i].y = i, 2
        v[i].x, v[i].y = 1, i
      end
    end
    compiles(function() world:batchSpawn(COUNT, types, fill) end,
      function() world:clearEntities() end)
  end)
end)

describe("a steady frame", function()
  -- Iterates all, spawns and despawns one per cent.
  local function frames(scoped)
    local world, ids = filled()
    local query, next_ = world:query({ include = { P, V } }), 0
    return world, function()
      for arch, n in query:iter() do
        local p, v = arch:get(P), arch:get(V)
        for i = 1, n do
          p[i].x = p[i].x + v[i].x * 0.016
          p[i].y = p[i].y + v[i].y * 0.016
        end
      end
      if scoped then world:defer() end
      for _ = 1, COUNT / 100 do
        next_ = next_ % COUNT + 1
        world:despawn(ids[next_])
        ids[next_] = world:spawn(P(next_, 2), V(1, 2))
      end
      if scoped then world:commit() end
    end
  end

  for _, scoped in ipairs({ false, true }) do
    test("makes no garbage and no aborts, "
      .. (scoped and "in a scope" or "at depth 0"), function()
      jit.flush()
      local world, frame = frames(scoped)
      growth(200, frame)
      local bytes = held(world)
      makesNoGarbage(frame)
      local _, aborts = watch(100, frame)
      assert.same({}, aborts)
      assert.equal(bytes, held(world))
      assert.equal(COUNT, world:getStats().entities)
      support.sound(world)
    end)
  end

  for _, work in ipairs({ "get", "set", "add and remove", "nested loops" }) do
    test("makes no garbage: " .. work, function()
      jit.flush()
      local world, ids = filled()
      local query = world:query({ include = { P } })
      local bodies = {
        get = function(id) return world:get(id, P).x end,
        set = function(id) world:set(id, P(1, 2)) end,
        ["add and remove"] = function(id)
          world:set(id, A(1, 2))
          world:remove(id, A)
        end,
      }
      local body = bodies[work]
      local function frame()
        if body then
          for i = 1, 50 do body(ids[i]) end
        else
          for _ in query:iter() do
            for arch, n in query:iter() do
              arch:get(P)[n].x = 1
            end
          end
        end
      end
      makesNoGarbage(frame)
    end)
  end
end)
