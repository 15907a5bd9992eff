import { LowestLimits } from './lowest-limits.js'
import { owedMs } from './owing.js'
import type { Policy } from './policy.js'
import { Tier } from './tier.js'
import { type Action, Out, OwnVerdict, outSize } from './verdict.js'

/** A lease takes one of so many parts of what is left, so that of a limit that is nearly spent all finds its way to requests. */
const leaseParts = 4

/** What the decision asks of the store that has the bucket. */
export interface Keeper {
  /**
   * Called once it is certain that the bucket will be charged, so that there is room to keep it; it may open the bucket
   * in another place. False if what was opened is outdated: it is to be opened and decided anew.
   */
  reserve(): boolean
}

/**
 * The numbers of one key, those of all tiers side by side, and the one procedure that decides about them. A limiter has
 * one, made once, so that a decision allocates nothing; its store opens the numbers of a key in it, has it decide, and
 * keeps what has changed. Most limiters have one policy, so the first tier is held apart from the others
 * (bench/decision.js).
 */
export class Bucket {
  readonly tiers: readonly Tier[]
  readonly verdict: OwnVerdict
  readonly lowest: LowestLimits
  /** True if the last decision has charged, so that the numbers are to be kept. */
  hasCharged = false
  /** How long the key is to be blocked for the denial that was decided, ms; 0 if it is not. */
  penaltyMs = 0
  /** True where the bucket belongs to several keys, or did a moment ago. */
  isShared = false
  /** What other estimates of the same key say at best, by tier; null where the numbers are the key's own. */
  bounds: readonly Float64Array[] | null = null
  /** The policies that decide now. */
  policies: readonly Policy[]
  #state: Float64Array = new Float64Array(0)
  #base = 0
  readonly #first: Tier
  readonly #others: readonly Tier[]
  readonly #hasOthers: boolean

  constructor(policies: readonly Policy[]) {
    this.policies = policies
    this.verdict = new OwnVerdict(policies)
    const { out } = this.verdict
    this.tiers = policies.map((policy, i) => new Tier(policy, out.subarray(i * outSize, (i + 1) * outSize)))
    this.lowest = new LowestLimits(policies)
    this.#first = this.tiers[0]!
    this.#others = this.tiers.slice(1)
    this.#hasOthers = this.#others.length > 0
    this.layOut(policies.map(({ slots }) => slots))
  }

  /** How many slots it has. */
  get slots(): number {
    return this.tiers[this.tiers.length - 1]!.end
  }

