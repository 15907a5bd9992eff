import { Tiers } from '../core/bucket.js'
import type { Policy } from '../core/policy.js'
import { Deed } from '../redis/lua-script.js'

/** The limits that a limiter has decided by in this process: its own, and those that were computed for requests. */
export class Limits {
  readonly #own: readonly Policy[]
  /** They note the lowest. */
  readonly #tiers: Tiers
  #slowest: readonly Policy[]
  #last: readonly Policy[] | null = null

  constructor(own: readonly Policy[]) {
    this.#own = own
    this.#tiers = new Tiers(own)
    this.#slowest = own
  }

  /** Learns what is to be decided by; true if a limit is lower than all before it. */
  see(deed: Deed, policies: readonly Policy[]): boolean {
    // What is done by hand goes by the limiter's own limits, which may only stand in for computed ones.
    if (policies === this.#last || deed === Deed.peek || deed > Deed.refund) return false
    this.#last = policies
    this.#tiers.adopt(policies, policies !== this.#own)
    const slowest = this.#tiers.all.map((tier) => tier.slowest)
    if (areSame(slowest, this.#slowest)) return false
    this.#slowest = slowest
    return true
  }

  /** The policies with the lowest limits seen; null where these are the limiter's own, and those are the lowest. */
  slowestBeside(policies: readonly Policy[]): readonly Policy[] | null {
    return policies === this.#own && areSame(this.#slowest, this.#own) ? null : this.#slowest
  }
}

function areSame(some: readonly Policy[], others: readonly Policy[]): boolean {
  return some.every((policy, i) => policy === others[i])
}
