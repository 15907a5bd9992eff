import { Answer, answerSize } from '../core/decision.js'
import type { Policy } from '../core/policy.js'
import type { Mover } from './table.js'
import type { Tiers } from './tiers.js'

/** Buckets a row for a table: a quarter of its keys, or 64 where those are few and small. */
export function overflowWidth(slots: number, maxKeys: number): number {
  return Math.max(2, maxKeys >>> 2, Math.min(64, Math.floor(2 ** 16 / (slots * 8))))
}

/**
 * What judges the keys that a full table has no room for: two rows of buckets, each shared by the keys that hash
 * to it. A bucket holds what all its keys used together, so it is an upper bound of what any of them did: of the
 * two, the laxer one decides, which can be too strict and never too lax. Where limits are computed for each request,
 * all are judged by the lowest that was seen: keys that share a bucket must pay back at one pace.
 */
export class Overflow {
  readonly #cells: Float64Array
  readonly #width: number
  readonly #slots: number
  /** When the last bucket of each policy has drained, on that policy's steady time. */
  readonly #drainedAt: Float64Array

  constructor(slots: number, width: number, policies: number) {
    this.#slots = slots
    this.#width = width
    this.#cells = new Float64Array(2 * width * slots)
    this.#drainedAt = new Float64Array(policies)
  }

  /** False once every bucket has drained. */
  isActive({ steady }: Tiers): boolean {
    return this.#drainedAt.some((drainedAt, i) => steady[i]!.now < drainedAt)
  }

  /** Copies into `state` the numbers of the bucket under which a cost is admitted first, a policy each. */
  load(low: number, high: number, cost: number, tiers: Tiers, state: Float64Array): void {
    const first = this.#place(low, 0)
    const second = this.#place(high, 1)
    tiers.policies.forEach((policy, i) => {
      const offset = tiers.offsets[i]!
      const laxer = this.#isLaxer(second + offset, first + offset, policy, tiers.steady[i]!.now, cost)
        ? second
        : first
      const end = tiers.offsets[i + 1]!
      for (let slot = offset; slot < end; slot++) state[slot] = this.#cells[laxer + slot]!
    })
  }

  /** What the other bucket answers better than the one that was loaded: either is an upper bound. */
  relax(low: number, high: number, cost: number, tiers: Tiers, answers: readonly Float64Array[]): void {
    for (const row of [this.#place(low, 0), this.#place(high, 1)])
      tiers.policies.forEach((policy, i) => {
        const answer = answers[i]!
        const now = tiers.steady[i]!.now
        policy.strategy.check(
          this.#cells,
          row + tiers.offsets[i]!,
          policy,
          now,
          Math.min(cost, policy.capacity),
          scratch
        )
        answer[Answer.remaining] = Math.max(answer[Answer.remaining]!, scratch[Answer.remaining]!)
        answer[Answer.resetMs] = Math.min(answer[Answer.resetMs]!, scratch[Answer.resetMs]!)
      })
  }

  /** Charges both buckets of a key under every policy. */
  charge(low: number, high: number, cost: number, tiers: Tiers): void {
    for (const row of [this.#place(low, 0), this.#place(high, 1)])
      tiers.policies.forEach((policy, i) => {
        const { strategy } = policy
        const at = row + tiers.offsets[i]!
        const now = tiers.steady[i]!.now
        if (strategy.chargeShared) strategy.chargeShared(this.#cells, at, policy, now, cost, scratch)
        else strategy.charge(this.#cells, at, policy, now, cost, scratch)
        this.#drainedAt[i] = Math.max(this.#drainedAt[i]!, now + scratch[Answer.resetMs]!)
      })
  }

  /** The same buckets in another layout. */
  movedTo(slots: number, move: Mover): Overflow {
    const moved = new Overflow(slots, this.#width, this.#drainedAt.length)
    for (let bucket = 0; bucket < 2 * this.#width; bucket++)
      move(this.#cells, bucket * this.#slots, moved.#cells, bucket * slots)
    moved.#drainedAt.set(this.#drainedAt)
    return moved
  }

  #place(word: number, row: number): number {
    return (Math.floor(((word >>> 0) / 2 ** 32) * this.#width) + row * this.#width) * this.#slots
  }

  #isLaxer(at: number, other: number, policy: Policy, now: number, cost: number): boolean {
    const asked = Math.min(cost, policy.capacity)
    policy.strategy.check(this.#cells, other, policy, now, asked, scratch)
    const [remaining, retryAfterMs] = scratch
    policy.strategy.check(this.#cells, at, policy, now, asked, scratch)
    const wait = scratch[Answer.retryAfterMs]!
    return wait < retryAfterMs! || (wait === retryAfterMs && scratch[Answer.remaining]! > remaining!)
  }
}

const scratch = new Float64Array(answerSize)
