import type { LowestLimits } from '../core/lowest-limits.js'
import { withLimit } from '../core/policy.js'
import type { SharedMemory } from './memory.js'
import type { Region } from './region.js'
import { numberOf } from './word.js'

/**
 * The lowest limits that any thread has charged under, in words that only ever go down. They are lowered before a
 * charge is swapped in: so whoever sees the charge knows for how long it is owed at the most.
 */
export class SharedLimits {
  readonly #words: BigInt64Array
  readonly #at: readonly number[]
  readonly #lowest: LowestLimits
  /** What this thread has published or learnt last, by tier; `Infinity` until anything was charged. */
  readonly #known: number[]

  constructor(memory: SharedMemory, { tiers, tierUnits }: Region, lowest: LowestLimits) {
    this.#words = memory.words
    this.#lowest = lowest
    this.#at = lowest.policies.map((_, i) => tiers + i * tierUnits + 1)
    this.#known = lowest.policies.map(() => Number.POSITIVE_INFINITY)
  }

  /** Tells the other threads of this thread's lowest limits. */
  publish(): void {
    for (let i = 0; i < this.#at.length; i++) {
      const limit = this.#lowest.limitOf(i)
      if (limit < this.#known[i]!) this.#lower(i, limit)
    }
  }

  /** Takes over what other threads have charged under. */
  learn(): void {
    for (let i = 0; i < this.#at.length; i++) {
      const limit = numberOf(Atomics.load(this.#words, this.#at[i]!))
      if (limit > 0 && limit < this.#known[i]!) this.#know(i, limit)
    }
  }

  #lower(tier: number, limit: number): void {
    const at = this.#at[tier]!
    for (;;) {
      const word = Atomics.load(this.#words, at)
      const lowest = numberOf(word)
      const isLower = lowest === 0 || limit < lowest
      if (isLower && Atomics.compareExchange(this.#words, at, word, BigInt(limit)) !== word) continue
      this.#know(tier, isLower ? limit : lowest)
      return
    }
  }

  #know(tier: number, limit: number): void {
    this.#known[tier] = limit
    const policy = this.#lowest.policies[tier]!
    this.#lowest.seeTier(tier, limit === policy.limit ? policy : withLimit(policy, limit))
  }
}
