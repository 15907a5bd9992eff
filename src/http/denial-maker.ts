import { badOption } from '../core/options.js'
import { type Denial, type DenialKind, denialBody } from './denial.js'
import { handOver } from './hand-over.js'
import { type Quota, retryAfterSeconds } from './headers/index.js'
import { type Host, isOpen } from './host.js'
import type { GatePlan } from './options.js'
import type { Outcome, ResponseBody } from './outcome.js'
import { isPromiseLike } from './promise.js'
import { type DeniedFields, type QuotaFields, quotas, unstored } from './quota-fields.js'
import type { RequestRateLimit } from './request-rate-limit.js'

/** A denied request. */
interface Case<Req, Res> {
  readonly host: Host<Req, Res>
  readonly request: Req
  readonly response: Res
  readonly record: RequestRateLimit
  /** True for a key that is blocked. */
  readonly isBlocked: boolean
}

/** Makes the response to a denied request, and has `onLimited` and `message` say what they say of it. */
export class DenialMaker<Req, Res> {
  readonly #plan: GatePlan<Req, Res>
  readonly #fields: QuotaFields

  constructor(plan: GatePlan<Req, Res>, fields: QuotaFields) {
    this.#plan = plan
    this.#fields = fields
  }

  /** @throws what `onLimited` and `message` throw */
  deny(
    { host, request, response }: Pick<Case<Req, Res>, 'host' | 'request' | 'response'>,
    record: RequestRateLimit,
    isBlocked: boolean
  ): Outcome | PromiseLike<Outcome> {
    const denied = { host, request, response, record, isBlocked }
    const head = this.#fields.denied(host, response, record)
    const { onLimited, message } = this.#plan
    if (record.source === 'deny' || record.source === 'closed') {
      const body = bodyOf(host, request, { status: 503, kind: 'capacity', tiers: quotas(record) })
      return { kind: 'denied', response: { status: 503, ...head, isFresh: true, body }, rateLimit: record }
    }
    // Somebody has begun to answer: what else could be said is not sent.
    if (!isOpen(host, response)) return this.#told(denied, head, null)
    if (onLimited !== null && host.hasManyCalls !== true) return this.#handOver(denied, head)
    if (typeof message !== 'function') return this.#told(denied, head, message)
    // They stay where `message` fails.
    host.setHeaders(response, head.names, head.values)
    return this.#ask(denied)
  }

  /** The refusal of an address of the deny list. */
  forbid(host: Host<Req, Res>, request: Req): Outcome {
    const body = bodyOf(host, request, { status: 403, kind: 'abuse', tiers: [], message: 'Forbidden' })
    return {
      kind: 'denied',
      response: { status: 403, ...unstored, isFresh: true, body },
      rateLimit: undefined
    }
  }

  /** Lets `onLimited` answer. */
  #handOver(denied: Case<Req, Res>, head: DeniedFields): Outcome | PromiseLike<Outcome> {
    const { host, request, response, record } = denied
    return handOver(host, response, {
      head: { status: this.#plan.statusCode, ...head },
      call: () => this.#plan.onLimited!(request, response, record),
      otherwise: () => this.#ask(denied),
      rateLimit: record
    })
  }

  /** The built-in answer with what `message` says, on a response that has the fields of the quota already. */
  #ask(denied: Case<Req, Res>): Outcome | PromiseLike<Outcome> {
    const { message } = this.#plan
    const text: unknown = typeof message === 'function' ? message(denied.request, denied.record) : message
    if (isPromiseLike(text)) return Promise.resolve(text).then((late) => this.#told(denied, unstored, late))
    return this.#told(denied, unstored, text)
  }

  /** The built-in answer. */
  #told(denied: Case<Req, Res>, head: DeniedFields, text: unknown): Outcome {
    const { host, request, record, isBlocked } = denied
    if (text !== null && typeof text !== 'string')
      throw badOption('message', text, 'its function must return a text')
    const status = this.#plan.statusCode
    const kind = isBlocked ? 'abuse' : 'quota'
    const body = bodyOf(host, request, { status, kind, tiers: record.tiers, message: text })
    return { kind: 'denied', response: { status, ...head, isFresh: true, body }, rateLimit: record }
  }
}

/** What a body tells of. */
interface Story {
  readonly status: number
  readonly kind: DenialKind
  readonly tiers: readonly Quota[]
  readonly message?: string | null
}

/** The body in the form that the request accepts. */
function bodyOf<Req>(
  host: Host<Req, never>,
  request: Req,
  { status, kind, tiers, message = null }: Story
): ResponseBody {
  const accept = host.header(request, 'accept')
  const denial: Denial = {
    kind,
    status,
    violatedPolicies: tiers.filter((tier) => !tier.allowed).map((tier) => tier.policy.name),
    retryAfterSeconds: retryAfterSeconds(tiers),
    ...(tiers.some(isUnsure) ? { isUnsure: true } : {}),
    ...(message === null ? {} : { message })
  }
  return {
    kind: 'denial',
    denial,
    content: denialBody(typeof accept === 'string' ? accept : undefined, denial, host.denialForm)
  }
}

/** True for a tier that denies until nobody knows when. */
function isUnsure({ allowed, retryAfterMs }: Quota): boolean {
  return !allowed && Number.isNaN(retryAfterMs)
}
