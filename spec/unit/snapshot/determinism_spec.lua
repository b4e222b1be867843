local ffi = require("ffi")
local kit = require("spec.support.snapkit")

local engram = kit.engram
local Pos, Mixed, Body, Bag, Num, Tag = kit.Pos, kit.Mixed, kit.Body, kit.Bag,
  kit.Num, kit.Tag

local function newWorld() return engram.newWorld() end

describe("equal worlds give equal bytes", function()
  it("whatever order archetypes were made in", function()
    local function fill(world)
      world:spawn(Pos(1, 2), Tag)
      world:spawn(Body(1))
      world:spawn(Num(3), Pos(3, 4))
      world:spawn(Tag, Num(1), Body(2, 3, "x"))
    end
    local a, b = newWorld(), newWorld()
    fill(a)
    -- The same archetypes, met before in another order, and others.
    for _, values in ipairs({ { Num(1), Body(), Tag }, { Num(1), Pos(1, 1) },
      { Bag() }, { Tag, Body() }, { Body() }, { Pos(1, 1), Tag, Bag() },
      { Pos(1, 1) }, { Pos(1, 1), Tag } }) do
      b:despawn(b:spawn(unpack(values)))
    end
    b:loadSnapshot(kit.save(newWorld()))
    fill(b)
    kit.same(kit.save(a), kit.save(b))
  end)

  it("whatever order components were given in", function()
    local a, b = newWorld(), newWorld()
    for i = 1, 20 do
      a:spawn(Pos(i, i), Body(i), Num(i), Tag)
      local id = b:spawn()
      b:set(id, Tag)
      b:set(id, Bag())
      b:set(id, Num(0))
      b:set(id, Body(i))
      b:remove(id, Bag)
      b:set(id, Pos(i, i))
      b:set(id, Num, i)
    end
    kit.same(kit.save(a), kit.save(b))
  end)

  it("whatever lies in padding and unused rows", function()
    local a, b = newWorld(), newWorld()
    -- Fill memory of b with junk first.
    local junk = {}
    for i = 1, 40 do junk[i] = b:spawn(Mixed(), kit.Small(255, 1 / 3)) end
    for arch in b:findArchetypes(Mixed) do
      ffi.fill(arch:get(Mixed) + 1, 40 * ffi.sizeof(arch:get(Mixed)[1]), 0)
    end
    for i = 40, 1, -1 do
      local row = ffi.cast("uint8_t *", b:get(junk[i], Mixed))
      for k = 1, 7 do row[k] = 0xee end
      b:despawn(junk[i])
    end
    for i = 1, 40 do
      a:spawn()
      a:despawn(i)
    end
    for _, w in ipairs({ a, b }) do
      w:loadSnapshot(kit.save(newWorld()))
      for i = 1, 20 do w:spawn(Mixed(true, i, i), kit.Small(i, i / 2)) end
    end
    for i = 1, 20 do
      local row = ffi.cast("uint8_t *", b:get(i, kit.Small))
      row[1], row[2], row[3] = 1, 2, 3
    end
    kit.same(kit.save(a), kit.save(b))
  end)

  it("whatever order keys were inserted in", function()
    local names = {}
    for i = 1, 100 do names[i] = ("key %d"):format(i * 53 % 101) end
    local function bag(order)
      local t = Bag()
      for i = 1, 100 do
        local k = order(i)
        t[names[k]] = { [k] = k, x = { [names[k]] = true } }
        t[-k] = k
        t[k + 0.5] = k
      end
      t[true], t[false] = 1, 2
      return t
    end
    local bags = {
      bag(function(i) return i end),
      bag(function(i) return 101 - i end),
      bag(function(i) return i * 7 % 101 end),
    }
    -- One that grew and shrank.
    for i = 1, 500 do bags[3]["gone" .. i] = i end
    for i = 1, 500 do bags[3]["gone" .. i] = nil end
    local first
    for _, value in ipairs(bags) do
      local world = newWorld()
      world:spawn(value)
      first = first or kit.save(world)
      kit.same(first, kit.save(world))
    end
  end)

  it("when fields of tables were set in another order, or hold more",
    function()
      local a, b = newWorld(), newWorld()
      a:spawn(Body(1, 2, "n"))
      local body = Body()
      body.extra, body.name, body.maxHp, body.hp = 1, "n", 2, 1
      body.extra = nil
      b:spawn(body)
      kit.same(kit.save(a), kit.save(b))
    end)

  it("before and after a load, again and again", function()
    local world = kit.everything()
    kit.fill(world, 60, 77)
    local bytes = kit.save(world)
    local at = world
    for _ = 1, 5 do
      local next_ = newWorld()
      next_:loadSnapshot(kit.save(at))
      kit.same(bytes, kit.save(next_))
      at = next_
    end
  end)

  it("of integers and doubles of one value", function()
    local a, b = newWorld(), newWorld()
    a:spawn(Num(3), Body(2 ^ 31 - 1, 4))
    b:spawn(Num(1.5 * 2), Body((2 ^ 32 - 2) / 2, tonumber("4.0")))
    kit.same(kit.save(a), kit.save(b))
  end)

  it("and worlds that differ give others", function()
    local seen = {}
    for _, values in ipairs({ { Num(1) }, { Num(2) }, { Num(-0.0) },
      { Num(0) }, { Tag }, { Body() }, { Body(10) }, { Body(11) },
      { Bag() }, { Pos(0, 0) }, { Pos(-0.0, 0) }, { Pos(0 / 0, 0) }, {} }) do
      local world = newWorld()
      world:spawn(unpack(values))
      local bytes = kit.save(world)
      assert.is_true(not seen[bytes] or values[1].hp == 10)
      seen[bytes] = true
    end
  end)
end)

