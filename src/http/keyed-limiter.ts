import type { AsyncStore } from '../core/async-store.js'
import type { BansOptions, BansPage } from '../core/bans/listing.js'
import type { Decision } from '../core/decision.js'
import type { Duration } from '../core/duration.js'
import type { Permit } from '../core/permit.js'
import type { Policy } from '../core/policy.js'
import type { Who } from './known.js'

/** A request of the framework's, as far as it shows that it is one. */
export interface AnyRequest {
  readonly headers: object
}

/**
 * The limiter behind a middleware, a hook or a guard, by hand: whoever can be limited can be looked up, reset, blocked and
 * refunded, by what is known of them. With a request whose key or limit comes by a promise, answers do too.
 *
 * Limits and windows that are functions need a request. Without one `peek`, `consume` and `refund` go by what the key was
 * decided by last in this process, and throw `HEADGATE_MISUSE` where that is not known; `reset` and `block` go for all
 * windows.
 *
 * Each throws `HEADGATE_BAD_KEY` where it is not told enough to know the key.
 */
export interface KeyedLimiter {
  /** The validated policies, in the order of configuration; none where limits or windows are functions. */
  readonly policies: readonly Policy[]
  /** The key that someone is charged to. */
  keyOf(who: AnyRequest): string | Promise<string>
  keyOf(who: Who): string
  /** Decides one request of `cost` units and charges it if all policies admit it. */
  consume(who: AnyRequest, cost?: number): Decision | Promise<Decision>
  consume(who: Who, cost?: number): Decision
  /** The same where `concurrency` counts what is in flight: until the permit is released. It waits for nobody. */
  acquire(who: AnyRequest, cost?: number): Permit | Promise<Permit>
  acquire(who: Who, cost?: number): Permit
  /** What `consume(who)` would answer, without charging. */
  peek(who: AnyRequest): Decision | Promise<Decision>
  peek(who: Who): Decision
  /**
   * Gives units back, never more than the key owes; `chargedAt`, ms on the limiter's clock, says when they were charged.
   * True if there was something to give back.
   */
  refund(who: AnyRequest, cost?: number, chargedAt?: number): boolean | Promise<boolean>
  refund(who: Who, cost?: number, chargedAt?: number): boolean
  /** Forgets a key and lifts its block. True if it owed something or was blocked. */
  reset(who: AnyRequest): boolean | Promise<boolean>
  reset(who: Who): boolean
  /** Denies a key for `duration`, ms or text; `Infinity` until `reset`. */
  block(who: AnyRequest, duration: Duration): void | Promise<void>
  block(who: Who, duration: Duration): void
  /**
   * Charges units that nobody asked for. What finds nothing left makes the key wait longer, for as long as it takes to come
   * back: up to ten windows or a day, whichever is shorter. The answer is what `peek` says afterwards.
   */
  penalty(who: AnyRequest, units: number): Decision | Promise<Decision>
  penalty(who: Who, units: number): Decision
  /** Gives units back whenever they were charged, never more than the key owes. A block stays. */
  reward(who: AnyRequest, units: number): Decision | Promise<Decision>
  reward(who: Who, units: number): Decision
  /**
   * Lists keys that are banned or blocked, a page at a time, as `reset` and `block` take them. Where windows are functions a
   * key is listed for each window in which it is.
   */
  bans(options?: BansOptions): BansPage
  /** Forgets all keys, and lifts all blocks; of other limiters that count with this one, too. */
  clear(): void
  /** How many keys owe something now. Walks the whole table: use it in tests and dashboards, not per request. */
  size(): number
  /**
   * Denies all that wait for a permit with a 503, has all that are held back go on, and lets nobody wait any more: for a
   * server that shuts down.
   */
  close(): void
}

/** The same with a store outside the process. What fails there rejects with `HEADGATE_STORE_FAILED`. */
export interface AsyncKeyedLimiter {
  readonly policies: readonly Policy[]
  keyOf(who: AnyRequest): string | Promise<string>
  keyOf(who: Who): string
  consume(who: AnyRequest | Who, cost?: number): Promise<Decision>
  acquire(who: AnyRequest | Who, cost?: number): Promise<Permit>
  peek(who: AnyRequest | Who): Promise<Decision>
  refund(who: AnyRequest | Who, cost?: number, chargedAt?: number): Promise<boolean>
  reset(who: AnyRequest | Who): Promise<boolean>
  block(who: AnyRequest | Who, duration: Duration): Promise<void>
  penalty(who: AnyRequest | Who, units: number): Promise<Decision>
  reward(who: AnyRequest | Who, units: number): Promise<Decision>
  /** Rejects with `HEADGATE_MISUSE` for a store that cannot. */
  bans(options?: BansOptions): Promise<BansPage>
  /** Rejects with `HEADGATE_MISUSE` for a store that cannot. */
  clear(): Promise<void>
  close(): void
}

/** The limiter that goes with a kind of store. */
export type KeyedLimiterOn<S> = S extends AsyncStore ? AsyncKeyedLimiter : KeyedLimiter
