local ffi = require("ffi")
local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local raises = kit.raises

local function save(data)
  return kit.save(engram.newWorld(), { customData = data })
end

-- The decoded entries of a snapshot's data part, in file order.
local function entries(bytes)
  local snap = ffi.new("eg_snap *[1]")
  assert(kit.C.eg_snap_open(nil, bytes, #bytes, nil, snap, nil) == 0)
  local entry, out, i = ffi.new("eg_snap_entry"), {}, 0
  while kit.C.eg_snap_entry_at(snap[0], i, entry) == 0 do
    local from = tonumber(entry.value)
    local stop, value = require("engram.core").decode(bytes, from)
    assert.equal(from + tonumber(entry.value_len), stop)
    out[i + 1] = { ffi.string(entry.key, entry.key_len), value }
    i = i + 1
  end
  kit.C.eg_snap_close(snap[0])
  return out
end

describe("custom data", function()
  it("is written behind the reserved entries, ordered by key", function()
    local list = entries(save({ b = 1, a = { x = 2 }, ["10"] = true,
      ["2"] = "two", [""] = 0, ["a\0"] = "z" }))
    local keys = {}
    for i, item in ipairs(list) do keys[i] = item[1] end
    assert.same({ "__engram.allocator", "__engram.pipeline", "", "10", "2",
      "a", "a\0", "b" }, keys)
    assert.same({ x = 2 }, list[6][2])
    assert.is_true(list[4][2])
  end)

  it("comes back exactly", function()
    local data = {
      text = "a\0b\255", yes = true, no = false, zero = -0.0, inf = 1 / 0,
      nan = 0 / 0, big = 18446744073709551615ULL, low = -2LL ^ 62,
      list = { 1, 2, { 3 } }, holes = { [3] = 1, [-1] = 2, [0.5] = 3 },
      empty = {}, mixed = { 1, x = { [true] = { "deep" } } },
    }
    local got = {}
    for _, item in ipairs(entries(save(data))) do got[item[1]] = item[2] end
    for _, key in ipairs(kit.sortedKeys(data)) do
      assert.equal(kit.show(data[key]), kit.show(got[key]), key)
    end
  end)

  it("does not depend on the order of insertion", function()
    local keys = {}
    for i = 1, 60 do keys[i] = ("k%d"):format(i * 37 % 61) end
    local one, two = {}, {}
    for i = 1, 60 do one[keys[i]] = { a = i, b = i } end
    for i = 60, 1, -1 do two[keys[i]] = { b = i, a = i } end
    assert.equal(save(one), save(two))
  end)

  it("is not changed and not kept", function()
    local inner = { 1 }
    local data = { a = inner, b = inner }
    local bytes = save(data)
    inner[1] = 2
    assert.same({ a = { 2 }, b = { 2 } }, data)
    for _, item in ipairs(entries(bytes)) do
      if item[1] == "a" then assert.same({ 1 }, item[2]) end
    end
  end)

  it("drops metatables and runs no metamethod", function()
    local loud = setmetatable({ x = 1 }, { __index = error, __pairs = error })
    local data = setmetatable({ k = loud }, { __index = error,
      __pairs = error })
    local list = entries(save(data))
    assert.same({ "k", { x = 1 } }, list[3])
  end)

  it("may be empty or missing", function()
    local bytes = save(nil)
    assert.equal(bytes, save({}))
    assert.equal(2, #entries(bytes))
  end)

  it("may hold instances, stored plainly", function()
    local list = entries(save({ body = kit.Body(1, 2, "n") }))
    assert.same({ hp = 1, maxHp = 2, name = "n" }, list[3][2])
  end)

  it("is skipped by a load", function()
    local world = kit.everything()
    local bytes = kit.save(world, { customData = { a = 1 } })
    local other = engram.newWorld()
    other:loadSnapshot(bytes)
    kit.same(kit.save(world), kit.save(other))
  end)

  it("must be a table with string keys", function()
    raises({ "saveSnapshot", "customData", "table" }, save, 5)
    raises({ "customData" }, save, "x")
    for _, key in ipairs({ 1, true, 1.5 }) do
      raises({ "saveSnapshot", "customData", "string" }, save,
        { a = 1, [key] = 2 })
    end
    raises({ "customData" }, save, { [{}] = 1 })
  end)

  it("must not have keys that begin with __engram.", function()
    for _, key in ipairs({ "__engram.", "__engram.allocator", "__engram.x" }) do
      raises({ "saveSnapshot", key, "reserved" }, save, { [key] = 1 })
    end
    raises({ "saveSnapshot", "__engram.y" }, save, { a = { { ["__engram.y"]
      = 1 } } })
    assert.is_true(kit.verify(save({ ["__engram"] = 1, ["_engram."] = 2,
      ["x__engram."] = 3 })))
  end)

  it("raises with key and path for what cannot be saved", function()
    local cycle = { a = {} }
    cycle.a.b = cycle
    local deep = {}
    local at = deep
    for _ = 1, 600 do
      at[1] = {}
      at = at[1]
    end
    for _, case in ipairs({ { print, "function" }, { io.stdout, "userdata" },
      { coroutine.create(print), "thread" }, { ffi.new("int[1]"), "int" },
      { kit.Pos(1, 2), "kit_Pos" }, { cycle, "cycle" }, { deep, "512" } }) do
      raises({ "saveSnapshot", '"mine"', "list[2]", case[2] }, save,
        { other = 1, mine = { list = { 0, case[1] } } })
      raises({ "saveSnapshot", '"top"', case[2] }, save, { top = case[1] })
    end
  end)

  it("may be large", function()
    local data = { blob = ("x"):rep(3e6), list = {} }
    for i = 1, 20000 do data.list[i] = { i } end
    assert.is_true(kit.verify(save(data)))
  end)
end)

describe("data entries written by hand", function()
  it("may repeat a key; an empty key is one", function()
    local bytes = wire.snapshot({ entries = { { "a", wire.number(1) },
      { "a", wire.number(2) }, { "", wire.bool(true) } } })
    assert.is_true(kit.verify(bytes))
    engram.newWorld():loadSnapshot(bytes)
  end)
end)
