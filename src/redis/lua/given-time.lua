-- Stands in for server-time.lua in tests: a clock of their own in the place of the ticket. Redis expires keys by its own, so
-- they are kept for longer.
local floor, max, min, huge = math.floor, math.max, math.min, math.huge
local now, extraMs = tonumber(ARGV[1]), 86400000
local strategies = {}
