--- Runs every benchmark, each in a process of its own (so that no loop is
-- compiled for what another one did), and writes bench/results/<name>.csv.
--
-- luajit bench/run.lua [size …]      EG_BENCH_NAME=name names the results

local RUNS = {
  "iterate", "entities fresh", "entities recycled", "entities despawn",
  "entities move", "entities access", "entities batch", "frame",
  "snapshot structs", "snapshot shuffled", "snapshot tables",
}

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return (text:gsub("%s+$", ""))
end

local function machine()
  local cpu = output("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo")
  return {
    "# cpu: " .. (cpu:match("[^\n]+") or "?"),
    "# system: " .. output("uname -srm"),
    "# LuaJIT: " .. jit.version .. ", " .. jit.arch,
    "# compiler: " .. output("cc --version | head -n 1") .. ", -O2",
    "# " .. os.date("!%Y-%m-%d"),
    "work,n,ns per operation,beside,its ns,ratio,bytes of garbage,target",
  }
end

local name = os.getenv("EG_BENCH_NAME") or "latest"
local path = "bench/results/" .. name .. ".csv"
local head = machine()
local file = assert(io.open(path, "wb"))
file:write(table.concat(head, "\n"), "\n")
file:close()
for i = 1, 4 do print(head[i]) end

local failed = 0
for i = 1, #RUNS do
  local script, what = RUNS[i]:match("^(%S+)%s*(%S*)$")
  local command = string.format("EG_BENCH_CSV=%s %s bench/%s.lua %s %s", path,
    arg[-1] or "luajit", script, what, table.concat(arg, " "))
  if os.execute(command) ~= 0 then
    print("FAILED: " .. command)
    failed = failed + 1
  end
end
print("results in " .. path)
os.exit(failed == 0)
