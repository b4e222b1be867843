-- Sources that were made to do harm: well-formed in the small, wrong in what
-- they say. And what was found before, byte for byte.

local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")
local damage = require("spec.support.snapdamage")

local refused = kit.refused
local n, s = wire.number, wire.string

local function load(bytes, options)
  local world = kit.engram.newWorld()
  world:spawn(kit.Pos(1, 2), kit.Key("old"))
  world:loadSnapshot(bytes, options)
  kit.check(world)
  return world
end

local function one(component, fingerprint, data, ids)
  return wire.snapshot({
    components = { { component, fingerprint } },
    records = { { columns = { 1 }, ids = ids or { 1 }, data = { data } } },
  })
end

describe("forged counts", function()
  it("are refused wherever they stand", function()
    local target = damage.new()
    local counts = { 2 ^ 16, 2 ^ 26, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32 - 1, 2 ^ 32,
      2 ^ 53 - 1, 2 ^ 53, 2 ^ 60, 1e300, 1 / 0, 0 / 0, -1, 0.5 }
    local good = { rows = 1, records = 1, components = 1, columns = 1,
      recordRows = 1, index = 1, mode = 0 }
    local function build(v)
      return n(1) .. n(2) .. n(v.rows) .. n(v.records) .. n(v.components)
        .. s("kit.Num") .. s("") .. n(v.columns) .. n(v.recordRows)
        .. n(v.index) .. n(v.mode) .. wire.f64(1) .. wire.scalar(n(5)) .. "\1"
        .. ("\0"):rep(64)
    end
    for _, name in ipairs(kit.sortedKeys(good)) do
      for _, count in ipairs(counts) do
        local values = {}
        for _, key in ipairs(kit.sortedKeys(good)) do
          values[key] = key == name and count or good[key]
        end
        assert.is_false((target:try(build(values))))
      end
    end
  end)

  it("in nested tables are refused as well", function()
    local target = damage.new()
    for _, count in ipairs({ 2 ^ 16, 2 ^ 26, 2 ^ 27, 2 ^ 31, 2 ^ 32 - 1 }) do
      local u = wire.u(count)
      for _, value in ipairs({ "\9" .. u, "\10" .. u, "\11" .. u .. u,
        "\12" .. u, "\13" .. u .. u, "\12\5" .. ("\12" .. u):rep(4),
        "\9\1\33a\9" .. u, wire.u(count) .. "x" }) do
        assert.is_false((target:try(one("kit.Bag", "", value .. n(1)))))
        assert.is_false((target:try(wire.snapshot({
          entries = { { "k", value .. n(1) } } }))))
      end
    end
  end)

  it("of nested tables that add up are refused", function()
    -- Each table claims all bytes that are left.
    local target = damage.new()
    local parts = {}
    for i = 1, 200 do parts[i] = "\12" .. wire.u(300) end
    assert.is_false((target:try(one("kit.Bag", "", table.concat(parts)
      .. ("\0"):rep(350)))))
  end)
end)

describe("forged ids", function()
  it("are refused", function()
    local target = damage.new()
    local half = 2 ^ 22 * 2 ^ 30
    for _, ids in ipairs({ { 0 }, { -1 }, { 1.5 }, { 2 ^ 22 }, { 2 ^ 53 },
      { 2 ^ 53 + 2 }, { 2 ^ 63 }, { 1, 1 }, { 1, 2 ^ 22 + 1 },
      { half + 7, 3, half + 2 ^ 22 + 7 }, { 0 / 0 }, { 1 / 0 }, { -1 / 0 },
      { 5e-324 }, { -0.0 }, { wire.hex("000000000000f8ff") },
      { wire.hex("0100000000 00f9ff") }, { wire.hex("efbeaddeefbefaff") },
      { wire.hex("ffffffffffffffff") }, { wire.hex("010000000000f07f") },
      { 1, 2, 3, 4, 5, 4 } }) do
      assert.is_false((target:try(wire.snapshot({
        records = { { columns = {}, ids = ids } } }))))
    end
  end)

  it("of the last generation and slot are fine", function()
    local last = 2 ^ 22 * (2 ^ 31 - 1) + 7
    local world = load(wire.snapshot({
      records = { { columns = {}, ids = { last } } } }))
    assert.is_true(world:isAlive(last))
    world:despawn(last)
    kit.check(world)
    assert.equal(1, world:spawn())
  end)

  it("in entity fields are data, whatever they name", function()
    local row = ("\0"):rep(88)
    local world = kit.engram.newWorld()
    world:spawn(kit.Mixed())
    local bytes = kit.save(world)
    local at = assert(bytes:find(row, 1, true))
    local e = require("ffi").offsetof(tostring(require("ffi").typeof(
      world:get(1, kit.Mixed))):match("<(.-)%s*&?>"), "e")
    for _, id in ipairs({ 0, 1, -1, 0.5, 2 ^ 53, 2 ^ 60, 1 / 0, 0 / 0 }) do
      local bits = id == id and wire.f64(id) or wire.hex("000000000000f87f")
      local other = load(bytes:sub(1, at - 1 + e) .. bits
        .. bytes:sub(at + e + 8))
      local got = other:get(1, kit.Mixed).e
      assert.is_true(got == id or got ~= got)
      assert.is_false(other:isAlive(got) and got ~= 1)
      other:despawn(got)
      other:remove(got, kit.Mixed)
      kit.check(other)
    end
  end)
end)

