-- What busted prints: a character per test, every failure in full, and at the
-- very end the closing line from which tools/step.sh takes its counts. A run
-- that ends early prints no closing line, and so counts as failed.
--
--   .  passed    F  failed    E  error (also outside tests)    p  pending

local COLUMNS = 76
local SLOW = 5 -- seconds; slower tests are named, to keep the suite short

local function text(message)
  if type(message) == "string" then
    return message
  end
  return message == nil and "nil error" or require("pl.pretty").write(message)
end

local function place(item)
  local trace = item.element and item.element.trace or item.trace
  if not (trace and trace.short_src) then
    return "?"
  end
  return trace.short_src .. ":" .. tostring(trace.currentline)
end

local function describe(kind, item, verbose)
  io.write("\n", kind, "  ", place(item), ": ", tostring(item.name), "\n")
  io.write("  ", (text(item.message):gsub("\n", "\n  ")), "\n")
  local trace = item.trace
  if verbose and trace and trace.traceback then
    io.write("  ", (trace.traceback:gsub("\n", "\n  ")), "\n")
  end
end

return function(options)
  local busted = require("busted")
  local handler = require("busted.outputHandlers.base")()
  local column = 0
  local slow = {}
  local sums = { passed = 0, failed = 0, skipped = 0 }

  local function mark(character)
    io.write(character)
    column = column + 1
    if column == COLUMNS then
      io.write("\n")
      column = 0
    end
    io.flush()
  end

  function handler.testEnd(element, _, status)
    mark(status == "success" and "." or status == "pending" and "p"
      or status == "failure" and "F" or "E")
    local seconds = element.duration or 0
    if seconds >= SLOW then
      slow[#slow + 1] = ("%6.1f s  %s"):format(
        seconds, handler.getFullName(element))
    end
    return nil, true
  end

  function handler.outside(element)
    if element.descriptor ~= "it" then
      mark("E")
    end
    return nil, true
  end

  function handler.suiteEnd(_, run, runs)
    io.write("\n")
    for _, item in ipairs(handler.pendings) do
      describe("pending", item, false)
    end
    for _, item in ipairs(handler.failures) do
      describe("FAILED", item, options.verbose)
    end
    for _, item in ipairs(handler.errors) do
      describe("ERROR", item, options.verbose)
    end
    for _, line in ipairs(slow) do
      io.write(line, "\n")
    end
    io.write(("\n%d passed · %d failed · %d errors · %d pending · %.1f s\n")
      :format(handler.successesCount, handler.failuresCount,
        handler.errorsCount, handler.pendingsCount, handler.getDuration()))
    sums.passed = sums.passed + handler.successesCount
    sums.failed = sums.failed + handler.failuresCount + handler.errorsCount
    sums.skipped = sums.skipped + handler.pendingsCount
    if run == runs then
      io.write(("closing: passed=%d failed=%d skipped=%d\n"):format(
        sums.passed, sums.failed, sums.skipped))
    end
    io.flush()
    return nil, true
  end

  busted.subscribe({ "test", "end" }, handler.testEnd,
    { predicate = handler.cancelOnPending })
  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  busted.subscribe({ "error" }, handler.outside)
  busted.subscribe({ "failure" }, handler.outside)
  return handler
end
