--- What the player sees: a map of where the ants are, or plain lines.

local ffi = require("ffi")
local model = require("colony.model")

ffi.cdef[[int isatty(int fd);]]

local M = {}

local COLUMNS, ROWS = 64, 18
local SHADES = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" }

M.live = ffi.C.isatty(1) == 1

local cells = ffi.new("int32_t[?]", COLUMNS * ROWS)

local function count(colony)
  ffi.fill(cells, ffi.sizeof(cells))
  local sx, sy = COLUMNS / model.WIDTH, ROWS / model.HEIGHT
  for archetype, rows in colony.movers:iter() do
    local p = archetype:get(model.Position)
    for i = 1, rows do
      local x, y = math.floor(p[i].x * sx), math.floor(p[i].y * sy)
      x = math.min(math.max(x, 0), COLUMNS - 1)
      y = math.min(math.max(y, 0), ROWS - 1)
      cells[y * COLUMNS + x] = cells[y * COLUMNS + x] + 1
    end
  end
end

local function map(colony, ants)
  count(colony)
  local full = 6 * ants / (COLUMNS * ROWS)
  local lines = {}
  for y = 0, ROWS - 1 do
    local line = {}
    for x = 0, COLUMNS - 1 do
      -- By the root, so that the thin trails show beside the crowded nest.
      local part = math.sqrt(cells[y * COLUMNS + x] / full)
      local shade = math.ceil(part * (#SHADES - 1)) + 1
      line[x + 1] = SHADES[math.min(shade, #SHADES)]
    end
    lines[#lines + 1] = "  " .. table.concat(line)
  end
  return table.concat(lines, "\n")
end

--- Shows one step: a redrawn map on a terminal, now and then a line elsewhere.
function M.show(colony, title, step, last)
  if not M.live and step % 50 ~= 0 and step ~= last then return end
  local dice = colony.world:get(colony.queen, model.Dice)
  local ants = colony.movers:count()
  local line = string.format("%s step %4d  ants %d  carrying %d  scouts %d"
    .. "  born %.0f  died %.0f", title, step, ants, colony.carriers:count(),
    colony.scouts:count(), dice.births, dice.deaths)
  if not M.live then
    print(line)
    return
  end
  if step % 4 ~= 0 and step ~= last then return end
  io.write("\27[H\27[2J", line, "\n\n", map(colony, ants), "\n")
  io.flush()
end

return M
