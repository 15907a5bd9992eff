import type { Bucket } from '../core/bucket.js'

/**
 * A time in which nothing that a full table holds ends: known once a walk has come to every entry, and none was added or
 * given anything back since. Charges only put off when an entry ends.
 */
export class Lull {
  readonly #bucket: Bucket
  /** The first of the entries' ends, on each policy's steady time; an entry counts where it owes for the longest. */
  readonly #ends: Float64Array
  /** Segments that the walk has not come to; -1 before it has begun. */
  #left = -1

  constructor(bucket: Bucket) {
    this.#bucket = bucket
    this.#ends = new Float64Array(bucket.tiers.length)
  }

  /** True as long as no entry can have ended. */
  get lasts(): boolean {
    if (this.#left !== 0) return false
    const { tiers } = this.#bucket
    for (let i = 0; i < tiers.length; i++) if (tiers[i]!.steady.now >= this.#ends[i]!) return false
    return true
  }

  /** Says that the walk comes to the next of so many segments; it begins at the first that is told. */
  enter(segments: number): void {
    if (this.#left === 0 && !this.lasts) this.#left = -1
    if (this.#left > 0) this.#left--
    else if (this.#left < 0) {
      this.#left = segments
      this.#ends.fill(Number.POSITIVE_INFINITY)
    }
  }

  /** Looks at the entry at `base`; true if it has ended. */
  isOver(cells: Float64Array, base: number): boolean {
    const { tiers, lowest } = this.#bucket
    let longest = 0
    let latest = 0
    for (let i = 0; i < tiers.length; i++) {
      const resetMs = tiers[i]!.resetMs(cells, base, lowest.policies[i]!)
      if (resetMs <= longest) continue
      longest = resetMs
      latest = i
    }
    if (longest === 0) return true
    const end = tiers[latest]!.steady.now + longest
    if (end < this.#ends[latest]!) this.#ends[latest] = end
    return false
  }

  /** Ends it: an entry was added, or may end sooner. */
  forget(): void {
    this.#left = -1
  }
}
