-- Who keeps a world alive, and that worlds nobody needs go.

local support = dofile("spec/support/ecs.lua")
local engram = support.engram
local kit = support.components("lifetime")
local P, T, N, S = kit.P, kit.T, kit.N, kit.S

-- Compiled code holds the objects it was specialized for, so what makes and
-- uses worlds here stays in the interpreter, and traces of others are dropped.
jit.off(true, true)

-- Fewer rounds where every step of a program is a collection.
local MANY, LIVES = 100, 20
if os.getenv("EG_GC") then MANY, LIVES = 5, 1 end

local function collect()
  jit.flush()
  for _ = 1, 3 do collectgarbage() end
end

local function newWorld()
  local world = engram.newWorld({ maxEntities = 1000 })
  for i = 1, 20 do world:spawn(kit.all(i)) end
  world:spawn(engram.EntityKey("k"), P)
  for _ in world:query({ include = { P } }):iter() do
    world:set(1, engram.Name("x"))
  end
  world:batchSpawn(5, { P, T }, function() end)
  return world
end

-- Makes an object that may refer to a world, and a weak table of that world.
local function watched(make)
  local world = newWorld()
  local weak = setmetatable({ world = world }, { __mode = "v" })
  return weak, make(world)
end

describe("a world that nobody refers to", function()
  it("is collected, in whatever state it was", function()
    local states = {
      function() end,
      function(world) world:defer() world:spawn(T(1)) world:despawn(1) end,
      function(world) support.enter(world:query({}):iter()) end,
      function(world) pcall(world.batchSpawn, world, 1, { P }, error) end,
      function(world) world:clearEntities() end,
      function(world) world:compact() end,
      function(world) world:close() end,
    }
    for i = 1, #states do
      local weak = watched(states[i])
      collect()
      assert.is_nil(weak.world, "state " .. i)
    end
  end)

  it("is collected though a column or row of it is held", function()
    local weak, column = watched(function(world)
      return world:findArchetypes(N)():get(N)
    end)
    collect()
    assert.is_nil(weak.world)
    assert.is_not_nil(column)
  end)

  it("lets its tables go", function()
    local item = setmetatable({}, { __mode = "k" })
    do
      local world = newWorld()
      local t = T(1)
      item[t] = true
      world:spawn(t)
    end
    collect()
    assert.is_nil(next(item))
  end)
end)

describe("a world is kept alive", function()
  local views = {
    ["by a query"] = {
      function(world) return world:query({ include = { P } }) end,
      function(query)
        for arch, n in query:iter() do
          for row = 1, n do arch:get(P)[row].x = row end
        end
        return query:count()
      end,
    },
    ["by a temporary query"] = {
      function(world) return world:query({ temp = true, include = { P } }) end,
      function(query) return query:count() end,
    },
    ["by a cursor"] = {
      function(world) return world:query({ include = { P } }):cursor() end,
      function(cursor)
        local count = 0
        for _, n in cursor:iter() do count = count + n end
        return count
      end,
    },
    ["by a cursor under way"] = {
      function(world)
        local cursor = world:query({ include = { P } }):cursor()
        support.enter(cursor:iter())
        world:spawn(P)
        return cursor
      end,
      function(cursor)
        cursor:close()
        return 26
      end,
    },
    ["by a running loop"] = {
      function(world)
        local f, s, c = world:query({ include = { P } }):iter()
        return { f, s, c }
      end,
      function(loop)
        local count = 0
        for _, n in unpack(loop, 1, 3) do count = count + n end
        return count
      end,
    },
    ["by an archetype"] = {
      function(world) return (world:findArchetypes(N)()) end,
      function(arch)
        arch:set(1, S("kept"))
        assert.equal("kept", arch:get(S)[1])
        arch:getMut(P)[1].x = 5
        assert.is_true(arch:isComponentDirty(P))
        return 26
      end,
    },
  }
  local names = {}
  for name in pairs(views) do names[#names + 1] = name end

  for _, name in ipairs(names) do
    it(name, function()
      local make, use = unpack(views[name])
      local weak, view = watched(make)
      collect()
      assert.is_not_nil(weak.world)
      local got = use(view)
      assert.equal(26, got)
      view = nil -- luacheck: ignore
      collect()
      assert.is_nil(weak.world)
    end)
  end
end)

describe("closing", function()
  it("frees at once; the handle is collected later without harm", function()
    local weak = watched(function(world)
      world:close()
      world:close()
    end)
    collect()
    assert.is_nil(weak.world)
  end)

  it("leaves views that raise, and that go like others", function()
    local weak, query = watched(function(world)
      local q = world:query({})
      world:close()
      return q
    end)
    collect()
    support.raises({ "world is closed" }, function() query:count() end)
    query = nil -- luacheck: ignore
    collect()
    assert.is_nil(weak.world)
  end)

  it("may happen while other worlds are collected", function()
    for i = 1, MANY / 2 do
      local world = newWorld()
      newWorld()
      if i % 2 == 0 then world:close() end
      if i % 10 == 0 then collect() end
    end
    collect()
  end)
end)

describe("several hundred worlds", function()
  -- Resident memory, KiB; nil where the system does not tell. Sanitizers keep
  -- freed memory for a while.
  local function resident()
    if package.cpath:find("/asan/", 1, true) then return nil end
    local file = io.open("/proc/self/status")
    local text = file and file:read("*a")
    if file then file:close() end
    return text and tonumber(text:match("VmRSS:%s*(%d+)"))
  end

  local function round(close)
    for _ = 1, MANY do
      local world = newWorld()
      if close then world:close() end
    end
    collect()
    return collectgarbage("count"), resident() or 0
  end

  for _, close in ipairs({ true, false }) do
    it(close and "closed leave no memory" or "collected leave no memory",
      function()
        round(close)
        local heap, memory = round(close)
        for _ = 1, 3 do
          local h, m = round(close)
          assert.is_true(h - heap < 64, "the heap grew by " .. h - heap)
          assert.is_true(m - memory < 2048, "memory grew by " .. m - memory)
        end
      end)
  end

  it("of the default size can be open at once", function()
    local worlds = {}
    for i = 1, 3 * MANY do
      worlds[i] = engram.newWorld()
      worlds[i]:spawn(N(i))
    end
    for i = 1, 3 * MANY do assert.equal(i, worlds[i]:get(1, N)) end
    for i = 1, 3 * MANY, 2 do worlds[i]:close() end
    worlds = nil -- luacheck: ignore
    collect()
  end)
end)

describe("a long life of a world", function()
  it("comes back to its memory", function()
    local world = engram.newWorld({ maxEntities = 5000 })
    local function life()
      local ids = {}
      for i = 1, 300 do ids[i] = world:spawn(kit.all(i)) end
      for arch in world:query({ include = { P }, temp = true }):iter() do
        for row = 1, arch.entities[0] do
          world:set(arch.entities[row], engram.Name("n" .. row))
        end
      end
      world:defer()
      for i = 1, 300 do
        world:remove(ids[i], T)
        if i % 2 == 0 then world:despawn(ids[i]) end
      end
      world:commit()
      for i = 1, 300 do world:despawn(ids[i]) end
    end
    for _ = 1, LIVES do life() end
    collect()
    local before = collectgarbage("count")
    for _ = 1, 2 * LIVES do life() end
    collect()
    assert.is_true(collectgarbage("count") - before < 64)
    support.sound(world)
  end)
end)
