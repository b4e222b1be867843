local buffer = require("string.buffer")
local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local Pos, Body, Num = kit.Pos, kit.Body, kit.Num

-- Under a sanitizer freed memory is held back, so nothing can be said.
local sanitized = (os.getenv("LD_PRELOAD") or ""):find("asan") ~= nil

-- A collector that never rests makes everything slow.
local SHARE = os.getenv("EG_GC") and 0.1 or 1

-- Lua heap after everything that can go has gone, compiled code as well, bytes.
local function heap()
  jit.flush()
  collectgarbage()
  collectgarbage()
  return collectgarbage("count") * 1024
end

-- Resident memory of the process, bytes; nil where it cannot be told.
local function resident()
  local file = io.open("/proc/self/statm", "r")
  if not file then return nil end
  local pages = tonumber(file:read("*l"):match("^%d+ (%d+)"))
  file:close()
  return pages and pages * 4096
end

-- Runs `fn` some times to warm up, then `times` times. Lua heap, the core's
-- memory and the process must be where they were.
local function flat(world, times, fn)
  times = math.ceil(times * SHARE / 2) * 2
  for i = 1, 20 do fn(i) end
  local lua, core, process = heap(), kit.memory(world), resident()
  for i = 1, times do fn(i) end
  local grown = heap() - lua
  assert.is_true(grown < 64 * 1024, ("Lua heap: %d bytes more"):format(grown))
  assert.equal(core, kit.memory(world))
  if process and not sanitized then
    local more = resident() - process
    assert.is_true(more < 8 * 2 ^ 20, ("process: %d bytes more"):format(more))
  end
  kit.check(world)
end

-- About a hundred kilobytes of every kind.
local function crowd()
  local world = engram.newWorld()
  kit.fill(world, 400, 3)
  for i = 1, 400 do world:spawn(Pos(i, i), Body(i, i, "name" .. i), Num(i)) end
  return world
end

describe("memory stays flat", function()
  it("in hundreds of saves into one buffer", function()
    local world, out = crowd(), buffer.new()
    local options = { buffer = out }
    flat(world, 200, function() world:saveSnapshot(options) end)
  end)

  it("in hundreds of saves into fresh buffers", function()
    local world = crowd()
    flat(world, 100, function() world:saveSnapshot().buffer:free() end)
  end)

  it("in hundreds of loads in place", function()
    local world = crowd()
    local bytes = kit.save(world)
    flat(world, 200, function() world:loadSnapshot(bytes) end)
  end)

  it("in loads of two sources by turns, and saves between", function()
    local world = crowd()
    local a = kit.save(world)
    local other = engram.newWorld()
    kit.fill(other, 700, 9)
    local b = kit.save(other)
    local out = buffer.new()
    flat(world, 120, function(i)
      world:loadSnapshot(i % 2 == 0 and a or b)
      world:saveSnapshot({ buffer = out })
    end)
  end)

  it("in a rewind loop: change, save, change, load", function()
    local world, out = crowd(), buffer.new()
    flat(world, 120, function()
      world:saveSnapshot({ buffer = out })
      for i = 1, 40 do world:despawn(world:spawn(Pos(i, i), Num(i))) end
      for id = 1, 20 do world:despawn(id) end
      world:loadSnapshot(out)
    end)
  end)

  it("in loads that fail early and late", function()
    local world = crowd()
    local bytes = kit.save(world)
    local early = bytes:sub(1, #bytes - 1)
    local late = wire.snapshot({
      components = { { "EntityKey" }, { "kit.Body" }, { "kit.Pos",
        "x:f64,y:f64|16" } },
      records = { { columns = { 1, 2, 3 }, ids = { 1, 2 }, data = {
        wire.scalar(wire.string("k")), wire.scalar(wire.string("k")),
        wire.hash(), wire.hash(), wire.f64(1), wire.f64(2), wire.f64(3),
        wire.f64(4) } } },
    })
    flat(world, 100, function()
      assert(not pcall(world.loadSnapshot, world, early))
      assert(not pcall(world.loadSnapshot, world, late))
    end)
  end)

  it("when hooks fail in the middle", function()
    local world = engram.newWorld()
    for i = 1, 50 do world:spawn(kit.Hook(i, { i })) end
    local bytes = kit.save(world)
    kit.hook("table.load", function(w, data)
      w:spawn(Pos(1, 1))
      if data.level == 40 then error("x") end
      return kit.Hook.new(data)
    end, function()
      flat(world, 100, function()
        assert(not pcall(world.loadSnapshot, world, bytes))
      end)
    end)
  end)

  it("in worlds that come and go", function()
    local keep = crowd()
    local bytes = kit.save(keep)
    flat(keep, 60, function(i)
      local world = engram.newWorld()
      world:loadSnapshot(bytes)
      world:saveSnapshot()
      if i % 2 == 0 then world:close() end
    end)
  end)

  it("in verify and inspect", function()
    local world = crowd()
    local bytes = kit.save(world)
    flat(world, 100, function()
      engram.snapshot.verify(bytes)
      engram.snapshot.inspect(bytes)
      engram.snapshot.verify(bytes:sub(1, 1000))
    end)
  end)
end)

describe("memory of a load", function()
  it("is given back by compact", function()
    local world = crowd()
    local before = kit.memory(world)
    local bytes = kit.save(world)
    world:loadSnapshot(bytes)
    world:loadSnapshot(bytes)
    assert.is_true(kit.memory(world) > before)
    world:compact()
    assert.is_true(kit.memory(world) <= before)
    kit.check(world)
    world:loadSnapshot(bytes)
    kit.check(world)
    assert.is_true(kit.verify(kit.save(world)))
  end)

  it("does not hold what the world held before on the Lua heap", function()
    local world = engram.newWorld()
    local weak = setmetatable({}, { __mode = "k" })
    local value = Body(1, 2, "x")
    weak[value] = true
    world:spawn(value)
    value = nil
    world:loadSnapshot(kit.save(engram.newWorld()))
    heap()
    assert.is_nil(value)
    assert.is_nil(next(weak))
  end)

  it("is in proportion to the source, whatever the counts say", function()
    local world = engram.newWorld()
    local process = resident()
    if not process or sanitized then
      return pending("memory of the process cannot be told")
    end
    local n, s = wire.number, wire.string
    for _, count in ipairs({ 2 ^ 26, 2 ^ 31 - 1, 2 ^ 32 - 1, 2 ^ 53 - 1 }) do
      for _, bytes in ipairs({
        n(1) .. n(1) .. n(count),
        n(1) .. n(1) .. n(0) .. n(count),
        n(1) .. n(1) .. n(0) .. n(0) .. n(count),
        n(1) .. n(1) .. n(1) .. n(1) .. n(1) .. s("kit.Num") .. s("")
          .. n(count),
        n(1) .. n(1) .. n(1) .. n(1) .. n(1) .. s("kit.Num") .. s("") .. n(1)
          .. n(count) .. n(1) .. n(0),
        wire.snapshot({ entries = { { "k", "\10" .. wire.u(count % 2 ^ 32)
          .. "\9" .. wire.u(count % 2 ^ 32) } } }),
        wire.snapshot({ components = { { "kit.Bag" } }, records = {
          { columns = { 1 }, ids = { 1 }, data = { "\12"
            .. wire.u(count % 2 ^ 32) } } } }),
      }) do
        assert.is_false((pcall(world.loadSnapshot, world, bytes .. ("\1")
          :rep(200))))
      end
    end
    assert.is_true(resident() - process < 4 * 2 ^ 20)
  end)
end)
