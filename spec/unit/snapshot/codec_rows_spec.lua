-- Rows of components: the code generated for their fields gives the bytes, and
-- reads the rows, that the generic codec does, whatever is in them.

local ffi = require("ffi")
local codec = require("engram.snapshot.codec")
local copy = require("engram.ecs.copy")
local core = require("engram.core")
local values = require("spec.support.values")

local check, hex, same, some = values.check, values.hex, values.same,
  values.some

local scratch, reference = codec.newScratch(), codec.newScratch()
local Instance = { shared = "of the container" }
Instance.__index = Instance

-- What the registry says of a component without hooks.
local function component(fields, defaults, plain)
  defaults = defaults or {}
  local function adopt(t)
    t.componentType = nil
    for i = 1, #fields do
      local name = fields[i]
      if rawget(t, name) == nil then rawset(t, name, defaults[i]) end
    end
    return setmetatable(t, Instance)
  end
  return { kind = "table", name = "Test", fields = fields, defaults = defaults,
    instanceMt = Instance, adoptable = not plain, adopt = adopt }
end

local function instances(rows)
  for i = 1, #rows do setmetatable(rows[i], Instance) end
  return rows
end

local function generic(info, column, first, last)
  local stop, message, code, row = core.encodeRows(reference, 0, column, first,
    last, info.fields)
  if not stop then return nil, message, row, code end
  return codec.text(reference, 0, stop)
end

local function write(info, column, rows, first)
  local stop, message, row, code = codec.write(info, scratch, 0, column, rows,
    first)
  if not stop then return nil, message, row, code end
  return codec.text(scratch, 0, stop)
end

