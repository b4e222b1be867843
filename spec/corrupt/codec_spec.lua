-- Damaged values: the decoder gives an error with its place, or a value; it
-- never crashes, and asks for memory in proportion to the input only.

local ffi = require("ffi")
local codec = require("engram.snapshot.codec")
local core = require("engram.core")
local values = require("spec.support.values")

local check, hex, same, unhex = values.check, values.hex, values.same,
  values.unhex

local scratch = codec.newScratch()

local function encode(value)
  return codec.text(scratch, 0, assert(core.encode(scratch, 0, value)))
end

-- Values with every tag, small enough to change each byte.
local SAMPLES = {
  "00", "02", "0601000000", "07000000000000f83f", "07000000000000f87f", "08",
  "23616263", "10feffffffffffffff", "11feffffffffffffff",
  "0a03 01 02 20", "0b02 01 0601000000 01 2161 02", "0c03 2161 2162",
  "0d02 01 02 2178 0605000000", "0901 2161 0c02 0901 02 2162",
  "e0 00" .. ("61"):rep(0xc0), "0905 2161 00 2162 01 02 02 01 08 20 2161",
}

describe("a damaged value", function()
  -- bytes, code, offset, text
  local BAD = {
    { "", "truncated", 0, "input ends inside a value" },
    { "03", "corrupt", 0, "userdata is not allowed" },
    { "04 00000000", "corrupt", 0, "userdata is not allowed" },
    { "0e", "corrupt", 0, "dictionary entries are not allowed" },
    { "12 " .. ("00"):rep(16), "corrupt", 0, "complex numbers" },
    { "13", "corrupt", 0, "unknown tag" }, { "1f", "corrupt", 0, "unknown" },
    { "0901 0901 02 02 02", "corrupt", 2, "table as a key" },
    { "0901 00 02", "corrupt", 2, "nil as a key" },
    { "0901 10 0500000000000000 02", "corrupt", 2, "64-bit integer as a key" },
    { "0901 07 000000000000f87f 02", "corrupt", 2, "NaN as a key" },
    { "0902 2161 02 2161 01", "corrupt", 5, "key comes twice" },
    { "0902 2161 00 2161 01", "corrupt", 5, "key comes twice" },
    { "0902 0605000000 02 070000000000001440 01", "corrupt", 8, "twice" },
    { "0902 0600000000 02 070000000000000080 01", "corrupt", 8, "twice" },
    { "0d02 01 02 0601000000 02", "corrupt", 4, "in the array part" },
    { "07 010000000000f07f", "corrupt", 0, "NaN with a foreign" },
    { "07 000000000000f8ff", "corrupt", 0, "NaN with a foreign" },
    { "0c00", "corrupt", 0, "size 0" },
    { "ff 23000000 616263", "corrupt", 0, "longer form" },
    { "09 ff 01000000 2161 02", "corrupt", 0, "longer form" },
    { "0c ffffffffff", "truncated", 0, "more bytes than are left" },
    { "09 ffffffff7f", "truncated", 0, "more bytes than are left" },
    { "0c04 02 0c03 02 02", "truncated", 3, "more bytes than are left" },
    { "0c05 02 0904 01 02 02", "truncated", 3, "more bytes than are left" },
    { "ff 00000080", "truncated", 0, "string needs more bytes" },
    { "23 6162", "truncated", 0, "string needs more bytes" },
  }

  it("is refused with its place and kind", function()
    for _, bad in ipairs(BAD) do
      local stop, message, code, at = core.decode(unhex(bad[1]))
      assert.is_nil(stop, bad[1])
      assert.truthy(message:find(bad[4], 1, true), bad[1] .. ": " .. message)
      assert.equal(bad[2], code, bad[1])
      assert.equal(bad[3], at, bad[1])
    end
  end)

  it("is found at each length it is cut to", function()
    for _, sample in ipairs(SAMPLES) do
      local bytes = unhex(sample)
      assert.equal(#bytes, core.decode(bytes), sample)
      for cut = 0, #bytes - 1 do
        for trusted = 0, 1 do
          local stop, _, code, at = core.decode(bytes:sub(1, cut), 0, cut,
            trusted == 1)
          check(stop == nil and code == "truncated" and at <= cut, sample)
        end
      end
    end
  end)

  it("is refused, or is a value, whatever byte is changed", function()
    local read = 0
    for _, sample in ipairs(SAMPLES) do
      local bytes = unhex(sample)
      local box = ffi.new("uint8_t[?]", #bytes)
      for at = 0, math.min(#bytes, 40) - 1 do
        ffi.copy(box, bytes, #bytes)
        for byte = 0, 255, values.STEP do
          box[at] = byte
          local stop, value = core.decode(box + 0, 0, #bytes)
          if stop then
            read = read + 1
            check(stop <= #bytes)
            local _, back = core.decode(encode(value))
            check(same(value, back))
          else
            check(type(value) == "string")
          end
          core.decode(box + 0, 0, #bytes, true) -- no crash
        end
      end
    end
    assert.is_true(read > values.some(1000))
  end)

  it("may be any bytes", function()
    local seed = values.seed()
    math.randomseed(seed)
    local random, box = math.random, ffi.new("uint8_t[64]")
    for _ = 1, values.some(50000) do
      local size = random(64)
      for i = 0, size - 1 do
        box[i] = random(3) == 1 and random(0, 255) or random(0, 0x24)
      end
      local stop, value = core.decode(box + 0, 0, size)
      local again, trusted = core.decode(box + 0, 0, size, true)
      if stop then
        check(stop == again and same(value, trusted), "EG_SEED=" .. seed)
      end
    end
  end)
end)

describe("a claim", function()
  local function memoryOf(bytes, trusted)
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage("count")
    local stop = core.decode(bytes, 0, #bytes, trusted)
    local used = (collectgarbage("count") - before) * 1024
    collectgarbage("restart")
    return used, stop
  end

  -- Each table claims as many entries as bytes are left behind it.
  local function claims(tag, levels, size)
    local out = {}
    for i = 1, levels do
      local left = size - i * 6
      if tag == 9 then left = math.floor(left / 2) - 1 end
      out[i] = string.char(tag, 0xff, bit.band(left, 255),
        bit.band(bit.rshift(left, 8), 255), bit.band(bit.rshift(left, 16), 255),
        0)
      if tag == 9 then out[i] = out[i] .. "\6" .. ("\1"):rep(4) end
    end
    local head = table.concat(out)
    return head .. ("\2"):rep(size - #head)
  end

  it("is believed as far as the input can fill it", function()
    for _, trusted in ipairs({ false, true }) do
      for _, tag in ipairs({ 9, 0x0a, 0x0c }) do
        for _, levels in ipairs({ 1, 2, values.some(50), values.some(500) }) do
          local bytes = claims(tag, levels, values.some(100000))
          assert.is_true(memoryOf(bytes, trusted) < 100 * #bytes)
        end
      end
      assert.is_true(memoryOf("\12\255\255\255\255\7", trusted) < 1000)
      assert.is_true(memoryOf("\9\255\255\255\255\7", trusted) < 1000)
      assert.is_true(memoryOf("\255\255\255\255\127", trusted) < 1000)
    end
  end)

  it("of an honest value is no problem", function()
    local t = {}
    for i = 1, values.some(10000) do t[i] = { { {} } } end
    local bytes = encode(t)
    local used, stop = memoryOf(bytes, false)
    assert.equal(#bytes, stop)
    assert.is_true(used < 100 * #bytes)
  end)

  it("of depth is limited", function()
    for _, head in ipairs({ "\12\2", "\10\1", "\9\1\2" }) do
      for _, trusted in ipairs({ false, true }) do
        local bytes = head:rep(512) .. "\2"
        assert.equal(#bytes, core.decode(bytes, 0, #bytes, trusted))
        for _, n in ipairs({ 513, 100000 }) do
          bytes = head:rep(n) .. "\2"
          local stop, message, code, at = core.decode(bytes, 0, #bytes, trusted)
          assert.is_nil(stop)
          assert.equal("nested too deep", message)
          assert.equal("limit", code)
          assert.equal(512 * #head, at)
        end
      end
    end
  end)

  it("of many keys takes time in proportion", function()
    local t = {}
    for i = 1, values.some(200000) do t["key" .. i] = i end
    local bytes = encode(t)
    local started = os.clock()
    local stop, back = core.decode(bytes)
    assert.equal(#bytes, stop)
    assert.is_true(os.clock() - started < 5)
    assert.is_true(same(t, back))
  end)
end)

describe("the decoder", function()
  it("cannot be misled about where the bytes are", function()
    assert.has_error(function() core.decode("abc", 4) end)
    assert.has_error(function() core.decode("abc", 0, 4) end)
    assert.has_error(function() core.decode("abc", 2, 1) end)
    assert.has_error(function() core.decode("abc", -1) end)
    assert.has_error(function() core.decode({}, 0, 1) end)
    assert.has_error(function() core.decode(nil) end)
    assert.has_error(function() core.decode(io.stdout, 0, 1) end)
    local pointer = ffi.cast("const uint8_t *", "abc")
    assert.has_error(function() core.decode(pointer, 0) end)
    assert.has_error(function() core.decode(ffi.new("double[1]"), 0, 8) end)
    assert.equal("00", hex(encode(nil)))
  end)
end)
