import { Answer, answerSize } from '../core/decision.js'
import type { Policy } from '../core/policy.js'
import type { Mover } from './table.js'

/** What one decision is about. */
export interface Tiers {
  /** Those with the lowest limits seen, under which keys owe for the longest time. */
  slowest: readonly Policy[]
  /** The policies of this request. */
  policies: readonly Policy[]
  /** Where each policy's numbers begin in a bucket, and last where they end. */
  offsets: readonly number[]
  /** The steady time of each. */
  readonly times: Float64Array
}

/**
 * What judges the keys that a full table has no room for: two rows of buckets, each shared by the keys that hash
 * to it. A bucket holds what all its keys used together, so it is an upper bound of what any of them did: of the
 * two, the laxer one decides, which can be too strict and never too lax.
 */
export class Overflow {
  readonly #cells: Float64Array
  readonly #width: number
  readonly #slots: number
  /** When the last of the buckets has drained, on the steady time of the first policy. */
  #drainedAt = Number.NEGATIVE_INFINITY

  constructor(slots: number, width: number) {
    this.#slots = slots
    this.#width = width
    this.#cells = new Float64Array(2 * width * slots)
  }

  /** False once every bucket has drained. */
  isActive(now: number): boolean {
    return now < this.#drainedAt
  }

  /** Copies into `state` the numbers of the bucket that leaves a key more, a policy each. */
  load(low: number, high: number, tiers: Tiers, state: Float64Array): void {
    const first = this.#place(low, 0)
    const second = this.#place(high, 1)
    tiers.policies.forEach((policy, i) => {
      const offset = tiers.offsets[i]!
      const now = tiers.times[i]!
      const laxer =
        this.#left(first + offset, policy, now) >= this.#left(second + offset, policy, now) ? first : second
      const end = tiers.offsets[i + 1]!
      for (let slot = offset; slot < end; slot++) state[slot] = this.#cells[laxer + slot]!
    })
  }

  /** Charges both buckets of a key under every policy. */
  charge(low: number, high: number, cost: number, tiers: Tiers): void {
    for (const row of [this.#place(low, 0), this.#place(high, 1)]) {
      tiers.policies.forEach((policy, i) => {
        const at = row + tiers.offsets[i]!
        policy.strategy.charge(this.#cells, at, policy, tiers.times[i]!, cost, scratch)
        const slowest = tiers.slowest[i]!
        slowest.strategy.check(this.#cells, at, slowest, tiers.times[i]!, 1, scratch)
        this.#drainedAt = Math.max(this.#drainedAt, tiers.times[0]! + scratch[Answer.resetMs]!)
      })
    }
  }

  /** The same buckets in another layout. */
  movedTo(slots: number, move: Mover): Overflow {
    const moved = new Overflow(slots, this.#width)
    for (let bucket = 0; bucket < 2 * this.#width; bucket++)
      move(this.#cells, bucket * this.#slots, moved.#cells, bucket * slots)
    moved.#drainedAt = this.#drainedAt
    return moved
  }

  #place(word: number, row: number): number {
    return (Math.floor(((word >>> 0) / 2 ** 32) * this.#width) + row * this.#width) * this.#slots
  }

  #left(at: number, policy: Policy, now: number): number {
    policy.strategy.check(this.#cells, at, policy, now, 1, scratch)
    return scratch[Answer.remaining]!
  }
}

const scratch = new Float64Array(answerSize)
