-- luacheck: read globals now addPermits removePermits
--[[
Renews permits. KEYS: sorted sets of them. ARGV, after what server-time.lua reads: the ms of a lease, then for each key how many
ids are held and how many were released, and for each of these its id and cost.
Reply: [1, now, then for each that is held 1 if it was gone, or 0].
]]
local leaseMs, arg, reply = tonumber(ARGV[2]), 3, { 1, now }
for i = 1, #KEYS do
  local heldCount, releasedCount = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1])
  arg = arg + 2
  for j = 1, heldCount + releasedCount do
    local id, cost = ARGV[arg], tonumber(ARGV[arg + 1])
    arg = arg + 2
    if j > heldCount then
      removePermits(KEYS[i], id, cost)
    else
      reply[#reply + 1] = addPermits(KEYS[i], id, cost, leaseMs) > 0 and 1 or 0
    end
  end
end
return reply
