-- SPDX-License-Identifier: MIT
-- usage: run.lua SECONDS|xTIMES NAME...
--
-- Runs each of these programs for SECONDS, or TIMES times, and prints how often and how long
-- each ran.
local limit, names = arg[1], { select(2, ...) }
local times = tonumber(limit:match("^x(%d+)$"))
local dir = arg[0]:match("^(.*/)") or "./"

for _, name in ipairs(names) do
  local run = assert(loadfile(dir .. name .. ".lua"))()
  local start, n = os.clock(), 0
  repeat
    run()
    n = n + 1
  until times and n == times or not times and os.clock() - start >= tonumber(limit)
  print(("%s %d %.3f"):format(name, n, os.clock() - start))
end

local status = io.open("/proc/self/status")
if status then print((status:read("*a"):match("VmHWM:[^\n]*"))) end
