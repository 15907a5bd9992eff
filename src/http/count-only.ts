import { HeadgateError } from '../core/errors.js'
import { warn } from '../core/warn.js'
import { onEnded } from './endings.js'
import type { CountPredicate } from './http-options.js'
import { asError, isPromiseLike } from './promise.js'
import type { Asked, RequestRateLimit } from './request-rate-limit.js'

/** Gives back requests that do not count, once their response has ended (`countOnly`). */
export class CountOnly<Req, Res> {
  readonly #counts: CountPredicate<Req, Res>
  /** The status that an aborted request counts by; null if it counts in any case. */
  readonly #abortedStatus: number | null
  #hasWarned = false

  constructor(counts: CountPredicate<Req, Res>, abortedStatus: number | null) {
    this.#counts = counts
    this.#abortedStatus = abortedStatus
  }

  watch({ host, request, response }: Asked<Req, Res>, record: RequestRateLimit): void {
    onEnded(host, response, (isWhole) => {
      const status = isWhole ? host.sentStatus(response) : this.#abortedStatus
      if (status !== null) this.#settle(request, response, status, record)
    })
  }

  /** Only false gives back: what says nothing, by mistake, must not switch the limit off. */
  #settle(request: Req, response: Res, status: number, record: RequestRateLimit): void {
    const refund = (counts: unknown) => {
      if (counts === false) return record.refund()
      if (counts !== true) throw new Error('its function must return true or false')
      return undefined
    }
    const failed = (error: unknown) => this.#warn(asError(error))
    try {
      const counts: unknown = this.#counts(request, response, status)
      const refunded: unknown = isPromiseLike(counts) ? Promise.resolve(counts).then(refund) : refund(counts)
      if (isPromiseLike(refunded)) refunded.then(undefined, failed)
    } catch (error) {
      failed(error)
    }
  }

  #warn(error: Error): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const isOutage = error instanceof HeadgateError && error.code === 'HEADGATE_STORE_FAILED'
    const what = isOutage ? 'could not give a request back' : 'failed, so the request stays counted'
    warn('HEADGATE_COUNT_FAILED', `\`countOnly\` ${what}: ${error.message}`)
  }
}
