import { AsyncPolicyLimiter } from './async-limiter.js'
import type { AsyncStore } from './async-store.js'
import { type BanOptions, readBan } from './bans/ban-terms.js'
import { checkBeside, openAsyncBans, openBans } from './bans/open-bans.js'
import { type Clock, monotonicClock } from './clock.js'
import { type Duration, durationMs } from './duration.js'
import { PolicyLimiter } from './limiter.js'
import { badOption, type ReadBy, type TableOf } from './options.js'
import { countsInFlight } from './permit-buckets.js'
import type { Policy } from './policy.js'
import { flag } from './readers.js'
import type { Owner, Store } from './store.js'

/** The options of every limiter other than its policies. */
export interface CommonSettings {
  /** Where state lives; a memory store of its own if left out. */
  readonly store?: Store | AsyncStore | undefined
  /** Clock in whole ms since the epoch. The default never goes back. Stores outside the process have their own. */
  readonly now?: Clock | undefined
  /**
   * Charge denied requests too, up to what is left, so that a client that keeps hammering stays out. Default false. On a
   * fixed window a denied request of cost 1 finds nothing left, so that only `block` keeps its client out.
   */
  readonly countDenied?: boolean | undefined
  /** How long a denied key stays blocked; at least as long as the wait that its policy gives. */
  readonly block?: Duration | undefined
  /** Bans keys that are denied again and again: blocks them for a time of its own, longer on each repeat. */
  readonly ban?: BanOptions | undefined
}

/** How those are read. `store` and `now` belong together: `openLimiter` reads them. */
export const commonOptions = {
  store: {},
  now: {},
  countDenied: { read: flag },
  block: {
    read: (option: string, value: unknown) => (value === undefined ? 0 : durationMs(option, value)),
    dependsOn: ['ban']
  },
  // Whoever has either of them does not inherit the other.
  ban: { read: readBan, dependsOn: ['block'] }
} as const satisfies TableOf<CommonSettings>

/** Either kind of limiter. */
export type BuiltLimiter = PolicyLimiter | AsyncPolicyLimiter

/** What a limiter is opened with. */
export interface Opening extends ReadBy<typeof commonOptions> {
  readonly policies: readonly Policy[]
  /** True if the user has named every policy. */
  readonly named: boolean
  readonly owner: Owner
  readonly store: unknown
  readonly now: unknown
  /** What else its options ask of a store outside the process. */
  readonly settings: object
}

/**
 * Opens a limiter in its store.
 * @throws HeadgateError for what is no store or no clock, and what the store throws
 */
export function openLimiter({ store, now, block: blockMs, settings, ...opening }: Opening): BuiltLimiter {
  const asked = { ...opening, blockMs }
  checkBeside(asked)
  if (isAsync(store)) {
    if (asked.policies.some(({ adaptive }) => adaptive !== null))
      throw badOption(
        'store',
        store,
        'a limit that finds itself (`concurrency: { adaptive }`) is of one process: give it a limiter of its own, with `store: memoryStore()`'
      )
    const line = asked.policies.find(({ queue }) => queue > 0)
    if (line !== undefined && asked.countDenied)
      throw badOption(
        'queue',
        line.queue,
        'with `countDenied` such a store would charge whoever waits each time that it looks for a permit; leave one of them out'
      )
    if (now !== undefined)
      throw badOption('now', now, "the store has a clock of its own, the server's; leave it out")
    const buckets = store.openAsync({ ...asked, settings })
    checkRelease(store, buckets, asked.policies)
    const bans = openAsyncBans(store, asked, buckets)
    return new AsyncPolicyLimiter(asked.policies, buckets, { ...asked, bans })
  }
  if (typeof (store as Store | null)?.open !== 'function')
    throw badOption('store', store, 'give a store such as memoryStore()')
  const clock = clockOf(now)
  const buckets = (store as Store).open(asked)
  checkRelease(store, buckets, asked.policies)
  const bans = openBans(store as Store, asked, buckets)
  return new PolicyLimiter({ ...asked, buckets, bans, now: clock })
}

/** Refuses to count in flight what a store of the user's could never take back. */
function checkRelease(
  store: unknown,
  buckets: { readonly release?: unknown },
  policies: readonly Policy[]
): void {
  if (policies.some(countsInFlight) && buckets.release === undefined)
    throw badOption(
      'store',
      store,
      'it cannot count what is in flight (`concurrency`): its buckets have no `release`'
    )
}

/** True for a store outside the process. */
export function isAsync(store: unknown): store is AsyncStore {
  return typeof (store as AsyncStore | null)?.openAsync === 'function'
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
