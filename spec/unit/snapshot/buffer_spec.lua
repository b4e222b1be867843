local buffer = require("string.buffer")
local kit = require("spec.support.snapkit")

local engram = kit.engram
local raises = kit.raises
local Pos, Bag = kit.Pos, kit.Bag

local function newWorld() return engram.newWorld() end

describe("a buffer given to a save", function()
  it("is the one returned, reset first", function()
    local world = kit.everything()
    local expected = kit.save(world)
    local out = buffer.new():put("old bytes")
    local result = world:saveSnapshot({ buffer = out })
    assert.equal(out, result.buffer)
    assert.equal(expected, out:tostring())
  end)

  it("can be used again and again, by several worlds", function()
    local out = buffer.new()
    for seed = 1, 10 do
      local world = newWorld()
      kit.fill(world, 40 - seed * 3, seed)
      local expected = kit.save(world)
      world:saveSnapshot({ buffer = out })
      kit.same(expected, out:tostring())
    end
  end)

  it("may have been read in part", function()
    local world = kit.everything()
    local out = buffer.new()
    world:saveSnapshot({ buffer = out })
    local expected = out:tostring()
    out:skip(100)
    world:saveSnapshot({ buffer = out })
    assert.equal(expected, out:tostring())
  end)

  it("is not there: each call has a fresh one", function()
    local world = newWorld()
    local a, b = world:saveSnapshot(), world:saveSnapshot()
    assert.not_equal(a.buffer, b.buffer)
    assert.equal(a.buffer:tostring(), b.buffer:tostring())
  end)

  it("is left empty by every error", function()
    local world = newWorld()
    local out = buffer.new()
    local function empties(options)
      out:reset():put("old")
      options.buffer = out
      raises({ "saveSnapshot" }, world.saveSnapshot, world, options)
      assert.equal(0, #out)
    end
    empties({ customData = 5 })
    empties({ customData = { f = print } })
    empties({ format = "xml" })
    empties({ colour = 1 })
    empties({ path = "/dev/null/none/file" })
    world:defer()
    empties({})
    world:commit()
    local bag = Bag()
    bag.f = print
    world:spawn(bag)
    empties({})
    bag.f = nil
    world:saveSnapshot({ buffer = out })
    assert.is_true(kit.verify(out))
  end)

  it("takes more than it had room for", function()
    local world = newWorld()
    for i = 1, 5000 do world:spawn(Pos(i, i)) end
    local out = buffer.new(16)
    world:saveSnapshot({ buffer = out })
    assert.is_true(#out > 5000 * 24)
    assert.is_true(kit.verify(out))
  end)
end)

describe("a source of a load", function()
  it("is a string, a buffer or the result of a save", function()
    local world = kit.everything()
    local result = world:saveSnapshot()
    local bytes = result.buffer:tostring()
    for _, src in ipairs({ bytes, result.buffer, result,
      { format = "binary", buffer = bytes },
      buffer.new():put(bytes) }) do
      local other = newWorld()
      other:loadSnapshot(src)
      kit.same(kit.contents(world), kit.contents(other))
    end
  end)

  it("is not consumed and not changed, loaded or refused", function()
    local world = kit.everything()
    local result = world:saveSnapshot()
    local bytes = result.buffer:tostring()
    for _ = 1, 3 do
      local other = newWorld()
      other:loadSnapshot(result)
      other:loadSnapshot(result.buffer)
      assert.equal(bytes, result.buffer:tostring())
    end
    local bad = buffer.new():put(bytes, "x")
    raises({ "offset" }, world.loadSnapshot, world, bad)
    assert.equal(bytes .. "x", bad:tostring())
  end)

  it("may begin anywhere in a buffer", function()
    local world = kit.everything()
    local bytes = kit.save(world)
    for skip = 1, 17 do
      local src = buffer.new():put(("."):rep(skip), bytes)
      src:skip(skip)
      local other = newWorld()
      other:loadSnapshot(src)
      kit.same(kit.contents(world), kit.contents(other))
    end
  end)

  it("can be loaded many times, into several worlds", function()
    local world = kit.everything()
    local out = world:saveSnapshot().buffer
    local others = { newWorld(), newWorld(), kit.everything() }
    for round = 1, 5 do
      for i, other in ipairs(others) do
        kit.fill(other, 10, round * i)
        other:loadSnapshot(out)
        kit.check(other)
        kit.same(kit.contents(world), kit.contents(other))
      end
    end
  end)

  it("may be the buffer the world saves into", function()
    local world = kit.everything()
    local out = buffer.new()
    local expected = kit.save(world)
    for _ = 1, 5 do
      world:saveSnapshot({ buffer = out })
      world:loadSnapshot(out)
      kit.same(expected, out:tostring())
    end
    kit.check(world)
  end)

  it("may be reset after the load", function()
    local world = kit.everything()
    local out = world:saveSnapshot().buffer
    local other = newWorld()
    other:loadSnapshot(out)
    out:free()
    collectgarbage()
    kit.same(kit.contents(world), kit.contents(other))
    kit.same(kit.save(world), kit.save(other))
  end)

  it("may borrow foreign memory", function()
    local world = kit.everything()
    local bytes = kit.save(world)
    local src = buffer.new()
    src:set(bytes)
    local other = newWorld()
    other:loadSnapshot(src)
    kit.same(kit.contents(world), kit.contents(other))
  end)
end)

describe("limits of a save", function()
  it("of bytes: raise before anything is written", function()
    local world = kit.everything()
    local bytes = kit.save(world)
    local out = buffer.new():put("old")
    raises({ "saveSnapshot", "limits.bytes", tostring(#bytes),
      tostring(#bytes - 1) }, world.saveSnapshot, world, { buffer = out,
      path = "/nowhere/at/all", limits = { bytes = #bytes - 1 } })
    assert.equal(0, #out)
    for size = 0, 400, 40 do
      raises({ "limits.bytes", tostring(size) }, world.saveSnapshot, world,
        { limits = { bytes = size } })
    end
    kit.check(world)
    world:saveSnapshot({ buffer = out, limits = { bytes = #bytes } })
    assert.equal(bytes, out:tostring())
  end)

  it("stop what grows by sharing, in bounded time and memory", function()
    local world = newWorld()
    local bag = Bag()
    local node = { "leaf" }
    for _ = 1, 60 do node = { node, node } end
    bag.tree = node
    local id = world:spawn(bag)
    local started = os.clock()
    raises({ "kit.Bag", "entity " .. id, "tree[1]", "1000000" },
      world.saveSnapshot, world, { limits = { bytes = 1e6 } })
    bag.tree = nil
    raises({ '"tree"', "1000000" }, world.saveSnapshot, world,
      { customData = { tree = node }, limits = { bytes = 1e6 } })
    assert.is_true(os.clock() - started < 2)
  end)

  it("of depth: count tables within tables", function()
    local world = newWorld()
    local bag = Bag()
    bag.a = { b = { c = {} } }
    world:spawn(bag)
    kit.save(world, { limits = { depth = 4 } })
    raises({ "limits.depth", "3" }, world.saveSnapshot, world,
      { limits = { depth = 3 } })
    raises({ "limits.depth" }, world.saveSnapshot, world,
      { customData = { x = { { { { {} } } } } }, limits = { depth = 4 } })
    assert.equal(kit.save(world), kit.save(world,
      { limits = { depth = 512, bytes = 2 ^ 53 } }))
  end)

  it("are checked", function()
    local world = newWorld()
    for _, limits in ipairs({ 5, { rows = 1 }, { bytes = -1 },
      { bytes = 0.5 }, { bytes = "1" }, { depth = 0 / 0 }, { depth = {} } })
    do
      raises({ "saveSnapshot", "limits" }, world.saveSnapshot, world,
        { limits = limits })
    end
  end)
end)
