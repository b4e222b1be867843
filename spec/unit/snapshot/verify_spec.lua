local buffer = require("string.buffer")
local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local raises = kit.raises
local snapshot = engram.snapshot
local n, s = wire.number, wire.string

-- verify must refuse these bytes with this code at this 0-based offset, and
-- its message must have the texts; a load must refuse them as well.
local function bad(bytes, code, offset, ...)
  local ok, message, got, at = snapshot.verify(bytes)
  assert.is_nil(ok)
  assert.equal(code, got, message)
  assert.equal(offset, at, message)
  for _, text in ipairs({ ... }) do
    assert.is_truthy(message:find(text, 1, true), message)
  end
  local world = engram.newWorld()
  local id = world:spawn(kit.Num(3))
  local loaded, why = pcall(world.loadSnapshot, world, bytes,
    { unknown = "skip" })
  assert.is_false(loaded)
  if code ~= "version" then
    assert.is_truthy(why:find("offset " .. ("%.0f"):format(at), 1, true), why)
  end
  assert.equal(3, world:get(id, kit.Num))
end

-- A prelude with these counts.
local function prelude(rows, records, components)
  return n(1) .. n(9) .. n(rows or 0) .. n(records or 0) .. n(components or 0)
end

-- A data entry after an empty world, and the offset of its value.
local function entry(key, value)
  local head = prelude() .. "\2" .. s(key)
  return head .. value .. "\1", #head
end

