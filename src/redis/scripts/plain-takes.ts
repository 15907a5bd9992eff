import { argument, type LuaFields, luaTable } from './lua-words.js'
import { luaRuleOf, type RuleParts } from './rules.js'
import type { StrategyNames } from './strategy-names.js'

/** Numbers of a tier before its strategy's. */
const timeNumbers = 2

/** A function of Lua has 200 locals at most. */
const mostTiers = 8

/** Above this, integers of a reply need care: see lua/main.lua. */
const mostPlain = 1e15

/**
 * The part of a script that takes the same cost of each of its keys, without anything that is rare: a sequence of steps
 * with every number of the rule in its place. It decides as lua/bucket.lua and lua/tier.lua do, and leaves to them, from
 * the key at hand on, what is not plain: a blocked key, a clock that stepped back, what others wrote, a denial that is
 * counted. What it leaves is `plainCost` of the keys from `first` on.
 */
export function plainTakes(parts: RuleParts, names: StrategyNames): string {
  const keysEach = parts.layout.suffixes.length
  const begin = `local first, size, keysEach, reply, plainCost = 1, 2, ${keysEach}, { 1, now }, nil\n`
  const steps = isPlain(parts) && !names.hasForeign ? stepsOf(parts, names) : ''
  return `${begin}if #ARGV < 3 then\n  plainCost = tonumber(ARGV[2] or 1)\n${steps}end\n`
}

/** The same for scripts that take their rules as arguments: they have no such part. */
export const noPlainTakes = 'local first, size, keysEach, reply, plainCost = 1, 2, 1, { 1, now }, nil\n'

function isPlain({ layout, policies }: RuleParts): boolean {
  const isPossible = policies.every(({ limit }) => limit > 0 && limit < Number.POSITIVE_INFINITY)
  return isPossible && !layout.isApart.includes(true) && policies.length <= mostTiers
}

function stepsOf(parts: RuleParts, names: StrategyNames): string {
  const { policies, lowest, layout } = parts
  const offsets: number[] = []
  let end = 0
  for (const slots of layout.slots) {
    offsets.push(end + timeNumbers + 1)
    end += timeNumbers + slots
  }
  const { now } = parts
  const tiers = policies.map((policy, i) => {
    const low = lowest === null || lowest[i] === policy ? null : lowest[i]!
    return {
      policy,
      low,
      name: names.of(policy),
      lowName: low && names.of(low),
      at: offsets[i]!,
      n: i + 1,
      now
    }
  })
  return plainLua({ ...parts, tiers, size: end })
}

interface PlainTier {
  readonly policy: RuleParts['policies'][number]
  readonly low: PlainTier['policy'] | null
  readonly name: string
  readonly lowName: string | null
  /** The index of its first slot. */
  readonly at: number
  readonly now: number
  /** Its number, which its variables end in. */
  readonly n: number
}

interface Plain extends RuleParts {
  readonly tiers: readonly PlainTier[]
  /** Numbers of a key. */
  readonly size: number
}

function plainLua(plain: Plain): string {
  const { tiers, size, terms } = plain
  const format = `'<${'d'.repeat(size)}'`
  const capacity = Math.min(...tiers.map(({ policy }) => policy.capacity))
  const isRareDenied = terms.countDenied || terms.blockMs > 0
  const areAllowed = tiers.map(({ n }) => `allowed${n}`).join(' and ')
  return `${tiers.map(declaration).join('')}
  for i = plainCost <= ${argument(capacity)} and 1 or #KEYS + 1, #KEYS do
    local key = KEYS[i]
    local text, s = redis.pcall('GET', key), nil
    if text then
      if #text ~= ${size * 8} then
        if text.err and not string.find(text.err, 'WRONGTYPE') then redis.call('GET', key) end
        break
      end
      s = { struct.unpack(${format}, text) }
    else
      s = { ${Array(size).fill('0').join(', ')} }
    end
${tiers.map(readingOf).join('')}${tiers.map(checkOf).join('')}
    local isAllowed = ${areAllowed}
    ${isRareDenied ? 'if not isAllowed then break end\n' : ''}
    if isAllowed then
      -- If as much is owed after the charge, the key expires when it is to: a window that is open stays so.
      local owed = ${highest(tiers.map(({ n }) => `reset${n}`))}
${tiers.map(chargeOf).join('')}${saving(plain, format)}
${replying(plain, ['1', ...tiers.flatMap(admitted)])}
    else
${replying(plain, ['0', ...tiers.flatMap(denied)])}
    end
    first = i + 1
  end
  if first > #KEYS then return reply end
`
}

