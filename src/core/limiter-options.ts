import { AsyncPolicyLimiter } from './async-limiter.js'
import type { AsyncBucketsOptions, AsyncStore } from './async-store.js'
import { type Clock, monotonicClock } from './clock.js'
import { type Duration, durationMs } from './duration.js'
import { PolicyLimiter } from './limiter.js'
import { badOption, checkNames } from './options.js'
import {
  checkUnique,
  definePolicy,
  type Policy,
  type PolicyOptions,
  policyOptionNames,
  tierName,
  wholeNumber
} from './policy.js'
import type { Owner, Store } from './store.js'
import type { OnStoreError } from './verdict.js'

/** What limiters have beside their policies. */
export interface LimiterSettings {
  /** Where state lives; a memory store of its own if left out. */
  readonly store?: Store | AsyncStore | undefined
  /** Clock in whole ms since the epoch. The default never steps. Stores outside of the process have their own. */
  readonly now?: Clock | undefined
  /** Charge denied requests too, as far as anything is left: whoever hammers stays out. Default false. */
  readonly countDenied?: boolean | undefined
  /** Block a key for this long when it is denied, beyond the wait that its policy gives. */
  readonly block?: Duration | undefined
  /**
   * What becomes of requests while a store outside of the process fails: `'allow'` and `'deny'` all, or count them
   * here (`'local'`). The store's own setting, if left out.
   */
  readonly onStoreError?: OnStoreError | undefined
  /** This process's part of every limit under `'local'`: 1 / N where N processes share the limit. */
  readonly share?: number | undefined
  /**
   * Units that a store outside of the process is charged at once for a key that is asked for often, and that are then
   * spent here without asking it. N processes may then admit up to N · lease more than the limit of anything but
   * fixed windows, which they never exceed.
   */
  readonly lease?: number | undefined
}

/** Several policies on the same key, decided all or nothing. */
export interface TierOptions extends LimiterSettings {
  readonly limits: readonly PolicyOptions[]
}

/** The options of `createLimiter`: one policy, or `limits` for several. */
export type LimiterOptions = (PolicyOptions & LimiterSettings & { readonly limits?: undefined }) | TierOptions

/** The names of the options that limiters have beside their policies. */
export const limiterSettingNames = [
  'store',
  'now',
  'countDenied',
  'block',
  'onStoreError',
  'share',
  'lease'
] as const

/** Either kind of limiter. */
export type BuiltLimiter = PolicyLimiter | AsyncPolicyLimiter

/**
 * Reads the options into a limiter whose state lives in `fallback()` unless they name a store.
 * @throws HeadgateError that names the option, the value and the fix
 */
export function buildLimiter(
  options: LimiterOptions & { readonly store?: Store | undefined },
  fallback: () => Store,
  owner?: Owner
): PolicyLimiter
export function buildLimiter(options: LimiterOptions, fallback: () => Store, owner?: Owner): BuiltLimiter
export function buildLimiter(
  options: LimiterOptions,
  fallback: () => Store,
  owner: Owner = { mayShare: true }
): BuiltLimiter {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, "give an object such as { limit: 100, window: '1m' }")
  const own = options.limits === undefined ? policyOptionNames : (['limits'] as const)
  if (options.limits !== undefined) checkTierless(options)
  checkNames(options, [...own, ...limiterSettingNames], 'a limiter')
  const written = options.limits === undefined ? [policyPart(options)] : tiersOf(options.limits)
  const policies = written.map((tier) => definePolicy(tier))
  checkUnique(policies)
  const named = owner.mayShare && (options.limits ?? [options]).every((tier) => tier.name !== undefined)
  const asked = { ...askedOf(options, policies), policies, named, owner }
  const store: unknown = options.store ?? fallback()
  if (isAsync(store)) {
    if (options.now !== undefined)
      throw badOption('now', options.now, "the store has a clock of its own, the server's; leave it out")
    return new AsyncPolicyLimiter(policies, store.openAsync(asked), asked)
  }
  if (typeof (store as Store | null)?.open !== 'function')
    throw badOption('store', store, 'give a store such as memoryStore()')
  const now = clockOf(options.now)
  return new PolicyLimiter({ ...asked, buckets: (store as Store).open(asked), now })
}

function isAsync(store: unknown): store is AsyncStore {
  return typeof (store as AsyncStore | null)?.openAsync === 'function'
}

/** What the options ask of a store, whichever it is. */
function askedOf(
  { countDenied, block, onStoreError, share, lease }: LimiterSettings,
  policies: readonly Policy[]
): Omit<AsyncBucketsOptions, 'policies' | 'named' | 'owner'> {
  const asked = {
    countDenied: flag('countDenied', countDenied),
    blockMs: block === undefined ? 0 : durationMs('block', block),
    onStoreError: checkOnStoreError(onStoreError),
    share: checkShare(share),
    lease: lease === undefined ? undefined : wholeNumber('lease', lease, 1)
  }
  if (lease !== undefined) checkLease(lease, policies, asked.countDenied)
  return asked
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for anything but 'allow', 'deny', 'local' or undefined */
export function checkOnStoreError(value: OnStoreError | undefined): OnStoreError | undefined {
  if (value === undefined || value === 'allow' || value === 'deny' || value === 'local') return value
  throw badOption('onStoreError', value, "give 'allow', 'deny' or 'local'")
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for anything but a part of one, or undefined */
export function checkShare(value: number | undefined): number | undefined {
  if (value === undefined || (typeof value === 'number' && value > 0 && value <= 1)) return value
  throw badOption('share', value, 'give 1 divided by the number of processes that share the limit')
}

function checkLease(lease: number, policies: readonly Policy[], countDenied: boolean): void {
  if (countDenied)
    throw badOption(
      'lease',
      lease,
      'denied requests that are to be charged must reach the store; leave it out'
    )
  for (const { name, capacity, strategy } of policies) {
    if (strategy.shapes)
      throw badOption(
        'lease',
        lease,
        `strategy '${strategy.name}' of policy '${name}' paces single requests; leave it out`
      )
    if (lease > capacity)
      throw badOption(
        'lease',
        lease,
        `policy '${name}' admits at most ${capacity} at once; lease a small part of that`
      )
  }
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
