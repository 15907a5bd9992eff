import type { Policy } from './policy.js'
import { Tier } from './tier.js'

/**
 * The policies of one limiter, side by side on a bucket. Made once, so that a decision allocates nothing. Most limiters
 * have one policy, so the first is held apart from the others (bench/decision.js).
 */
export class Tiers {
  readonly all: readonly Tier[]
  readonly answers: readonly Float64Array[]
  /** The policies of the decision at hand: those that were opened, or the same with other limits. */
  policies: readonly Policy[]
  readonly #first: Tier
  readonly #others: readonly Tier[]
  readonly #hasOthers: boolean

  constructor(policies: readonly Policy[]) {
    this.policies = policies
    this.all = policies.map((policy) => new Tier(policy))
    this.answers = this.all.map(({ answer }) => answer)
    this.#first = this.all[0]!
    this.#others = this.all.slice(1)
    this.#hasOthers = this.#others.length > 0
    this.layOut(policies.map(({ slots }) => slots))
  }

  /** Numbers a bucket. */
  get slots(): number {
    return this.all[this.all.length - 1]!.end
  }

  setTime(now: number): void {
    this.#first.steady.read(now)
    if (this.#hasOthers) this.#setTimeOfOthers(now)
  }

  #setTimeOfOthers(now: number): void {
    for (const { steady } of this.#others) steady.read(now)
  }

  /** Decides every tier on the numbers at `base`; writes nothing but the answers. */
  check(state: Float64Array, base: number, cost: number): boolean {
    const allowed = this.#first.check(state, base, cost)
    return this.#hasOthers ? this.#checkOthers(state, base, cost) && allowed : allowed
  }

  #checkOthers(state: Float64Array, base: number, cost: number): boolean {
    let allowed = true
    for (const tier of this.#others) if (!tier.check(state, base, cost)) allowed = false
    return allowed
  }

  /** Charges every tier. */
  charge(state: Float64Array, base: number, cost: number): void {
    this.#first.charge(state, base, cost)
    if (this.#hasOthers) this.#chargeOthers(state, base, cost)
  }

  #chargeOthers(state: Float64Array, base: number, cost: number): void {
    for (const tier of this.#others) tier.charge(state, base, cost)
  }

  /** Charges every tier, where the numbers are, or were a moment ago, those of several keys. */
  chargeShared(state: Float64Array, base: number, cost: number): void {
    for (const tier of this.all) tier.chargeShared(state, base, cost)
  }

  /** Gives back units that were charged `agoMs` ago. */
  refund(state: Float64Array, base: number, cost: number, agoMs: number): void {
    for (const tier of this.all) tier.refund(state, base, cost, agoMs)
  }

  /** True where the numbers behave as zeros do: nothing would change if they were forgotten. */
  isSpent(state: Float64Array, base: number): boolean {
    for (const tier of this.all) if (!tier.isSpent(state, base)) return false
    return true
  }

  /** Takes the same policies with other limits, for the decision at hand. There must be room for them. */
  use(policies: readonly Policy[]): void {
    if (policies === this.policies) return
    this.policies = policies
    for (const [i, tier] of this.all.entries()) tier.policy = policies[i]!
  }

  /** The same, and notes the lowest limits. `isEmpty`: nothing was counted yet. */
  adopt(policies: readonly Policy[], isEmpty: boolean): void {
    this.policies = policies
    for (const [i, tier] of this.all.entries()) tier.adopt(policies[i]!, isEmpty)
  }

  /** Takes the policies with the lowest limits, where somebody else has noted them. */
  judgeSpentBy(slowest: readonly Policy[]): void {
    for (let i = 0; i < this.all.length; i++) this.all[i]!.slowest = slowest[i]!
  }

  /** Judges by the lowest limits seen, from here to the end of the decision; 0 and `Infinity` hold as they are. */
  judgeBySlowest(): void {
    if (this.all.every(({ policy, slowest }) => policy === slowest)) return
    this.use(this.all.map(({ policy, slowest }) => (policy.slots === 0 ? policy : slowest)))
  }

  /** How many numbers each tier needs for other limits, or null if all have room for them. */
  widerFor(policies: readonly Policy[]): readonly number[] | null {
    if (this.all.every((tier, i) => policies[i]!.slots <= tier.slots)) return null
    return this.all.map((tier, i) => Math.max(tier.slots, policies[i]!.slots))
  }

  /** Gives each tier room for so many numbers, side by side. */
  layOut(slots: readonly number[]): void {
    let end = 0
    for (const [i, tier] of this.all.entries()) end = tier.layOut(end, slots[i]!)
  }
}
