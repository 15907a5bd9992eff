-- The twin of src/core/strategies/fixed-window.ts.
local floor, max, min = math.floor, math.max, math.min
local function endOf(r, now)
  if r.align == 'first-request' then return now + r.windowMs end
  return (floor(now / r.windowMs) + 1) * r.windowMs
end
return {
  check = function(s, at, r, now, cost)
    local count = now < s[at] and s[at + 1] or 0
    local left = count == 0 and 0 or s[at] - now
    local allowed = cost <= r.limit - count
    return allowed, max(0, r.limit - count), allowed and 0 or left, left
  end,
  charge = function(s, at, r, now, cost)
    if now >= s[at] or s[at + 1] == 0 then
      s[at] = endOf(r, now)
      s[at + 1] = 0
    end
    local count = max(s[at + 1], min(r.limit, s[at + 1] + cost))
    s[at + 1] = count
    return max(0, r.limit - count), s[at] - now
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    if now >= s[at] or chargedAt < s[at] - r.windowMs then return end
    s[at + 1] = max(0, s[at + 1] - cost)
  end
}
