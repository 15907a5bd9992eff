import type { Bucket } from '../core/bucket.js'
import { HeadgateError } from '../core/errors.js'
import { isIdle, isSpent } from '../core/owing.js'
import { Fingerprint, ownSeed } from './fingerprint.js'
import { canGrow, Growing } from './growing.js'
import { Lull } from './lull.js'
import type { Mover, Segment } from './segment.js'
import { bytesPerKey, type IsSpent, Table } from './table.js'

const defaultMaxKeys = 1_000_000
const defaultMaxBytes = 256 * 2 ** 20

/** The part of those bytes that what grows leaves to the table, so that there is room for newcomers. */
const tableShare = 1 / 8

/** Entries that each new key looks at for one to reclaim: at least as many as it adds, so idle keys go. */
const sweepPerKey = 2

/** Entries that a new key looks at when the table is full, before it is turned away. */
const sweepWhenFull = 64

/** Which keys have room in the table, and how others come by it: keys that owe nothing go, keys that owe stay. */
export class KeyTable {
  table: Table
  /** The most keys that it holds. */
  maxKeys: number
  /** The fingerprint of the key at hand. */
  readonly print: Fingerprint
  /** Where the numbers of keys are that take as many as they need; null if each has all in the table. */
  readonly growing: Growing | null
  readonly #bucket: Bucket
  readonly #askedKeys: number | undefined
  readonly #maxBytes: number
  readonly #isSpent: IsSpent
  /** True for what is idle, which is to be dropped then. */
  readonly #isIdle: IsSpent
  /** The same for what is spent; of the rest the lull notes when it ends. */
  readonly #isOver: IsSpent
  /** Where a full table was looked at last, in the segment whose turn it is. */
  #index = 0
  readonly #lull: Lull

