import type { PermitCounts } from '../core/permit-counts.js'

/** How many keys without permits are remembered beside as many as have some. */
const mostIdle = 1000

/**
 * The permits of each key that are out, of one process. A key whose last permit has come back is forgotten only once there
 * are many such: most come again, and to add one costs more than to change it (bench/decision.js, in flight).
 */
export class Permits implements PermitCounts {
  before = 0
  readonly #counts = new Map<string, Count>()
  #used = 0

  count(key: string): number {
    return this.#counts.get(key)?.out ?? 0
  }

  take(key: string, cost: number, limit: number): boolean {
    const count = this.#counts.get(key) ?? this.#added(key)
    const before = count.out
    this.before = before
    if (before + cost > limit) return false
    if (before === 0) this.#used++
    count.out = before + cost
    return true
  }

  release(key: string, cost: number): void {
    const count = this.#counts.get(key)!
    count.out -= cost
    if (count.out === 0) this.#used--
  }

  size(): number {
    return this.#used
  }

  #added(key: string): Count {
    if (this.#counts.size > 2 * this.#used + mostIdle) this.#forgetIdle()
    const count = { out: 0 }
    this.#counts.set(key, count)
    return count
  }

  #forgetIdle(): void {
    for (const [key, { out }] of this.#counts) if (out === 0) this.#counts.delete(key)
  }
}

/** How many permits of a key are out. */
interface Count {
  out: number
}
