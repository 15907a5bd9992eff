import { HeadgateError } from '../core/errors.js'
import { monotonicMs } from '../remote/time/own-time.js'

/** Calls that a node may owe an answer to after they were given up: each takes some room in the client. */
const mostOwed = 256

/** How often a node that owes so many is asked all the same: not all clients settle what they have lost. */
const retryMs = 60_000

/**
 * Calls that were given up and that the client has not settled. A client whose server hangs keeps them, and whatever is
 * sent then stands behind them: beyond some nothing more is sent, so that an outage of days takes no more memory than one
 * of minutes.
 */
export class Unanswered {
  readonly #nodes = new Map<object, string>()
  readonly #owed = new Map<string, number>()
  #retryAt = 0

  /** Notes a call to a node that was given up. */
  add(call: object, node: string): void {
    this.#nodes.set(call, node)
    this.#owed.set(node, (this.#owed.get(node) ?? 0) + 1)
  }

  /** Notes that the client has settled it. */
  settle(call: object): void {
    if (this.#nodes.size === 0) return
    const node = this.#nodes.get(call)
    if (node === undefined) return
    this.#nodes.delete(call)
    const left = this.#owed.get(node)! - 1
    if (left > 0) this.#owed.set(node, left)
    else this.#owed.delete(node)
  }

  /** True if nothing more is to be sent to a node now. */
  areTooMany(node: string): boolean {
    if (this.#nodes.size < mostOwed || (this.#owed.get(node) ?? 0) < mostOwed) return false
    const now = monotonicMs()
    if (now < this.#retryAt) return true
    this.#retryAt = now + retryMs
    return false
  }

  /** Why nothing is sent. */
  error(): HeadgateError {
    return new HeadgateError(
      'HEADGATE_STORE_FAILED',
      `The Redis client has not settled ${mostOwed} calls that were given up: nothing more is sent until it does.`
    )
  }
}
