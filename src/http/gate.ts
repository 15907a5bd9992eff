import { decisionOf } from '../core/decision.js'
import { PolicyLimiter } from '../core/limiter.js'
import { badOption } from '../core/options.js'
import { OwnPermit } from '../core/permit.js'
import type { Verdict } from '../core/verdict.js'
import { warn } from '../core/warn.js'
import { addressKey } from './address.js'
import type { HandParts } from './by-hand.js'
import { type Client, nobody } from './client-address.js'
import { Clients } from './clients.js'
import { CountOnly } from './count-only.js'
import { DenialMaker } from './denial-maker.js'
import type { Exchange, Host } from './host.js'
import { admitInFlight, releaseAtEnd } from './in-flight.js'
import { type KeyReader, keyReader } from './key.js'
import { preflightKey } from './key-text.js'
import type { Who } from './known.js'
import type { GatePlan } from './options.js'
import { answered, type Outcome, passed } from './outcome.js'
import { isPreflight } from './preflight.js'
import { asError, gather, isPromiseLike } from './promise.js'
import { QuotaFields } from './quota-fields.js'
import { keepRecord, recordOf } from './records.js'
import { type Asked, type Recorder, RequestRateLimit } from './request-rate-limit.js'
import type { Rules } from './rules.js'
import { UserWatch } from './user-watch.js'

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
  readonly #plan: GatePlan<Req, Res>
  readonly #key: KeyReader<Req>
  readonly #fields: QuotaFields
  readonly #denials: DenialMaker<Req, Res>
  readonly #usesAddress: boolean
  readonly #clients: Clients
  readonly #users: UserWatch | null
  readonly #countOnly: CountOnly<Req, Res> | null
  /** Requests that something is awaited for; null as long as nothing ever was. */
  #underWay: WeakMap<object, PromiseLike<Outcome>> | null = null
  #hasWarned = false

  constructor(plan: GatePlan<Req, Res>) {
    this.#plan = plan
    this.#clients = new Clients(plan.forwarded)
    this.#key = keyReader(plan.key, plan.ipv6Subnet)
    this.#fields = new QuotaFields(plan)
    this.#denials = new DenialMaker(plan, this.#fields)
    this.isShadow = plan.isShadow
    this.isSilent = plan.headers.fields.length === 0
    this.usesUser = this.#key.usesUser || plan.ruled?.usesUser === true
    this.#countOnly = plan.counts === null ? null : new CountOnly(plan.counts, plan.abortedStatus)
    this.#usesAddress = this.#key.usesAddress || plan.allows !== null || plan.denies !== null
    this.#users = this.#key.usesUser ? new UserWatch() : null
  }

  /**
   * Decides about a request.
   * @throws what the user's functions throw
   */
  enter(host: Host<Req, Res>, request: Req, response: Res): Outcome | PromiseLike<Outcome> {
    if (host.hasManyCalls === true) return this.#begin(host, request, response)
    if (this.#hasHandled(host, request)) return passed
    const underWay = this.#underWay?.get(request as object)
    if (underWay !== undefined) return Promise.resolve(underWay).then(withFirst)
    const outcome = this.#begin(host, request, response)
    if (isPromiseLike<Outcome>(outcome)) {
      this.#underWay ??= new WeakMap()
      this.#underWay.set(request as object, outcome)
    }
    return outcome
  }

  #begin(host: Host<Req, Res>, request: Req, response: Res): Outcome | PromiseLike<Outcome> {
    // Read first: a client that leaves while something is awaited takes its address along.
    const client =
      this.#usesAddress || this.#plan.ruled?.usesAddress === true || host.method(request) === 'OPTIONS'
        ? this.#clients.of(host, request)
        : nobody
    const { skip = null } = this.#plan
    if (skip === null) return this.#admit(host, request, response, client)
    const skips = skip(request)
    if (isPromiseLike(skips))
      return Promise.resolve(skips).then((late) =>
        isSkipped(late) ? passed : this.#admit(host, request, response, client)
      )
    return isSkipped(skips) ? passed : this.#admit(host, request, response, client)
  }

  /** Answers all that wait for a permit, and lets nobody wait any more. */
  close(): void {
    for (const limiter of this.#plan.rules.limiters) limiter.close()
  }

  /** Forgets whom it has counted, where that is kept in this process; elsewhere others may still count there. */
  forget(): void {
    for (const limiter of this.#plan.rules.limiters) if (limiter instanceof PolicyLimiter) limiter.clear()
  }

  /** What its limiter by hand is made of: see `limiterBehind`. */
  handParts(hostOf: (request: Req) => Host<Req, never>): HandParts<Req> {
    const keyOf = (who: Who) => this.#key.of(who)
    if (this.#plan.ruled !== null)
      return this.#plan.ruled.handParts(hostOf, {
        keyOf,
        clientOf: (host, request) => this.#clients.of(host, request)
      })
    return {
      rules: this.#plan.rules,
      keyOf,
      keyOfRequest: (request) => this.#keyOf(hostOf(request), request)
    }
  }

  rewrite(record: RequestRateLimit): void {
    const { host, response } = record.origin as Asked<Req, Res>
    this.#fields.set(host, response, record)
  }

  #admit(host: Host<Req, Res>, request: Req, response: Res, client: Client): Outcome | PromiseLike<Outcome> {
    const { allows, denies, ipv6Subnet, ruled } = this.#plan
    const { address, standing } = client
    if (allows !== null && standing === 'client' && allows(address)) return passed
    if (denies !== null && !this.isShadow && (standing === 'unreadable' || denies(address)))
      return this.#denials.forbid(host, request)
    if (ruled !== null) return ruled.enter(host, request, response, client)
    if (isPreflight(host, request))
      return this.#price(host, request, response, preflightKey(addressKey(address, ipv6Subnet)), 'preflight')
    const key = this.#key.read(request, address, host)
    if (this.#users !== null) this.#users.see(host, request, response)
    if (typeof key !== 'string') return key.then((late) => this.#price(host, request, response, late))
    return this.#price(host, request, response, key)
  }

  #keyOf(host: Host<Req, never>, request: Req): string | Promise<string> {
    const { address } = this.#usesAddress ? this.#clients.of(host, request) : nobody
    return this.#key.read(request, address, host)
  }

  #price(
    host: Host<Req, Res>,
    request: Req,
    response: Res,
    key: string,
    kind: Asked['kind'] = 'request'
  ): Outcome | PromiseLike<Outcome> {
    const { rules } = this.#plan
    const cost = kind === 'preflight' ? 1 : this.#plan.cost
    if (rules.fixed === null || typeof cost !== 'number')
      return this.#compute(host, request, response, key, kind)
    const { limiter, policies } = rules.fixed
    return this.#decide({ recorder: this, host, request, response, kind, limiter, policies, key, cost })
  }

  /** Decides by limits and costs that the user's functions give. */
  #compute(
    host: Host<Req, Res>,
    request: Req,
    response: Res,
    key: string,
    kind: Asked['kind']
  ): Outcome | PromiseLike<Outcome> {
    const { rules } = this.#plan
    const cost = kind === 'preflight' ? 1 : this.#plan.cost
    const parts = gather<Rules | number>([
      () => rules.forRequest(request),
      () => (typeof cost === 'number' ? cost : cost(request))
    ])
    const decide = (late: readonly unknown[]) => {
      const { limiter, policies } = late[0] as Rules
      rules.note(key, late[0] as Rules)
      const asked = { recorder: this, host, request, response, kind, limiter, policies, key }
      return this.#decide({ ...asked, cost: late[1] as number })
    }
    return isPromiseLike(parts) ? parts.then(decide) : decide(parts)
  }

  #decide(asked: Asked<Req, Res>): Outcome | PromiseLike<Outcome> {
    const { limiter, policies, key, cost } = asked
    if (limiter.admission !== null)
      return admitInFlight(asked, limiter.admission, !this.isShadow, (verdict, exchange) =>
        this.#conclude(asked, verdict, exchange)
      )
    const verdict = limiter.take(key, cost, policies)
    return isPromiseLike<Verdict>(verdict)
      ? Promise.resolve(verdict).then((late) => this.#conclude(asked, late))
      : this.#conclude(asked, verdict)
  }

  /** Tells of a decision, and makes the outcome of it. */
  #conclude(
    asked: Asked<Req, Res>,
    verdict: Verdict,
    exchange: Exchange | null = null
  ): Outcome | PromiseLike<Outcome> {
    const { host, request, response, kind } = asked
    const { at, isBlocked } = verdict
    const permit = exchange === null ? null : new OwnPermit(verdict, asked.limiter, asked.key, asked.cost)
    const decision = permit ?? decisionOf(verdict, true)
    const record = new RequestRateLimit(asked, decision, at, permit)
    // Its client has left while something was awaited: nobody is served.
    if (permit?.allowed === true && releaseAtEnd(permit, exchange!)) return answered
    const earlier = recordOf(request)
    if (earlier !== undefined) record.follow(earlier)
    keepRecord(request, record)
    host.setRecord(request, record)
    if (this.isShadow) this.#report(request, record)
    else if (decision.allowed && kind === 'request') this.#fields.set(host, response, record)
    if (this.#countOnly !== null && decision.allowed) this.#countOnly.watch(asked, record)
    if (this.isShadow) return passed
    if (!decision.allowed) return this.#denials.deny(asked, record, isBlocked)
    const { delayMs = 0 } = decision
    return delayMs === 0 ? passed : { kind: 'held', forMs: delayMs }
  }

  /** Tells the shadow listener. Its failure must not become the request's: nothing is enforced. */
  #report(request: Req, record: RequestRateLimit): void {
    if (record.allowed || this.#plan.onShadow === null) return
    const failed = (error: unknown) => {
      if (this.#hasWarned) return
      this.#hasWarned = true
      warn('HEADGATE_SHADOW_FAILED', `\`shadow\` failed: ${asError(error).message}`)
    }
    try {
      const told: unknown = this.#plan.onShadow(request, record)
      if (isPromiseLike(told)) Promise.resolve(told).catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  /** Where it has, `request.rateLimit` is that of the latest limiter again, whatever stood there meanwhile. */
  #hasHandled(host: Host<Req, Res>, request: Req): boolean {
    const latest = recordOf(request)
    for (let record = latest; record !== undefined; record = record.previous)
      if (record.origin.recorder === this) {
        host.setRecord(request, latest!)
        return true
      }
    return false
  }
}

/** Nothing but true skips: what is true by mistake, such as the text 'false', must not switch the limit off. */
function isSkipped(answer: unknown): boolean {
  if (!answer || answer === true) return answer === true
  throw badOption('skip', answer, 'its function must return true or false')
}

/** What becomes of a request that enters once more while it is decided about: one denial answers it. */
function withFirst(outcome: Outcome): Outcome {
  return outcome.kind === 'denied' ? answered : outcome
}
