-- Every Lua block of README.md and docs/ runs in a process of its own and ends
-- without error. So each can be copied out of its page and tried.

local markdown = dofile("spec/support/markdown.lua")

describe("the Lua blocks of", function()
  for _, page in ipairs(markdown.pages()) do
    describe(page, function()
      for _, block in ipairs(markdown.blocks(page, "lua")) do
        it("run, line " .. block.line, function()
          local output, ok = markdown.run(block.text, block.line)
          assert(ok, ("%s:%d: %s"):format(page, block.line, output))
        end)
      end
    end)
  end
end)

describe("the documentation", function()
  it("has blocks that assert what they show", function()
    local count = 0
    for _, page in ipairs(markdown.pages()) do
      if page ~= "README.md" then
        for _, block in ipairs(markdown.blocks(page, "lua")) do
          assert(block.text:find("assert"), ("%s:%d: a block without an"
            .. " assertion"):format(page, block.line))
          count = count + 1
        end
      end
    end
    assert(count > 0, "no block was found")
  end)

  it("shows examples/minimal.lua in the README, byte for byte", function()
    local blocks = markdown.blocks("README.md", "lua")
    assert.equal(1, #blocks)
    assert.equal(markdown.read("examples/minimal.lua"), blocks[1].text)
    local _, lines = blocks[1].text:gsub("[^\n]+", "")
    assert(lines <= 25, lines .. " lines of code")
  end)
end)
