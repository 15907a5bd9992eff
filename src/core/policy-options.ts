import { type Adaptive, type AdaptiveOptions, readAdaptive } from './adaptive/read-adaptive.js'
import { windowMsOf } from './calendar/calendar-options.js'
import type { CalendarUnit, Weekday } from './calendar/periods.js'
import { type DelayOptions, readDelay } from './delay.js'
import { type Duration, durationMs } from './duration.js'
import { badOption, type Option, type OptionTable, type TableOf } from './options.js'
import { oneOf, wholeNumber } from './readers.js'
import { strategyOf } from './registry.js'
import type { Strategy } from './strategy.js'

/** The names of the built-in strategies; names given to `defineStrategy` count as well. */
export type StrategyName =
  | 'fixed-window'
  | 'sliding-window'
  | 'sliding-log'
  | 'token-bucket'
  | 'gcra'
  | 'leaky-bucket'
  | (string & {})

/** The options of one policy, as they are written: so many units in a window, or so many requests in flight. */
export type PolicyOptions = WindowOptions | ConcurrencyOptions

/** A policy that counts what begins in a window of time. */
export interface WindowOptions extends StrategyOptions {
  /** What headers and problem details call it: printable ASCII. `default` if left out. */
  readonly name?: string | undefined
  /** Units per window, a positive whole number; `Infinity` only beside `delay`: then nothing is denied. */
  readonly limit: number
  /** Length of the window: ms, or a text such as `'1m'`. Or `'day'`, `'week'`, `'month'`, `'year'`: those of the calendar. */
  readonly window: Duration | CalendarUnit
  /** Whose calendar: a name of the IANA time zone database, such as `'Europe/Berlin'`; `'UTC'` if left out. */
  readonly timeZone?: string | undefined
  /**
   * With which day a month begins, 1 to 31, where it is shorter with its last; or a week, `'monday'` to `'sunday'`. 1 and
   * `'monday'` if left out.
   */
  readonly startsOn?: number | Weekday | undefined
  /** An algorithm by name or as an object; `'fixed-window'` if left out. */
  readonly strategy?: StrategyName | Strategy | undefined
  /** Holds what is over `after` in the window, longer each time: `{ after: 5, step: '500ms', max: '20s' }`. */
  readonly delay?: DelayOptions | undefined
  readonly concurrency?: undefined
  readonly queue?: undefined
  readonly maxWait?: undefined
}

/** A policy that counts what is in flight: admitted, and not released yet. */
export interface ConcurrencyOptions {
  /** What headers and problem details call it: printable ASCII. `default` if left out. */
  readonly name?: string | undefined
  /**
   * How many units may be in flight at once, for each key: a positive whole number. Or how that number is to be found, such
   * as `{ adaptive: 'gradient' }`: then it is of all keys together, in this process.
   */
  readonly concurrency: number | AdaptiveOptions
  /** How many requests of each key may wait for a permit; 0, nobody, if left out. */
  readonly queue?: number | undefined
  /** How long one of them waits at the most; 1 s if left out. */
  readonly maxWait?: Duration | undefined
  readonly limit?: undefined
  readonly window?: undefined
  readonly timeZone?: undefined
  readonly startsOn?: undefined
  readonly strategy?: undefined
  readonly delay?: undefined
  readonly burst?: undefined
  readonly align?: undefined
  readonly delayAfter?: undefined
}

/** Policy options that only some strategies accept: each strategy lists its own in `accepts`. */
export interface StrategyOptions {
  /** Capacity of a token bucket or gcra (`limit` if left out); waiting places of a leaky bucket (0 if left out). */
  readonly burst?: number | undefined
  /** Whether fixed windows follow the clock (the default) or begin at a key's first admitted request. */
  readonly align?: 'clock' | 'first-request' | undefined
  /** How many waiting places of a leaky bucket are not held back; 0 if left out. */
  readonly delayAfter?: number | undefined
}

/** A policy option that only some strategies accept. Its reader also gets the strategy, and never gets undefined. */
export interface StrategyOption<T> extends Option<T, Strategy> {
  readonly read: (option: string, value: unknown, strategy: Strategy) => T
  /**
   * The value that means the same as leaving it out. It distinguishes the rules of policies, which decide whether two of
   * them may share a name. Not needed if the capacity already follows from the option.
   */
  readonly unset?: T
  /** Its value for one of several processes that divide a limit among them; unchanged if left out. */
  readonly part?: (value: T, share: number, strategy: Strategy) => T
}

type StrategyOptionTable = {
  readonly [Name in keyof StrategyOptions]-?: StrategyOption<NonNullable<StrategyOptions[Name]>>
}

const alignment = oneOf(['clock', 'first-request'], "give 'clock' or 'first-request'")

