-- The worked example of docs/format.md: its Lua block makes exactly the bytes
-- of its listing.

local markdown = dofile("spec/support/markdown.lua")

local PAGE = "docs/format.md"

-- Offset, bytes and note of each line of the listing.
local function parse(listing)
  local lines = {}
  for line in listing:gmatch("([^\n]+)\n") do
    local at, rest = line:match("^(%x%x%x%x)  (.+)$")
    assert(at, "not a line of the listing: " .. line)
    local hex = (rest .. "  "):match("^(.-)  ")
    assert(hex:find("^%x%x[ %x]*$"), "not a line of bytes: " .. line)
    lines[#lines + 1] = { at = tonumber(at, 16), hex = hex:gsub(" ", "") }
  end
  return lines
end

-- What the example writes, as hexadecimal digits.
local function written(block)
  local output, ok = markdown.run(block.text
    .. 'io.write((bytes:gsub(".", function(c)\n'
    .. '  return ("%02x"):format(c:byte()) end)))\n', block.line)
  assert(ok, output)
  return output
end

describe("the example of " .. PAGE, function()
  local programs = markdown.blocks(PAGE, "lua")
  local listings = markdown.blocks(PAGE, "hex")

  it("is one program and one listing", function()
    assert.equal(1, #programs)
    assert.equal(1, #listings)
  end)

  it("gives each byte its offset", function()
    local at = 0
    for _, line in ipairs(parse(listings[1].text)) do
      assert.equal(at, line.at)
      at = at + #line.hex / 2
    end
    assert.equal(#written(programs[1]), at * 2)
  end)

  it("lists the bytes that the program writes", function()
    local hex = written(programs[1])
    for _, line in ipairs(parse(listings[1].text)) do
      local real = hex:sub(line.at * 2 + 1, line.at * 2 + #line.hex)
      assert(real == line.hex, ("at %04x the page has %s, the code writes %s")
        :format(line.at, line.hex, real))
    end
  end)

  it("is accepted by the verifier", function()
    local bytes = written(programs[1]):gsub("%x%x", function(pair)
      return string.char(tonumber(pair, 16))
    end)
    assert.is_true(require("engram").snapshot.verify(bytes))
  end)
end)
