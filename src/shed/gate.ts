import { badOption } from '../core/options.js'
import { isPromiseLike } from '../core/promise.js'
import { warn } from '../core/warn.js'
import { whenEnded } from '../http/endings.js'
import type { Host } from '../http/host.js'
import { type Outcome, passed } from '../http/outcome.js'
import { asError } from '../http/promise.js'
import { ShedAnswer } from './answer.js'
import { isAt } from './health-paths.js'
import type { ShedPlan } from './options.js'
import { noRules, type RouteRules, routeRules } from './routes.js'
import { Shedder } from './shedder.js'
import type { Shedding, ShedReason, ShedState } from './state.js'
import { type ShedStatus, StatusReport } from './status.js'
import type { Probe } from './worker-probe.js'

/** What requests of one kind of route are taken through. */
export interface ShedEntry<Req, Res> {
  enter(host: Host<Req, Res>, request: Req, response: Res): Outcome | PromiseLike<Outcome>
}

/**
 * The order of events for one request, written once for all frameworks: skip, priority, room among those in flight, health,
 * then pass or shed; and at its end its place in flight is free again. What it decides is data: the adapter sends it.
 */
export class ShedGate<Req extends object, Res extends object> implements ShedEntry<Req, Res> {
  readonly #plan: ShedPlan<Req, Res>
  readonly #shedder: Shedder
  readonly #answer: ShedAnswer<Req, Res>
  readonly #report: StatusReport
  /** Requests that it has decided about: one that meets it twice is one. */
  readonly #met = new WeakSet<object>()
  /** By what their routes say. */
  readonly #entries = new WeakMap<object, ShedEntry<Req, Res>>()
  readonly #unshed: ShedEntry<Req, Res>
  #hasWarned = false

  /** @param makeProbe what looks at the worker; tests give their own */
  constructor(plan: ShedPlan<Req, Res>, makeProbe?: () => Probe) {
    this.#plan = plan
    this.#shedder = new Shedder(plan, makeProbe)
    this.#answer = new ShedAnswer(plan)
    this.#report = new StatusReport(this.#answer.head)
    this.#unshed = this.#entryOf(routeRules(false, plan.priorities))
  }

  /** @throws what the user's functions throw */
  enter(host: Host<Req, Res>, request: Req, response: Res): Outcome | PromiseLike<Outcome> {
    return this.#enter(host, request, response, noRules)
  }

  /**
   * What requests of a route are taken through that says something of its own.
   * @throws HeadgateError for what can be no `shed` of a route
   */
  on(said: unknown): ShedEntry<Req, Res> {
    if (said === undefined) return this
    if (said === false) return this.#unshed
    const known = typeof said === 'object' && said !== null ? this.#entries.get(said) : undefined
    if (known !== undefined) return known
    const entry = this.#entryOf(routeRules<Req, Res>(said, this.#plan.priorities))
    this.#entries.set(said as object, entry)
    return entry
  }

  get state(): ShedState {
    return this.#shedder.state
  }

  /** What a status route is to answer: asks the health check, which answers within its interval or has failed. */
  async status(): Promise<ShedStatus> {
    const checked = await this.#shedder.ask()
    return this.#report.make(checked, this.#shedder.state)
  }

  /** Asks the health check for the first time. Nobody waits for it: until it has said yes, requests are shed. */
  begin(): void {
    void this.#shedder.ask()
  }

  close(): void {
    this.#shedder.close()
  }

  #entryOf(rules: RouteRules<Req, Res>): ShedEntry<Req, Res> {
    return { enter: (host, request, response) => this.#enter(host, request, response, rules) }
  }

  #enter(
    host: Host<Req, Res>,
    request: Req,
    response: Res,
    rules: RouteRules<Req, Res>
  ): Outcome | PromiseLike<Outcome> {
    if (this.#met.has(request)) return passed
    this.#met.add(request)
    if (!rules.isShed || this.#isSkipped(request)) return this.#admit(host, response, 0)
    const rank = rules.rank ?? this.#rankOf(request)
    const reason = this.#shedder.judge(rank)
    if (reason === null) return this.#admit(host, response, rank)
    const tell = () => this.#sheddingOf(rank, reason)
    if (this.#plan.isShadow) {
      this.#tellOfShadow(request, tell)
      return this.#admit(host, response, rank)
    }
    return this.#answer.make(host, request, response, rules.onShed ?? this.#plan.onShed, tell)
  }

  /** What is never shed is in flight as what is of the highest priority. */
  #admit(host: Host<Req, Res>, response: Res, rank: number): Outcome {
    const { inFlight } = this.#shedder
    inFlight.enter(rank)
    whenEnded(host, response, () => inFlight.leave(rank))
    return passed
  }

  #isSkipped(request: Req): boolean {
    const { healthPaths, skip } = this.#plan
    if (healthPaths.length > 0 && isAt(healthPaths, request)) return true
    if (skip === null) return false
    const skips = skip(request)
    if (!skips || skips === true) return skips === true
    if (isPromiseLike(skips)) Promise.resolve(skips).catch(() => {})
    throw badOption('skip', skips, 'its function must return true or false, and not a promise')
  }

  #rankOf(request: Req): number {
    const { priority, priorities } = this.#plan
    return priority === null ? priorities.defaultRank : priorities.rankOf(priority(request))
  }

  #sheddingOf(rank: number, reason: ShedReason): Shedding {
    const { priorities, retryAfterMs } = this.#plan
    return { priority: priorities.names[rank]!, reason, retryAfterMs, state: this.state }
  }

  /** Tells the shadow listener. Its failure must not become the request's: nothing is enforced. */
  #tellOfShadow(request: Req, tell: () => Shedding): void {
    const { onShadow } = this.#plan
    if (onShadow === null) return
    const failed = (error: unknown) => {
      if (this.#hasWarned) return
      this.#hasWarned = true
      warn('HEADGATE_SHADOW_FAILED', `\`shadow\` failed: ${asError(error).message}`)
    }
    try {
      const told = onShadow(request, tell())
      if (isPromiseLike(told)) Promise.resolve(told).catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
