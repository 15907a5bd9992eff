-- The twin of src/core/strategies/sliding-log.ts.
local floor, max, min = math.floor, math.max, math.min
local times = 3
local function indexOf(s, at, order)
  local index = s[at] + order
  return at + times + (index < s[at + 2] and index or index - s[at + 2])
end
local function timeAt(s, at, order) return s[indexOf(s, at, order)] end
local function expired(s, at, r, now)
  local from = now - r.windowMs
  if s[at + 1] == 0 or timeAt(s, at, 0) > from then return 0 end
  local low, high = 1, s[at + 1]
  while low < high do
    local middle = floor((low + high) / 2)
    if timeAt(s, at, middle) > from then high = middle else low = middle + 1 end
  end
  return low
end
local function drop(s, at, units)
  if units == 0 then return end
  local head = s[at] + units
  s[at] = head < s[at + 2] and head or head - s[at + 2]
  s[at + 1] = s[at + 1] - units
end
local function widen(s, at, size)
  local held = {}
  for i = 0, s[at + 1] - 1 do held[i] = timeAt(s, at, i) end
  s[at], s[at + 2] = 0, size
  for i = 0, s[at + 1] - 1 do s[at + times + i] = held[i] end
end
return {
  check = function(s, at, r, now, cost)
    local count = s[at + 1]
    local live = count - expired(s, at, r, now)
    local over = live + cost - r.limit
    return over <= 0, live < r.limit and r.limit - live or 0,
      over > 0 and timeAt(s, at, count - live + over - 1) + r.windowMs - now or 0,
      live > 0 and timeAt(s, at, count - 1) + r.windowMs - now or 0
  end,
  charge = function(s, at, r, now, cost)
    drop(s, at, expired(s, at, r, now))
    -- An empty log is as one that was never used: its ring is as long as the limit of now.
    if s[at + 1] == 0 then s[at + 2] = 0 end
    if s[at + 2] < r.limit then widen(s, at, r.limit) end
    local units = min(cost, r.limit)
    drop(s, at, max(0, s[at + 1] + units - s[at + 2]))
    for _ = 1, units do
      local count = s[at + 1]
      s[at + 1] = count + 1
      s[indexOf(s, at, count)] = now
    end
    return max(0, r.limit - s[at + 1]), r.windowMs
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    drop(s, at, expired(s, at, r, now))
    local count = s[at + 1]
    local stop = count
    while stop > 0 and timeAt(s, at, stop - 1) > chargedAt do stop = stop - 1 end
    local given = min(cost, stop)
    for i = stop, count - 1 do s[indexOf(s, at, i - given)] = timeAt(s, at, i) end
    s[at + 1] = count - given
  end
}
