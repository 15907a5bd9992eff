/** Keys that are denied until an instant, whatever their policies say. Few: they are kept by their text. */
export class Blocks {
  readonly #until = new Map<string, number>()

  /** Takes a block, unless as many others as `most` are in force. */
  add(key: string, until: number, now: number, most: number): boolean {
    if (this.#until.size >= most) this.#purge(now)
    if (this.#until.size >= most && !this.#until.has(key)) return false
    this.#until.set(key, until)
    return true
  }

  /** For how many ms more a key is denied; 0 if it is not. */
  left(key: string, now: number): number {
    const until = this.#until.get(key)
    if (until === undefined) return 0
    if (until > now) return until - now
    this.#until.delete(key)
    return 0
  }

  delete(key: string): void {
    this.#until.delete(key)
  }

  get isEmpty(): boolean {
    return this.#until.size === 0
  }

  #purge(now: number): void {
    for (const [key, until] of this.#until) if (until <= now) this.#until.delete(key)
  }
}
