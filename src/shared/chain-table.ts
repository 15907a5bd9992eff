import { Chain } from './chain.js'
import { aligned, line, type SharedMemory } from './memory.js'
import { layoutOf, Records, recordHead, spareRecords, spareUnits } from './records.js'
import { recordHalf } from './word.js'

/** What a table is made for. */
export interface TableShape {
  readonly maxKeys: number
  readonly slots: number
  /** A power of two. */
  readonly buckets: number
  /** True where each bucket may have a record more, for all keys that have none. */
  readonly hasOverflow: boolean
}

/** Fewer would make a chain of all keys of a small table. */
const leastBuckets = 64

/** The power of two that gives at most `load` keys a bucket. */
export function bucketsFor(maxKeys: number, load: number): number {
  let buckets = leastBuckets
  while (buckets * load < maxKeys) buckets *= 2
  return buckets
}

function recordsOf({ maxKeys, buckets, hasOverflow }: TableShape): number {
  return maxKeys + spareRecords + (hasOverflow ? buckets : 0)
}

/**
 * Units that a table takes: a line for its pool, one for its count, what threads keep, its buckets, its records. All zeros
 * is empty.
 */
export function tableUnits(shape: TableShape): number {
  return (
    2 * line + spareUnits + aligned(shape.buckets) + aligned(recordsOf(shape) * (recordHead + shape.slots))
  )
}

/** The slots and the buckets of a table that any thread has made; null if none has. */
export function tableLayout(
  memory: SharedMemory,
  begin: number
): { readonly slots: number; readonly buckets: number } | null {
  const { first, stride } = layoutOf(memory, begin)
  return stride === 0 ? null : { slots: stride - recordHead, buckets: first - begin - 2 * line - spareUnits }
}

/** A table of chains: which keys have a record, and whether there is room for more. */
export class ChainTable {
  readonly buckets: number
  readonly maxKeys: number
  readonly records: Records
  /** For the key at hand. */
  readonly chain: Chain
  /** For the others, that are looked at for one to reclaim. */
  readonly swept: Chain
  readonly #memory: SharedMemory
  readonly #heads: number
  readonly #counter: number
  readonly #shift: number
  #hand = Math.floor(Math.random() * 2 ** 31)
  readonly #leap: number
  /** A place is counted for a key that is not in yet. */
  isReserved = false

  constructor(memory: SharedMemory, begin: number, shape: TableShape) {
    this.#memory = memory
    this.buckets = shape.buckets
    this.maxKeys = shape.maxKeys
    this.#counter = 2 * (begin + line)
    this.#heads = begin + 2 * line + spareUnits
    this.#shift = 32 - Math.log2(shape.buckets)
    // Odd, so that it comes to every bucket.
    this.#leap = Math.floor(shape.buckets * 0.618) | 1
    const first = this.#heads + aligned(shape.buckets)
    this.records = new Records(memory, begin, first, shape.slots, recordsOf(shape))
    this.chain = new Chain(this.records)
    this.swept = new Chain(this.records)
  }

  /** Keys that have a record, and those that are about to have one. */
  get used(): number {
    return Atomics.load(this.#memory.ints, this.#counter)
  }

  /** The bucket of a fingerprint, by its second word. */
  bucketOf(high: number): number {
    return this.#heads + (high >>> this.#shift)
  }

  /** The `i`-th bucket. */
  bucketAt(i: number): number {
    return this.#heads + i
  }

  /** True where the `i`-th bucket has no records. Whatever has long been in one is not overlooked. */
  isEmptyAt(i: number): boolean {
    return this.#memory.ints[2 * (this.#heads + i) + recordHalf] === 0
  }

  /** The next bucket to sweep. Each thread has its own way around. */
  nextSwept(): number {
    this.#hand = (this.#hand + this.#leap) & (this.buckets - 1)
    return this.#heads + this.#hand
  }

  /** Counts a key more, unless the table is full. */
  reserve(): boolean {
    if (this.isReserved) return true
    const { ints } = this.#memory
    if (Atomics.load(ints, this.#counter) >= this.maxKeys) return false
    this.isReserved = Atomics.add(ints, this.#counter, 1) < this.maxKeys
    if (!this.isReserved) Atomics.sub(ints, this.#counter, 1)
    return this.isReserved
  }

  /**
   * Sets the number of keys right, which is wrong by those that threads were at when they were killed. It may then be wrong by
   * those that others were at meanwhile. Only for tables without overflow.
   */
  recount(): void {
    const { swept } = this
    const before = this.used
    let keys = 0
    for (let i = 0; i < this.buckets; i++) {
      if (this.isEmptyAt(i)) continue
      swept.open(this.bucketAt(i))
      swept.rewind()
      while (swept.step() !== 0) keys++
    }
    Atomics.sub(this.#memory.ints, this.#counter, before - keys)
  }

  /** Adds the key that a place was reserved for. */
  insert(low: number, high: number, state: Float64Array): boolean {
    if (!this.chain.insert(low, high, state)) return false
    this.isReserved = false
    return true
  }

  /** Removes what a chain has found. */
  remove(chain: Chain): boolean {
    const isKey = !chain.isOverflow(chain.found)
    if (!chain.remove()) return false
    if (isKey) Atomics.sub(this.#memory.ints, this.#counter, 1)
    return true
  }

  /** Removes everything, record by record. What others add meanwhile may stay. */
  clear(): void {
    const { swept } = this
    for (let i = 0; i < this.buckets; i++)
      for (;;) {
        swept.open(this.bucketAt(i))
        swept.rewind()
        if (swept.step() === 0) break
        this.remove(swept)
        this.records.settle()
      }
  }

  /** Ends a change: gives back what was reserved or taken and is not needed. */
  settle(): void {
    if (this.isReserved) Atomics.sub(this.#memory.ints, this.#counter, 1)
    this.isReserved = false
    this.records.settle()
  }
}
