import { HeadgateError } from '../core/errors.js'
import type { Call } from './backend.js'
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
    this.#node.clockAhead = now - performance.now()
  }

  end(): void {
    this.isOver = true
    if (this.timer !== null) clearTimeout(this.timer)
  }
}

/** Has a backend do something within the deadline, and tells its node's breaker what came of it. */
export class Deadline {
  readonly #settings: DeadlineSettings
  readonly #nodes: Nodes

  constructor(nodes: Nodes, settings: DeadlineSettings) {
    this.#nodes = nodes
    this.#settings = settings
  }

  /** When what begins now is given up, on the monotonic clock. */
  dueAt(): number {
    return performance.now() + this.#settings.deadlineMs
  }

  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  call<T>(node: Node, start: (call: Call) => Promise<T>, dueAt: number = this.dueAt()): Promise<T> {
    return new Promise((resolve, reject) => {
      const leftMs = dueAt - performance.now()
      // It has waited for others of its kind, not for the node.
      if (leftMs <= 0) return reject(this.#lateness(false))
      const call = new TimedCall(node, dueAt)
      const fail = (failure: HeadgateError) => {
        call.end()
        reject(failure)
        this.#nodes.fail(node, failure)
      }
      call.timer = setTimeout(() => this.#expire(call, fail), leftMs)
      start(call).then(
        (answer) => {
          if (call.isOver) return
          call.end()
          resolve(answer)
          this.#nodes.succeed(node)
        },
        (error) => {
          if (call.isOver) return
          if (this.#settings.isOutage(error)) return fail(this.#failure(error))
          call.end()
          reject(this.#failure(error))
        }
      )
    })
  }

  /** A process that was busy past the deadline may have the answer at hand: it is given one turn to be read. */
  #expire(call: TimedCall, fail: (error: HeadgateError) => void): void {
    setImmediate(() => {
      if (call.isOver) return
      fail(this.#lateness(call.waitsForConnection))
      call.onGivenUp?.()
    })
  }

  #lateness(waitsForConnection: boolean): HeadgateError {
    const { name, deadlineMs } = this.#settings
    const what = waitsForConnection ? `The ${name} client had no connection` : `${name} did not answer`
    return new HeadgateError('HEADGATE_STORE_FAILED', `${what} within ${deadlineMs} ms, the \`deadline\`.`)
  }

  #failure(cause: unknown): HeadgateError {
    if (cause instanceof HeadgateError) return cause
    const message = cause instanceof Error ? cause.message : String(cause)
    return new HeadgateError('HEADGATE_STORE_FAILED', `${this.#settings.name} failed: ${message}`, { cause })
  }
}
