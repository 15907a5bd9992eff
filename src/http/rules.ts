import type { AdaptiveOptions } from '../core/adaptive/read-adaptive.js'
import { isCalendarUnit, windowMsOf } from '../core/calendar/calendar-options.js'
import type { CalendarUnit } from '../core/calendar/periods.js'
import { HeadgateError } from '../core/errors.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import type { Policy } from '../core/policy.js'
import type { ConcurrencyOptions, PolicyOptions, WindowOptions } from '../core/policy-options.js'
import type { Written } from '../core/policy-or-limits.js'
import type { Owner } from '../core/store.js'
import { type LimiterSettings, limiterOpener } from '../limiter/options.js'
import { memoryStore } from '../memory/store.js'
import type { KeyReader } from './key.js'
import { LastRules } from './last-rules.js'
import { LaterBlocks } from './later-blocks.js'
import { gather, isPromiseLike } from './promise.js'

/** A value, or a function of the request that gives it, or a promise of it. */
export type PerRequest<Req, T> = T | ((request: Req) => T | PromiseLike<T>)

/** One policy, whose limit, window and burst, or how much may be in flight, may be computed for each request. */
export type RuleOptions<Req> = WindowRule<Req> | ConcurrencyRule<Req>

/** A policy that counts what begins in a window. */
export type WindowRule<Req> = Omit<WindowOptions, 'limit' | 'window' | 'burst'> & {
  /** Units per window. A function may return 0, which denies, and `Infinity`, which admits. */
  readonly limit: PerRequest<Req, number>
  /** Length of the window, or of the calendar. Each that a function returns has counters of its own. */
  readonly window: PerRequest<Req, number | string>
  /** Capacity of a token bucket or gcra, waiting places of a leaky bucket: see `PolicyOptions`. */
  readonly burst?: PerRequest<Req, number> | undefined
}

/** A policy that counts what is in flight. */
export type ConcurrencyRule<Req> = Omit<ConcurrencyOptions, 'concurrency'> & {
  /** How many units may be in flight. A function may return 0, which denies, and `Infinity`, which admits. */
  readonly concurrency: PerRequest<Req, number> | AdaptiveOptions
}

/** What a request is decided by. */
export interface Rules {
  readonly limiter: BuiltLimiter
  readonly policies: readonly Policy[]
  /** Where several limiters decide, each by a key of its own; then the others say what the first of them decides by. */
  readonly parts: readonly RulePart[] | null
}

/** One of several limiters that decide about a request. */
export interface RulePart extends Pick<Rules, 'limiter' | 'policies'> {
  /** null where it is the limiter's `key`. */
  readonly key: KeyReader<never> | null
  /** null where it is the limiter's `cost`. */
  readonly cost: PerRequest<never, number> | null
  /** Where each of its tiers stands among those of all parts. */
  readonly at: readonly number[]
}

/** How many different windows a window function may ask for. */
const maxWindows = 100

/** One of several limiters of a gate, as it was written. */
export interface PartSource<Req> extends Pick<RulePart, 'at'> {
  readonly rules: RuleSource<Req>
  readonly key: KeyReader<Req> | null
  readonly cost: PerRequest<Req, number> | null
}

/** The rules of a gate: fixed, or computed for each request. */
export interface RuleSource<Req> {
  /** The rules of every request; null where they are computed, or where there are parts. */
  readonly fixed: Rules | null
  /** The policies that hold for every request; none where limits are computed, or chosen. */
  readonly policies: readonly Policy[]
  /** Its parts, where each has a key of its own; null where one limiter decides. */
  readonly parts: readonly PartSource<Req>[] | null
  /** A limiter with the same store and clock as all that its requests are decided by. */
  readonly sample: BuiltLimiter
  /** Those that its requests have been decided by until now: one for each length of a window. */
  readonly limiters: readonly BuiltLimiter[]
  forRequest(request: Req): Rules | Promise<Rules>
  /** Remembers by what rules a key was decided. */
  note(key: string, rules: Rules): void
  /** The rules that a key was decided by last; undefined where that is not known. */
  lastFor(key: string): Rules | undefined
  /** Forgets what it remembers of keys. */
  forget(): void
  /** Blocks that are to hold in limiters which are yet to come, too; null where there will be no more. */
  readonly laterBlocks: LaterBlocks | null
}

