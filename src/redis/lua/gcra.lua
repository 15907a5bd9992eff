-- luacheck: read globals divideDown checkDebt chargeDebt refundDebt debtAnswer
-- The twin of src/core/strategies/gcra.ts, after debt.lua.
local function debtOf(s, at, r, now) return math.max(0, (s[at] - now) * r.limit + s[at + 1]) end
local function setArrival(s, at, r, now, debt)
  local whole = divideDown(debt, r.limit)
  s[at], s[at + 1] = now + whole, debt - whole * r.limit
end
return {
  check = function(s, at, r, now, cost) return checkDebt(debtOf(s, at, r, now), r, cost) end,
  charge = function(s, at, r, now, cost)
    local debt = chargeDebt(debtOf(s, at, r, now), r, cost)
    setArrival(s, at, r, now, debt)
    return debtAnswer(debt, r)
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    setArrival(s, at, r, now, refundDebt(debtOf(s, at, r, now), r, now, cost, chargedAt))
  end
}
