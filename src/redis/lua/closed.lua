-- The twin of `closed` in src/core/strategies/constant.ts.
return {
  check = function() return false, 0, math.huge, 0 end,
  charge = function() return 0, 0 end
}
