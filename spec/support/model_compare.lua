-- A world against its model: ids, structure, values, queries, keys, and what
-- the core finds out about itself.

local ffi = require("ffi")
local C = require("engram.lib").C

local error, min, pairs = error, math.min, pairs

-- `kinds` as spec/support/model_types.lua gives them.
return function(kinds)
  local types, nameOf, pick = kinds.types, kinds.nameOf, kinds.dice.pick

  local M = {}

  --- Raises the formatted text unless `condition` holds.
  function M.expect(condition, what, ...)
    if not condition then error(what:format(...), 0) end
  end
  local expect = M.expect

  --- One row of an archetype against the model's record of its entity.
  function M.row(world, model, arch, row, id)
    local record = model.entities[id]
    expect(record and record.live, "row %d holds %.0f, which is not alive", row,
      id)
    local list, comps, has = arch.componentList, record.comps, {}
    for i = 1, #list do
      local name = nameOf[list[i]]
      local m = comps[name]
      expect(m ~= nil, "entity %.0f has %s", id, name)
      expect(types[name].same(arch:get(list[i])[row], m),
        "entity %.0f: value of %s in its row", id, name)
      if (i + row) % 4 == 0 then
        expect(types[name].same(world:get(id, list[i]), m),
          "entity %.0f: value of %s", id, name)
      end
      has[name] = true
    end
    for name in pairs(comps) do
      expect(has[name], "entity %.0f lacks %s", id, name)
    end
  end

  -- a before b in canonical order, or equal.
  local function inOrder(a, b)
    local i = 1
    while a[i] and b[i] do
      local x, y = a[i].componentName, b[i].componentName
      if x ~= y then return x < y end
      i = i + 1
    end
    return a[i] == nil
  end

  local function compareQuery(world, model, q, complete)
    local expected, total = model:matching(q.include, q.exclude, q.any)
    local count = q.real:count()
    expect(count == total, "count is %d, not %d", count, total)
    local last
    -- The loop opens and closes a scope; where it is the outermost nothing is
    -- staged, so no drain begins here.
    for arch, length, entities in q.real:iter() do
      expect(length == entities[0] and length > 0, "length of an archetype")
      expect(not last or inOrder(last.componentList, arch.componentList)
        and last ~= arch, "archetypes out of order")
      last = arch
      for row = 1, length do
        local id = entities[row]
        expect(expected[id], "%.0f is matched, or twice", id)
        expected[id] = nil
        total = total - 1
        if complete then M.row(world, model, arch, row, id) end
      end
    end
    expect(total == 0, "%d entities are not matched", total)
  end

  -- Any ids ever issued, dead ones included.
  local function compareHandles(world, model, names, everyId)
    for _ = 1, min(#everyId, 20) do
      local id = pick(everyId)
      local record = model.entities[id]
      local live = record ~= nil and record.live
      expect(world:isAlive(id) == live, "isAlive of %.0f", id)
      local name = pick(names)
      local m = live and record.comps[name] or nil
      expect(world:has(id, types[name].C) == (live
        and record.comps[name] ~= nil), "has of %.0f", id)
      if m == nil and not (live and record.comps[name] == false) then
        expect(world:get(id, types[name].C) == nil, "get of %.0f", id)
      end
    end
  end

  --- Everything: `queries[1]` and `queries[2]` match all entities between them.
  function M.all(world, model, queries, names, everyId)
    local fault = C.eg_world_check(world._c)
    expect(fault == nil, "%s", fault ~= nil and ffi.string(fault) or "")
    expect(world._depth == model.depth, "depth is %d, not %d", world._depth,
      model.depth)
    expect(world:getStats().entities == model.live, "number of entities")
    compareQuery(world, model, queries[1], true)
    compareQuery(world, model, queries[2], true)
    compareQuery(world, model, pick(queries), false)
    compareHandles(world, model, names, everyId)
    if not model.draining then
      for i = 1, 12 do
        local key = "key" .. i
        expect(model:mayHold(key, world:byKey(key)), "holder of %s", key)
      end
    end
  end

  return M
end
