-- SPDX-License-Identifier: MIT
-- usage: lua5.4 workload.lua SCALE
--
-- Lua code, C code of the interpreter, and C functions that call back into Lua:
-- sort with a comparison in Lua, gsub with a replacement in Lua, pcall within
-- pcall, coroutines that resume coroutines.

local scale = tonumber(arg and arg[1]) or 1

local function nbody(steps)
	local bodies = {
		{ 0, 0, 0, 0, 0, 0, 39.47 },
		{ 4.84, -1.16, -0.10, 0.60, 2.81, -0.02, 0.037 },
		{ 8.34, 4.12, -0.40, -1.01, 1.82, 0.008, 0.011 },
		{ 12.89, -15.11, -0.22, 1.08, 0.86, -0.010, 0.0017 },
		{ 15.37, -25.91, 0.17, 0.97, 0.59, -0.034, 0.0020 },
	}
	for _ = 1, steps do
		for i, a in ipairs(bodies) do
			for j = i + 1, #bodies do
				local b = bodies[j]
				local x, y, z = a[1] - b[1], a[2] - b[2], a[3] - b[3]
				local d2 = x * x + y * y + z * z
				local mag = 0.001 / (d2 * math.sqrt(d2))
				for k, d in ipairs { x, y, z } do
					a[3 + k] = a[3 + k] - d * b[7] * mag
					b[3 + k] = b[3 + k] + d * a[7] * mag
				end
			end
		end
		for _, a in ipairs(bodies) do
			for k = 1, 3 do
				a[k] = a[k] + 0.001 * a[3 + k]
			end
		end
	end
	return bodies[1][1]
end

local function sort(n)
	local seed, t = 42, {}
	for i = 1, n do
		seed = (seed * 1103515245 + 12345) % 2147483648
		t[i] = { key = seed % 1000, name = string.format("%08x", seed) }
	end
	table.sort(t, function(a, b)
		if a.key ~= b.key then
			return a.key < b.key
		end
		return a.name < b.name
	end)
	return t[1].key
end

local function text(n)
	local line = "the quick brown fox jumps over the lazy dog "
	local count = 0
	for i = 1, n do
		local s = line:rep(8) .. i
		s = s:gsub("%w+", function(w)
			count = count + 1
			return w:upper():reverse()
		end)
		s = s:gsub("(%u)(%u)", "%2%1")
		if s:find("XOF", 1, true) and s:match("(%d+)$") then
			count = count + #s
		end
	end
	return count
end

-- One C frame of lua_pcallk per level.
local function nest(depth)
	if depth == 0 then
		error({ depth = 0 })
	end
	local ok, e = pcall(nest, depth - 1)
	if not ok then
		e.depth = e.depth + 1
		error(e)
	end
end

local function errors(n)
	local sum = 0
	for _ = 1, n do
		local _, e = pcall(nest, 30)
		sum = sum + e.depth
	end
	return sum
end

-- A generator in a generator: one C frame of lua_resume per level.
local function generator(depth, n)
	return coroutine.wrap(function()
		if depth == 0 then
			for i = 1, n do
				coroutine.yield(i)
			end
			return
		end
		for i in generator(depth - 1, n) do
			coroutine.yield(i + 1)
		end
	end)
end

local function coroutines(n)
	local sum = 0
	for i in generator(12, n) do
		sum = sum + i
	end
	return sum
end

for _ = 1, scale do
	print(string.format("nbody %.6f sort %d text %d errors %d coroutines %d",
		nbody(1500), sort(6000), text(250), errors(300), coroutines(1500)))
end
