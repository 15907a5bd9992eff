/*
 * What a call of the script carries. KEYS: for each deed its key, then one for each tier that has a key of its own.
 * ARGV: ticket, clock, number of rule sets; for each set [block, countDenied, varies, tiers] and for each tier the
 * values that `RuleSet` writes: ten, and where limits vary three of the lowest, empty if it is that; then for each run of deeds that differ
 * in their keys alone [number, deed, set, cost, extra].
 *
 * State: a key holds doubles. Each tier has [latest, offset, slots…]: the last time seen and how far steady time is
 * ahead of it (as `SteadyTime` has them), then the numbers of its strategy. Of a blocked key [till, since] follow.
 * Tiers of many numbers have a key of their own, of which only the pages that are needed are read and written.
 * That a clock has stepped far back is written even where nothing is charged: else time would stand still until the
 * clock is where it was.
 *
 * Reply: [1, now, then for each deed that answers: verdict, charged, and four numbers a tier], where -1 is infinity.
 * Numbers near 2^53 are text: some clients' parsers lose the last bit of such integers.
 * [0, now] where the ticket has expired: then nothing was done.
 */

/** What can be done with a key. */
export const Deed = {
  peek: 0,
  take: 1,
  charge: 2,
  lease: 3,
  refund: 4,
  reset: 5,
  block: 6,
  settle: 7
} as const
export type Deed = (typeof Deed)[keyof typeof Deed]

/** The longest that a key is kept, ms: ten years, for blocks without end. */
export const longestLife = 315_360_000_000

const time = `
local clock, now = ARGV[2], nil
if clock == '' then
  local t = redis.call('TIME')
  now = t[1] * 1000 + floor(t[2] / 1000)
else
  now = tonumber(clock)
end
if now > tonumber(ARGV[1]) then return { 0, now } end
`

const rules = `
local at, sets = 4, {}
for i = 1, tonumber(ARGV[3]) do
  local set = {
    block = tonumber(ARGV[at]), countsDenied = ARGV[at + 1] == '1', varies = ARGV[at + 2] == '1', size = 0,
    hasApart = false, place = 0
  }
  local count = tonumber(ARGV[at + 3])
  at = at + 4
  for j = 1, count do
    local tier = {
      strategy = strategies[ARGV[at]], limit = tonumber(ARGV[at + 1]), windowMs = tonumber(ARGV[at + 2]),
      capacity = tonumber(ARGV[at + 3]), slots = tonumber(ARGV[at + 4]), isApart = ARGV[at + 5] == '1',
      aligned = ARGV[at + 6] == '1', align = ARGV[at + 7], burst = tonumber(ARGV[at + 8]),
      delayAfter = tonumber(ARGV[at + 9]), at = 3,
      s = false, now = 0, lag = 0, latest = 0, offset = 0, remaining = 0, retry = 0, reset = 0, delay = 0
    }
    if tier.isApart then
      set.hasApart = true
    else
      tier.at = set.size + 3
      set.size = set.size + 2 + tier.slots
    end
    set[j] = tier
    at = at + 10
    if set.varies then
      if ARGV[at] ~= '' then
        tier.slowest = {
          strategy = strategies[ARGV[at]], limit = tonumber(ARGV[at + 1]), capacity = tonumber(ARGV[at + 2]),
          windowMs = tier.windowMs, align = tier.align, burst = tier.burst, delayAfter = tier.delayAfter
        }
      end
      at = at + 3
    end
  end
  set.format = '<' .. string.rep('d', set.size)
  sets[i] = set
end
`

// Places of what is held: a key's numbers, its key, the set or the pages that it is written by, and its life if changed.
const state = `
local places, held, keyAt, ownerAt, lifeAt = {}, {}, {}, {}, {}
local function hold(key, numbers, owner)
  local place = #held + 1
  places[key], held[place], keyAt[place], ownerAt[place], lifeAt[place] = place, numbers, key, owner, false
  return place
end
local function load(at, set)
  local key = KEYS[at]
  local place = places[key]
  if place then return place end
  local blob, bytes = read(at), set.size * 8
  if blob then
    if #blob == bytes then return hold(key, { struct.unpack(set.format, blob) }, set) end
    if #blob == bytes + 16 then
      local s = { struct.unpack(set.format .. 'dd', blob) }
      s.till, s.since = s[set.size + 1], s[set.size + 2]
      return hold(key, s, set)
    end
  end
  local s = {}
  for i = 1, set.size do s[i] = 0 end
  return hold(key, s, set)
end
local function save(place)
  local key, s, owner, life = keyAt[place], held[place], ownerAt[place], lifeAt[place]
  if life <= 0 then
    redis.call('DEL', key)
    return
  end
  if clock ~= '' then life = life + 86400000 end
  life = min(life, LONGEST)
  if owner.pages then return saveApart(owner, key, life) end
  local blob = struct.pack(owner.format, unpack(s, 1, owner.size))
  if s.till then blob = blob .. struct.pack('<dd', s.till, s.since) end
  redis.call('SET', key, blob, 'PX', life)
end
`

