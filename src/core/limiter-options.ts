import { type Clock, monotonicClock } from './clock.js'
import { type Duration, durationMs } from './duration.js'
import { PolicyLimiter } from './limiter.js'
import { badOption, checkNames } from './options.js'
import { checkUnique, definePolicy, type PolicyOptions, policyOptionNames, tierName } from './policy.js'
import type { Store } from './store.js'

/** What limiters have beside their policies. */
export interface LimiterSettings {
  /** Where state lives; a memory store of its own if left out. */
  readonly store?: Store | undefined
  /** Clock in whole ms since the epoch. The default never steps. */
  readonly now?: Clock | undefined
  /** Charge denied requests too, as far as anything is left: whoever hammers stays out. Default false. */
  readonly countDenied?: boolean | undefined
  /** Block a key for this long when it is denied, beyond the wait that its policy gives. */
  readonly block?: Duration | undefined
}

/** Several policies on the same key, decided all or nothing. */
export interface TierOptions extends LimiterSettings {
  readonly limits: readonly PolicyOptions[]
}

/** The options of `createLimiter`: one policy, or `limits` for several. */
export type LimiterOptions = (PolicyOptions & LimiterSettings & { readonly limits?: undefined }) | TierOptions

/** The names of the options that limiters have beside their policies. */
export const limiterSettingNames = ['store', 'now', 'countDenied', 'block'] as const

/**
 * Reads the options into a limiter whose state lives in `fallback()` unless they name a store. Without `mayShare` it
 * keeps its counters to itself, whatever its policies are named.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function buildLimiter(options: LimiterOptions, fallback: () => Store, mayShare = true): PolicyLimiter {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, "give an object such as { limit: 100, window: '1m' }")
  const own = options.limits === undefined ? policyOptionNames : (['limits'] as const)
  if (options.limits !== undefined) checkTierless(options)
  checkNames(options, [...own, ...limiterSettingNames], 'a limiter')
  const written = options.limits === undefined ? [policyPart(options)] : tiersOf(options.limits)
  const policies = written.map((tier) => definePolicy(tier))
  checkUnique(policies)
  const store = options.store ?? fallback()
  if (typeof store?.open !== 'function') throw badOption('store', store, 'give a store such as memoryStore()')
  const named = mayShare && (options.limits ?? [options]).every((tier) => tier.name !== undefined)
  return new PolicyLimiter({
    policies,
    counters: store.open({ policies, named }),
    now: clockOf(options.now),
    countDenied: flag('countDenied', options.countDenied),
    blockMs: options.block === undefined ? 0 : durationMs('block', options.block)
  })
}

/** Refuses options of one policy beside `limits`. */
export function checkTierless(options: object): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && (policyOptionNames as readonly string[]).includes(name))
      throw badOption(
        name,
        value,
        'it stands beside `limits`: put it inside each of `limits`, or leave `limits` out'
      )
}

/** The part of an options object that is one policy. */
function policyPart(options: PolicyOptions): PolicyOptions {
  const part = Object.entries(options).filter(([name]) =>
    (policyOptionNames as readonly string[]).includes(name)
  )
  return Object.fromEntries(part) as unknown as PolicyOptions
}

function tiersOf(limits: unknown): readonly PolicyOptions[] {
  if (!Array.isArray(limits) || limits.length === 0)
    throw badOption('limits', limits, "give a list of policies such as [{ limit: 10, window: '1s' }]")
  return limits.map((tier: PolicyOptions, i) => {
    if (typeof tier !== 'object' || tier === null)
      throw badOption(`limits[${i}]`, tier, "give a policy such as { limit: 10, window: '1s' }")
    return tier.name === undefined && limits.length > 1
      ? { ...tier, name: tierName(tier.limit, tier.window) }
      : tier
  })
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for a clock that is no function of milliseconds */
function clockOf(now: unknown): Clock {
  if (now === undefined) return monotonicClock
  if (typeof now !== 'function') throw badOption('now', now, 'give a function that returns milliseconds')
  return () => {
    const time = Math.floor(now() as number)
    if (Number.isSafeInteger(time)) return time
    throw badOption('now', time, 'it must return milliseconds since the epoch')
  }
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for anything but true, false or undefined */
export function flag(option: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw badOption(option, value, 'give true or false')
}
