-- The specs mean nothing under another Lua: this comes first and says so.

describe("the host", function()
  it("is LuaJIT 2.1 with its libraries", function()
    assert.equal("table", type(jit))
    assert.is_true(jit.version_num >= 20100)
    for _, name in ipairs({ "ffi", "bit", "string.buffer", "table.new" }) do
      assert.is_true((pcall(require, name)), name)
    end
  end)

  it("gives specs the real FFI functions", function()
    local ffi = require("ffi")
    for _, name in ipairs({ "cdef", "typeof", "metatype" }) do
      assert.equal("C", debug.getinfo(ffi[name], "S").what, name)
    end
  end)
end)

describe("the module", function()
  it("returns one table, also under its own name, and sets no global",
    function()
      local before = {}
      for name in pairs(_G) do before[name] = true end
      local engram = require("engram")
      for name in pairs(_G) do assert.is_true(before[name], name) end
      assert.equal(engram, engram.ecs)
      assert.equal(engram.newWorld, engram.ecs.newWorld)
      assert.is_nil(engram.noSuchThing)
    end)

  it("names its limits and builtins", function()
    local engram = require("engram")
    assert.equal(2 ^ 22 - 1, engram.MAX_ENTITIES)
    assert.equal(2 ^ 20, engram.DEFAULT_MAX_ENTITIES)
    for _, name in ipairs({ "Name", "EntityKey", "Disabled", "Paused" }) do
      assert.equal(name, engram[name].componentName)
      assert.equal(engram[name], engram.builtins[name])
      assert.equal(engram[name], engram.componentByName(name))
    end
    assert.equal(engram.EntityKey, engram.builtins.Key)
  end)
end)