/** How those are read. A new option is an entry here and a field above. */
export const strategyOptions: StrategyOptionTable = {
  burst: {
    read: (option, value, strategy) => wholeNumber(option, value, leastBurst(strategy)),
    part: (burst, share, strategy) => {
      const least = leastBurst(strategy)
      return partOf(burst + 1 - least, share) - 1 + least
    }
  },
  align: { read: (option, value) => alignment(option, value)!, unset: 'clock' },
  delayAfter: { read: (option, value) => wholeNumber(option, value, 0), unset: 0 }
}

/** A leaky bucket may have no waiting places; other capacities are at least 1. */
function leastBurst(strategy: Strategy): number {
  return strategy.shapes ? 0 : 1
}

/** A part of so many units, rounded down, but at least 1. */
export function partOf(units: number, share: number): number {
  return Math.max(1, Math.floor(units * share))
}

/** The options of a policy with a window. */
const windowOptions = {
  limit: {
    read: (option: string, value: unknown) => wholeNumber(option, value, 1),
    isRequired: true
  },
  window: { read: windowMsOf, isRequired: true },
  // What they mean depends on the window: `readCalendar` reads them.
  timeZone: { dependsOn: ['window'] },
  startsOn: { dependsOn: ['window'] },
  strategy: { read: (_option: string, value: unknown) => strategyOf(value ?? 'fixed-window') },
  delay: { read: readDelay },
  ...strategyOptions
} as const satisfies OptionTable

/** The options of a policy that counts what is in flight. */
export const concurrencyOptions = {
  concurrency: { read: concurrencyOf, isRequired: true },
  queue: {
    read: (option: string, value: unknown) => (value === undefined ? 0 : wholeNumber(option, value, 0))
  },
  maxWait: { read: maxWaitOf, dependsOn: ['queue'] }
} as const satisfies OptionTable

/** All options of one policy. */
export const policyOptions = {
  name: {
    read: (_option: string, value: unknown) => checkPolicyName(value ?? 'default')
  },
  ...windowOptions,
  ...concurrencyOptions
} as const satisfies TableOf<PolicyOptions>

/** What of some options only policies with a window have, and what only those that count what is in flight. */
export function kindsIn(options: object): {
  readonly window: readonly string[]
  readonly inFlight: readonly string[]
} {
  const given = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  return {
    window: given.filter((name) => Object.hasOwn(windowOptions, name)),
    inFlight: given.filter((name) => Object.hasOwn(concurrencyOptions, name))
  }
}

function concurrencyOf(option: string, value: unknown): number | Adaptive {
  return typeof value === 'object' && value !== null
    ? readAdaptive(option, value)
    : wholeNumber(option, value, 1)
}

/** How long one waits in a queue unless said otherwise, ms. */
const usualWaitMs = 1000

function maxWaitOf(option: string, value: unknown): number {
  const waitMs = value === undefined ? usualWaitMs : durationMs(option, value)
  if (waitMs <= longestWaitMs) return waitMs
  throw badOption(option, value, 'nobody waits for longer than 24 days; give less')
}

/** The longest that a timer of Node can wait, ms. */
const longestWaitMs = 2 ** 31 - 1

/** The names of the policy options that only some strategies accept. */
export const strategyOptionNames = Object.keys(strategyOptions) as (keyof StrategyOptions)[]

/**
 * Reads the policy options that only some strategies accept.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`, also for one that the strategy has no meaning for
 */
export function readStrategyOptions(options: StrategyOptions, strategy: Strategy): StrategyOptions {
  const read: Record<string, unknown> = {}
  for (const name of strategyOptionNames)
    if (options[name] !== undefined) read[name] = strategyOptions[name].read(name, options[name], strategy)
  for (const name of Object.keys(read) as (keyof StrategyOptions)[])
    if (!strategy.accepts?.includes(name))
      throw badOption(
        name,
        read[name],
        `strategy '${strategy.name}' has no meaning for it; leave it out${insteadOf(name)}`
      )
  if (read.delayAfter !== undefined && read.delayAfter !== 0 && options.burst === undefined)
    throw badOption(
      'delayAfter',
      read.delayAfter,
      'without `burst` nothing waits; give both, or leave it out'
    )
  return read
}

/** What somebody may have meant who comes from express-slow-down. */
function insteadOf(name: keyof StrategyOptions): string {
  return name === 'delayAfter' ? ", or slow requests down by `delay: { after, step: '500ms' }`" : ''
}

/**
 * A policy name as the headers can carry it: draft-ietf-httpapi-ratelimit-headers-11 §3, RFC 9651 §3.3.3.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`
 */
export function checkPolicyName(name: unknown): string {
  if (typeof name === 'string' && /^[\x20-\x7e]{1,1024}$/.test(name)) return name
  throw badOption('name', name, 'a policy name is 1 to 1024 characters of printable ASCII')
}
