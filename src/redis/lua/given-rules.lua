-- luacheck: read globals strategies
--[[
The rules that operations go by, where they are not a part of the script: their number, and for each [blockMs,
countDenied, varies, tiers] and for each tier the values that rules.ts writes; if limits vary, three more of the lowest
one, empty if it is that one.
]]
local begin, buckets = 3, {}
for i = 1, tonumber(ARGV[2]) do
  local bucket = {
    blockMs = tonumber(ARGV[begin]), countDenied = ARGV[begin + 1] == '1', varies = ARGV[begin + 2] == '1'
  }
  local count = tonumber(ARGV[begin + 3])
  begin = begin + 4
  for j = 1, count do
    local tier = {
      strategy = strategies[ARGV[begin]], limit = tonumber(ARGV[begin + 1]), windowMs = tonumber(ARGV[begin + 2]),
      capacity = tonumber(ARGV[begin + 3]), align = ARGV[begin + 4], burst = tonumber(ARGV[begin + 5]),
      delayAfter = tonumber(ARGV[begin + 6]), slots = tonumber(ARGV[begin + 7]), isApart = ARGV[begin + 8] == '1',
      aligned = ARGV[begin + 9] == '1', shapes = ARGV[begin + 10] == '1'
    }
    bucket[j] = tier
    begin = begin + 11
    if bucket.varies then
      if ARGV[begin] ~= '' then
        tier.lowest = {
          strategy = strategies[ARGV[begin]], limit = tonumber(ARGV[begin + 1]), capacity = tonumber(ARGV[begin + 2]),
          windowMs = tier.windowMs, align = tier.align, burst = tier.burst, delayAfter = tier.delayAfter
        }
      end
      begin = begin + 3
    end
  end
  buckets[i] = bucket
end
