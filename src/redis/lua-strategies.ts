import { closed, open } from '../core/strategies/constant.js'
import { fixedWindow } from '../core/strategies/fixed-window.js'
import { gcra } from '../core/strategies/gcra.js'
import { leakyBucket } from '../core/strategies/leaky-bucket.js'
import { slidingLog } from '../core/strategies/sliding-log.js'
import { slidingWindow } from '../core/strategies/sliding-window.js'
import { tokenBucket } from '../core/strategies/token-bucket.js'
import type { Strategy } from '../core/strategy.js'

/*
 * The strategies once more, for the server: each is the twin of the file of its name in core/strategies, line by
 * line, on the same numbers. What the twins return stands in the order of an `Answer`.
 */

const basics = `
local floor, max, min, huge = math.floor, math.max, math.min, math.huge
`

const exact = `
local function up(a, b)
  local q = floor(a / b)
  local r = a - q * b
  if r > 0 then return q + 1 end
  if r + b > 0 then return q end
  return q - 1
end
local function down(a, b)
  local q = floor(a / b)
  local r = a - q * b
  if r < 0 then return q - 1 end
  if r >= b then return q + 1 end
  return q
end
`

const fixedWindowTwin = `
local function windowEnd(r, now)
  if r.align == 'first-request' then return now + r.windowMs end
  return (floor(now / r.windowMs) + 1) * r.windowMs
end
strategies['fixed-window'] = {
  check = function(s, at, r, now, cost)
    local count = now < s[at] and s[at + 1] or 0
    local left = count == 0 and 0 or s[at] - now
    local allowed = cost <= r.limit - count
    return allowed, max(0, r.limit - count), allowed and 0 or left, left
  end,
  charge = function(s, at, r, now, cost)
    if now >= s[at] or s[at + 1] == 0 then
      s[at] = windowEnd(r, now)
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
`

const slidingWindowTwin = `
local function counts(s, at, window)
  if s[at] == window then return s[at + 1], s[at + 2] end
  if s[at] == window - 1 then return 0, s[at + 1] end
  return 0, 0
end
local function windowRoom(r, current, previous, ahead)
  return max(0, r.limit - current - (previous == 0 and 0 or up(previous * ahead, r.windowMs)))
end
local function windowReset(r, current, previous, ahead)
  return current > 0 and ahead + r.windowMs or previous > 0 and ahead or 0
end
local function windowWait(r, current, previous, ahead, cost)
  local room = r.limit - current - cost
  if room >= 0 then
    local covered = down(room * r.windowMs, previous)
    if covered >= 1 then return ahead - covered end
  end
  local faded = current == 0 and r.windowMs or down((r.limit - cost) * r.windowMs, current)
  return faded >= r.windowMs and ahead or ahead + r.windowMs - faded
end
strategies['sliding-window'] = {
  check = function(s, at, r, now, cost)
    local window = floor(now / r.windowMs)
    local ahead = (window + 1) * r.windowMs - now
    local current, previous = counts(s, at, window)
    local room = windowRoom(r, current, previous, ahead)
    local allowed = cost <= room
    return allowed, room, allowed and 0 or windowWait(r, current, previous, ahead, cost),
      windowReset(r, current, previous, ahead)
  end,
  charge = function(s, at, r, now, cost)
    local window = floor(now / r.windowMs)
    local ahead = (window + 1) * r.windowMs - now
    local current, previous = counts(s, at, window)
    local charged = max(current, min(r.limit, current + cost))
    s[at], s[at + 1], s[at + 2] = window, charged, previous
    return windowRoom(r, charged, previous, ahead), windowReset(r, charged, previous, ahead)
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    local age = s[at] - floor(chargedAt / r.windowMs)
    if age ~= 0 and age ~= 1 then return end
    s[at + 1 + age] = max(0, s[at + 1 + age] - cost)
  end
}
`

const slidingLogTwin = `
local function placeOf(s, at, index)
  local place = s[at] + index
  return at + 3 + (place < s[at + 2] and place or place - s[at + 2])
end
local function timeAt(s, at, index) return s[placeOf(s, at, index)] end
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
  for i = 0, s[at + 1] - 1 do s[at + 3 + i] = held[i] end
end
strategies['sliding-log'] = {
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
    if s[at + 2] < r.limit then widen(s, at, r.limit) end
    local units = min(cost, r.limit)
    drop(s, at, max(0, s[at + 1] + units - s[at + 2]))
    for i = 1, units do
      local count = s[at + 1]
      s[at + 1] = count + 1
      s[placeOf(s, at, count)] = now
    end
    return max(0, r.limit - s[at + 1]), r.windowMs
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    drop(s, at, expired(s, at, r, now))
    local count = s[at + 1]
    local stop = count
    while stop > 0 and timeAt(s, at, stop - 1) > chargedAt do stop = stop - 1 end
    local given = min(cost, stop)
    for i = stop, count - 1 do s[placeOf(s, at, i - given)] = timeAt(s, at, i) end
    s[at + 1] = count - given
  end
}
`

