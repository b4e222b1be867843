-- Runs one test script under plain luajit and says when it came to its end:
-- a script that calls os.exit(0) half-way must not look as if it had passed.
--
--   luajit tools/run_script.lua SCRIPT

local path = assert(arg[1], "usage: run_script.lua SCRIPT")

arg = { [0] = path }
dofile(path)
io.stdout:write("script: done\n")
