-- SPDX-License-Identifier: MIT
-- A sieve of coroutines: each has its own C frames.
local function generate(n)
  return coroutine.wrap(function() for i = 2, n do coroutine.yield(i) end end)
end

local function filter(p, from)
  return coroutine.wrap(function()
    for n in from do if n % p ~= 0 then coroutine.yield(n) end end
  end)
end

return function()
  local from, primes = generate(400), 0
  for p in from do
    primes = primes + 1
    from = filter(p, from)
    if primes == 30 then break end
  end
  for _ in from do primes = primes + 1 end
  assert(primes >= 78)
end
