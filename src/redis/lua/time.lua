--[[
What a call carries. KEYS: for each operation its key, then one for each tier that has a key of its own.
ARGV: the ticket, a clock that replaces the server's (empty: none), then what rules.lua and main.lua read.
Reply: [1, now, then what main.lua appends]; [0, now] if the ticket has expired: then nothing was done.
]]
local floor, max, min, huge = math.floor, math.max, math.min, math.huge
local clock, now = ARGV[2], nil
if clock == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
else
  now = tonumber(clock)
end
if now > tonumber(ARGV[1]) then return { 0, now } end
local strategies = {}
