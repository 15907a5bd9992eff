import type { WorkResult } from './adaptive/adaptive-limit.js'
import type { Policy } from './policy.js'
import type { BlockPage, BlocksFound, BucketsOptions, Owner } from './store.js'
import type { Action, PartReceipt, Source, Verdict } from './verdict.js'

/** What a limiter asks of a store that is not in its process. */
export interface AsyncBucketsOptions extends BucketsOptions {
  readonly owner: Owner
  readonly countDenied: boolean
  /** How long a key is blocked when it is denied, ms; 0 for not at all. */
  readonly blockMs: number
  /** What else the limiter's options ask of it, read. */
  readonly settings: object
}

/** A store outside the process: it answers with promises, by a clock of its own, and may fail. */
export interface AsyncStore {
  /** @throws HeadgateError for policies that it cannot count, or cannot tell from another limiter's */
  openAsync(options: AsyncBucketsOptions): AsyncBuckets
}

/** A charge that may be given back: when it was made, and where. */
export interface Receipt {
  readonly at?: number | undefined
  readonly source: Source
  /** The charges of each limiter, where several have decided together. */
  readonly receipts?: readonly PartReceipt[] | undefined
}

/** What one limiter is to take of what several take together: see `AsyncBuckets.decide`. */
export interface JointTake {
  readonly buckets: AsyncBuckets
  readonly action: Action
  readonly key: string
  readonly cost: number
  readonly policies: readonly Policy[]
}

/**
 * The buckets of one limiter in such a store. Keys, costs and times are as for `Buckets`. Decisions never
 * reject because the store failed; `refund`, `reset`, `clear` and `block` do, with `HEADGATE_STORE_FAILED`.
 */
export interface AsyncBuckets {
  /** Decides all tiers, and charges all or none. */
  decide(action: Action, key: string, cost: number, policies: readonly Policy[]): Verdict | Promise<Verdict>
  /** Gives back units; those of a window that has ended are gone with it. */
  refund(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void>
  /**
   * Decides about keys each of which has buckets of its own in this store, these among them, in one step: all are charged, or
   * none. Of one that is admitted and was not charged, as another was denied, the verdict has `charged` 0. null where it cannot.
   */
  takeTogether?(parts: readonly JointTake[]): Promise<readonly Verdict[]> | null
  reset(key: string): Promise<void>
  /** Forgets all keys, their blocks included. */
  clear(): Promise<void>
  /**
   * Gives back permits that a decision took: `permit` is what its verdict knows them by. It does not wait for the store. Left
   * out where policies count nothing in flight.
   */
  release?(key: string, permit: number, cost: number, result: WorkResult): void
  /**
   * Denies a key for `blockMs` from now, `Infinity` until it is reset.
   * @param isLeast true if a longer block that the key has is to stay
   */
  block(key: string, blockMs: number, isLeast?: boolean): Promise<void>
  /** Lists keys that are blocked: about as many as are asked for, in steps. Left out where that is not known. */
  blocks?(page: BlockPage): Promise<BlocksFound>
  /** True for permits that are held and that the store had forgotten. */
  isPermitLost?(permit: number): boolean
}
