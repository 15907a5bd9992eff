-- luacheck: read globals buckets
-- Each rule becomes a bucket: its tiers, with what a decision keeps about them, in their order.
for i = 1, #buckets do
  local bucket = buckets[i]
  bucket.size, bucket.hasApart, bucket.hasStepped, bucket.index = 0, false, false, 0
  for j = 1, #bucket do
    local tier = bucket[j]
    tier.at, tier.lowest, tier.index = 3, tier.lowest or false, 0
    if tier.isApart then
      bucket.hasApart = true
    else
      tier.at = bucket.size + 3
      bucket.size = bucket.size + 2 + tier.slots
    end
  end
  bucket.format = '<' .. string.rep('d', bucket.size)
end
