-- The twin of src/core/strategies/calendar-window.ts. Lua knows no calendar: `align` has the starts of the windows around
-- now, in their order.
local floor, max, min = math.floor, math.max, math.min
local function windowAt(r, now)
  local start
  for text in string.gmatch(r.align, '%-?%d+') do
    local next = tonumber(text)
    if next > now then return start or next - r.windowMs, next end
    start = next
  end
  -- This clock is far ahead of those that the starts are from.
  local begin = start + floor((now - start) / r.windowMs) * r.windowMs
  return begin, begin + r.windowMs
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
      local _, finish = windowAt(r, now)
      s[at] = finish
      s[at + 1] = 0
    end
    local count = max(s[at + 1], min(r.limit, s[at + 1] + cost))
    s[at + 1] = count
    return max(0, r.limit - count), s[at] - now
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    if now >= s[at] or chargedAt < windowAt(r, now) then return end
    s[at + 1] = max(0, s[at + 1] - cost)
  end
}
