-- The generic codec: every kind of value, in both directions, and against the
-- host's own serializer, whose format it shares. Never hand outside bytes to
-- that one; here it only reads what engram wrote.

local buffer = require("string.buffer")
local ffi = require("ffi")
local codec = require("engram.snapshot.codec")
local core = require("engram.core")
local values = require("spec.support.values")

local hex, same = values.hex, values.same

local scratch = codec.newScratch()

local function encode(value, limit)
  local stop, message, code = core.encode(scratch, 0, value, limit)
  if not stop then return nil, message, code end
  return codec.text(scratch, 0, stop)
end

local function decode(bytes)
  local stop, value, code, at = core.decode(bytes)
  if not stop then return nil, value, code, at end
  assert.equal(#bytes, stop)
  return true, value
end

-- Through all four ways that engram and the host can be combined.
local function checkBothWays(value)
  local bytes = assert(encode(value))
  local ok, back = decode(bytes)
  assert.is_true(ok)
  assert.is_true(same(value, back), hex(bytes:sub(1, 40)))
  assert.is_true(same(value, buffer.decode(bytes)), hex(bytes:sub(1, 40)))
  local foreign = buffer.encode(value)
  ok, back = decode(foreign)
  if ok then
    assert.is_true(same(value, back))
    assert.equal(bytes, encode(back))
  else -- the host writes NaN with its sign set, which is damage to engram
    assert.equal("NaN with a foreign bit pattern", back)
    assert.truthy(foreign:find("\7\0\0\0\0\0\0\248\255", 1, true))
  end
  local stop, trusted = core.decode(bytes, 0, #bytes, true)
  assert.equal(#bytes, stop)
  assert.is_true(same(value, trusted))
end

local function list(n)
  local t = {}
  for i = 1, n do t[i] = i % 3 end
  return t
end

local function map(n)
  local t = {}
  for i = 1, n do t["k" .. i] = i % 2 == 0 end
  return t
end

describe("values", function()
  it("keep every number bit for bit", function()
    for _, v in ipairs(values.NUMBERS) do
      checkBothWays(v)
      checkBothWays({ v })
      if v == v then checkBothWays({ [v] = v }) end
    end
  end)

  it("keep strings at each boundary of their length", function()
    for _, n in ipairs(values.SIZES) do
      checkBothWays(("\0x\255"):rep(n):sub(1, n))
    end
  end)

  it("keep lists and maps at each boundary of their size", function()
    for _, n in ipairs(values.SIZES) do
      checkBothWays(list(n))
      if n < 10000 then checkBothWays(map(n)) end
      local both = list(n)
      both.name, both[true], both[-1] = "x", false, 1.5
      checkBothWays(both)
      both[0] = "zero"
      checkBothWays(both)
    end
  end)

  it("keep 64-bit integers with their type", function()
    for _, text in ipairs({ "0LL", "0ULL", "1LL", "-1LL",
      "0x7fffffffffffffffLL", "0x8000000000000000ULL",
      "0xffffffffffffffffULL", "9007199254740993LL" }) do
      checkBothWays(loadstring("return " .. text)())
      checkBothWays({ id = loadstring("return " .. text)() })
    end
    checkBothWays(ffi.cast("int64_t", 0x8000000000000000ULL))
  end)

  it("keep holes, and nil alone", function()
    checkBothWays({ 1, nil, 3 })
    checkBothWays({ [2] = "b", [4] = "d", [1000000000] = 1 })
    assert.equal("00", hex(encode(nil)))
    assert.same({ 1, nil }, { core.decode("\0") })
  end)

  it("keep random trees", function()
    local seed = values.seed()
    math.randomseed(seed)
    for _ = 1, values.some(3000) do
      local value = values.value(math.random, 4)
      local bytes = assert(encode(value))
      local ok, back = decode(bytes)
      assert.is_true(ok and same(value, back), "EG_SEED=" .. seed)
      assert.is_true(same(value, buffer.decode(bytes)), "EG_SEED=" .. seed)
      assert.equal(bytes, encode(back), "EG_SEED=" .. seed)
    end
  end)

  it("are found at an offset, in a string or behind a pointer", function()
    local bytes = "??" .. encode({ a = 1 }) .. encode("two")
    local stop, value = core.decode(bytes, 2)
    assert.is_true(same({ a = 1 }, value))
    assert.same({ #bytes, "two" }, { core.decode(bytes, stop, #bytes) })
    local pointer = ffi.cast("const uint8_t *", bytes)
    assert.same({ #bytes, "two" }, { core.decode(pointer, stop, #bytes) })
    local box = ffi.new("uint8_t[?]", #bytes)
    ffi.copy(box, bytes, #bytes)
    assert.same({ #bytes, "two" }, { core.decode(box + 0, stop, #bytes) })
  end)

  it("need nothing that only other code has loaded", function()
    local script = [[
      local core = require("engram.core")
      local _, v = core.decode("\16\5\0\0\0\0\0\0\0")
      print(type(v), tostring(v))]]
    local pipe = io.popen(("LUA_CPATH=%q %s -e %q 2>&1"):format(package.cpath,
      os.getenv("LUAJIT") or "luajit", script))
    local out = pipe:read("*a")
    pipe:close()
    assert.equal("cdata\t5LL\n", out)
  end)
end)

describe("the canonical form", function()
  local GOLDEN = {
    { "00", nil }, { "01", false }, { "02", true },
    { "0600000000", 0 }, { "06ffffffff", -1 }, { "06ffffff7f", 2 ^ 31 - 1 },
    { "0600000080", -2 ^ 31 }, { "07000000000000e041", 2 ^ 31 },
    { "070000000000000080", -0.0 }, { "07000000000000f87f", 0 / 0 },
    { "07000000000000f07f", 1 / 0 }, { "07000000000000f83f", 1.5 },
    { "20", "" }, { "23610062", "a\0b" }, { "08", {} },
    { "0c02 02", { true } }, { "0c03 21612162", { "a", "b" } },
    { "0901 0600000000 02", { [0] = true } },
    { "0902 0601000000 02 0603000000 02", { true, nil, true } },
    { "0905 070000000000000ec0 01 06ffffffff 01 2131 01 01 01 02 01",
      { [true] = false, [false] = false, ["1"] = false, [-1] = false,
        [-3.75] = false } },
    { "10feffffffffffffff", -2LL }, { "11feffffffffffffff", -2ULL },
  }

  it("is what format.md says", function()
    for i = 1, #GOLDEN do
      assert.equal(GOLDEN[i][1]:gsub(" ", ""), hex(encode(GOLDEN[i][2])))
    end
  end)

  it("does not depend on how a table was filled", function()
    for _, n in ipairs({ 1, 2, 13, 40, 64, 65, values.some(3000) }) do
      local up, down, grown = {}, {}, {}
      for i = 1, n do
        up["k" .. i], up[i], up[i / 7 + 0.01] = i, i, i
        grown[i], grown["x" .. i], grown["k" .. i] = i, i, i
        grown[i / 7 + 0.01] = i
      end
      for i = n, 1, -1 do
        down[i / 7 + 0.01], down["k" .. i], down[i] = i, i, i
        grown["x" .. i] = nil
      end
      assert.equal(encode(up), encode(down))
      assert.equal(encode(up), encode(grown))
    end
  end)

  it("makes a list of 1 to n, whatever part of the table holds it", function()
    local t = {}
    for i = 300, 1, -1 do t[i] = i end
    for i = 1, 300 do t["x" .. i] = true end
    for i = 1, 300 do t["x" .. i] = nil end
    assert.equal("0c", hex(encode(t)):sub(1, 2))
    assert.equal(encode(t), encode({ unpack(t, 1, 300) }))
  end)

  it("orders keys by type, then numbers by value and strings by bytes",
    function()
      local keys = { -1e300, -5, -0.5, 0, 1e-300, 0.5, 3, 2 ^ 53, "", "\0",
        "\0\0", "\1", "A", "AB", "B", "a", "\127", "\128", "\255", false, true }
      local t, order = {}, {}
      for i = #keys, 1, -1 do t[keys[i]] = i end
      local bytes = encode(t)
      local at = 2
      while at < #bytes do
        local value
        at = core.decode(bytes, at)
        at, value = core.decode(bytes, at)
        order[#order + 1] = value
      end
      for i = 1, #keys do assert.equal(i, order[i]) end
    end)

  it("ignores metatables", function()
    local bait = setmetatable({ a = 1 }, {
      __index = function() error("read") end,
      __pairs = function() error("walked") end,
      __len = function() error("measured") end,
      __tostring = function() error("printed") end,
    })
    assert.equal(encode({ a = 1 }), encode(bait))
    assert.equal(encode({ { a = 1 } }), encode({ bait }))
  end)

  it("writes shared tables at each place", function()
    local shared = { 1 }
    assert.equal(encode({ { 1 }, { 1 }, { x = { 1 } } }),
      encode({ shared, shared, { x = shared } }))
  end)
end)

describe("a value that cannot be saved", function()
  local function refused(value, message, code)
    local before = assert(core.encode(scratch, 0, "kept")) -- 5 bytes
    local stop, text, got = core.encode(scratch, before, value)
    assert.is_nil(stop)
    assert.equal(message, text)
    assert.equal(code or "unsupported", got)
    assert.equal("$kept", codec.text(scratch, 0, before))
  end

  it("is named by its path", function()
    refused(print, "a function cannot be saved")
    refused({ inventory = { 1, 2, { owner = print } } },
      "inventory[3].owner: a function cannot be saved")
    refused({ io.stdout }, "[1]: a userdata cannot be saved")
    refused({ [true] = { [1.5] = { [-7] = coroutine.create(print) } } },
      "[true][1.5][-7]: a thread cannot be saved")
    refused({ ["a b"] = { ["\n\""] = { ["end"] = print } } },
      '["a b"]["\\010\\034"].end: a function cannot be saved')
    refused({ [("x"):rep(99)] = print },
      '["' .. ("x"):rep(40) .. '..."]: a function cannot be saved')
  end)

  it("may be a cdata, whose type is named", function()
    refused({ pos = ffi.new("struct { int x; }") == nil or ffi.new("int[3]") },
      "pos: ctype<int [3]> cannot be saved")
    refused({ p = ffi.cast("void *", 0) }, "p: ctype<void *> cannot be saved")
    refused({ c = 1i }, "c: ctype<complex> cannot be saved")
    refused({ i = ffi.new("int32_t", 1) }, "i: ctype<int> cannot be saved")
  end)

  it("may be a key", function()
    refused({ a = { [{}] = 1 } }, "a: a table as a key cannot be saved")
    refused({ a = { [1LL] = 1 } }, "a: a cdata as a key cannot be saved")
    refused({ [print] = 1 }, "a function as a key cannot be saved")
    refused({ a = { ["__engram.x"] = 1 } }, 'a["__engram.x"]: '
      .. "keys that begin with __engram. are reserved")
    assert.is_string(encode({ __engram = 1, ["__engra."] = 2 }))
  end)

  it("may be a cycle, close by or far off", function()
    local t = {}
    t.x = { y = t }
    refused(t, "x.y: a cycle cannot be saved", "cycle")
    t = {}
    t[1] = t
    refused(t, "[1]: a cycle cannot be saved", "cycle")
    local deep = {}
    local at = deep
    for _ = 1, 300 do
      at[1] = {}
      at = at[1]
    end
    at[1] = deep
    refused(deep, ("[1]"):rep(8) .. "..." .. ("[1]"):rep(4)
      .. ": a cycle cannot be saved", "cycle")
  end)

  it("may be too deep, however deep", function()
    local function nest(n)
      local t = {}
      for _ = 2, n do t = { t } end
      return t
    end
    checkBothWays(nest(100)) -- the host itself ends there
    local ok, back = decode(encode(nest(512)))
    assert.is_true(ok)
    assert.is_true(same(nest(512), back))
    for _, n in ipairs({ 513, 514, values.some(100000) + 514 }) do
      refused(nest(n), ("[1]"):rep(8) .. "..." .. ("[1]"):rep(4)
        .. ": nested deeper than 512 tables", "depth")
    end
  end)

  it("may be too large, also by sharing", function()
    local t = { "x" }
    for _ = 1, 64 do t = { t, t } end
    local stop, message, code = core.encode(scratch, 0, t, 100000)
    assert.is_nil(stop)
    assert.truthy(message:find("the data exceeds its limit of bytes", 1, true))
    assert.equal("limit", code)
  end)

  it("may be large by a byte", function()
    for _, value in ipairs({ "abc", 1, 1.5, true, { 1, 2 }, { a = "b" },
      { [false] = 5LL }, {} }) do
      local size = #encode(value)
      assert.equal(size, #encode(value, size))
      assert.is_nil((encode(value, size - 1)))
    end
  end)
end)

describe("a scratch", function()
  it("keeps what is before the offset, and its memory", function()
    local own = codec.newScratch()
    assert.equal(5, core.encode(own, 0, "head"))
    local long = ("x"):rep(values.some(100000))
    local stop = core.encode(own, 5, long)
    assert.equal("$head", codec.text(own, 0, 5))
    local address = codec.address(own)
    for _ = 1, 100 do assert.equal(stop, core.encode(own, 5, long)) end
    assert.equal(address, codec.address(own))
    core.release(own)
    assert.is_true(codec.address(own) == nil)
    assert.equal(5, core.encode(own, 0, "head"))
    assert.is_true(core.reserve(own, 1000000))
    assert.equal("$head", codec.text(own, 0, 5))
  end)

  it("cannot be mistaken", function()
    assert.has_error(function() core.encode({}, 0, 1) end)
    assert.has_error(function() core.encode(io.stdout, 0, 1) end)
    assert.has_error(function() core.encode(scratch, -1, 1) end)
    assert.has_error(function() core.encode(scratch, 0.5, 1) end)
    assert.has_error(function() core.encode(scratch, 2 ^ 40, 1) end)
    assert.has_error(function() core.encode(scratch, 0, 1, "x") end)
    assert.is_false(getmetatable(scratch))
  end)
end)
