-- SPDX-License-Identifier: MIT
-- Code that is compiled, used a little, and thrown away.
return function()
  for i = 1, 40 do
    local f = assert(loadstring(([[
      local n = 0
      for i = 1, 300 do if i %% %d == 0 then n = n + %d else n = n - i end end
      return n]]):format(i % 5 + 2, i)))
    f()
  end
  jit.flush()
end