-- A world of components registered in the order given, and a digest of its
-- bytes. Rows enough for every loop to be compiled where the JIT is on.
local BUILD = [[
  local engram = require("engram")
  local reversed, loaded = ...
  local made = {}
  local order = { "a", "b", "c", "d", "e", "f", "g", "h" }
  local make = {
    a = function() return engram.newFFIComponent({ name = "det.a",
      container = {}, fields = { { "on", "bool" }, { "x", "double" },
        { "f", "float" } } }) end,
    b = function() return engram.newComponent({ name = "det.b",
      container = {}, fields = { "hp", "name", "on" } }) end,
    c = function() return engram.newComponent({ name = "det.c",
      container = {} }) end,
    d = function() return engram.newScalarComponent({ name = "det.d",
      kind = "number" }) end,
    e = function() return engram.newScalarComponent({ name = "det.e",
      kind = "string" }) end,
    f = function() return engram.newTagComponent({ name = "det.f" }) end,
    g = function()
      local C = {}
      return engram.newComponent({ name = "det.g", container = C,
        fields = { "v" },
        serialize = function(self) return { w = self.v, z = { self.v } } end,
        deserialize = function(_, data) return C(data.w) end })
    end,
    h = function() return engram.newScalarComponent({ name = "det.h",
      kind = "boolean" }) end,
  }
  for i = 1, #order do
    local name = order[reversed and #order + 1 - i or i]
    made[name] = engram.componentByName("det." .. name) or make[name]()
  end
  local world = engram.newWorld()
  local state = 7
  local function random(n)
    state = state * 16807 % 2147483647
    return state % n + 1
  end
  for i = 1, 2500 do
    local kind = random(5)
    local list = {}
    for k = 1, 12 do
      local key = (reversed and 13 - k or k)
      list["k" .. key * 5] = { key, key / 3, [key * 100] = "v" .. key }
    end
    local bag = made.c()
    bag.list, bag[i], bag[-i] = i % 40 == 0 and list or nil, "i", true
    if kind == 1 then
      world:spawn(made.a(i % 2 == 0, i / 3, -i), made.b(i, "n" .. i % 9, true))
    elseif kind == 2 then
      world:spawn(bag, made.d(i / 7), made.e(("s"):rep(i % 300)))
    elseif kind == 3 then
      world:spawn(made.b(i / 2, nil, i % 3 == 0), made.f)
    elseif kind == 4 then
      world:spawn(made.g(i), made.h(i % 5 == 0), made.a())
    else
      world:spawn(made.d(0 / 0), made.b())
    end
    if i % 7 == 0 then world:despawn(random(i)) end
  end
  local out
  for _ = 1, 4 do
    local bytes = world:saveSnapshot({ customData = { a = { x = 1, 2 } } })
      .buffer:tostring()
    assert(out == nil or out == bytes, "two saves differ")
    out = bytes
    if loaded then
      local other = engram.newWorld()
      other:loadSnapshot(bytes)
      world = other
    end
  end
  local h = 5381
  for i = 1, #out do h = (h * 33 + out:byte(i)) % 4294967296 end
  return ("%d %.0f"):format(#out, h), out
]]

describe("every process gives the same bytes", function()
  local expected, bytes = assert(loadstring(BUILD))()
  local SCRIPT = ("local function build(...) %s end\n"):format(BUILD)
    .. "io.stdout:write((build(arg[1] == 'reversed', arg[2] == 'loaded')))"

  it("here, built again and after loads", function()
    assert.equal(expected, (assert(loadstring(BUILD))(true, false)))
    assert.equal(expected, (assert(loadstring(BUILD))(false, true)))
  end)

  it("another process, in any order of registration", function()
    assert.equal(expected, kit.run(SCRIPT, ""))
    assert.equal(expected, kit.run(SCRIPT, "", "reversed"))
  end)

  it("with the JIT off, on, and at its most eager", function()
    for _, flags in ipairs({ "-joff", "-jon", "-Ohotloop=1",
      "-Ohotloop=1 -Ohotexit=1" }) do
      assert.equal(expected, kit.run(SCRIPT, flags), flags)
      assert.equal(expected, kit.run(SCRIPT, flags, "reversed", "loaded"),
        flags)
    end
  end)

  it("and a fresh one loads them, without touching FFI before", function()
    local folder = kit.folder()
    kit.write(folder .. "/world.snap", bytes)
    local script = ("local function build(...) %s end\n"):format(BUILD) .. [[
      build()
      local engram = require("engram")
      local world = engram.newWorld()
      local file = io.open(arg[1], "rb")
      local bytes = file:read("*a")
      world:loadSnapshot(bytes)
      local again = world:saveSnapshot({ customData = { a = { x = 1, 2 } } })
      io.stdout:write(tostring(again.buffer:tostring() == bytes))]]
    local out = kit.run(script, "", folder .. "/world.snap")
    kit.remove(folder)
    assert.equal("true", out)
  end)
end)
