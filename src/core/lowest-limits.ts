import { type Policy, withLimit } from './policy.js'

/**
 * The lowest limits and bursts that keys of one limiter were charged under, by tier. Under them keys owe for the longest time, so
 * they tell when a key may be forgotten. They matter where limits are computed for each request.
 */
export class LowestLimits {
  /** The policies with these limits; as the limiter was opened, until something is charged. */
  policies: readonly Policy[]
  readonly #isSeen: boolean[]
  #last: readonly Policy[] | null = null

  constructor(opened: readonly Policy[]) {
    this.policies = opened
    this.#isSeen = opened.map(() => false)
  }

  /** Takes the policies that a key is about to be charged under. True if that changes anything. */
  see(policies: readonly Policy[]): boolean {
    return policies !== this.#last && this.#compare(policies)
  }

  /** Takes one tier's policy. 0 and `Infinity` charge nobody. */
  seeTier(tier: number, policy: Policy): boolean {
    const { limit, burst } = policy
    if (limit === 0 || limit === Number.POSITIVE_INFINITY) return false
    const known = this.policies[tier]!
    const isFirst = !this.#isSeen[tier]
    this.#isSeen[tier] = true
    if (policy === known) return false
    const [low, least] = isFirst ? [limit, burst] : [Math.min(limit, known.limit), lesser(burst, known.burst)]
    if (low === known.limit && least === known.burst) return false
    const lowest = low === limit && least === burst ? policy : withLimit(policy, low, least)
    this.policies = this.policies.with(tier, lowest)
    return true
  }

  /** The lowest limit that was charged under; `Infinity` if none was. */
  limitOf(tier: number): number {
    return this.#isSeen[tier] ? this.policies[tier]!.limit : Number.POSITIVE_INFINITY
  }

  /** True if they are not those of the policies that the limiter was opened with. */
  variesFrom(opened: readonly Policy[]): boolean {
    return this.policies.some((policy, i) => policy !== opened[i])
  }

  #compare(policies: readonly Policy[]): boolean {
    this.#last = policies
    let isChanged = false
    for (let i = 0; i < policies.length; i++) if (this.seeTier(i, policies[i]!)) isChanged = true
    return isChanged
  }
}

/** The lesser burst of two, where the policies have any. */
function lesser(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}
