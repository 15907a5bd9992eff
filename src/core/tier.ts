import { SteadyTime } from './clock.js'
import type { Policy } from './policy.js'
import { Out, outSize } from './verdict.js'

/** One policy on a bucket: which slots are its own, its steady time, and what its strategy wrote last. */
export class Tier {
  /** The policy that decides now: the one that the limiter was opened with, or the same with another limit. */
  policy: Policy
  /** Where its slots begin in a bucket, and where they end. */
  offset = 0
  end = 0
  readonly out: Float64Array
  readonly steady: SteadyTime
  readonly #scratch = new Float64Array(outSize)
  /** The slots of a key of its own, where several keys share a bucket. */
  #own: Float64Array | null = null

  constructor(policy: Policy, out: Float64Array) {
    const { strategy } = policy
    this.policy = policy
    this.out = out
    this.steady = new SteadyTime(policy.windowMs, strategy.aligned?.(policy) === true)
  }

  /** True if the bucket at `base` has room for `cost`; writes nothing but `out`. */
  check(state: Float64Array, base: number, cost: number): boolean {
    const { policy, steady } = this
    if (cost > policy.capacity || steady.lag > 0) return this.#checkRare(state, base, cost)
    return policy.strategy.check(state, base + this.offset, policy, steady.now, cost, this.out)
  }

  /** The same for a cost that is never admitted, and on a clock that is behind steady time: what ends, ends that much later. */
  #checkRare(state: Float64Array, base: number, cost: number): boolean {
    const { policy, out, steady } = this
    const isPossible = cost <= policy.capacity
    const asked = isPossible ? cost : 1
    const isAllowed = policy.strategy.check(state, base + this.offset, policy, steady.now, asked, out)
    if (!isPossible) out[Out.retryAfterMs] = Number.POSITIVE_INFINITY
    if (out[Out.retryAfterMs]! > 0) out[Out.retryAfterMs]! += steady.lag
    if (out[Out.resetMs]! > 0) out[Out.resetMs]! += steady.lag
    return isPossible && isAllowed
  }

  charge(state: Float64Array, base: number, cost: number): void {
    const { policy, out, steady } = this
    policy.strategy.charge(state, base + this.offset, policy, steady.now, cost, out)
    if (steady.lag > 0) out[Out.resetMs]! += steady.lag
  }

  /** Checks, and charges what it admits. */
  take(state: Float64Array, base: number, cost: number): boolean {
    const { policy, steady } = this
    const { strategy } = policy
    if (strategy.take !== undefined && cost <= policy.capacity && steady.lag === 0)
      return strategy.take(state, base + this.offset, policy, steady.now, cost, this.out)
    if (!this.check(state, base, cost)) return false
    this.charge(state, base, cost)
    return true
  }

  /** Charges a bucket that belongs, or belonged a moment ago, to several keys. */
  chargeShared(state: Float64Array, base: number, cost: number): void {
    const { policy, out, steady } = this
    this.charge(state, base, cost)
    if (!policy.strategy.cover) return
    // A new key may owe for longer than the bucket it shares: a window may have been open for a while.
    this.#own ??= new Float64Array(this.slots)
    this.#own.fill(0)
    policy.strategy.charge(this.#own, 0, policy, steady.now, cost, this.#scratch)
    policy.strategy.cover(state, base + this.offset, this.#own, 0, policy, steady.now)
    policy.strategy.check(state, base + this.offset, policy, steady.now, 1, this.#scratch)
    out[Out.remaining] = this.#scratch[Out.remaining]!
    out[Out.resetMs] = this.#scratch[Out.resetMs]! + steady.lag
  }

  /** Gives back units that were charged `agoMs` ago; `-Infinity` for units whenever they were charged. */
  refund(state: Float64Array, base: number, cost: number, agoMs: number): void {
    const { policy, steady } = this
    const { strategy } = policy
    if (agoMs >= 0) strategy.refund?.(state, base + this.offset, policy, steady.now, cost, steady.now - agoMs)
    else if (strategy.reward) strategy.reward(state, base + this.offset, policy, steady.now, cost)
    else strategy.refund?.(state, base + this.offset, policy, steady.now, cost, steady.now)
  }

  /** How long after steady time `now` the bucket at `base` owes something, under the policy with the lowest limit. */
  resetMs(state: Float64Array, base: number, lowest: Policy, now = this.steady.now): number {
    lowest.strategy.check(state, base + this.offset, lowest, now, 1, this.#scratch)
    return this.#scratch[Out.resetMs]!
  }

  get slots(): number {
    return this.end - this.offset
  }

  /** Gives it so many slots of the bucket; returns where the next tier's begin. */
  layOut(offset: number, slots: number): number {
    this.offset = offset
    this.end = offset + slots
    this.#own = null
    return this.end
  }
}
