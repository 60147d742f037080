-- SPDX-License-Identifier: MIT
-- Long calls of C from compiled code by FFI, and C that calls Lua: sort, callbacks.
local ffi = require("ffi")
ffi.cdef[[
int snprintf(char *, size_t, const char *, ...);
void *memchr(const void *, int, size_t);
double cbrt(double);
typedef int (*compare)(const int *, const int *);
void qsort(int *, size_t, size_t, compare);
]]
local buf = ffi.new("char[65536]")
local compare = ffi.cast("compare", function(a, b) return a[0] - b[0] end)
local function sort(v, n) ffi.C.qsort(v, n, 4, compare) end
-- A call of C that calls Lua must not be compiled.
jit.off(sort)

return function()
  local x, t = 0, {}
  for i = 1, 500 do
    x = x + ffi.C.cbrt(i)
    ffi.C.snprintf(buf, 64, "%.17g %s", i / 3, "text")
    if i % 10 == 0 then assert(ffi.C.memchr(buf + 64, 1, 65000) == nil) end
  end
  for i = 1, 400 do t[i] = (i * 7919) % 1009 end
  table.sort(t, function(a, b) return a < b end)
  local v = ffi.new("int[100]")
  for i = 0, 99 do v[i] = (i * 7919) % 1009 end
  sort(v, 100)
  assert(x > 0 and t[1] <= t[2] and v[0] <= v[1])
end
