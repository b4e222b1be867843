-- What a C file may include and call, by where it lies.
--
--   base <- store <- {query, cmd, snap} <- io      csrc/core, no Lua headers
--   csrc/lua                                       on top of all of them
--   csrc/include                                   public, for everyone
--
--   luajit tools/check_layers.lua FILE...          files below csrc/

package.path = (arg[0]:match("^(.*)/") or ".") .. "/?.lua;" .. package.path
local ctext = require("ctext")

-- What each layer may include besides itself and the public headers.
local BELOW = {
  include = {},
  base = {},
  store = { base = true },
  query = { base = true, store = true },
  cmd = { base = true, store = true },
  snap = { base = true, store = true },
  io = { base = true, store = true, query = true, cmd = true, snap = true },
}
BELOW.core = { base = true, store = true, query = true, cmd = true,
  snap = true, io = true } -- csrc/core/*.c, such as eg_abi.c
BELOW.lua = { base = true, store = true, query = true, cmd = true,
  snap = true, io = true, core = true }

local LUA_HEADERS = { ["lua.h"] = true, ["lauxlib.h"] = true,
  ["lualib.h"] = true, ["luajit.h"] = true, ["luaconf.h"] = true,
  ["lua.hpp"] = true }

local MEMORY = { "malloc", "calloc", "realloc", "reallocarray", "free", "mmap",
  "munmap", "mremap", "posix_memalign", "aligned_alloc", "memalign", "strdup",
  "strndup", "asprintf", "alloca" }

local UNSAFE = { "strcpy", "strcat", "sprintf", "vsprintf", "gets", "atoi",
  "atol", "atof", "strtod", "strtof", "setlocale", "exit", "abort" }

local function layerOf(path)
  return path:match("csrc/core/(%w+)/") or path:match("csrc/(%w+)/")
end

local faults = 0
local function report(path, line, text, ...)
  faults = faults + 1
  print(("%s:%d: "):format(path, line) .. text:format(...))
end

local function checkInclude(path, layer, number, name, quoted, byName)
  if LUA_HEADERS[name:match("[^/]+$")] then
    if layer ~= "lua" then
      report(path, number, "%s belongs to csrc/lua only", name)
    end
    return
  end
  local target = byName[name:match("[^/]+$")]
  if not target then
    if quoted then
      report(path, number, "no file %s in the tree", name)
    end
    return
  end
  local other = layerOf(target)
  if other ~= layer and other ~= "include" and not BELOW[layer][other] then
    report(path, number, "%s may not include %s (%s)", layer, name, other)
  end
  if name:find("%.c$") then
    report(path, number, "a .c file is not included")
  end
end

-- Functions called on a line, without members (a->free) and declarations of
-- other names.
local function calls(line, name)
  local from = 1
  while true do
    local s, e = line:find("%f[%w_]" .. name .. "%s*%(", from)
    if not s then
      return false
    end
    local before = line:sub(1, s - 1)
    if not before:find("%.%s*$") and not before:find("%->%s*$") then
      return true
    end
    from = e
  end
end

-- printf-like calls follow the locale for numbers with a fraction.
local function checkPrintf(path, text)
  for at, arguments in text:gmatch("()printf%s*(%b())") do
    local format = arguments:gsub("%%%%", "")
    if format:find("%%[-+ #0]*[%d%*]*%.?[%d%*]*L?[aAeEfFgG]") then
      local _, breaks = text:sub(1, at):gsub("\n", "")
      report(path, breaks + 1, "printf of a double follows the locale")
    end
  end
end

local function checkFile(path, byName)
  local layer = layerOf(path)
  if not BELOW[layer] then
    return report(path, 1, "unknown layer %s", tostring(layer))
  end
  local source = ctext.read(path)
  local file = path:match("[^/]+$")
  local mayAllocate = layer == "base" and
    (file:find("^eg_alloc.*%.c$") or file:find("^eg_pages.*%.c$"))
  local withStrings = ctext.strip(source)
  for number, line in ctext.lines(withStrings) do
    local quote, name = line:match("^%s*#%s*include%s*([<\"])([^>\"]+)[>\"]")
    if name then
      checkInclude(path, layer, number, name, quote == "\"", byName)
    end
  end
  checkPrintf(path, withStrings)
  for number, line in ctext.lines(ctext.strip(source, false)) do
    for _, name in ipairs(MEMORY) do
      if not mayAllocate and calls(line, name) then
        report(path, number, "%s outside eg_alloc and eg_pages", name)
      end
    end
    for _, name in ipairs(UNSAFE) do
      if calls(line, name) then
        report(path, number, "%s is not used here", name)
      end
    end
    local macro = line:match("^%s*#%s*define%s+(_[%w_]*_SOURCE)")
    if macro and not file:find("_posix%.c$") then
      report(path, number, "%s outside *_posix.c", macro)
    end
  end
end

local byName = {}
for _, path in ipairs(arg) do
  local name = path:match("[^/]+$")
  if byName[name] then
    report(path, 1, "file name also used by %s", byName[name])
  end
  byName[name] = path
end
for _, path in ipairs(arg) do
  checkFile(path, byName)
end
if #arg == 0 then
  print("check_layers: no files given")
end
os.exit(faults == 0 and #arg > 0)
