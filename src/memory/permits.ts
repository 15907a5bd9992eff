import type { PermitCounts } from '../core/permit-counts.js'

/** The permits of each key that are out, of one process. */
export class Permits implements PermitCounts {
  readonly #counts = new Map<string, number>()

  count(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  take(key: string, cost: number, limit: number): boolean {
    const count = (this.#counts.get(key) ?? 0) + cost
    if (count > limit) return false
    this.#counts.set(key, count)
    return true
  }

  release(key: string, cost: number): void {
    const count = this.count(key) - cost
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }

  size(): number {
    return this.#counts.size
  }
}
