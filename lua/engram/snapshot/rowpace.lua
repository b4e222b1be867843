-- SPDX-License-Identifier: MIT
--- When to use generated code, and when to let it rest.
-- Generated code that is not compiled takes ten times as long as the generic
-- codec: when the rows of a component come in more shapes than there may be
-- traces, or when the JIT gave up for another reason. So it is timed now and
-- then. When it is slow, code with fewer branches takes its place, and if that
-- is no better, it rests for some chunks. A writer also rests when chunk after
-- chunk has rows with keys that are not declared.
--
-- A codec, of either direction, is a table: `fast`, the generated function or
-- nil; `plain`, makes one with fewer branches; `slow`, seconds per row that are
-- too many; the rest are counters.
-- @module engram.snapshot.rowpace

local clock, min = os.clock, math.min

local M = {}

local SLOW = 2.5e-7 -- seconds per field; compiled code is far below

--- Makes a codec for rows of so many fields.
function M.new(fast, plain, fields)
  return { fast = fast, plain = plain, slow = SLOW * (fields + 1),
    chunks = 0, strikes = 0, missed = 0, rest = 0, nap = 64 }
end

--- Whether the generic codec is to do the next chunk.
function M.isResting(codec)
  if codec.rest == 0 then return false end
  codec.rest = codec.rest - 1
  return true
end

--- Starts a measurement: for one chunk of eight, for each after a slow one.
---@return number|false started
function M.startClock(codec)
  codec.chunks = codec.chunks + 1
  return (codec.strikes > 0 or codec.chunks % 8 == 0) and clock()
end

--- Ends the measurement of a chunk of so many rows.
function M.stopClock(codec, started, rows)
  if clock() - started < codec.slow * rows then
    codec.strikes = 0
    return
  end
  codec.strikes = codec.strikes + 1
  if codec.strikes < 6 then return end
  if codec.plain then
    codec.fast, codec.plain, codec.strikes = codec.plain(), nil, 0
  else
    codec.rest, codec.strikes = codec.nap, 4
    codec.nap = min(codec.nap * 2, 4096)
  end
end

--- Notes a chunk with keys that are not declared.
function M.miss(writer)
  writer.missed = min(writer.missed + 1, 8)
  if writer.missed > 1 then writer.rest = 2 ^ writer.missed end
end

return M
