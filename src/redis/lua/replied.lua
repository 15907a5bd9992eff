-- luacheck: read globals huge
-- A number as it is replied: see main.lua.
local function replied(n)
  if n >= 1e15 then return n == huge and -1 or string.format('%.0f', n) end
  return n < 0 and 0 or n
end
