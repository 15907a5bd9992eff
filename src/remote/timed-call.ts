import type { Call } from './backend.js'
import { instantOf } from './contract.js'
import type { LoopTime, Waiting } from './loop-time.js'
import type { Node } from './nodes.js'
import { monotonicMs } from './own-time.js'

/** Who is told what becomes of a call. */
export interface CallEnds {
  /** What failed: the call's `start`, or its contract. */
  readonly failed: (error: unknown) => void
  /** It was given up; `isFinal` once nobody waits to see whether its node answers. */
  readonly late: (isFinal: boolean) => void
}

/** A call under way: the only one who judges whether it is in time. */
export class TimedCall implements Call, Waiting {
  due: number
  isOver = false
  waitsForConnection = false
  connectionError: string | null = null
  onGivenUp: (() => void) | null = null
  readonly #node: Node
  readonly #time: LoopTime
  readonly #ends: CallEnds
  /** Until when its node may answer before that is a failure of the node, in loop time. */
  readonly #judgedAt: number
  readonly #askedAt = monotonicMs()
  readonly #askedAtLoop: number
  /** True if it was given up, and what became of it is still to be told to the breaker. */
  #isWatched = false

  constructor(node: Node, time: LoopTime, due: number, judgedAt: number, ends: CallEnds) {
    this.#node = node
    this.#time = time
    this.#ends = ends
    this.due = due
    this.#judgedAt = judgedAt
    time.add(this)
    this.#askedAtLoop = time.now
  }

  get node(): string {
    return this.#node.label
  }

  get dueAt(): number {
    return monotonicMs() + this.due - this.#time.now
  }

  /** The server reads its clock in whole ms. */
  get expiresAt(): number {
    return Math.floor(this.dueAt + this.#node.clock.ahead) - 1
  }

  tellTime(now: number): void {
    try {
      const tookMs = this.#time.now - this.#askedAtLoop
      this.#node.clock.note(instantOf('`now` of `tellTime`', now), this.#askedAt, tookMs)
    } catch (error) {
      if (this.isOver) return
      this.end()
      this.#ends.failed(error)
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
    this.#ends.late(isFinal)
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