const debts = `
local function debtAnswer(debt, r)
  return r.capacity - (debt == 0 and 0 or min(r.capacity, up(debt, r.windowMs))),
    debt == 0 and 0 or up(debt, r.limit)
end
local function checkDebt(debt, r, cost)
  local excess = debt - (r.capacity - cost) * r.windowMs
  local remaining, reset = debtAnswer(debt, r)
  return excess <= 0, remaining, excess > 0 and up(excess, r.limit) or 0, reset
end
local function chargedDebt(debt, r, cost)
  local full = r.capacity * r.windowMs
  return max(debt, debt >= full - cost * r.windowMs and full or debt + cost * r.windowMs)
end
local function refundedDebt(debt, r, now, cost, chargedAt)
  local unpaid = cost * r.windowMs - max(0, now - chargedAt) * r.limit
  return unpaid > 0 and max(0, debt - unpaid) or debt
end
`

const bucketTwin = `
local function bucketDebt(s, at, r, now)
  if s[at] == 0 then return 0 end
  return max(0, s[at] - (now - s[at + 1]) * r.limit)
end
local bucket = {
  check = function(s, at, r, now, cost) return checkDebt(bucketDebt(s, at, r, now), r, cost) end,
  charge = function(s, at, r, now, cost)
    s[at], s[at + 1] = chargedDebt(bucketDebt(s, at, r, now), r, cost), now
    return debtAnswer(s[at], r)
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    s[at], s[at + 1] = refundedDebt(bucketDebt(s, at, r, now), r, now, cost, chargedAt), now
  end
}
`

const tokenTwin = `
strategies['token-bucket'] = bucket
`

const leakyTwin = `
strategies['leaky-bucket'] = {
  check = bucket.check,
  charge = function(s, at, r, now, cost)
    local remaining, reset = bucket.charge(s, at, r, now, cost)
    local queued = s[at] - (cost + r.delayAfter) * r.windowMs
    return remaining, reset, queued > 0 and up(queued, r.limit) or 0
  end,
  refund = bucket.refund
}
`

const gcraTwin = `
local function arrivalDebt(s, at, r, now) return max(0, (s[at] - now) * r.limit + s[at + 1]) end
local function setArrival(s, at, r, now, debt)
  local whole = down(debt, r.limit)
  s[at], s[at + 1] = now + whole, debt - whole * r.limit
end
strategies.gcra = {
  check = function(s, at, r, now, cost) return checkDebt(arrivalDebt(s, at, r, now), r, cost) end,
  charge = function(s, at, r, now, cost)
    local debt = chargedDebt(arrivalDebt(s, at, r, now), r, cost)
    setArrival(s, at, r, now, debt)
    return debtAnswer(debt, r)
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    setArrival(s, at, r, now, refundedDebt(arrivalDebt(s, at, r, now), r, now, cost, chargedAt))
  end
}
`

const constantTwins = `
strategies.closed = {
  check = function() return false, 0, huge, 0 end,
  charge = function() return 0, 0 end
}
strategies.open = {
  check = function() return true, huge, 0, 0 end,
  charge = function() return huge, 0 end
}
`

/** The twins, each with what it needs before it. */
const twins: ReadonlyMap<Strategy, string> = new Map([
  [fixedWindow, fixedWindowTwin],
  [slidingWindow, exact + slidingWindowTwin],
  [slidingLog, slidingLogTwin],
  [tokenBucket, exact + debts + bucketTwin + tokenTwin],
  [leakyBucket, exact + debts + bucketTwin + leakyTwin],
  [gcra, exact + debts + gcraTwin],
  [open, constantTwins],
  [closed, constantTwins]
])

/**
 * The Lua source of strategies, which fills a table `strategies` by name; only of those that are asked for, since each
 * call of the script makes its functions anew (bench/redis.js).
 */
export function twinsOf(strategies: ReadonlySet<Strategy>): string {
  const parts = new Set([...strategies].map((strategy) => twins.get(strategy) ?? ''))
  return `local strategies = {}\n${basics}${[...parts].map((part) => `do\n${part}end\n`).join('')}`
}

/** True where a strategy has its twin among the built-in ones. */
export function hasTwin(strategy: Strategy): boolean {
  return twins.has(strategy)
}
