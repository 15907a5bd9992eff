-- luacheck: read globals firstMs growth longestMs forgetMs
-- The twin of src/core/bans/ban-record.ts.
local max, min, ceil = math.max, math.min, math.ceil
local function check(s, at, rule, now)
  local isBanned = now < s[at + 3]
  local strikes = now < s[at + 1] and s[at] or 0
  local knownMs = s[at + 2] > 0 and s[at + 3] + forgetMs - now or 0
  local remaining = isBanned and 0 or max(0, rule.limit - strikes)
  return true, remaining, 0, max(0, knownMs, strikes > 0 and s[at + 1] - now or 0)
end
local function charge(s, at, rule, now, cost)
  local banMs = max(0, s[at + 3] - now)
  if banMs == 0 then
    if now >= s[at + 1] then s[at], s[at + 1] = 0, now + rule.windowMs end
    s[at] = s[at] + cost
    if s[at] >= rule.limit then
      local isRepeat = s[at + 2] > 0 and now < s[at + 3] + forgetMs
      banMs = isRepeat and min(longestMs, ceil(s[at + 2] * growth)) or firstMs
      s[at], s[at + 1], s[at + 2], s[at + 3] = 0, 0, banMs, now + banMs
    end
  end
  local _, remaining, _, resetMs = check(s, at, rule, now)
  return remaining, resetMs, banMs
end
local function refund(s, at, _, now)
  s[at], s[at + 1], s[at + 3] = 0, 0, min(s[at + 3], now)
end
return { check = check, charge = charge, refund = refund }
