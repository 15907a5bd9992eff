-- luacheck: read globals divideUp
-- The twin of src/core/strategies/debt.ts, after exact.lua.
local max, min = math.max, math.min
local function debtAnswer(debt, r)
  return r.capacity - (debt == 0 and 0 or min(r.capacity, divideUp(debt, r.windowMs))),
    debt == 0 and 0 or divideUp(debt, r.limit)
end
local function checkDebt(debt, r, cost)
  local excess = debt - (r.capacity - cost) * r.windowMs
  local remaining, reset = debtAnswer(debt, r)
  return excess <= 0, remaining, excess > 0 and divideUp(excess, r.limit) or 0, reset
end
local function chargeDebt(debt, r, cost)
  local full = r.capacity * r.windowMs
  return max(debt, debt >= full - cost * r.windowMs and full or debt + cost * r.windowMs)
end
local function refundDebt(debt, r, now, cost, chargedAt)
  local unpaid = cost * r.windowMs - max(0, now - chargedAt) * r.limit
  return unpaid > 0 and max(0, debt - unpaid) or debt
end
