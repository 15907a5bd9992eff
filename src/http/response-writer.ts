import { badOption } from '../core/options.js'
import { type Denial, type DenialKind, denialBody } from './denial.js'
import { exposeHeaders, type Quota, retryAfterSeconds } from './headers/index.js'
import type { Host } from './host.js'
import type { GatePlan } from './options.js'
import { isPromiseLike } from './promise.js'
import type { RequestRateLimit } from './request-rate-limit.js'

const { createHmac } = process.getBuiltinModule('node:crypto')

/** Bytes of the keyed hash that a partition key shows: too many to guess, too few to be worth a look-up table. */
const partitionKeyBytes = 12

/** Fields that earlier middleware may have set for a body that is not sent now. */
const ofAnotherBody = ['Expires', 'Content-Length', 'Content-Encoding'] as const

/** Writes what a gate has decided onto a response. */
export class ResponseWriter<Req, Res> {
  readonly #plan: GatePlan<Req, Res>
  readonly #host: Host<Req, Res>
  /** Values of the header fields of the response at hand; one array for all responses. */
  readonly #values: string[] = []

  constructor(plan: GatePlan<Req, Res>, host: Host<Req, Res>) {
    this.#plan = plan
    this.#host = host
  }

  /** Sets the header fields of all limiters on the request, unless headers are sent already. */
  headers(response: Res, record: RequestRateLimit): void {
    const { headers, partitionSecret, exposes } = this.#plan
    if (partitionSecret !== null) record.notes.partitionKey ??= partitionKey(record.key, partitionSecret)
    const tiers = enforcedTiers(record)
    if (tiers.length === 0) return
    const nowMs = headers.readsClock ? this.#now(record) : 0
    headers.fill(tiers, nowMs, this.#values)
    if (headers.lists.length > 0) this.#keepForeign(response, record)
    this.#host.setHeaders(response, headers.fields, this.#values)
    if ((record.allowed && !exposes) || this.#host.isSent(response)) return
    if (!record.allowed)
      this.#set(response, 'Retry-After', this.#laterRetry(response, headers.retryAfter(tiers, nowMs)))
    if (exposes) {
      const name = 'Access-Control-Expose-Headers'
      this.#host.setHeader(
        response,
        name,
        exposeHeaders(this.#host.getHeader(response, name), headers.exposed)
      )
    }
  }

  /** The time of the clock that the decision was made by, or of the wall. */
  #now(record: RequestRateLimit): number {
    return record.storeTime ?? this.#plan.now?.() ?? Date.now()
  }

  /** Puts the members of a List that something else has set before ours, as one List (RFC 9651 §3.1). */
  #keepForeign(response: Res, record: RequestRateLimit): void {
    const { fields, lists } = this.#plan.headers
    const { first } = record
    if (first === record)
      first.notes.foreign ??= new Map(lists.map((name) => [name, this.#host.getHeader(response, name) ?? '']))
    for (let i = 0; i < fields.length; i++) {
      const members = first.notes.foreign?.get(fields[i]!)
      if (members && this.#values[i] !== '') this.#values[i] = `${members}, ${this.#values[i]}`
    }
  }

  /** The later of the Retry-After that is there and ours. */
  #laterRetry(response: Res, own: string): string {
    const there = this.#host.getHeader(response, 'Retry-After')
    return there !== undefined && /^\d+$/.test(there) && Number(there) > Number(own) ? there : own
  }

  /** Answers a denied request, or has the user's `onLimited` do so. */
  deny(request: Req, response: Res, record: RequestRateLimit, isBan: boolean): unknown {
    const { onLimited } = this.#plan
    if (this.#host.isSent(response)) return this.#host.cutShort(response)
    if (record.source === 'deny') return this.#closeGate(request, response, record)
    if (onLimited !== null) return this.#handOver(request, response, record, isBan)
    return this.#answer(request, response, record, isBan)
  }

  /** The answer that is sent where nobody else gives one. */
  #answer(request: Req, response: Res, record: RequestRateLimit, isBan: boolean): unknown {
    const { message } = this.#plan
    const text: unknown = typeof message === 'function' ? message(request, record) : message
    const tell = (late: unknown) => this.#tell(request, response, record, isBan, late)
    return isPromiseLike(text) ? text.then(tell) : tell(text)
  }

  #tell(request: Req, response: Res, record: RequestRateLimit, isBan: boolean, text: unknown): void {
    if (text !== null && typeof text !== 'string')
      throw badOption('message', text, 'its function must return a text')
    const { statusCode } = this.#plan
    this.#refuse(response, statusCode)
    this.#send(request, response, statusCode, isBan ? 'abuse' : 'quota', record.tiers, text)
  }

  /** Lets `onLimited` answer. If it fails, the status that the framework's error handler finds is the earlier one. */
  #handOver(request: Req, response: Res, record: RequestRateLimit, isBan: boolean): unknown {
    const before = this.#host.status(response)
    const failed = (error: unknown) => {
      if (!this.#host.isSent(response)) this.#host.setStatus(response, before)
      throw error
    }
    const finish = (value: unknown) => {
      if (this.#host.isSent(response) || value === response) return undefined
      if (value === undefined) return this.#answer(request, response, record, isBan)
      return this.#host.sendValue(response, value, this.#plan.statusCode)
    }
    this.#refuse(response, this.#plan.statusCode)
    try {
      const answer = this.#plan.onLimited!(request, response, record)
      return isPromiseLike(answer) && answer !== response
        ? answer.then(finish).then(undefined, failed)
        : finish(answer)
    } catch (error) {
      return failed(error)
    }
  }

  /** Answers a request from an address of the deny list. */
  forbid(request: Req, response: Res): void {
    if (this.#host.isSent(response)) this.#host.cutShort(response)
    else {
      this.#refuse(response, 403)
      this.#send(request, response, 403, 'abuse', [], 'Forbidden')
    }
  }

  /** Answers a request that is refused because its store fails: the client has used up nothing. */
  #closeGate(request: Req, response: Res, record: RequestRateLimit): void {
    const tiers = quotas(record)
    this.#refuse(response, 503)
    const nowMs = this.#now(record)
    this.#set(
      response,
      'Retry-After',
      this.#laterRetry(response, this.#plan.headers.retryAfter(tiers, nowMs))
    )
    this.#send(request, response, 503, 'capacity', tiers, null)
  }

  /** A denied response must not be stored, whatever earlier middleware said of it (RFC 6585 §4, RFC 9111 §3). */
  #refuse(response: Res, status: number): void {
    this.#host.setStatus(response, status)
    this.#host.setHeader(response, 'Cache-Control', 'no-store')
    // Only what is there: Node would send no length of its own once that is removed.
    for (const name of ofAnotherBody)
      if (this.#host.getHeader(response, name) !== undefined) this.#host.removeHeader(response, name)
  }

  #send(
    request: Req,
    response: Res,
    status: number,
    kind: DenialKind,
    tiers: readonly Quota[],
    message: string | null
  ): void {
    const accept = this.#host.header(request, 'accept')
    const denial: Denial = {
      kind,
      status,
      violatedPolicies: tiers.filter((tier) => !tier.allowed).map((tier) => tier.policy.name),
      retryAfterSeconds: retryAfterSeconds(tiers),
      ...(message === null ? {} : { message })
    }
    this.#host.send(response, denialBody(typeof accept === 'string' ? accept : undefined, denial), denial)
  }

  #set(response: Res, name: string, value: string): void {
    if (value !== '') this.#host.setHeader(response, name, value)
  }
}

