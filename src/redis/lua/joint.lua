-- luacheck: read globals begin reply size replied now buckets held lifeAt load save pages
-- luacheck: read globals readTime blockedMsOf keep
-- luacheck: read globals decide block isAllowed isBlocked charged hasCharged penaltyMs
--[[
What main.lua is for keys of several limiters that are decided together; the twin of src/core/joint-takes.ts. The keys of
each are those that main.lua has.
Decisions: [number], then for each key [rules, cost].
The reply to each key is as in main.lua: of one that would be admitted, where another is denied, as of a peek.
]]
-- Has a key at hand, and looks at whether its cost would be admitted; returns the key that follows.
local function look(part, key)
  local bucket = part.bucket
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
  part.s, part.blockedMs = s, s.blockedUntil and blockedMsOf(bucket, s) or 0
  decide(bucket, 'peek', part.cost, part.blockedMs)
  part.isAllowed = isAllowed
  return key
end
-- What is done with a key once it is known whether all are admitted.
local function conclude(part, areAllowed)
  local bucket, s = part.bucket, part.s
  local kind = 'peek'
  if areAllowed or not part.isAllowed then
    kind = 'take'
  elseif bucket.countDenied then
    kind = 'charge'
  end
  decide(bucket, kind, part.cost, part.blockedMs)
  if penaltyMs > 0 then s.blockedUntil, s.blockedSince = now + penaltyMs, now end
  if hasCharged or penaltyMs > 0 or bucket.hasStepped then keep(bucket, s) end
  if penaltyMs > 0 then block(bucket, penaltyMs) end
  -- What was charged for a denial has a wait of its own.
  if kind == 'charge' then decide(bucket, 'peek', part.cost, part.blockedMs) end
end
local function answer(part, last)
  local bucket = part.bucket
  reply[last + 1], reply[last + 2] = (isAllowed and 1 or 0) + (isBlocked and 2 or 0) + 4, charged
  last = last + 2
  for i = 1, #bucket do
    local tier = bucket[i]
    reply[last + 1], last = tier.remaining, last + 1
    if not isAllowed then reply[last + 1], last = tier.retryAfterMs, last + 1 end
    reply[last + 1], last = tier.resetMs, last + 1
    if isAllowed and tier.shapes then reply[last + 1], last = tier.delayMs, last + 1 end
  end
  return last
end
local arg, key, last = begin, 1, size
while arg <= #ARGV do
  local parts, areAllowed = {}, true
  for i = 1, tonumber(ARGV[arg]) do
    local part = { bucket = buckets[tonumber(ARGV[arg + 2 * i - 1])], cost = tonumber(ARGV[arg + 2 * i]) }
    key = look(part, key)
    areAllowed = areAllowed and part.isAllowed
    parts[i] = part
  end
  arg = arg + 1 + 2 * #parts
  for i = 1, #parts do
    conclude(parts[i], areAllowed)
    last = answer(parts[i], last)
  end
end
for i = size + 1, last do reply[i] = replied(reply[i]) end
for index = 1, #held do
  if lifeAt[index] then save(index) end
end
return reply
