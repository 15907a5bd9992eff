import type { PermitCounts } from '../core/permit-counts.js'
import type { Fingerprint } from '../memory/fingerprint.js'
import type { Attachment } from './attachment.js'
import type { Chain } from './chain.js'
import { bucketsFor, ChainTable, tableUnits } from './chain-table.js'
import type { SharedMemory } from './memory.js'

/** Threads that a record has room for; it is a cache line then. A key that more of them have permits of has more records. */
const holders = 6

/**
 * A thread and its permits of a key are one number: above this its place in the buffer and 1, below it how many it has
 * out. No thread has as many of one key.
 */
const perThread = 2 ** 40

/** How many newcomers a full table refuses before its keys are counted again. */
const refusalsPerCount = 1024

function shapeOf(maxKeys: number) {
  return { maxKeys, slots: holders, buckets: bucketsFor(maxKeys, 1), hasOverflow: false }
}

/** Units that the permits of a limiter take. */
export function permitUnits(maxKeys: number): number {
  return tableUnits(shapeOf(maxKeys))
}

/**
 * The permits of each key that are out, in all threads, and which thread has them. All records of a key are in one chain,
 * which is swapped as a whole: so what is taken is counted, and is its thread's, at one and the same instant, and whoever is
 * killed after it has left nothing that nobody knows of.
 */
export class SharedPermits implements PermitCounts {
  before = 0
  readonly #table: ChainTable
  readonly #print: Fingerprint
  readonly #attachment: Attachment
  /** The holders of the record at hand. */
  readonly #read = new Float64Array(holders)
  /** Those of the record to change, where it is in its chain, and which of them is this thread or free. */
  readonly #chosen = new Float64Array(holders)
  #chosenAt = -1
  #index = -1
  /** How many permits of the key at hand are out, and how many this thread has. */
  #out = 0
  #own = 0
  #refusals = 0

  constructor(memory: SharedMemory, begin: number, maxKeys: number, print: Fingerprint) {
    this.#table = new ChainTable(memory, begin, shapeOf(maxKeys))
    this.#attachment = memory.attachment
    this.#print = print
  }

  count(key: string): number {
    this.#print.of(key)
    this.#look()
    return this.#out
  }

  /** Refused as well where there is no room to note it, and once this thread has left its place. */
  take(key: string, cost: number, limit: number): number {
    this.before = 0
    if (this.#attachment.slot < 0) return 0
    this.#print.of(key)
    let isTaken = false
    do {
      this.#look()
      this.before = this.#out
      if (!this.#mayHave(cost, limit)) break
      isTaken = this.#keep(this.#own + cost)
    } while (!isTaken)
    this.#table.settle()
    return isTaken ? 1 : 0
  }

  /** Gives back no more than this thread has: nothing once it has left its place. */
  release(key: string, _permit: number, cost: number): void {
    this.#print.of(key)
    do this.#look()
    while (this.#own > 0 && !this.#keep(Math.max(0, this.#own - cost)))
    this.#table.settle()
  }

  size(): number {
    let keys = 0
    for (let i = 0; i < this.#table.buckets; i++)
      if (!this.#table.isEmptyAt(i)) keys += this.#countKeys(this.#table.bucketAt(i))
    return keys
  }

  /** Gives back all permits of the thread at a place, which has ended or is about to. */
  releaseAll(slot: number): void {
    const table = this.#table
    for (let i = 0; i < table.buckets; i++)
      if (!table.isEmptyAt(i)) while (this.#releaseOne(table.bucketAt(i), slot)) table.settle()
  }

  /**
   * Counts what is out of the key at hand, at one instant, and chooses where to note what this thread has of it: where it is
   * noted, or else where there is room.
   */
  #look(): void {
    const { chain } = this.#table
    const { low, high } = this.#print
    const mine = this.#attachment.slot + 1
    do {
      this.#out = 0
      this.#own = 0
      this.#chosenAt = -1
      chain.open(this.#table.bucketOf(high))
      chain.rewind()
      while (chain.step() !== 0) if (chain.isOf(low, high)) this.#add(chain, mine)
    } while (!chain.isCurrent())
  }

  /** Adds up a record. */
  #add(chain: Chain, mine: number): void {
    const read = this.#read
    chain.read(chain.found, read)
    for (let i = 0; i < holders; i++) {
      const holder = Math.floor(read[i]! / perThread)
      const permits = read[i]! - holder * perThread
      this.#out += permits
      if (holder === 0 ? this.#chosenAt >= 0 : holder !== mine) continue
      this.#chosen.set(read)
      this.#chosenAt = chain.length
      this.#index = i
      if (holder === mine) this.#own = permits
    }
  }

  /** True if this thread may have so many more of the key at hand, and there is room to note it. */
  #mayHave(cost: number, limit: number): boolean {
    if (this.#out + cost > limit || this.#own + cost >= perThread) return false
    return this.#chosenAt >= 0 || (!this.#table.chain.isLong && this.#hasRoom())
  }

  /** True where there is room for a record more. */
  #hasRoom(): boolean {
    const table = this.#table
    if (table.reserve()) return true
    if (this.#refusals++ % refusalsPerCount > 0) return false
    table.recount()
    return table.reserve()
  }

  /** Notes how many permits of the key at hand this thread has now. False if another thread was quicker. */
  #keep(permits: number): boolean {
    const table = this.#table
    const chosen = this.#chosen
    const isNoted = this.#chosenAt >= 0
    if (!isNoted) {
      chosen.fill(0)
      this.#index = 0
    }
    chosen[this.#index] = permits === 0 ? 0 : (this.#attachment.slot + 1) * perThread + permits
    if (!isNoted) return table.insert(this.#print.low, this.#print.high, chosen)
    table.chain.backTo(this.#chosenAt)
    return isEmpty(chosen) ? table.remove(table.chain) : table.chain.rewrite(chosen)
  }

  /** Gives back what a thread has of one key of a chain; false if it has nothing there. */
  #releaseOne(head: number, slot: number): boolean {
    const table = this.#table
    const { swept } = table
    const read = this.#read
    do {
      swept.open(head)
      swept.rewind()
      while (swept.step() !== 0) {
        swept.read(swept.found, read)
        const index = read.findIndex((noted) => Math.floor(noted / perThread) === slot + 1)
        if (index < 0) continue
        read[index] = 0
        if (isEmpty(read)) table.remove(swept)
        else swept.rewrite(read)
        return true
      }
    } while (!swept.isCurrent())
    return false
  }

  /** Keys of a chain that have permits out, of which each may have several records. */
  #countKeys(head: number): number {
    const { swept } = this.#table
    let keys: Set<string>
    do {
      keys = new Set()
      swept.open(head)
      swept.rewind()
      while (swept.step() !== 0) keys.add(swept.fingerprint)
    } while (!swept.isCurrent())
    return keys.size
  }
}

function isEmpty(noted: Float64Array): boolean {
  for (let i = 0; i < holders; i++) if (noted[i] !== 0) return false
  return true
}
