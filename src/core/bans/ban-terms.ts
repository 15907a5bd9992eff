import { type Duration, durationMs } from '../duration.js'
import { badOption, checkNames, type ReadBy, readOptions, type TableOf } from '../options.js'
import { wholeNumber } from '../readers.js'

/** When a key that is denied again and again is banned, and for how long. */
export interface BanOptions {
  /** How many denials ban a key: a positive whole number. With 1 the first one does. */
  readonly after: number
  /** Within what time of the first of them; 10 minutes if left out. */
  readonly within?: Duration | undefined
  /** How long the first ban lasts. */
  readonly for: Duration
  /** How many times as long as the last one a repeated ban lasts: 1, as long, if left out. */
  readonly growth?: number | undefined
  /** The longest that a ban grows; 30 days, or `for` where that is longer, if left out. */
  readonly max?: Duration | undefined
  /** How long after the end of its last ban a key starts at `for` again; 1 day if left out. */
  readonly forget?: Duration | undefined
}

/** The same, read; times in ms. */
export interface BanTerms {
  readonly after: number
  readonly withinMs: number
  readonly firstMs: number
  readonly growth: number
  readonly longestMs: number
  readonly forgetMs: number
}

const minute = 60_000
const day = 86_400_000

/** No time may be longer: ten years, for which every store keeps a key. */
const longestSpanMs = 3650 * day

function spanOr(usualMs: number) {
  return (option: string, value: unknown) => span(option, value ?? usualMs)
}

function span(option: string, value: unknown): number {
  const spanMs = durationMs(`ban.${option}`, value)
  if (spanMs <= longestSpanMs) return spanMs
  throw badOption(
    `ban.${option}`,
    value,
    "the longest is ten years, '3650d'; `block(key, Infinity)` has no end"
  )
}

const banOptions = {
  after: {
    read: (option: string, value: unknown) => wholeNumber(`ban.${option}`, value, 1),
    isRequired: true
  },
  within: { read: spanOr(10 * minute) },
  for: { read: span, isRequired: true },
  growth: { read: growthOf },
  max: { read: (option: string, value: unknown) => (value === undefined ? undefined : span(option, value)) },
  forget: { read: spanOr(day) }
} as const satisfies TableOf<BanOptions>

function growthOf(option: string, value: unknown = 1): number {
  if (typeof value === 'number' && value >= 1 && value <= 1000) return value
  throw badOption(
    `ban.${option}`,
    value,
    'give a number from 1 to 1000, such as 2 for bans twice as long each time'
  )
}

/**
 * Reads the setting `ban`; null if it is left out.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function readBan(option: string, value: unknown): BanTerms | null {
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw badOption(option, value, "give { after, for }, such as { after: 5, within: '10m', for: '1h' }")
  checkNames(value, banOptions, '`ban`')
  const read = readOptions(banOptions, value)
  checkGrowth(value, read)
  const longestMs = read.max ?? Math.max(30 * day, read.for)
  const { after, within: withinMs, for: firstMs, growth, forget: forgetMs } = read
  return { after, withinMs, firstMs, growth, longestMs, forgetMs }
}

function checkGrowth(given: Partial<BanOptions>, read: ReadBy<typeof banOptions>): void {
  if (read.growth === 1)
    for (const name of ['max', 'forget'] as const)
      if (given[name] !== undefined)
        throw badOption(
          `ban.${name}`,
          given[name],
          'it is about bans that grow, and these do not: give `growth` as well, or leave it out'
        )
  if (read.max !== undefined && read.max < read.for)
    throw badOption(
      'ban.max',
      given.max,
      'it is shorter than `for`, the first ban: give one at least as long'
    )
}
