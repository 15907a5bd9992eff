-- luacheck: read globals divideUp divideDown
-- The twin of src/core/strategies/sliding-window.ts, after exact.lua.
local floor, max, min = math.floor, math.max, math.min
local function countsOf(s, at, window)
  if s[at] == window then return s[at + 1], s[at + 2] end
  if s[at] == window - 1 then return 0, s[at + 1] end
  return 0, 0
end
local function roomOf(r, current, previous, ahead)
  return max(0, r.limit - current - (previous == 0 and 0 or divideUp(previous * ahead, r.windowMs)))
end
local function waitFor(r, current, previous, ahead, cost)
  local room = r.limit - current - cost
  if room >= 0 then
    local covered = divideDown(room * r.windowMs, previous)
    if covered >= 1 then return ahead - covered end
  end
  local faded = current == 0 and r.windowMs or divideDown((r.limit - cost) * r.windowMs, current)
  return faded >= r.windowMs and ahead or ahead + r.windowMs - faded
end
local function resetOf(r, current, previous, ahead)
  return current > 0 and ahead + r.windowMs or previous > 0 and ahead or 0
end
return {
  check = function(s, at, r, now, cost)
    local window = floor(now / r.windowMs)
    local ahead = (window + 1) * r.windowMs - now
    local current, previous = countsOf(s, at, window)
    local room = roomOf(r, current, previous, ahead)
    local allowed = cost <= room
    return allowed, room, allowed and 0 or waitFor(r, current, previous, ahead, cost),
      resetOf(r, current, previous, ahead)
  end,
  charge = function(s, at, r, now, cost)
    local window = floor(now / r.windowMs)
    local ahead = (window + 1) * r.windowMs - now
    local current, previous = countsOf(s, at, window)
    local charged = max(current, min(r.limit, current + cost))
    s[at], s[at + 1], s[at + 2] = window, charged, previous
    return roomOf(r, charged, previous, ahead), resetOf(r, charged, previous, ahead)
  end,
  refund = function(s, at, r, _, cost, chargedAt)
    local age = s[at] - floor(chargedAt / r.windowMs)
    if age ~= 0 and age ~= 1 then return end
    s[at + 1 + age] = max(0, s[at + 1 + age] - cost)
  end,
  reward = function(s, at, r, now, cost)
    local window = floor(now / r.windowMs)
    local current, previous = countsOf(s, at, window)
    s[at], s[at + 1], s[at + 2] = window, max(0, current - cost), max(0, previous - max(0, cost - current))
  end
}
