import { type Decision, decisionOf } from '../core/decision.js'
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
import { handPartsOf } from './hand-parts.js'
import { Holding } from './holding.js'
import type { Exchange, Host } from './host.js'
import { admitInFlight, releaseAtEnd } from './in-flight.js'
import { type KeyReader, keyReader } from './key.js'
import { preflightKey } from './key-text.js'
import type { GatePlan } from './options.js'
import { answered, type Outcome, passed } from './outcome.js'
import { isPreflight } from './preflight.js'
import { ownKeys, type Priced, priceOf } from './pricing.js'
import { asError, gather, isPromiseLike } from './promise.js'
import { QuotaFields } from './quota-fields.js'
import { keepRecord, recordOf, withdrawAll } from './records.js'
import { type Asked, type Recorder, RequestRateLimit } from './request-rate-limit.js'
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
  /** What is only watched, beside what this gate enforces; null where there is nothing. */
  readonly #watchers: readonly Gate<Req, Res>[] | null
  readonly #countOnly: CountOnly<Req, Res> | null
  /** Requests that something is awaited for; null as long as nothing ever was. */
  #underWay: WeakMap<object, PromiseLike<Outcome>> | null = null
  /** Made with the first request that is to be held. */
  #holding: Holding | null = null
  #hasWarned = false

  constructor(plan: GatePlan<Req, Res>) {
    this.#plan = plan
    this.#clients = new Clients(plan.forwarded)
    this.#key = keyReader(plan.key, plan.ipv6Subnet)
    this.#fields = new QuotaFields(plan)
    this.#denials = new DenialMaker(plan, this.#fields)
    this.isShadow = plan.isShadow
    this.isSilent = plan.headers.fields.length === 0
    this.#watchers = plan.watched.length === 0 ? null : plan.watched.map((watched) => new Gate(watched))
    const readers = [this.#key, ...ownKeys(plan.rules)]
    this.usesUser =
      plan.ruled?.usesUser === true ||
      readers.some((reader) => reader.usesUser) ||
      this.#watchers?.some((gate) => gate.usesUser) === true
    this.#countOnly = plan.counts === null ? null : new CountOnly(plan.counts, plan.abortedStatus)
    this.#usesAddress =
      readers.some((reader) => reader.usesAddress) ||
      this.#watchers?.some((gate) => gate.#usesAddress) === true ||
      plan.allows !== null ||
      plan.denies !== null
    this.#users = readers.some((reader) => reader.usesUser) ? new UserWatch() : null
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

  /** Answers all that wait for a permit, has all that are held go on, and lets nobody wait any more. */
  close(): void {
    this.#holding ??= new Holding()
    this.#holding.close()
    for (const limiter of this.#plan.rules.limiters) limiter.close()
    for (const gate of this.#watchers ?? []) gate.close()
    this.#plan.ruled?.close()
  }

  /** Forgets whom it has counted, where that is kept in this process; elsewhere others may still count there. */
  forget(): void {
    for (const limiter of this.#plan.rules.limiters) if (limiter instanceof PolicyLimiter) limiter.clear()
  }

  /** What its limiter by hand is made of: see `limiterBehind`. */
  handParts(hostOf: (request: Req) => Host<Req, never>): HandParts<Req> {
    const { ruled } = this.#plan
    if (ruled !== null)
      return ruled.handParts(hostOf, {
        keyOf: (who) => this.#key.of(who),
        clientOf: (host, request) => this.#clients.of(host, request)
      })
    const addressOf = (host: Host<Req, never>, request: Req) =>
      this.#usesAddress ? this.#clients.of(host, request).address : nobody.address
    const watched = (this.#watchers ?? []).map((gate) => gate.handParts(hostOf))
    const own = { plan: this.#plan, key: this.#key, addressOf, watched, close: () => this.close() }
    return handPartsOf<Req>(own, hostOf)
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
      return this.#forbid(host, request)
    if (ruled !== null) return ruled.enter(host, request, response, client)
    if (isPreflight(host, request)) {
      const key = preflightKey(addressKey(address, ipv6Subnet))
      return this.#price(host, request, response, address, key, 'preflight')
    }
    if (this.#watchers === null) return this.#charge(host, request, response, address)
    const watched = gather(this.#watchers.map((gate) => () => gate.#charge(host, request, response, address)))
    return isPromiseLike(watched)
      ? watched.then(() => this.#charge(host, request, response, address))
      : this.#charge(host, request, response, address)
  }

  /** Finds who is to be charged. */
  #charge(
    host: Host<Req, Res>,
    request: Req,
    response: Res,
    address: string
  ): Outcome | PromiseLike<Outcome> {
    const key = this.#key.read(request, address, host)
    if (this.#users !== null) this.#users.see(host, request, response)
    if (typeof key !== 'string')
      return key.then((late) => this.#price(host, request, response, address, late, 'request'))
    return this.#price(host, request, response, address, key, 'request')
  }

  #price(
    host: Host<Req, Res>,
    request: Req,
    response: Res,
    address: string,
    key: string,
    kind: Asked['kind']
  ): Outcome | PromiseLike<Outcome> {
    const { rules } = this.#plan
    const cost = kind === 'preflight' ? 1 : this.#plan.cost
    if (rules.fixed === null || typeof cost !== 'number') {
      const price = priceOf<Req>(this.#plan, { host, request, address, key, kind })
      const decide = (priced: Priced) =>
        this.#decide({ recorder: this, host, request, response, kind, ...priced })
      return isPromiseLike(price) ? price.then(decide) : decide(price)
    }
    const { limiter, policies } = rules.fixed
    return this.#decide({ recorder: this, host, request, response, kind, limiter, policies, key, cost })
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
    const { isBlocked } = verdict
    const permit = exchange === null ? null : new OwnPermit(verdict, asked.limiter, asked.key, asked.cost)
    let decision = permit ?? decisionOf(verdict, true)
    const { delayMs = 0 } = decision
    const isHeld = (delayMs > 0 || this.#holding !== null) && this.#mustWait(asked, decision)
    if (isHeld && !this.#holding!.hasRoom(verdict.policies))
      decision = this.#holding!.refuse(asked, verdict, permit)
    const record = new RequestRateLimit(asked, decision, verdict, permit)
    if (permit?.allowed === true && releaseAtEnd(permit, exchange!)) {
      // Its client has left while something was awaited: nobody is served.
      this.#countOnly?.watch(asked, record)
      return answered
    }
    const earlier = recordOf(request)
    if (earlier !== undefined) record.follow(earlier)
    keepRecord(request, record)
    host.setRecord(request, record)
    if (this.isShadow) this.#report(request, record)
    else if (decision.allowed && kind === 'request') this.#fields.set(host, response, record)
    if (this.#countOnly !== null && decision.allowed) this.#countOnly.watch(asked, record)
    if (this.isShadow) return passed
    if (!decision.allowed) return this.#deny(asked, record, isBlocked)
    return isHeld ? this.#holding!.hold(asked, delayMs) : passed
  }

  /** True for a request that is slowed down, or comes after one of its key that is. */
  #mustWait({ key }: Asked<Req, Res>, { allowed, delayMs = 0 }: Decision): boolean {
    if (this.isShadow || !allowed) return false
    if (this.#holding === null) this.#holding = new Holding()
    return this.#holding.mustWait(key, delayMs)
  }

  /** Denies a request, which nobody is to be charged for then: neither by the limiters that it met before. */
  #deny(
    asked: Asked<Req, Res>,
    record: RequestRateLimit,
    isBlocked: boolean
  ): Outcome | PromiseLike<Outcome> {
    return withdrawn(asked.host, record.previous, () => this.#denials.deny(asked, record, isBlocked))
  }

  /** Refuses an address of the deny list, in the same way. */
  #forbid(host: Host<Req, Res>, request: Req): Outcome | PromiseLike<Outcome> {
    return withdrawn(host, recordOf(request), () => this.#denials.forbid(host, request))
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

/** Makes a denial, once what earlier limiters charged for the request is given back; of several calls each is charged. */
function withdrawn<Req, Res>(
  { hasManyCalls }: Host<Req, Res>,
  earlier: RequestRateLimit | undefined,
  deny: () => Outcome | PromiseLike<Outcome>
): Outcome | PromiseLike<Outcome> {
  const given = earlier === undefined || hasManyCalls === true ? undefined : withdrawAll(earlier)
  return isPromiseLike(given) ? given.then(deny) : deny()
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
