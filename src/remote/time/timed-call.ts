import type { Call } from '../backend.js'
import { instantOf } from '../contract.js'
import type { Node } from '../nodes.js'
import type { LoopTime, Waiting } from './loop-time.js'
import { monotonicMs } from './own-time.js'

/** Who is told what becomes of calls. */
export interface CallEnds {
  /** The backend has broken its contract. */
  failed(call: TimedCall, error: unknown): void
  /** It was given up; `isFinal` once nobody waits to see whether its node answers. */
  late(call: TimedCall, isFinal: boolean): void
}

/** Until when a call has time, in loop time. */
export interface CallTimes {
  readonly due: number
  /**
   * Until when its node may answer before its breaker counts a failure: later than `due` for what others of its kind
   * kept waiting.
   */
  readonly judgedAt: number
}

/** A call under way: the only one who judges whether it is in time. */
export class TimedCall implements Call, Waiting {
  due: number
  isOver = false
  waitsForConnection = false
  connectionError: string | null = null
  onGivenUp: (() => void) | null = null
  readonly to: Node
  readonly reject: (error: unknown) => void
  readonly #time: LoopTime
  readonly #ends: CallEnds
  readonly #judgedAt: number
  readonly #askedAt = monotonicMs()
  readonly #askedAtLoop: number
  /** True if it was given up, and what became of it is still to be told to the breaker. */
  #isWatched = false

  constructor(
    to: Node,
    time: LoopTime,
    { due, judgedAt }: CallTimes,
    ends: CallEnds,
    reject: (error: unknown) => void
  ) {
    this.to = to
    this.reject = reject
    this.#time = time
    this.#ends = ends
    this.due = due
    this.#judgedAt = judgedAt
    time.add(this)
    this.#askedAtLoop = time.now
  }

  get node(): string {
    return this.to.label
  }

  get dueAt(): number {
    return monotonicMs() + this.due - this.#time.now
  }

  /** The server reads its clock in whole ms. */
  get expiresAt(): number {
    return Math.floor(this.dueAt + this.to.clock.ahead) - 1
  }

  tellTime(now: number): void {
    try {
      const tookMs = this.#time.now - this.#askedAtLoop
      this.to.clock.note(instantOf('`now` of `tellTime`', now), this.#askedAt, tookMs)
    } catch (error) {
      if (this.isOver) return
      this.end()
      this.#ends.failed(this, error)
    }
  }

  /** Ends it; true if somebody still waits for what becomes of it. */
  end(): boolean {
    const isAwaited = !this.isOver || this.#isWatched
    this.isOver = true
    this.#isWatched = false
    this.#time.delete(this)
    return isAwaited
  }

  /** Had it less than the deadline, its node is left the rest of it to answer. */
  giveUp(): void {
    const isFinal = this.#isWatched || this.#judgedAt <= this.due
    this.isOver = true
    this.#isWatched = !isFinal
    this.#ends.late(this, isFinal)
    if (isFinal) this.#tellBackend()
    else {
      this.due = this.#judgedAt
      this.#time.add(this)
    }
  }

  #tellBackend(): void {
    try {
      this.onGivenUp?.()
    } catch {
      // The call has failed already.
    }
  }
}
