import type { Holding } from './permits/holdings.js'

/** What a backend is asked to do with one key: something that is decided and answered by a verdict. */
export type Decided =
  | {
      /** See `Action` in core: look, charge what is admitted, or charge what is spent already. */
      readonly kind: 'peek' | 'take' | 'charge'
      readonly cost: number
    }
  | {
      /**
       * Take `cost` units, and if they are admitted some of those that are left, up to `wanted` in all. It is remembered,
       * for as long as the key owes anything, when the first lease since a reset was made.
       */
      readonly kind: 'lease'
      readonly cost: number
      readonly wanted: number
    }
  | {
      /**
       * Take `cost` units together with the other `join` operations of the call that stand beside it, `size` of them in a row,
       * each of another limiter: all are admitted, or none is charged.
       */
      readonly kind: 'join'
      readonly cost: number
      readonly size: number
    }
  | {
      /**
       * Take `cost` permits where the policies count what is in flight, and charge the windows beside them: all or nothing.
       * The permits are known by the text `permit`, and are out for `leaseMs` on the backend's clock, unless they are renewed
       * or released before.
       */
      readonly kind: 'acquire'
      readonly cost: number
      readonly permit: string
      readonly leaseMs: number
    }

/** Something that changes a key and has no answer. */
export type Changed =
  | {
      /** Give back units that were charged at `chargedAt` on the backend's clock; undefined: now, `Infinity`: whenever. */
      readonly kind: 'refund'
      readonly cost: number
      readonly chargedAt: number | undefined
    }
  | {
      /** Give back units that a lease charged at `chargedAt` and that were not spent, unless the key was reset since. */
      readonly kind: 'return'
      readonly cost: number
      readonly chargedAt: number
    }
  | {
      /** Give back permits, if they are still out. */
      readonly kind: 'release'
      readonly cost: number
      readonly permit: string
    }
  | {
      /** Forget the key, its block included; but permits that are out stay out. */
      readonly kind: 'reset'
    }
  | {
      /** Deny the key for so long; `Infinity` until it is reset. */
      readonly kind: 'block'
      readonly blockMs: number
      /** True if a longer block that the key has is to stay. */
      readonly isLeast: boolean
    }

/**
 * Charge each tier what the key used in a process during an outage, unless a payment of this mark was charged before.
 * Answered as a peek at one unit after it.
 */
export interface Repay {
  readonly kind: 'repay'
  readonly units: readonly number[]
  /** What tells the payment from all others, of all processes: at least 16 characters of base64url. */
  readonly mark: string
  /** For how long the mark must be remembered, as a retry may come, ms. */
  readonly markMs: number
}

/** Renew the leases of permits on a key whose state core decides on. */
export interface Renewal extends Pick<Holding, 'held' | 'released'> {
  readonly kind: 'renew'
  readonly leaseMs: number
  /** Is told of each that is held whether it was gone; the last telling counts. */
  readonly areGone: boolean[]
}

/** What is asked of a remote store about one key. */
export type Operation = Decided | Changed | Repay

/** True for operations that are answered by a verdict. */
export function isDecided(operation: Operation): operation is Decided | Repay {
  const { kind } = operation
  switch (kind) {
    case 'take':
    case 'acquire':
    case 'peek':
    case 'charge':
    case 'lease':
    case 'join':
    case 'repay':
      return true
    default:
      return false
  }
}
