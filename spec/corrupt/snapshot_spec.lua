-- Every truncation and every changed byte of small snapshots: an error and an
-- unchanged world, or a sound world; never a crash.

local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")
local damage = require("spec.support.snapdamage")

local engram = kit.engram

-- Loads in all, about. EG_OPS makes it less in slow modes.
local LOADS = math.min(tonumber(os.getenv("EG_OPS")) or 30000, 30000)

local function world(...)
  local made = engram.newWorld()
  for i = 1, select("#", ...) do made:spawn(unpack((select(i, ...)))) end
  return made
end

local function mixed(x)
  local v = kit.Mixed(true, x, -3, 0.5)
  v.c, v.n[2], v.e, v.big, v.u = "ab", -5, 3, -7LL, 9ULL
  v.flags[1] = true
  return v
end

local function bag()
  local v = kit.Bag()
  v[1], v[3], v.deep, v.big = "one", false, { { 1, 2 }, x = { y = -0.0 } },
    -1234567890123LL
  v[true], v[-1.5], v.u = {}, 0 / 0, 5ULL
  return v
end

-- By name, so that a failure tells which.
local SMALL = {
  { "two structs", world({ kit.Pos(1, -2) }, { kit.Pos(0 / 0, 4) },
    { kit.Small(7, 1.5) }) },
  { "a struct of every field type", world({ mixed(2) }, { mixed(1 / 0) }) },
  { "tables with declared fields", world({ kit.Body(1, 2.5, "n") },
    { kit.Body(-1, nil, nil) }, { kit.Built(3, 4) }) },
  { "tables within tables", world({ bag() }, { kit.Bag() }) },
  { "scalars and tags", world({ kit.Num(5), kit.Tag }, { kit.Num(0.5) },
    { kit.Flag(true), kit.Text("text") }, { kit.Flag(false) },
    { kit.Name("name"), kit.Disabled }) },
  { "keys", world({ kit.Key("a") }, { kit.Key("b"), kit.Pos(1, 2) },
    { kit.Key("home") }) },
  { "hooks", world({ kit.Hook(3, { 1 }) }, { kit.HookFFI(2, 3, 4) },
    { kit.HookNum(6) }) },
}
-- Dead slots, a run of them, a retired one and a floor.
local slots = world({}, {}, {}, {}, {}, {}, {}, { kit.Num(1) })
for _, slot in ipairs({ 2, 3, 4, 7 }) do slots:despawn(slot) end
slots:spawnAt(2 ^ 22 * (2 ^ 31 - 1) + 10)
slots:despawn(2 ^ 22 * (2 ^ 31 - 1) + 10)
slots:spawnAt(2 ^ 22 * 9 + 4)
slots:despawn(2 ^ 22 * 9 + 4)
slots:spawnAt(2 ^ 22 * 3 + 4)
SMALL[#SMALL + 1] = { "the allocator", slots }

describe("a snapshot that is cut off is refused:", function()
  for _, case in ipairs(SMALL) do
    it(case[1], function()
      local target = damage.new()
      target:truncate(kit.save(case[2]))
      assert.equal(0, target.accepted)
    end)
  end

  it("all kinds together, from a string.buffer", function()
    local bytes = kit.save(kit.everything(), { customData = { k = { 1 } } })
    local target = damage.new()
    local out = require("string.buffer").new()
    for size = 0, #bytes - 1, 3 do
      out:reset():put(bytes:sub(1, size))
      assert.is_false((pcall(target.world.loadSnapshot, target.world, out)))
    end
    target:truncate(bytes:sub(1, -2))
  end)
end)

-- Small enough for every value of every byte.
local TINY = wire.snapshot({
  components = { { "kit.Flag" }, { "kit.Small", "a:u8,f:f32|8" } },
  records = { { columns = { 2 }, ids = { 3 }, data = {
    "\5\0\0\0" .. wire.f32(-2) } } },
})

describe("a changed byte is refused or harmless:", function()
  local total = 0
  for _, case in ipairs(SMALL) do total = total + #kit.save(case[2]) end
  local each = math.max(math.floor(LOADS / 2 / total), 1)

  it("every value in a tiny snapshot", function()
    local target = damage.new()
    target:change(TINY, math.min(math.floor(LOADS / #TINY), 255))
    assert.is_true(target.accepted > LOADS / 50)
    assert.is_true(target.refused > LOADS / 50)
  end)

  for _, case in ipairs(SMALL) do
    it(case[1], function()
      local target = damage.new()
      target:change(kit.save(case[2]), math.min(each, 255))
      assert.is_true(target.accepted > 0)
      assert.is_true(target.refused > target.accepted / 20)
    end)
  end

  it("all kinds together", function()
    local bytes = kit.save(kit.everything(), { customData = { k = { 1 } } })
    local target = damage.new()
    target:change(bytes, 4, math.max(math.floor(#bytes * 32 / LOADS), 1))
    assert.is_true(target.accepted > 0 and target.refused > 0)
  end)
end)

describe("other damage is refused or harmless:", function()
  local function run(name, change)
    it(name, function()
      local target, random = damage.new(), kit.random(4)
      for round = 1, math.max(LOADS / 100, 50) do
        local case = SMALL[round % #SMALL + 1]
        target:try(change(kit.save(case[2]), random))
      end
    end)
  end

  run("two bytes", function(bytes, random)
    for _ = 1, 2 do
      local at = random(#bytes)
      bytes = bytes:sub(1, at - 1) .. string.char(random(256) - 1)
        .. bytes:sub(at + 1)
    end
    return bytes
  end)

  run("a bit", function(bytes, random)
    local at = random(#bytes)
    local bit = require("bit").lshift(1, random(8) - 1)
    return bytes:sub(1, at - 1)
      .. string.char(require("bit").bxor(bytes:byte(at), bit))
      .. bytes:sub(at + 1)
  end)

  run("bytes put in", function(bytes, random)
    local at = random(#bytes)
    return bytes:sub(1, at) .. string.char(random(256) - 1):rep(random(9))
      .. bytes:sub(at + 1)
  end)

  run("bytes taken out", function(bytes, random)
    local at, n = random(#bytes), random(9)
    return bytes:sub(1, at - 1) .. bytes:sub(at + n)
  end)

  run("parts of two snapshots", function(bytes, random)
    local other = kit.save(SMALL[random(#SMALL)][2])
    return bytes:sub(1, random(#bytes)) .. other:sub(random(#other))
  end)

  run("numbers of the format in odd places", function(bytes, random)
    local odd = ({ wire.number(2 ^ 26), wire.number(2 ^ 31), wire.u(2 ^ 32 - 1),
      wire.number(0 / 0), "\7" .. ("\255"):rep(8), wire.f64(1e300),
      wire.number(-1) })[random(7)]
    local at = random(#bytes)
    return bytes:sub(1, at - 1) .. odd .. bytes:sub(at + #odd)
  end)

  run("random bytes", function(_, random)
    local out = {}
    for i = 1, random(60) do out[i] = string.char(random(256) - 1) end
    return table.concat(out)
  end)

  run("random bytes behind a good prelude", function(_, random)
    local out = { wire.number(1), wire.number(9), wire.number(random(3) - 1),
      wire.number(random(3) - 1), wire.number(random(3) - 1) }
    for _ = 1, random(40) do
      out[#out + 1] = random(3) == 1 and string.char(random(256) - 1)
        or ({ wire.number(random(9)), wire.string("kit.Num"), "\2", "\1", "\8",
          wire.f64(random(5)), wire.string(""), wire.hash(wire.string("value"),
            wire.number(1)) })[random(8)]
    end
    return table.concat(out)
  end)
end)
