import { Least, pageOf } from '../core/bans/block-list.js'
import { SteadyTime } from '../core/clock.js'
import type { BlockPage, BlocksFound } from '../core/store.js'
import type { Fingerprint } from '../memory/fingerprint.js'
import { BlockedKey, keySlots } from './blocked-key.js'
import { bucketsFor, ChainTable, type TableShape, tableUnits } from './chain-table.js'
import { line, type SharedMemory } from './memory.js'
import { SharedTime } from './shared-time.js'

/** Buckets that a new block looks at for others that have ended. */
const sweepPerBlock = 8

/** More where the table is full. */
const sweepWhenFull = 64

/** The table of the blocks of so many keys. */
export function blocksShape(maxKeys: number): TableShape {
  return { maxKeys, slots: 1 + keySlots, buckets: bucketsFor(maxKeys, 4), hasOverflow: false }
}

/** Units that the blocks of a limiter take: a line for their time, and a table. */
export function blockUnits(maxKeys: number): number {
  return line + tableUnits(blocksShape(maxKeys))
}

/** Where the pool of their records begins. */
export function blocksPoolAt(begin: number): number {
  return begin + line
}

/** Keys that are denied until an instant, in all threads. A record holds when its block ends, and the key. */
export class SharedBlocks {
  readonly #table: ChainTable
  readonly #time: SharedTime
  /** The numbers of a record: when its block ends, and the key. */
  readonly #until = new Float64Array(1 + keySlots)
  readonly #key = new BlockedKey(this.#until)

  constructor(memory: SharedMemory, begin: number, maxKeys: number) {
    // A step back of the clock neither ends nor lengthens a block.
    this.#time = new SharedTime(memory, begin, 0, false, new SteadyTime(0, false))
    this.#table = new ChainTable(memory, blocksPoolAt(begin), blocksShape(maxKeys))
  }

  /**
   * Takes a block, unless as many as there may be keys are in force.
   * @param isLeast true if a longer block that the key has is to stay
   */
  add(print: Fingerprint, key: string, blockMs: number, now: number, isLeast = false): boolean {
    const table = this.#table
    this.#sweep(sweepPerBlock, now)
    for (;;) {
      const time = this.#find(print, now)
      const isFound = table.chain.found !== 0
      if (isFound && isLeast) table.chain.read(table.chain.found, this.#until)
      if (!table.chain.isCurrent()) continue
      if (isFound && isLeast && this.#until[0]! >= time + blockMs) break
      if (!isFound && !table.reserve()) {
        this.#sweep(sweepWhenFull, now)
        if (!table.reserve()) return false
        continue
      }
      this.#until[0] = time + blockMs
      this.#key.write(key)
      const isDone = isFound
        ? table.chain.replace(print.low, print.high, this.#until)
        : table.insert(print.low, print.high, this.#until)
      if (isDone) break
    }
    table.settle()
    return true
  }

  /** For how many ms more a key is denied; 0 if it is not. */
  left(print: Fingerprint, now: number): number {
    if (this.#table.used === 0) return 0
    const { chain } = this.#table
    for (;;) {
      const time = this.#find(print, now)
      const { found } = chain
      if (found !== 0) chain.read(found, this.#until)
      if (!chain.isCurrent()) continue
      if (found === 0) return 0
      const left = this.#until[0]! - time
      if (left > 0) return left
      if (this.#table.remove(chain)) break
    }
    this.#table.settle()
    return 0
  }

  /** Those in force, in the order of their keys. Looks at all of them. */
  list({ after, limit }: BlockPage, now: number): BlocksFound {
    const least = new Least(limit + 1)
    const left = new Map<string, number>()
    if (this.#table.used > 0)
      for (let i = 0; i < this.#table.buckets; i++)
        for (const [key, leftMs] of this.#inBucket(i, now)) {
          if (after !== null && key <= after) continue
          left.set(key, leftMs)
          least.add(key)
        }
    return pageOf(least.sorted(), limit, (key) => left.get(key)!)
  }

  delete(print: Fingerprint): void {
    const { chain } = this.#table
    if (this.#table.used === 0) return
    for (;;) {
      chain.open(this.#table.bucketOf(print.high))
      chain.find(print.low, print.high)
      if (!chain.isCurrent()) continue
      if (chain.found === 0 || this.#table.remove(chain)) break
    }
    this.#table.settle()
  }

  clear(): void {
    if (this.#table.used > 0) this.#table.clear()
  }

  /** The blocks in one bucket that are in force, and for how many ms more. */
  #inBucket(i: number, now: number): readonly (readonly [key: string, leftMs: number])[] {
    const { swept } = this.#table
    if (this.#table.isEmptyAt(i)) return []
    for (;;) {
      const found: [string, number][] = []
      swept.open(this.#table.bucketAt(i))
      const time = this.#time.read(now)
      swept.rewind()
      while (swept.step() !== 0) {
        swept.read(swept.found, this.#until)
        if (!swept.isCurrent()) break
        if (this.#until[0]! > time) found.push([this.#key.read(), this.#until[0]! - time])
      }
      if (swept.isCurrent()) return found
    }
  }

  #find(print: Fingerprint, now: number): number {
    const { chain } = this.#table
    chain.open(this.#table.bucketOf(print.high))
    const time = this.#time.read(now)
    chain.find(print.low, print.high)
    return time
  }

  #sweep(buckets: number, now: number): void {
    const { swept } = this.#table
    for (let i = 0; i < buckets; i++) {
      swept.open(this.#table.nextSwept())
      const time = this.#time.read(now)
      swept.rewind()
      while (swept.step() !== 0) {
        swept.read(swept.found, this.#until)
        if (!swept.isCurrent()) break
        if (this.#until[0]! > time) continue
        this.#table.remove(swept)
        break
      }
    }
  }
}
