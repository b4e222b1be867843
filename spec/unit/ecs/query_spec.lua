local support = dofile("spec/support/ecs.lua")
local engram, raises, refuses = support.engram, support.raises,
  support.refuses
local kit = support.components("query")
local P, V, T, N, S, G, H = kit.P, kit.V, kit.T, kit.N, kit.S, kit.G, kit.H
local Disabled, Paused = engram.Disabled, engram.Paused

local world
before_each(function() world = engram.newWorld() end)
after_each(function()
  if rawget(world, "_c") then support.sound(world) end
end)

local function ids(descriptor)
  local query = world:query(descriptor)
  local found = support.ids(query)
  assert.equal(#found, query:count())
  return found
end

describe("a query", function()
  it("matches all of include, none of exclude, one of includeAny", function()
    local p, n, pn, pt, pnt, none = world:spawn(P), world:spawn(N),
      world:spawn(P, N), world:spawn(P, T), world:spawn(P, N, T), world:spawn()
    assert.same({ p, n, pn, pt, pnt, none }, ids({}))
    assert.same({ p, n, pn, pt, pnt, none }, ids({ include = {} }))
    assert.same({ p, pn, pt, pnt }, ids({ include = { P } }))
    assert.same({ pn, pnt }, ids({ include = { P, N } }))
    assert.same({ pn, pnt }, ids({ include = { N, P, N } }))
    assert.same({ p, pt }, ids({ include = { P }, exclude = { N } }))
    assert.same({ p }, ids({ include = { P }, exclude = { N, T } }))
    assert.same({ none }, ids({ exclude = { P, N } }))
    assert.same({ n, pn, pt, pnt }, ids({ includeAny = { T, N } }))
    assert.same({ pn, pt, pnt }, ids({ include = { P },
      includeAny = { T, N } }))
    assert.same({ pn }, ids({ include = { P }, includeAny = { T, N },
      exclude = { T } }))
    assert.same({ p, pn, pt, pnt }, ids({ include = { P }, includeAny = {} }))
    assert.same({}, ids({ include = { G } }))
    assert.same({}, ids({ includeAny = { G, H } }))
  end)

  it("matches nothing that excludes what it includes", function()
    world:spawn(P)
    assert.same({}, ids({ include = { P }, exclude = { P } }))
  end)

  it("leaves out Disabled unless it is in include", function()
    local a, b = world:spawn(P), world:spawn(P, Disabled)
    assert.same({ a }, ids({ include = { P } }))
    assert.same({ b }, ids({ include = { P, Disabled } }))
    assert.same({}, ids({ includeAny = { Disabled } }))
    assert.same({ a }, ids({ exclude = { Disabled } }))
    world:remove(b, Disabled)
    assert.same({ a, b }, ids({ include = { P } }))
  end)

  it("of type logic leaves out Paused unless it is in include", function()
    local a, b, c = world:spawn(P), world:spawn(P, Paused),
      world:spawn(P, Paused, Disabled)
    assert.same({ a }, ids({ include = { P }, type = "logic" }))
    assert.same({ a, b }, ids({ include = { P }, type = "render" }))
    assert.same({ a, b }, ids({ include = { P } }))
    assert.same({ b }, ids({ include = { P, Paused }, type = "logic" }))
    assert.same({ c }, ids({ include = { Paused, Disabled }, type = "logic" }))
    assert.same({ c }, ids({ include = { Disabled } }))
    assert.same({}, ids({ include = { Disabled }, type = "logic" }))
  end)

  it("follows archetypes that are made after it", function()
    local query = world:query({ include = { P } })
    assert.equal(0, query:count())
    local a = world:spawn(P)
    assert.same({ a }, support.ids(query))
    local b = world:spawn(P, N, T)
    local c = world:spawn(N)
    assert.same({ a, b }, support.ids(query))
    world:set(c, P)
    assert.same({ a, b, c }, support.ids(query))
    world:remove(a, P)
    assert.same({ b, c }, support.ids(query))
  end)

  it("that is temporary sees the archetypes of its making only", function()
    local a = world:spawn(P)
    local query = world:query({ include = { P }, temp = true })
    assert.same({ a }, support.ids(query))
    local b = world:spawn(P)
    world:spawn(P, N)
    assert.same({ a, b }, support.ids(query))
    assert.equal(2, query:count())
    assert.same({ a, b }, support.ids(query:cursor()))
  end)

  it("yields archetype, length and entities of non-empty matches", function()
    world:despawn(world:spawn(P, T))
    local a, b = world:spawn(P(1, 1)), world:spawn(P(2, 2))
    local steps = 0
    for arch, n, entities in world:query({ include = { P } }):iter() do
      steps = steps + 1
      assert.equal(2, n)
      assert.equal(2, entities[0])
      assert.equal(arch.entities, entities)
      assert.equal(a, entities[1])
      assert.equal(b, entities[2])
      assert.equal(2, arch:get(P)[2].x)
      assert.is_nil(arch:get(N))
    end
    assert.equal(1, steps)
  end)

  it("yields archetypes in canonical order, whatever came first", function()
    world:spawn(T)
    world:spawn(S, G)
    world:spawn()
    world:spawn(P, T)
    world:spawn(G, H)
    world:spawn(P)
    world:spawn(N, G)
    world:spawn(V, P)
    world:spawn(G)
    local function order(query)
      local out = {}
      for arch in query:iter() do
        local names = {}
        for i, C in ipairs(arch.componentList) do
          names[i] = C.componentName:sub(-1)
        end
        out[#out + 1] = table.concat(names)
      end
      return out
    end
    local expected = { "", "G", "GH", "GN", "GS", "P", "PT", "PV", "T" }
    local query = world:query({})
    assert.same(expected, order(query))
    world:spawn(G, P)
    world:spawn(H)
    table.insert(expected, 5, "GP")
    table.insert(expected, 7, "H")
    assert.same(expected, order(query))
    assert.same(expected, order(world:query({ temp = true })))
  end)

  it("sorts components of an archetype by name, not by registration",
    function()
      local Late = engram.newTagComponent({ name = "query.Aa" })
      world:spawn(P, engram.Name("x"), Late, G)
      for arch in world:query({}):iter() do
        assert.same({ engram.Name, Late, G, P }, arch.componentList)
      end
    end)

  it("keeps a copy of its descriptor, which may be read", function()
    local descriptor = { include = { P }, exclude = { N }, name = "things",
      type = "logic" }
    local query = world:query(descriptor)
    descriptor.include[1] = T
    descriptor.exclude = nil
    assert.same({ P }, query.descriptor.include)
    assert.same({ N }, query.descriptor.exclude)
    assert.equal("logic", query.descriptor.type)
    local a = world:spawn(P)
    world:spawn(T)
    query.descriptor.include[1] = T
    assert.same({ a }, support.ids(query))
    assert.is_truthy(tostring(query):find("things", 1, true))
    assert.is_truthy(tostring(world:query({})):find("query", 1, true))
  end)

  it("is made by newQuery, too", function()
    local a = world:spawn(P)
    assert.same({ a }, support.ids(world:newQuery({ include = { P } })))
  end)

  it("raises for a bad descriptor, naming the field", function()
    refuses(world, { "engram.World:query", '"inclde"' }, function()
      world:query({ inclde = { P } })
    end)
    refuses(world, { "engram.World:query", "table", "nil" }, function()
      world:query()
    end)
    refuses(world, { "table of options", "number 5" }, function()
      world:query(5)
    end)
    for _, kind in ipairs({ "Logic", "", 5, true, {} }) do
      refuses(world, { "engram.World:query: type", "logic" }, function()
        world:query({ type = kind })
      end)
    end
    for _, field in ipairs({ "include", "exclude", "includeAny" }) do
      for _, list in ipairs({ 5, "P", true }) do
        refuses(world, { "engram.World:query: " .. field }, function()
          world:query({ [field] = list })
        end)
      end
      for _, bad in ipairs({ "P", 5, {}, P(1, 1), N(1), T() }) do
        refuses(world, { "engram.World:query: " .. field .. "[2]",
          "component" }, function() world:query({ [field] = { P, bad } }) end)
      end
      refuses(world, { field, "component" }, function()
        world:query({ [field] = P })
      end)
    end
    refuses(world, { "query: name", "string" }, function()
      world:query({ name = 5 })
    end)
    refuses(world, { "query: temp", "boolean" }, function()
      world:query({ temp = 1 })
    end)
  end)
end)

describe("a loop", function()
  it("visits every row that matched at its start once, new ones not",
    function()
      local query = world:query({ include = { P } })
      local expected = {}
      for i = 1, 60 do
        local e = i % 2 == 0 and world:spawn(P(i, i), T(i))
          or world:spawn(P(i, i))
        expected[e] = true
      end
      local visited = 0
      for arch, n, entities in query:iter() do
        local p = arch:get(P)
        for row = 1, n do
          local e = entities[row]
          assert.is_true(expected[e])
          expected[e] = nil
          visited = visited + 1
          assert.equal(e, p[row].x)
          world:spawn(P(0, 0)) -- to this and to other archetypes
          world:spawn(P(0, 0), N)
          if e % 3 == 0 then world:despawn(e) end
          if e % 3 == 1 then world:set(e, S("moved")) end
          if e % 6 == 2 then world:remove(e, T) end
        end
      end
      assert.equal(60, visited)
      assert.is_nil(next(expected))
      assert.equal(160, query:count())
    end)

  it("may be nested in itself, and in another", function()
    local query = world:query({ include = { P } })
    for i = 1, 3 do world:spawn(P(i, i)) end
    world:spawn(P(4, 4), N)
    world:spawn(P(5, 5), T)
    local pairsSeen, inner = {}, 0
    for arch, n in query:iter() do
      for row = 1, n do
        local a = arch:get(P)[row].x
        for other, m in query:iter() do
          inner = inner + 1
          for k = 1, m do
            pairsSeen[a * 10 + other:get(P)[k].x] = true
          end
        end
      end
    end
    assert.equal(15, inner)
    local count = 0
    for a = 1, 5 do
      for b = 1, 5 do
        if pairsSeen[a * 10 + b] then count = count + 1 end
      end
    end
    assert.equal(25, count)
    assert.equal(0, world._depth)
  end)

  it("goes on while archetypes are made in it", function()
    local query = world:query({ include = { P } })
    for i = 1, 5 do world:spawn(P(i, i), i % 2 == 0 and N or T) end
    local steps = 0
    for _, n, entities in query:iter() do
      steps = steps + 1
      for row = 1, n do
        world:set(entities[row], G)
        world:set(entities[row], steps == 1 and H or S)
      end
      -- Another loop over the query takes the new archetypes in.
      for _ in query:iter() do assert.is_true(true) end
    end
    assert.equal(2, steps)
    assert.equal(5, world:query({ include = { P, G } }):count())
  end)

  it("ends when its world is cleared under it", function()
    local query = world:query({ include = { P } })
    for i = 1, 5 do world:spawn(P(i, i), i % 2 == 0 and N or T) end
    local steps = 0
    for _ in query:iter() do
      steps = steps + 1
      world:clearEntities()
    end
    assert.equal(1, steps)
    assert.equal(0, world._depth)
    for _ in world:findArchetypes(P) do error("empty") end
  end)

  it("marks nothing dirty", function()
    world:spawn(P(1, 1))
    local arch = world:findArchetypes(P)()
    world._stamp = world._stamp + 1
    for a, n in world:query({}):iter() do
      for row = 1, n do a:get(P)[row].x = 5 end
    end
    assert.is_false(arch:anyComponentDirty())
  end)

  it("over a closed world raises", function()
    local query = world:query({ include = { P } })
    local temporary = world:query({ include = { P }, temp = true })
    world:spawn(P)
    world:spawn(P, N)
    raises({ "world is closed" }, function()
      for _ in query:iter() do world:close() end
    end)
    for _, q in ipairs({ query, temporary }) do
      raises({ "world is closed" }, function()
        for _ in q:iter() do error("no rows") end
      end)
      raises({ "world is closed" }, function() local _ = q:count() end)
    end
  end)
end)

describe("findArchetypes", function()
  it("yields non-empty archetypes with a component, in order", function()
    world:spawn(P, T)
    world:despawn(world:spawn(P, N))
    world:spawn(P)
    world:spawn(P, Disabled)
    world:spawn(N)
    local out = {}
    for arch, n, entities in world:findArchetypes(P) do
      assert.equal(1, n)
      assert.equal(arch.entities, entities)
      out[#out + 1] = #arch.componentList
      assert.equal(0, world._depth)
    end
    assert.same({ 2, 1, 2 }, out) -- Disabled P, P, P T
  end)

  it("knows nothing of staged rows", function()
    world:defer()
    world:spawn(P, T)
    assert.is_nil(world:findArchetypes(P)())
    world:commit()
    assert.equal(1, (select(2, world:findArchetypes(P)())))
  end)

  it("raises for what is no component", function()
    for _, bad in ipairs({ 5, "P", {}, P(1, 1), N(1) }) do
      refuses(world, { "engram.World:findArchetypes: component" }, function()
        world:findArchetypes(bad)
      end)
    end
  end)
end)