/** All keys are read at once; what is no text reads as nothing. */
const readTogether = `
local texts = redis.call('MGET', unpack(KEYS))
local function read(at) return texts[at] end
`

/** Keys whose pages are read as they are needed must not be read whole. */
const readOneByOne = `
local function read(at)
  local text = redis.pcall('GET', KEYS[at])
  return type(text) == 'string' and text
end
`

/** Left out where no tier has a key of its own. */
const apart = `
local page = 64
saveApart = function(owner, key, life)
  if owner.isWiped then redis.call('DEL', key) end
  local at = {}
  for i in pairs(owner.written) do at[#at + 1] = i end
  table.sort(at)
  local i = 1
  while i <= #at do
    local run = {}
    repeat
      run[#run + 1] = struct.pack('<d', owner.written[at[i]])
      i = i + 1
    until at[i] ~= at[i - 1] + 1
    redis.call('SETRANGE', key, (at[i - 1] - #run) * 8, table.concat(run))
  end
  redis.call('PEXPIRE', key, life)
end
local function loadApart(key)
  local place = places[key]
  if place then return place end
  local owner = { pages = {}, written = {} }
  return hold(key, setmetatable({}, {
    __index = function(_, i)
      if owner.written[i] then return owner.written[i] end
      if owner.isWiped then return 0 end
      local first = floor((i - 1) / page) * page
      local text = owner.pages[first]
      if not text then
        text = redis.pcall('GETRANGE', key, first * 8, (first + page) * 8 - 1)
        if type(text) ~= 'string' then
          owner.isWiped = true
          return 0
        end
        owner.pages[first] = text
      end
      local from = (i - 1 - first) * 8
      return #text < from + 8 and 0 or (struct.unpack('<d', text, from + 1))
    end,
    __newindex = function(_, i, value) owner.written[i] = value end
  }), owner)
end
`

const tiers = `
local isMoved = false
local function wipe(owner)
  owner.written, owner.pages, owner.isWiped = {}, {}, true
end
local function readTime(tier)
  local s, at, w = tier.s, tier.at, tier.windowMs
  local latest, offset = s[at - 2], s[at - 1]
  if latest % 1 ~= 0 or latest > 2 ^ 53 then
    -- Nobody's time: others have written here.
    if tier.isApart then wipe(ownerAt[tier.place]) end
    for i = at - 2, tier.isApart and 0 or at + tier.slots - 1 do s[i] = 0 end
    latest, offset = 0, 0
  end
  tier.lag = 0
  if now < latest then
    local before, step = latest + offset, latest - now
    if step <= w then
      tier.now, tier.lag, tier.latest, tier.offset = before, step, latest, offset
      return
    end
    offset = (tier.aligned and before - before % w + now % w or before) - now
    isMoved, s[at - 2], s[at - 1] = true, now, offset
  end
  tier.now, tier.latest, tier.offset = now + offset, now, offset
end
local function look(tier, cost)
  local isPossible = cost <= tier.capacity
  local allowed, remaining, retry, reset =
    tier.strategy.check(tier.s, tier.at, tier, tier.now, isPossible and cost or 1)
  if not isPossible then allowed, retry = false, huge end
  if tier.lag > 0 then
    if retry > 0 then retry = retry + tier.lag end
    if reset > 0 then reset = reset + tier.lag end
  end
  tier.remaining, tier.retry, tier.reset, tier.delay = remaining, retry, reset, 0
  return allowed
end
local function lookAt(set, cost)
  local allowed, least = true, huge
  for i = 1, #set do
    if not look(set[i], cost) then allowed = false end
    least = min(least, set[i].remaining)
  end
  return allowed, least
end
local function charge(tier, units)
  local remaining, reset, delay = tier.strategy.charge(tier.s, tier.at, tier, tier.now, units)
  tier.s[tier.at - 2], tier.s[tier.at - 1] = tier.latest, tier.offset
  tier.remaining, tier.reset, tier.delay = remaining, reset + tier.lag, delay or 0
end
local function blockLeft(s)
  if not s.till then return 0 end
  if now < s.since then s.till, isMoved = s.till - s.since + now, true end
  s.since = now
  if s.till > now then return s.till - now end
  s.till = nil
  return 0
end
-- How long a key must be kept for one tier.
local function owedMs(tier)
  local slowest = tier.slowest
  if not slowest then return tier.reset end
  local _, _, _, reset = slowest.strategy.check(tier.s, tier.at, slowest, tier.now, 1)
  return max(tier.reset, reset > 0 and reset + tier.lag or 0)
end
local function keepAt(set, place, life)
  -- Others may know of a lower limit.
  if set.varies then life = max(life, lifeAt[place] or 0, redis.call('PTTL', keyAt[place])) end
  lifeAt[place] = life
end
local function keep(set, s)
  local life = s.till and blockLeft(s) or 0
  for i = 1, #set do life = max(life, owedMs(set[i])) end
  if set.size > 0 or s.till then keepAt(set, set.place, life) end
  if set.hasApart then
    for i = 1, #set do
      if set[i].isApart then keepAt(set, set[i].place, life) end
    end
  end
end
local function lengthen(set, left)
  for i = 1, #set do
    local tier = set[i]
    tier.remaining, tier.retry, tier.reset = 0, max(tier.retry, left), max(tier.reset, left)
  end
end
local function penalise(set, s)
  local wait = 0
  for i = 1, #set do wait = max(wait, set[i].retry) end
  if wait == huge then return 0 end
  s.till, s.since = now + max(set.block, wait), now
  keep(set, s)
  lengthen(set, s.till - now)
  return 2
end
`

