-- luacheck: read globals strategies
--[[
The rules that operations go by: their number, and for each [blockMs, countDenied, varies, tiers] and for each tier the
ten values that rules.ts writes; if limits vary, three more of the lowest one, empty if it is that one. Each becomes a
bucket: its tiers, with what a decision keeps about them, in their order.
]]
local at, buckets = 4, {}
for i = 1, tonumber(ARGV[3]) do
  local bucket = {
    blockMs = tonumber(ARGV[at]), countDenied = ARGV[at + 1] == '1', varies = ARGV[at + 2] == '1', size = 0,
    hasApart = false, hasStepped = false, index = 0
  }
  local count = tonumber(ARGV[at + 3])
  at = at + 4
  for j = 1, count do
    local tier = {
      strategy = strategies[ARGV[at]], limit = tonumber(ARGV[at + 1]), windowMs = tonumber(ARGV[at + 2]),
      capacity = tonumber(ARGV[at + 3]), slots = tonumber(ARGV[at + 4]), isApart = ARGV[at + 5] == '1',
      aligned = ARGV[at + 6] == '1', align = ARGV[at + 7], burst = tonumber(ARGV[at + 8]),
      delayAfter = tonumber(ARGV[at + 9]), at = 3, lowest = false, index = 0,
      state = false, now = 0, lag = 0, latest = 0, offset = 0,
      remaining = 0, retryAfterMs = 0, resetMs = 0, delayMs = 0
    }
    if tier.isApart then
      bucket.hasApart = true
    else
      tier.at = bucket.size + 3
      bucket.size = bucket.size + 2 + tier.slots
    end
    bucket[j] = tier
    at = at + 10
    if bucket.varies then
      if ARGV[at] ~= '' then
        tier.lowest = {
          strategy = strategies[ARGV[at]], limit = tonumber(ARGV[at + 1]), capacity = tonumber(ARGV[at + 2]),
          windowMs = tier.windowMs, align = tier.align, burst = tier.burst, delayAfter = tier.delayAfter
        }
      end
      at = at + 3
    end
  end
  bucket.format = '<' .. string.rep('d', bucket.size)
  buckets[i] = bucket
end
