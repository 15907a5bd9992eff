import { HeadgateError } from '../core/errors.js'
import type { SharedMemory } from './memory.js'
import { type Records, returnSpares } from './records.js'
import { mostThreads } from './slots.js'

const { isMainThread, threadId } = process.getBuiltinModule('node:worker_threads')

/** What stands in the place of a thread while what it held is given back. */
const leaving = -1

/** Finds the pools of a buffer, by the units of their controls. */
export type PoolsOf = () => Iterable<number>

/**
 * The place that a thread has in a buffer for as long as it is attached. Beside it the thread notes what it holds for its
 * next decision, so that others can give that back if it was killed. A thread does so itself when it ends; when it was
 * terminated, the thread that had started it does, if it is attached by then.
 */
export class Attachment {
  /** The place; -1 once the thread has left it. */
  slot: number
  readonly #memory: SharedMemory
  readonly #places: number
  readonly #pools: PoolsOf
  readonly #records: Records[] = []

  /**
   * @param places where the places begin, in whole numbers
   * @throws HeadgateError `HEADGATE_STORE_FULL`
   */
  constructor(memory: SharedMemory, places: number, pools: PoolsOf) {
    this.#memory = memory
    this.#places = places
    this.#pools = pools
    this.slot = this.#claim()
    watch(this)
  }

  /** Notes where this thread takes records from. */
  hold(records: Records): void {
    this.#records.push(records)
  }

  /** Leaves the buffer. What is decided later keeps nothing for the next time. */
  leave(): void {
    if (this.slot < 0) return
    const { slot } = this
    this.slot = -1
    for (const records of this.#records) records.leave(slot)
    Atomics.store(this.#memory.ints, this.#places + slot, 0)
  }

  /** Gives back what a thread that has ended held. */
  clearAfter(thread: number): void {
    const { ints } = this.#memory
    for (let slot = 0; slot < mostThreads; slot++) {
      const at = this.#places + slot
      if (Atomics.compareExchange(ints, at, thread + 1, leaving) !== thread + 1) continue
      for (const control of this.#pools()) returnSpares(this.#memory, control, slot)
      Atomics.store(ints, at, 0)
    }
  }

  #claim(): number {
    const { ints } = this.#memory
    for (let slot = 0; slot < mostThreads; slot++)
      if (Atomics.compareExchange(ints, this.#places + slot, 0, threadId + 1) === 0) return slot
    throw new HeadgateError(
      'HEADGATE_STORE_FULL',
      `${mostThreads} threads are attached to this shared store: attach each of them once, or make a new store.`
    )
  }
}

/** The attachments of this thread. */
let attachments: WeakRef<Attachment>[] = []
let most = 64
let isWatching = false

function watch(attachment: Attachment): void {
  attachments.push(new WeakRef(attachment))
  if (attachments.length > most) {
    attachments = attachments.filter((one) => one.deref() !== undefined)
    most = 2 * attachments.length + 64
  }
  if (isWatching) return
  isWatching = true
  if (!isMainThread) process.on('exit', () => each((one) => one.leave()))
  process.on('worker', (worker) => {
    // Once it has ended it has no id any more.
    const thread = worker.threadId
    worker.once('exit', () => each((one) => one.clearAfter(thread)))
  })
}

function each(act: (attachment: Attachment) => void): void {
  for (const one of attachments) {
    const attachment = one.deref()
    if (attachment !== undefined) act(attachment)
  }
}
