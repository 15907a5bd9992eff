import { monotonicMs, setImmediate, setTimeout } from './own-time.js'

/** Something that waits, until an instant of loop time. */
export interface Waiting {
  readonly due: number
  /** Called once that has come. */
  giveUp(): void
}

/** Turns of the event loop, at least, in which what waits could have been answered before it is given up. */
const turns = 10

/** The most that a turn counts for, however long things wait, ms. */
const longestTurnMs = 100

/**
 * The time in which the event loop could have read an answer. It goes with the monotonic clock, but one turn of the loop
 * counts for no more than a tenth of the wait, however long the turn took: a process that was busy, or stopped, may have
 * had its answer for long, and only now comes to read it.
 */
export class LoopTime {
  readonly #waitMs: number
  readonly #turnMs: number
  readonly #waiting = new Set<Waiting>()
  /** Loop time at the beginning of this turn, and when that was. */
  #passed = 0
  #turnAt = monotonicMs()
  #isTicking = false

  /** @param waitMs how long things wait for the most part */
  constructor(waitMs: number) {
    this.#waitMs = waitMs
    this.#turnMs = Math.min(longestTurnMs, Math.max(1, waitMs / turns))
  }

  /** Loop time now, ms. */
  get now(): number {
    return this.#passed + Math.min(monotonicMs() - this.#turnAt, this.#turnMs)
  }

  /** When what begins to wait now is given up. */
  due(): number {
    // Nobody has waited since the last turn that was counted: that was no time to read in.
    if (!this.#isTicking) this.#turn()
    return this.now + this.#waitMs
  }

  add(waiting: Waiting): void {
    this.#waiting.add(waiting)
    if (this.#isTicking) return
    this.#isTicking = true
    this.#turn()
    this.#schedule(waiting.due)
  }

  delete(waiting: Waiting): void {
    this.#waiting.delete(waiting)
  }

  #turn(): void {
    this.#passed = this.now
    this.#turnAt = monotonicMs()
  }

  #schedule(next: number): void {
    setTimeout(() => this.#tick(), Math.min(this.#turnMs, Math.max(1, Math.ceil(next - this.#passed))))
  }

  #tick(): void {
    this.#turn()
    let next = Number.POSITIVE_INFINITY
    const over: Waiting[] = []
    for (const waiting of this.#waiting) {
      if (waiting.due <= this.#passed) over.push(waiting)
      else if (waiting.due < next) next = waiting.due
    }
    // What lies in the socket now is read in this turn.
    if (over.length > 0) setImmediate(() => this.#giveUp(over))
    this.#isTicking = this.#waiting.size > over.length
    if (this.#isTicking) this.#schedule(next)
  }

  #giveUp(over: readonly Waiting[]): void {
    for (const waiting of over) if (this.#waiting.delete(waiting)) waiting.giveUp()
  }
}
