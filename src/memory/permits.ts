import type { PermitCounts } from '../core/permit-counts.js'

/** How many keys without permits are remembered beside as many as have some. */
const mostIdle = 1000

/**
 * The permits of each key that are out, of one process. A key whose last permit has come back is forgotten only once there
 * are many such: most come again, and to add one costs more than to change it (bench/in-flight.js).
 */
export class Permits implements PermitCounts {
  before = 0
  /** What each key is known by: the place of its count, and 1. */
  readonly #permits = new Map<string, number>()
  readonly #counts: number[] = []
  readonly #free: number[] = []
  #used = 0

  count(key: string): number {
    const permit = this.#permits.get(key)
    return permit === undefined ? 0 : this.#counts[permit - 1]!
  }

  take(key: string, cost: number, limit: number): number {
    const permit = this.#permits.get(key) ?? this.#added(key)
    const before = this.#counts[permit - 1]!
    this.before = before
    if (before + cost > limit) return 0
    if (before === 0) this.#used++
    this.#counts[permit - 1] = before + cost
    return permit
  }

  /** A key that has permits out is not forgotten, so that its place is its own. */
  release(_key: string, permit: number, cost: number): void {
    const count = this.#counts[permit - 1]! - cost
    this.#counts[permit - 1] = count
    if (count === 0) this.#used--
  }

  size(): number {
    return this.#used
  }

  #added(key: string): number {
    if (this.#permits.size > 2 * this.#used + mostIdle) this.#forgetIdle()
    const permit = this.#free.pop() ?? this.#counts.length + 1
    this.#counts[permit - 1] = 0
    this.#permits.set(key, permit)
    return permit
  }

  #forgetIdle(): void {
    for (const [key, permit] of this.#permits) {
      if (this.#counts[permit - 1] !== 0) continue
      this.#permits.delete(key)
      this.#free.push(permit)
    }
  }
}
