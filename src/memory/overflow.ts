import type { Bucket } from '../core/bucket.js'
import type { Tier } from '../core/tier.js'
import { Out, outSize } from '../core/verdict.js'
import { type Fingerprint, mix } from './fingerprint.js'
import type { NumberReader, NumberWriter } from './saving/numbers.js'
import type { Mover } from './segment.js'

/** Rows of cells; each must be shared with keys that used much for a key to be judged too strictly. */
const rows = 4

/** Cells a row for a table: a quarter of its keys, or 64 where those are few and small. */
export function overflowWidth(slots: number, maxKeys: number): number {
  return Math.max(2, maxKeys >>> 2, Math.min(64, Math.floor(2 ** 16 / (slots * 8))))
}

/**
 * What judges the keys that a full table has no room for: a count-min sketch (Cormode and Muthukrishnan, 2005) with
 * conservative update (Estan and Varghese, 2002), whose cells are buckets of the strategies. Each key has a cell in each
 * row, where it meets others. A cell covers what any of its keys used, so the laxest of a key's cells decides, which can
 * be too strict and never too lax; and a charge raises each of them only as far as it must cover the key. As cells are
 * buckets, they drain with time alone. Where limits are computed for each request, all are judged by the lowest that was
 * seen: keys that share a cell must pay back at one pace.
 *
 * A key is judged as if it had used `a` units more than it did with a probability of at most (N / (a · w))^4, where w
 * is the width and N the units that were charged here in the last window (the last two for `sliding-window`; for
 * buckets, the time in which a full one is paid back; for windows that open with a request, since the cell was last
 * empty). For a key's cell in one row holds N / w units of others on average, so `a` or more with at most N / (a · w)
 * (Markov), and the rows are independent.
 */
export class Overflow {
  readonly #cells: Float64Array
  readonly #width: number
  readonly #slots: number
  /** Where the cells of the key at hand begin, a row each. */
  readonly #starts = new Int32Array(rows)
  /** What the cells of the key at hand say at best, by tier: each cell is a bound on what the key used. */
  readonly best: readonly Float64Array[]
  /** When the last cell of each policy has drained, on that policy's steady time. */
  readonly #drainedAt: Float64Array

  constructor(slots: number, width: number, policies: number) {
    this.#slots = slots
    this.#width = width
    this.#cells = new Float64Array(rows * width * slots)
    this.best = Array.from({ length: policies }, () => new Float64Array(outSize))
    this.#drainedAt = new Float64Array(policies)
  }

  /** False once every cell has drained. */
  isActive({ tiers }: Bucket): boolean {
    for (let i = 0; i < tiers.length; i++) if (tiers[i]!.steady.now < this.#drainedAt[i]!) return true
    return false
  }

  /** Copies into `state` the numbers of the cell under which a cost is admitted first, a policy each. */
  load(print: Fingerprint, cost: number, { tiers }: Bucket, state: Float64Array): void {
    this.#find(print)
    for (const [i, tier] of tiers.entries()) {
      const laxest = this.#laxest(tier, this.best[i]!, cost)
      for (let slot = tier.offset; slot < tier.end; slot++) state[slot] = this.#cells[laxest + slot]!
    }
  }

  /** Raises the cells of a key to cover what was loaded, and was charged since; a strategy that cannot is charged in each. */
  charge(print: Fingerprint, cost: number, { tiers }: Bucket, state: Float64Array): void {
    this.#find(print)
    for (const [i, { policy, offset, steady }] of tiers.entries()) {
      const { strategy } = policy
      const { now } = steady
      strategy.check(state, offset, policy, now, 1, scratch)
      for (let row = 0; row < rows; row++) {
        const at = this.#starts[row]! + offset
        if (strategy.cover) strategy.cover(this.#cells, at, state, offset, policy, now)
        else strategy.charge(this.#cells, at, policy, now, cost, scratch)
        this.#drainedAt[i] = Math.max(this.#drainedAt[i]!, now + scratch[Out.resetMs]!)
      }
    }
  }

  /** The same cells in another layout. */
  movedTo(slots: number, move: Mover): Overflow {
    const moved = new Overflow(slots, this.#width, this.#drainedAt.length)
    for (let cell = 0; cell < rows * this.#width; cell++)
      move(this.#cells, cell * this.#slots, moved.#cells, cell * slots)
    moved.#drainedAt.set(this.#drainedAt)
    return moved
  }

  /** Writes its cells; gives when the last of them has drained. */
  save(to: NumberWriter): number {
    to.number(this.#width)
    to.raw(this.#drainedAt)
    to.raw(this.#cells)
    return Math.max(...this.#drainedAt)
  }

  /** Reads what was written by one of so many slots and policies. */
  static restored(slots: number, policies: number, from: NumberReader): Overflow {
    const overflow = new Overflow(slots, from.count(), policies)
    overflow.#drainedAt.set(from.raw(policies))
    overflow.#cells.set(from.raw(overflow.#cells.length))
    return overflow
  }

  #find({ low, high }: Fingerprint): void {
    for (let row = 0; row < rows; row++) {
      const word = mix(low ^ Math.imul(high, 2 * row + 1)) >>> 0
      this.#starts[row] = (Math.floor((word / 2 ** 32) * this.#width) + row * this.#width) * this.#slots
    }
  }

  /** The cell under which a tier admits a cost first, or has the most left; `best`: what any of them answers at best. */
  #laxest({ policy, offset, steady }: Tier, best: Float64Array, cost: number): number {
    const asked = Math.min(cost, policy.capacity)
    let laxest = -1
    let wait = 0
    let left = 0
    best[Out.remaining] = 0
    best[Out.resetMs] = Number.POSITIVE_INFINITY
    for (let row = 0; row < rows; row++) {
      const at = this.#starts[row]!
      policy.strategy.check(this.#cells, at + offset, policy, steady.now, asked, scratch)
      const remaining = scratch[Out.remaining]!
      const retryAfterMs = scratch[Out.retryAfterMs]!
      if (laxest < 0 || retryAfterMs < wait || (retryAfterMs === wait && remaining > left)) {
        laxest = at
        wait = retryAfterMs
        left = remaining
      }
      best[Out.remaining] = Math.max(best[Out.remaining]!, remaining)
      best[Out.resetMs] = Math.min(best[Out.resetMs]!, scratch[Out.resetMs]!)
    }
    return laxest
  }
}

const scratch = new Float64Array(outSize)
