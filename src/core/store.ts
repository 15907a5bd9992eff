import type { WorkResult } from './adaptive/adaptive-limit.js'
import type { Policy } from './policy.js'
import type { Action, Verdict } from './verdict.js'

/** Who owns the buckets if they are not shared by name. Two limiters with the same owner may count together. */
export interface Owner {
  /** False where the buckets are the owner's alone, whatever the policies are named. */
  readonly mayShare: boolean
  /** Identifies the owner in every process, such as the route that is limited. */
  readonly place?: string
  /** What limiters must have in common beside the names in order to count together; if left out, nothing. */
  readonly group?: string
  /** What error messages call it. */
  readonly label?: string
  /** True where it may go while its store stays: what its limiters have counted by name need not be kept without them. */
  readonly mayGo?: boolean
}

/** What a store is asked to count for one limiter. */
export interface BucketsOptions {
  /** The tiers, decided together on one key. */
  readonly policies: readonly Policy[]
  /** True where every policy was named by the user: limiters of one store and name then share their buckets. */
  readonly named: boolean
  /** Who owns them; if left out, this limiter alone. */
  readonly owner?: Owner
}

/** A part of a list of blocked keys. */
export interface BlockPage {
  /** The `next` of the page before; null for the first. */
  readonly after: string | null
  /** How many are wanted. */
  readonly limit: number
}

/** A key that is blocked, as the store keeps it: a long one may be a hash. */
export interface Blocked {
  readonly key: string
  /** For how long, ms; `Infinity` until it is reset. */
  readonly remainingMs: number
}

/** Keys that were found; `next` is null at the end. */
export interface BlocksFound {
  readonly blocks: readonly Blocked[]
  readonly next: string | null
}

/** Where buckets live. Each limiter opens its own in it. */
export interface Store {
  /** @throws HeadgateError `HEADGATE_POLICY_CLASH` where a name of this store already has another rule */
  open(options: BucketsOptions): Buckets
  /** Forgets all keys of all its limiters, blocks included: for tests, and for whoever starts anew. */
  clear(): void
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
  /** Forgets all keys, their blocks included. What was charged before is not given back later. */
  clear(): void
  /**
   * Denies a key until `now + blockMs`, whatever its policies say; `Infinity` until it is reset. What it owes goes on
   * being paid back. Returns false, and blocks nothing, if as many keys are blocked as the store may hold.
   * @param isLeast true if a longer block that the key has is to stay
   */
  block(key: string, blockMs: number, now: number, isLeast?: boolean): boolean
  /** Lists keys that are blocked at `now`. Left out where that is not known. */
  blocks?(page: BlockPage, now: number): BlocksFound
  /**
   * Gives back permits that a decision took: `permit` is what its verdict knows them by. Left out where policies count
   * nothing in flight.
   */
  release?(key: string, permit: number, cost: number, result: WorkResult): void
  /** Calls back with the key whenever permits are released, for whoever waits for them. */
  onRelease?(listener: (key: string) => void): void
  /** True where others may release permits without `onRelease` telling. */
  readonly releasesUnseen?: boolean
  /** How many keys owe something at `now`. Counts them one by one, so use it in tests and dashboards, not per request. */
  size(now: number): number
}
