import type { Bucket } from '../core/bucket.js'
import type { Policy } from '../core/policy.js'
import type { Tier } from '../core/tier.js'
import { Extents, Level } from './extents.js'

/** Slots that a tier that grows has in an entry at the least. */
const fewestSlots = 8

/**
 * The numbers of a limiter's keys where their strategies grow. An entry of the table has a few for each tier, and before
 * them the id of an extent: whoever outgrows the entry moves all of them there, to a larger extent when that is full,
 * and back when most of them are gone. What has no room to grow is thinned: its key is judged more strictly.
 */
export class Growing {
  /** The numbers of the entry that was found last, and where they begin. */
  cells: Float64Array = new Float64Array(0)
  base = 0
  /** Slots of an entry. */
  readonly slots: number
  readonly #bucket: Bucket
  /** The bytes that extents may take now. */
  readonly #mostBytes: () => number
  #extents = new Extents()
  /** What each tier has in an entry, and what it may come to need. */
  readonly #inline: Level
  #full: readonly number[]
  #levels: readonly Level[]
  #rooms: readonly number[]

  constructor(bucket: Bucket, mostBytes: () => number) {
    this.#bucket = bucket
    this.#mostBytes = mostBytes
    this.#full = bucket.tiers.map((tier) => tier.slots)
    this.#rooms = this.#full
    this.#inline = new Level(0, bucket.tiers.map(inlineOf))
    this.slots = 1 + this.#inline.size
    this.#levels = this.#levelsUpTo(this.#full)
  }

  /** Bytes beside the table. */
  get bytes(): number {
    return this.#extents.bytes
  }

  /** Slots that an entry takes beside the table where its key has used all that it may. */
  get mostSlots(): number {
    return this.#levels.at(-1)!.size
  }

  /** Finds where the numbers of the entry at `at` are, and lays out the bucket by them. */
  find(table: Float64Array, at: number): void {
    const id = table[at]!
    if (id === 0) this.#turnTo(table, at + 1, this.#inline)
    else {
      const chunk = this.#extents.chunkOf(id)
      this.#turnTo(chunk.cells, chunk.baseOf(id), chunk.level)
    }
  }

  /** Opens an entry in the bucket. */
  open(table: Float64Array, at: number): void {
    this.find(table, at)
    this.#bucket.open(this.cells, this.base)
  }

  /** The same, with room for a charge. */
  openWide(table: Float64Array, at: number): void {
    this.find(table, at)
    if (!this.#fits()) this.#move(table, at, this.#leastRank())
    this.#bucket.open(this.cells, this.base)
  }

  /** Opens an entry of zeros, with room for a charge, for numbers in the full layout; null for zeros. */
  openNew(table: Float64Array, at: number, numbers: Float64Array | null): void {
    if (numbers !== null) {
      this.leave()
      this.cells = numbers
      this.base = 0
      this.#move(table, at, this.#leastRank())
    } else this.find(table, at)
    this.#bucket.open(this.cells, this.base)
  }

  /** Makes an entry one of zeros. */
  empty(table: Float64Array, at: number): void {
    this.release(table, at)
    table.fill(0, at, at + this.slots)
  }

  /** Gives back what an entry has outside of the table. */
  release(table: Float64Array, at: number): void {
    if (table[at]! > 0) this.#extents.give(table[at]!)
    table[at] = 0
  }

  /** Lays out the bucket with all the slots that it may need. */
  leave(): void {
    this.#layOut(this.#full)
  }

  clear(): void {
    this.#extents = new Extents()
    this.#levels = this.#levelsUpTo(this.#full)
  }

  /** How many slots each tier may need for other limits, or null if that is no more than before. */
  widerFor(policies: readonly Policy[]): readonly number[] | null {
    for (let i = 0; i < policies.length; i++)
      if (policies[i]!.slots > this.#full[i]!)
        return this.#full.map((slots, tier) => Math.max(slots, policies[tier]!.slots))
    return null
  }

  /** Has tiers need more from now on. Extents that there are stay as they are. */
  widen(wider: readonly number[]): void {
    this.#full = wider
    this.#levels = this.#levelsUpTo(wider)
    this.leave()
  }

  #levelsUpTo(full: readonly number[]): readonly Level[] {
    const levels = [this.#inline]
    const isFull = ({ rooms }: Level) => rooms.every((room, i) => room >= full[i]!)
    while (!isFull(levels.at(-1)!)) {
      const rooms = this.#inline.rooms.map((room, i) =>
        Math.max(room, Math.min(full[i]!, room * 2 ** levels.length))
      )
      levels.push(new Level(levels.length, rooms))
    }
    return levels
  }

  #turnTo(cells: Float64Array, base: number, { rooms }: Level): void {
    this.cells = cells
    this.base = base
    this.#layOut(rooms)
  }

