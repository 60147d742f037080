-- SPDX-License-Identifier: MIT
-- Planets, by the simplest integrator.
local sqrt = math.sqrt
local bodies = {}
for i = 1, 5 do
  bodies[i] = { x = i * 1.7, y = i * -0.9, z = i * 0.3, vx = 0.1 / i, vy = 0.2 * i, vz = -0.05 * i, m = 40 / i ^ 3 }
end

local function advance(dt)
  for i = 1, #bodies do
    local a = bodies[i]
    for j = i + 1, #bodies do
      local b = bodies[j]
      local dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
      local d2 = dx * dx + dy * dy + dz * dz
      local mag = dt / (d2 * sqrt(d2))
      a.vx, a.vy, a.vz = a.vx - dx * b.m * mag, a.vy - dy * b.m * mag, a.vz - dz * b.m * mag
      b.vx, b.vy, b.vz = b.vx + dx * a.m * mag, b.vy + dy * a.m * mag, b.vz + dz * a.m * mag
    end
  end
  for i = 1, #bodies do
    local a = bodies[i]
    a.x, a.y, a.z = a.x + dt * a.vx, a.y + dt * a.vy, a.z + dt * a.vz
  end
end

return function()
  for _ = 1, 20000 do advance(0.001) end
end
