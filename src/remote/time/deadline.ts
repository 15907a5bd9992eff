import { HeadgateError } from '../../core/errors.js'
import type { Call } from '../backend.js'
import { Breach, failureOf } from '../failure.js'
import type { Node, Nodes } from '../nodes.js'
import { LoopTime, type Waiting } from './loop-time.js'
import { type CallEnds, type CallTimes, TimedCall } from './timed-call.js'

/** Settings of `Deadline`. */
export interface DeadlineSettings {
  /** What error messages call the backend. */
  readonly name: string
  readonly deadlineMs: number
  /** What error messages call that time; left out: the option. */
  readonly timeName?: string
  /** See `Backend`. */
  readonly isOutage: (error: unknown) => boolean
}

/** The error of what was given up. It says what the breaker needs to know: nobody else is asked. */
class Lateness extends HeadgateError {}

/** Has a backend do something within the deadline, and tells its node's breaker what came of it. */
export class Deadline implements CallEnds {
  readonly #settings: DeadlineSettings
  readonly #nodes: Pick<Nodes, 'succeed' | 'fail'>
  readonly #time: LoopTime

  /** @param nodes who hears what came of calls */
  constructor(nodes: Pick<Nodes, 'succeed' | 'fail'>, settings: DeadlineSettings) {
    this.#nodes = nodes
    this.#settings = settings
    this.#time = new LoopTime(settings.deadlineMs)
  }

  /** When what begins now is given up, in loop time. */
  due(): number {
    return this.#time.due()
  }

  /** Has something given up that waits here, and not for a call. */
  expect(waiting: Waiting): void {
    this.#time.add(waiting)
  }

  /** Ends that. */
  forget(waiting: Waiting): void {
    this.#time.delete(waiting)
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  call<T>(node: Node, start: (call: Call) => PromiseLike<T>, times?: CallTimes): Promise<T> {
    const due = times?.due ?? this.due()
    // It has waited for others of its kind, not for the node.
    if (due <= this.#time.now) return Promise.reject(this.lateness())
    return new Promise((resolve, reject) => {
      const call = new TimedCall(node, this.#time, times ?? { due, judgedAt: due }, this, reject)
      begun(start, call).then(
        (answer) => {
          if (!call.end()) return
          resolve(answer)
          this.#nodes.succeed(node)
        },
        (error) => {
          // What fails after it was given up may fail for that reason.
          const { isOver } = call
          call.end()
          if (!isOver) this.failed(call, error)
        }
      )
    })
  }

  failed({ to, reject }: TimedCall, error: unknown): void {
    reject(this.count(to, error))
  }

  late(call: TimedCall, isFinal: boolean): void {
    const error = this.lateness(call)
    call.reject(isFinal ? this.count(call.to, error) : error)
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

  /** The error of what was not answered in time. */
  lateness(call?: Call): HeadgateError {
    const { name, deadlineMs, timeName = 'the `deadline`' } = this.#settings
    const why = call?.connectionError ? ` (${call.connectionError})` : ''
    const what = call?.waitsForConnection
      ? `The ${name} client had no connection${why}`
      : `${name} did not answer`
    return new Lateness('HEADGATE_STORE_FAILED', `${what} within ${deadlineMs} ms, ${timeName}.`)
  }
}

/** What is thrown at once is as what the promise rejects with. */
function begun<T>(start: (call: Call) => PromiseLike<T>, call: Call): PromiseLike<T> {
  try {
    return start(call)
  } catch (error) {
    return Promise.reject(error)
  }
}
