-- luacheck: read globals now huge max ownerAt
-- The twin of src/core/tier.ts, under the same names, with the steady time of src/core/clock.ts.
local function wipe(owner)
  owner.written, owner.pages, owner.isWiped = {}, {}, true
end
-- Returns true for a long step back, which is to be noted even if nothing is charged: otherwise time would stand still
-- until the clock is where it was.
local function readTime(tier)
  local s, at, w = tier.state, tier.at, tier.windowMs
  local latest, offset = s[at - 2], s[at - 1]
  if latest % 1 ~= 0 or latest > 2 ^ 53 then
    -- Nobody's time: others have written here.
    if tier.isApart then wipe(ownerAt[tier.index]) end
    for i = at - 2, tier.isApart and 0 or at + tier.slots - 1 do s[i] = 0 end
    latest, offset = 0, 0
  end
  local hasStepped = false
  tier.lag = 0
  if now < latest then
    local before, step = latest + offset, latest - now
    if step <= w then
      tier.now, tier.lag, tier.latest, tier.offset = before, step, latest, offset
      return false
    end
    offset = (tier.aligned and before - before % w + now % w or before) - now
    hasStepped, s[at - 2], s[at - 1] = true, now, offset
  end
  tier.now, tier.latest, tier.offset = now + offset, now, offset
  return hasStepped
end
local function check(tier, cost)
  local isPossible = cost <= tier.capacity
  local allowed, remaining, retryAfterMs, resetMs =
    tier.strategy.check(tier.state, tier.at, tier, tier.now, isPossible and cost or 1)
  if not isPossible then allowed, retryAfterMs = false, huge end
  if tier.lag > 0 then
    if retryAfterMs > 0 then retryAfterMs = retryAfterMs + tier.lag end
    if resetMs > 0 then resetMs = resetMs + tier.lag end
  end
  tier.remaining, tier.retryAfterMs, tier.resetMs, tier.delayMs = remaining, retryAfterMs, resetMs, 0
  return allowed
end
local function charge(tier, cost)
  local s, at = tier.state, tier.at
  local remaining, resetMs, delayMs = tier.strategy.charge(s, at, tier, tier.now, cost)
  s[at - 2], s[at - 1] = tier.latest, tier.offset
  tier.remaining, tier.resetMs, tier.delayMs = remaining, resetMs + tier.lag, delayMs or 0
end
local function refund(tier, cost, agoMs)
  local strategy = tier.strategy
  if agoMs < 0 and strategy.reward then
    strategy.reward(tier.state, tier.at, tier, tier.now, cost)
  elseif strategy.refund then
    strategy.refund(tier.state, tier.at, tier, tier.now, cost, tier.now - max(0, agoMs))
  else
    return
  end
  tier.state[tier.at - 2], tier.state[tier.at - 1] = tier.latest, tier.offset
end
-- How long it owes, as it was checked or charged last, and under the lowest limit.
local function owedMs(tier)
  local lowest = tier.lowest
  if not lowest then return tier.resetMs end
  local _, _, _, resetMs = lowest.strategy.check(tier.state, tier.at, lowest, tier.now, 1)
  return max(tier.resetMs, resetMs > 0 and resetMs + tier.lag or 0)
end
