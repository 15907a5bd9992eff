import { SteadyTime } from '../core/clock.js'
import type { Fingerprint } from '../memory/fingerprint.js'
import { bucketsFor, ChainTable, type TableShape, tableUnits } from './chain-table.js'
import { line, type SharedMemory } from './memory.js'
import { SharedTime } from './shared-time.js'

/** Buckets that a new block looks at for others that have ended. */
const sweepPerBlock = 8

/** More where the table is full. */
const sweepWhenFull = 64

/** The table of the blocks of so many keys. */
export function blocksShape(maxKeys: number): TableShape {
  return { maxKeys, slots: 1, buckets: bucketsFor(maxKeys, 4), hasOverflow: false }
}

/** Units that the blocks of a limiter take: a line for their time, and a table. */
export function blockUnits(maxKeys: number): number {
  return line + tableUnits(blocksShape(maxKeys))
}

/** Where the pool of their records begins. */
export function blocksPoolAt(begin: number): number {
  return begin + line
}

/** Keys that are denied until an instant, in all threads. A record holds when its block ends. */
export class SharedBlocks {
  readonly #table: ChainTable
  readonly #time: SharedTime
  readonly #until = new Float64Array(1)

  constructor(memory: SharedMemory, begin: number, maxKeys: number) {
    // A step back of the clock neither ends nor lengthens a block.
    this.#time = new SharedTime(memory, begin, 0, false, new SteadyTime(0, false))
    this.#table = new ChainTable(memory, blocksPoolAt(begin), blocksShape(maxKeys))
  }

  /** Takes a block, unless as many as there may be keys are in force. */
  add(print: Fingerprint, blockMs: number, now: number): boolean {
    const table = this.#table
    this.#sweep(sweepPerBlock, now)
    for (;;) {
      const time = this.#find(print, now)
      const isFound = table.chain.found !== 0
      if (!table.chain.isCurrent()) continue
      if (!isFound && !table.reserve()) {
        this.#sweep(sweepWhenFull, now)
        if (!table.reserve()) return false
        continue
      }
      this.#until[0] = time + blockMs
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
