-- luacheck: read globals divideUp tokenBucket
-- The twin of src/core/strategies/leaky-bucket.ts, after token-bucket.lua as a local.
return {
  check = tokenBucket.check,
  charge = function(s, at, r, now, cost)
    local remaining, reset = tokenBucket.charge(s, at, r, now, cost)
    local queued = s[at] - (cost + r.delayAfter) * r.windowMs
    return remaining, reset, queued > 0 and divideUp(queued, r.limit) or 0
  end,
  refund = tokenBucket.refund
}
