-- SPDX-License-Identifier: MIT
--- Columns of Lua values to bytes and back.
-- Two ways lead to the same bytes. The generic one is C and walks anything. For
-- components that declare fields there is code made for just these, which the
-- JIT compiles; it does rows of numbers, booleans and strings, and leaves every
-- other row to the generic one. So the way a row took shows in the time only.
--
-- Nothing here yields or calls user code, except that making tables lets the
-- collector run finalizers. Offsets and sizes are bytes, from 0; a scratch is
-- what `newScratch` makes.
-- @module engram.snapshot.codec

local ffi = require("ffi")
local core = require("engram.core")
local rowpace = require("engram.snapshot.rowpace")
local rowreader = require("engram.snapshot.rowreader")
local rowstrings = require("engram.snapshot.rowstrings")
local rowwriter = require("engram.snapshot.rowwriter")

local M = {}

local CHUNK = 256 -- rows written, then checked, at a time
local STRINGS = 24 -- bytes reserved per row for its strings
-- More could not be handed on: strings of the host end below 2 GiB.
local LIMIT = 0x7fff0000

local bytePointer = ffi.typeof("const uint8_t *")
local scratchPointer = ffi.typeof(
  "struct { uint8_t *data; size_t size; size_t capacity; } *")
local numbers = ffi.cast(ffi.typeof([[
  struct {
    int32_t (*put)(uint8_t *, double);
    double (*get)(const uint8_t *);
  } *]]), core.numbers)
local putNumber, getNumber = numbers.put, numbers.get

-- Unaligned words are stored and compared, lowest byte first.
local DIRECT = ffi.abi("le") and (jit.arch == "x64" or jit.arch == "x86"
  or jit.arch == "arm64")

local cast, jitStatus = ffi.cast, jit.status
local min, next, tonumber, type = math.min, next, tonumber, type

-- ---- scratch ---------------------------------------------------------------

--- Makes an empty scratch; its memory is freed with it.
M.newScratch = core.newScratch

--- Where the bytes of a scratch are; moves when the scratch grows.
---@return userdata pointer  `uint8_t *`
function M.address(scratch)
  return cast(scratchPointer, scratch).data
end

--- A copy of the bytes from offset `from` to `to`, which have been written.
---@return string
function M.text(scratch, from, to)
  assert(from >= 0 and from <= to
    and to <= cast(scratchPointer, scratch).capacity)
  return ffi.string(M.address(scratch) + from, to - from)
end

-- ---- writing ---------------------------------------------------------------

-- Own keys of all these rows, which are tables. Interpreted on purpose:
-- compiled pairs loops can go wrong inside those of a caller, and an explicit
-- next() takes twice as long.
local function countKeys(column, first, last)
  local n = 0
  for row = first, last do
    for _ in next, column[row] do n = n + 1 end
  end
  return n
end
jit.off(countKeys)

-- Makes room for rows as they usually are. The limit is a matter of the
-- generic writer.
local function makeRoom(scratch, view, at, rows, fixed, limit)
  local want = at + rows * (fixed + STRINGS)
  if want > limit or want <= view.capacity then return true end
  return core.reserve(scratch, want)
end

-- Runs the fast writer over one chunk. Returns the first row it has not done,
-- the offset there, and whether that is good: a row with a key that is not
-- declared has more keys than the writer has seen, and no row has fewer, so
-- when the sums over the chunk are equal there is none.
local function tryChunk(writer, view, at, column, row, last, limit)
  local started = rowpace.startClock(writer)
  local nextRow, stop, seen = writer.fast(column, row, last, view.data, at,
    min(tonumber(view.capacity), limit))
  local good = seen == nil or nextRow == row
    or countKeys(column, row, nextRow - 1) == seen
  if started and nextRow > last then
    rowpace.stopClock(writer, started, last - row + 1)
  end
  return nextRow, stop, good
end

