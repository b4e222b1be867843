--- Sources of a load: a Lua string, a string.buffer, or what `saveSnapshot`
-- returned. All come down to a pointer and a length.

local ffi = require("ffi")
local buffer = require("string.buffer")
local err = require("engram.err")

local BUFFER = debug.getmetatable(buffer.new())

local M = {}

--- Whether a value is a string.buffer.
function M.isBuffer(value)
  return type(value) == "userdata" and debug.getmetatable(value) == BUFFER
end

--- Bytes of a source.
---@param name string  function and argument, for the error
---@param src any
---@return ffi.cdata* pointer  valid while `src` is held and unchanged
---@return integer length
---@return boolean fleeting  user code could change the bytes
function M.bytes(name, src)
  if type(src) == "table" and src.format == "binary" then src = src.buffer end
  if type(src) == "string" then
    return ffi.cast("const uint8_t *", src), #src, false
  elseif M.isBuffer(src) then
    local pointer, length = src:ref()
    return ffi.cast("const uint8_t *", pointer), length, true
  end
  err.expected(name, "string, string.buffer or result of saveSnapshot", src)
end

return M
