-- SPDX-License-Identifier: MIT
-- usage: structure.lua PART SECONDS
--
-- Everything that a stack of LuaJIT can consist of: Lua in C in Lua, coroutines, traces with
-- and without a parent, and code that is freed. The part runs for SECONDS, and checks its
-- results.
local part, seconds = arg[1], tonumber(arg[2])
local parts = {}
local ffi = require("ffi")

ffi.cdef[[
double cbrt(double);
int snprintf(char *, size_t, const char *, ...);
void *memchr(const void *, int, size_t);
typedef int (*compare)(const int *, const int *);
void qsort(int *, size_t, size_t, compare);
]]

local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end

function parts.recursion()
  assert(fib(20) == 6765)
  local function depth(n) return n == 0 and 0 or 1 + depth(n - 1) end
  assert(depth(150) == 150)
end

-- A comparator that the interpreter runs, and a compiled loop in it.
function parts.sort()
  local t = {}
  for i = 1, 300 do t[i] = (i * 7919) % 1009 end
  table.sort(t, function(a, b)
    local n = 0
    for i = 1, 20 do n = n + i % 3 end
    return a + n < b + n
  end)
  for i = 2, #t do assert(t[i - 1] <= t[i]) end
end

function parts.gsub()
  local s = ("abc def "):rep(50)
  local n = 0
  local r = s:gsub("%a+", function(w)
    for i = 1, 30 do n = n + (i + #w) % 5 end
    return (w:gsub(".", function(c) return c:byte() % 2 == 0 and c:upper() or c end))
  end)
  assert(#r == #s and n > 0)
end

-- Each coroutine has its own C frames, above those of its resumer.
function parts.coroutine()
  local function nested(n)
    return coroutine.wrap(function()
      local inner = n > 0 and nested(n - 1)
      for i = 1, 40 do
        local sum = 0
        for j = 1, 30 do sum = sum + j % 7 end
        coroutine.yield(inner and inner() + sum or sum)
      end
    end)
  end
  local co = nested(6)
  for _ = 1, 40 do assert(co() == 87 * 7) end
  table.sort({ 3, 1, 2 }, function(a, b)
    return coroutine.wrap(function() return fib(12) and a < b end)()
  end)
end

-- Exits that become side traces, with other stack requirements than their parents.
function parts.side()
  local x, a, b, c, d, e, f, g, h = 0, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5
  for i = 1, 30000 do
    if i % 3 == 0 then
      a, b, c, d = b + i, c - i, d + 1, a
      x = x + a * b + c * d + e * f + g * h + math.sin(a) + tostring(i):len()
    elseif i % 5 == 0 then
      e, f, g, h = h, g + 1, f - 1, e
      x = x - (a + b + c + d) * (e + f) + math.floor(x / 3) % 7
    elseif i % 7 == 0 then
      x = x + (i % 2 == 0 and a or b) * (i % 11 == 0 and c or d)
    else
      x = x + i
    end
  end
  assert(x == x)
end

-- C called from compiled code.
local buf = ffi.new("char[?]", 16384)
function parts.ffi()
  local C, x = ffi.C, 0
  for i = 1, 300 do
    x = x + C.cbrt(i)
    C.snprintf(buf, 64, "%.15g %s", ffi.cast("double", i / 3), "text")
    assert(C.memchr(buf + 64, 1, 16000) == nil)
  end
  assert(x > 0)
end

-- C that calls Lua: the calls are not compiled, but the called functions are.
local calls = 0
local callback = ffi.cast("compare", function(a, b)
  calls = calls + 1
  local n = 0
  for i = 1, 20 do n = n + i % 3 end
  return a[0] + n < b[0] + n and -1 or a[0] > b[0] and 1 or 0
end)
local function sort(v, n) ffi.C.qsort(v, n, 4, callback) end
jit.off(sort)
function parts.callback()
  local v = ffi.new("int[200]")
  for i = 0, 199 do v[i] = (i * 7919) % 1009 end
  sort(v, 200)
  for i = 1, 199 do assert(v[i - 1] <= v[i]) end
  assert(calls > 200)
end

local function compile(n)
  local f = assert(loadstring(([[
    local n, t = 0, ...
    for i = 1, 100 do
      if i %% %d == 0 then n = n + #t else n = n + i %% %d end
    end
    return n]]):format(n % 5 + 2, n % 7 + 2), "=made" .. n % 10))
  assert(f({}) >= 0)
end

function parts.flush()
  for i = 1, 20 do compile(i) end
  parts.side()
  jit.flush()
end

-- Compiles until no more code fits, in areas each below the previous one; then frees it all.
jit.opt.start("sizemcode=4", "maxmcode=512", "hotloop=10")
if part ~= "areas" then jit.opt.start("sizemcode=64", "hotloop=56") end
function parts.areas()
  for i = 1, 200 do compile(i) end
end

-- An error leaves frames of all kinds.
function parts.errors()
  for i = 1, 50 do
    local ok = pcall(table.sort, { 3, 2, 1 }, function() error("no") end)
    local wrapped = coroutine.wrap(function() for j = 1, 100 do if j == 90 then error("x") end end end)
    assert(not ok and not pcall(wrapped))
    assert(select("#", pcall(string.gsub, "abc", ".", function(c) return c == "c" and error("c") end)) == 2)
  end
end

-- Garbage collections on a trace, and finalizers.
function parts.gc()
  local t = {}
  for i = 1, 20000 do
    t[i % 100] = { i, tostring(i) }
    if i % 500 == 0 then
      local u = newproxy(true)
      getmetatable(u).__gc = function() local n = 0 for j = 1, 200 do n = n + j end end
    end
  end
end

local run = assert(parts[part], "no such part")
local stop = os.time() + seconds
repeat run() until os.time() >= stop
