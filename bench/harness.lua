--- Measures one piece of work beside a reference, in one process and run.
--
-- Each sample is timed with the collector stopped, after a full collection, on
-- memory that earlier samples have touched. Work and reference take turns, so
-- a machine whose speed drifts drifts for both. The median of 15 counts.

local ffi = require("ffi")

ffi.cdef[[
typedef struct { long seconds, nanoseconds; } bench_time;
int clock_gettime(int clock, bench_time *t);
]]

local M = { SAMPLES = 15, WARMUP = 5, rows = {} }

local time = ffi.new("bench_time")

--- Nanoseconds of a steady clock.
function M.now()
  ffi.C.clock_gettime(1, time)
  return tonumber(time.seconds) * 1e9 + tonumber(time.nanoseconds)
end
local now = M.now

local function sample(work)
  if work.before then work.before() end
  collectgarbage()
  collectgarbage("stop")
  local heap = collectgarbage("count")
  local from = now()
  work.run()
  local spent = now() - from
  local garbage = (collectgarbage("count") - heap) * 1024
  collectgarbage("restart")
  return spent, garbage
end

local function median(list)
  table.sort(list)
  return list[math.floor(#list / 2) + 1]
end

--- Times several pieces of work in turn. Each is `{name, run, before?}`.
-- Returns per name the median and least nanoseconds and the garbage of a run.
function M.measure(works)
  local times, garbage = {}, {}
  for i = 1, #works do times[i] = {} end
  for round = 1, M.WARMUP + M.SAMPLES do
    for i = 1, #works do
      local spent, bytes = sample(works[i])
      if round > M.WARMUP then
        times[i][round - M.WARMUP] = spent
        garbage[i] = bytes
      end
    end
  end
  local out = {}
  for i = 1, #works do
    local middle = median(times[i])
    out[works[i].name] = {
      median = middle, least = times[i][1], garbage = garbage[i],
    }
  end
  return out
end

--- Reports one line: what was measured, per operation, and beside what.
-- `target` is the most it should be, in ns or in times the reference.
function M.report(row)
  local ratio = row.reference and row.ns / row.reference
  local line = string.format("%-34s %9d  %9.2f ns", row.work, row.n, row.ns)
  if ratio then
    line = line .. string.format("  %9.2f ns %-22s %6.2f x", row.reference,
      row.beside, ratio)
  end
  if row.target then line = line .. "   target " .. row.target end
  print(line)
  row.ratio = ratio
  M.rows[#M.rows + 1] = row
end

--- Writes the reported lines as CSV rows to the file that run.lua names.
function M.finish()
  local path = os.getenv("EG_BENCH_CSV")
  if not path then return end
  local file = assert(io.open(path, "ab"))
  for i = 1, #M.rows do
    local row = M.rows[i]
    local function number(v) return v and string.format("%.3f", v) or "" end
    file:write(string.format('"%s",%d,%.3f,"%s",%s,%s,%s,%s\n', row.work, row.n,
      row.ns, row.beside or "", number(row.reference), number(row.ratio),
      number(row.garbage), row.target or ""))
  end
  file:close()
end

--- The sizes to measure at, from the command line or 100,000 and 1,000,000.
function M.sizes()
  local list = {}
  for i = 1, #arg do list[i] = assert(tonumber(arg[i]), "a number expected") end
  return #list > 0 and list or { 100000, 1000000 }
end

--- Numbers 1 … n in an order that is random but the same in every run.
function M.shuffled(n)
  local order, state = {}, 12345
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    state = (state * 1103515245 + 12345) % 2147483648
    local k = math.floor(state / 2147483648 * i) + 1
    order[i], order[k] = order[k], order[i]
  end
  return order
end

return M
