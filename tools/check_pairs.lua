-- No pairs or next loop inside another one.
--
-- On some LuaJIT builds a compiled `pairs` loop that contains another can end
-- after its first key, silently (docs tell users the same). Collecting the keys
-- first, or `while` with an explicit next(), is safe.
--
--   luajit tools/check_pairs.lua FILE...

package.path = (arg[0]:match("^(.*)/") or ".") .. "/?.lua;" .. package.path
local ctext = require("ctext")
local lualex = require("lualex")

local OPENS = { ["function"] = true, ["if"] = true, ["repeat"] = true,
  ["for"] = true, ["while"] = true, ["do"] = true }
local HEADS = { ["for"] = true, ["while"] = true }

local function check(path, report)
  local blocks = {} -- open blocks, innermost last

  local function enclosing()
    for i = #blocks - 1, 1, -1 do
      if blocks[i].walks then
        return blocks[i]
      end
    end
  end

  for _, token in ipairs(lualex.tokens(ctext.read(path))) do
    local top = blocks[#blocks]
    local word = token.kind == "name" and token.text
    if word == "do" and top and top.head then
      top.head = false -- this `do` belongs to the loop
      local outer = top.walks and enclosing()
      if outer then
        report(("%s:%d: pairs loop inside the one of line %d")
          :format(path, top.line, outer.line))
      end
    elseif OPENS[word] then
      blocks[#blocks + 1] = { line = token.line, word = word,
        head = HEADS[word] or false, walks = false }
    elseif word == "end" or word == "until" then
      blocks[#blocks] = nil
    elseif top and top.head and top.word == "for" and
      (word == "pairs" or word == "next") then
      top.walks = true
    end
  end
  if #blocks ~= 0 then
    report(("%s:%d: block without end"):format(path, blocks[1].line))
  end
end

local faults = 0
for _, path in ipairs(arg) do
  check(path, function(text)
    faults = faults + 1
    print(text)
  end)
end
if #arg == 0 then
  print("check_pairs: no files given")
end
os.exit(faults == 0 and #arg > 0)