  /**
   * @param askedKeys the most keys, or undefined for the default bound on keys and bytes
   * @param maxBytes the bound on bytes: by default 256 MiB, or none where keys were asked for
   * @param seed that of the fingerprints
   */
  constructor(bucket: Bucket, askedKeys: number | undefined, maxBytes?: number, seed = ownSeed) {
    this.print = new Fingerprint(seed)
    this.#bucket = bucket
    this.#askedKeys = askedKeys
    this.#maxBytes = maxBytes ?? (askedKeys === undefined ? defaultMaxBytes : Number.POSITIVE_INFINITY)
    this.growing = canGrow(bucket.tiers) ? new Growing(bucket, () => this.#bytesToGrow) : null
    this.#lull = new Lull(bucket)
    this.#isSpent = this.#found((cells, base) => isSpent(bucket, cells, base))
    this.#isIdle = this.#dropped((cells, base) => isIdle(bucket, cells, base))
    this.#isOver = this.#dropped((cells, base) => this.#lull.isOver(cells, base))
    this.maxKeys = this.#boundOf(this.#entrySlots)
    this.table = new Table(this.#entrySlots, this.maxKeys)
  }

  /** The numbers of the key at hand, and of others. */
  get cells(): Float64Array {
    return this.table.segment.cells
  }

  /** Where the numbers of a key begin in `cells`, or -1; it is then the key at hand. */
  find(key: string): number {
    const { print } = this
    print.of(key)
    const index = this.table.find(print.low, print.high)
    return index < 0 ? -1 : this.table.segment.baseOf(index)
  }

  /** Adds the key at hand, and returns where its zeros begin in `cells`; -1 if the table is full. */
  admit(): number {
    const { table, print } = this
    if (this.#isFull && this.#lull.lasts) return -1
    this.#sweep()
    if (this.#isFull) this.#sweepFull()
    if (this.#isFull) return -1
    this.#lull.forget()
    return table.segment.baseOf(table.insert(print.low, print.high, this.#isIdle))
  }

  /** True if the user has said how many keys there are to be. */
  get isBounded(): boolean {
    return this.#askedKeys !== undefined
  }

  /** How many keys there is room for where each has used all that it may. */
  get leastKeys(): number {
    const { growing } = this
    if (growing === null || this.isBounded) return this.maxKeys
    const beside = growing.mostSlots > growing.slots ? growing.mostSlots * 8 : 0
    return Math.max(
      1,
      Math.min(this.maxKeys, Math.floor(this.#maxBytes / (bytesPerKey(growing.slots) + beside)))
    )
  }

  /** How many keys the overflow is to be made for, whose cells have all the slots that a key may use. */
  get overflowKeys(): number {
    const { slots } = this.#bucket
    return this.growing === null
      ? this.maxKeys
      : fittingKeys(slots, this.maxKeys, Math.min(this.#maxBytes, defaultMaxBytes))
  }

  /** Forgets all keys, and gives their memory back. */
  clear(): void {
    this.table = new Table(this.#entrySlots, this.maxKeys)
    this.growing?.clear()
    this.#index = 0
    this.#lull.forget()
  }

  /** Notes that the key at hand owes less than it did. */
  lightened(): void {
    this.#lull.forget()
  }

  /** How many keys owe something. */
  countOwing(): number {
    let owing = 0
    for (const segment of this.table.segments)
      for (let index = 0; index < segment.size; index++)
        if (segment.isUsed(index) && !this.#isSpent(segment.cells, segment.baseOf(index))) owing++
    return owing
  }

  /**
   * Makes room for more numbers in every entry.
   * @throws HeadgateError `HEADGATE_BAD_LIMIT` where they would pass the default bound on bytes
   */
  widen(slots: number, move: Mover): void {
    const maxKeys = this.#boundOf(slots)
    if (this.table.used > maxKeys) this.table.purge(this.#isSpent)
    if (this.table.used > maxKeys)
      throw new HeadgateError(
        'HEADGATE_BAD_LIMIT',
        `A limit function asks for ${slots * 8} bytes a key, more than ${this.table.used} keys may have together: return a smaller limit, or use a strategy that needs less.`
      )
    this.maxKeys = maxKeys
    // All that it holds stays: what is spent under the limits so far may owe under those to come.
    this.table = this.table.widened(slots, maxKeys, move)
    this.#lull.forget()
  }

  /** Looks at a few entries of the segment at hand, for what has nothing left to say. */
  #sweep(): void {
    const { segment } = this.table
    for (let i = 0; i < sweepPerKey; i++) this.#reclaim(segment, segment.next(), this.#isIdle)
  }

  /** The same for a newcomer that finds the table full: from neighbour to neighbour, as many are looked at (bench/flood.js). */
  #sweepFull(): void {
    const { table } = this
    for (let i = 0; i < sweepWhenFull; i++) {
      if (this.#index >= table.turn.size) {
        table.advance()
        this.#index = 0
      }
      if (this.#index === 0) this.#lull.enter(table.turns)
      this.#reclaim(table.turn, this.#index++, this.#isOver)
    }
  }

  #reclaim(segment: Segment, index: number, isSpent: IsSpent): void {
    if (segment.isUsed(index) && isSpent(segment.cells, segment.baseOf(index)))
      this.table.remove(segment, index)
  }

  /** True if there is room for no further key. */
  get #isFull(): boolean {
    const { table, growing } = this
    return table.used >= this.maxKeys || (growing !== null && table.bytes + growing.bytes >= this.#maxBytes)
  }

  /** The bytes that what grows may take. */
  get #bytesToGrow(): number {
    const most = this.#maxBytes
    return most === Number.POSITIVE_INFINITY ? most : most - Math.max(this.table.bytes, most * tableShare)
  }

  get #entrySlots(): number {
    return this.growing?.slots ?? this.#bucket.slots
  }

  /** Looks at the numbers of entries where they are. */
  #found(isSpent: IsSpent): IsSpent {
    const { growing } = this
    if (growing === null) return isSpent
    return (table, at) => {
      growing.find(table, at)
      return isSpent(growing.cells, growing.base)
    }
  }

  /** The same for entries that are dropped then, with what they have elsewhere. */
  #dropped(isSpent: IsSpent): IsSpent {
    const { growing } = this
    if (growing === null) return isSpent
    const isFound = this.#found(isSpent)
    return (table, at) => {
      if (!isFound(table, at)) return false
      growing.release(table, at)
      return true
    }
  }

  #boundOf(slots: number): number {
    const asked = this.#askedKeys ?? defaultMaxKeys
    return this.#maxBytes === Number.POSITIVE_INFINITY ? asked : fittingKeys(slots, asked, this.#maxBytes)
  }
}

function fittingKeys(slots: number, most: number, maxBytes: number): number {
  return Math.max(1, Math.min(most, Math.floor(maxBytes / bytesPerKey(slots))))
}
