-- SPDX-License-Identifier: MIT
-- Flips of permutations: many branches, whose exits become traces.
local function fannkuch(n)
  local p, q, s, sign, most = {}, {}, {}, 1, 0
  for i = 1, n do p[i], q[i], s[i] = i, i, i end
  while true do
    local q0 = p[1]
    if q0 ~= 1 then
      for i = 2, n do q[i] = p[i] end
      local flips = 1
      while true do
        local qq = q[q0]
        if qq == 1 then break end
        q[q0] = q0
        if q0 >= 4 then
          local i, j = 2, q0 - 1
          repeat
            q[i], q[j] = q[j], q[i]
            i, j = i + 1, j - 1
          until i >= j
        end
        q0, flips = qq, flips + 1
      end
      if flips > most then most = flips end
    end
    if sign == 1 then
      p[1], p[2], sign = p[2], p[1], -1
    else
      p[2], p[3], sign = p[3], p[2], 1
      for i = 3, n do
        local sx = s[i]
        if sx ~= 1 then s[i] = sx - 1 break end
        if i == n then return most end
        s[i] = i
        local t = p[1]
        for j = 1, i do p[j] = p[j + 1] end
        p[i + 1] = t
      end
    end
  end
end

return function()
  assert(fannkuch(8) == 22)
end
