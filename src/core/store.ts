import type { Policy } from './policy.js'

/** What a decision does with the cost: look only, charge what is admitted, or charge whatever is left. */
export const Charge = { none: 0, admitted: 1, always: 2 } as const
export type Charge = (typeof Charge)[keyof typeof Charge]

/** How a decision ended. A blocked key is denied without a look at its policies. */
export const Verdict = { denied: 0, admitted: 1, blocked: 2 } as const
export type Verdict = (typeof Verdict)[keyof typeof Verdict]

/** Whose counters they are, where they are not shared by name. Two limiters of one owner may count together. */
export interface Owner {
  /** False where the counters are the owner's alone, whatever the policies are named. */
  readonly mayShare: boolean
  /** What tells the owner from others in every process, such as the route that is limited. */
  readonly place?: string
}

/** What a store is asked to count for one limiter. */
export interface CountersOptions {
  /** The tiers, decided together on one key. */
  readonly policies: readonly Policy[]
  /** True where every policy was named by the user: limiters of one store and name then share their counters. */
  readonly named: boolean
  /** Whose they are; the limiter's alone, if nothing is said. */
  readonly owner?: Owner
}

/** Where state lives. A limiter opens its own counters in it. */
export interface Store {
  /** @throws HeadgateError `HEADGATE_POLICY_CLASH` where a name of this store already has another rule */
  open(options: CountersOptions): Counters
}

/**
 * The counters of one limiter. Keys are non-empty texts, costs positive whole numbers, times whole ms; the
 * limiter has checked them.
 */
export interface Counters {
  /** What the last decision answered, a tier each (see `Answer`). Overwritten by the next. */
  readonly answers: readonly Float64Array[]
  /**
   * Decides all tiers and charges all or none. `policies` are the ones that the counters were opened with, or
   * the same with other limits. An answer whose wait is 0 is of a tier that admits.
   */
  decide(key: string, cost: number, now: number, policies: readonly Policy[], charge: Charge): Verdict
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
