import { HeadgateError } from '../core/errors.js'
import type { Records } from './records.js'
import { mostThreads } from './slots.js'
import { type Ended, starter, watchThreads } from './thread-watch.js'

const { isMainThread, threadId } = process.getBuiltinModule('node:worker_threads')

/** How a thread is noted: 0 is none, and it is negative for one that clears up after another. */
const self = threadId + 1

/**
 * The place that a thread has in a buffer for as long as it is attached. Under it the thread notes what it holds, so that
 * others can give that back if it was killed. A thread does so itself when it ends; when it was terminated, the thread
 * that had started it does, if it is attached by then. If that one was terminated as well, so were all that it had
 * started, and it falls to whoever had started that one.
 */
export class Attachment implements Ended {
  /** The place; -1 once the thread has left it. */
  slot: number
  readonly #ints: Int32Array
  readonly #places: number
  readonly #giveBack: (slot: number) => void
  readonly #records: Records[] = []

  /**
   * @param places where the places begin
   * @param giveBack gives back what is noted under a place
   * @throws HeadgateError `HEADGATE_STORE_FULL`
   */
  constructor(ints: Int32Array, places: number, giveBack: (slot: number) => void) {
    this.#ints = ints
    this.#places = places
    this.#giveBack = giveBack
    this.slot = this.#claim()
    watchThreads(this, ints.buffer)
  }

  /** True where somebody hears of it if this thread is terminated: the one that started it is attached. */
  get isWatched(): boolean {
    const attached = this.#ints.subarray(this.#places, this.#places + mostThreads)
    return isMainThread || (starter >= 0 && attached.includes(starter + 1))
  }

  /** Notes where this thread takes records from. */
  hold(records: Records): void {
    this.#records.push(records)
  }

  /** Leaves the buffer. What is decided later keeps nothing for the next time, and takes no permits. */
  leave(): void {
    if (this.slot < 0) return
    const { slot } = this
    this.slot = -1
    for (const records of this.#records) records.leave(slot)
    this.#free(slot)
  }

  /** Gives back what a thread that has ended held, and what those held that ended with it. */
  clearAfter(thread: number): void {
    const ints = this.#ints
    const ended = thread + 1
    for (let slot = 0; slot < mostThreads; slot++) {
      const at = this.#places + slot
      const found = Atomics.load(ints, at)
      // One that it was clearing up after is left to others if it was terminated meanwhile.
      const isLeft = found === ended || found === -ended
      if (isLeft && Atomics.compareExchange(ints, at, found, -self) === found) this.#free(slot)
      else if (found > 0 && ints[at + mostThreads] === ended) this.clearAfter(found - 1)
    }
  }

  #claim(): number {
    const ints = this.#ints
    for (let slot = 0; slot < mostThreads; slot++) {
      const at = this.#places + slot
      if (Atomics.compareExchange(ints, at, 0, self) !== 0) continue
      ints[at + mostThreads] = starter + 1
      return slot
    }
    throw new HeadgateError(
      'HEADGATE_STORE_FULL',
      `${mostThreads} threads are attached to this shared store: attach each of them once, or make a new store.`
    )
  }

  /** Gives back what is noted under a place, and the place last. */
  #free(slot: number): void {
    const at = this.#places + slot
    this.#giveBack(slot)
    this.#ints[at + mostThreads] = 0
    Atomics.store(this.#ints, at, 0)
  }
}