describe("verify", function()
  it("accepts what a save writes", function()
    local world = kit.everything()
    local bytes = kit.save(world, { customData = { a = { 1, x = 2 } } })
    assert.is_true(snapshot.verify(bytes))
    assert.is_true(snapshot.verify(buffer.new():put(bytes)))
    assert.is_true(snapshot.verify(kit.save(engram.newWorld())))
  end)

  it("needs no registered component", function()
    assert.is_true(snapshot.verify(wire.snapshot({
      components = { { "verify.Nobody", "a:f32,b:i8[3]|8" }, { "Other" } },
      records = { { columns = { 1, 2 }, ids = { 4 }, data = {
        ("\0"):rep(8), n(1) } } },
    })))
  end)

  it("does not consume a buffer", function()
    local out = buffer.new():put(kit.save(kit.everything()))
    local size = #out
    snapshot.verify(out)
    snapshot.inspect(out)
    assert.equal(size, #out)
  end)

  it("raises for other types", function()
    for _, v in ipairs({ 5, true, {}, print, io.stdout }) do
      raises({ "engram.snapshot.verify", "expected" }, snapshot.verify, v)
      raises({ "engram.snapshot.inspect", "expected" }, snapshot.inspect, v)
    end
    raises({ "verify" }, snapshot.verify)
  end)

  it("accepts records by rows, which a save does not write yet", function()
    local record = { columns = { 1, 2 }, mode = 1, ids = { 1, 2 }, data = {
      n(1), n(3), n(5), n(6), n(2), n(2), s("b") } }
    local bytes = wire.snapshot({ components = { { "A" }, { "B" } },
      records = { record } })
    assert.is_true(snapshot.verify(bytes))
  end)
end)

describe("damage is found at its place:", function()
  it("bytes that are no snapshot", function()
    bad("", "truncated", 0)
    bad("\27LJ\2\0", "corrupt", 0, "not a snapshot")
    bad("local t = { 1 } -- some Lua source text, long enough for a string "
      .. "of the length that its first byte asks for; return t", "corrupt", 0,
      "not a snapshot")
    bad('{"version": 1, "entities": [], "padding": "' .. ("x"):rep(200)
      .. '"}', "corrupt", 0, "not a snapshot")
    bad("\137EGS\r\n\26\n" .. ("\0"):rep(64), "corrupt", 0, "not a snapshot")
    bad(("\0"):rep(100), "corrupt", 0)
    bad(("\255"):rep(100), "corrupt", 0, "not a snapshot")
    bad(n(0) .. n(1), "corrupt", 0)
    bad(n(1.5) .. n(1), "corrupt", 0)
    bad(n(-1) .. n(1), "corrupt", 0)
    bad(n(0 / 0) .. n(1), "corrupt", 0)
    bad(n(1 / 0) .. n(1), "corrupt", 0)
    bad(n(2 ^ 53), "corrupt", 0)
    bad("\2", "corrupt", 0)
  end)

  it("a version that is not known", function()
    for _, v in ipairs({ 2, 77, 2 ^ 31, 2 ^ 53 - 1 }) do
      bad(n(v) .. n(1), "version", 0, ("%.14g"):format(v), "1")
    end
  end)

  it("numbers of the prelude", function()
    bad(n(1) .. n(-1), "corrupt", 5)
    bad(n(1) .. n(2 ^ 53), "corrupt", 5)
    bad(n(1) .. n(1) .. n(1), "truncated", 10)
    bad(n(1) .. n(1) .. n(0.5), "corrupt", 10)
    bad(n(1) .. n(1) .. n(2 ^ 26), "truncated", 10)
    bad(n(1) .. n(1) .. n(2 ^ 31), "truncated", 10)
    bad(n(1) .. n(1) .. n(2 ^ 32 - 1), "truncated", 10)
    bad(n(1) .. n(1) .. n(2 ^ 53), "corrupt", 10)
    bad(n(1) .. n(1) .. n(0) .. n(2 ^ 26), "truncated", 15)
    bad(n(1) .. n(1) .. n(0) .. n(2 ^ 32 - 1), "truncated", 15)
    bad(n(1) .. n(1) .. n(0) .. n(0) .. n(2 ^ 31), "truncated", 20)
    bad(n(1) .. n(1) .. n(0) .. n(0) .. n(2 ^ 40), "truncated", 20)
    bad(n(1) .. n(1) .. n(0) .. n(0) .. n(-1), "corrupt", 20)
    bad(prelude(1) .. "\1" .. ("\0"):rep(8), "corrupt", 25, "fewer rows")
  end)

  it("the component table", function()
    bad(prelude(0, 0, 1) .. s("") .. s("") .. "\1", "corrupt", 25, "name")
    bad(prelude(0, 0, 1) .. n(1) .. s("") .. "\1", "corrupt", 25)
    bad(prelude(0, 0, 2) .. s("A") .. s("") .. s("A") .. s("") .. "\1",
      "corrupt", 29, "twice")
    bad(prelude(0, 0, 1) .. s("A") .. n(1), "corrupt", 27)
    for _, text in ipairs({ "x", "x:f64", "x:f64|", "x:f63|8", "|8", ":f64|8",
      "x:f64|7", "x:f64|08", "x:f64[0]|8", "x:f64[2][2][2]|64",
      "x:f64,x:f64|16", "x@4:f64,y@4:f64|16", "x:f64|9999999999",
      "x:f64[2147483647]|16", "x:f64|8 ", "x%4:f64|8" }) do
      local ok, _, code, at = snapshot.verify(prelude(0, 0, 1) .. s("A")
        .. s(text) .. "\1")
      assert.is_nil(ok)
      assert.equal("corrupt", code)
      assert.is_true(at >= 28 and at <= 28 + #text, text)
    end
  end)

  it("records", function()
    local head = prelude(1, 1, 1) .. s("A") .. s("")
    local id = wire.f64(5)
    local tail = id .. n(1) .. "\1" .. ("\0"):rep(20)
    local at = #head
    bad(head .. n(2) .. n(1) .. n(1) .. n(0) .. tail, "corrupt", at,
      "column count")
    bad(head .. n(1) .. n(2) .. n(1) .. n(0) .. tail, "corrupt", at + 5,
      "more rows")
    bad(head .. n(1) .. n(2 ^ 31) .. n(1) .. n(0) .. tail, "corrupt", at + 5)
    bad(head .. n(1) .. n(1) .. n(2) .. n(0) .. tail, "corrupt", at + 10)
    bad(head .. n(1) .. n(1) .. n(0) .. n(0) .. tail, "corrupt", at + 10)
    bad(head .. n(1) .. n(1) .. n(1) .. n(2) .. tail, "corrupt", at + 15,
      "mode")
    bad(head .. n(1) .. n(1) .. n(1) .. n(0) .. "\0\0\0", "truncated",
      at + 15)
    bad(head .. n(1) .. n(1) .. n(1) .. n(0) .. id .. "\7\0\0\0", "truncated",
      at + 28)
  end)

  it("columns that come twice, or not in order", function()
    local function record(a, b)
      return prelude(1, 1, 2) .. s("A") .. s("") .. s("B") .. s("") .. n(2)
        .. n(1) .. n(a) .. n(b) .. n(0) .. wire.f64(1) .. n(1) .. n(1) .. "\1"
    end
    assert.is_true(snapshot.verify(record(1, 2)))
    bad(record(1, 1), "corrupt", 46, "ascend")
    bad(record(2, 1), "corrupt", 46, "ascend")
  end)

  it("two records with one set", function()
    local one = n(1) .. n(1) .. n(1) .. n(0)
    local head = prelude(2, 2, 1) .. s("A") .. s("")
    local first = one .. wire.f64(1) .. n(1)
    bad(head .. first .. one .. wire.f64(2) .. n(1) .. "\1", "corrupt",
      #head + #first, "one set")
  end)

  it("ids", function()
    local head = prelude(1, 1, 0) .. n(0) .. n(1) .. n(0)
    for _, id in ipairs({ wire.f64(0), wire.f64(-1), wire.f64(1.5),
      wire.f64(2 ^ 22), wire.f64(2 ^ 22 * 7), wire.f64(2 ^ 53),
      wire.f64(2 ^ 54 + 4), wire.f64(1 / 0), wire.f64(-1 / 0), wire.f64(5e-324),
      wire.hex("000000000000f87f"), wire.hex("000000000000f8ff"),
      wire.hex("010000000000f07f"), wire.hex("efbeaddeefbeffff"),
      wire.hex("ffffffffffffffff"), wire.f64(-0.0) }) do
      bad(head .. id .. "\1", "corrupt", #head, "entity id")
    end
    local two = prelude(2, 1, 0) .. n(0) .. n(2) .. n(0) .. wire.f64(7)
    bad(two .. wire.f64(7) .. "\1", "corrupt", #two, "slot")
    bad(two .. wire.f64(2 ^ 22 + 7) .. "\1", "corrupt", #two, "slot")
    bad(two .. wire.f64(2 ^ 22 * (2 ^ 31 - 1) + 7) .. "\1", "corrupt", #two)
  end)

  it("raw columns: forged numbers and bools", function()
    local head = prelude(2, 1, 1) .. s("A")
      .. s("a:bool,x:f64,f:f32,e:entity|32") .. n(1) .. n(2) .. n(1) .. n(0)
      .. wire.f64(1) .. wire.f64(2)
    local function row(a, x, f, e)
      return (a or "\1") .. ("\0"):rep(7) .. (x or wire.f64(1))
        .. (f or wire.f32(1)) .. ("\0"):rep(4) .. (e or wire.f64(0))
    end
    assert.is_true(snapshot.verify(head .. row() .. row() .. "\1"))
    assert.is_true(snapshot.verify(head .. row("\0",
      wire.hex("000000000000f87f"), wire.hex("0000c07f")) .. row() .. "\1"))
    local at = #head + 32
    for _, a in ipairs({ "\2", "\128", "\255" }) do
      bad(head .. row() .. row(a) .. "\1", "corrupt", at)
    end
    for _, x in ipairs({ "010000000000f87f", "000000000000f8ff",
      "010000000000f07f", "ffffffffffffffff", "0000000000feffff" }) do
      bad(head .. row() .. row(nil, wire.hex(x)) .. "\1", "corrupt", at + 8)
      bad(head .. row() .. row(nil, nil, nil, wire.hex(x)) .. "\1",
        "corrupt", at + 24)
    end
    for _, f in ipairs({ "0100c07f", "0000c0ff", "0100807f", "ffffffff" }) do
      bad(head .. row() .. row(nil, nil, wire.hex(f)) .. "\1", "corrupt",
        at + 16)
    end
    bad(head .. row() .. row():sub(1, 31), "truncated", #head)
  end)

  it("values: tags that are refused", function()
    for _, tag in ipairs({ 3, 4, 5, 0x0e, 0x0f, 0x12, 0x13, 0x1f }) do
      local bytes, at = entry("k", string.char(tag) .. ("\0"):rep(16))
      bad(bytes, "corrupt", at)
    end
  end)

  it("values: numbers", function()
    for _, x in ipairs({ "07010000000000f87f", "07000000000000f8ff",
      "07ffffffffffffffff" }) do
      local bytes, at = entry("k", wire.hex(x))
      bad(bytes, "corrupt", at, "NaN")
    end
    assert.is_true(snapshot.verify((entry("k",
      wire.hex("07000000000000f87f")))))
  end)

  it("values: keys", function()
    local nan = wire.hex("07000000000000f87f")
    for _, key in ipairs({ "\0", nan, "\8", "\9\1" .. n(1) .. n(1),
      "\16" .. ("\0"):rep(8), "\17" .. ("\0"):rep(8) }) do
      local bytes, at = entry("k", "\9\1" .. key .. n(1))
      bad(bytes, "corrupt", at + 2, "key")
    end
    local bytes, at = entry("k", wire.hash(s("a"), n(1), s("a"), n(2)))
    bad(bytes, "corrupt", at + 2 + 7, "twice")
    bytes, at = entry("k", wire.hash(n(5), n(1), "\7" .. wire.f64(5), n(2)))
    bad(bytes, "corrupt", at + 2 + 10, "twice")
    -- In the array part already: {1, 2, [2] = 3}.
    bytes, at = entry("k", "\13\3\1" .. n(1) .. n(2) .. n(2) .. n(3))
    bad(bytes, "corrupt", at + 13, "array")
  end)

  it("values: counts beyond the bytes left", function()
    for _, count in ipairs({ 2 ^ 16, 2 ^ 26, 2 ^ 31, 2 ^ 32 - 1 }) do
      for _, tag in ipairs({ "\9", "\10", "\12" }) do
        local bytes, at = entry("k", tag .. wire.u(count))
        bad(bytes, "truncated", at)
      end
      local bytes, at = entry("k", wire.u(0x20 + math.min(count,
        2 ^ 32 - 0x21)))
      bad(bytes, "truncated", at)
    end
    local bytes, at = entry("k", "\12\0")
    bad(bytes, "corrupt", at)
    bytes, at = entry("k", "\9\255\1\0\0\0" .. n(1) .. n(1))
    bad(bytes, "corrupt", at)
  end)

  it("values: nesting", function()
    local function nested(depth)
      return entry("k", ("\12\2"):rep(depth) .. "\8")
    end
    assert.is_true(snapshot.verify((nested(511))))
    local bytes, at = nested(512)
    bad(bytes, "limit", at + 1024)
    bytes, at = nested(100000)
    bad(bytes, "limit", at + 1024)
    bytes, at = entry("k", ("\9\1\33a"):rep(100000) .. "\8")
    bad(bytes, "limit", at + 2048)
  end)

  it("the end", function()
    local bytes = prelude()
    bad(bytes, "truncated", 25)
    assert.is_true(snapshot.verify(bytes .. "\1"))
    bad(bytes .. "\1\1", "corrupt", 26, "after the end")
    bad(bytes .. "\0", "corrupt", 25)
    bad(bytes .. "\2", "truncated", 26)
    bad(bytes .. "\2" .. n(1) .. n(1) .. "\1", "corrupt", 26)
    bad(bytes .. "\2" .. s("k"), "truncated", 28)
    bad(bytes .. "\2" .. s("k") .. n(1), "truncated", 33)
  end)

  it("reserved entries", function()
    local function reserved(key, value, offset)
      local bytes, at = entry("__engram." .. key, value)
      bad(bytes, "corrupt", at + offset)
    end
    reserved("allocator", n(1), 0)
    reserved("allocator", s("short"), 1)
    reserved("states", n(1), 0)
    reserved("states", wire.hash(s("a"), s("b")), 0)
    reserved("states", "\12\2" .. n(1), 2)
    reserved("states", "\12\2" .. s(""), 2)
    reserved("pipeline", n(1), 0)
    reserved("pipeline", wire.hash(s("accumulator"), n(-1)), 14)
    reserved("pipeline", wire.hash(s("accumulator"), s("x")), 14)
    reserved("pipeline", wire.hash(s("fixedStepCount"), n(0.5)), 17)
    reserved("pipeline", wire.hash(s("phases"), n(1)), 9)
    reserved("versions", wire.hash(s("A"), n(0)), 4)
    reserved("versions", wire.hash(n(1), n(1)), 2)
    local twice = prelude() .. "\2" .. s("__engram.pipeline") .. "\8\2"
      .. s("__engram.pipeline")
    bad(twice .. "\8\1", "corrupt", #twice - #s("__engram.pipeline"), "twice")
    assert.is_true(snapshot.verify((entry("__engram.unknown", n(1)))))
  end)
end)

describe("a limit of a load", function()
  it("is reported with its code by verify as well", function()
    local big = n(1) .. n(1) .. n(2 ^ 22) .. n(0) .. n(0)
      .. ("\0"):rep(2 ^ 25 + 8)
    local ok, _, code, at = snapshot.verify(big)
    assert.is_nil(ok)
    assert.equal("limit", code)
    assert.equal(10, at)
  end)
end)

describe("inspect", function()
  it("reads the prelude", function()
    local world = engram.newWorld()
    world:spawn(kit.Pos(1, 1), kit.Body())
    world:spawn(kit.Tag)
    world:despawn(world:spawn())
    assert.same({ version = 1, nextEntityId = 4, entityCount = 2,
      archetypeCount = 2, componentCount = 3,
      components = { "kit.Body", "kit.Pos", "kit.Tag" },
      fingerprints = { ["kit.Body"] = "", ["kit.Tag"] = "",
        ["kit.Pos"] = "x:f64,y:f64|16" } },
      snapshot.inspect(kit.save(world)))
    assert.same({ version = 1, nextEntityId = 1, entityCount = 0,
      archetypeCount = 0, componentCount = 0, components = {},
      fingerprints = {} }, snapshot.inspect(kit.save(engram.newWorld())))
  end)

  it("takes a buffer and the result of a save", function()
    local result = kit.everything():saveSnapshot()
    assert.same(snapshot.inspect(result.buffer), snapshot.inspect(result))
    assert.same(snapshot.inspect(result.buffer),
      snapshot.inspect(result.buffer:tostring()))
  end)

  it("sorts names, whatever order they have in the file", function()
    local info = snapshot.inspect(wire.snapshot({
      components = { { "b", "x:float|4" }, { "C" }, { "a\0z" } } }))
    assert.same({ "C", "a\0z", "b" }, info.components)
    assert.equal("x:float|4", info.fingerprints.b)
  end)

  it("does not look further than the component table", function()
    local bytes = kit.save(kit.everything())
    local info = snapshot.inspect(bytes)
    for cut = 1, 300, 13 do
      assert.same(info, snapshot.inspect(bytes:sub(1, #bytes - cut)))
    end
    local junk = bytes:sub(1, 300) .. ("\255"):rep(#bytes - 300)
    local got = snapshot.inspect(junk)
    if got then assert.equal(info.version, got.version) end
  end)

  it("fails as verify does", function()
    local bytes = kit.save(kit.everything())
    for cut = 0, 60 do
      local ok, message, code, at = snapshot.inspect(bytes:sub(1, cut))
      assert.is_nil(ok)
      assert.equal("string", type(message))
      assert.equal("truncated", code)
      assert.is_true(at <= cut)
    end
    local ok, _, code = snapshot.inspect(n(3))
    assert.is_nil(ok)
    assert.equal("version", code)
  end)
end)
