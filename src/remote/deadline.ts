import { HeadgateError } from '../core/errors.js'
import type { Call } from './backend.js'
import { instantOf } from './contract.js'
import { Breach, failureOf } from './failure.js'
import type { Node, Nodes } from './nodes.js'

/** Settings of `Deadline`. */
export interface DeadlineSettings {
  /** What error messages call the backend. */
  readonly name: string
  readonly deadlineMs: number
  /** See `Backend`. */
  readonly isOutage: (error: unknown) => boolean
}

/** A call under way: the only one who judges whether it is in time. */
class TimedCall implements Call {
  readonly dueAt: number
  isOver = false
  waitsForConnection = false
  onGivenUp: (() => void) | null = null
  timer: NodeJS.Timeout | null = null
  /** True if it was given up, and what became of it is still to be told to the breaker. */
  isWatched = false
  /** Ends it as failed. */
  fail: (error: unknown) => void = () => {}
  readonly #node: Node

  constructor(node: Node, dueAt: number) {
    this.#node = node
    this.dueAt = dueAt
  }

  get node(): string {
    return this.#node.label
  }

  /** The server reads its clock in whole ms. */
  get expiresAt(): number {
    return Math.floor(this.dueAt + this.#node.clockAhead) - 1
  }

  tellTime(now: number): void {
    try {
      this.#node.clockAhead = instantOf('`now` of `tellTime`', now) - performance.now()
    } catch (error) {
      if (!this.isOver) this.fail(error)
    }
  }

  end(): void {
    this.isOver = true
    this.isWatched = false
    if (this.timer !== null) clearTimeout(this.timer)
  }
}

/** The error of what was given up. It says what the breaker needs to know: nobody else is asked. */
class Lateness extends HeadgateError {}

/** Has a backend do something within the deadline, and tells its node's breaker what came of it. */
export class Deadline {
  readonly #settings: DeadlineSettings
  readonly #nodes: Pick<Nodes, 'succeed' | 'fail'>

  /** @param nodes who hears what came of calls */
  constructor(nodes: Pick<Nodes, 'succeed' | 'fail'>, settings: DeadlineSettings) {
    this.#nodes = nodes
    this.#settings = settings
  }

  /** When what begins now is given up, on the monotonic clock. */
  dueAt(): number {
    return performance.now() + this.#settings.deadlineMs
  }

  /**
   * @param judgedAt until when the node may answer before its breaker counts a failure: later than `dueAt` for what
   * others of its kind kept waiting
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  call<T>(
    node: Node,
    start: (call: Call) => PromiseLike<T>,
    dueAt: number = this.dueAt(),
    judgedAt: number = dueAt
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const leftMs = dueAt - performance.now()
      // It has waited for others of its kind, not for the node.
      if (leftMs <= 0) return reject(this.lateness())
      const call = new TimedCall(node, dueAt)
      call.fail = (error) => {
        call.end()
        reject(this.count(node, error))
      }
      const giveUp = () => (judgedAt > dueAt ? this.#watch(call, judgedAt, reject) : this.#giveUp(call))
      call.timer = inTime(call, leftMs, giveUp)
      // What is thrown at once is as what the promise rejects with.
      new Promise<T>((begun) => begun(start(call))).then(
        (answer) => {
          if (call.isOver && !call.isWatched) return
          call.end()
          resolve(answer)
          this.#nodes.succeed(node)
        },
        (error) => {
          // What fails after it was given up may fail for that reason.
          if (call.isOver) call.end()
          else call.fail(error)
        }
      )
    })
  }

  /** The error of what has failed; the breaker of its node counts it if it is an outage. */
  count(node: Node, error: unknown): HeadgateError {
    const failure = failureOf(this.#settings.name, error)
    if (this.#isOutage(error)) this.#nodes.fail(node, failure)
    return failure
  }

  #isOutage(error: unknown): boolean {
    try {
      if (error instanceof Breach) return error.isOutage
      return error instanceof Lateness || this.#settings.isOutage(error)
    } catch {
      return true
    }
  }

  #giveUp(call: TimedCall): void {
    call.fail(this.lateness(call.waitsForConnection))
    try {
      call.onGivenUp?.()
    } catch {
      // The call has failed already.
    }
  }

  /** Gives up a call that had less than the deadline, and leaves the node the rest of it to answer. */
  #watch(call: TimedCall, judgedAt: number, reject: (error: HeadgateError) => void): void {
    call.end()
    call.isWatched = true
    reject(this.lateness(call.waitsForConnection))
    call.timer = inTime(call, judgedAt - performance.now(), () => this.#giveUp(call))
  }

  /** The error of what was not answered in time. */
  lateness(waitsForConnection = false): HeadgateError {
    const { name, deadlineMs } = this.#settings
    const what = waitsForConnection ? `The ${name} client had no connection` : `${name} did not answer`
    return new Lateness('HEADGATE_STORE_FAILED', `${what} within ${deadlineMs} ms, the \`deadline\`.`)
  }
}

/** A process that was busy past the deadline may have the answer at hand: it is given one turn to be read. */
function inTime(call: TimedCall, leftMs: number, giveUp: () => void): NodeJS.Timeout {
  return setTimeout(() => {
    setImmediate(() => {
      if (!call.isOver || call.isWatched) giveUp()
    })
  }, leftMs)
}
