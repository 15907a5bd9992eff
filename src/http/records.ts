import { isPromiseLike } from './promise.js'
import type { RequestRateLimit } from './request-rate-limit.js'

/**
 * Where a request keeps what our limiters decided about it: `request.rateLimit` may be another library's. Copies of this
 * package in one process share the slot. Of each other's records they use the public properties, `origin`, `first`,
 * `without`, `wire` and `partitionKey`, with what these are made of: the slot has another number once that changes.
 */
const slot = Symbol.for('headgate.record/1')

interface Slotted {
  [slot]?: RequestRateLimit | undefined
}

/** What the latest of our limiters decided about a request. */
export function recordOf(request: unknown): RequestRateLimit | undefined {
  return (request as Slotted)[slot]
}

/** Keeps the decision of the latest limiter. */
export function keepRecord(request: unknown, record: RequestRateLimit): void {
  ;(request as Slotted)[slot] = record
}

/**
 * What the latest limiter decided about this request, also where another library has put something of its own at
 * `request.rateLimit`; undefined where nothing was limited.
 */
export function rateLimitOf(request: object): RequestRateLimit | undefined {
  return recordOf(request)
}

/**
 * Gives back what limiters charged that have admitted a request which is denied after all: from the latest on, those before
 * it.
 */
export function withdrawAll(latest: RequestRateLimit): void | Promise<void> {
  const given: (void | PromiseLike<void>)[] = []
  for (let record: RequestRateLimit | undefined = latest; record !== undefined; record = record.previous)
    // One of another copy of this package may be older.
    given.push(record.withdraw === undefined ? record.refund() : record.withdraw())
  return given.some((late) => isPromiseLike(late)) ? Promise.all(given).then(() => {}) : undefined
}