  setTime(now: number): void {
    this.verdict.at = now
    this.#first.steady.read(now)
    if (this.#hasOthers) for (const { steady } of this.#others) steady.read(now)
  }

  /** Takes up a key, whose numbers begin at `base` of `state`. */
  open(state: Float64Array, base: number): void {
    this.#state = state
    this.#base = base
    this.isShared = false
    this.bounds = null
  }

  /**
   * Decides about the key that was opened, at the time that was set, under the policies in use; and charges it as the
   * action says. What else is to be done is left in `hasCharged` and `penaltyMs`.
   * @param blockedMs how long the key is blocked, 0 if it is not
   * @param keeper null where the numbers are changed in the place where they are kept
   * @param wanted how many units a lease would like to have charged
   * @returns false if nothing was decided, as the keeper wants it done anew
   */
  decide(action: Action, cost: number, blockedMs: number, keeper: Keeper | null, wanted?: number): boolean {
    const { verdict } = this
    const { kind } = action
    this.hasCharged = false
    this.penaltyMs = 0
    verdict.isBlocked = false
    verdict.charged = 0
    // One tier, in the place where it is kept, needs no look before it is charged.
    const takes = kind === 'take' && keeper === null && blockedMs === 0 && !this.#hasOthers
    const isAllowed = takes ? this.#first.take(this.#state, this.#base, cost) : this.#check(cost)
    if (this.bounds !== null) this.#relax(this.bounds)
    verdict.isAllowed = isAllowed
    if (blockedMs > 0) this.block(blockedMs)
    else if (isAllowed ? kind !== 'peek' : kind === 'charge' || action.countDenied) {
      if (keeper !== null && !keeper.reserve()) return false
      if (isAllowed && takes) this.#note(cost)
      else if (isAllowed && kind !== 'lease') this.#charge(cost)
      else this.#chargeRare(isAllowed, cost, kind === 'lease' ? (wanted ?? cost) : cost)
      if (isAllowed && kind === 'take') return true
    }
    if (!verdict.isAllowed || kind === 'charge') this.#finish(action)
    return true
  }

  /** Denies the key that was decided about for so long: it is blocked. */
  block(blockedMs: number): void {
    const { verdict } = this
    verdict.isAllowed = false
    verdict.isBlocked = true
    for (const { out } of this.tiers) {
      out[Out.remaining] = 0
      out[Out.retryAfterMs] = Math.max(out[Out.retryAfterMs]!, blockedMs)
      out[Out.resetMs] = Math.max(out[Out.resetMs]!, blockedMs)
    }
  }

  /** Gives back units that were charged `agoMs` ago. */
  refund(cost: number, agoMs: number): void {
    for (const tier of this.tiers) tier.refund(this.#state, this.#base, cost, agoMs)
  }

  /** Charges each tier so many units, whatever it says of them. */
  chargeEach(units: readonly number[]): void {
    this.lowest.see(this.policies)
    for (const [i, tier] of this.tiers.entries())
      if (units[i]! > 0) tier.charge(this.#state, this.#base, units[i]!)
  }

  /** For how long the key that was opened owes anything. */
  owedMs(): number {
    return owedMs(this, this.#state, this.#base)
  }

  /** Decides under these policies from now on: those that it was opened with, or the same with other limits. */
  use(policies: readonly Policy[]): void {
    this.verdict.policies = policies
    if (policies !== this.policies) this.#decideBy(policies)
  }

  /** Decides under the lowest limits for this once; 0 and `Infinity` hold as they are. */
  useLowest(): void {
    const lowest = this.lowest.policies
    if (this.policies.every((policy, i) => policy === lowest[i])) return
    this.#decideBy(
      this.policies.map((policy, i) => (policy.slots === 0 || policy.isEndless ? policy : lowest[i]!))
    )
  }

  #decideBy(policies: readonly Policy[]): void {
    this.policies = policies
    for (let i = 0; i < this.tiers.length; i++) this.tiers[i]!.policy = policies[i]!
  }

  /** How many slots each tier needs for other limits, or null if all have enough. */
  widerFor(policies: readonly Policy[]): readonly number[] | null {
    let isWide = true
    for (let i = 0; i < policies.length; i++) if (policies[i]!.slots > this.tiers[i]!.slots) isWide = false
    if (isWide) return null
    return this.tiers.map((tier, i) => Math.max(tier.slots, policies[i]!.slots))
  }

  /** Gives each tier so many slots, side by side. */
  layOut(slots: readonly number[]): void {
    let end = 0
    for (let i = 0; i < this.tiers.length; i++) end = this.tiers[i]!.layOut(end, slots[i]!)
  }

  #check(cost: number): boolean {
    const isAllowed = this.#first.check(this.#state, this.#base, cost)
    return this.#hasOthers ? this.#checkOthers(cost) && isAllowed : isAllowed
  }

  #checkOthers(cost: number): boolean {
    let isAllowed = true
    for (const tier of this.#others) if (!tier.check(this.#state, this.#base, cost)) isAllowed = false
    return isAllowed
  }

  #note(units: number): void {
    this.hasCharged = true
    this.verdict.charged = units
    this.lowest.see(this.verdict.policies)
  }

  #charge(units: number): void {
    this.#note(units)
    if (this.isShared) for (const tier of this.tiers) tier.chargeShared(this.#state, this.#base, units)
    else {
      this.#first.charge(this.#state, this.#base, units)
      if (this.#hasOthers) for (const tier of this.#others) tier.charge(this.#state, this.#base, units)
    }
  }

  /** Charges for a lease as much as is wanted, or a part of what is left; or for what was denied, whatever is left. */
  #chargeRare(isAllowed: boolean, cost: number, wanted: number): void {
    const left = this.#least(Out.remaining)
    if (isAllowed) {
      this.#charge(Math.min(Math.max(cost, wanted), cost + Math.floor((left - cost) / leaseParts)))
      return
    }
    this.#charge(cost)
    this.verdict.charged = Math.min(cost, left)
    // What was charged lengthens the wait.
    this.#check(cost)
  }

  /** Ends a denial with the block that it is due, and a charge of what is spent already with nobody to wait. */
  #finish({ kind, blockMs }: Action): void {
    const { verdict } = this
    if (kind === 'charge') {
      verdict.isAllowed = true
      for (const { out } of this.tiers) out[Out.retryAfterMs] = 0
    } else if (blockMs > 0 && kind !== 'peek' && !verdict.isBlocked) {
      const waitMs = this.#longestWait()
      // A request that is never admitted is no reason to block; and a block that ended before the wait would soon begin anew.
      if (waitMs < Number.POSITIVE_INFINITY) this.penaltyMs = Math.max(blockMs, waitMs)
    }
  }

  /** What other estimates say better than the one that was opened: each is a bound. */
  #relax(bounds: readonly Float64Array[]): void {
    for (let i = 0; i < bounds.length; i++) {
      const { out } = this.tiers[i]!
      out[Out.remaining] = Math.max(out[Out.remaining]!, bounds[i]![Out.remaining]!)
      out[Out.resetMs] = Math.min(out[Out.resetMs]!, bounds[i]![Out.resetMs]!)
    }
  }

  #least(field: number): number {
    let least = Number.POSITIVE_INFINITY
    for (const { out } of this.tiers) least = Math.min(least, out[field]!)
    return least
  }

  #longestWait(): number {
    let longest = 0
    for (const { out } of this.tiers) longest = Math.max(longest, out[Out.retryAfterMs]!)
    return longest
  }
}
