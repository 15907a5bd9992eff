import type { AsyncLimiter } from '../core/async-limiter.js'
import { decisionOf } from '../core/decision.js'
import type { Limiter } from '../core/limiter.js'
import type { Verdict } from '../core/verdict.js'
import { clientAddress } from './client-address.js'
import { DenialMaker } from './denial-maker.js'
import type { Host } from './host.js'
import { type KeyReader, keyReader } from './key.js'
import type { GatePlan } from './options.js'
import { type Outcome, passed } from './outcome.js'
import { asError, gather, isPromiseLike } from './promise.js'
import { QuotaFields } from './quota-fields.js'
import { type Asked, type Recorder, RequestRateLimit } from './request-rate-limit.js'
import type { Rules } from './rules.js'
import { ProxyWatch, warn } from './warnings.js'

/**
 * The order of events for one request, written once for all frameworks: skip, key, cost, decide, headers, then
 * pass, hold or deny; once the response is sent, refund what does not count. It is synchronous as long as the
 * user's functions are. What it decides is data: whoever called it sends it, or throws it.
 */
export class Gate<Req, Res> implements Recorder {
  readonly isShadow: boolean
  readonly isSilent: boolean
  /** True where it needs `request.user`. */
  readonly usesUser: boolean
  /** The limiter behind it; null where limits or windows are computed, for then no answer holds for all requests. */
  readonly limiter: Limiter | AsyncLimiter | null
  readonly #plan: GatePlan<Req, Res>
  readonly #key: KeyReader<Req>
  readonly #fields: QuotaFields
  readonly #denials: DenialMaker<Req, Res>
  readonly #watch: ProxyWatch | null
  readonly #warned = new Set<string>()

  constructor(plan: GatePlan<Req, Res>) {
    this.#plan = plan
    this.#key = keyReader(plan.key, plan.ipv6Subnet)
    this.#fields = new QuotaFields(plan)
    this.#denials = new DenialMaker(plan, this.#fields)
    this.limiter = plan.rules.fixed?.limiter ?? null
    this.isShadow = plan.isShadow
    this.isSilent = plan.headers.fields.length === 0
    this.usesUser = this.#key.usesUser
    const usesAddress = this.#key.usesAddress || plan.allows !== null || plan.denies !== null
    this.#watch = usesAddress ? new ProxyWatch() : null
  }

  /**
   * Decides about a request.
   * @throws what the user's functions throw
   */
  enter(host: Host<Req, Res>, request: Req, response: Res): Outcome | PromiseLike<Outcome> {
    if (host.hasManyCalls !== true && this.#hasHandled(host, request)) return passed
    if (isPreflight(host, request)) return this.#passPreflight(host, request)
    // Read first: a client that leaves while something is awaited takes its address along.
    const address = this.#watch === null ? '' : this.#addressOf(host, request, this.#watch)
    const { skip = null } = this.#plan
    if (skip === null) return this.#admit(host, request, response, address)
    const skips = skip(request)
    if (isPromiseLike(skips))
      return Promise.resolve(skips).then((late) =>
        late ? passed : this.#admit(host, request, response, address)
      )
    return skips ? passed : this.#admit(host, request, response, address)
  }

  rewrite(record: RequestRateLimit): void {
    const { host, request, response } = record.origin as Asked<Req, Res>
    if (!this.isShadow) this.#fields.set(host, response, recordOf(host, request) ?? record)
  }

  /** A preflight is not counted, but an address of the deny list stays refused. */
  #passPreflight(host: Host<Req, Res>, request: Req): Outcome {
    const { allows, denies } = this.#plan
    if (denies === null || this.isShadow) return passed
    const address = this.#addressOf(host, request, this.#watch!)
    return !allows?.(address) && denies(address) ? this.#denials.forbid(host, request) : passed
  }

  #admit(host: Host<Req, Res>, request: Req, response: Res, address: string): Outcome | PromiseLike<Outcome> {
    const { allows, denies } = this.#plan
    if (allows?.(address)) return passed
    if (denies?.(address) && !this.isShadow) return this.#denials.forbid(host, request)
    const key = this.#key.read(request, address, host)
    if (typeof key !== 'string') return key.then((late) => this.#price(host, request, response, late))
    return this.#price(host, request, response, key)
  }

