-- SPDX-License-Identifier: MIT
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local function ack(m, n)
  if m == 0 then return n + 1 end
  if n == 0 then return ack(m - 1, 1) end
  return ack(m - 1, ack(m, n - 1))
end

return function()
  assert(fib(24) == 46368)
  assert(ack(2, 40) == 83)
end
