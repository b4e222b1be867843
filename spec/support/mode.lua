-- Runs before the specs (see .busted): checks the host and sets the mode.
--
-- EG_GC=stress  the collector never rests: each step that allocation triggers
--               does work, so every barrier meets every phase
-- EG_GC=full    besides, a full collection after every few steps' allocation;
--               far slower, for `make gc-stress`

assert(type(jit) == "table",
  "the specs need LuaJIT: luajit \"$(command -v busted)\" --ignore-lua")

local ffi = require("ffi")

-- busted remembers the results of these three by their first argument alone.
-- That hides a missing guard around a declaration, and gives `$` types of one
-- text but other arguments the first result. Put the real functions back.
for _, name in ipairs({ "cdef", "typeof", "metatype" }) do
  local wrapper = ffi[name]
  for i = 1, 10 do
    local key, value = debug.getupvalue(wrapper, i)
    if key == nil then
      break
    elseif key == "original" then
      ffi[name] = value
    end
  end
end

local mode = os.getenv("EG_GC")
if mode == "stress" then
  collectgarbage("setpause", 0)
  collectgarbage("setstepmul", 2000)
elseif mode == "full" then
  collectgarbage("setpause", 0)
  collectgarbage("setstepmul", 1e6)
elseif mode then
  error("EG_GC is \"stress\" or \"full\", not " .. mode)
end
