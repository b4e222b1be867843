--- Joins the component registry of this Lua state to the core's.
-- The core's registry hangs in the Lua registry, so a second copy of the module
-- adopts it together with its components; worlds hold it by count.

local ffi = require("ffi")
local lib = require("engram.lib")
local err = require("engram.err")

local C = lib.C
local KEY = "engram.core.registry"

local M = {}

-- Names of canonical field types, as in enum eg_field_type.
local TYPES = {
  i8 = 1, u8 = 2, i16 = 3, u16 = 4, i32 = 5, u32 = 6, i64 = 7, u64 = 8,
  f32 = 9, f64 = 10, bool = 11, entity = 12, pointer = 13,
}
local TRANSIENT, HOST_CODEC = 1, 2

local function handle()
  local anchor = debug.getregistry()
  local held = anchor[KEY]
  if held == nil then
    local out = ffi.new("eg_registry *[1]")
    if C.eg_registry_new(nil, out) < 0 then error("engram: out of memory") end
    held = ffi.gc(out[0], C.eg_registry_release)
    anchor[KEY] = held
  end
  return held
end

-- The core copies names and fields; `keep` holds what it reads meanwhile.
local function fieldsOf(info, keep)
  local list = info.ffiFields
  local fields = ffi.new("eg_field[?]", #list)
  for i = 1, #list do
    local f, to = list[i], fields[i - 1]
    to.name, to.name_len = f.name, #f.name
    to.type = TYPES[f.base]
    to.offset, to.elements = f.offset, f.elements
    to.dims[0] = f.dims[1] or 0
    to.dims[1] = f.dims[2] or 0
  end
  keep.fields = fields
  return fields, #list
end

local def = ffi.new("eg_component_def")
local idOut = ffi.new("uint32_t[1]")

local function register(info)
  local keep = {}
  ffi.fill(def, ffi.sizeof(def))
  def.name, def.name_len = info.name, #info.name
  def.storage = info.storage
  if info.storage == 1 then
    def.size, def.align = info.size, ffi.alignof(info.ctype)
    def.fields, def.field_count = fieldsOf(info, keep)
  end
  if info.transient then def.flags = TRANSIENT end
  if info.serialize or info.deserialize then
    def.flags = def.flags + HOST_CODEC
  end
  local code = C.eg_component_register(handle(), def, idOut)
  if code < 0 then
    err.raise(string.format("engram: component %q: %s", info.name,
      lib.message(code)))
  end
  return idOut[0]
end

--- Gives the Lua registry its backend and `handle`.
function M.attach(registry)
  registry.backend = { register = register }
  registry.handle = handle
end

return M
