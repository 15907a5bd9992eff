import { SteadyTime } from './clock.js'
import { Answer, answerSize } from './decision.js'
import type { Policy } from './policy.js'

/** One policy on a bucket: where its numbers are there, its steady time and its answer. */
export class Tier {
  /** The policy of the decision at hand: the one that was opened, or the same with another limit. */
  policy: Policy
  /** That with the lowest limit seen, under which keys owe for the longest time. */
  slowest: Policy
  /** Where its numbers begin in a bucket, and where they end. */
  offset = 0
  end = 0
  readonly answer = new Float64Array(answerSize)
  readonly steady: SteadyTime
  readonly #scratch = new Float64Array(answerSize)
  /** The numbers of a key of its own, where several share theirs. */
  #own: Float64Array | null = null
  #standsIn: boolean | null = null

  constructor(policy: Policy) {
    this.policy = policy
    this.slowest = policy
    this.steady = new SteadyTime(policy.windowMs, policy.strategy.aligned?.(policy) === true)
  }

  /** Decides on the numbers of the bucket at `base`; writes nothing but the answer. */
  check(state: Float64Array, base: number, cost: number): boolean {
    const { policy, answer, steady } = this
    if (cost > policy.capacity || steady.lag > 0) return this.#checkRare(state, base, cost)
    return policy.strategy.check(state, base + this.offset, policy, steady.now, cost, answer)
  }

  /** The same for a cost that is never admitted, and on a clock that is behind steady time: what ends, ends that much later. */
  #checkRare(state: Float64Array, base: number, cost: number): boolean {
    const { policy, answer, steady } = this
    const isPossible = cost <= policy.capacity
    const asked = isPossible ? cost : 1
    const allowed = policy.strategy.check(state, base + this.offset, policy, steady.now, asked, answer)
    if (!isPossible) answer[Answer.retryAfterMs] = Number.POSITIVE_INFINITY
    if (answer[Answer.retryAfterMs]! > 0) answer[Answer.retryAfterMs]! += steady.lag
    if (answer[Answer.resetMs]! > 0) answer[Answer.resetMs]! += steady.lag
    return isPossible && allowed
  }

  charge(state: Float64Array, base: number, cost: number): void {
    const { policy, answer, steady } = this
    policy.strategy.charge(state, base + this.offset, policy, steady.now, cost, answer)
    if (steady.lag > 0) answer[Answer.resetMs]! += steady.lag
  }

  /** Charges numbers that are, or were a moment ago, those of several keys. */
  chargeShared(state: Float64Array, base: number, cost: number): void {
    const { policy, answer, steady } = this
    this.charge(state, base, cost)
    if (!policy.strategy.cover) return
    // What a key owes that was new may end later than what it shares: a window may have been open for a while.
    this.#own ??= new Float64Array(this.end - this.offset)
    this.#own.fill(0)
    policy.strategy.charge(this.#own, 0, policy, steady.now, cost, this.#scratch)
    policy.strategy.cover(state, base + this.offset, this.#own, 0, policy, steady.now)
    policy.strategy.check(state, base + this.offset, policy, steady.now, 1, this.#scratch)
    answer[Answer.remaining] = this.#scratch[Answer.remaining]!
    answer[Answer.resetMs] = this.#scratch[Answer.resetMs]! + steady.lag
  }

  /** Gives back units that were charged `agoMs` ago. */
  refund(state: Float64Array, base: number, cost: number, agoMs: number): void {
    const { policy, steady } = this
    policy.strategy.refund?.(state, base + this.offset, policy, steady.now, cost, steady.now - agoMs)
  }

  /** True where the numbers behave as zeros do: nothing would change if they were forgotten. */
  isSpent(state: Float64Array, base: number): boolean {
    return this.resetMs(state, base) === 0
  }

  /** For how long they behave otherwise, under the lowest limit seen. */
  resetMs(state: Float64Array, base: number): number {
    const { slowest } = this
    slowest.strategy.check(state, base + this.offset, slowest, this.steady.now, 1, this.#scratch)
    return this.#scratch[Answer.resetMs]!
  }

  /**
   * Takes the same policy with another limit. While nothing was counted, the one that was opened only stands in for the
   * first real limit.
   */
  adopt(policy: Policy, isEmpty: boolean): void {
    this.policy = policy
    this.#standsIn ??= isEmpty
    const isReal = policy.limit > 0 && policy.limit < Number.POSITIVE_INFINITY
    if (isReal && this.#standsIn) {
      this.#standsIn = false
      this.slowest = policy
    } else this.slowest = slower(policy, this.slowest)
  }

  /** Numbers that it has room for. */
  get slots(): number {
    return this.end - this.offset
  }

  /** Gives its numbers a place in the bucket; returns where the next ones begin. */
  layOut(offset: number, slots: number): number {
    this.offset = offset
    this.end = offset + slots
    this.#own = null
    return this.end
  }
}

/** Of two variants of a policy, the one under which a key owes for longer. */
function slower(a: Policy, b: Policy): Policy {
  return a.limit > 0 && a.limit < b.limit ? a : b
}