describe("forged bits", function()
  local PATTERNS = { "000000000000f8ff", "010000000000f87f",
    "fffffffffffff7ff", "0000000000fcffff", "efbeaddeefbefeff",
    "ffffffffffffffff", "010000000000f07f", "ffffffffffffff7f" }

  it("in numbers of tables and scalars are refused", function()
    local target = damage.new()
    for _, hex in ipairs(PATTERNS) do
      local nan = "\7" .. wire.hex(hex)
      for _, bytes in ipairs({
        one("kit.Num", "", wire.scalar(nan)),
        one("kit.Body", "", wire.hash(s("hp"), nan)),
        one("kit.Body", "", wire.hash(s("hp"), n(1), s("maxHp"), nan,
          s("name"), s("x"))),
        one("kit.Bag", "", wire.hash(s("a"), "\12\2" .. nan)),
        one("kit.Bag", "", wire.hash(nan, n(1))),
        one("kit.Hook", "", wire.hash(s("level"), nan)),
        wire.snapshot({ entries = { { "k", nan } } }),
        wire.snapshot({ entries = { { "__engram.pipeline", wire.hash(
          s("accumulator"), nan) } } }),
        n(1) .. nan .. n(0) .. n(0) .. n(0) .. "\1",
        nan .. n(1) .. n(0) .. n(0) .. n(0) .. "\1",
      }) do
        assert.is_false((target:try(bytes)))
      end
    end
  end)

  it("in structs are refused, in every field of every row", function()
    local world = kit.engram.newWorld()
    for i = 1, 70 do world:spawn(kit.Pos(i, -i), kit.Small(1, i)) end
    local bytes = kit.save(world)
    local target = damage.new()
    local at = assert(bytes:find(wire.f64(1) .. wire.f64(-1), 1, true))
    for i, hex in ipairs(PATTERNS) do
      for _, field in ipairs({ 0, 1, 63, 64, 127, 128, 139 }) do
        local from = at + field * 8
        assert.is_false((target:try(bytes:sub(1, from - 1) .. wire.hex(hex)
          .. bytes:sub(from + 8))))
      end
      local half = ({ "0000c0ff", "0100c07f", "ffffffff", "0100807f" })
      local small = at + 70 * 16 + 4
      for _, row in ipairs({ 0, 1, 63, 69 }) do
        local from = small + row * 8
        assert.is_false((target:try(bytes:sub(1, from - 1)
          .. wire.hex(half[i % 4 + 1]) .. bytes:sub(from + 4))))
      end
    end
  end)

  it("in bools are refused", function()
    local target = damage.new()
    for byte = 2, 255 do
      assert.is_false((target:try(one("load.Any", "a:bool|1",
        string.char(byte)))))
    end
    local world = kit.engram.newWorld()
    world:spawn(kit.Mixed())
    local bytes = kit.save(world)
    local at = assert(bytes:find(("\0"):rep(88), 1, true))
    assert.is_false((target:try(bytes:sub(1, at - 1) .. "\2"
      .. bytes:sub(at + 1))))
  end)

  it("in padding are dropped", function()
    local world = kit.engram.newWorld()
    world:spawn(kit.Mixed())
    local bytes = kit.save(world)
    local at = assert(bytes:find(("\0"):rep(88), 1, true))
    local other = load(bytes:sub(1, at) .. ("\255"):rep(7)
      .. bytes:sub(at + 8))
    kit.same(bytes, kit.save(other))
  end)
end)

