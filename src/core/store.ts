import type { Policy } from './policy.js'
import type { Action, Verdict } from './verdict.js'

/** Whose buckets they are, where they are not shared by name. Two limiters of one owner may count together. */
export interface Owner {
  /** False where the buckets are the owner's alone, whatever the policies are named. */
  readonly mayShare: boolean
  /** What tells the owner from others in every process, such as the route that is limited. */
  readonly place?: string
}

/** What a store is asked to count for one limiter. */
export interface BucketsOptions {
  /** The tiers, decided together on one key. */
  readonly policies: readonly Policy[]
  /** True where every policy was named by the user: limiters of one store and name then share their buckets. */
  readonly named: boolean
  /** Whose they are; the limiter's alone, if nothing is said. */
  readonly owner?: Owner
}

/** Where state lives. A limiter opens its own buckets in it. */
export interface Store {
  /** @throws HeadgateError `HEADGATE_POLICY_CLASH` where a name of this store already has another rule */
  open(options: BucketsOptions): Buckets
}

/**
 * The buckets of one limiter. Keys are non-empty texts, costs positive whole numbers, times whole ms; the limiter has
 * checked them. `policies` are the ones that the buckets were opened with, or the same with other limits.
 */
export interface Buckets {
  /** Decides all tiers and charges all or none. An allowed tier's wait is 0. */
  decide(action: Action, key: string, cost: number, now: number, policies: readonly Policy[]): Verdict
  /** Gives back units that were charged at `chargedAt`. */
  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void
  /** Forgets a key, its block included. */
  reset(key: string): void
  /**
   * Denies a key until `now + blockMs`, whatever its policies say; `Infinity` until it is reset. What it owes goes on
   * being paid back. False if there are as many blocked keys as there may be keys, and it is not blocked.
   */
  block(key: string, blockMs: number, now: number): boolean
  /** Keys that owe something at `now`, counted one by one: for tests and dashboards, not for each request. */
  size(now: number): number
}
