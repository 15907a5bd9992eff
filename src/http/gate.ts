import type { AsyncLimiter } from '../core/async-limiter.js'
import { decisionOf } from '../core/decision.js'
import type { Limiter } from '../core/limiter.js'
import type { Verdict } from '../core/verdict.js'
import { clientAddress } from './client-address.js'
import type { Host } from './host.js'
import { type KeyReader, keyReader } from './key.js'
import type { GatePlan } from './options.js'
import { asError, gather, isPromiseLike } from './promise.js'
import { type Recorder, type RecordParts, RequestRateLimit } from './request-rate-limit.js'
import { ResponseWriter } from './response-writer.js'
import type { Rules } from './rules.js'
import { ProxyWatch, warn } from './warnings.js'

/** Ends the gate's part of a request: the framework goes on, or to its error handler. */
export type Next = (error?: Error) => void

/** How a request leaves the gate: a number of ms to hold it (0 to pass at once), or -1 if it was answered. */
export type Outcome = number
export const passed: Outcome = 0
export const answered: Outcome = -1

/** The longest that a Node timer can wait; a longer one would fire at once. */
const longestHold = 2 ** 31 - 1

/**
 * The order of events for one request, written once for all frameworks: skip, key, cost, decide, headers, then
 * pass, hold or deny; once the response is sent, refund what does not count. It is synchronous as long as the
 * user's functions are.
 */
export class Gate<Req, Res> implements Recorder {
  readonly isShadow: boolean
  readonly isSilent: boolean
  /** True where it needs `request.user`. */
  readonly usesUser: boolean
  /** The limiter behind it; null where limits or windows are computed, for then no answer holds for all requests. */
  readonly limiter: Limiter | AsyncLimiter | null
  readonly #plan: GatePlan<Req, Res>
  readonly #host: Host<Req, Res>
  readonly #key: KeyReader<Req>
  readonly #writer: ResponseWriter<Req, Res>
  readonly #watch: ProxyWatch | null
  readonly #warned = new Set<string>()

