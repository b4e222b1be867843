-- Checks of the documents; each is one count.
--
--   luajit tools/check_docs.lua
--
-- A check is an entry of CHECKS: a name and a function that gets the list of
-- pages and a function to report a fault with (page, line, text).

package.path = (arg[0]:match("^(.*)/") or ".") .. "/?.lua;" .. package.path
local ctext = require("ctext")

local function exists(path)
  local file = io.open(path, "rb")
  if file then
    file:close()
  end
  return file ~= nil
end

local function pages()
  local found = {}
  local listing = assert(io.popen(
    "find . -name '*.md' -not -path './build*' -not -path './.*' | sort"))
  for path in listing:lines() do
    found[#found + 1] = (path:gsub("^%./", ""))
  end
  listing:close()
  return found
end

-- The text of a page with fenced code and code spans blanked.
local function prose(path)
  local out, fenced = {}, false
  for _, line in ctext.lines(ctext.read(path)) do
    local fence = line:find("^%s*```")
    if fence then
      fenced = not fenced
    end
    out[#out + 1] = (fence or fenced) and "" or line:gsub("`[^`]*`", "")
  end
  return table.concat(out, "\n")
end

-- The fragment a heading can be linked by.
local function slug(heading)
  return (heading:lower():gsub("`", ""):gsub("[^%w%s_-]", "")
    :gsub("%s", "-"))
end

local function anchors(path)
  local found, fenced = {}, false
  for _, line in ctext.lines(ctext.read(path)) do
    if line:find("^%s*```") then
      fenced = not fenced
    end
    local heading = not fenced and line:match("^#+%s+(.-)%s*#*$")
    if heading then
      found[slug(heading)] = true
    end
  end
  return found
end

local function resolve(page, target)
  local folder = page:match("^(.*/)") or ""
  if target:sub(1, 1) == "/" then
    return target:sub(2)
  end
  return folder .. target
end

local CHECKS = {}

-- Every relative link leads to a file, every fragment to a heading.
CHECKS[#CHECKS + 1] = { name = "links", run = function(list, report)
  for _, page in ipairs(list) do
    for number, line in ctext.lines(prose(page)) do
      for link in line:gmatch("%]%(%s*<?([^%s%)>]+)") do
        local target, fragment = link:match("^([^#]*)#?(.*)$")
        if not link:find("^%a[%w+.-]*:") then
          local path = target == "" and page or resolve(page, target)
          if not exists(path) then
            report(page, number, "no file " .. path)
          elseif fragment ~= "" and path:find("%.md$") and
            not anchors(path)[fragment] then
            report(page, number, "no heading #" .. fragment .. " in " .. path)
          end
        end
      end
    end
  end
end }

-- The pages every visitor looks for are there and say something.
CHECKS[#CHECKS + 1] = { name = "pages", run = function(_, report)
  for _, page in ipairs({ "README.md", "CHANGELOG.md", "CONTRIBUTING.md",
    "SECURITY.md", "docs/guide.md", "docs/saving.md", "docs/cheatsheet.md",
    "docs/format.md", "docs/architecture.md", "bench/README.md" }) do
    if not exists(page) or #ctext.read(page) < 200 then
      report(page, 1, "missing or empty")
    end
  end
end }

-- A page is read in one go.
local LINES_MAX = 400

CHECKS[#CHECKS + 1] = { name = "length", run = function(list, report)
  for _, page in ipairs(list) do
    local _, lines = ctext.read(page):gsub("\n", "")
    if page:find("^docs/") and lines >= LINES_MAX then
      report(page, lines, "not under " .. LINES_MAX .. " lines")
    end
  end
end }

-- Every page of docs/ is named or linked by another page.
CHECKS[#CHECKS + 1] = { name = "reach", run = function(list, report)
  local named = {}
  for _, page in ipairs(list) do
    local text = ctext.read(page)
    for link in text:gmatch("%]%(([^%s%)#]+)") do
      local path = resolve(page, link)
      repeat -- docs/guide/../saving.md
        local count
        path, count = path:gsub("[^/]+/%.%./", "", 1)
      until count == 0
      named[path] = true
    end
    for path in text:gmatch("`([%w/_-]+%.md)`") do
      named[path] = true
    end
  end
  for _, page in ipairs(list) do
    if page:find("^docs/") and not named[page] then
      report(page, 1, "no other page leads here")
    end
  end
end }

-- Every public function of the C headers has a contract above it; some share
-- one, without a blank line in between.
CHECKS[#CHECKS + 1] = { name = "contracts", run = function(_, report)
  local listing = assert(io.popen("ls csrc/include/*.h | LC_ALL=C sort"))
  local seen = 0
  for path in listing:lines() do
    local documented = false
    for number, line in ctext.lines(ctext.read(path)) do
      if line:find("^/%*%* ") then
        documented = true
      elseif line == "" then
        documented = false
      elseif line:find("^EG_API ") then
        seen = seen + 1
        if not documented then
          report(path, number, "no contract: " .. line)
        end
      end
    end
  end
  listing:close()
  if seen == 0 then
    report("csrc/include", 1, "no public function found")
  end
end }

local passed, failed = 0, 0
local list = pages()
for _, check in ipairs(CHECKS) do
  local faults = 0
  check.run(list, function(page, line, text)
    faults = faults + 1
    print(("%s:%d: %s"):format(page, line, text))
  end)
  print((faults == 0 and "ok    " or "FAIL  ") .. check.name)
  passed = passed + (faults == 0 and 1 or 0)
  failed = failed + (faults == 0 and 0 or 1)
end
print(("closing: passed=%d failed=%d skipped=0"):format(passed, failed))
os.exit(failed == 0)