  #price(host: Host<Req, Res>, request: Req, response: Res, key: string): Outcome | PromiseLike<Outcome> {
    const { rules, cost } = this.#plan
    if (rules.fixed !== null && typeof cost === 'number') {
      const { limiter, policies } = rules.fixed
      return this.#decide({ recorder: this, host, request, response, limiter, policies, key, cost })
    }
    return this.#compute(host, request, response, key)
  }

  /** Decides by limits and costs that the user's functions give. */
  #compute(host: Host<Req, Res>, request: Req, response: Res, key: string): Outcome | PromiseLike<Outcome> {
    const { rules, cost } = this.#plan
    const parts = gather<Rules | number>([
      () => rules.forRequest(request),
      () => (typeof cost === 'number' ? cost : cost(request))
    ])
    const decide = (late: readonly unknown[]) => {
      const { limiter, policies } = late[0] as Rules
      const asked = {
        recorder: this,
        host,
        request,
        response,
        limiter,
        policies,
        key,
        cost: late[1] as number
      }
      return this.#decide(asked)
    }
    return isPromiseLike(parts) ? parts.then(decide) : decide(parts)
  }

  #decide(asked: Asked<Req, Res>): Outcome | PromiseLike<Outcome> {
    const { limiter, policies, key, cost } = asked
    const verdict = limiter.take(key, cost, policies)
    return verdict instanceof Promise
      ? verdict.then((late) => this.#conclude(asked, late))
      : this.#conclude(asked, verdict)
  }

  /** Tells of a decision, and makes the outcome of it. */
  #conclude(asked: Asked<Req, Res>, verdict: Verdict): Outcome | PromiseLike<Outcome> {
    const { host, request, response } = asked
    const { at, isBlocked } = verdict
    const decision = decisionOf(verdict, true)
    const record = new RequestRateLimit(asked, decision, at)
    const earlier = recordOf(host, request)
    if (earlier !== undefined) record.follow(earlier)
    host.setRecord(request, record)
    if (this.isShadow) this.#report(request, record)
    else if (decision.allowed) this.#fields.set(host, response, record)
    if (this.#plan.counts !== null && decision.allowed) this.#refundLater(asked, record)
    if (this.isShadow) return passed
    if (!decision.allowed) return this.#denials.deny(asked, record, isBlocked)
    const { delayMs = 0 } = decision
    return delayMs === 0 ? passed : { kind: 'held', forMs: delayMs }
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

  #refundLater({ host, request, response }: Asked<Req, Res>, record: RequestRateLimit): void {
    const refund = (counts: unknown) => (counts ? undefined : record.refund())
    const failed = (error: unknown) =>
      this.#warnOnce(
        'HEADGATE_COUNT_FAILED',
        `\`countOnly\` failed, so the request stays counted: ${asError(error).message}`
      )
    host.onFinish(response, (status) => {
      try {
        const counts: unknown = this.#plan.counts!(request, response, status)
        const refunded: unknown = isPromiseLike(counts)
          ? Promise.resolve(counts).then(refund)
          : refund(counts)
        if (isPromiseLike(refunded)) refunded.then(undefined, failed)
      } catch (error) {
        failed(error)
      }
    })
  }

  #hasHandled(host: Host<Req, Res>, request: Req): boolean {
    for (let record = recordOf(host, request); record !== undefined; record = record.previous)
      if (record.origin.recorder === this) return true
    return false
  }

  #addressOf(host: Host<Req, Res>, request: Req, watch: ProxyWatch): string {
    const { forwarded } = this.#plan
    const value = host.header(request, forwarded)
    const trust = value === undefined ? null : host.trust(request)
    if (value !== undefined) watch.see(host.trustOption, trust, host.trustSetting(request))
    const address = clientAddress(host.socket(request), value, forwarded, trust)
    if (address === 'unknown' || address === 'unix') watch.missAddress(address)
    return address
  }
}

/** A CORS preflight: it carries no credentials, and a 429 to it shows as a network error (Fetch standard). */
function isPreflight<Req>(host: Host<Req, never>, request: Req): boolean {
  return (
    host.method(request) === 'OPTIONS' &&
    host.header(request, 'origin') !== undefined &&
    host.header(request, 'access-control-request-method') !== undefined
  )
}

/** What earlier limiters decided; `request.rateLimit` may also be another library's. */
function recordOf<Req>(host: Host<Req, never>, request: Req): RequestRateLimit | undefined {
  const record = host.recordOf(request)
  return record instanceof RequestRateLimit ? record : undefined
}
