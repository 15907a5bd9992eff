-- luacheck: read globals begin first reply size keysEach plainCost replied now huge buckets held lifeAt load save pages
-- luacheck: read globals read readTime blockedMsOf keep change pay reset note notes saveNote longestReset
-- luacheck: read globals decide block isAllowed isBlocked charged hasCharged penaltyMs
--[[
Operations, in runs of those that differ in their keys alone: [number, rules, kind], then what the kind needs:
cost of a peek, take or charge; cost and wanted of a lease; cost and chargedAt (empty: now, inf: whenever) of a refund; ms of a block, and
1 if a longer one is to stay; of a repayment units for each tier, and the life of its mark, ms; cost and chargedAt of a return; nothing for a reset. One
more key follows the others of a repayment, which has its mark, and of a lease, a return and a reset: that has the time of the
first lease since the last reset.
The reply to each that is decided: a sum of 1 if it is allowed, 2 if the key is blocked, and 4 if the units charged
follow, which are otherwise its cost if it is allowed, and none if it is not; then of each tier remaining, wait if it is
not allowed, reset, and delay if it is allowed and the tier shapes. -1 is infinity. Numbers near 2^53 are text: some clients' parsers lose the last bit of
such integers.
]]
local function countOf(kind, bucket)
  if kind == 'reset' then return 0 end
  if kind == 'repay' then return #bucket + 1 end
  return (kind == 'lease' or kind == 'refund' or kind == 'return' or kind == 'block') and 2 or 1
end
local args, arg, key, last = ARGV, begin, 1, size
-- What plain takes have left undone.
if plainCost then args, arg, key = { (#KEYS - first + 1) / keysEach, 1, 'take', plainCost }, 1, first end
while arg <= #args do
  local count, bucket, kind = tonumber(args[arg]), buckets[tonumber(args[arg + 1])], args[arg + 2]
  local isDecided = kind ~= 'refund' and kind ~= 'return' and kind ~= 'block' and kind ~= 'reset'
  local values = {}
  arg = arg + 3
  for i = 1, countOf(kind, bucket) do
    values[i] = tonumber(args[arg])
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
      local flags = (isAllowed and 1 or 0) + (isBlocked and 2 or 0)
      if charged == (isAllowed and cost or 0) then
        reply[last + 1], last = flags, last + 1
      else
        reply[last + 1], reply[last + 2], last = flags + 4, charged, last + 2
      end
      for i = 1, #bucket do
        local tier = bucket[i]
        if isAllowed then
          reply[last + 1], reply[last + 2], last = tier.remaining, tier.resetMs, last + 2
          if tier.shapes then reply[last + 1], last = tier.delayMs, last + 1 end
        else
          reply[last + 1], reply[last + 2], reply[last + 3] = tier.remaining, tier.retryAfterMs, tier.resetMs
          last = last + 3
        end
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
for i = size + 1, last do reply[i] = replied(reply[i]) end
for index = 1, #held do
  if lifeAt[index] then save(index) end
end
for i = 1, #notes do saveNote(unpack(notes[i])) end
return reply