/**
 * The tiers that headers tell of: those of every limiter on the request that enforces and has headers, earlier ones
 * first. So the list styles name them all, and the others report the tightest
 * (draft-ietf-httpapi-ratelimit-headers-06 §4).
 */
function enforcedTiers(record: RequestRateLimit): readonly Quota[] {
  const own = record.shadow || !isCounted(record) ? [] : quotas(record)
  const earlier = earlierTiers(record)
  return earlier.length === 0 ? own : [...earlier, ...own]
}

const none: readonly Quota[] = []

function earlierTiers({ previous }: RequestRateLimit): readonly Quota[] {
  if (previous === undefined) return none
  return previous.origin.recorder.isSilent ? earlierTiers(previous) : enforcedTiers(previous)
}

/** False where the store failed and nobody counted: then no quota is known. */
function isCounted({ source }: RequestRateLimit): boolean {
  return source !== 'allow' && source !== 'deny'
}

function quotas(record: RequestRateLimit): readonly Quota[] {
  const { partitionKey: key, tiers } = record
  if (key === undefined) return tiers
  return tiers.map(({ policy, limit, remaining, resetMs, retryAfterMs, allowed }) => ({
    policy,
    limit,
    remaining,
    resetMs,
    retryAfterMs,
    allowed,
    partitionKey: key
  }))
}

/** A keyed hash, so that it tells nobody which address or user it stands for (draft-11 §6.1). */
function partitionKey(key: string, secret: string): string {
  return createHmac('sha256', secret).update(key).digest().subarray(0, partitionKeyBytes).toString('base64')
}
