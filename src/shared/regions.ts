import { HeadgateError } from '../core/errors.js'
import { type Identity, ruleClash } from '../core/names.js'
import type { Policy } from '../core/policy.js'
import { digestOf } from './digest.js'
import type { SharedMemory } from './memory.js'
import { type Region, regionOf } from './region.js'
import { blocksPoolAt } from './shared-blocks.js'
import { mostThreads } from './slots.js'

/** Where the parts of a region begin: the words of its tiers, and the pools of its records. */
interface Places {
  readonly units: number
  readonly tiers: number
  readonly table: number
  readonly blocks: number
  /** -1 where it has none. */
  readonly permits: number
}

/** A region of the list. */
export interface ListedRegion extends Places {
  /** What it is known by, and its rule. */
  readonly identity: Int32Array
  /** False for what was restored, and no limiter has opened since. */
  readonly isOpened: boolean
}

/**
 * A bit of the first word of an identity, set as long as no limiter has opened a region that was restored: until then its name
 * may have another rule.
 */
const unopened = 1

/** Limiters that a buffer has room for, if they are not too large. */
export const mostRegions = 1024

/** The thread at each place may hold one that lost a race; who comes there next takes it over. */
const mostDrafts = mostThreads + mostRegions

/**
 * Whole numbers that describe a region: four that identify it, four of its rule, two for the units that it takes and for
 * each place in it of a pool of records. That of the permits is 0 where it has none.
 */
const draftInts = 16
const Draft = { units: 8, table: 10, blocks: 12, permits: 14 } as const

/** Where the draft of the thread at each place is noted. */
const ownDraftsAt = 16 + mostRegions + mostDrafts * draftInts

