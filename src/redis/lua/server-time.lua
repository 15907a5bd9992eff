--[[
What a call carries. KEYS: for each operation its key, then one for each tier that has a key of its own.
ARGV: the ticket, then either the cost of a plain take of every key (left out: 1), or what main.lua reads.
Reply: [1, now, then what main.lua appends]; [0, now] if the ticket has expired: then nothing was done.
]]
local floor, max, min, huge = math.floor, math.max, math.min, math.huge
local t = redis.call('TIME')
local now, extraMs = t[1] * 1000 + floor(t[2] / 1000), 0
if now > tonumber(ARGV[1]) then return { 0, now } end
local strategies = {}
