-- The twin of src/core/strategies/sliding-log.ts and runs.ts, under the same names. What precedes the ring is read once,
-- and written whole, so that it is one piece: numbers that are read by pages are dear. `s.move`, which those have, moves
-- many at once. A ring that has grown does not shrink, as its text in Redis would not.
local floor, max, min = math.floor, math.max, math.min
local ring, firstSize, mostWalked = 5, 3, 1024
local s, first, head, runs, size, most, latest, windowMs, counts, phase
local function turnTo(now)
  latest, phase = now, now - floor(now / windowMs) * windowMs
end
local function load(state, at, r)
  s, first, windowMs, counts = state, at + ring, r.windowMs, floor(2 ^ 53 / r.windowMs)
  head, runs, size, most = s[at], s[at + 1], s[at + 2], s[at + 3]
  -- Others may have written here: nothing is bisected that is longer than any log.
  if not (runs > 0 and runs <= 2 ^ 20) then runs = 0 end
  turnTo(s[at + 4])
end
local function save(at) s[at], s[at + 1], s[at + 2], s[at + 3], s[at + 4] = head, runs, size, most, latest end
local function indexOf(entry)
  local place = head + entry
  return first + (place < size and place or place - size)
end
local function countIn(entry)
  local packed = s[indexOf(entry)]
  return packed - floor(packed / counts) * counts
end
local function sumOf(count, units)
  return count >= counts - units and count - (counts - units) or count + units
end
local function ageOf(run)
  local age = phase - floor(s[indexOf(run)] / counts)
  return age < 0 and age + windowMs or age
end
local function unitsIn(from, to)
  local units = countIn(to) - countIn(from)
  return units < 0 and units + counts or units
end
local function runOf(from, units)
  if units == 1 then return from + 1 end
  local low, high = from + 1, runs
  while low < high do
    local middle = floor((low + high) / 2)
    if unitsIn(from, middle) >= units then high = middle else low = middle + 1 end
  end
  return low
end
local function olderThan(age)
  local low, high = 0, runs
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if ageOf(middle) >= age then low = middle else high = middle - 1 end
  end
  return low
end
local function expired(now)
  if runs == 0 then return 0 end
  local age = latest + windowMs - now
  if age <= 0 then return runs end
  return ageOf(1) < age and 0 or olderThan(age)
end
local function drop(count)
  if count > 0 then head, runs = indexOf(count) - first, runs - count end
end
local function dropUnits(units)
  local run = runOf(0, units)
  local rest = unitsIn(0, run) - units
  drop(rest == 0 and run or run - 1)
  if rest > 0 then s[indexOf(0)] = sumOf(countIn(1), counts - rest) end
end
local function resize(next)
  local from, count = first + head, size - head
  local wraps, to = head + runs + 1 > size, from + next - size
  size = next
  if not wraps then return end
  head = to - first
  if s.move then return s.move(from, to, count) end
  for i = count - 1, 0, -1 do s[to + i] = s[from + i] end
end
local function append(now, units)
  local count = sumOf(countIn(runs), units)
  if runs == 0 or latest ~= now or ageOf(runs) > 0 then
    if runs + 2 > size then
      resize(min(size < firstSize and firstSize or 2 * size + ring, 1 + min(most, windowMs)))
    end
    runs = runs + 1
  end
  turnTo(now)
  s[indexOf(runs)] = phase * counts + count
end
local function takeBack(last, left)
  local given, kept = unitsIn(0, last) - left, left == 0 and 0 or runOf(0, left)
  if kept > 0 then
    s[indexOf(kept)] = floor(s[indexOf(kept)] / counts) * counts + sumOf(countIn(0), left)
  end
  for run = last + 1, runs do
    s[indexOf(kept + run - last)] = floor(s[indexOf(run)] / counts) * counts + sumOf(countIn(run), counts - given)
  end
  runs = kept + runs - last
end
return {
  check = function(state, at, r, now, cost)
    load(state, at, r)
    local gone = expired(now)
    if gone == runs then return true, r.limit, 0, 0 end
    local live, ahead = unitsIn(gone, runs), latest + windowMs - now
    local over = live + cost - r.limit
    return over <= 0, max(0, r.limit - live), over > 0 and ahead - ageOf(runOf(gone, over)) or 0, ahead - ageOf(runs)
  end,
  charge = function(state, at, r, now, cost)
    load(state, at, r)
    drop(expired(now))
    if runs == 0 then
      head, size, most, s[first] = 0, 1, 0, 0
    end
    most = max(most, r.limit)
    local units, live = min(cost, r.limit), runs == 0 and 0 or unitsIn(0, runs)
    if live + units > most then dropUnits(live + units - most) end
    append(now, units)
    save(at)
    return max(0, r.limit - min(most, live + units)), windowMs
  end,
  refund = function(state, at, r, now, cost, chargedAt)
    load(state, at, r)
    drop(expired(now))
    local last = olderThan(latest - chargedAt)
    local held = unitsIn(0, last)
    local given = min(cost, held)
    if given == 0 then return end
    if runs - last > mostWalked then dropUnits(given) else takeBack(last, held - given) end
    save(at)
  end
}
