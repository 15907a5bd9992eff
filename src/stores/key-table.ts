import { HeadgateError } from '../core/errors.js'
import { fingerprint } from './fingerprint.js'
import { bytesPerKey, type Mover, Table } from './table.js'
import type { Tiers } from './tiers.js'

const defaultMaxKeys = 1_000_000
const defaultMaxBytes = 256 * 2 ** 20

/** Entries that each new key looks at for one to reclaim: at least as many as it adds, so spent keys go. */
const sweepPerKey = 2

/** Entries that a new key looks at when the table is full, before it is turned away. */
const sweepWhenFull = 64

/** Which keys have room in the table, and how others come by it: keys that owe nothing go, keys that owe stay. */
export class KeyTable {
  table: Table
  /** The most keys that it holds. */
  maxKeys: number
  /** The fingerprint of the key at hand. */
  readonly print = new Int32Array(2)
  /** The key itself: who comes once often comes again next (bench/decision.js, hot). */
  #printed = ''
  readonly #tiers: Tiers
  readonly #askedKeys: number | undefined
  #hand = 0
  #leap = 1

  /** @param askedKeys the most keys, or undefined for the default bound on keys and bytes */
  constructor(tiers: Tiers, askedKeys: number | undefined) {
    this.#tiers = tiers
    this.#askedKeys = askedKeys
    this.maxKeys = this.#boundOf(tiers.slots)
    this.table = new Table(tiers.slots, this.maxKeys)
    this.#leap = leapFor(this.table.size)
  }

  /** The place of a key, or -1; it is then the key at hand. */
  find(key: string): number {
    const { print } = this
    if (key !== this.#printed) {
      fingerprint(key, print)
      this.#printed = key
    }
    return this.table.find(print[0]!, print[1]!)
  }

  /** Where the numbers at a place begin. */
  baseOf(place: number): number {
    return place * this.table.stride + 1
  }

  /** Gives the key at hand a place, with zeros; -1 if the table is full. */
  admit(): number {
    this.#sweep(sweepPerKey)
    if (this.table.isCrowded) this.#rebuild(this.#tiers.slots, copyOf(this.#tiers.slots))
    if (this.table.used >= this.maxKeys) this.#sweep(sweepWhenFull)
    if (this.table.used >= this.maxKeys) return -1
    return this.table.insert(this.print[0]!, this.print[1]!)
  }

  /** How many keys owe something. */
  countOwing(): number {
    let owing = 0
    for (let place = 0; place < this.table.size; place++)
      if (this.table.isUsed(place) && !this.#isSpent(place)) owing++
    return owing
  }

  /**
   * Makes room for more numbers in every entry.
   * @throws HeadgateError `HEADGATE_BAD_LIMIT` where they would pass the default bound on bytes
   */
  widen(slots: number, move: Mover): void {
    const maxKeys = this.#boundOf(slots)
    if (this.table.used > maxKeys) this.#rebuild(this.#tiers.slots, copyOf(this.#tiers.slots))
    if (this.table.used > maxKeys)
      throw new HeadgateError(
        'HEADGATE_BAD_LIMIT',
        `A limit function asks for ${slots * 8} bytes a key, more than ${this.table.used} keys may have together: return a smaller limit, or use a strategy that needs less.`
      )
    this.maxKeys = maxKeys
    // All that it holds stays: what is spent under the limits so far may owe under those to come.
    this.#rebuild(slots, move, () => false)
  }

  /**
   * Looks at a few buckets and removes what has nothing left to say. The hand leaps: if it swept neighbours, new keys
   * would crowd the part that it has not come to.
   */
  #sweep(buckets: number): void {
    const { table } = this
    for (let i = 0; i < buckets; i++) {
      this.#hand = (this.#hand + this.#leap) % table.size
      if (table.isUsed(this.#hand) && this.#isSpent(this.#hand)) table.remove(this.#hand)
    }
  }

  #isSpent(place: number): boolean {
    return this.#tiers.isSpent(this.table.cells, this.baseOf(place))
  }

  #rebuild(slots: number, move: Mover, isSpent = (place: number) => this.#isSpent(place)): void {
    this.table = this.table.rebuilt(slots, this.maxKeys, isSpent, move)
    this.#hand = 0
    this.#leap = leapFor(this.table.size)
  }

  #boundOf(slots: number): number {
    const fitting = Math.floor(defaultMaxBytes / bytesPerKey(slots))
    return this.#askedKeys ?? Math.max(1, Math.min(defaultMaxKeys, fitting))
  }
}

function copyOf(slots: number): Mover {
  return (from, at, to, target) => to.set(from.subarray(at, at + slots), target)
}

/** A step of about the golden section of a table, coprime to its size, so that it comes to every bucket. */
function leapFor(size: number): number {
  let leap = Math.max(1, Math.round(size * 0.618))
  while (divisor(leap, size) !== 1) leap++
  return leap
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}
