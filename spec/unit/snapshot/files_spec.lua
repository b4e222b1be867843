local kit = require("spec.support.snapkit")

local engram = kit.engram
local raises, quote = kit.raises, kit.quote

local folder
before_each(function() folder = kit.folder() end)
after_each(function() kit.remove(folder) end)

local function isThere(command)
  return os.execute("command -v " .. command .. " >/dev/null 2>&1") == 0
end

local function test(expression)
  return os.execute("test " .. expression) == 0
end

-- Saves into a path that must be refused, with these texts in the message.
local function refuses(world, path, ...)
  raises({ "engram.World:saveSnapshot", ("%q"):format(path), ... },
    world.saveSnapshot, world, { path = path })
end

describe("a path", function()
  it("gets the bytes that are returned", function()
    local world = kit.everything()
    local path = folder .. "/a.snap"
    local result = world:saveSnapshot({ path = path })
    assert.equal(result.buffer:tostring(), kit.read(path))
    local other = engram.newWorld()
    other:loadSnapshot(kit.read(path))
    kit.same(kit.contents(world), kit.contents(other))
    assert.same({ "a.snap" }, kit.list(folder))
  end)

  it("is replaced as a whole: who has the old file open keeps it", function()
    local path = folder .. "/a.snap"
    local old = ("old"):rep(100000)
    kit.write(path, old)
    local reader = assert(io.open(path, "rb"))
    local first = reader:read(10)
    local world = engram.newWorld()
    world:saveSnapshot({ path = path })
    assert.equal(old, first .. reader:read("*a"))
    reader:close()
    assert.equal(kit.save(world), kit.read(path))
    for i = 1, 5 do
      world:spawn(kit.Pos(i, i), kit.Text(("t"):rep(i * 1000)))
      world:saveSnapshot({ path = path })
      assert.equal(kit.save(world), kit.read(path))
    end
    assert.same({ "a.snap" }, kit.list(folder))
  end)

  it("has its missing folders made", function()
    local world = engram.newWorld()
    for _, path in ipairs({ "a/b/c/d.snap", "a//b///e.snap", "./a/f.snap",
      "x/../y/g.snap", "x/./h.snap" }) do
      world:saveSnapshot({ path = folder .. "/" .. path })
      assert.is_true(kit.verify(kit.read(folder .. "/" .. path)))
    end
    assert.same({ "a", "x", "y" }, kit.list(folder))
    assert.same({ "c", "e.snap" }, kit.list(folder .. "/a/b"))
  end)

  it("may be relative, without any folder", function()
    local text = [[
      local engram = require("engram")
      engram.newWorld():saveSnapshot({ path = "plain.snap" })
      engram.newWorld():saveSnapshot({ path = "sub/plain.snap" })
      print("done")]]
    local here = io.popen("pwd"):read("*l")
    local function absolute(path)
      return (path:gsub("%f[^;%z]%./", here .. "/"))
    end
    kit.write(folder .. "/script.lua", text)
    local pipe = io.popen(("cd %s && LUA_PATH=%s LUA_CPATH=%s %s script.lua"
      .. " 2>&1"):format(quote(folder), quote(absolute(package.path)),
      quote(absolute(package.cpath)), os.getenv("LUAJIT") or "luajit"))
    assert.equal("done\n", pipe:read("*a"))
    pipe:close()
    assert.same({ "plain.snap", "script.lua", "sub" }, kit.list(folder))
    assert.is_true(kit.verify(kit.read(folder .. "/sub/plain.snap")))
  end)

  it("may have any name the system takes", function()
    local world = kit.everything()
    local expected = kit.save(world)
    for _, name in ipairs({ "Spielst\195\164nde", "\227\130\187\227\131\188"
      .. "\227\131\150", "\208\161\208\190\209\133\209\128", "a b  c", "it's",
      'say "x"', "new\nline", "-n", "%s%d", "\240\159\146\190",
      "\255\254 no UTF-8", ".hidden", "a.tmp", ("n"):rep(255),
      ("\195\164"):rep(127) }) do
      local path = folder .. "/" .. name .. "/" .. name
      world:saveSnapshot({ path = path })
      assert.equal(expected, kit.read(path))
      os.remove(path)
      assert.is_true(os.remove(folder .. "/" .. name))
      assert.same({}, kit.list(folder))
    end
    refuses(world, folder .. "/" .. ("n"):rep(256))
    assert.same({}, kit.list(folder))
  end)

  it("leaves files beside it alone", function()
    local world = engram.newWorld()
    kit.write(folder .. "/a.snap.tmp", "x")
    kit.write(folder .. "/a.snap.1-0.tmp", "y")
    world:saveSnapshot({ path = folder .. "/a.snap" })
    assert.same({ "a.snap", "a.snap.1-0.tmp", "a.snap.tmp" },
      kit.list(folder))
    assert.equal("x", kit.read(folder .. "/a.snap.tmp"))
  end)

  it("is not touched when the world cannot be saved", function()
    local path = folder .. "/a.snap"
    kit.write(path, "old")
    local world = engram.newWorld()
    local bag = kit.Bag()
    bag.f = print
    world:spawn(bag)
    raises({ "function" }, world.saveSnapshot, world, { path = path })
    raises({ "function" }, world.saveSnapshot, world,
      { path = folder .. "/new/b.snap" })
    world:spawn(kit.Hook(1))
    bag.f = nil
    kit.hook("table.save", function() error("hook") end, function()
      raises({ "hook" }, world.saveSnapshot, world, { path = path })
    end)
    kit.hook("table.save", function()
      world:batchSpawn(1, { kit.Num }, function() error("staged") end)
      return {}
    end, function()
      raises({ "staged" }, world.saveSnapshot, world, { path = path })
    end)
    world:unwind()
    assert.equal("old", kit.read(path))
    assert.same({ "a.snap" }, kit.list(folder))
  end)
end)

