-- SPDX-License-Identifier: MIT
-- String functions are C, called from compiled code and from the interpreter.
return function()
  local words = {}
  for i = 1, 2000 do
    local s = ("item %d of %s"):format(i, tostring(i * 1.5))
    words[#words + 1] = s:upper():reverse():sub(2, -2) .. s:rep(3, ",")
  end
  local all = table.concat(words, " ")
  local n = 0
  for w in all:gmatch("%d+") do n = n + #w end
  local r = all:gsub("%u", function(c) return c:lower() end)
  assert(n > 0 and #r == #all and all:find("item 2000", 1, true))
end