function declaration({ policy, low, name, lowName, n, now }: PlainTier): string {
  const own = `  local rule${n}, check${n}, charge${n} = ${luaTable(plainRuleOf(policy, now))}, strategies['${name}'].check, strategies['${name}'].charge\n`
  if (low === null) return own
  const { limit, capacity } = low
  const rule = luaTable(plainRuleOf({ ...policy, limit, capacity }, now))
  return `${own}  local lowRule${n}, lowCheck${n} = ${rule}, strategies['${lowName}'].check\n`
}

/** What its strategy, which is built in, looks at. */
function plainRuleOf(policy: PlainTier['policy'], now: number): LuaFields {
  const { limit, windowMs, capacity, align, delayAfter } = luaRuleOf(policy, now)
  return {
    ...{ limit, windowMs, capacity },
    align: policy.align === undefined && policy.calendar === null ? undefined : align,
    delayAfter: policy.shapes ? delayAfter : undefined
  }
}

/** Its time, which must be one that this script has written, and not later than now. */
function readingOf({ at, n }: PlainTier): string {
  return `    local latest${n}, time${n} = s[${at - 2}], now + s[${at - 1}]
    if not (latest${n} <= now and latest${n} % 1 == 0) then break end
`
}

function checkOf({ at, n }: PlainTier): string {
  return `    local allowed${n}, left${n}, wait${n}, reset${n} = check${n}(s, ${at}, rule${n}, time${n}, plainCost)
`
}

function chargeOf({ policy, at, n }: PlainTier): string {
  const delay = policy.shapes ? `, delay${n}` : ''
  return `${policy.shapes ? `      local delay${n}\n` : ''}      left${n}, reset${n}${delay} = charge${n}(s, ${at}, rule${n}, time${n}, plainCost)
      s[${at - 2}] = now
`
}

function saving(plain: Plain, format: string): string {
  const { tiers, size, lowest } = plain
  const numbers = Array.from({ length: size }, (_, i) => `s[${i + 1}]`).join(', ')
  const packed = `struct.pack(${format}, ${numbers})`
  const set = `redis.call('SET', key, ${packed}, 'PX', min(lifeMs + extraMs, longestLifeMs))`
  const resets = tiers.map(({ n }) => `reset${n}`)
  if (lowest === null)
    return `      local lifeMs = ${highest(resets)}
      if text and lifeMs == owed then
        redis.call('SETRANGE', key, 0, ${packed})
      else
        ${set}
      end`
  const lows = tiers.filter(({ low }) => low !== null)
  const checks = lows.map(
    ({ n, at }) => `      local _, _, _, low${n} = lowCheck${n}(s, ${at}, lowRule${n}, time${n}, 1)\n`
  )
  // Others may know of a lower limit.
  const owed = [...resets, ...lows.map(({ n }) => `low${n}`), "redis.call('PTTL', key)"]
  return `${checks.join('')}      local lifeMs = ${highest(owed)}
      ${set}`
}

function highest(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : `max(${values.join(', ')})`
}

/** What is replied of a tier that is charged: nobody waits. */
function admitted({ policy, n }: PlainTier): string[] {
  return [`left${n}`, `reset${n}`, ...(policy.shapes ? [`delay${n}`] : [])]
}

function denied({ n }: PlainTier): string[] {
  return [`left${n}`, `wait${n}`, `reset${n}`]
}

/** Numbers that may be too large for an integer of the reply are put right. */
function replying({ tiers }: Plain, values: readonly string[]): string {
  const targets = values.map((_, i) => `reply[size + ${i + 1}]`)
  const put = tiers.every(({ policy }) => isSmall(policy))
    ? ''
    : `      for j = size + 2, size + ${values.length} do reply[j] = replied(reply[j]) end\n`
  return `      ${targets.join(', ')} = ${values.join(', ')}
${put}      size = size + ${values.length}`
}

/** No number of an answer is above these, or twice the window. */
function isSmall({ capacity, windowMs, quotaWindowMs }: PlainTier['policy']): boolean {
  return Math.max(capacity, 2 * windowMs, quotaWindowMs!) < mostPlain
}
