import type { Calendar } from './calendar/calendar.js'
import type { StrategyOptions } from './policy-options.js'

/** One policy, as its strategy sees it. */
export interface Rule extends StrategyOptions {
  /** Units per window. */
  readonly limit: number
  /** Length of the window, ms; of one of the calendar, the most days that it can have. */
  readonly windowMs: number
  /** The calendar whose windows it counts in; null, or left out, for windows of one length. */
  readonly calendar?: Calendar | null
  /** The largest cost that a fresh key is admitted; what `capacity` returned. */
  readonly capacity: number
}

/** How buckets of one strategy grow in a store that does not give each of them all its slots at once. */
export interface Growth {
  /**
   * How many of its first slots a bucket needs, for what it holds and for its next charge. A bucket of zeros needs the
   * least. Slots behind them are written before they are read, so that they may hold anything.
   */
  needs(state: Float64Array, at: number, rule: Rule): number
  /**
   * Has a bucket need no more slots than `room`, which is at least what zeros need: for a store that has no more for it. It
   * may answer more strictly from then on, never more laxly.
   */
  thin(state: Float64Array, at: number, rule: Rule, room: number): void
}

/** Policy options that only some strategies accept. */
export type RuleOption = keyof StrategyOptions

/**
 * An algorithm: arithmetic over the few numbers that a key has, and nothing else. It keeps no state of its own,
 * reads no clock and allocates nothing. A store calls it with the key's numbers at `state[at]` and up.
 *
 * What must hold:
 * - zero is new: a bucket of zeros means "never seen", so keep what is owed, not what is left;
 * - once `resetMs` has passed, a bucket answers as one of zeros does, under the same rule;
 * - under a lower limit (a limiter's may be a function of the request) the `resetMs` of a bucket is no shorter: a store
 *   keeps it until that has passed under the lowest limit seen when it was charged, and may forget it then;
 * - `check` writes nothing into `state`; the same call gives the same answer. `now` never goes back for a bucket, except
 *   that `check` may be asked whether the bucket owed anything a short while ago.
 */
export interface Strategy {
  /** The name that policies know it by. */
  readonly name: string
  /** Which of `burst`, `align` and `delayAfter` it accepts; none if left out. */
  readonly accepts?: readonly RuleOption[]
  /** How many slots each key needs at the most. */
  slots(rule: Rule): number
  /** For strategies whose keys mostly need fewer slots than the most: how they come by more. */
  readonly growth?: Growth
  /** The largest cost that a fresh key is admitted; `rule.limit` if left out. */
  capacity?(rule: Omit<Rule, 'capacity'>): number
  /** Throws for rules that its arithmetic cannot represent exactly. */
  validate?(rule: Rule): void
  /** True if its windows follow the clock rather than the key: then a step of the clock keeps their phase. */
  aligned?(rule: Rule): boolean
  /** True if it writes `out[3]`, a delay. */
  readonly shapes?: boolean
  /**
   * Would `cost` (1 to capacity) be admitted now? Writes `out[0]` remaining, `out[1]` the wait in ms (0 if
   * admitted), `out[2]` ms until remaining is capacity; all as the bucket is before any charge.
   */
  check(state: Float64Array, at: number, rule: Rule, now: number, cost: number, out: Float64Array): boolean
  /**
   * Charges `cost`, whether it was admitted or not, never past full, and writes `out[0]` and `out[2]` as they
   * are after it (and `out[3]`, if it shapes).
   */
  charge(state: Float64Array, at: number, rule: Rule, now: number, cost: number, out: Float64Array): void
  /**
   * `check` and, where that admits, `charge` in one step, with what both write. For strategies that would compute the
   * same twice; left out, the two are called.
   */
  take?(state: Float64Array, at: number, rule: Rule, now: number, cost: number, out: Float64Array): boolean
  /**
   * Makes the bucket at `state[at]` answer no laxer, now and later, than the one at `other[from]` would. It lets
   * a full store charge the overflow no more than it must (`src/memory/overflow.ts`).
   */
  cover?(state: Float64Array, at: number, other: Float64Array, from: number, rule: Rule, now: number): void
  /** Gives back up to `cost` units charged at `chargedAt`, never more than the key owes. If left out, refunds do nothing. */
  refund?(state: Float64Array, at: number, rule: Rule, now: number, cost: number, chargedAt: number): void
  /**
   * Gives back up to `cost` units whenever they were charged, never more than the key owes. If left out, `refund` is asked
   * to do it as of `now`: for strategies where that gives back what was charged lately alone.
   */
  reward?(state: Float64Array, at: number, rule: Rule, now: number, cost: number): void
  /**
   * True for buckets that must never be of several keys: where a store has no room for one, nothing is kept of it.
   * @internal
   */
  readonly sharesNothing?: boolean
  /**
   * The same strategy in Lua, so that Redis can decide in one step: a chunk that returns `{ check, charge, refund }`, and `reward` where
   * it has that, called as here but for `out`: `check` returns allowed, remaining, wait and reset, `charge` returns remaining, reset and
   * delay. `at` is the index of the first slot. Without it a Redis store decides here, by compare-and-swap.
   */
  readonly lua?: string
}
