import type { Tiers } from '../core/bucket.js'
import { Answer, answerSize } from '../core/decision.js'
import type { Tier } from '../core/tier.js'
import { mix } from './fingerprint.js'
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
  readonly #places = new Int32Array(rows)
  /** What they answer at best, a policy each. */
  readonly #best: readonly Float64Array[]
  /** When the last cell of each policy has drained, on that policy's steady time. */
  readonly #drainedAt: Float64Array

  constructor(slots: number, width: number, policies: number) {
    this.#slots = slots
    this.#width = width
    this.#cells = new Float64Array(rows * width * slots)
    this.#best = Array.from({ length: policies }, () => new Float64Array(answerSize))
    this.#drainedAt = new Float64Array(policies)
  }

  /** False once every cell has drained. */
  isActive({ all }: Tiers): boolean {
    for (let i = 0; i < all.length; i++) if (all[i]!.steady.now < this.#drainedAt[i]!) return true
    return false
  }

  /** Copies into `state` the numbers of the cell under which a cost is admitted first, a policy each. */
  load(low: number, high: number, cost: number, tiers: Tiers, state: Float64Array): void {
    this.#find(low, high)
    for (const [i, tier] of tiers.all.entries()) {
      const laxest = this.#laxest(tier, this.#best[i]!, cost)
      for (let slot = tier.offset; slot < tier.end; slot++) state[slot] = this.#cells[laxest + slot]!
    }
  }

  /** What other cells answer better than the one that was loaded: each is an upper bound. */
  relax(answers: readonly Float64Array[]): void {
    for (let i = 0; i < answers.length; i++) {
      const answer = answers[i]!
      const best = this.#best[i]!
      answer[Answer.remaining] = Math.max(answer[Answer.remaining]!, best[Answer.remaining]!)
      answer[Answer.resetMs] = Math.min(answer[Answer.resetMs]!, best[Answer.resetMs]!)
    }
  }

  /** Raises the cells of a key to cover what was loaded, and was charged since; a strategy that cannot is charged in each. */
  charge(low: number, high: number, cost: number, tiers: Tiers, state: Float64Array): void {
    this.#find(low, high)
    for (const [i, { policy, offset, steady }] of tiers.all.entries()) {
      const { strategy } = policy
      const { now } = steady
      strategy.check(state, offset, policy, now, 1, scratch)
      for (let row = 0; row < rows; row++) {
        const at = this.#places[row]! + offset
        if (strategy.cover) strategy.cover(this.#cells, at, state, offset, policy, now)
        else strategy.charge(this.#cells, at, policy, now, cost, scratch)
        this.#drainedAt[i] = Math.max(this.#drainedAt[i]!, now + scratch[Answer.resetMs]!)
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

  #find(low: number, high: number): void {
    for (let row = 0; row < rows; row++) {
      const word = mix(low ^ Math.imul(high, 2 * row + 1)) >>> 0
      this.#places[row] = (Math.floor((word / 2 ** 32) * this.#width) + row * this.#width) * this.#slots
    }
  }

  /** The cell under which a tier admits a cost first, or has the most left; `best`: what any of them answers at best. */
  #laxest({ policy, offset, steady }: Tier, best: Float64Array, cost: number): number {
    const asked = Math.min(cost, policy.capacity)
    let laxest = -1
    let wait = 0
    let left = 0
    best[Answer.remaining] = 0
    best[Answer.resetMs] = Number.POSITIVE_INFINITY
    for (let row = 0; row < rows; row++) {
      const at = this.#places[row]!
      policy.strategy.check(this.#cells, at + offset, policy, steady.now, asked, scratch)
      const remaining = scratch[Answer.remaining]!
      const retryAfterMs = scratch[Answer.retryAfterMs]!
      if (laxest < 0 || retryAfterMs < wait || (retryAfterMs === wait && remaining > left)) {
        laxest = at
        wait = retryAfterMs
        left = remaining
      }
      best[Answer.remaining] = Math.max(best[Answer.remaining]!, remaining)
      best[Answer.resetMs] = Math.min(best[Answer.resetMs]!, scratch[Answer.resetMs]!)
    }
    return laxest
  }
}

const scratch = new Float64Array(answerSize)
