-- A small Lua lexer for the source checks: enough to tell code from comments
-- and strings, with line numbers.

local M = {}

-- End of a long bracket that opens at `at` (`[[`, `[==[`), or nil.
local function longEnd(source, at)
  local level = source:match("^%[(=*)%[", at)
  if not level then
    return nil
  end
  local _, stop = source:find("]" .. level .. "]", at, true)
  return stop or #source
end

local function stringEnd(source, at)
  local quote = source:sub(at, at)
  local i = at + 1
  while i <= #source and source:sub(i, i) ~= quote do
    i = i + (source:sub(i, i) == "\\" and 2 or 1)
  end
  return i
end

local SYMBOLS = { "^%.%.%.", "^%.%.", "^[=~<>]=", "^::", "^." }

local function symbolEnd(source, at)
  for _, pattern in ipairs(SYMBOLS) do
    local _, stop = source:find(pattern, at)
    if stop then
      return stop
    end
  end
end

-- Kind of the token at `at`, and where it ends.
local function scan(source, at)
  local c = source:sub(at, at)
  if c:find("[%a_]") then
    return "name", select(2, source:find("^[%w_]+", at))
  elseif source:find("^%.?%d", at) then
    local _, stop = source:find("^0[xX][%x%.]+[pP]?[+-]?%d*[uUlLi]*", at)
    if not stop then
      stop = select(2, source:find("^[%d%.]+", at))
      stop = select(2, source:find("^[eE][+-]?%d+", stop + 1)) or stop
      stop = select(2, source:find("^[uUlLi]+", stop + 1)) or stop
    end
    return "number", stop
  elseif c == "\"" or c == "'" then
    return "string", stringEnd(source, at)
  elseif source:find("^%-%-", at) then
    return "comment", longEnd(source, at + 2)
      or (source:find("\n", at, true) or #source + 1) - 1
  elseif longEnd(source, at) then
    return "string", longEnd(source, at)
  end
  return "symbol", symbolEnd(source, at)
end

--- Splits Lua source into tokens { kind, text, line }. Comments are kept.
function M.tokens(source)
  local tokens = {}
  local line = 1
  local at = 1
  if source:sub(1, 2) == "#!" then
    at = source:find("\n", 1, true) or #source + 1
  end
  while at <= #source do
    local _, gap = source:find("^%s+", at)
    if gap then
      local _, breaks = source:sub(at, gap):gsub("\n", "")
      line = line + breaks
      at = gap + 1
    else
      local kind, stop = scan(source, at)
      local text = source:sub(at, stop)
      tokens[#tokens + 1] = { kind = kind, text = text, line = line }
      local _, breaks = text:gsub("\n", "")
      line = line + breaks
      at = stop + 1
    end
  end
  return tokens
end

return M
