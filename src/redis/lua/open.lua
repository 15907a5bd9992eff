-- The twin of `open` in src/core/strategies/constant.ts.
return {
  check = function() return true, math.huge, 0, 0 end,
  charge = function() return math.huge, 0 end
}
