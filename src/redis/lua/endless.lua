-- luacheck: read globals window
-- The twin of src/core/strategies/endless.ts, after a window as a local.
return {
  check = function(s, at, r, now, cost)
    local _, remaining, _, reset = window.check(s, at, r, now, cost)
    return true, math.max(remaining, cost), 0, reset
  end,
  charge = window.charge,
  refund = window.refund
}
