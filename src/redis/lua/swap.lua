-- luacheck: read globals longestLifeMs
--[[
Sets a key to another text if it still has the one that was read. ARGV: the ticket, a clock that replaces the server's,
the text that was read, and if it is to be changed the new text, its life in ms, and whether it must live no shorter than
it would have. Reply: [1, now, done, text]; [0, now] if the ticket has expired.
]]
local t = redis.call('TIME')
local now = ARGV[2] == '' and t[1] * 1000 + math.floor(t[2] / 1000) or tonumber(ARGV[2])
if now > tonumber(ARGV[1]) then return { 0, now } end
local held = redis.pcall('GET', KEYS[1])
if type(held) ~= 'string' then held = '' end
if ARGV[3] ~= held then return { 1, now, 0, held } end
local lifeMs = tonumber(ARGV[5])
if ARGV[6] == '1' then lifeMs = math.max(lifeMs, redis.call('PTTL', KEYS[1])) end
if lifeMs <= 0 then
  redis.call('DEL', KEYS[1])
else
  if ARGV[2] ~= '' then lifeMs = math.min(lifeMs + 86400000, longestLifeMs) end
  redis.call('SET', KEYS[1], ARGV[4], 'PX', lifeMs)
end
return { 1, now, 1, ARGV[4] }