/** Whole numbers that the list of regions takes. */
export const regionListInts = ownDraftsAt + mostThreads

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
  readonly #memory: SharedMemory
  /** The units of limiters that found no room, by what tells them apart: an error says what all of them need. */
  readonly #refused = new Map<string, number>()

  /** @param list the place of the list @param end the units of the whole buffer */
  constructor(memory: SharedMemory, list: number, end: number) {
    const { ints } = memory
    this.#memory = memory
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
    id[0]! &= ~unopened
    const rule = digestOf(identity.rule)
    let begin = first
    for (let i = 0; i < mostRegions; i++) {
      const at = this.#list + 16 + i
      const draft =
        Atomics.load(this.#ints, at) ||
        this.#append(at, [...id, ...rule], this.#checkRoom(identity, regionOf(policies, maxKeys, begin)))
      if (this.#matches(draft, 4, rule) && this.#isOf(draft, id)) return regionOf(policies, maxKeys, begin)
      if (this.#matches(draft, 0, id))
        throw ruleClash(identity.names, 'a limiter of another thread', identity.label)
      begin += this.#sumAt(draft, Draft.units)
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

  /** All regions, the first being at `first`. */
  *all(first: number): Generator<ListedRegion> {
    let begin = first
    for (const draft of this.#listed()) {
      const identity = Int32Array.from({ length: 8 }, (_, i) => this.#draftAt(draft, i))
      const permits = this.#sumAt(draft, Draft.permits)
      const units = this.#sumAt(draft, Draft.units)
      const [table, blocks] = [this.#sumAt(draft, Draft.table), this.#sumAt(draft, Draft.blocks)]
      const isOpened = (identity[0]! & unopened) === 0
      identity[0]! &= ~unopened
      yield {
        ...{ identity, units, tiers: begin, table: begin + table, blocks: begin + blocks, isOpened },
        permits: permits > 0 ? begin + permits : -1
      }
      begin += units
    }
  }

  /**
   * Appends a region that was saved, for limiters to open.
   * @throws HeadgateError `HEADGATE_STORE_FULL`
   */
  restore(region: ListedRegion): void {
    const { units, tiers } = region
    if (tiers + units > this.#end)
      throw new HeadgateError(
        'HEADGATE_STORE_FULL',
        `What was saved needs ${(tiers + units) * 8} bytes and more: give the store a \`maxBytes\` as large as it had.`
      )
    const identity = Array.from(region.identity, (word, i) => (i === 0 ? word | unopened : word))
    const at = this.#list + 16 + [...this.#listed()].length
    this.#ints[at] = this.#drafted(identity, region)
  }

  /** Where the pools of records of all regions begin, the first region being at `first`. */
  *pools(first: number): Generator<number> {
    let begin = first
    for (const draft of this.#listed()) {
      yield begin + this.#sumAt(draft, Draft.table)
      yield begin + this.#sumAt(draft, Draft.blocks)
      begin += this.#sumAt(draft, Draft.units)
    }
    yield* this.permits(first)
  }

  /** Where the permits of all regions that have any begin. */
  *permits(first: number): Generator<number> {
    let begin = first
    for (const draft of this.#listed()) {
      const permits = this.#sumAt(draft, Draft.permits)
      if (permits > 0) yield begin + permits
      begin += this.#sumAt(draft, Draft.units)
    }
  }

  *#listed(): Generator<number> {
    for (let i = 0; i < mostRegions; i++) {
      const draft = Atomics.load(this.#ints, this.#list + 16 + i)
      if (draft === 0) return
      yield draft
    }
  }

  /** Appends a region to the list, and gives the one that is there then. */
  #append(at: number, identity: readonly number[], region: Region): number {
    const draft = this.#drafted(identity, { ...region, blocks: blocksPoolAt(region.blocks) })
    const winner = Atomics.compareExchange(this.#ints, at, 0, draft)
    return winner === 0 ? draft : winner
  }

  /** A draft of a region, `blocks` being where the pool of their records begins. */
  #drafted(identity: readonly number[], { units, tiers, table, blocks, permits }: Places): number {
    const draft = this.#draftOf()
    const places = [units, table - tiers, blocks - tiers, Math.max(0, permits - tiers)]
    const halves = places.flatMap((place) => [place % 2 ** 30, Math.floor(place / 2 ** 30)])
    this.#ints.set([...identity, ...halves], this.#drafts + draft * draftInts)
    return draft
  }

  /** A draft that is not in the list: the last of whoever is or was at this place, unless that is in the list now. */
  #draftOf(): number {
    const { slot } = this.#memory.attachment
    const at = this.#list + ownDraftsAt + Math.max(0, slot)
    const own = slot < 0 ? 0 : this.#ints[at]!
    if (own > 0 && !this.#isListed(own)) return own
    const draft = Atomics.add(this.#ints, this.#list, 1) + 1
    if (draft > mostDrafts)
      throw new HeadgateError(
        'HEADGATE_STORE_FULL',
        'Threads that were killed while they made limiters took the last room of the shared store for them: make a new one.'
      )
    if (slot >= 0) this.#ints[at] = draft
    return draft
  }

  #isListed(draft: number): boolean {
    for (const listed of this.#listed()) if (listed === draft) return true
    return false
  }

  /** True where a region is of a limiter, which has opened it from now on. */
  #isOf(draft: number, id: Int32Array): boolean {
    if (!id.every((word, i) => (this.#draftAt(draft, i) & (i === 0 ? ~unopened : -1)) === word)) return false
    Atomics.store(this.#ints, this.#drafts + draft * draftInts, id[0]!)
    return true
  }

  #matches(draft: number, offset: number, digest: Int32Array): boolean {
    return digest.every((word, i) => this.#draftAt(draft, offset + i) === word)
  }

  #sumAt(draft: number, i: number): number {
    return this.#draftAt(draft, i) + this.#draftAt(draft, i + 1) * 2 ** 30
  }

  #draftAt(draft: number, i: number): number {
    return this.#ints[this.#drafts + draft * draftInts + i]!
  }
}
