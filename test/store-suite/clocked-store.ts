import { decisionOf } from '../../src/core/decision.js'
import type { BuiltLimiter } from '../../src/core/limiter-options.js'
import type { Verdict } from '../../src/core/verdict.js'
import { type AsyncStore, type Clock, type Decision, memoryStore, type Store } from '../../src/index.js'
import { buildLimiter, type LimiterOptions } from '../../src/limiter/options.js'

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
  if ('openAsync' in store) return buildLimiter({ ...inText(options), store } as LimiterOptions, memoryStore)
  return buildLimiter({ ...options, store, now: () => clock.time } as LimiterOptions, memoryStore)
}

/** Short times as text, as numbers would be warned of where the clock is not the test's. */
function inText(options: object): object {
  const texts = Object.entries(options).map(([name, value]) => {
    if (name === 'limits') return [name, (value as object[]).map(inText)]
    return [name, (name === 'window' || name === 'block') && typeof value === 'number' ? `${value}ms` : value]
  })
  return Object.fromEntries(texts)
}

/** What a verdict says to those who asked. */
export interface Told {
  readonly decision: Decision
  readonly at: number
  readonly charged: number
  readonly isBlocked: boolean
}

export function told(verdict: Verdict, canDelay: boolean): Told {
  const { at, charged, isBlocked } = verdict
  return { decision: decisionOf(verdict, canDelay), at, charged, isBlocked }
}

/** Decides a request under limits that were computed for it. */
export async function takeUnder(
  limiter: BuiltLimiter,
  limits: readonly unknown[],
  key: string,
  cost: number
): Promise<Told> {
  return told(await limiter.take(key, cost, limiter.withLimits(limits)), true)
}

/** Decides a request of `cost` units; 0 is a look. */
export async function askFor(limiter: BuiltLimiter, cost: number, key = 'key'): Promise<Decision> {
  return cost === 0 ? limiter.peek(key) : limiter.consume(key, cost)
}