/**
 * Builds the limiter of a gate.
 * @throws HeadgateError for options that cannot work
 */
export function ruleSource<Req>(
  { tiers, isList }: Written<RuleOptions<Req>>,
  settings: LimiterSettings,
  owner: Owner,
  areNamed = tiers.every(({ name }) => name !== undefined)
): RuleSource<Req> {
  const areLimitsKnown = tiers.every((tier) => typeof limitOf(tier) !== 'function')
  const hasOneWindow = tiers.every((tier) => typeof tier.window !== 'function')
  const open = limiterOpener(settings, memoryStore, {
    ...owner,
    mayShare: owner.mayShare && hasOneWindow
  })
  const build = (windows: readonly unknown[]) =>
    open(
      tiers.map((tier, i) => ({
        ...known(tier, windows[i] as number | string),
        name: tier.name ?? (isList && isComputed(tier) ? `limit-${i + 1}` : undefined)
      })),
      { areLimitsKnown, areNamed }
    )
  if (!tiers.some(isComputed)) {
    const limiter = build(tiers.map((tier) => tier.window))
    const { policies } = limiter
    const fixed = { limiter, policies, parts: null }
    return {
      fixed,
      policies,
      parts: null,
      sample: limiter,
      limiters: [limiter],
      forRequest: () => fixed,
      note() {},
      lastFor: () => fixed,
      forget() {},
      laterBlocks: null
    }
  }
  return new ComputedRules(tiers, build)
}

/** A rule without functions. A limit of 1 stands for one that is not known yet: a key then owes for the longest time. */
function known<Req>(tier: RuleOptions<Req>, window: number | string): PolicyOptions {
  if (tier.concurrency !== undefined)
    return { ...tier, concurrency: typeof tier.concurrency === 'function' ? 1 : tier.concurrency }
  const limit = typeof tier.limit === 'function' ? 1 : tier.limit
  const burst = typeof tier.burst === 'function' ? 1 : tier.burst
  if (typeof tier.window !== 'function') return { ...tier, limit, window, burst }
  return { ...tier, limit, window, burst, ...calendarOf(tier, window) }
}

/** What a rule says of the calendar, as far as it is about the window that a function returned. */
function calendarOf<Req>({ timeZone, startsOn }: WindowRule<Req>, window: number | string) {
  const begins = { month: 'number', week: 'string' }[String(window)]
  return {
    timeZone: isCalendarUnit(window) ? timeZone : undefined,
    startsOn: typeof startsOn === begins ? startsOn : undefined
  }
}

/** What a rule limits by. */
function limitOf<Req>(tier: RuleOptions<Req>): PerRequest<Req, number> | AdaptiveOptions {
  return tier.concurrency ?? (tier.limit as PerRequest<Req, number>)
}

function isComputed<Req>(tier: RuleOptions<Req>): boolean {
  return [limitOf(tier), tier.window, tier.burst].some((value) => typeof value === 'function')
}

class ComputedRules<Req> implements RuleSource<Req> {
  readonly fixed = null
  readonly policies = []
  readonly parts = null
  readonly sample: BuiltLimiter
  readonly laterBlocks: LaterBlocks | null
  readonly #tiers: readonly RuleOptions<Req>[]
  readonly #build: (windows: readonly unknown[]) => BuiltLimiter
  readonly #limiters = new Map<string, BuiltLimiter>()
  readonly #last = new LastRules()

