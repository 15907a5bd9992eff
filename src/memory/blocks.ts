import { Least, pageOf } from '../core/bans/block-list.js'
import { SteadyTime } from '../core/clock.js'
import type { BlockPage, BlocksFound } from '../core/store.js'
import { keptKey } from './kept-key.js'
import type { NumberReader, NumberWriter } from './saving/numbers.js'

/** Blocks that a full list looks at for one that has ended, each time that it is asked to take another. */
const purgeAtOnce = 8

/** Keys that are denied until an instant, whatever their policies say. Few: they are kept by their text, or a hash of a long one. */
export class Blocks {
  readonly #until = new Map<string, number>()
  /** A block lasts as long as it says: a step back of the clock neither ends nor lengthens it. */
  readonly #time = new SteadyTime(0, false)

  /** Takes a block, unless `most` others are in force. */
  add(text: string, blockMs: number, now: number, most: number): boolean {
    const key = keptKey(text)
    const time = this.#time.read(now)
    this.#purge(time, most)
    if (this.#until.size >= most && !this.#until.has(key)) return false
    this.#until.set(key, time + blockMs)
    return true
  }

  /** For how many ms more a key is denied; 0 if it is not. */
  left(text: string, now: number): number {
    const key = keptKey(text)
    const time = this.#time.read(now)
    const until = this.#until.get(key)
    if (until === undefined) return 0
    if (until > time) return until - time
    this.#until.delete(key)
    return 0
  }

  /** Those in force, in the order of their keys. Looks at all of them. */
  list({ after, limit }: BlockPage, now: number): BlocksFound {
    const time = this.#time.read(now)
    const least = new Least(limit + 1)
    for (const [key, until] of this.#until)
      if (until > time && (after === null || key > after)) least.add(key)
    return pageOf(least.sorted(), limit, (key) => this.#until.get(key)! - time)
  }

  delete(key: string): void {
    this.#until.delete(keptKey(key))
  }

  get isEmpty(): boolean {
    return this.#until.size === 0
  }

  /** Writes those in force; gives when the last of them ends. */
  save(to: NumberWriter): number {
    const time = this.#time.now
    const blocks = [...this.#until].filter(([, until]) => until > time)
    for (const value of [...this.#time.saved, blocks.length]) to.number(value)
    for (const [key, until] of blocks) {
      to.text(key)
      to.number(until)
    }
    return blocks.reduce((last, [, until]) => Math.max(last, until), 0)
  }

  /** Reads what was written. */
  static restored(from: NumberReader): Blocks {
    const blocks = new Blocks()
    blocks.#time.restore(from.number(), from.number())
    for (let count = from.count(); count > 0; count--) blocks.#until.set(from.text(), from.number())
    return blocks
  }

  /** Drops the oldest blocks that have ended; where the list is full, those in force are looked at again last. */
  #purge(time: number, most: number): void {
    const isFull = this.#until.size >= most
    let looked = 0
    for (const [key, until] of this.#until) {
      if (looked++ === purgeAtOnce || (until > time && !isFull)) return
      this.#until.delete(key)
      if (until > time) this.#until.set(key, until)
    }
  }
}
