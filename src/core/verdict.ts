import type { Policy } from './policy.js'

/** What to do with requests while the store fails. */
export type OnStoreError = 'allow' | 'deny' | 'local'

/**
 * Where a decision comes from: the store itself (`store`); units leased from it earlier (`lease`); a denial it gave
 * earlier (`cache`); or, while it failed, this process's share (`local`) or no count at all (`allow`, `deny`). What waited for
 * a permit when the limiter was closed is denied by that (`closed`).
 */
export type Source = 'store' | 'lease' | 'cache' | 'closed' | OnStoreError

/** What the store is to do: look, charge what is admitted, charge what is spent already, or charge ahead of requests. */
export type ActionKind = 'peek' | 'take' | 'charge' | 'lease'

/** What a limiter asks for, with all that decides about it besides key, cost and time. */
export interface Action {
  readonly kind: ActionKind
  /** Charge a denied request too, up to what is left. */
  readonly countDenied: boolean
  /** Block a key that is denied for so long at least, ms; 0 for not at all. */
  readonly blockMs: number
}

/** Looks, and changes nothing. */
export const peek: Action = { kind: 'peek', countDenied: false, blockMs: 0 }

/** Charges what is admitted, for somebody whose denial was counted before. */
export const takeAgain: Action = { kind: 'take', countDenied: false, blockMs: 0 }

/** Charges units that have already been spent, up to what is left. */
export const charge: Action = { kind: 'charge', countDenied: false, blockMs: 0 }

/** Where a strategy writes what it found: an array with these four numbers. */
export const Out = { remaining: 0, retryAfterMs: 1, resetMs: 2, delayMs: 3 } as const

/** How many numbers that is. */
export const outSize = 4

/**
 * What a store decided about one key: the one shape in which every store answers. A store in the process gives the same
 * object each time, so it must be read before the next decision.
 */
export interface Verdict {
  readonly isAllowed: boolean
  /** The key is blocked, whatever it owes. */
  readonly isBlocked: boolean
  /** Units that every tier was charged. */
  readonly charged: number
  /** What the store knows the permits by that were taken, to be released; 0, or left out, if none were. */
  readonly permit?: number
  /** The instant of the decision, ms on the clock that the store goes by. */
  readonly at: number
  readonly source: Source
  /** The policies that decided, one for each tier. */
  readonly policies: readonly Policy[]
  /** What each tier's strategy wrote: `outSize` numbers for the first tier, then for the next. */
  readonly out: ArrayLike<number>
  /** What each limiter has charged, where several have decided together. */
  readonly receipts?: readonly PartReceipt[]
}

/** What one limiter of several has charged. */
export type PartReceipt = Pick<Verdict, 'charged' | 'at' | 'source'>

/**
 * The verdict on a request that costs nothing, from a look at its key: it is admitted, unless the key is blocked, a limit
 * is 0, which denies whatever the cost, or the store fails and denies all.
 */
export function freeOf(look: Verdict): Verdict {
  const { isBlocked, source, policies } = look
  return isBlocked || source === 'deny' || policies.some(({ limit }) => limit === 0) ? look : spentOf(look)
}

/** The verdict on what nothing is charged for and nobody is held back for, from a look at its key. */
export function spentOf({ isBlocked, at, source, policies, out: looked }: Verdict): Verdict {
  const out = Array.from(looked)
  for (let i = 0; i < out.length; i += outSize) {
    out[i + Out.retryAfterMs] = 0
    out[i + Out.delayMs] = 0
  }
  return { isAllowed: true, isBlocked, charged: 0, at, source, policies, out }
}

/** The verdict of stores in the process: the same object for each decision. */
export class OwnVerdict implements Verdict {
  isAllowed = false
  isBlocked = false
  charged = 0
  permit = 0
  at = 0
  readonly source: Source = 'store'
  policies: readonly Policy[]
  readonly out: Float64Array<ArrayBuffer>

  constructor(policies: readonly Policy[]) {
    this.policies = policies
    this.out = new Float64Array(policies.length * outSize)
  }
}

/** A verdict that may be read later: stores in the process give the same object again. */
export function kept(verdict: Verdict): Verdict {
  return { ...verdict, out: Array.from(verdict.out) }
}
