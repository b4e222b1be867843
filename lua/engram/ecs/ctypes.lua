--- Field types of FFI components.
-- Reads the ctype texts of a declaration, lays out the struct, and writes the
-- fingerprint under which saves know the layout. Types are canonical (`i32`,
-- `f64`, …): plain C names map to them by width and sign on this platform.
-- @module engram.ecs.ctypes

local ffi = require("ffi")

local ipairs, tonumber = ipairs, tonumber
local concat, floor, format = table.concat, math.floor, string.format

local M = {}

-- Numbers of `enum eg_field_type` in eg_types.h.
M.CODES = {
  i8 = 1, u8 = 2, i16 = 3, u16 = 4, i32 = 5, u32 = 6, i64 = 7, u64 = 8,
  f32 = 9, f64 = 10, bool = 11, entity = 12, pointer = 13,
}

local MAX_LENGTH = 2 ^ 24 -- one array dimension; a struct stays below 2^31

-- Base types by their C spelling. Plain integers are read word by word below.
local BASES = {
  int8_t = "i8", uint8_t = "u8", int16_t = "i16", uint16_t = "u16",
  int32_t = "i32", uint32_t = "u32", int64_t = "i64", uint64_t = "u64",
  float = "f32", double = "f64", bool = "bool", _Bool = "bool",
}

-- Combinations of short and long, with int, signed and unsigned taken out.
local WIDTHS = {
  [""] = "int", short = "short", long = "long", longlong = "long long",
  char = "char",
}

local function integerOf(spelling)
  local size = ffi.sizeof(spelling)
  local signed = tonumber(ffi.cast(spelling, -1)) < 0
  return (signed and "i" or "u") .. size * 8
end

-- "long unsigned int" and its kin: the words in any order, each as often as C
-- allows. Returns the canonical type and the spelling to declare it with.
local function plainInteger(text)
  if text == "" then return nil end
  local count = { signed = 0, unsigned = 0, char = 0, short = 0, int = 0,
    long = 0 }
  for word in text:gmatch("%S+") do
    if count[word] == nil then return nil end
    count[word] = count[word] + 1
  end
  if count.signed + count.unsigned > 1 or count.int > 1 or count.char > 1
    or count.short > 1 or count.long > 2 or count.char + count.int > 1 then
    return nil
  end
  local width = ("char"):rep(count.char) .. ("short"):rep(count.short)
    .. ("long"):rep(count.long)
  local base = WIDTHS[width]
  if base == nil then return nil end
  -- `char` is a third type beside its signed and unsigned forms.
  local sign = count.unsigned == 1 and "unsigned "
    or (count.signed == 1 and base == "char") and "signed " or ""
  local spelling = sign .. base
  return integerOf(spelling), spelling
end

local function scalarOf(text)
  if text == "size_t" or text == "ptrdiff_t" then
    return integerOf(text), text
  end
  local canonical = BASES[text]
  if canonical ~= nil then return canonical, text end
  return plainInteger(text)
end

-- One level of pointer to void, char or a number, const or not.
local function pointerOf(text)
  local target = text:match("^(.-)%s*%*$")
  if target == nil then return nil end
  local bare = target:gsub("^const%s+", ""):gsub("%s+const$", "")
  local qualifier = bare ~= target and "const " or ""
  if bare == "void" then return "pointer", qualifier .. "void *" end
  local canonical, spelling = scalarOf(bare)
  if canonical == nil then return nil end
  return "pointer", qualifier .. spelling .. " *"
end

local function dimension(digits)
  local n = tonumber(digits)
  if n == nil or n < 1 or n > MAX_LENGTH or n ~= floor(n) then return nil end
  return n
end

