import { HeadgateError } from '../core/errors.js'
import type { Attachment } from './attachment.js'
import { line, type SharedMemory } from './memory.js'
import { mostThreads } from './slots.js'
import { recordOf, successor } from './word.js'

/** Records that a thread keeps for its next change. */
const keptSpares = 2

/** Units before the numbers of a record: its fingerprint, and the record that follows it in its chain. */
export const recordHead = 2

/** Units that precede the records that threads keep: a line for the pool, one for the count of its table. */
const sparesAt = 2 * line

/** Units in which it is noted which records each thread keeps. */
export const spareUnits = (mostThreads * keptSpares) / 2

/** Records that a pool needs beside those in chains: what each thread may keep. */
export const spareRecords = mostThreads * keptSpares

/**
 * The control of a pool, in units: its free list, how many records were ever taken, where they begin, and how long they
 * are. The last two are the same whoever writes them.
 */
const Control = { free: 0, taken: 1, begin: 2, stride: 3 } as const

/**
 * Where the records of one region come from and go to. A record belongs to a chain, where it never changes; or to one
 * thread, that writes into it; or to the free list, a stack under a versioned word. What a thread keeps between two
 * changes is noted, for others to give back when it has ended. A thread that is killed amid a change takes what it holds
 * just then with it, and nothing else.
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
  readonly #attachment: Attachment
  #held = 0

  constructor(memory: SharedMemory, control: number, begin: number, slots: number, count: number) {
    this.memory = memory
    this.#attachment = memory.attachment
    this.#attachment.hold(this)
    this.slots = slots
    this.stride = recordHead + slots
    this.count = count
    this.#control = control
    this.#begin = begin - this.stride
    memory.numbers[control + Control.begin] = this.#begin
    memory.numbers[control + Control.stride] = this.stride
  }

  /** The unit at which a record begins. */
  unitOf(record: number): number {
    return this.#begin + record * this.stride
  }

  /** A record of this thread's own. What is no longer kept is no longer noted, before anything is written into it. */
  take(): number {
    if (this.#held === 0) return this.#pop()
    const record = this.#spares[--this.#held]!
    if (this.#held < keptSpares) this.#note(0)
    return record
  }

  /** Takes back a record that no chain leads to. Others may still be reading it; they will find that it is gone. */
  give(record: number): void {
    this.#spares[this.#held++] = record
  }

  /** Leaves to the others what is not worth keeping, and notes the rest. */
  settle(): void {
    const kept = this.#attachment.slot < 0 ? 0 : keptSpares
    while (this.#held > kept) this.#push(this.#spares[--this.#held]!)
    for (let i = 0; i < this.#held; i++) this.memory.ints[this.#noteOf(i)] = this.#spares[i]!
  }

  /** Gives back all that this thread has, as it leaves its place. */
  leave(slot: number): void {
    this.memory.ints.fill(0, noteOf(this.#control, slot), noteOf(this.#control, slot + 1))
    while (this.#held > 0) this.#push(this.#spares[--this.#held]!)
  }

  #note(record: number): void {
    if (this.#attachment.slot >= 0) this.memory.ints[this.#noteOf(this.#held)] = record
  }

  #noteOf(i: number): number {
    return noteOf(this.#control, this.#attachment.slot) + i
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
    push(this.memory, this.#control, record, this.unitOf(record))
  }

  /** One that was never used: untouched pages of the buffer take no memory. */
  #first(): number {
    const { ints } = this.memory
    const counter = 2 * (this.#control + Control.taken)
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

/** How many records of a pool were ever taken. */
export function takenFrom({ ints }: SharedMemory, control: number): number {
  return ints[2 * (control + Control.taken)]!
}

/** Where the records of a pool begin, and how long they are; 0 before any thread has made it. */
export function layoutOf(
  { numbers }: SharedMemory,
  control: number
): { readonly first: number; readonly stride: number } {
  const stride = numbers[control + Control.stride]!
  return { first: numbers[control + Control.begin]! + stride, stride }
}

/** Gives back what is noted for the thread at a place, which has ended. */
export function returnSpares(memory: SharedMemory, control: number, slot: number): void {
  const { ints, numbers } = memory
  const begin = noteOf(control, slot)
  for (let i = 0; i < keptSpares; i++) {
    const record = ints[begin + i]!
    if (record === 0) continue
    ints[begin + i] = 0
    push(
      memory,
      control,
      record,
      numbers[control + Control.begin]! + record * numbers[control + Control.stride]!
    )
  }
}

/** Where it is noted what the thread at a place keeps. */
function noteOf(control: number, slot: number): number {
  return 2 * (control + sparesAt) + slot * keptSpares
}

/** Puts a record on the free list of a pool. */
function push({ words, ints }: SharedMemory, control: number, record: number, unit: number): void {
  for (;;) {
    const top = Atomics.load(words, control)
    ints[2 * unit + 2] = recordOf(top)
    if (Atomics.compareExchange(words, control, top, successor(top, record)) === top) return
  }
}
