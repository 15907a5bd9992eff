-- The twin of src/core/exact.ts.
local floor = math.floor
local function divideUp(a, b)
  local q = floor(a / b)
  local r = a - q * b
  if r > 0 then return q + 1 end
  if r + b > 0 then return q end
  return q - 1
end
local function divideDown(a, b)
  local q = floor(a / b)
  local r = a - q * b
  if r < 0 then return q - 1 end
  if r >= b then return q + 1 end
  return q
end
