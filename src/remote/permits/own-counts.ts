/** How many permits of each key this process has out, wherever they were counted. */
export class OwnCounts {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, cost: number): void {
    this.#counts.set(key, this.of(key) + cost)
  }

  /** Adds as many if there are no more than `limit` then; false if there would be. */
  take(key: string, cost: number, limit: number): boolean {
    if (this.of(key) + cost > limit) return false
    this.add(key, cost)
    return true
  }

  release(key: string, cost: number): void {
    const count = this.of(key) - cost
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}
