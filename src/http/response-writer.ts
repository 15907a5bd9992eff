import { createHmac } from 'node:crypto'
import { type DenialKind, denialBody } from './denial.js'
import { exposeHeaders, type Quota, retryAfterSeconds } from './headers/index.js'
import type { GatePlan } from './options.js'
import type { Port } from './port.js'
import { isPromiseLike } from './promise.js'
import type { RequestRateLimit } from './request-rate-limit.js'

/** Bytes of the keyed hash that a partition key shows: too many to guess, too few to be worth a look-up table. */
const partitionKeyBytes = 12

/** Writes what a gate has decided onto a response. */
export class ResponseWriter<Req, Res> {
  readonly #plan: GatePlan<Req, Res>
  readonly #port: Port<Req, Res>
  /** Values of the header fields of the response at hand; one array for all responses. */
  readonly #values: string[] = []

  constructor(plan: GatePlan<Req, Res>, port: Port<Req, Res>) {
    this.#plan = plan
    this.#port = port
  }

  /** Sets the header fields of all limiters on the request, unless headers are sent already. */
  headers(response: Res, record: RequestRateLimit): void {
    const { headers, partitionSecret, exposes } = this.#plan
    if (this.#port.isSent(response)) return
    if (partitionSecret !== null) record.partitionKey ??= partitionKey(record.key, partitionSecret)
    const tiers = enforcedTiers(record)
    const nowMs = this.#plan.now?.() ?? Date.now()
    headers.fill(tiers, nowMs, this.#values)
    for (let i = 0; i < headers.fields.length; i++) this.#set(response, headers.fields[i]!, this.#values[i]!)
    if (!record.allowed) this.#set(response, 'Retry-After', headers.retryAfter(tiers, nowMs))
    if (exposes) {
      const name = 'Access-Control-Expose-Headers'
      this.#port.setHeader(
        response,
        name,
        exposeHeaders(this.#port.getHeader(response, name), headers.exposed)
      )
    }
  }

  /** Answers a denied request, or has the user's `onLimited` do so. */
  deny(request: Req, response: Res, record: RequestRateLimit, isBan: boolean): unknown {
    const { statusCode, message, onLimited } = this.#plan
    this.#refuse(response, statusCode)
    if (onLimited !== null) {
      const answer = onLimited(request, response, record)
      return isPromiseLike(answer) ? answer : undefined
    }
    const text = typeof message === 'function' ? message(request, record) : message
    this.#send(request, response, statusCode, isBan ? 'abuse' : 'quota', record.tiers, text)
    return undefined
  }

  /** Answers a request from an address of the deny list. */
  forbid(request: Req, response: Res): void {
    this.#refuse(response, 403)
    this.#send(request, response, 403, 'abuse', [], 'Forbidden')
  }

  /** A denied response must not be stored, whatever earlier middleware said of it (RFC 6585 §4, RFC 9111 §3). */
  #refuse(response: Res, status: number): void {
    this.#port.setStatus(response, status)
    this.#port.setHeader(response, 'Cache-Control', 'no-store')
    this.#port.removeHeader(response, 'Expires')
  }

  #send(
    request: Req,
    response: Res,
    status: number,
    kind: DenialKind,
    tiers: readonly Quota[],
    message: string | null
  ): void {
    const accept = this.#port.header(request, 'accept')
    const { contentType, body } = denialBody(typeof accept === 'string' ? accept : undefined, {
      kind,
      status,
      violatedPolicies: tiers.filter((tier) => !tier.allowed).map((tier) => tier.policy.name),
      retryAfterSeconds: retryAfterSeconds(tiers),
      ...(message === null ? {} : { message })
    })
    this.#port.setHeader(response, 'Content-Type', contentType)
    this.#port.send(response, body)
  }

  #set(response: Res, name: string, value: string): void {
    if (value !== '') this.#port.setHeader(response, name, value)
  }
}

/**
 * The tiers that headers tell of: those of every limiter on the request that enforces, earlier ones first. So
 * the list styles name them all, and the others report the tightest (draft-ietf-httpapi-ratelimit-headers-06 §4).
 */
function enforcedTiers(record: RequestRateLimit): readonly Quota[] {
  const own = record.shadow ? [] : quotas(record)
  if (record.previous === undefined) return own
  const earlier = enforcedTiers(record.previous)
  return earlier.length === 0 ? own : [...earlier, ...own]
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
