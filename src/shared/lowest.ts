import { type Policy, withLimit } from '../core/policy.js'
import type { SharedMemory } from './memory.js'
import type { Region } from './region.js'
import { numberOf } from './word.js'

/**
 * The lowest limit that any thread has charged under, a policy each: under it keys owe for the longest time, so it
 * tells when a key may be forgotten. It is lowered before a charge is swapped in, and only ever lowered.
 */
export class Lowest {
  readonly #words: BigInt64Array
  readonly #places: readonly number[]
  readonly #opened: readonly Policy[]
  /** What this thread knows; `Infinity` until something was charged. */
  readonly #known: number[]
  #charged: readonly Policy[] | null = null
  #policies: readonly Policy[]

  constructor(memory: SharedMemory, { tiers, tierUnits }: Region, policies: readonly Policy[]) {
    this.#words = memory.words
    this.#places = policies.map((_, i) => tiers + i * tierUnits + 1)
    this.#opened = policies
    this.#policies = policies
    this.#known = policies.map(() => Number.POSITIVE_INFINITY)
  }

  /** Takes the limits that something is about to be charged under. */
  lower(policies: readonly Policy[]): void {
    if (policies === this.#charged) return
    for (let i = 0; i < policies.length; i++) {
      const { limit } = policies[i]!
      // 0 charges nobody.
      if (limit > 0 && limit < this.#known[i]!) this.#lowerTo(i, limit)
    }
    this.#charged = policies
  }

  /** The policies with the lowest limits. */
  learn(): readonly Policy[] {
    for (let i = 0; i < this.#places.length; i++) {
      const limit = numberOf(Atomics.load(this.#words, this.#places[i]!))
      if (limit > 0 && limit < this.#known[i]!) this.#know(i, limit)
    }
    return this.#policies
  }

  #lowerTo(i: number, limit: number): void {
    const at = this.#places[i]!
    for (;;) {
      const word = Atomics.load(this.#words, at)
      const lowest = numberOf(word)
      const isLower = lowest === 0 || limit < lowest
      if (isLower && Atomics.compareExchange(this.#words, at, word, BigInt(limit)) !== word) continue
      this.#know(i, isLower ? limit : lowest)
      return
    }
  }

  #know(i: number, limit: number): void {
    this.#known[i] = limit
    const opened = this.#opened[i]!
    const policy = limit === opened.limit ? opened : withLimit(opened, limit)
    this.#policies = this.#policies.map((known, j) => (j === i ? policy : known))
  }
}
