-- C source text for the checks and the cdef generator: comments out, line
-- numbers kept.

local M = {}

-- The characters of `s` as blanks; line ends stay, so lines keep their number.
local function blank(s)
  return (s:gsub("[^\n]", " "))
end

--- Returns C text without comments. String and character literals stay, or
-- with `strings = false` are emptied ("" and ' ' of the same length).
function M.strip(source, strings)
  local out = {}
  local i = 1
  while i <= #source do
    local at = source:find("[/\"']", i)
    if not at then
      break
    end
    out[#out + 1] = source:sub(i, at - 1)
    local two = source:sub(at, at + 1)
    local stop
    if two == "/*" then
      local _, e = source:find("*/", at + 2, true)
      stop = e or #source
      out[#out + 1] = blank(source:sub(at, stop))
    elseif two == "//" then
      stop = (source:find("\n", at, true) or #source + 1) - 1
      out[#out + 1] = blank(source:sub(at, stop))
    elseif two:sub(1, 1) == "/" then
      stop = at
      out[#out + 1] = "/"
    else
      local quote = two:sub(1, 1)
      stop = at + 1
      while stop <= #source and source:sub(stop, stop) ~= quote do
        stop = stop + (source:sub(stop, stop) == "\\" and 2 or 1)
      end
      local literal = source:sub(at, stop)
      if strings == false then
        literal = quote .. blank(literal:sub(2, -2)) .. quote
      end
      out[#out + 1] = literal
    end
    i = stop + 1
  end
  out[#out + 1] = source:sub(i)
  return table.concat(out)
end

--- Iterates over the lines of a text: number, line.
function M.lines(text)
  local number = 0
  local next_line = text:gmatch("([^\n]*)\n?")
  return function()
    local line = next_line()
    number = number + 1
    if line then
      return number, line
    end
  end
end

--- Reads a whole file, or raises.
function M.read(path)
  local file = assert(io.open(path, "rb"))
  local source = file:read("*a")
  file:close()
  return source
end

return M
