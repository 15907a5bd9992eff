-- luacheck: read globals now huge extraMs longestLifeMs max min ownerAt lifeAt keyAt wipe owedMs
-- luacheck: read globals refundEach chargeEach checkEach
-- What is done with a bucket whose numbers are at hand: `s` is what its first key holds.
-- The twin of a `SteadyTime` without a window: a step back of the clock neither ends nor lengthens a block.
local function blockedMsOf(bucket, s)
  if not s.blockedUntil then return 0 end
  if now < s.blockedSince then
    s.blockedUntil, bucket.hasStepped = s.blockedUntil - s.blockedSince + now, true
  end
  s.blockedSince = now
  if s.blockedUntil > now then return s.blockedUntil - now end
  s.blockedUntil = nil
  return 0
end
local function keepKey(bucket, index, lifeMs)
  -- Others may know of a lower limit.
  if bucket.varies then lifeMs = max(lifeMs, lifeAt[index] or 0, redis.call('PTTL', keyAt[index])) end
  lifeAt[index] = lifeMs
end
-- Has the keys written, to live for as long as anything is owed, and the block lasts.
local function keep(bucket, s)
  local lifeMs = s.blockedUntil and blockedMsOf(bucket, s) or 0
  for i = 1, #bucket do lifeMs = max(lifeMs, owedMs(bucket[i])) end
  if bucket.size > 0 or s.blockedUntil then keepKey(bucket, bucket.index, lifeMs) end
  if bucket.hasApart then
    for i = 1, #bucket do
      if bucket[i].isApart then keepKey(bucket, bucket[i].index, lifeMs) end
    end
  end
end
-- Keys beside those of the buckets that are to be set, or deleted for a life of 0. All is written at the end: a strategy
-- that fails must not leave a part of it.
local notes = {}
local function note(key, value, lifeMs) notes[#notes + 1] = { key, value, lifeMs } end
local function saveNote(key, value, lifeMs)
  if lifeMs <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, value, 'PX', min(lifeMs + extraMs, longestLifeMs))
  end
end
local function longestReset(bucket)
  local longest = 0
  for i = 1, #bucket do longest = max(longest, bucket[i].resetMs) end
  return longest
end
local function reset(bucket, s)
  for i = 1, bucket.size do s[i] = 0 end
  s.blockedUntil, lifeAt[bucket.index] = nil, 0
  for i = 1, #bucket do
    if bucket[i].isApart then
      wipe(ownerAt[bucket[i].index])
      lifeAt[bucket[i].index] = 0
    end
  end
end
local function change(bucket, s, kind, more)
  if kind == 'refund' then
    refundEach(bucket, more[1], more[2] == huge and -huge or max(0, now - (more[2] or now)))
  elseif kind == 'block' then
    s.blockedUntil, s.blockedSince = now + (more[2] == 1 and max(more[1], blockedMsOf(bucket, s)) or more[1]), now
  end
  checkEach(bucket, 1)
  keep(bucket, s)
end
-- Charges what was used elsewhere, and remembers that for as long as somebody may try again.
local function pay(bucket, s, values, mark)
  chargeEach(bucket, values)
  checkEach(bucket, 1)
  keep(bucket, s)
  note(mark, '', values[#bucket + 1])
end
