std = "luajit"
max_line_length = 80
self = false
include_files = { "**/*.lua", "*.rockspec" }
exclude_files = { "build*/**" }

files["spec"].std = "+busted"
files["*.rockspec"].std = "+rockspec"
files["lua/engram/types.lua"].ignore = { "211", "631" } -- annotations only
files["tools/run_script.lua"].globals = { "arg" }
