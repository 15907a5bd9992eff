import { HeadgateError } from '../core/errors.js'
import { type Identity, ruleClash } from '../core/names.js'
import type { Policy } from '../core/policy.js'
import { digestOf } from './digest.js'
import type { SharedMemory } from './memory.js'
import { mostThreads } from './records.js'
import { type Region, regionOf } from './region.js'

/** Limiters that a buffer has room for, if they are not too large. */
export const mostRegions = 1024

/** Each thread may hold one that lost a race. */
const mostDrafts = mostThreads + mostRegions

/** Whole numbers that describe a region: four that identify it, four of its rule, the units that it takes. */
const draftInts = 16

/** Whole numbers that the list of regions takes. */
export const regionListInts = 16 + mostRegions + mostDrafts * draftInts

/**
 * The regions of a buffer, in the order in which they were opened. The list grows by compare-and-swap of its first
 * free place from 0 to a description that is complete; who loses looks at what has won. Where a region begins follows
 * from the sizes of those before it, and a region of zeros is empty: nothing else has to be prepared.
 */
export class Regions {
  readonly #ints: Int32Array
  readonly #list: number
  readonly #drafts: number
  readonly #end: number
  #draft = 0
  /** The units of limiters that found no room, by what tells them apart: an error says what all of them need. */
  readonly #refused = new Map<string, number>()

  /** @param list the place of the list @param end the units of the whole buffer */
  constructor({ ints }: SharedMemory, list: number, end: number) {
    this.#ints = ints
    this.#list = list
    this.#drafts = list + 16 + mostRegions - draftInts
    this.#end = end
  }

  /**
   * The region of a limiter, which it has from now on.
   * @throws HeadgateError `HEADGATE_POLICY_CLASH` where its name has another rule, `HEADGATE_STORE_FULL`
   */
  open(identity: Identity, policies: readonly Policy[], maxKeys: number, first: number): Region {
    const id = digestOf(identity.id)
    const rule = digestOf(identity.rule)
    let begin = first
    for (let i = 0; i < mostRegions; i++) {
      const at = this.#list + 16 + i
      const draft =
        Atomics.load(this.#ints, at) ||
        this.#append(at, [...id, ...rule], this.#checkRoom(identity, regionOf(policies, maxKeys, begin)))
      if (this.#matches(draft, 0, id)) {
        if (this.#matches(draft, 4, rule)) return regionOf(policies, maxKeys, begin)
        throw ruleClash(identity.names, 'a limiter of another thread', identity.label)
      }
      begin += this.#draftAt(draft, 8) + this.#draftAt(draft, 9) * 2 ** 30
    }
    this.#refused.set(identity.id, 0)
    throw new HeadgateError(
      'HEADGATE_STORE_FULL',
      `A shared store has room for ${mostRegions} limiters, and ${mostRegions + this.#refused.size} are asked for: let some share their counters, or make another store.`
    )
  }

  #checkRoom({ id, label }: Identity, region: Region): Region {
    const { units, tiers: begin } = region
    if (begin + units <= this.#end) return region
    this.#refused.set(id, units)
    const needed = [...this.#refused.values()].reduce((sum, one) => sum + one, begin)
    throw new HeadgateError(
      'HEADGATE_STORE_FULL',
      `${label} needs ${units * 8} bytes of the shared store, and ${(this.#end - begin) * 8} are left: give it a \`maxBytes\` of at least ${needed * 8} for all that it has been asked for, or a lower \`maxKeys\`.`
    )
  }

  /** Appends a region to the list, and gives the one that is there then. */
  #append(at: number, identity: readonly number[], { units }: Region): number {
    this.#draft ||= Atomics.add(this.#ints, this.#list, 1) + 1
    const begin = this.#drafts + this.#draft * draftInts
    this.#ints.set([...identity, units % 2 ** 30, Math.floor(units / 2 ** 30)], begin)
    const winner = Atomics.compareExchange(this.#ints, at, 0, this.#draft)
    if (winner !== 0) return winner
    const draft = this.#draft
    this.#draft = 0
    return draft
  }

  #matches(draft: number, offset: number, digest: Int32Array): boolean {
    return digest.every((word, i) => this.#draftAt(draft, offset + i) === word)
  }

  #draftAt(draft: number, i: number): number {
    return this.#ints[this.#drafts + draft * draftInts + i]!
  }
}
