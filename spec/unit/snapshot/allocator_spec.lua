local kit = require("spec.support.snapkit")
local wire = require("spec.support.snapwire")

local engram = kit.engram
local raises, refused = kit.raises, kit.refused
local Pos, Num = kit.Pos, kit.Num

local GENERATION = 2 ^ 22
local LAST = 2 ^ 31 - 1

local function newWorld(options) return engram.newWorld(options) end

local function loaded(bytes, options)
  local world = newWorld(options)
  world:loadSnapshot(bytes)
  kit.check(world)
  return world
end

local function copyOf(world, options)
  return loaded(kit.save(world), options)
end

describe("dead handles", function()
  it("stay dead, whatever is created later", function()
    local world = newWorld()
    local dead = {}
    for round = 1, 3 do
      local ids = {}
      for i = 1, 20 do ids[i] = world:spawn(Num(round)) end
      for i = 1, 20, round do
        world:despawn(ids[i])
        dead[#dead + 1] = ids[i]
      end
    end
    local copy = copyOf(world)
    for _ = 1, 100 do
      for _, id in ipairs(dead) do
        assert.is_false(copy:isAlive(id))
        assert.is_nil(copy:get(id, Num))
      end
      copy:spawn(Num(0))
    end
  end)

  it("die for good also when the target world had them alive", function()
    local world = newWorld()
    local id = world:spawn(Num(1))
    world:despawn(id)
    local other = newWorld()
    assert.equal(id, other:spawn(Num(2)))
    other:loadSnapshot(kit.save(world))
    assert.is_false(other:isAlive(id))
    for _ = 1, 5 do assert.not_equal(id, other:spawn()) end
  end)
end)

describe("new ids after a load", function()
  local function continues(world, options)
    local copy = copyOf(world, options)
    assert.same(kit.nextIds(world, 40), kit.nextIds(copy, 40))
    kit.check(world)
    kit.check(copy)
  end

  it("are those the original world would give", function()
    local world = newWorld()
    continues(world)
    local ids = {}
    for i = 1, 30 do ids[i] = world:spawn() end
    for _, i in ipairs({ 5, 1, 30, 17, 2, 29, 16, 18 }) do
      world:despawn(ids[i])
    end
    continues(world)
  end)

  it("follow the order of the free list, not of slots", function()
    local world = newWorld()
    for i = 1, 10 do world:spawn(Num(i)) end
    for _, slot in ipairs({ 3, 9, 1, 2, 8 }) do world:despawn(slot) end
    local copy = copyOf(world)
    assert.same({ GENERATION + 8, GENERATION + 2, GENERATION + 1,
      GENERATION + 9, GENERATION + 3, 11 }, kit.nextIds(copy, 6))
  end)

  it("are the same after clearEntities and compact", function()
    local world = newWorld()
    for i = 1, 9 do world:spawn(Pos(i, i)) end
    world:clearEntities()
    continues(world)
    world:compact()
    continues(world)
    local copy = copyOf(world)
    copy:clearEntities()
    world:clearEntities()
    assert.same(kit.nextIds(world, 60), kit.nextIds(copy, 60))
  end)

  it("are the same in batches", function()
    local world = newWorld()
    for i = 1, 20 do world:spawn(Num(i)) end
    for i = 2, 20, 3 do world:despawn(i) end
    local copy = copyOf(world)
    local function noop() end
    for _, n in ipairs({ 3, 10, 1 }) do
      local first, list = world:batchSpawn(n, { Num }, noop)
      local copyFirst, copyList = copy:batchSpawn(n, { Num }, noop)
      assert.equal(first, copyFirst)
      assert.same(list, copyList)
    end
  end)

  it("skip slots that spawnAt took, below and above the highest", function()
    local world = newWorld()
    for i = 1, 4 do world:spawn(Num(i)) end
    world:spawnAt(9, Num(9))
    world:spawnAt(GENERATION * 7 + 6, Num(6))
    local copy = copyOf(world)
    assert.same({ 5, 7, 8, 10 }, kit.nextIds(copy, 4))
    continues(world)
  end)

  it("and the loaded free list gives up slots from its middle", function()
    local world = newWorld()
    for i = 1, 12 do world:spawn(Num(i)) end
    for _, slot in ipairs({ 4, 7, 2, 11, 6 }) do world:despawn(slot) end
    local copy = copyOf(world)
    for _, slot in ipairs({ 2, 11, 40, 6 }) do
      copy:spawnAt(GENERATION * 3 + slot, Num(0))
      world:spawnAt(GENERATION * 3 + slot, Num(0))
      kit.check(copy)
    end
    assert.same(kit.nextIds(world, 40), kit.nextIds(copy, 40))
  end)
end)

describe("floors", function()
  -- Slot 1 was in generation 5, and lives in generation 2 now.
  local function lowered()
    local world = newWorld()
    world:spawnAt(GENERATION * 5 + 1, Num(1))
    world:despawn(GENERATION * 5 + 1)
    world:spawnAt(GENERATION * 2 + 1, Num(2))
    return world
  end

  it("keep what a slot has ever held from being issued again", function()
    local copy = copyOf(lowered())
    assert.is_true(copy:isAlive(GENERATION * 2 + 1))
    copy:despawn(GENERATION * 2 + 1)
    kit.check(copy)
    assert.equal(GENERATION * 6 + 1, copy:spawn())
  end)

  it("survive a second save", function()
    local world = lowered()
    local copy = copyOf(copyOf(world))
    kit.same(kit.save(world), kit.save(copy))
    copy:despawn(GENERATION * 2 + 1)
    assert.equal(GENERATION * 6 + 1, copy:spawn())
  end)

  it("do not remain from a load that failed, nor from an earlier content",
    function()
      local world = lowered()
      local plain = newWorld()
      local id = plain:spawn(Num(1))
      local bytes = kit.save(plain)
      local low = kit.save(world)
      -- The storage of a load serves the one after the next.
      for _ = 1, 3 do
        world:loadSnapshot(low)
        for _ = 1, 2 do
          world:loadSnapshot(bytes)
          world:despawn(id)
          assert.equal(GENERATION + 1, world:spawn())
        end
      end
      local other = newWorld()
      other:spawn(Num(1))
      refused(other, (kit.save(lowered()):gsub("kit%.Num", "kit.Nux")),
        { "kit.Nux" })
      other:despawn(1)
      assert.equal(GENERATION + 1, other:spawn())
    end)
end)

describe("retired slots", function()
  local function retired()
    local world = newWorld()
    local last = GENERATION * LAST + 2
    world:spawnAt(last, Num(1))
    world:spawn(Num(2))
    world:despawn(last)
    return world, last
  end

  it("stay retired", function()
    local world, last = retired()
    local copy = copyOf(world)
    assert.is_false(copy:isAlive(last))
    assert.same({ 3, 4, 5 }, kit.nextIds(copy, 3))
    raises({ "generations" }, copy.spawnAt, copy, 2, Num(1))
    raises({ "generations" }, copy.spawnAt, copy, last, Num(1))
    kit.same(kit.save(world), kit.save(copyOf(world)))
  end)

  it("are retired when the last generation dies after the load", function()
    local world = newWorld()
    local last = GENERATION * LAST + 1
    world:spawnAt(last, Num(1))
    local copy = copyOf(world)
    copy:despawn(last)
    kit.check(copy)
    assert.equal(2, copy:spawn())
    raises({ "generations" }, copy.spawnAt, copy, 1, Num(1))
  end)

  it("are not retired any more where the source has them free", function()
    local world = retired()
    world:loadSnapshot(kit.save(newWorld()))
    kit.check(world)
    assert.same({ 1, 2, 3 }, kit.nextIds(world, 3))
  end)
end)

describe("a world that is full", function()
  it("is full after the load, and works after a despawn", function()
    local world = newWorld({ maxEntities = 8 })
    for i = 1, 8 do world:spawn(Num(i)) end
    local copy = copyOf(world, { maxEntities = 8 })
    raises({ "no free entity slot" }, copy.spawn, copy, Num(1))
    copy:despawn(5)
    assert.equal(GENERATION + 5, copy:spawn())
    raises({ "no free entity slot" }, copy.spawn, copy)
    kit.check(copy)
  end)

  it("has room in a larger one, in the same order first", function()
    local world = newWorld({ maxEntities = 8 })
    for i = 1, 8 do world:spawn(Num(i)) end
    world:despawn(3)
    local copy = copyOf(world, { maxEntities = 12 })
    assert.same({ GENERATION + 3, 9, 10, 11, 12 }, kit.nextIds(copy, 5))
    raises({ "no free entity slot" }, copy.spawn, copy)
    kit.check(copy)
  end)

  it("fits a smaller one that has the slots", function()
    local world = newWorld({ maxEntities = 1000 })
    for i = 1, 5 do world:spawn(Num(i)) end
    local copy = copyOf(world, { maxEntities = 5 })
    raises({ "no free entity slot" }, copy.spawn, copy)
    local small = newWorld({ maxEntities = 4 })
    small:spawn(Num(9))
    refused(small, kit.save(world), { "entities" })
    world:despawn(5)
    world:despawn(4)
    refused(small, kit.save(world), { "maxEntities" })
  end)
end)

describe("a snapshot without an allocator", function()
  local function bytes(ids)
    return wire.snapshot({ records = { { columns = {}, ids = ids } } })
  end

  it("gets a free list of its gaps, lowest slot first, generation 0",
    function()
      local world = loaded(bytes({ 7, GENERATION * 3 + 2, 5 }))
      assert.same({ 1, 3, 4, 6, 8, 9 }, kit.nextIds(world, 6))
      kit.check(world)
    end)

  it("issues a generation one higher when a loaded entity dies", function()
    local world = loaded(bytes({ GENERATION * 3 + 2 }))
    world:despawn(GENERATION * 3 + 2)
    assert.equal(GENERATION * 4 + 2, world:spawn())
  end)

  it("may be empty, or use the highest slot alone", function()
    assert.same({ 1, 2 }, kit.nextIds(loaded(bytes({})), 2))
    local world = loaded(bytes({ 16 }), { maxEntities = 16 })
    assert.equal(15, #kit.nextIds(world, 15))
    raises({ "no free entity slot" }, world.spawn, world)
    kit.check(world)
  end)

  it("replaces one that had history", function()
    local world = newWorld()
    for i = 1, 50 do world:spawn(Num(i)) end
    for i = 1, 50, 2 do world:despawn(i) end
    world:loadSnapshot(bytes({ 3 }))
    kit.check(world)
    assert.same({ 1, 2, 4, 5, 6 }, kit.nextIds(world, 5))
    assert.is_false(world:isAlive(10))
  end)
end)

describe("an allocator written by hand", function()
  local function bytes(ids, allocator)
    return wire.snapshot({ records = { { columns = {}, ids = ids } },
      allocator = allocator })
  end

  it("may list slots one by one or as runs, in any order", function()
    local a = loaded(bytes({ 3 }, { high = 9, free = { { 8, 1 }, { 1, 0, 2 },
      { 9, 4 }, { 4, 7, 4 } } }))
    local g = GENERATION
    assert.same({ g + 8, 1, 2, g * 4 + 9, g * 7 + 4, g * 7 + 5, g * 7 + 6,
      g * 7 + 7, 10, 11 }, kit.nextIds(a, 10))
    kit.check(a)
  end)

  it("comes out of a save in the shortest form", function()
    local world = loaded(bytes({ 3 }, { high = 5, free = { { 1, 0 }, { 2, 0 },
      { 4, 2 }, { 5, 2 } } }))
    local found = kit.save(world):find(wire.allocator({ high = 5,
      free = { { 1, 0, 2 }, { 4, 2, 2 } } }), 1, true)
    assert.is_truthy(found)
  end)

  it("may retire slots and set floors", function()
    local world = loaded(bytes({ GENERATION + 2, 4 }, { high = 4,
      free = { { 3, 9 } }, retired = { 1 },
      floors = { { 2, 3 }, { 4, 2 ^ 31 - 1 } } }))
    world:despawn(GENERATION + 2)
    assert.equal(GENERATION * 4 + 2, world:spawn())
    assert.equal(GENERATION * 9 + 3, world:spawn())
    world:despawn(4) -- its highest generation was the last one
    assert.equal(5, world:spawn())
    kit.check(world)
  end)

  it("may have a floor that is no higher than the id's own generation",
    function()
      local world = loaded(bytes({ GENERATION * 5 + 1 }, { high = 1,
        floors = { { 1, 2 } } }))
      kit.check(world)
      world:despawn(GENERATION * 5 + 1)
      assert.equal(GENERATION * 6 + 1, world:spawn())
      kit.check(world)
    end)

  it("may reach up to the last slot of the world", function()
    local top = engram.MAX_ENTITIES
    local world = loaded(bytes({}, { high = top, free = { { 1, 0, top } } }),
      { maxEntities = top })
    assert.same({ 1, 2, 3 }, kit.nextIds(world, 3))
    world:spawnAt(GENERATION + top)
    kit.check(world)
    world:close()
  end)

  it("raises when it does not go with the ids", function()
    local world = kit.everything()
    local cases = {
      { { 3 }, { high = 2, free = { { 1, 0, 2 } } } },      -- 3 is above
      { { 3 }, { high = 3, free = { { 1, 0 } } } },         -- 2 is missing
      { { 3 }, { high = 3, free = { { 1, 0, 2 }, { 2, 0 } } } },
      { { 3 }, { high = 3, free = { { 1, 0 }, { 3, 0 } } } }, -- live
      { { 3 }, { high = 3, free = { { 0, 0 }, { 1, 0 } } } },
      { { 3 }, { high = 3, free = { { 2, 0, 2 } } } },
      { { 1 }, { high = 3, free = { { 2, 0, 1 }, { 3, 0 } } } },
      { { 1 }, { high = 3, free = { { 2, 0, 2 ^ 32 - 1 } } } },
      { { 1 }, { high = 3, free = { { 2, 0 } }, retired = { 2 } } },
      { { 1 }, { high = 3, retired = { 3, 2 } } },
      { { 1 }, { high = 2, free = { { 2, 0 } }, floors = { { 2, 1 } } } },
      { { 1 }, { high = 1, floors = { { 1, 2 ^ 31 } } } },
      { { 1 }, { high = 1, floors = { { 1, 1 }, { 1, 2 } } } },
      { { 1 }, { high = 1, floors = { { 2 ^ 22, 1 } } } },
      { { 1 }, { high = 2 ^ 22, free = { { 2, 0, 2 ^ 22 - 1 } } } },
      { { 1 }, { high = 2 ^ 32 - 1 } },
      { { 1 }, { high = 1, freeCount = 2 ^ 32 - 1 } },
      { { 1 }, { high = 1, retiredCount = 2 ^ 32 - 1 } },
      { { 1 }, { high = 1, floorCount = 2 ^ 32 - 1 } },
    }
    for _, case in ipairs(cases) do
      refused(world, bytes(case[1], case[2]), { "allocator", "offset" })
    end
  end)
end)

describe("two worlds, one loaded from the other", function()
  it("hand out the same ids through any history", function()
    for seed = 1, 8 do
      local world = newWorld({ maxEntities = 60 })
      local worlds = { world }
      local random = kit.random(seed * 77)
      local ids = {}
      for step = 1, 300 do
        local choice = random(10)
        if choice <= 4 then
          local ok, id
          for _, w in ipairs(worlds) do
            local fine, got = pcall(w.spawn, w, Num(step))
            assert.is_true(ok == nil or ok == fine)
            assert.is_true(not fine or id == nil or id == got)
            ok, id = fine, got
          end
          if ok then ids[#ids + 1] = id end
        elseif choice <= 7 and #ids > 0 then
          local id = table.remove(ids, random(#ids))
          for _, w in ipairs(worlds) do w:despawn(id) end
        elseif choice == 8 then
          local id = GENERATION * random(4) + random(60)
          local ok
          for _, w in ipairs(worlds) do
            local fine = pcall(w.spawnAt, w, id, Num(step))
            assert.is_true(ok == nil or ok == fine)
            ok = fine
          end
          if ok then ids[#ids + 1] = id end
        elseif choice == 9 then
          -- Some go on from a copy, some from themselves.
          local copy = copyOf(worlds[random(#worlds)], { maxEntities = 60 })
          worlds[#worlds < 3 and #worlds + 1 or random(3)] = copy
        else
          local to, from = random(#worlds), random(#worlds)
          worlds[to]:loadSnapshot(kit.save(worlds[from]))
        end
      end
      for _, w in ipairs(worlds) do kit.check(w) end
      for i = 2, #worlds do
        kit.same(kit.contents(worlds[1]), kit.contents(worlds[i]))
      end
    end
  end)
end)
