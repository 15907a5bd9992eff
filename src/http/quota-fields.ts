const { createHmac } = process.getBuiltinModule('node:crypto')

import { exposeHeaders, type HeaderPlan, planBeside, type Quota } from './headers/index.js'
import type { Host } from './host.js'
import type { GatePlan } from './options.js'
import type { RequestRateLimit, Wire } from './request-rate-limit.js'

/** Bytes of the keyed hash that a partition key shows: too many to guess, too few to be worth a look-up table. */
const partitionKeyBytes = 12

/** A denied response must not be stored, whatever earlier middleware said of it (RFC 6585 §4, RFC 9111 §3). */
export const unstored = { names: ['Cache-Control'], values: ['no-store'] } as const

const exposing = ['Access-Control-Expose-Headers'] as const

/** The fields of a denied request: of the quota, of the wait, and that no cache is to keep it. */
export interface DeniedFields {
  readonly names: readonly string[]
  readonly values: readonly string[]
}

/** Writes the header fields that tell of quotas and waits. */
export class QuotaFields {
  readonly #plan: GatePlan<never, never>
  readonly #deniedNames: readonly string[]
  /** What it writes, where there are no Lists of others. */
  readonly #wire: Wire
  /** Values of the fields of the response at hand; one array for all that are admitted. */
  readonly #values: string[] = []
  /** The same where another limiter has written fields of its own before, by the plan that they follow. */
  readonly #beside = new WeakMap<HeaderPlan, QuotaFields>()

  constructor(plan: GatePlan<never, never>) {
    this.#plan = plan
    const { headers, exposes } = plan
    this.#deniedNames = [...headers.fields, 'Retry-After', ...(exposes ? exposing : []), ...unstored.names]
    this.#wire = { plan: headers, foreign: undefined }
  }

  /** Sets those of all limiters on an admitted request, unless headers are on the wire. */
  set<Res>(host: Host<never, Res>, response: Res, record: RequestRateLimit): void {
    const tiers = this.#tiersOf(record)
    if (tiers.length > 0) this.#on(record).#write(host, response, record, tiers)
  }

  /** Those of a denied request. */
  denied<Res>(host: Host<never, Res>, response: Res, record: RequestRateLimit): DeniedFields {
    return this.#on(record).#ofDenied(host, response, record, this.#tiersOf(record))
  }

  #write<Res>(
    host: Host<never, Res>,
    response: Res,
    record: RequestRateLimit,
    tiers: readonly Quota[]
  ): void {
    const { headers, exposes } = this.#plan
    this.#fill(host, response, record, tiers, this.#values)
    host.setHeaders(response, headers.fields, this.#values)
    if (exposes) host.setHeaders(response, exposing, [this.#exposed(host, response)])
  }

  #ofDenied<Res>(
    host: Host<never, Res>,
    response: Res,
    record: RequestRateLimit,
    tiers: readonly Quota[]
  ): DeniedFields {
    const { headers, exposes } = this.#plan
    const values = headers.fields.map(() => '')
    if (tiers.length > 0) this.#fill(host, response, record, tiers, values)
    const waiting = record.source === 'deny' ? quotas(record) : tiers
    values.push(laterWait(host.getHeader(response, 'Retry-After'), this.#wait(record, waiting)))
    if (exposes) values.push(tiers.length > 0 ? this.#exposed(host, response) : '')
    values.push(...unstored.values)
    return { names: this.#deniedNames, values }
  }

  /** What writes by the plan of the response: limiters that meet on one follow the style of the first (H14). */
  #on({ wire }: RequestRateLimit): QuotaFields {
    const { headers } = this.#plan
    if (wire === undefined || headers.fields.length === 0) return this
    const known = this.#beside.get(wire.plan)
    if (known !== undefined) return known
    const plan = planBeside(wire.plan, headers)
    const beside = plan === headers ? this : new QuotaFields({ ...this.#plan, headers: plan })
    this.#beside.set(wire.plan, beside)
    return beside
  }

  #tiersOf(record: RequestRateLimit): readonly Quota[] {
    const { partitionSecret } = this.#plan
    if (partitionSecret !== null) record.partitionKey ??= partitionKey(record.key, partitionSecret)
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
    else if (headers.fields.length > 0) record.wire = this.#wire
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
    const { headers } = this.#plan
    const foreign = record.wire?.foreign ?? new Map<string, string>()
    for (const name of headers.lists)
      if (!foreign.has(name)) foreign.set(name, membersOf(host.getHeader(response, name)))
    record.wire = { plan: headers, foreign }
    for (let i = 0; i < headers.fields.length; i++) {
      const members = foreign.get(headers.fields[i]!)
      if (members && values[i] !== '') values[i] = `${members}, ${values[i]}`
    }
  }
}

/** What is there, if it is a List of names; '' for what earlier drafts, and others, write into the same field. */
function membersOf(field: string | undefined): string {
  return field?.trimStart().startsWith('"') ? field : ''
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
