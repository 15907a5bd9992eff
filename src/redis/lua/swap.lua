-- luacheck: read globals now extraMs max min longestLifeMs
--[[
Sets a key to another text if it still has the one that was read. ARGV, after what server-time.lua reads: the text that was
read, and if it is to be changed the new text, its life in ms, and whether it must live no shorter than it would have.
Reply: [1, now, 0, the text that it has], or [1, now, 1] once it is done.
]]
-- What is no text reads as nothing.
local held = redis.call('MGET', KEYS[1])[1] or ''
if ARGV[2] ~= held then return { 1, now, 0, held } end
local lifeMs = tonumber(ARGV[4])
if ARGV[5] == '1' then lifeMs = max(lifeMs, redis.call('PTTL', KEYS[1])) end
if lifeMs <= 0 then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[3], 'PX', min(lifeMs + extraMs, longestLifeMs))
end
return { 1, now, 1 }