--- Reads a ctype text.
---@param text string  such as `float`, `int32_t[4]`, `entity`
---@return table|nil field  `type`, `spelling`, `dims`, `elements`, `isChar`,
-- `code`; nil when the text names no type that a field may have
function M.parse(text)
  local base, rest = text:match("^%s*([^%[]-)%s*(%[.*)$")
  if base == nil then base, rest = text:match("^%s*(.-)%s*$"), "" end
  local n, m = 0, 0
  if rest ~= "" then
    local first, second = rest:match("^%[%s*(%d+)%s*%]%s*(.-)%s*$")
    n = dimension(first)
    if n == nil then return nil end
    if second ~= "" then
      m = dimension(second:match("^%[%s*(%d+)%s*%]$"))
      if m == nil then return nil end
    end
  end

  local canonical, spelling
  if base == "entity" then
    canonical, spelling = "entity", "double"
    if m > 0 then return nil end
  else
    canonical, spelling = scalarOf(base)
    if canonical == nil then canonical, spelling = pointerOf(base) end
    if canonical == nil then return nil end
  end

  local suffix = ""
  if n > 0 then suffix = format("[%d]", n) end
  if m > 0 then suffix = suffix .. format("[%d]", m) end
  return {
    type = canonical .. suffix, -- as the fingerprint shows it
    base = canonical,           -- of one element
    code = M.CODES[canonical],
    spelling = spelling,
    suffix = suffix,
    elements = (n > 0 and n or 1) * (m > 0 and m or 1),
    dims = { n, m },            -- 0 where there is none
    isChar = spelling == "char" and n > 0 and m == 0,
  }
end

--- Writes the declaration of a struct.
---@param structName string  `struct …`, not declared before
---@param fields table[]     results of `parse` with `name`
---@return string text
function M.declaration(structName, fields)
  local parts = {}
  for i, f in ipairs(fields) do
    parts[i] = format("  %s %s%s;", f.spelling, f.name, f.suffix)
  end
  return format("%s {\n%s\n};", structName, concat(parts, "\n"))
end

--- Fills `offset` and the ctypes of every field from the declared struct.
---@param ctype ffi.ctype*
---@param fields table[]
function M.layout(ctype, fields)
  for _, f in ipairs(fields) do
    f.offset = ffi.offsetof(ctype, f.name)
    f.element = ffi.typeof(f.spelling)
    f.ctype = f.suffix == "" and f.element
      or ffi.typeof(f.spelling .. f.suffix)
  end
end

--- Writes the fingerprint of a layout: `name:type,name:type|sizeBytes`, and
-- `name@offset:type` where the offset is not the natural one, that is the end
-- of the field before, rounded up to the size of one element.
---@param fields table[]
---@param size number  bytes
---@return string fingerprint
function M.fingerprint(fields, size)
  local parts, natural = {}, 0
  for i, f in ipairs(fields) do
    local width = ffi.sizeof(f.element)
    natural = floor((natural + width - 1) / width) * width
    local at = f.offset == natural and "" or "@" .. f.offset
    parts[i] = f.name .. at .. ":" .. f.type
    natural = f.offset + width * f.elements
  end
  return format("%s|%d", concat(parts, ","), size)
end

local KEYWORDS = {}
for word in ([[
  auto break case char const continue default do double else enum extern float
  for goto if inline int long register restrict return short signed sizeof
  static struct switch typedef union unsigned void volatile while
  _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn
  _Static_assert _Thread_local bool complex
  __int8 __int16 __int32 __int64 __ptr32 __ptr64 __complex __complex__
  __signed __signed__ __const __const__ __volatile __volatile__ __restrict
  __restrict__ __inline __inline__ __extension__ __asm __asm__ asm
  __attribute __attribute__ __declspec __cdecl __fastcall __stdcall __thiscall
  __alignof __alignof__ __typeof __typeof__ typeof
]]):gmatch("%S+") do
  KEYWORDS[word] = true
end

--- Tells whether a text may name a field in C: an identifier, no keyword of C
-- nor of the compilers LuaJIT follows.
---@param text string
---@return boolean
function M.isIdentifier(text)
  return text:match("^[%a_][%w_]*$") ~= nil and not KEYWORDS[text]
end

return M
