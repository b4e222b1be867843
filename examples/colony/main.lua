--- The colony: 100,000 ants, saved, killed, and carried on by a new process.
--
-- luajit examples/colony/main.lua          plays, then resumes, and compares
--   play FILE   founds a colony, saves it to FILE at step 200, goes on to 400
--   resume FILE loads FILE and goes on to step 400
--
-- Exit status 0 when both end in the same digest.

local here = arg[0]:match("^(.*)colony/main%.lua$") or "examples/"
package.path = here .. "?.lua;" .. package.path

local SIZE, SAVE_AT, STOP_AT, SEED = 100000, 200, 400, 20260115

local ffi = require("ffi")
local engram = require("engram")
local model = require("colony.model")
local view = require("colony.view")

ffi.cdef[[
typedef struct { long seconds, nanoseconds; } colony_time;
int clock_gettime(int clock, colony_time *t);
]]

local time = ffi.new("colony_time")
local function milliseconds()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) * 1e3 + tonumber(time.nanoseconds) / 1e6
end

-- Median of some runs of fn, milliseconds.
local function timed(fn)
  local runs = {}
  for i = 1, 7 do
    local from = milliseconds()
    fn()
    runs[i] = milliseconds() - from
  end
  table.sort(runs)
  return runs[4]
end

-- What copying the same bytes costs, memory touched before.
local function copyTime(size)
  local a, b = ffi.new("uint8_t[?]", size), ffi.new("uint8_t[?]", size)
  ffi.fill(a, size, 1)
  ffi.fill(b, size, 2)
  return timed(function() ffi.copy(b, a, size) end)
end

local function readFile(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

local function report(verb, ms, size)
  local copy = copyTime(size)
  return string.format("%s %.1f MB in %.2f ms; a bare copy of the bytes takes"
    .. " %.2f ms (%.1f times)", verb, size / 1e6, ms, copy, ms / copy)
end

local function run(colony, title, from)
  for step = from, STOP_AT do
    model.step(colony)
    view.show(colony, title, step, STOP_AT)
    if title == "play" and step == SAVE_AT then coroutine.yield(colony) end
  end
  return colony
end

local function play(path)
  local colony = model.found(SIZE, SEED)
  local course = coroutine.wrap(function() return run(colony, "play", 1) end)
  course()
  local world = colony.world
  local buffer = world:saveSnapshot({ path = path }).buffer
  local size = #buffer
  local ms = timed(function() world:saveSnapshot({ buffer = buffer }) end)
  local line = report("saved", ms, size)
  course()
  return { line, "digest " .. model.digest(colony) }
end

local function resume(path)
  local bytes = readFile(path)
  local world = engram.newWorld{ maxEntities = 2 * SIZE }
  world:loadSnapshot(bytes)
  local ms = timed(function() world:loadSnapshot(bytes) end)
  local line = report("loaded", ms, #bytes)
  local colony = run(model.attach(world), "resume", SAVE_AT + 1)
  return { line, "digest " .. model.digest(colony) }
end

-- Runs this script in a new process. What it has to say comes by a file, as
-- the child may be drawing on the terminal. Returns its digest.
local function child(verb, path)
  local command = string.format("%s %s %s %s", arg[-1] or "luajit", arg[0],
    verb, path)
  assert(os.execute(command) == 0, verb .. " failed")
  local said = readFile(path .. "." .. verb)
  os.remove(path .. "." .. verb)
  return said:match("digest (%x+)"), said
end

local function main()
  local path = os.tmpname()
  local first, said = child("play", path)
  print(said .. "that process is gone; a new one goes on from the save")
  local second, more = child("resume", path)
  os.remove(path)
  -- On a terminal the second process has drawn over what the first one said.
  print((view.live and said or "") .. more)
  if not first or first ~= second then
    print(string.format("DIFFERENT: %s and %s", tostring(first),
      tostring(second)))
    os.exit(1)
  end
  print(string.format("the same: both processes end at step %d with digest %s",
    STOP_AT, first))
end

if arg[1] == "play" or arg[1] == "resume" then
  local lines = arg[1] == "play" and play(arg[2]) or resume(arg[2])
  local file = assert(io.open(arg[2] .. "." .. arg[1], "wb"))
  file:write(table.concat(lines, "\n"), "\n")
  file:close()
else
  main()
end