const deeds = `
local function decide(deed, set, s, cost, wanted)
  local allowed, least = lookAt(set, cost)
  local left = s.till and blockLeft(s) or 0
  if isMoved then keep(set, s) end
  if left > 0 then
    lengthen(set, left)
    return 2, 0
  end
  if deed == PEEK or not (allowed or deed == CHARGE or set.countsDenied) then
    if deed == PEEK or allowed or set.block == 0 then return allowed and 1 or 0, 0 end
    return penalise(set, s), 0
  end
  local units = deed == LEASE and max(cost, min(wanted, least)) or cost
  for i = 1, #set do charge(set[i], units) end
  keep(set, s)
  if allowed then return 1, units end
  lookAt(set, cost)
  return deed ~= CHARGE and set.block > 0 and penalise(set, s) or 0, min(cost, least)
end
local function refund(set, s, cost, chargedAt)
  for i = 1, #set do
    local tier = set[i]
    if tier.strategy.refund then
      tier.strategy.refund(tier.s, tier.at, tier, tier.now, cost, tier.now - max(0, now - chargedAt))
      tier.s[tier.at - 2], tier.s[tier.at - 1] = tier.latest, tier.offset
    end
  end
end
local function change(deed, set, s, cost, extra)
  if deed == REFUND then
    refund(set, s, cost, extra == '' and now or tonumber(extra))
  elseif deed == BLOCK then
    s.till, s.since = now + tonumber(extra), now
  elseif deed == SETTLE then
    local i = 1
    for units in string.gmatch(extra, '%d+') do
      look(set[i], 1)
      if tonumber(units) > 0 then charge(set[i], tonumber(units)) end
      i = i + 1
    end
  end
  lookAt(set, 1)
  keep(set, s)
end
local function reset(set, s)
  for i = 1, set.size do s[i] = 0 end
  s.till, lifeAt[set.place] = nil, 0
  for i = 1, #set do
    if set[i].isApart then
      wipe(ownerAt[set[i].place])
      lifeAt[set[i].place] = 0
    end
  end
end
`

const main = `
local reply, size, key = { 1, now }, 2, 1
while at <= #ARGV do
  local count, deed, set = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), sets[tonumber(ARGV[at + 2])]
  local cost, extra = tonumber(ARGV[at + 3]), ARGV[at + 4]
  local wanted = deed == LEASE and tonumber(extra)
  for _ = 1, count do
    local place = load(key, set)
    local s = held[place]
    set.place, isMoved = place, false
    key = key + 1
    for i = 1, #set do
      local tier = set[i]
      tier.s = s
      if tier.isApart then
        tier.place = loadApart(KEYS[key])
        tier.s = held[tier.place]
        key = key + 1
      end
      readTime(tier)
    end
    if deed == RESET then
      reset(set, s)
    elseif deed > LEASE then
      change(deed, set, s, cost, extra)
    else
      reply[size + 1], reply[size + 2] = decide(deed, set, s, cost, wanted)
      size = size + 2
      for i = 1, #set do
        local tier = set[i]
        reply[size + 1], reply[size + 2], reply[size + 3], reply[size + 4] =
          tier.remaining, tier.retry, tier.reset, tier.delay
        size = size + 4
      end
    end
  end
  at = at + 5
end
for i = 3, size do
  local n = reply[i]
  if n >= 1e15 then reply[i] = n == huge and -1 or string.format('%.0f', n) elseif n < 0 then reply[i] = 0 end
end
for place = 1, #held do
  if lifeAt[place] then save(place) end
end
return reply
`

const constants = Object.entries({ ...Deed, longest: longestLife })
  .map(([name, value]) => `local ${name.toUpperCase()} = ${value}\n`)
  .join('')

/** The script around strategies: `twins` fills a table `strategies` and brings the functions of exact arithmetic. */
export function scriptOf(twins: string, hasApart: boolean): string {
  return `${twins}${constants}${time}${rules}local saveApart\n${hasApart ? readOneByOne : readTogether}${state}${hasApart ? apart : ''}${tiers}${deeds}${main}`
}