describe("a path that cannot be written", function()
  it("is a folder", function()
    local world = engram.newWorld()
    local path = folder .. "/dir"
    world:saveSnapshot({ path = path .. "/in.snap" })
    refuses(world, path, "folder", "directory")
    refuses(world, path .. "/", "folder")
    refuses(world, folder .. "/.", "folder")
    assert.same({ "dir" }, kit.list(folder))
    assert.same({ "in.snap" }, kit.list(path))
  end)

  it("has a file in place of a folder", function()
    local world = engram.newWorld()
    kit.write(folder .. "/file", "text")
    refuses(world, folder .. "/file/a.snap", "folder", "directory")
    refuses(world, folder .. "/file/deep/a.snap", "folder")
    refuses(world, "/dev/null/a.snap", "folder")
    assert.equal("text", kit.read(folder .. "/file"))
    assert.same({ "file" }, kit.list(folder))
  end)

  it("is a device, a pipe or a socket", function()
    local world = engram.newWorld()
    for _, path in ipairs({ "/dev/null", "/dev/full", "/dev/zero" }) do
      if test("-c " .. path) then
        refuses(world, path, "regular file")
        assert.is_true(test("-c " .. path))
      end
    end
    os.execute("mkfifo " .. quote(folder .. "/fifo"))
    refuses(world, folder .. "/fifo", "regular file")
    assert.is_true(test("-p " .. quote(folder .. "/fifo")))
    assert.same({ "fifo" }, kit.list(folder))
  end)

  it("lies where no files can be made", function()
    if not test("-d /proc/self") then return pending("no /proc") end
    local world = engram.newWorld()
    refuses(world, "/proc/engram-test.snap")
    refuses(world, "/proc/engram-test/a.snap")
  end)

  it("leaves the world usable and the buffer empty", function()
    local world = kit.everything()
    local before = kit.state(world)
    local out = require("string.buffer").new()
    raises({ "path" }, world.saveSnapshot, world,
      { path = "/dev/null/x", buffer = out })
    assert.equal(0, #out)
    kit.same(before, kit.state(world))
  end)
end)

-- ---- failures of the system ------------------------------------------------

local SAVE = [[
  local engram = require("engram")
  local Pos = engram.newFFIComponent({ name = "Pos", container = {},
    fields = { { "x", "double" } } })
  local world = engram.newWorld()
  for i = 1, 20000 do world:spawn(Pos(i)) end
  local ok, message = pcall(world.saveSnapshot, world, { path = arg[1] })
  io.stdout:write(ok and "saved" or message)]]

-- Runs SAVE into `path` behind a command line `before`.
local function saveBehind(before, path, log)
  local script = folder .. ".lua"
  kit.write(script, SAVE)
  local pipe = io.popen(("LUA_PATH=%s LUA_CPATH=%s sh -c %s 2>&1"):format(
    quote(package.path), quote(package.cpath), quote(("%s %s %s %s"):format(
      before, os.getenv("LUAJIT") or "luajit", quote(script), quote(path)))))
  local out = pipe:read("*a")
  pipe:close()
  os.remove(script)
  if log then
    local text = kit.read(log)
    os.remove(log)
    return out, text
  end
  return out
end

describe("a disk that is full", function()
  it("is reported; the old file stays and nothing is left over", function()
    local path = folder .. "/a.snap"
    kit.write(path, "old")
    -- A file may not grow beyond 64 KiB, and the process is told by an error.
    local out = saveBehind("trap '' XFSZ; ulimit -f 128; exec", path)
    assert.is_truthy(out:find("writing", 1, true), out)
    assert.is_truthy(out:find(path, 1, true), out)
    assert.equal("old", kit.read(path))
    assert.same({ "a.snap" }, kit.list(folder))
  end)
end)

-- strace cannot follow everywhere: not below a sanitizer, not without the
-- right to.
local strace
local function hasStrace()
  if strace == nil then
    strace = isThere("strace") and not os.getenv("LD_PRELOAD")
      and os.execute("strace -o /dev/null true >/dev/null 2>&1") == 0
  end
  return strace
end

local function traced(path, inject)
  local log = folder .. ".log"
  local command = ("strace -o %s -e trace=openat,open,write,fsync,rename,"
    .. "renameat,renameat2,unlink,unlinkat,mkdir %s"):format(quote(log),
    inject and "-e inject=" .. inject or "")
  return saveBehind(command, path, log)
end

describe("the order of system calls", function()
  it("is write, flush, rename, flush of the folder", function()
    if not hasStrace() then return pending("no strace") end
    local path = folder .. "/a.snap"
    local out, log = traced(path)
    assert.equal("saved", out)
    local steps, descriptor, inside = {}, nil, false
    for line in log:gmatch("[^\n]+") do
      if line:find("O_EXCL", 1, true) then
        inside, descriptor = true, line:match("= (%d+)$")
        steps[#steps + 1] = "open"
      elseif inside then
        local call, fd = line:match("^(%w+)%((%d*)")
        if call == "write" and fd == descriptor then
          if steps[#steps] ~= "write" then steps[#steps + 1] = "write" end
        elseif call == "fsync" then
          steps[#steps + 1] = fd == descriptor and "flush" or "flush folder"
        elseif call and call:find("^rename") then
          steps[#steps + 1] = "rename"
        end
      end
    end
    assert.same({ "open", "write", "flush", "rename", "flush folder" }, steps)
  end)

  it("flushes the folders that get new ones as well", function()
    if not hasStrace() then return pending("no strace") end
    local out, log = traced(folder .. "/new/deep/a.snap")
    assert.equal("saved", out)
    local calls = {}
    for line in log:gmatch("[^\n]+") do
      local call = line:match("^(%w+)%(")
      if call and (call == "mkdir" or call == "fsync"
          or call:find("^rename")) then
        calls[#calls + 1] = call
      end
    end
    assert.same({ "mkdir", "fsync", "mkdir", "fsync", "fsync", "rename",
      "fsync" }, calls)
  end)
end)

describe("a system call that fails", function()
  local function injected(inject, text)
    local path = folder .. "/a.snap"
    kit.write(path, "old")
    local out = traced(path, inject)
    assert.is_truthy(out:find(text, 1, true), inject .. ": " .. out)
    assert.is_truthy(out:find(path, 1, true), out)
    return kit.read(path)
  end

  it("leaves the old file and nothing else", function()
    if not hasStrace() then return pending("no strace") end
    for _, case in ipairs({
      { "write:error=ENOSPC:when=1", "writing: No space" },
      { "write:error=EIO:when=1", "writing" },
      { "fsync:error=EIO:when=1", "flushing: " },
      { "rename:error=EACCES:when=1", "renaming: Permission" },
    }) do
      assert.equal("old", injected(case[1], case[2]))
      assert.same({ "a.snap" }, kit.list(folder))
    end
  end)

  it("when only the folder cannot be flushed, says so", function()
    if not hasStrace() then return pending("no strace") end
    local text = injected("fsync:error=EIO:when=2", "flushing the folder")
    assert.is_true(kit.verify(text))
    assert.same({ "a.snap" }, kit.list(folder))
  end)

  it("is made again when it was only interrupted", function()
    if not hasStrace() then return pending("no strace") end
    local path = folder .. "/a.snap"
    assert.equal("saved", (traced(path, "write:error=EINTR:when=1..2")))
    assert.is_true(kit.verify(kit.read(path)))
  end)

  it("does not matter where a folder knows no flush", function()
    if not hasStrace() then return pending("no strace") end
    local path = folder .. "/a.snap"
    assert.equal("saved", (traced(path, "fsync:error=EINVAL:when=2")))
    assert.is_true(kit.verify(kit.read(path)))
  end)
end)

describe("a process killed on the way", function()
  it("leaves the old file or the new one, whole", function()
    if not hasStrace() then return pending("no strace") end
    local path = folder .. "/a.snap"
    for _, case in ipairs({ { "write:signal=KILL:when=1", false },
      { "fsync:signal=KILL:when=1", false },
      { "rename:signal=KILL:when=1" }, { "fsync:signal=KILL:when=2", true } })
    do
      kit.write(path, "old")
      local out = traced(path, case[1])
      assert.is_nil(out:find("saved", 1, true))
      local text = kit.read(path)
      local isNew = kit.verify(text) == true
      assert.is_true(isNew or text == "old")
      if case[2] ~= nil then assert.equal(case[2], isNew) end
      -- What it left over does not stop the next save.
      engram.newWorld():saveSnapshot({ path = path })
      assert.is_true(kit.verify(kit.read(path)))
    end
  end)
end)
