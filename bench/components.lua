--- The components all benchmarks use: two doubles each.

local engram = require("engram")

local function pair(name)
  return engram.newFFIComponent{
    name = name, container = {},
    fields = { { "x", "double" }, { "y", "double" } },
  }
end

return { Position = pair("Position"), Velocity = pair("Velocity"),
  Force = pair("Force") }