describe("forged meaning", function()
  it("unknown components are all named", function()
    local components, parts = {}, {}
    for i = 1, 40 do
      components[i] = { "forged.C" .. i }
      parts[i] = '"forged.C' .. i .. '"'
    end
    refused(kit.everything(), wire.snapshot({ components = components }),
      parts)
  end)

  it("names that look like globals, metamethods or code are names", function()
    for _, name in ipairs({ "_G", "__index", "__gc", "os.execute", "\0",
      "a\nb", "%s", ("x"):rep(5000), "return 1" }) do
      local message = refused(kit.everything(), one(name, "",
        wire.hash()), { "not registered" })
      assert.is_nil(message:find("\n", 1, true))
      load(one(name, "", wire.hash()), { unknown = "skip" })
    end
    local keys = { "__index", "__newindex", "__gc", "__metatable", "_G",
      "componentType", "componentId", "new", "1" }
    local pairs_ = {}
    for _, key in ipairs(keys) do
      pairs_[#pairs_ + 1] = s(key)
      pairs_[#pairs_ + 1] = wire.hash(s(key), s("os.exit"))
    end
    local world = load(wire.snapshot({
      components = { { "kit.Bag" }, { "kit.Body" }, { "kit.Built" } },
      records = { { columns = { 1, 2, 3 }, ids = { 1 }, data = {
        wire.hash(unpack(pairs_)), wire.hash(unpack(pairs_)),
        wire.hash(unpack(pairs_)) } } },
    }))
    for _, C in ipairs({ kit.Bag, kit.Body, kit.Built }) do
      local got = world:get(1, C)
      assert.equal(C, got.componentType)
      assert.is_nil(rawget(got, "componentType"))
      assert.equal("os.exit", rawget(got, "__index").__index)
      assert.equal("os.exit", rawget(got, "1")["1"])
    end
    assert.is_true(kit.verify(kit.save(world)))
  end)

  it("fingerprints that are wrong are refused", function()
    local target = damage.new()
    for _, text in ipairs({ "x:f64,y:f64|8", "x:f64,y:f64|15",
      "x:f64,x:f64|16", "x:f64,y:f128|24", "|16", "x:f64 y:f64|16",
      "x:f64,y:f64|16|", "x:f64,y:f64|16\0", "x@8:f64,y@0:f64|16",
      "x:f64[0],y:f64|16", "x:f64,y:f64|4294967312",
      ("x:f64,"):rep(3000) .. "y:f64|24008" }) do
      assert.is_false((target:try(one("kit.Pos", text, ("\0"):rep(16)))))
    end
    -- A layout that is only larger, or named otherwise, is one.
    assert.equal(0, load(one("kit.Pos", "y:f64|40", wire.f64(2)
      .. ("\255"):rep(32))):get(1, kit.Pos).x)
  end)

  it("structs larger than what is left are refused", function()
    local target = damage.new()
    for _, size in ipairs({ 17, 2 ^ 20, 2 ^ 31 - 1 }) do
      assert.is_false((target:try(one("kit.Pos", ("x:f64|%d"):format(size),
        ("\0"):rep(16)))))
    end
  end)

  it("a fingerprint for values that were encoded, and none for structs",
    function()
      local target = damage.new()
      target:try(one("kit.Num", "value:f64|8", wire.f64(5)))
      assert.equal(5, load(one("kit.Num", "value:f64|8", wire.f64(5))):get(1,
        kit.Num))
      target:try(one("kit.Pos", "", wire.hash(s("x"), n(1))))
      assert.equal(1, load(one("kit.Pos", "", wire.hash(s("x"), n(1)))):get(1,
        kit.Pos).x)
      assert.is_false((target:try(one("kit.Pos", "", ("\0"):rep(16)))))
    end)

  it("nested values of depth 100,000 are refused at once", function()
    local target = damage.new()
    local started = os.clock()
    for _, open in ipairs({ "\12\2", "\10\1", "\9\1\33a", "\13\2\1\33b" }) do
      for _, depth in ipairs({ 513, 100000 }) do
        local value = open:rep(depth)
        assert.is_false((target:try(one("kit.Bag", "", value))))
        assert.is_false((target:try(one("kit.Bag", "", value
          .. ("\8"):rep(depth * 2)))))
        assert.is_false((target:try(wire.snapshot({
          entries = { { "k", value } } }))))
      end
    end
    assert.is_true(os.clock() - started < 5)
  end)

  it("keys that come twice are refused", function()
    local target = damage.new()
    local pairs_ = { s("a"), n(1), s("b"), n(2), s("a"), n(3) }
    assert.is_false((target:try(one("kit.Body", "", wire.hash(
      unpack(pairs_))))))
    assert.is_false((target:try(one("kit.Num", "", wire.hash(s("value"), n(1),
      s("value"), n(2))))))
    local many = {}
    for i = 1, 200 do
      many[#many + 1] = s("key" .. i)
      many[#many + 1] = n(i)
    end
    many[#many + 1], many[#many + 2] = s("key77"), n(1)
    assert.is_false((target:try(one("kit.Bag", "", wire.hash(unpack(many))))))
  end)

  it("keys made to collide do not take long", function()
    local parts = {}
    for i = 1, 20000 do parts[i] = wire.f64(i * 2 ^ 40) end
    local started = os.clock()
    load(one("kit.Bag", "", "\9" .. wire.u(20000) .. "\7"
      .. table.concat(parts, "\2\7") .. "\2"))
    assert.is_true(os.clock() - started < 5)
  end)

  it("Lua source and bytecode are refused", function()
    local target = damage.new()
    for _, source in ipairs({ "return {}", "do local x = 1 end " .. ("-")
      :rep(300), "os.exit(1)\n", "\239\187\191return 1", "#!/usr/bin/lua\n" })
    do
      local chunk = loadstring(source)
      for _, bytes in ipairs({ source, "\6\1" .. source, chunk
        and string.dump(chunk) or "", chunk and string.dump(chunk, true) or ""
      }) do
        assert.is_false((target:try(bytes)))
      end
    end
  end)

  it("host values that are no data are refused", function()
    local target = damage.new()
    for _, tag in ipairs({ 3, 4, 5, 0x0e, 0x0f, 0x12, 0x13, 0x1f }) do
      local value = string.char(tag) .. ("\0"):rep(16)
      assert.is_false((target:try(one("kit.Bag", "", wire.hash(s("a"),
        value)))))
      assert.is_false((target:try(one("kit.Num", "", wire.scalar(value)))))
      assert.is_false((target:try(wire.snapshot({
        entries = { { "k", value } } }))))
    end
  end)

  it("many records and components take time in proportion", function()
    local components, records = {}, {}
    for i = 1, 3000 do
      components[i] = { ("c%05d"):format(i) }
      records[i] = { columns = { i }, ids = { i }, data = { "\2" } }
    end
    local bytes = wire.snapshot({ components = components,
      records = records })
    local started = os.clock()
    assert.is_true(kit.verify(bytes))
    local world = load(bytes, { unknown = "skip" })
    assert.equal(3000, world:getStats().entities)
    refused(kit.everything(), bytes, { "c00001", "c03000" })
    assert.is_true(os.clock() - started < 5)
  end)
end)

describe("what was found before", function()
  it("stays found", function()
    local cases = 0
    for line in io.lines("testdata/corrupt/index.txt") do
      local name, code, offset = line:match("^(%S+)%s+(%S+)%s+(%S+)")
      if name and name:sub(1, 1) ~= "#" then
        cases = cases + 1
        local bytes = wire.hex(kit.read("testdata/corrupt/" .. name))
        local world = kit.everything()
        local before = kit.state(world)
        local valid, _, got, at = kit.verify(bytes)
        local ok, message = pcall(world.loadSnapshot, world, bytes,
          { unknown = "skip" })
        if code == "loads" then
          assert.is_true(ok, name .. ": " .. tostring(message))
          damage.churn(world, kit.random(3), 40)
        else
          assert.is_false(ok, name)
          kit.same(before, kit.state(world))
          assert.is_truthy(message:find(("offset %s)"):format(offset), 1,
            true), name .. ": " .. message)
          if code == "schema" then
            assert.is_true(valid)
          else
            assert.equal(code, got, name)
            assert.equal(tonumber(offset), at, name)
          end
          -- A load that failed leaves nothing to the next one.
          world:loadSnapshot(wire.snapshot({}))
          kit.check(world)
          assert.equal(1, world:spawn())
        end
      end
    end
    assert.is_true(cases >= 6)
  end)
end)
