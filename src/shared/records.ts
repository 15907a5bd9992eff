import { HeadgateError } from '../core/errors.js'
import type { SharedMemory } from './memory.js'
import { recordOf, successor } from './word.js'

/** Threads that may attach to a buffer while it lives, those that have ended included. */
export const mostThreads = 2048

/** Records that a thread keeps for its next change. */
const keptSpares = 2

/** Units before the numbers of a record: its fingerprint, and the record that follows it in its chain. */
export const recordHead = 2

/** Units that the control of a pool takes: its free list, and how many records were ever taken. */
export const poolUnits = 2

/** Records that a pool needs beside those in chains: what each thread may hold, and takes with it when it is killed. */
export const spareRecords = mostThreads * keptSpares

/**
 * Where the records of one region come from and go to. A record belongs to a chain, where it never changes; or to one
 * thread, that writes into it; or to the free list, a stack under a versioned word. A thread that is killed takes what
 * it holds with it, and nothing else.
 */
export class Records {
  readonly memory: SharedMemory
  /** Units a record. */
  readonly stride: number
  readonly slots: number
  /** How many there are. Their places are 1 and up; 0 is none. */
  readonly count: number
  readonly #control: number
  readonly #begin: number
  readonly #spares = new Int32Array(128)
  #held = 0

  constructor(memory: SharedMemory, control: number, begin: number, slots: number, count: number) {
    this.memory = memory
    this.slots = slots
    this.stride = recordHead + slots
    this.count = count
    this.#control = control
    this.#begin = begin - this.stride
  }

  /** The unit at which a record begins. */
  unitOf(record: number): number {
    return this.#begin + record * this.stride
  }

  /** A record of this thread's own. */
  take(): number {
    return this.#held > 0 ? this.#spares[--this.#held]! : this.#pop()
  }

  /** Takes back a record that no chain leads to. Others may still be reading it; they will find that it is gone. */
  give(record: number): void {
    this.#spares[this.#held++] = record
  }

  /** Leaves to the others what is not worth keeping. */
  settle(): void {
    while (this.#held > keptSpares) this.#push(this.#spares[--this.#held]!)
  }

  #pop(): number {
    const { words, ints } = this.memory
    for (;;) {
      const top = Atomics.load(words, this.#control)
      const record = recordOf(top)
      if (record === 0) return this.#first()
      // If another takes it first this reads what it writes there; then the swap fails.
      const next = ints[2 * this.unitOf(record) + 2]!
      if (Atomics.compareExchange(words, this.#control, top, successor(top, next)) === top) return record
    }
  }

  #push(record: number): void {
    const { words, ints } = this.memory
    for (;;) {
      const top = Atomics.load(words, this.#control)
      ints[2 * this.unitOf(record) + 2] = recordOf(top)
      if (Atomics.compareExchange(words, this.#control, top, successor(top, record)) === top) return
    }
  }

  /** One that was never used: untouched pages of the buffer take no memory. */
  #first(): number {
    const { ints } = this.memory
    const counter = 2 * (this.#control + 1)
    if (Atomics.load(ints, counter) < this.count) {
      const taken = Atomics.add(ints, counter, 1)
      if (taken < this.count) return taken + 1
      Atomics.sub(ints, counter, 1)
    }
    throw new HeadgateError(
      'HEADGATE_STORE_FULL',
      'The threads that were killed took the last records of the shared store with them: make a new one.'
    )
  }
}
