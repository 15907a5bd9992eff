-- luacheck: read globals check charge refund floor huge max min
-- The twin of `Bucket` in src/core/bucket.ts: the one procedure of deciding, under the same names, in the same order.
local isAllowed, isBlocked, charged, hasCharged, penaltyMs
local function checkEach(bucket, cost)
  local areAllowed = true
  for i = 1, #bucket do
    if not check(bucket[i], cost) then areAllowed = false end
  end
  return areAllowed
end
local function least(bucket)
  local remaining = huge
  for i = 1, #bucket do remaining = min(remaining, bucket[i].remaining) end
  return remaining
end
local function longestWait(bucket)
  local longest = 0
  for i = 1, #bucket do longest = max(longest, bucket[i].retryAfterMs) end
  return longest
end
local function block(bucket, blockedMs)
  isAllowed, isBlocked = false, true
  for i = 1, #bucket do
    local tier = bucket[i]
    tier.remaining = 0
    tier.retryAfterMs = max(tier.retryAfterMs, blockedMs)
    tier.resetMs = max(tier.resetMs, blockedMs)
  end
end
local function chargeAll(bucket, units)
  hasCharged, charged = true, units
  for i = 1, #bucket do charge(bucket[i], units) end
end
local leaseParts = 4
-- Charges for a lease as much as is wanted, or a part of what is left; or for what was denied, whatever is left.
local function chargeRare(bucket, isLease, cost, wanted)
  local left = least(bucket)
  if isAllowed then
    chargeAll(bucket, isLease and min(max(cost, wanted), cost + floor((left - cost) / leaseParts)) or cost)
    return
  end
  chargeAll(bucket, cost)
  charged = min(cost, left)
  -- What was charged lengthens the wait.
  checkEach(bucket, cost)
end
-- Ends a denial with the block that it is due, and a charge of what is spent already with nobody to wait.
local function finish(bucket, kind)
  if kind == 'charge' then
    isAllowed = true
    for i = 1, #bucket do bucket[i].retryAfterMs = 0 end
  elseif bucket.blockMs > 0 and kind ~= 'peek' and not isBlocked then
    local waitMs = longestWait(bucket)
    -- A request that is never admitted is no reason to block; and a block that ended before the wait would soon begin
    -- anew.
    if waitMs < huge then penaltyMs = max(bucket.blockMs, waitMs) end
  end
end
local function decide(bucket, kind, cost, blockedMs, wanted)
  local countDenied = bucket.countDenied and kind ~= 'peek'
  hasCharged, penaltyMs, isBlocked, charged = false, 0, false, 0
  isAllowed = checkEach(bucket, cost)
  local charges = kind == 'charge' or countDenied
  if isAllowed then charges = kind ~= 'peek' end
  if blockedMs > 0 then
    block(bucket, blockedMs)
  elseif charges then
    if isAllowed and kind ~= 'lease' then
      chargeAll(bucket, cost)
    else
      chargeRare(bucket, kind == 'lease', cost, wanted)
    end
    if isAllowed and kind == 'take' then return end
  end
  if not isAllowed or kind == 'charge' then finish(bucket, kind) end
end
local function refundEach(bucket, cost, agoMs)
  for i = 1, #bucket do refund(bucket[i], cost, agoMs) end
end
local function chargeEach(bucket, units)
  for i = 1, #bucket do
    if units[i] > 0 then charge(bucket[i], units[i]) end
  end
end
