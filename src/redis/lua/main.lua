-- luacheck: read globals now at buckets held lifeAt load save pages read readTime huge blockedMsOf keep change pay reset
-- luacheck: read globals note notes saveNote longestReset
-- luacheck: read globals decide block isAllowed isBlocked charged hasCharged penaltyMs
--[[
Operations, in runs of those that differ in their keys alone: [number, rules, kind], then what the kind needs:
cost of a peek, take or charge; cost and wanted of a lease; cost and chargedAt (empty: now) of a refund; ms of a block, and
1 if a longer one is to stay; of a repayment units for each tier, and the life of its mark, ms; cost and chargedAt of a return; nothing for a reset. One
more key follows the others of a repayment, which has its mark, and of a lease, a return and a reset: that has the time of the
first lease since the last reset.
The reply to each that is decided: a sum of 1 if it is allowed and 2 if the key is blocked, units charged, and four
numbers for each tier, where -1 is infinity. Numbers near 2^53 are text: some clients' parsers lose the last bit of
such integers.
]]
local function countOf(kind, bucket)
  if kind == 'reset' then return 0 end
  if kind == 'repay' then return #bucket + 1 end
  return (kind == 'lease' or kind == 'refund' or kind == 'return' or kind == 'block') and 2 or 1
end
local arg, reply, size, key = at, { 1, now }, 2, 1
while arg <= #ARGV do
  local count, bucket, kind = tonumber(ARGV[arg]), buckets[tonumber(ARGV[arg + 1])], ARGV[arg + 2]
  local isDecided = kind ~= 'refund' and kind ~= 'return' and kind ~= 'block' and kind ~= 'reset'
  local values = {}
  arg = arg + 3
  for i = 1, countOf(kind, bucket) do
    values[i] = tonumber(ARGV[arg])
    arg = arg + 1
  end
  local cost, wanted = values[1], values[2]
  for _ = 1, count do
    local index = load(key, bucket)
    local s = held[index]
    bucket.index, bucket.hasStepped = index, false
    key = key + 1
    for i = 1, #bucket do
      local tier = bucket[i]
      tier.state = s
      if tier.isApart then
        tier.index = pages.load(KEYS[key])
        tier.state = held[tier.index]
        key = key + 1
      end
      if readTime(tier) then bucket.hasStepped = true end
    end
    if isDecided then
      local asked = kind
      if kind == 'repay' then
        if not read(key) then pay(bucket, s, values, KEYS[key]) end
        key, asked, cost = key + 1, 'peek', 1
      end
      decide(bucket, asked, cost, s.blockedUntil and blockedMsOf(bucket, s) or 0, wanted)
      if penaltyMs > 0 then s.blockedUntil, s.blockedSince = now + penaltyMs, now end
      if hasCharged or penaltyMs > 0 or bucket.hasStepped then keep(bucket, s) end
      if penaltyMs > 0 then block(bucket, penaltyMs) end
      if kind == 'lease' then
        if charged > cost then note(KEYS[key], read(key) or now, longestReset(bucket)) end
        key = key + 1
      end
      reply[size + 1], reply[size + 2] = (isAllowed and 1 or 0) + (isBlocked and 2 or 0), charged
      size = size + 2
      for i = 1, #bucket do
        local tier = bucket[i]
        reply[size + 1], reply[size + 2], reply[size + 3], reply[size + 4] =
          tier.remaining, tier.retryAfterMs, tier.resetMs, tier.delayMs
        size = size + 4
      end
    elseif kind == 'reset' then
      reset(bucket, s)
      note(KEYS[key], '', 0)
      key = key + 1
    elseif kind == 'return' then
      if (tonumber(read(key) or '') or huge) <= wanted then change(bucket, s, 'refund', values) end
      key = key + 1
    else
      change(bucket, s, kind, values)
    end
  end
end
for i = 3, size do
  local n = reply[i]
  if n >= 1e15 then reply[i] = n == huge and -1 or string.format('%.0f', n) elseif n < 0 then reply[i] = 0 end
end
for index = 1, #held do
  if lifeAt[index] then save(index) end
end
for i = 1, #notes do saveNote(unpack(notes[i])) end
return reply
