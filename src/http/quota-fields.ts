const { createHmac } = process.getBuiltinModule('node:crypto')

import { warnOnce } from '../core/warn.js'
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
  #hasToldNames = false
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
    const wait = headers.retryAfter(waiting, this.#now(record))
    const there = host.getHeader(response, 'Retry-After')
    values.push(there === undefined ? wait : laterWait(there, wait, this.#clock(record)))
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
    if (partitionSecret !== null && record.partitionKey === undefined) {
      record.partitionKey = partitionKey(record.key, partitionSecret)
      record.partitionKeys = record.keys?.map((key) => partitionKey(key, partitionSecret))
    }
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
    if (headers.lists.length > 0) {
      if (record.previous !== undefined && !this.#hasToldNames) this.#checkNames(tiers)
      this.#keepForeign(host, response, record, values)
    } else if (headers.fields.length > 0) record.wire = this.#wire
  }

  #exposed<Res>(host: Host<never, Res>, response: Res): string {
    return exposeHeaders(host.getHeader(response, exposing[0]), this.#plan.headers.exposed)
  }

  /** Says where limiters that meet on a response have policies of one name: clients take them for one. */
  #checkNames(tiers: readonly Quota[]): void {
    const name = sharedName(tiers)
    if (name === undefined) return
    this.#hasToldNames = true
    warnOnce(
      'HEADGATE_SAME_NAME',
      `Two limiters that meet on a response have a policy named '${name}', so its headers do not tell which is which: give each limiter a \`name\` of its own.`
    )
  }

  /** The time of the clock that the decision was made by, or of the wall; 0 where no field tells of it. */
  #now(record: RequestRateLimit): number {
    return this.#plan.headers.readsClock ? this.#clock(record) : 0
  }

  #clock(record: RequestRateLimit): number {
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

/** The later of the Retry-After that is there and ours, as it was written. */
function laterWait(there: string, own: string, nowMs: number): string {
  return instantOf(there, nowMs) > instantOf(own, nowMs) ? there : own
}

/** When a Retry-After ends, of either form (RFC 9110 §10.2.3), epoch ms; before everything else where it is none. */
function instantOf(field: string, nowMs: number): number {
  if (/^\d+$/.test(field)) return nowMs + Number(field) * 1000
  const date = /^[A-Z][a-z]{2}/.test(field) ? Date.parse(field) : Number.NaN
  return Number.isNaN(date) ? Number.NEGATIVE_INFINITY : date
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

/** The name that two policies of a response have, with nothing else to tell them apart. */
function sharedName(tiers: readonly Quota[]): string | undefined {
  const isSame = (a: Quota, b: Quota) => a.policy.name === b.policy.name && a.partitionKey === b.partitionKey
  return tiers.find((tier, i) => tiers.findIndex((other) => isSame(tier, other)) < i)?.policy.name
}

/** False where the store failed and nobody counted: then no quota is known. */
function isCounted({ source }: RequestRateLimit): boolean {
  return source !== 'allow' && source !== 'deny'
}

/** What headers tell of a record's own tiers. */
export function quotas(record: RequestRateLimit): readonly Quota[] {
  const { partitionKey: key, partitionKeys: own, tiers } = record
  if (key === undefined) return tiers
  return tiers.map(({ policy, limit, remaining, resetMs, retryAfterMs, allowed }, i) => ({
    policy,
    limit,
    remaining,
    resetMs,
    retryAfterMs,
    allowed,
    partitionKey: own?.[i] ?? key
  }))
}

/** A keyed hash, so that it tells nobody which address or user it stands for (draft-11 §6.1). */
function partitionKey(key: string, secret: string): string {
  return createHmac('sha256', secret).update(key).digest().subarray(0, partitionKeyBytes).toString('base64')
}
