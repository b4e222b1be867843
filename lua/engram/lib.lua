--- Opens the shared object through both of its doors and shakes hands.
-- `core` holds its Lua functions, `C` its foreign ones. The only file that
-- calls `ffi.load`.

local jit = rawget(_G, "jit")

local function need(condition, what)
  if not condition then
    error("engram needs " .. what .. "; LuaJIT 2.1 (2021 or later) has it", 0)
  end
end

need(type(jit) == "table", "LuaJIT")
local hasFfi, ffi = pcall(require, "ffi")
need(hasFfi, "LuaJIT's ffi library")
need(pcall(require, "string.buffer"), "LuaJIT's string.buffer library")
need(pcall(require, "table.new"), "LuaJIT's table.new")

local cdef = require("engram.cdef")

local M = {}

local function open()
  local loaded, core = pcall(require, "engram.core")
  if not loaded then
    error("engram: the compiled module engram.core cannot be loaded: "
      .. tostring(core), 0)
  end
  local path = package.searchpath("engram.core", package.cpath)
  if not path then
    error("engram: engram.core is loaded, but package.cpath no longer leads"
      .. " to its file", 0)
  end
  -- Without a slash the loader would search the system's folders instead.
  if not path:find("[/\\]") then path = "./" .. path end
  return core, ffi.load(path)
end

M.core, M.C = open()

local function handshake(C)
  local built = C.eg_abi_version()
  if built ~= cdef.abi then
    error(string.format("engram: the compiled module has ABI %d, the Lua files"
      .. " have %d; install both from one release", built, cdef.abi), 0)
  end
  for i = 1, #cdef.structs do
    local name = cdef.structs[i]
    local there = tonumber(C.eg_abi_sizeof(name))
    local here = ffi.sizeof(name)
    if there ~= here then
      error(string.format("engram: struct %s has %d bytes in the compiled"
        .. " module and %d in the Lua files", name, there, here), 0)
    end
  end
end

handshake(M.C)

local MESSAGES = {
  [-10] = "bad argument",
  [-11] = "not allowed now",
  [-20] = "out of memory",
  [-21] = "the operating system refused",
  [-30] = "no free entity slot",
  [-31] = "the entity is dead",
  [-32] = "the id or its slot is in use",
  [-33] = "the slot has used up its generations",
  [-40] = "the data ends early",
  [-41] = "the data is damaged",
  [-42] = "unknown format version",
  [-43] = "over a limit",
  [-44] = "the saved layout cannot be mapped",
}

--- Text of an error code.
function M.message(code)
  return MESSAGES[tonumber(code)] or "error " .. tostring(code)
end

--- Text of a system error number.
function M.osMessage(number)
  local text = ffi.new("char[256]")
  M.C.eg_os_text(number, text, 256)
  return ffi.string(text)
end

--- An id in decimal digits; other numbers as Lua writes them.
function M.idText(id)
  if id == math.floor(id) and math.abs(id) < 2 ^ 63 then
    return string.format("%.0f", id)
  end
  return tostring(id)
end

return M