  #layOut(rooms: readonly number[]): void {
    if (rooms === this.#rooms) return
    this.#rooms = rooms
    this.#bucket.layOut(rooms)
  }

  /** True if tiers have what they need where they are, and not all that grow have more than thrice as much again. */
  #fits(): boolean {
    const { tiers } = this.#bucket
    let isLoose = true
    for (let i = 0; i < tiers.length; i++) {
      const room = this.#rooms[i]!
      const needs = this.#needsOf(tiers[i]!, i)
      if (needs > room) return false
      if (needs * 4 > room && room > this.#inline.rooms[i]!) isLoose = false
    }
    return !isLoose || this.#rooms === this.#inline.rooms
  }

  /** The rank of the smallest place that has what tiers need. */
  #leastRank(): number {
    const { tiers } = this.#bucket
    let least = 0
    for (let i = 0; i < tiers.length; i++) {
      const needs = this.#needsOf(tiers[i]!, i)
      while (least < this.#levels.length - 1 && this.#levels[least]!.rooms[i]! < needs) least++
    }
    return least
  }

  /** A limit of 0 or `Infinity` charges nothing: what there is stays. */
  #needsOf({ offset, policy }: Tier, i: number): number {
    const { growth } = policy.strategy
    return growth === undefined ? this.#rooms[i]! : growth.needs(this.cells, this.base + offset, policy)
  }

  /** Moves the numbers that were found to a place of this rank, and finds them there. */
  #move(table: Float64Array, at: number, rank: number): void {
    const level = this.#levels[rank]!
    const id = rank === 0 ? 0 : this.#extents.take(level, this.#mostBytes())
    const isInline = rank === 0 || (id === 0 && this.#rooms === this.#full)
    if (id === 0 && !isInline) {
      this.#thin(this.#rooms)
      return
    }
    if (id === 0 && rank > 0) this.#thin(this.#inline.rooms)
    const { cells, base } = this
    const from = this.#rooms
    const old = table[at]!
    table[at] = id
    this.find(table, at)
    let source = base
    let target = this.base
    for (let i = 0; i < from.length; i++) {
      const count = Math.min(from[i]!, this.#rooms[i]!)
      for (let slot = 0; slot < count; slot++) this.cells[target + slot] = cells[source + slot]!
      source += from[i]!
      target += this.#rooms[i]!
    }
    if (old > 0) this.#extents.give(old)
  }

  #thin(rooms: readonly number[]): void {
    for (const [i, tier] of this.#bucket.tiers.entries())
      tier.policy.strategy.growth?.thin(this.cells, this.base + tier.offset, tier.policy, rooms[i]!)
  }
}

/** The slots that a tier has in an entry. */
function inlineOf({ policy, slots }: Tier): number {
  const { growth } = policy.strategy
  if (growth === undefined) return slots
  return Math.max(fewestSlots, growth.needs(new Float64Array(slots), 0, policy))
}

/** True for tiers of which some grow, and no other needs more slots for another limit. */
export function canGrow(tiers: readonly Tier[]): boolean {
  return (
    tiers.some(({ policy }) => policy.strategy.growth !== undefined) &&
    tiers.every(({ policy }) => policy.strategy.growth !== undefined || !varies(policy))
  )
}

function varies(policy: Policy): boolean {
  return policy.strategy.slots({ ...policy, limit: policy.limit + 1 }) !== policy.slots
}