  constructor(tiers: readonly RuleOptions<Req>[], build: (windows: readonly unknown[]) => BuiltLimiter) {
    this.#tiers = tiers
    this.#build = build
    // Everything that can be wrong without a request is found now, not by the first one.
    const windows = tiers.map((tier) => (typeof tier.window === 'function' ? sampleFor(tier) : tier.window))
    this.sample = build(windows)
    const hasOneWindow = tiers.every((tier) => typeof tier.window !== 'function')
    if (hasOneWindow)
      this.#limiters.set(tiers.map((tier, i) => windowOf(tier, windows[i])).join(), this.sample)
    this.laterBlocks = hasOneWindow ? null : new LaterBlocks()
  }

  get limiters(): readonly BuiltLimiter[] {
    return [...this.#limiters.values()]
  }

  note(key: string, rules: Rules): void {
    this.#last.note(key, rules)
  }

  lastFor(key: string): Rules | undefined {
    return this.#last.of(key)
  }

  forget(): void {
    this.#last.clear()
    this.laterBlocks?.clear()
  }

  forRequest(request: Req): Rules | Promise<Rules> {
    const values = gather(
      this.#tiers.flatMap((tier) => {
        const limit = limitOf(tier)
        const { window, burst } = tier
        return [
          () => (typeof limit === 'function' ? limit(request) : undefined),
          () => (typeof window === 'function' ? window(request) : window),
          () => (typeof burst === 'function' ? burst(request) : undefined)
        ]
      })
    )
    return isPromiseLike(values) ? values.then((late) => this.#rules(late)) : this.#rules(values)
  }

  /** `values` are a limit, a window and a burst for each tier in turn. */
  #rules(values: readonly unknown[]): Rules {
    const tiers = this.#tiers
    const limits = tiers.map((tier, i) =>
      computed(limitOf(tier), values[3 * i], tier.concurrency === undefined ? 'limit' : 'concurrency')
    )
    const bursts = tiers.map(({ burst }, i) => computed(burst, values[3 * i + 2], 'burst'))
    const limiter = this.#limiterFor(tiers.map((tier, i) => windowOf(tier, values[3 * i + 1])))
    return { limiter, policies: limiter.withLimits(limits, bursts), parts: null }
  }

  #limiterFor(windows: readonly (number | CalendarUnit)[]): BuiltLimiter {
    const id = windows.join()
    let limiter = this.#limiters.get(id)
    if (!limiter) {
      if (this.#limiters.size >= maxWindows)
        throw new HeadgateError(
          'HEADGATE_BAD_LIMIT',
          `The window function returned more than ${maxWindows} different windows, each with counters of its own: return few.`
        )
      limiter = this.#build(windows)
      this.#limiters.set(id, limiter)
      this.laterBlocks?.carryTo(limiter)
    }
    return limiter
  }
}

/** @throws HeadgateError `HEADGATE_BAD_LIMIT` where a function returned nothing */
function computed(option: unknown, value: unknown, name: string): unknown {
  if (typeof option !== 'function' || value !== undefined) return value
  throw new HeadgateError(
    'HEADGATE_BAD_LIMIT',
    `The ${name} function returned undefined: return a whole number.`
  )
}

/** The window of a rule, in ms, or of the calendar; of what is in flight there is none. */
function windowOf<Req>({ concurrency }: RuleOptions<Req>, window: unknown): number | CalendarUnit {
  if (concurrency !== undefined) return 0
  return isCalendarUnit(window) ? window : windowMs(window)
}

/** A window that stands for those of a function, with which all else that can be wrong is found. */
function sampleFor<Req>({ startsOn, timeZone }: RuleOptions<Req>): number | CalendarUnit {
  if (startsOn !== undefined) return typeof startsOn === 'number' ? 'month' : 'week'
  return timeZone === undefined ? 1000 : 'day'
}

/** @throws HeadgateError `HEADGATE_BAD_LIMIT` for what is no window */
function windowMs(window: unknown): number {
  try {
    return windowMsOf('window', window)
  } catch (error) {
    throw new HeadgateError('HEADGATE_BAD_LIMIT', `A window function: ${(error as Error).message}`)
  }
}
