import type { Records } from './records.js'
import { recordHead } from './records.js'
import { recordOf, successor } from './word.js'

/** Records a chain: with a bucket for each key and a secret hash, one in 10^30 would be longer. */
const longest = 32

/**
 * The records of one bucket, as this thread sees them. A bucket is one word that leads to the first of a chain of
 * records; records in a chain never change. Whoever changes anything writes new records, up to the one that changes,
 * and swaps the word: others see all of it or nothing, and a thread that is killed before has done nothing.
 *
 * Reading takes no lock, so a record may be written anew while it is read, and what was read may be garbage. Then the
 * word was changed before. `isCurrent` and the swaps read and write the word in one step: whoever unlinks a record does
 * so after that step, and writes into the record later still, so that its writes cannot be what was read before it.
 * Until then nothing is done with what was read but to follow it, for a bounded way.
 */
export class Chain {
  /** The record that was looked for, or 0. */
  found = 0
  /** The record that stands for all keys without one of their own, or 0. Its fingerprint is 0. */
  overflow = 0
  /** Records that were passed. */
  length = 0
  #bucket = 0
  #word = 0n
  #overflowAt = 0
  readonly #path = new Int32Array(longest)
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  /** Loads the word of a bucket; what is read after this, as the time, is no older than what the chain holds. */
  open(bucket: number): void {
    this.#bucket = bucket
    this.#word = Atomics.load(this.#records.memory.words, bucket)
  }

  /** Looks for a fingerprint. */
  find(low: number, high: number): void {
    const { ints } = this.#records.memory
    this.found = 0
    this.overflow = 0
    this.length = 0
    for (let at = recordOf(this.#word); at !== 0; ) {
      if (at < 0 || at > this.#records.count || this.length === longest) return
      const begin = 2 * this.#records.unitOf(at)
      const first = ints[begin]!
      if (first === low && ints[begin + 1] === high) {
        this.found = at
        return
      }
      if (first === 0) {
        this.overflow = at
        this.#overflowAt = this.length
      }
      this.#path[this.length++] = at
      at = ints[begin + 2]!
    }
  }

  /** Walks to the record after the one that was found or stepped on; 0 at the end. */
  step(): number {
    const { ints } = this.#records.memory
    if (this.found !== 0) this.#path[this.length++] = this.found
    const last = this.length === 0 ? 0 : this.#path[this.length - 1]!
    const next = last === 0 ? recordOf(this.#word) : ints[2 * this.#records.unitOf(last) + 2]!
    this.found = next < 0 || next > this.#records.count || this.length === longest ? 0 : next
    return this.found
  }

  /** Goes back to a record that was stepped on, which `before` others precede. */
  backTo(before: number): void {
    this.found = this.#path[before]!
    this.length = before
  }

  /** True where what was found or stepped on has this fingerprint. */
  isOf(low: number, high: number): boolean {
    const { ints } = this.#records.memory
    const begin = 2 * this.#records.unitOf(this.found)
    return ints[begin] === low && ints[begin + 1] === high
  }

  /** The fingerprint of what was found or stepped on, for comparison. */
  get fingerprint(): string {
    const { ints } = this.#records.memory
    const begin = 2 * this.#records.unitOf(this.found)
    return `${ints[begin]} ${ints[begin + 1]}`
  }

  /** The same as the bytes of a number. */
  get print(): Float64Array {
    const unit = this.#records.unitOf(this.found)
    return this.#records.memory.numbers.subarray(unit, unit + 1)
  }

  /** Goes back to before the first record. */
  rewind(): void {
    this.found = 0
    this.length = 0
  }

  /** True for the overflow's. */
  isOverflow(record: number): boolean {
    return this.#records.memory.ints[2 * this.#records.unitOf(record)] === 0
  }

  /** Copies the numbers of a record. */
  read(record: number, state: Float64Array): void {
    const { memory, slots } = this.#records
    const begin = this.#records.unitOf(record) + recordHead
    const { numbers } = memory
    for (let i = 0; i < slots; i++) state[i] = numbers[begin + i]!
  }

  /** True if the bucket was not changed since it was opened; then what was read is what it holds. */
  isCurrent(): boolean {
    return Atomics.or(this.#records.memory.words, this.#bucket, 0n) === this.#word
  }

  /** True where a record more would make the chain too long. */
  get isLong(): boolean {
    return this.length >= longest - 2
  }

  /** Puts other numbers in the place of those that were found. False if the bucket was changed meanwhile. */
  replace(low: number, high: number, state: Float64Array): boolean {
    return this.#swap(this.found, this.length, this.#written(low, high, state))
  }

  /** The same, under the fingerprint that is there. */
  rewrite(state: Float64Array): boolean {
    const { ints } = this.#records.memory
    const begin = 2 * this.#records.unitOf(this.found)
    return this.replace(ints[begin]!, ints[begin + 1]!, state)
  }

  /** The same for the overflow's, after a look for a key that is not there. */
  replaceOverflow(state: Float64Array): boolean {
    return this.#swap(this.overflow, this.#overflowAt, this.#written(0, 0, state))
  }

  /** Adds a record. */
  insert(low: number, high: number, state: Float64Array): boolean {
    const record = this.#written(low, high, state)
    this.#records.memory.ints[2 * this.#records.unitOf(record) + 2] = recordOf(this.#word)
    if (this.#publish(record)) return true
    this.#records.give(record)
    return false
  }

  /** Removes what was found. */
  remove(): boolean {
    return this.#swap(this.found, this.length, 0)
  }

  /**
   * Swaps the bucket to a chain without the `old` record, which `before` others precede, and with another one first.
   * Those that precede it are copied, since they lead to what is left out; those behind it are shared.
   */
  #swap(old: number, before: number, first: number): boolean {
    const records = this.#records
    const { ints } = records.memory
    let next = ints[2 * records.unitOf(old) + 2]!
    for (let i = before - 1; i >= 0; i--) next = this.#copied(this.#path[i]!, next)
    if (first !== 0) ints[2 * records.unitOf(first) + 2] = next
    const head = first === 0 ? next : first
    if (this.#publish(head)) {
      for (let i = 0; i < before; i++) records.give(this.#path[i]!)
      records.give(old)
      return true
    }
    let at = first === 0 ? next : first
    const own = first === 0 ? before : before + 1
    for (let i = 0; i < own; i++) {
      const after = ints[2 * records.unitOf(at) + 2]!
      records.give(at)
      at = after
    }
    return false
  }

  #publish(head: number): boolean {
    const { words } = this.#records.memory
    return (
      Atomics.compareExchange(words, this.#bucket, this.#word, successor(this.#word, head)) === this.#word
    )
  }

  #written(low: number, high: number, state: Float64Array): number {
    const { memory, slots } = this.#records
    const record = this.#records.take()
    const unit = this.#records.unitOf(record)
    memory.ints[2 * unit] = low
    memory.ints[2 * unit + 1] = high
    const begin = unit + recordHead
    for (let i = 0; i < slots; i++) memory.numbers[begin + i] = state[i]!
    return record
  }

  #copied(from: number, next: number): number {
    const { memory, stride } = this.#records
    const record = this.#records.take()
    const source = this.#records.unitOf(from)
    const target = this.#records.unitOf(record)
    memory.ints.copyWithin(2 * target, 2 * source, 2 * (source + stride))
    memory.ints[2 * target + 2] = next
    return record
  }
}
