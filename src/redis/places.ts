import { tagOf } from './keys.js'
import type { Link } from './link.js'
import type { Node } from './nodes.js'
import { slotOf } from './slot.js'

/** Where a user's key stands. */
export interface Place {
  readonly node: Node
  readonly slot: number
  /** Its keys on the server: one for the limiter, then one for each tier that has its own. All have one hash tag. */
  readonly keys: readonly string[]
}

/** Finds the places of one limiter's keys. */
export class Places {
  readonly #prefix: string
  readonly #suffixes: readonly string[]
  readonly #link: Link

  /** `suffixes`: what follows the hash tag. */
  constructor(link: Link, prefix: string, suffixes: readonly string[]) {
    this.#link = link
    this.#prefix = prefix
    this.#suffixes = suffixes
  }

  of(key: string): Place {
    const tag = tagOf(key)
    const slot = this.#link.connection.isCluster ? slotOf(tag) : 0
    const begin = `${this.#prefix}{${tag}}`
    return { node: this.#link.nodeOf(slot), slot, keys: this.#suffixes.map((suffix) => begin + suffix) }
  }
}