-- Writes both ways, several times, and reads both ways.
local function checkRows(info, column)
  local n = #column
  local bytes = assert(generic(info, column, 1, n))
  for _ = 1, 3 do check(write(info, column, n) == bytes, "other bytes") end
  local back, plain = {}, {}
  assert.equal(#bytes, codec.read(info, bytes, 0, #bytes, back, n))
  assert.equal(#bytes, core.decodeRows(bytes, 0, #bytes, plain, 1, n))
  for i = 1, n do
    if codec.isDirect(info) then
      check(getmetatable(back[i]) == Instance)
      plain[i] = info.adopt(plain[i])
    else
      check(getmetatable(back[i]) == nil)
    end
    check(same(plain[i], back[i]), i)
  end
  return bytes
end

local function plainRows(n)
  local rows = {}
  for i = 1, n do rows[i] = { hp = i, maxHp = 100, name = "e" .. i } end
  return instances(rows)
end

local health = component({ "hp", "maxHp", "name" })

describe("rows with fields", function()
  it("are a hash with the fields in declared order, then other keys", function()
    local row = { name = "x", hp = 1, maxHp = 2, zeal = 3, ally = true,
      [2] = "two", [true] = 0.5, componentType = Instance }
    assert.equal((("0907 226870 0601000000 256d61784870 0602000000"
      .. "246e616d65 2178 0602000000 2374776f 24616c6c79 02"
      .. "247a65616c 0603000000 02 07000000000000e03f"):gsub(" ", "")),
      hex(write(health, { row }, 1)))
  end)

  it("leave out fields that are nil, and are empty without any", function()
    assert.equal("0901226870" .. "0601000000",
      hex(write(health, { { hp = 1 } }, 1)))
    assert.equal("08", hex(write(health, { {} }, 1)))
    assert.equal("08", hex(write(health, { { componentType = 1 } }, 1)))
    assert.equal("0c0202", hex(write(health, { { true } }, 1)))
  end)

  it("are written alike by both ways, whatever their values", function()
    local rows = plainRows(some(300) + 2)
    local function add(row) rows[#rows + 1] = row end
    for _, v in ipairs(values.NUMBERS) do
      add({ hp = v, maxHp = 1, name = "x" })
      add({ hp = 1, maxHp = 1, name = v })
    end
    for _, n in ipairs(values.SIZES) do
      add({ hp = 1, maxHp = 1, name = ("\0\255"):rep(n):sub(1, n) })
      add({ hp = ("z"):rep(n), maxHp = 1, name = "x" })
    end
    for i = 1, 40 do
      add({ hp = i % 3 == 0, maxHp = i % 2 == 0, name = "x" })
    end
    add({ maxHp = 1, name = "x" })
    add({})
    add({ hp = 1, maxHp = { 1, { x = "y" } }, name = "x" })
    add({ hp = 5LL, maxHp = 2ULL ^ 63, name = "x" })
    add({ hp = 1, maxHp = 1, name = "x", componentType = health })
    for i = 1, 3 do add({ hp = i, maxHp = 1, name = "x" }) end
    checkRows(health, instances(rows))
  end)

  it("do not take fields from the container", function()
    local info = component({ "shared", "hp" })
    checkRows(info, instances({ { hp = 1 }, { shared = false, hp = 2 } }))
    assert.equal("0901" .. "226870" .. "0601000000",
      hex(write(info, instances({ { hp = 1 } }), 1)))
  end)

  it("may have any names", function()
    for _, names in ipairs({ { "end", "a b", "]]", "\0", "" },
      { "x\"\\\n\r'", "%s$name", "ü", "1", "_" },
      { ("k"):rep(64), ("k"):rep(63) .. "x", "k" },
      { ("k"):rep(65) }, { "__engram" }, { "abc", "abcd", "abcde", "abcdef" },
      { "p", "t", "v", "at", "row", "data", "column", "put", "spare" } }) do
      local rows = {}
      for i = 1, some(190) + 10 do
        rows[i] = {}
        for k, name in ipairs(names) do rows[i][name] = i * k end
      end
      checkRows(component(names), instances(rows))
    end
  end)

  it("may be many or none", function()
    for _, n in ipairs(some(2) == 2 and { 0, 1, 2, 23, 24, 25, 64, 65, 300 }
      or { 0, 24, 65 }) do
      local names = {}
      for i = 1, n do names[i] = "field" .. i end
      local rows = {}
      for i = 1, some(140) + 10 do
        rows[i] = {}
        for k = 1, n do rows[i][names[k]] = i + k end
      end
      checkRows(component(names), instances(rows))
    end
    local info = component({})
    info.fields = nil
    checkRows(info, instances({ { b = 1, a = 2 }, {}, { 1, 2, 3 } }))
  end)

  it("are found whatever the order of insertion and the size of the table",
    function()
      local rows = {}
      for i = 1, some(500) + 99 do
        local t = {}
        for k = 1, i % 40 do t["junk" .. k] = k end
        for k = 1, i % 40 do t["junk" .. k] = nil end
        if i % 2 == 0 then t.name, t.hp = "n", 1 else t.hp, t.name = 1, "n" end
        if i % 3 == 0 then t.maxHp = 9 end
        rows[i] = t
      end
      checkRows(health, instances(rows))
    end)

  it("may be some of a column", function()
    local rows = plainRows(1000)
    for _, range in ipairs({ { 1, 0 }, { 1, 1 }, { 5, 255 }, { 5, 257 },
      { 300, 129 }, { 1000, 1 } }) do
      local first, n = range[1], range[2]
      local bytes = write(health, rows, n, first)
      assert.equal(generic(health, rows, first, first + n - 1), bytes)
      local back = { "kept" }
      assert.equal(#bytes, codec.read(health, bytes, 0, #bytes, back, n, 2))
      assert.equal("kept", back[1])
      assert.equal(n + 1, #back)
      if n > 0 then assert.is_true(same(rows[first], back[2])) end
    end
  end)
end)

describe("an undeclared key", function()
  it("is never lost, in one row of 10,000, wherever that is", function()
    local n = some(10000)
    local rows = plainRows(n)
    local bytes = checkRows(health, rows)
    local function checkBytes(larger)
      local now = write(health, rows, n)
      assert.is_true(now == generic(health, rows, 1, n))
      assert.equal(larger, #now > #bytes)
    end
    for _, at in ipairs({ 1, math.min(n, 256), math.min(n, 257), n / 2,
      n }) do
      for _, key in ipairs({ "extra", 1, 0.5, true, "hp2", "" }) do
        rawset(rows[at], key, "kept")
        checkBytes(true)
        rows[at][key] = nil
      end
      -- In place of a declared one, so that the number of keys is usual.
      rows[at].other, rows[at].maxHp = "longer", nil
      checkBytes(true)
      rows[at].other, rows[at].maxHp = nil, 100
    end
    rows[n / 2].extra = { "kept" }
    checkRows(health, rows)
    rows[n / 2].extra = nil
    assert.equal(bytes, checkRows(health, rows))
  end)

  it("is never lost while a neighbour lacks a field", function()
    local rows = plainRows(300)
    rows[10].maxHp, rows[11].extra = nil, 1
    rows[12].name, rows[12].extra = nil, 2
    checkRows(health, rows)
  end)

  it("may be in every row", function()
    local rows = plainRows(some(5000))
    for i = 1, #rows do rows[i].extra = i end
    checkRows(health, rows)
  end)
end)

describe("a row that cannot be saved", function()
  local function refused(info, rows, row, message, code)
    for _ = 1, 2 do
      local bytes, text, at, got = write(info, rows, #rows)
      assert.is_nil(bytes)
      assert.same({ message, row, code or "unsupported" }, { text, at, got })
    end
    local bytes, text, at = generic(info, rows, 1, #rows)
    assert.is_nil(bytes)
    assert.same({ message, row }, { text, at })
  end

  it("is named, with the path in it", function()
    local rows = plainRows(400)
    rows[301].name = { list = { 1, print } }
    refused(health, rows, 301, "name.list[2]: a function cannot be saved")
    rows[301].name = nil
    rows[301].extra = { [1] = { owner = io.stdout } }
    refused(health, rows, 301, "extra[1].owner: a userdata cannot be saved")
    rows[301].extra = rows[301]
    refused(health, rows, 301, "extra: a cycle cannot be saved", "cycle")
    rows[301] = 7
    refused(health, rows, 301, "table expected, got number")
    rows[301] = { hp = 1, ["__engram.x"] = 2 }
    refused(health, rows, 301, '["__engram.x"]: '
      .. "keys that begin with __engram. are reserved")
    refused(component({ "a", "__engram.y" }),
      instances({ { a = 1 }, { a = 1, ["__engram.y"] = 1 } }), 2,
      '["__engram.y"]: keys that begin with __engram. are reserved')
  end)

  it("is one that makes the data too large", function()
    local rows = plainRows(1000)
    local size = #generic(health, rows, 1, 1000)
    assert.equal(size, codec.write(health, scratch, 0, rows, 1000, 1, size))
    for _, limit in ipairs({ size - 1, size / 2, 100, 10, 0 }) do
      local stop, message, row, code = codec.write(health, scratch, 0, rows,
        1000, 1, math.floor(limit))
      assert.is_nil(stop)
      assert.truthy(message:find("the data exceeds its limit", 1, true))
      assert.equal("limit", code)
      local _, _, _, expected = core.encodeRows(reference, 0, rows, 1, 1000,
        health.fields, math.floor(limit))
      assert.equal(expected, row)
    end
  end)
end)

describe("rows read back", function()
  it("get defaults for fields that are missing, and false counts", function()
    local info = component({ "hp", "alive", "name", "tag" },
      { 100, true, "none" })
    local rows = instances({ { hp = 1 }, { alive = false, name = "x" }, {},
      { tag = 5 }, { alive = false, hp = 0, name = "", tag = false } })
    for i = 6, 400 do rows[i] = setmetatable({ hp = i }, Instance) end
    local bytes = checkRows(info, rows)
    local back = {}
    codec.read(info, bytes, 0, #bytes, back, 400)
    assert.is_true(same({ hp = 1, alive = true, name = "none" }, back[1]))
    assert.is_true(same({ hp = 100, alive = false, name = "x" }, back[2]))
    assert.is_true(same({ hp = 400, alive = true, name = "none" }, back[400]))
  end)

  it("get their own copy of a table default", function()
    local default = { 1, { 2 } }
    local info = component({ "hp", "list" }, { nil, default })
    local rows = {}
    for i = 1, 400 do rows[i] = { hp = i } end
    local bytes = assert(write(info, instances(rows), 400))
    function info.adopt(t)
      if t.list == nil then t.list = copy.deep(default) end
      return setmetatable(t, Instance)
    end
    local back = {}
    assert.equal(#bytes, codec.read(info, bytes, 0, #bytes, back, 400))
    assert.is_true(same({ hp = 1, list = { 1, { 2 } } }, back[1]))
    assert.is_false(rawequal(back[1].list, back[2].list))
    assert.is_false(rawequal(back[1].list, default))
    assert.is_false(rawequal(back[1].list[2], default[2]))
  end)

  it("are plain tables for a component that makes its own instances",
    function()
      local info = component({ "hp", "name" }, { 5, "x" }, true)
      local rows = {}
      for i = 1, 300 do
        rows[i] = { hp = i, name = i % 2 == 0 and "n" or nil }
      end
      rows[299].extra = 1
      local bytes = checkRows(info, instances(rows))
      local back = {}
      codec.read(info, bytes, 0, #bytes, back, 300)
      for i = 1, 300 do assert.is_true(same(rows[i], back[i])) end
    end)

  it("may have been written with other fields", function()
    local rows = plainRows(300)
    local bytes = assert(write(health, rows, 300))
    for _, names in ipairs({ { "name", "hp", "maxHp" }, { "hp" }, { "other" },
      { "hp", "maxHp", "name", "new" }, {} }) do
      local back = {}
      local info = component(names)
      assert.equal(#bytes, codec.read(info, bytes, 0, #bytes, back, 300))
      for i = 1, 300 do assert.is_true(same(rows[i], back[i])) end
    end
  end)

  it("never have an own componentType", function()
    local stop = core.encode(scratch, 0, { hp = 1, componentType = "forged" })
    local back = {}
    assert.equal(stop, codec.read(health, codec.address(scratch), 0, stop, back,
      1))
    assert.is_nil(rawget(back[1], "componentType"))
  end)

  -- Reads both ways; the results must be the same.
  local function checkDamaged(info, box, size, rows)
    local back, plain = {}, {}
    local got = { codec.read(info, box, 0, size, back, rows) }
    local expected = { core.decodeRows(box, 0, size, plain, 1, rows) }
    for i = 1, rows do
      -- The generic decoder lets these pass, its caller does not.
      if type(plain[i]) ~= "table" and (expected[1] or plain[i] ~= nil) then
        return assert.is_nil(got[1])
      end
    end
    assert.same(expected, got)
    if not got[1] then return end
    for i = 1, rows do
      check(same(info.adopt(plain[i]), back[i]))
    end
  end

  it("are as the generic decoder has them, or refused as by it, whatever is "
    .. "changed", function()
    local rows = instances({ { hp = 7, maxHp = 1.5, name = "ab" },
      { hp = -0.0, name = ("y"):rep(200) }, { maxHp = true, name = "" },
      { hp = 1, maxHp = 2, name = "last of them" } })
    local info = component({ "hp", "maxHp", "name" }, { 3, "d" })
    local bytes = assert(write(info, rows, 4))
    for _ = 1, 100 do codec.read(info, bytes, 0, #bytes, {}, 4) end
    local box = ffi.new("uint8_t[?]", #bytes)
    for at = 0, #bytes - 1 do
      if at < 60 or at > 210 then
        ffi.copy(box, bytes, #bytes)
        for byte = 0, 255, at < 20 and values.STEP or 7 * values.STEP do
          box[at] = byte
          checkDamaged(info, box + 0, #bytes, 4)
        end
      end
    end
  end)

  it("are refused wherever they are cut", function()
    local rows = plainRows(5)
    local bytes = assert(write(health, rows, 5))
    for cut = 0, #bytes - 1 do
      local stop, _, code, at, row = codec.read(health, bytes:sub(1, cut), 0,
        cut, {}, 5)
      check(stop == nil and code == "truncated" and at <= cut and row >= 1
        and row <= 5)
    end
  end)
end)

describe("strings", function()
  local info = { kind = "scalar", name = "Label", scalarKind = "string",
    scalarDefault = "none" }

  it("are stored as {value = string}, by both ways", function()
    local column = {}
    for i = 1, 1000 do column[i] = "s" .. i end
    for i, n in ipairs(values.SIZES) do column[i * 9] = ("\0\1"):rep(n) end
    local bytes = assert(write(info, column, 1000))
    local stop = core.encodeStrings(reference, 0, column, 1, 1000)
    assert.equal(codec.text(reference, 0, stop), bytes)
    local _, first = core.decode(bytes)
    assert.is_true(same({ value = "s1" }, first))
    local back = {}
    assert.equal(#bytes, codec.read(info, bytes, 0, #bytes, back, 1000))
    assert.is_true(same(column, back))
  end)

  it("have their default where there is none", function()
    local stop = core.encodeRows(scratch, 0, { { value = "a" }, {},
      { other = 1 } }, 1, 3)
    local back = {}
    assert.equal(stop, codec.read(info, codec.address(scratch), 0, stop, back,
      3))
    assert.same({ "a", "none", "none" }, back)
  end)

  it("are refused when they are none", function()
    assert.same({ nil, "string expected, got number", 2, "unsupported" },
      { codec.write(info, scratch, 0, { "a", 5 }, 2) })
    local stop = core.encodeRows(scratch, 0, { { value = "a" }, { value = 5 } },
      1, 2)
    assert.same({ nil, "value: string expected, got number", "schema", 10, 2 },
      { codec.read(info, codec.address(scratch), 0, stop, {}, 2) })
    stop = core.encode(scratch, 0, 5)
    assert.same({ nil, "table expected, got number", "corrupt", 0, 1 },
      { codec.read(info, codec.address(scratch), 0, stop, {}, 1) })
  end)
end)
