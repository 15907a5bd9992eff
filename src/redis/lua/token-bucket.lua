-- luacheck: read globals checkDebt chargeDebt refundDebt debtAnswer
-- The twin of src/core/strategies/token-bucket.ts, after debt.lua.
local function debtOf(s, at, r, now)
  if s[at] == 0 then return 0 end
  return math.max(0, s[at] - (now - s[at + 1]) * r.limit)
end
return {
  check = function(s, at, r, now, cost) return checkDebt(debtOf(s, at, r, now), r, cost) end,
  charge = function(s, at, r, now, cost)
    s[at], s[at + 1] = chargeDebt(debtOf(s, at, r, now), r, cost), now
    return debtAnswer(s[at], r)
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    s[at], s[at + 1] = refundDebt(debtOf(s, at, r, now), r, now, cost, chargedAt), now
  end
}
