-- SPDX-License-Identifier: MIT
-- System calls made by compiled code.
local ffi = require("ffi")
ffi.cdef[[int getppid(void);]]
local sum = 0
for i = 1, 200000 do
  if i % 100 == 0 then sum = sum + ffi.C.getppid() end
end
assert(sum > 0)
