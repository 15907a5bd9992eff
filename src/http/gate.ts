import { clientAddress } from './client-address.js'
import { type KeyReader, keyReader } from './key.js'
import type { GatePlan } from './options.js'
import type { Port } from './port.js'
import { isPromiseLike } from './promise.js'
import { type Recorder, RequestRateLimit } from './request-rate-limit.js'
import { ResponseWriter } from './response-writer.js'
import type { Rules } from './rules.js'
import { ProxyWatch, warn } from './warnings.js'

/** Ends the gate's part of a request: the framework goes on, or to its error handler. */
export type Next = (error?: Error) => void

/** How a request leaves the gate: a number of ms to hold it (0 to pass at once), or -1 if it was answered. */
type Outcome = number
const passed: Outcome = 0
const answered: Outcome = -1

/** The longest that a Node timer can wait; a longer one would fire at once. */
const longestHold = 2 ** 31 - 1

/**
 * The order of events for one request, written once for all frameworks: skip, key, cost, decide, headers, then
 * pass, hold or deny; once the response is sent, refund what does not count. It is synchronous as long as the
 * user's functions are.
 */
export class Gate<Req, Res> implements Recorder {
  readonly isShadow: boolean
  /** True where it needs `request.user`. */
  readonly usesUser: boolean
  readonly #plan: GatePlan<Req, Res>
  readonly #port: Port<Req, Res>
  readonly #key: KeyReader<Req>
  readonly #writer: ResponseWriter<Req, Res>
  readonly #watch: ProxyWatch | null

  constructor(plan: GatePlan<Req, Res>, port: Port<Req, Res>) {
    this.#plan = plan
    this.#port = port
    this.#key = keyReader(plan.key, {
      address: (request) => this.#addressOf(request),
      header: port.header,
      ipv6Subnet: plan.ipv6Subnet
    })
    this.#writer = new ResponseWriter(plan, port)
    this.isShadow = plan.isShadow
    this.usesUser = this.#key.usesUser
    const usesAddress = this.#key.usesAddress || plan.allows !== null || plan.denies !== null
    this.#watch = usesAddress ? new ProxyWatch(port.trustOption) : null
  }

  /** Takes a request through the gate. Errors of the user's functions go to `next`. */
  handle(request: Req, response: Res, next: Next): void {
    let outcome: Outcome | PromiseLike<Outcome>
    try {
      outcome = this.#enter(request, response)
    } catch (error) {
      next(error as Error)
      return
    }
    if (outcome === passed) next()
    else if (typeof outcome !== 'number') outcome.then((later) => this.#leave(later, response, next), next)
    else this.#leave(outcome, response, next)
  }

  rewrite(record: RequestRateLimit): void {
    this.#writer.headers(record.origin.response as Res, record)
  }

  #leave(outcome: Outcome, response: Res, next: Next): void {
    if (outcome === passed) next()
    if (outcome <= passed) return
    const timer = setTimeout(next, Math.min(outcome, longestHold))
    this.#port.onClose(response, () => clearTimeout(timer))
  }

  #enter(request: Req, response: Res): Outcome | PromiseLike<Outcome> {
    if (this.#isPreflight(request)) return passed
    const skips = this.#plan.skip === null ? false : this.#plan.skip!(request)
    if (isPromiseLike(skips)) return skips.then((late) => (late ? passed : this.#admit(request, response)))
    return skips ? passed : this.#admit(request, response)
  }

  #admit(request: Req, response: Res): Outcome | PromiseLike<Outcome> {
    const { allows, denies } = this.#plan
    if (this.#hasHandled(request)) return passed
    if (this.#watch !== null) this.#watchProxies(request, this.#watch)
    if (allows?.(this.#addressOf(request))) return passed
    if (denies?.(this.#addressOf(request)) && !this.isShadow) {
      this.#writer.forbid(request, response)
      return answered
    }
    const key = this.#key.read(request)
    if (typeof key !== 'string') return key.then((late) => this.#price(request, response, late))
    return this.#price(request, response, key)
  }

  #price(request: Req, response: Res, key: string): Outcome | PromiseLike<Outcome> {
    const rules = this.#plan.rules.fixed ?? this.#plan.rules.forRequest(request)
    const cost = typeof this.#plan.cost === 'number' ? this.#plan.cost : this.#plan.cost(request)
    if (typeof cost === 'number' && !isPromiseLike(rules))
      return this.#decide(request, response, key, rules, cost)
    return Promise.all([rules, cost]).then((late) => this.#decide(request, response, key, ...late))
  }

  #decide(
    request: Req,
    response: Res,
    key: string,
    rules: Rules,
    cost: number
  ): Outcome | PromiseLike<Outcome> {
    const { limiter, policies } = rules
    const decidedAt = limiter.now()
    const decision = limiter.take(key, cost, decidedAt, policies)
    const isBan = limiter.wasBlocked
    const previous = this.#port.recordOf(request)
    const record = new RequestRateLimit({
      recorder: this,
      response,
      limiter,
      policies,
      key,
      decidedAt,
      decision,
      cost,
      previous
    })
    this.#port.setRecord(request, record)
    if (this.isShadow) this.#report(request, record)
    else this.#writer.headers(response, record)
    if (this.#plan.counts !== null && decision.allowed) this.#refundLater(request, response, record)
    if (this.isShadow) return passed
    if (decision.allowed) return decision.delayMs ?? passed
    const answer = this.#writer.deny(request, response, record, isBan)
    return isPromiseLike(answer) ? answer.then(() => answered) : answered
  }

  #report(request: Req, record: RequestRateLimit): void {
    if (!record.allowed) this.#plan.onShadow?.(request, record)
  }

  #refundLater(request: Req, response: Res, record: RequestRateLimit): void {
    this.#port.onFinish(response, (status) => {
      try {
        if (!this.#plan.counts!(request, response, status)) record.refund()
      } catch (error) {
        warn('HEADGATE_COUNT_FAILED', `\`countOnly\` threw, so the request stays counted: ${String(error)}`)
      }
    })
  }

  /** A CORS preflight: it carries no credentials, and a 429 to it shows as a network error (Fetch standard). */
  #isPreflight(request: Req): boolean {
    return (
      this.#port.method(request) === 'OPTIONS' &&
      this.#port.header(request, 'origin') !== undefined &&
      this.#port.header(request, 'access-control-request-method') !== undefined
    )
  }

  #hasHandled(request: Req): boolean {
    for (let record = this.#port.recordOf(request); record !== undefined; record = record.previous)
      if (record.origin.recorder === this) return true
    return false
  }

  #addressOf(request: Req): string {
    const { forwarded } = this.#plan
    const value = this.#port.header(request, forwarded)
    const trust = value === undefined ? null : this.#port.trust(request)
    const address = clientAddress(this.#port.socket(request), value, forwarded, trust)
    if (address === 'unknown') this.#watch?.missAddress()
    return address
  }

  #watchProxies(request: Req, watch: ProxyWatch): void {
    const isForwarded =
      this.#port.header(request, 'x-forwarded-for') !== undefined ||
      this.#port.header(request, 'forwarded') !== undefined
    if (isForwarded) watch.see(this.#port.trust(request), this.#port.trustSetting(request))
  }
}
