import type { Blocked, BlocksFound } from '../store.js'

/** The least of many texts, without sorting all of them. */
export class Least {
  readonly #most: number
  #texts: string[] = []
  /** None above it is among the least. */
  #bound: string | null = null

  constructor(most: number) {
    this.#most = most
  }

  add(text: string): void {
    if (this.#bound !== null && text >= this.#bound) return
    this.#texts.push(text)
    if (this.#texts.length >= 2 * this.#most) this.#cut()
  }

  /** They are in the order of their UTF-16. */
  sorted(): readonly string[] {
    this.#cut()
    return this.#texts
  }

  #cut(): void {
    this.#texts = this.#texts.sort().slice(0, this.#most)
    if (this.#texts.length === this.#most) this.#bound = this.#texts.at(-1)!
  }
}

/** A page of sorted keys, of which there is one more where another page follows. */
export function pageOf(keys: readonly string[], limit: number, leftOf: (key: string) => number): BlocksFound {
  const blocks: Blocked[] = keys.slice(0, limit).map((key) => ({ key, remainingMs: leftOf(key) }))
  return { blocks, next: keys.length > limit ? blocks.at(-1)!.key : null }
}
