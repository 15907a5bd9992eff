import type { Policy } from './policy.js'
import type { CountersOptions, Owner, Verdict } from './store.js'

/**
 * Where an answer comes from: the store itself; quota that was charged in it before (`lease`); an earlier denial of
 * it (`cache`); or, as it failed, from this process's own share (`local`), or from nobody who counts (`allow`, `deny`).
 */
export type Source = 'store' | 'lease' | 'cache' | OnStoreError

/** What becomes of requests while the store fails. */
export type OnStoreError = 'allow' | 'deny' | 'local'

/** What a limiter asks of a store that is not in its process. What is undefined, the store decides. */
export interface AsyncCountersOptions extends CountersOptions {
  readonly owner: Owner
  readonly countDenied: boolean
  /** How long a key is blocked when it is denied, ms; 0 for not at all. */
  readonly blockMs: number
  readonly onStoreError: OnStoreError | undefined
  /** This process's part of every limit while the store fails, more than 0 and at most 1. */
  readonly share: number | undefined
  /** Units that are charged at once for a key that is asked for often, and spent here. */
  readonly lease: number | undefined
}

/** A store outside of the process: it answers with promises, by a clock of its own, and may fail. */
export interface AsyncStore {
  /** @throws HeadgateError for what it cannot count, or not apart from another limiter's */
  openAsync(options: AsyncCountersOptions): AsyncCounters
}

/** What was decided, and where. */
export interface Reading {
  readonly verdict: Verdict
  readonly source: Source
  /** The instant of the decision, ms on the store's clock. */
  readonly at: number
  /** Units that were charged in every tier. */
  readonly charged: number
  /** The policies that were decided by, a tier each. */
  readonly policies: readonly Policy[]
  /** What each tier answers: as many numbers as an `Answer` has for one tier, then for the next. */
  readonly answers: ArrayLike<number>
}

/** A charge that may be given back: when it was made, and where. */
export interface Receipt {
  readonly at?: number | undefined
  readonly source: Source
}

/**
 * The counters of one limiter in such a store. Keys, costs and times are as for `Counters`. What decides never rejects
 * for a failure of the store; what changes a key by hand does, with `HEADGATE_STORE_FAILED`.
 */
export interface AsyncCounters {
  /** Decides all tiers, and charges all or none. */
  take(key: string, cost: number, policies: readonly Policy[]): Reading | Promise<Reading>
  peek(key: string, policies: readonly Policy[]): Promise<Reading>
  /** Charges units that are spent already, as far as anything is left. */
  chargeAnyway(key: string, cost: number, policies: readonly Policy[]): Promise<Reading>
  /** Gives back units; those of a window that has ended are gone with it. */
  refund(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void>
  reset(key: string): Promise<void>
  /** Denies a key for `blockMs` from now, `Infinity` until it is reset. */
  block(key: string, blockMs: number): Promise<void>
}
