-- SPDX-License-Identifier: MIT
return function()
  local n, inside = 120, 0
  for y = 0, n - 1 do
    local ci = 2 * y / n - 1
    for x = 0, n - 1 do
      local cr, zr, zi, r2, i2 = 2 * x / n - 1.5, 0, 0, 0, 0
      local i = 0
      while i < 50 and r2 + i2 < 4 do
        zi, zr = 2 * zr * zi + ci, r2 - i2 + cr
        r2, i2, i = zr * zr, zi * zi, i + 1
      end
      if i == 50 then inside = inside + 1 end
    end
  end
  assert(inside > 1000)
end