-- Writes rows first … last, in chunks. A row that the fast writer leaves goes
-- to the generic one, and with it as many of the following as a run says: one
-- at first, twice as many whenever the next one is left again.
local function writeRows(writer, scratch, at, column, first, last, limit)
  local view = cast(scratchPointer, scratch)
  local row, run = first, 1
  while row <= last do
    local from, to = row, min(row + CHUNK - 1, last)
    if not rowpace.isResting(writer) then
      local ok, message, code = makeRoom(scratch, view, at, to - row + 1,
        writer.fixed, limit)
      if not ok then return nil, message, row, code end
      local nextRow, stop, good = tryChunk(writer, view, at, column, row, to,
        limit)
      if good then
        writer.missed = 0
        run = nextRow > row and 1 or min(run * 2, CHUNK)
        at, from = stop, nextRow
        if nextRow <= to then to = min(nextRow + run - 1, last) end
      else
        rowpace.miss(writer)
        to = nextRow - 1
      end
    end
    if from <= to then
      local stop, message, code, bad = writer.generic(scratch, at, column,
        from, to, limit)
      if not stop then return nil, message, bad, code end
      at = stop
    end
    row = to + 1
  end
  return at
end
-- A loop of chunks is not worth a trace, and its attempts would all fail at
-- the loop of the fast writer.
jit.off(writeRows)

-- ---- reading ---------------------------------------------------------------

-- Finishes rows that the generic decoder made. Returns the first row that is
-- none, with the reason.
local function finishRows(reader, column, first, last)
  local finish = reader.finish
  for row = first, last do
    local cell, message, code = finish(column[row])
    if message then return row, message, code end
    column[row] = cell
  end
end

-- The generic way for rows first … last.
local function readGeneric(reader, source, at, stop, column, first, last,
    trusted)
  local after, message, code, offset, bad = core.decodeRows(source, at, stop,
    column, first, last, trusted)
  if not after then return nil, message, code, offset, bad end
  bad, message, code = finishRows(reader, column, first, last)
  if not bad then return after end
  for _ = first, bad - 1 do at = core.decode(source, at, stop, true) end
  return nil, message, code, at, bad
end

-- Reads rows first … last, in chunks and runs as writeRows.
local function readRows(reader, source, at, stop, column, first, last, trusted)
  local data = cast(bytePointer, source)
  local row, run = first, 1
  while row <= last do
    local from, to = row, min(row + CHUNK - 1, last)
    if not rowpace.isResting(reader) then
      local started = rowpace.startClock(reader)
      from, at = reader.fast(data, at, stop, column, row, to)
      if started and from > to then
        rowpace.stopClock(reader, started, to - row + 1)
      end
      run = from > row and 1 or min(run * 2, CHUNK)
      if from <= to then to = min(from + run - 1, last) end
    end
    if from <= to then
      local after, message, code, offset, bad = readGeneric(reader, source, at,
        stop, column, from, to, trusted)
      if not after then return nil, message, code, offset, bad end
      at = after
    end
    row = to + 1
  end
  return at
end
jit.off(readRows)

-- ---- components ------------------------------------------------------------

local writers = setmetatable({}, { __mode = "k" })
local readers = setmetatable({}, { __mode = "k" })

