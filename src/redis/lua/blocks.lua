-- luacheck: read globals now max huge
--[[
Tells which keys of a limiter are blocked. ARGV, after what server-time.lua reads: the bytes of a key that is not, as
keys.lua writes it; and for keys of text, as swap.lua writes it, how many tiers there are, otherwise nothing.
Reply: [1, now, then for each key for how many ms more it is blocked: 0 if it is not, -1 without end].
]]
local bytes, tiers, reply = tonumber(ARGV[2]), tonumber(ARGV[3]), { 1, now }
-- Until when, and since when, as the text says behind its tiers.
local function blockIn(text)
  local at = 1
  for _ = 1, tiers do
    at = string.find(text, ';', at, true)
    if not at then return end
    at = at + 1
  end
  local untilMs, since = string.match(text, '^([^ ;]+) ([^ ;]+)', at)
  return tonumber(untilMs or ''), tonumber(since or '')
end
local texts = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  local text, untilMs, since = texts[i] or '', nil, nil
  if tiers then
    untilMs, since = blockIn(text)
  elseif #text == bytes + 16 then
    untilMs, since = struct.unpack('<dd', text, bytes + 1)
  end
  -- A step back of the clock neither ends nor lengthens a block.
  local leftMs = untilMs and since and max(0, untilMs - max(now, since)) or 0
  reply[i + 2] = leftMs == huge and -1 or leftMs
end
return reply
