-- SPDX-License-Identifier: MIT
-- Power iterations with a matrix that is computed.
local function a(i, j) return 1 / ((i + j - 1) * (i + j - 2) * 0.5 + i) end

local function mul(x, y, n, at)
  for i = 1, n do
    local sum = 0
    for j = 1, n do sum = sum + (at and a(j, i) or a(i, j)) * x[j] end
    y[i] = sum
  end
end

return function()
  local n, u, v, t = 100, {}, {}, {}
  for i = 1, n do u[i] = 1 end
  for _ = 1, 10 do
    mul(u, t, n)
    mul(t, v, n, true)
    mul(v, t, n)
    mul(t, u, n, true)
  end
  local vbv, vv = 0, 0
  for i = 1, n do vbv, vv = vbv + u[i] * v[i], vv + v[i] * v[i] end
  assert(math.abs(math.sqrt(vbv / vv) - 1.274219991) < 1e-6)
end
