import { SteadyTime } from '../core/clock.js'
import type { Policy } from '../core/policy.js'
import type { SharedMemory } from './memory.js'
import { numberOf } from './word.js'

/**
 * Steady time that all threads have in common: the latest that any of them has read. It is raised before anything is
 * written under it, and read after the word of a bucket: so no thread ever decides at a time before that of the numbers
 * it decides on, however far its own clock is behind.
 *
 * Steps of a thread's own clock are that thread's matter (`SteadyTime`). A thread that is behind the others follows
 * them: up to a window it stands still where they are, and beyond it sets its clock by theirs, so that nobody is locked
 * out for longer when the one that was ahead has ended.
 */
export class SharedTime {
  readonly #words: BigInt64Array
  readonly #at: number
  /** Where the time is given to what decides. */
  readonly #out: SteadyTime
  readonly #own: SteadyTime
  readonly #windowMs: number
  readonly #aligned: boolean
  /** The time of others when it was first found too far ahead, and this thread's clock then; -1 if it is not. */
  #seen = -1
  #seenAt = 0

  constructor(memory: SharedMemory, at: number, windowMs: number, aligned: boolean, out: SteadyTime) {
    this.#words = memory.words
    this.#at = at
    this.#out = out
    this.#own = new SteadyTime(windowMs, aligned)
    this.#windowMs = windowMs
    this.#aligned = aligned
  }

  read(now: number): number {
    let time = this.#own.read(now)
    let latest = numberOf(Atomics.load(this.#words, this.#at))
    if (time < latest) time = this.#follow(now, time, latest)
    else this.#seen = -1
    if (time > latest) latest = this.#raise(time)
    if (this.#out.now !== latest) this.#out.restore(latest, 0)
    this.#out.lag = latest - time + this.#own.lag
    return latest
  }

  #raise(time: number): number {
    for (;;) {
      const word = Atomics.load(this.#words, this.#at)
      const latest = numberOf(word)
      if (latest >= time) return latest
      if (Atomics.compareExchange(this.#words, this.#at, word, BigInt(time)) === word) return time
    }
  }

  /**
   * What this thread takes for the time when it finds others further than a window ahead: their clock, as it was seen
   * before this thread read its own again. So it is at most as far on as theirs, and threads cannot drive each other.
   */
  #follow(now: number, time: number, latest: number): number {
    if (latest - time <= this.#windowMs) {
      this.#seen = -1
      return time
    }
    if (this.#seen < 0 || now <= this.#seenAt) {
      if (this.#seen < 0) {
        this.#seen = latest
        this.#seenAt = now
      }
      return latest
    }
    const ahead = this.#seen - now
    const offset = this.#aligned ? Math.floor(ahead / this.#windowMs) * this.#windowMs : ahead
    this.#seen = -1
    if (now + offset > time) this.#own.restore(now, offset)
    return Math.max(time, now + offset)
  }
}

/** The time of one tier. */
export function timeOf(memory: SharedMemory, at: number, policy: Policy, out: SteadyTime): SharedTime {
  return new SharedTime(memory, at, policy.windowMs, policy.strategy.aligned?.(policy) === true, out)
}