local function tableWriter(info)
  local fields = info.fields or {}
  local names = info.fields
  local writer = rowpace.new(nil, nil, #fields)
  if DIRECT then
    writer.fast, writer.fixed = rowwriter.new(fields, putNumber, true)
    function writer.plain() return (rowwriter.new(fields, putNumber, false)) end
  end
  function writer.generic(scratch, at, column, first, last, limit)
    return core.encodeRows(scratch, at, column, first, last, names, limit)
  end
  return writer
end

local function stringWriter()
  local writer = rowpace.new(DIRECT and rowstrings.write, nil, 1)
  writer.fixed, writer.generic = rowstrings.FIXED, core.encodeStrings
  return writer
end

local function asTable(data)
  if type(data) == "table" then return data end
  return nil, "table expected, got " .. type(data), "corrupt"
end

local function tableReader(info)
  local fields = info.fields or {}
  local adopt = M.isDirect(info) and info.adopt
  local reader = rowpace.new(nil, nil, #fields)
  local function make(branching)
    return rowreader.new(fields, getNumber, branching,
      adopt and info.instanceMt, adopt and info.defaults or {})
  end
  if DIRECT then
    reader.fast = make(true)
    function reader.plain() return make(false) end
  end
  reader.finish = asTable
  if adopt then
    function reader.finish(data)
      if type(data) == "table" then return adopt(data) end
      return asTable(data)
    end
  end
  return reader
end

local function stringReader(info)
  local default = info.scalarDefault
  local reader = rowpace.new(DIRECT and rowstrings.read, nil, 1)
  function reader.finish(data)
    if type(data) ~= "table" then return asTable(data) end
    local value = data.value
    if value == nil then return default end
    if type(value) == "string" then return value end
    return nil, "value: string expected, got " .. type(value), "schema"
  end
  return reader
end

local function codecOf(cache, info, forTable, forString)
  local made = cache[info]
  if not made then
    if info.kind == "table" then
      made = forTable(info)
    elseif info.scalarKind == "string" then
      made = forString(info)
    else
      error("engram.snapshot.codec: no codec for component "
        .. tostring(info.name), 3)
    end
    cache[info] = made
  end
  return made
end

--- Whether `read` gives what the column holds: strings, or instances. For
-- other table components it gives plain tables, to be handed to `deserialize`
-- or `C.new`.
---@param info table  of the registry
---@return boolean
function M.isDirect(info)
  if info.deserialize then return false end
  return info.scalarKind == "string" or info.adoptable == true
end

--- Writes rows of a table component or of a string scalar that has no
-- `serialize`, from offset `at` of a scratch on.
---@param info table  of the registry
---@param scratch userdata
---@param at number
---@param column table  instances or strings
---@param rows number  how many
---@param first? number  the first of them, 1 by default
---@param limit? number  bytes that the scratch may hold in all, 2 GiB at most
---@return number? stop  the offset behind; nil when a row cannot be written
---@return string? message  with the field path
---@return number? row
---@return string? code  unsupported, cycle, depth, limit or memory
function M.write(info, scratch, at, column, rows, first, limit)
  local writer = codecOf(writers, info, tableWriter, stringWriter)
  first = first or 1
  limit = min(limit or LIMIT, LIMIT)
  local last = first + rows - 1
  if writer.fast and jitStatus() then
    return writeRows(writer, scratch, at, column, first, last, limit)
  end
  local stop, message, code, row = writer.generic(scratch, at, column, first,
    last, limit)
  if stop then return stop end
  return nil, message, row, code
end

--- Reads rows that `write` has written for the same component, whatever its
-- fields were then. Safe on any bytes.
---@param info table  of the registry
---@param source string|userdata  bytes, or a pointer to them
---@param at number  offset of the first row
---@param stop number  offset behind the last byte that may be read
---@param column table  gets the rows, see `isDirect`
---@param rows number  how many
---@param first? number  where the first goes, 1 by default
---@param trusted? boolean  the verifier has accepted the bytes
---@return number? next  the offset behind; nil for damage, and rows before the
-- bad one may have been stored
---@return string? message
---@return string? code  truncated, corrupt, limit, memory or schema
---@return number? offset  of the damage
---@return number? row
function M.read(info, source, at, stop, column, rows, first, trusted)
  local reader = codecOf(readers, info, tableReader, stringReader)
  first = first or 1
  local last = first + rows - 1
  if reader.fast and jitStatus() then
    return readRows(reader, source, at, stop, column, first, last, trusted)
  end
  return readGeneric(reader, source, at, stop, column, first, last, trusted)
end

return M
