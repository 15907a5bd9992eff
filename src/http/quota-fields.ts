const { createHmac } = process.getBuiltinModule('node:crypto')

import { exposeHeaders, type Quota } from './headers/index.js'
import type { Host } from './host.js'
import type { GatePlan } from './options.js'
import type { RequestRateLimit } from './request-rate-limit.js'

/** Bytes of the keyed hash that a partition key shows: too many to guess, too few to be worth a look-up table. */
const partitionKeyBytes = 12

const exposing = ['Access-Control-Expose-Headers'] as const

/** Writes the header fields that tell of quotas and waits. */
export class QuotaFields {
  /** The names of a denied request's fields: those of the quota, then of the wait. */
  readonly deniedNames: readonly string[]
  readonly #plan: GatePlan<never, never>
  /** Values of the fields of the response at hand; one array for all that are admitted. */
  readonly #values: string[] = []

  constructor(plan: GatePlan<never, never>) {
    this.#plan = plan
    this.deniedNames = [...plan.headers.fields, 'Retry-After', ...(plan.exposes ? exposing : [])]
  }

  /** Sets those of all limiters on an admitted request, unless headers are on the wire. */
  set<Res>(host: Host<never, Res>, response: Res, record: RequestRateLimit): void {
    const { headers, exposes } = this.#plan
    const tiers = this.#tiersOf(record)
    if (tiers.length === 0) return
    this.#fill(host, response, record, tiers, this.#values)
    host.setHeaders(response, headers.fields, this.#values)
    if (exposes) host.setHeaders(response, exposing, [this.#exposed(host, response)])
  }

  /** The values of `deniedNames` for a denied request. */
  denied<Res>(host: Host<never, Res>, response: Res, record: RequestRateLimit): string[] {
    const { headers, exposes } = this.#plan
    const tiers = this.#tiersOf(record)
    const values = headers.fields.map(() => '')
    if (tiers.length > 0) this.#fill(host, response, record, tiers, values)
    const waiting = record.source === 'deny' ? quotas(record) : tiers
    values.push(laterWait(host.getHeader(response, 'Retry-After'), this.#wait(record, waiting)))
    if (exposes) values.push(tiers.length > 0 ? this.#exposed(host, response) : '')
    return values
  }

  #tiersOf(record: RequestRateLimit): readonly Quota[] {
    const { partitionSecret } = this.#plan
    if (partitionSecret !== null) record.notes.partitionKey ??= partitionKey(record.key, partitionSecret)
    return enforcedTiers(record)
  }

  #fill<Res>(
    host: Host<never, Res>,
    response: Res,
    record: RequestRateLimit,
    tiers: readonly Quota[],
    values: string[]
  ): void {
    const { headers } = this.#plan
    headers.fill(tiers, this.#now(record), values)
    if (headers.lists.length > 0) this.#keepForeign(host, response, record, values)
  }

  #wait(record: RequestRateLimit, tiers: readonly Quota[]): string {
    return this.#plan.headers.retryAfter(tiers, this.#now(record))
  }

  #exposed<Res>(host: Host<never, Res>, response: Res): string {
    return exposeHeaders(host.getHeader(response, exposing[0]), this.#plan.headers.exposed)
  }

  /** The time of the clock that the decision was made by, or of the wall; 0 where no field tells of it. */
  #now(record: RequestRateLimit): number {
    if (!this.#plan.headers.readsClock) return 0
    return record.storeTime ?? this.#plan.now?.() ?? Date.now()
  }

  /** Puts the members of a List that something else has set before ours, as one List (RFC 9651 §3.1). */
  #keepForeign<Res>(host: Host<never, Res>, response: Res, record: RequestRateLimit, values: string[]): void {
    const { fields, lists } = this.#plan.headers
    const { first } = record
    if (first === record)
      first.notes.foreign ??= new Map(lists.map((name) => [name, host.getHeader(response, name) ?? '']))
    for (let i = 0; i < fields.length; i++) {
      const members = first.notes.foreign?.get(fields[i]!)
      if (members && values[i] !== '') values[i] = `${members}, ${values[i]}`
    }
  }
}

/** The later of the Retry-After that is there and ours. */
function laterWait(there: string | undefined, own: string): string {
  return there !== undefined && /^\d+$/.test(there) && Number(there) > Number(own) ? there : own
}

/**
 * The tiers that headers tell of: those of every limiter on the request that enforces and has headers, earlier ones
 * first. So the list styles name them all, and the others report the tightest
 * (draft-ietf-httpapi-ratelimit-headers-06 §4).
 */
function enforcedTiers(record: RequestRateLimit): readonly Quota[] {
  const own = record.shadow || !isCounted(record) ? none : quotas(record)
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

/** What headers tell of a record's own tiers. */
export function quotas(record: RequestRateLimit): readonly Quota[] {
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
