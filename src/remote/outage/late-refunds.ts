import type { Policy } from '../../core/policy.js'

/** Refunds that wait for the store; the oldest make room. */
const mostRefunds = 10_000

/** Units that are to be given back in the store when it works again. */
export interface LateRefund {
  readonly key: string
  readonly cost: number
  readonly policies: readonly Policy[]
  /** When they were charged, and on whose clock: the store's, or this process's if they were counted here. */
  readonly chargedAt: number
  readonly isLocal: boolean
  /** True if they were leased, and not spent. */
  readonly isLease: boolean
}

/** Refunds that a failing store was never asked for. */
export class LateRefunds {
  readonly #refunds = new Set<LateRefund>()

  add(refund: LateRefund): void {
    this.#refunds.add(refund)
    if (this.#refunds.size > mostRefunds) this.#refunds.delete(this.#refunds.values().next().value!)
  }

  [Symbol.iterator](): Iterator<LateRefund> {
    return this.#refunds.values()
  }

  /** Takes one out, so that it is given back once at the most. */
  delete(refund: LateRefund): boolean {
    return this.#refunds.delete(refund)
  }

  forget(key: string): void {
    for (const refund of this.#refunds) if (refund.key === key) this.#refunds.delete(refund)
  }

  clear(): void {
    this.#refunds.clear()
  }
}
