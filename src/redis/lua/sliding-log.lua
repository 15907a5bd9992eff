-- The twin of src/core/strategies/sliding-log.ts and runs.ts, under the same names. `s.move`, where the numbers are read by pages,
-- moves many at once; a ring that has grown does not shrink, as its text in Redis would not.
local floor, max, min = math.floor, math.max, math.min
local ring, firstSize, mostWalked = 5, 3, 1024
local function countsOf(r) return floor(2 ^ 53 / r.windowMs) end
local function phaseOf(now, windowMs) return now - floor(now / windowMs) * windowMs end
local function indexOf(s, at, entry)
  local place, size = s[at] + entry, s[at + 2]
  return at + ring + (place < size and place or place - size)
end
local function timeIn(s, at, counts, entry) return floor(s[indexOf(s, at, entry)] / counts) end
local function countIn(s, at, counts, entry)
  local packed = s[indexOf(s, at, entry)]
  return packed - floor(packed / counts) * counts
end
local function sumOf(count, units, counts)
  return count >= counts - units and count - (counts - units) or count + units
end
local function ageOf(s, at, r, run)
  local age = phaseOf(s[at + 4], r.windowMs) - timeIn(s, at, countsOf(r), run)
  return age < 0 and age + r.windowMs or age
end
local function unitsIn(s, at, r, from, to)
  local counts = countsOf(r)
  local units = countIn(s, at, counts, to) - countIn(s, at, counts, from)
  return units < 0 and units + counts or units
end
local function runOf(s, at, r, from, units)
  if units == 1 then return from + 1 end
  local low, high = from + 1, s[at + 1]
  while low < high do
    local middle = floor((low + high) / 2)
    if unitsIn(s, at, r, from, middle) >= units then high = middle else low = middle + 1 end
  end
  return low
end
local function olderThan(s, at, r, age)
  local low, high = 0, s[at + 1]
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if ageOf(s, at, r, middle) >= age then low = middle else high = middle - 1 end
  end
  return low
end
local function expired(s, at, r, now)
  if s[at + 1] == 0 then return 0 end
  local age = s[at + 4] + r.windowMs - now
  if age <= 0 then return s[at + 1] end
  return ageOf(s, at, r, 1) < age and 0 or olderThan(s, at, r, age)
end
local function drop(s, at, runs)
  if runs == 0 then return end
  s[at], s[at + 1] = indexOf(s, at, runs) - at - ring, s[at + 1] - runs
end
local function open(s, at, r, now)
  drop(s, at, expired(s, at, r, now))
  if s[at + 1] == 0 then
    s[at], s[at + 2], s[at + 3], s[at + ring] = 0, 1, 0, 0
  end
  if s[at + 3] < r.limit then s[at + 3] = r.limit end
end
local function dropUnits(s, at, r, units)
  local run, counts = runOf(s, at, r, 0, units), countsOf(r)
  local rest = unitsIn(s, at, r, 0, run) - units
  drop(s, at, rest == 0 and run or run - 1)
  if rest > 0 then s[indexOf(s, at, 0)] = sumOf(countIn(s, at, counts, 1), counts - rest, counts) end
end
local function resize(s, at, next)
  local begin, head, size = at + ring, s[at], s[at + 2]
  s[at + 2] = next
  if head + s[at + 1] + 1 <= size then return end
  local from, to, count = begin + head, begin + head + next - size, size - head
  s[at] = head + next - size
  if s.move then return s.move(from, to, count) end
  for i = count - 1, 0, -1 do s[to + i] = s[from + i] end
end
local function append(s, at, r, now, units)
  local counts, runs, size = countsOf(r), s[at + 1], s[at + 2]
  local count = sumOf(countIn(s, at, counts, runs), units, counts)
  local isSame = runs > 0 and s[at + 4] == now and ageOf(s, at, r, runs) == 0
  if not isSame and runs + 2 > size then
    resize(s, at, min(size < firstSize and firstSize or 2 * size + ring, 1 + min(s[at + 3], r.windowMs)))
  end
  local run = isSame and runs or runs + 1
  s[at + 4], s[at + 1] = now, run
  s[indexOf(s, at, run)] = phaseOf(now, r.windowMs) * counts + count
end
local function takeBack(s, at, r, last, left)
  local counts, runs = countsOf(r), s[at + 1]
  local given = unitsIn(s, at, r, 0, last) - left
  local kept = left == 0 and 0 or runOf(s, at, r, 0, left)
  if kept > 0 then
    s[indexOf(s, at, kept)] = timeIn(s, at, counts, kept) * counts + sumOf(countIn(s, at, counts, 0), left, counts)
  end
  for run = last + 1, runs do
    s[indexOf(s, at, kept + run - last)] =
      timeIn(s, at, counts, run) * counts + sumOf(countIn(s, at, counts, run), counts - given, counts)
  end
  s[at + 1] = kept + runs - last
end
return {
  check = function(s, at, r, now, cost)
    local gone, runs = expired(s, at, r, now), s[at + 1]
    if gone == runs then return true, r.limit, 0, 0 end
    local live, ahead = unitsIn(s, at, r, gone, runs), s[at + 4] + r.windowMs - now
    local over = live + cost - r.limit
    return over <= 0, max(0, r.limit - live), over > 0 and ahead - ageOf(s, at, r, runOf(s, at, r, gone, over)) or 0,
      ahead - ageOf(s, at, r, runs)
  end,
  charge = function(s, at, r, now, cost)
    open(s, at, r, now)
    local units, live, most = min(cost, r.limit), unitsIn(s, at, r, 0, s[at + 1]), s[at + 3]
    if live + units > most then dropUnits(s, at, r, live + units - most) end
    append(s, at, r, now, units)
    return max(0, r.limit - min(most, live + units)), r.windowMs
  end,
  refund = function(s, at, r, now, cost, chargedAt)
    drop(s, at, expired(s, at, r, now))
    local last = olderThan(s, at, r, s[at + 4] - chargedAt)
    local held = unitsIn(s, at, r, 0, last)
    local given = min(cost, held)
    if given == 0 then return end
    if s[at + 1] - last > mostWalked then dropUnits(s, at, r, given) else takeBack(s, at, r, last, held - given) end
  end
}
