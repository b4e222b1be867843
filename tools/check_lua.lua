-- Names that lua/ may not use: nothing is run that came as text or bytes.
--
-- Code generated for speed is the exception: its line ends in a comment that
-- begins with "codegen:" and says what is generated from what.
--
--   luajit tools/check_lua.lua FILE...

package.path = (arg[0]:match("^(.*)/") or ".") .. "/?.lua;" .. package.path
local ctext = require("ctext")
local lualex = require("lualex")

local BANNED = { loadstring = true, load = true, dofile = true,
  loadfile = true, setfenv = true }

-- Code tokens, and the set of lines with a justification.
local function split(tokens)
  local code, justified = {}, {}
  for _, token in ipairs(tokens) do
    if token.kind ~= "comment" then
      code[#code + 1] = token
    elseif token.text:find("^%-%-+%s*codegen:%s*%S") then
      justified[token.line] = true
    end
  end
  return code, justified
end

local function textAt(code, i)
  return code[i] and code[i].text
end

-- A field or method of that name (x.load, x:load, { load = … }) is no use of
-- the global, unless the table is _G.
local function isUse(code, i)
  local before, after = textAt(code, i - 1), textAt(code, i + 1)
  if before == "." or before == ":" then
    return textAt(code, i - 2) == "_G"
  end
  return after ~= "="
end

local faults = 0
for _, path in ipairs(arg) do
  local code, justified = split(lualex.tokens(ctext.read(path)))
  for i, token in ipairs(code) do
    if token.kind == "name" and BANNED[token.text] and isUse(code, i)
      and not justified[token.line] then
      faults = faults + 1
      print(("%s:%d: %s without `-- codegen:` and a reason")
        :format(path, token.line, token.text))
    end
  end
end
if #arg == 0 then
  print("check_lua: no files given")
end
os.exit(faults == 0 and #arg > 0)
