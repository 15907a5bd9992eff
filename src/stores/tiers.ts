import { SteadyTime } from '../core/clock.js'
import { Answer, answerSize } from '../core/decision.js'
import type { Policy } from '../core/policy.js'

/**
 * The policies of one limiter, side by side on a bucket: each has its numbers at an offset of its own, its steady
 * time and its answer. Made once, so that a decision allocates nothing.
 */
export class Tiers {
  /** The policies of the decision at hand: those that were opened, or the same with other limits. */
  policies: readonly Policy[]
  /** Those with the lowest limits seen, under which keys owe for the longest time. */
  slowest: readonly Policy[]
  /** Where each policy's numbers begin in a bucket, and last where they end. */
  offsets: readonly number[]
  readonly answers: readonly Float64Array[]
  /** The steady time of each, read at the decision at hand. */
  readonly steady: readonly SteadyTime[]
  readonly #scratch = new Float64Array(answerSize)
  #standsIn: boolean[] | null = null
  /** The numbers of a key of its own, where several share theirs. */
  #own: Float64Array | null = null

  constructor(policies: readonly Policy[]) {
    this.policies = policies
    this.slowest = policies
    this.offsets = offsetsOf(policies.map((policy) => policy.slots))
    this.answers = policies.map(() => new Float64Array(answerSize))
    this.steady = policies.map(
      (policy) => new SteadyTime(policy.windowMs, policy.strategy.aligned?.(policy) === true)
    )
  }

  /** Numbers a bucket. */
  get slots(): number {
    return this.offsets[this.answers.length]!
  }

  setTime(now: number): void {
    for (let i = 0; i < this.steady.length; i++) this.steady[i]!.read(now)
  }

  /** Decides every tier on the numbers at `base`; writes nothing but the answers. */
  check(state: Float64Array, base: number, cost: number): boolean {
    const { policies } = this
    let allowed = true
    for (let i = 0; i < policies.length; i++) if (!this.#checkTier(i, state, base, cost)) allowed = false
    return allowed
  }

  #checkTier(i: number, state: Float64Array, base: number, cost: number): boolean {
    const policy = this.policies[i]!
    const answer = this.answers[i]!
    const isPossible = cost <= policy.capacity
    const asked = isPossible ? cost : 1
    const allowed = policy.strategy.check(
      state,
      base + this.offsets[i]!,
      policy,
      this.steady[i]!.now,
      asked,
      answer
    )
    if (!isPossible) answer[Answer.retryAfterMs] = Number.POSITIVE_INFINITY
    if (this.steady[i]!.lag > 0) this.#addLag(i)
    return isPossible && allowed
  }

  /** Charges every tier. `isShared`: the numbers are, or were a moment ago, those of several keys. */
  charge(state: Float64Array, base: number, cost: number, isShared: boolean): void {
    const { policies, offsets, steady } = this
    for (let i = 0; i < policies.length; i++) {
      const policy = policies[i]!
      const answer = this.answers[i]!
      policy.strategy.charge(state, base + offsets[i]!, policy, steady[i]!.now, cost, answer)
      if (isShared && policy.strategy.cover) this.#coverNew(i, state, base + offsets[i]!, cost)
      if (this.steady[i]!.lag > 0) answer[Answer.resetMs]! += this.steady[i]!.lag
    }
  }

  /** What a key owes that was new may end later than what it shares: a window may have been open for a while. */
  #coverNew(i: number, state: Float64Array, at: number, cost: number): void {
    const policy = this.policies[i]!
    const { strategy } = policy
    const { now } = this.steady[i]!
    const scratch = this.#scratch
    this.#own ??= new Float64Array(this.slots)
    this.#own.fill(0)
    strategy.charge(this.#own, 0, policy, now, cost, scratch)
    strategy.cover!(state, at, this.#own, 0, policy, now)
    strategy.check(state, at, policy, now, 1, scratch)
    this.answers[i]![Answer.remaining] = scratch[Answer.remaining]!
    this.answers[i]![Answer.resetMs] = scratch[Answer.resetMs]!
  }

  /** Gives back units that were charged `agoMs` ago. */
  refund(state: Float64Array, base: number, cost: number, agoMs: number): void {
    const { policies, offsets, steady } = this
    for (let i = 0; i < policies.length; i++) {
      const { strategy } = policies[i]!
      strategy.refund?.(state, base + offsets[i]!, policies[i]!, steady[i]!.now, cost, steady[i]!.now - agoMs)
    }
  }

  /** True where the numbers behave as zeros do: nothing would change if they were forgotten. */
  isSpent(state: Float64Array, base: number): boolean {
    const { slowest, offsets, steady } = this
    const scratch = this.#scratch
    for (let i = 0; i < slowest.length; i++) {
      slowest[i]!.strategy.check(state, base + offsets[i]!, slowest[i]!, steady[i]!.now, 1, scratch)
      if (scratch[Answer.resetMs] !== 0) return false
    }
    return true
  }

  /**
   * Takes the same policies with other limits. There must be room for them. While nothing was counted, the ones that
   * were opened only stand in for the first real limit.
   */
  adopt(policies: readonly Policy[], isEmpty: boolean): void {
    this.policies = policies
    this.#standsIn ??= policies.map(() => isEmpty)
    this.slowest = policies.map((policy, i) => {
      const isReal = policy.limit > 0 && policy.limit < Number.POSITIVE_INFINITY
      if (!isReal || !this.#standsIn![i]) return slower(policy, this.slowest[i]!)
      this.#standsIn![i] = false
      return policy
    })
  }

  /** Judges by the lowest limits seen, from here to the end of the decision; 0 and `Infinity` hold as they are. */
  judgeBySlowest(): void {
    const { policies, slowest } = this
    if (policies !== slowest)
      this.policies = policies.map((policy, i) => (policy.slots === 0 ? policy : slowest[i]!))
  }

  /** The offsets of a bucket with room for other limits, or null if it has it already. */
  widerFor(policies: readonly Policy[]): readonly number[] | null {
    const room = policies.map((_, i) => this.offsets[i + 1]! - this.offsets[i]!)
    if (policies.every((policy, i) => policy.slots <= room[i]!)) return null
    return offsetsOf(policies.map(({ slots }, i) => Math.max(room[i]!, slots)))
  }

  /** The clock is behind steady time: whatever ends, ends that much later. */
  #addLag(tier: number): void {
    const answer = this.answers[tier]!
    const { lag } = this.steady[tier]!
    if (answer[Answer.retryAfterMs]! > 0) answer[Answer.retryAfterMs]! += lag
    if (answer[Answer.resetMs]! > 0) answer[Answer.resetMs]! += lag
  }
}

/** Of two variants of a policy, the one under which a key owes for longer. */
function slower(a: Policy, b: Policy): Policy {
  return a.limit > 0 && a.limit < b.limit ? a : b
}

function offsetsOf(slots: readonly number[]): number[] {
  const offsets = [0]
  for (const count of slots) offsets.push(offsets[offsets.length - 1]! + count)
  return offsets
}