  constructor(plan: GatePlan<Req, Res>, host: Host<Req, Res>) {
    this.#plan = plan
    this.#host = host
    this.#key = keyReader(plan.key, {
      header: host.header,
      ipv6Subnet: plan.ipv6Subnet
    })
    this.#writer = new ResponseWriter(plan, host)
    this.limiter = plan.rules.fixed?.limiter ?? null
    this.isShadow = plan.isShadow
    this.isSilent = plan.headers.fields.length === 0
    this.usesUser = this.#key.usesUser
    const usesAddress = this.#key.usesAddress || plan.allows !== null || plan.denies !== null
    this.#watch = usesAddress ? new ProxyWatch(host.trustOption) : null
  }

  /** Takes a request through the gate. Errors of the user's functions go to `next`. */
  handle(request: Req, response: Res, next: Next): void {
    let outcome: Outcome | PromiseLike<Outcome>
    try {
      outcome = this.enter(request, response)
    } catch (error) {
      next(asError(error))
      return
    }
    if (outcome === passed) next()
    else if (typeof outcome !== 'number')
      outcome.then(
        (later) => this.#leave(later, response, next),
        (error) => next(asError(error))
      )
    else this.#leave(outcome, response, next)
  }

  rewrite(record: RequestRateLimit): void {
    const { request, response } = record.origin
    if (!this.isShadow) this.#writer.headers(response as Res, this.#recordOf(request as Req) ?? record)
  }

  #leave(outcome: Outcome, response: Res, next: Next): void {
    if (outcome === passed) next()
    else if (outcome !== answered) this.hold(outcome, response, next)
  }

  /** Lets a request go on after so many ms, unless its client leaves before. */
  hold(outcome: Outcome, response: Res, next: () => void): void {
    if (this.#host.isClosed(response)) return
    const timer = setTimeout(next, Math.min(outcome, longestHold))
    this.#host.onClose(response, () => clearTimeout(timer))
  }

  /**
   * Decides about a request, and answers it if it is denied.
   * @throws what the user's functions throw
   */
  enter(request: Req, response: Res): Outcome | PromiseLike<Outcome> {
    if (this.#host.hasManyCalls !== true && this.#hasHandled(request)) return passed
    if (this.#isPreflight(request)) return this.#refusesPreflight(request, response) ? answered : passed
    // Read first: a client that leaves while something is awaited takes its address along.
    const address = this.#watch === null ? '' : this.#addressOf(request, this.#watch)
    const skips = this.#plan.skip === null ? false : this.#plan.skip!(request)
    if (isPromiseLike(skips))
      return skips.then((late) => (late ? passed : this.#admit(request, response, address)))
    return skips ? passed : this.#admit(request, response, address)
  }

  /** A preflight is not counted, but an address of the deny list stays refused. */
  #refusesPreflight(request: Req, response: Res): boolean {
    const { allows, denies } = this.#plan
    if (denies === null || this.isShadow) return false
    const address = this.#addressOf(request, this.#watch!)
    if (allows?.(address) || !denies(address)) return false
    this.#writer.forbid(request, response)
    return true
  }

  #admit(request: Req, response: Res, address: string): Outcome | PromiseLike<Outcome> {
    const { allows, denies } = this.#plan
    if (allows?.(address)) return passed
    if (denies?.(address) && !this.isShadow) {
      this.#writer.forbid(request, response)
      return answered
    }
    const key = this.#key.read(request, address)
    if (typeof key !== 'string') return key.then((late) => this.#price(request, response, late))
    return this.#price(request, response, key)
  }

  #price(request: Req, response: Res, key: string): Outcome | PromiseLike<Outcome> {
    const { rules, cost } = this.#plan
    if (rules.fixed !== null && typeof cost === 'number')
      return this.#decide(request, response, key, rules.fixed, cost)
    const parts = gather<Rules | number>([
      () => rules.forRequest(request),
      () => (typeof cost === 'number' ? cost : cost(request))
    ])
    const decide = (late: unknown[]) =>
      this.#decide(request, response, key, late[0] as Rules, late[1] as number)
    return isPromiseLike(parts) ? parts.then(decide) : decide(parts)
  }

  #decide(
    request: Req,
    response: Res,
    key: string,
    rules: Rules,
    cost: number
  ): Outcome | PromiseLike<Outcome> {
    const { limiter, policies } = rules
    const asked = { recorder: this, request, response, limiter, policies, key, cost }
    const verdict = limiter.take(key, cost, policies)
    return verdict instanceof Promise
      ? verdict.then((late) => this.#take(asked, late))
      : this.#take(asked, verdict)
  }

  /** Goes on with what the store decided. */
  #take(
    asked: Omit<RecordParts, 'decidedAt' | 'decision'>,
    verdict: Verdict
  ): Outcome | PromiseLike<Outcome> {
    const parts = { ...asked, decidedAt: verdict.at, decision: decisionOf(verdict, true) }
    return this.#settle(asked.request as Req, asked.response as Res, parts, verdict.isBlocked)
  }

  #settle(
    request: Req,
    response: Res,
    parts: RecordParts,
    isBlocked: boolean
  ): Outcome | PromiseLike<Outcome> {
    const { decision } = parts
    const earlier = this.#recordOf(request)
    const foreign = earlier?.first.notes.foreign
    const record = new RequestRateLimit(parts, earlier?.without(this))
    // Fields that are there by now may be ours: what was foreign is what the first of all calls found.
    if (foreign !== undefined) record.first.notes.foreign ??= foreign
    this.#host.setRecord(request, record)
    if (this.isShadow) this.#report(request, record)
    else this.#writer.headers(response, record)
    if (this.#plan.counts !== null && decision.allowed) this.#refundLater(request, response, record)
    if (this.isShadow) return passed
    if (decision.allowed) return decision.delayMs ?? passed
    const answer = this.#writer.deny(request, response, record, isBlocked)
    return isPromiseLike(answer) ? answer.then(() => answered) : answered
  }

  #warnOnce(code: string, message: string): void {
    if (this.#warned.has(code)) return
    this.#warned.add(code)
    warn(code, message)
  }

  /** Tells the shadow listener. Its failure must not become the request's: nothing is enforced. */
  #report(request: Req, record: RequestRateLimit): void {
    if (record.allowed || this.#plan.onShadow === null) return
    const failed = (error: unknown) =>
      this.#warnOnce('HEADGATE_SHADOW_FAILED', `\`shadow\` failed: ${asError(error).message}`)
    try {
      const told: unknown = this.#plan.onShadow(request, record)
      if (isPromiseLike(told)) told.then(undefined, failed)
    } catch (error) {
      failed(error)
    }
  }

  #refundLater(request: Req, response: Res, record: RequestRateLimit): void {
    const settle = (counts: unknown) => (counts ? undefined : record.refund())
    const failed = (error: unknown) =>
      this.#warnOnce(
        'HEADGATE_COUNT_FAILED',
        `\`countOnly\` failed, so the request stays counted: ${asError(error).message}`
      )
    this.#host.onFinish(response, (status) => {
      try {
        const counts: unknown = this.#plan.counts!(request, response, status)
        const refunded: unknown = isPromiseLike(counts) ? counts.then(settle) : settle(counts)
        if (isPromiseLike(refunded)) refunded.then(undefined, failed)
      } catch (error) {
        failed(error)
      }
    })
  }

  /** A CORS preflight: it carries no credentials, and a 429 to it shows as a network error (Fetch standard). */
  #isPreflight(request: Req): boolean {
    return (
      this.#host.method(request) === 'OPTIONS' &&
      this.#host.header(request, 'origin') !== undefined &&
      this.#host.header(request, 'access-control-request-method') !== undefined
    )
  }

  /** What earlier limiters decided; `request.rateLimit` may also be another library's. */
  #recordOf(request: Req): RequestRateLimit | undefined {
    const record = this.#host.recordOf(request)
    return record instanceof RequestRateLimit ? record : undefined
  }

  #hasHandled(request: Req): boolean {
    for (let record = this.#recordOf(request); record !== undefined; record = record.previous)
      if (record.origin.recorder === this) return true
    return false
  }

  #addressOf(request: Req, watch: ProxyWatch): string {
    const { forwarded } = this.#plan
    const value = this.#host.header(request, forwarded)
    const trust = value === undefined ? null : this.#host.trust(request)
    if (value !== undefined) watch.see(trust, this.#host.trustSetting(request))
    const address = clientAddress(this.#host.socket(request), value, forwarded, trust)
    if (address === 'unknown' || address === 'unix') watch.missAddress(address)
    return address
  }
}
