-- Pages of the documentation, and the fenced blocks in them.

local M = {}

function M.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

--- README.md and every page below docs/, sorted.
function M.pages()
  local found = { "README.md" }
  local listing = assert(io.popen("find docs -name '*.md' | LC_ALL=C sort"))
  for path in listing:lines() do found[#found + 1] = path end
  listing:close()
  return found
end

--- Fenced blocks of a page in the given language, in order:
-- { page, line, text }, `line` being that of the first line of text.
function M.blocks(page, language)
  local found, block, number = {}, nil, 0
  for line in M.read(page):gmatch("([^\n]*)\n") do
    number = number + 1
    local fence = line:match("^%s*```(.*)$")
    if block and fence then
      block.text = table.concat(block, "\n") .. "\n"
      if block.language == language then found[#found + 1] = block end
      block = nil
    elseif block then
      block[#block + 1] = line
    elseif fence then
      block = { page = page, line = number + 1, language = fence }
    end
  end
  assert(not block, page .. ": a fence is left open")
  return found
end

-- Entries that begin with "./" made absolute.
local function absolute(path, root)
  return (("; " .. path):gsub(";%s*%./", ";" .. root .. "/"):gsub("^;%s*", ""))
end

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Runs Lua text in a new process, in an empty folder. `line` is what the
-- first line is called in messages. Returns what it printed and whether it
-- ended well.
function M.run(text, line)
  local pwd = assert(io.popen("pwd"))
  local root = pwd:read("*l")
  pwd:close()
  local made = assert(io.popen("mktemp -d"))
  local folder = made:read("*l")
  made:close()
  local file = assert(io.open(folder .. "/block.lua", "wb"))
  file:write(("\n"):rep(line - 1), text)
  file:close()
  local pipe = assert(io.popen(("cd %s && LUA_PATH=%s LUA_CPATH=%s %s block.lua"
    .. " 2>&1; echo \"status $?\""):format(quote(folder),
    quote(absolute(package.path, root)), quote(absolute(package.cpath, root)),
    os.getenv("LUAJIT") or "luajit")))
  local output, status = pipe:read("*a"):match("^(.*)status (%d+)\n$")
  pipe:close()
  os.execute("rm -rf " .. quote(folder))
  return output, status == "0"
end

return M
