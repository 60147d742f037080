-- SPDX-License-Identifier: MIT
-- Binary trees: allocation, collection, recursion.
local function grow(depth)
  if depth == 0 then return {} end
  return { grow(depth - 1), grow(depth - 1) }
end

local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end

return function()
  for depth = 4, 12, 2 do
    assert(count(grow(depth)) == 2 ^ (depth + 1) - 1)
  end
end
