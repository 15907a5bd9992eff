-- luacheck: read globals begin reply size replied now buckets held lifeAt load save pages
-- luacheck: read globals read readTime blockedMsOf keep change pay reset note notes saveNote
-- luacheck: read globals decide block isAllowed isBlocked charged hasCharged penaltyMs addPermits removePermits
--[[
What main.lua is for limiters that count nothing in flight; the twin of src/core/permit-buckets.ts. The tiers here are the
windows. The keys of an operation are those that main.lua has, then the sorted set of the permits that are out, then the one
that main.lua has for a repayment and a reset; of a release the set alone.
Operations: [rules, kind], then cost, capacity, id and ms of the lease of what acquires; cost and id of a release; and as in
main.lua for all others.
The reply to each that is decided: a sum of 1 if it is allowed (by the windows alone, where nothing is acquired) and 2 if the
key is blocked; the units charged; for how long the key is blocked; how many permits are out; then of each tier remaining,
wait, reset and delay.
]]
local counts = { acquire = 4, refund = 2, block = 2, peek = 1, charge = 1, reset = 0 }
local isUndecided = { refund = true, block = true }
-- What is taken is written at the end, with all else.
local taken, takenOf = {}, {}
local nowText = string.format('%.0f', now)
local function permitsOut(key) return redis.call('ZCOUNT', key, '(' .. nowText, '+inf') + (takenOf[key] or 0) end
-- Adds what was taken, and drops what has ended.
local function take(key, id, cost, leaseMs)
  addPermits(key, id, cost, leaseMs)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', nowText)
end
-- A full server refuses a script at its first write alone, and only one that may need memory: `ZREM` and `DEL` let all that
-- follows pass. Who could take permits then could not renew them. So this comes first, and changes nothing.
local function refuseIfFull()
  local at, isAsked = 1, false
  for i = begin, #ARGV do isAsked = isAsked or ARGV[i] == 'acquire' end
  if not isAsked then return end
  while string.sub(KEYS[at], -8) ~= ':permits' do at = at + 1 end
  redis.call('ZADD', KEYS[at], 'XX', 0, '')
end
local function answer(last, isAdmitted, blockedMs, out, bucket)
  reply[last + 1], reply[last + 2] = (isAdmitted and 1 or 0) + (isBlocked and 2 or 0), charged
  reply[last + 3], reply[last + 4] = blockedMs, out
  last = last + 4
  for i = 1, #bucket do
    local tier = bucket[i]
    reply[last + 1], reply[last + 2] = tier.remaining, tier.retryAfterMs
    reply[last + 3], reply[last + 4] = tier.resetMs, tier.delayMs
    last = last + 4
  end
  return last
end
-- What is asked of the windows: they are charged only where there are permits.
local function actionOn(bucket, kind, isFree)
  if #bucket == 0 then return 'peek' end
  if kind ~= 'acquire' then return kind end
  return isFree and 'take' or bucket.countDenied and 'charge' or 'peek'
end
-- Does what has a bucket, whose keys begin at `key`; returns the key that follows them, and the end of the reply.
local function perform(bucket, kind, values, id, key, last)
  local index = load(key, bucket)
  local s, cost = held[index], values[1]
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
  local permits = KEYS[key]
  key = key + 1
  if kind == 'reset' then
    reset(bucket, s)
    note(KEYS[key], '', 0)
    return key + 1, last
  elseif isUndecided[kind] then
    change(bucket, s, kind, values)
    return key, last
  end
  local asked = kind
  if kind == 'repay' then
    if not read(key) then pay(bucket, s, values, KEYS[key]) end
    key, asked, cost = key + 1, 'peek', 1
  end
  local out = permitsOut(permits)
  local isFree = kind == 'acquire' and out + cost <= values[2]
  local blockedMs = s.blockedUntil and blockedMsOf(bucket, s) or 0
  decide(bucket, actionOn(bucket, asked, isFree), cost, blockedMs)
  if penaltyMs > 0 then s.blockedUntil, s.blockedSince = now + penaltyMs, now end
  if hasCharged or penaltyMs > 0 or bucket.hasStepped then keep(bucket, s) end
  if penaltyMs > 0 then
    block(bucket, penaltyMs)
    blockedMs = penaltyMs
  end
  local isAdmitted = isAllowed
  if kind == 'acquire' then
    isAdmitted = isFree and isAllowed
    if isAdmitted then
      taken[#taken + 1] = { permits, id, cost, values[4] }
      takenOf[permits] = (takenOf[permits] or 0) + cost
      out = out + cost
    end
  end
  return key, answer(last, isAdmitted, blockedMs, out, bucket)
end
refuseIfFull()
local arg, key, last = begin, 1, size
while arg <= #ARGV do
  local bucket, kind = buckets[tonumber(ARGV[arg])], ARGV[arg + 1]
  arg = arg + 2
  if kind == 'release' then
    removePermits(KEYS[key], ARGV[arg + 1], tonumber(ARGV[arg]))
    arg, key = arg + 2, key + 1
  else
    local values = {}
    for i = 1, counts[kind] or #bucket + 1 do
      values[i] = tonumber(ARGV[arg])
      arg = arg + 1
    end
    key, last = perform(bucket, kind, values, ARGV[arg - 2], key, last)
  end
end
for i = size + 1, last do reply[i] = replied(reply[i]) end
for i = 1, #taken do take(unpack(taken[i])) end
for index = 1, #held do
  if lifeAt[index] then save(index) end
end
for i = 1, #notes do saveNote(unpack(notes[i])) end
return reply
