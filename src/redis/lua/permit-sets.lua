-- luacheck: read globals now
--[[
The permits of a key that are out: a sorted set of a member for each, by the end of its lease. Those that were taken together
are called by their id, the second and the following ones with a number behind it. It is kept for twice the longest lease.
]]
local permitsLifeMs = 7200000
local permitsAtOnce = 1000
local function memberOf(id, i) return i == 1 and id or id .. '/' .. i end
-- Returns how many of them were not there.
local function addPermits(key, id, cost, leaseMs)
  local ends, added = string.format('%.0f', now + leaseMs), 0
  if cost == 1 then
    added = redis.call('ZADD', key, ends, id)
    redis.call('PEXPIRE', key, permitsLifeMs)
    return added
  end
  for first = 1, cost, permitsAtOnce do
    local words = {}
    for i = first, math.min(cost, first + permitsAtOnce - 1) do
      words[#words + 1], words[#words + 2] = ends, memberOf(id, i)
    end
    added = added + redis.call('ZADD', key, unpack(words))
  end
  redis.call('PEXPIRE', key, permitsLifeMs)
  return added
end
local function removePermits(key, id, cost)
  if cost == 1 then
    redis.call('ZREM', key, id)
    return
  end
  for first = 1, cost, permitsAtOnce do
    local words = {}
    for i = first, math.min(cost, first + permitsAtOnce - 1) do words[#words + 1] = memberOf(id, i) end
    redis.call('ZREM', key, unpack(words))
  end
end
