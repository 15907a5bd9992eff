import { AsyncPolicyLimiter, type Taken } from '../../src/core/async-limiter.js'
import { type BuiltLimiter, buildLimiter, type LimiterOptions } from '../../src/core/limiter-options.js'
import { type AsyncStore, type Clock, type Decision, memoryStore, type Store } from '../../src/index.js'

/**
 * Gives an empty store each time. One outside of the process goes by `clock` instead of its own; for one inside, that
 * is the limiters' matter.
 */
export type MakeStore = (clock: Clock) => Store | AsyncStore

/** A clock that stands where it was put. */
export interface ManualClock {
  time: number
}

/** A store, and the clock that it goes by with all its limiters. */
export interface ClockedStore {
  readonly store: Store | AsyncStore
  readonly clock: ManualClock
}

/** What leaves the store and the clock to the test. */
export type Suited = LimiterOptions & { readonly store?: never; readonly now?: never }

/** An empty store on a clock that stands at `time`. */
export function clockedStore(makeStore: MakeStore, time: number): ClockedStore {
  const clock = { time }
  return { store: makeStore(() => clock.time), clock }
}

export function limiterIn({ store, clock }: ClockedStore, options: Suited): BuiltLimiter {
  const now = 'openAsync' in store ? undefined : () => clock.time
  return buildLimiter({ ...options, store, now } as LimiterOptions, memoryStore)
}

/** Decides a request under limits that were computed for it. */
export async function takeUnder(
  limiter: BuiltLimiter,
  limits: readonly unknown[],
  key: string,
  cost: number
): Promise<Taken> {
  const policies = limiter.withLimits(limits)
  if (limiter instanceof AsyncPolicyLimiter) return limiter.take(key, cost, policies)
  const at = limiter.now()
  const decision = limiter.take(key, cost, at, policies)
  return { decision, at, isBlocked: limiter.wasBlocked }
}

/** Decides a request of `cost` units; 0 is a look. */
export async function askFor(limiter: BuiltLimiter, cost: number, key = 'key'): Promise<Decision> {
  return cost === 0 ? limiter.peek(key) : limiter.consume(key, cost)
}
