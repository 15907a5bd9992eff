import { type Decision, decisionOf } from '../core/decision.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import type { Permit } from '../core/permit.js'
import type { Policy } from '../core/policy.js'
import { heard } from '../core/promise.js'
import { Together } from '../core/together.js'
import type { Source, Verdict } from '../core/verdict.js'
import type { HeaderPlan } from './headers/index.js'
import type { Host } from './host.js'
import { isPromiseLike } from './promise.js'
import { recordOf } from './records.js'

/** The gate that made a record, as the record sees it. */
export interface Recorder {
  /** True where its decisions are only reported, never enforced. */
  readonly isShadow: boolean
  /** True where it tells nobody of its quotas. */
  readonly isSilent: boolean
  /** Writes the headers of its record's response anew, if they are not sent yet. */
  rewrite(record: RequestRateLimit): void
}

/** Units that a request was charged, to be given back if need be. */
interface Charged {
  readonly decision: Decision
  readonly charged: number
  /** When, ms on the clock of the limiter or its store. */
  readonly at: number
  /** The same of each, where several limiters decided. */
  readonly receipts: Verdict['receipts']
}

/** What decides about a request: a limiter, or several together. */
export type Decider = BuiltLimiter | Together

/** What a limiter is asked about a request. */
export interface Asked<Req = unknown, Res = unknown> {
  readonly recorder: Recorder
  readonly host: Host<Req, Res>
  readonly request: Req
  readonly response: Res
  /** A preflight is counted apart from the requests of its client. */
  readonly kind: 'request' | 'preflight'
  readonly limiter: Decider
  readonly policies: readonly Policy[]
  readonly key: string
  readonly cost: number
}

/** What a request was charged, as far as it has not been given back. */
interface Charges {
  /** For being admitted. */
  own: Charged | null
  /** Late, each with its instant. */
  late: Charged[]
  /** A late charge that is under way. */
  pending: Promise<void> | undefined
}

/** What limiters have written on one response. */
export interface Wire {
  /** All fields, of the first limiter and of those after it. */
  readonly plan: HeaderPlan
  /** Lists that were there before ours, by name. */
  readonly foreign: Map<string, string> | undefined
}

/**
 * What was decided about a request: `request.rateLimit`. Of several limiters on one request it is the latest;
 * `previous` leads to the others.
 */
export class RequestRateLimit implements Decision {
  /** Who was charged. */
  readonly key: string
  readonly #asked: Asked
  #decision: Decision
  #at: number
  readonly #receipts: Verdict['receipts']
  #previous: RequestRateLimit | undefined
  #charges: Charges | undefined
  #partitionKey: string | undefined
  #wire: Wire | undefined
  readonly #permit: Permit | null

  /** @internal */
  constructor(
    asked: Asked,
    decision: Decision,
    { at, receipts }: Pick<Verdict, 'at' | 'receipts'>,
    permit: Permit | null = null
  ) {
    this.key = asked.key
    this.#asked = asked
    this.#decision = decision
    this.#at = at
    this.#receipts = receipts
    this.#permit = permit
  }

  /** What an earlier limiter on the same request decided. */
  get previous(): RequestRateLimit | undefined {
    return this.#previous
  }

  /** True where the decision is only reported, never enforced. */
  get shadow(): boolean {
    return this.#asked.recorder.isShadow
  }

  get allowed(): boolean {
    return this.#decision.allowed
  }

  get limit(): number {
    return this.#decision.limit
  }

  get remaining(): number {
    return this.#decision.remaining
  }

  get retryAfterMs(): number {
    return this.#decision.retryAfterMs
  }

  get resetMs(): number {
    return this.#decision.resetMs
  }

  /** How long the request is held back, or would be without `shadow`; 0 where it is not. */
  get delayMs(): number {
    return this.#decision.delayMs ?? 0
  }

  get policy(): Policy {
    return this.#decision.policy
  }

  get tiers(): readonly Decision[] {
    return this.#decision.tiers
  }

  get source(): Source {
    return this.#decision.source
  }

  get isEstimate(): boolean {
    return this.#decision.isEstimate
  }

  /**
   * Gives back now what the request was given in flight (`concurrency`), where the rest of it takes nothing that is scarce;
   * otherwise that comes back when the response has ended. A second time it does nothing.
   */
  release(): void {
    this.#permit?.release()
  }

  /**
   * Charges `cost` units more, for a cost that shows only while the request is served. They are spent already, so
   * they are charged as far as anything is left, never past full. Headers that are not sent yet are brought up to date.
   * 0 charges nothing. A promise with a store outside of the process.
   * @throws HeadgateError `HEADGATE_BAD_COST` for anything but a whole number of at least 0
   */
  charge(cost: number): void | Promise<void> {
    const { limiter, policies } = this.#asked
    const charged = limiter.charge(this.key, cost, policies)
    if (!isPromiseLike<Verdict>(charged)) return this.#add(charged)
    const added = Promise.resolve(charged).then((late) => this.#add(late))
    this.#charged().pending = added
    return added
  }

  /** Gives back what this request was charged, `charge` included. A promise with a store outside of the process. */
  refund(): void | Promise<void> {
    const pending = this.#charges?.pending
    if (pending === undefined) return this.#refund()
    const refund = () => this.#refund()
    return heard(pending.then(refund, refund))
  }

  #charged(): Charges {
    this.#charges ??= { own: this.#ownCharge(), late: [], pending: undefined }
    return this.#charges
  }

  #ownCharge(): Charged | null {
    if (!this.#decision.allowed) return null
    return { decision: this.#decision, charged: this.#asked.cost, at: this.#at, receipts: this.#receipts }
  }

  #refund(): void | Promise<void> {
    const charges = this.#charged()
    const due = charges.own === null ? charges.late : [...charges.late, charges.own]
    charges.late = []
    charges.own = null
    const given = due.map((charge) => this.#giveBack(charge))
    return given.some((late) => late !== undefined) ? heard(Promise.all(given).then(() => {})) : undefined
  }

  #add(verdict: Verdict): void {
    if (!this.#decision.allowed) return
    const { charged, at, receipts } = verdict
    const decision = decisionOf(verdict, false)
    // Only what was left is charged, so no more than that may be given back.
    const { late } = this.#charged()
    if (charged > 0) late.push({ decision, charged, at, receipts })
    this.#decision = decision
    this.#at = at
    // One limiter writes the headers for all on the response: the latest that writes any.
    const speaker = speakerOf(recordOf(this.#asked.request) ?? this)
    speaker?.origin.recorder.rewrite(speaker)
  }

  #giveBack({ decision, charged, at, receipts }: Charged): void | Promise<void> {
    const { limiter, policies } = this.#asked
    return limiter.giveBack(this.key, charged, policies, { at, source: decision.source, receipts })
  }

  /**
   * @internal Gives back what the request was charged, as a later limiter denies it, unless denied requests are charged here
   * too; from then on it says what its limiter would answer now.
   */
  withdraw(): void | Promise<void> {
    const { limiter, policies, cost, recorder } = this.#asked
    if (!this.allowed) return undefined
    this.#permit?.release('ignored')
    const given = limiter.countsDenied ? undefined : this.refund()
    // Of one that is only watched nobody tells the client.
    if (recorder.isShadow) return isPromiseLike(given) ? given.then(undefined, () => {}) : undefined
    // In one turn with the refund, so that a store outside the process is asked once.
    const look = limiter.look(this.key, policies, Math.max(1, cost))
    const see = (verdict: Verdict) => {
      this.#decision = decisionOf(verdict, false)
      this.#at = verdict.at
    }
    if (!isPromiseLike<Verdict>(look)) return see(look)
    // Where the store fails, the charge stays.
    return Promise.all([look, Promise.resolve(given).then(undefined, () => {})]).then(([late]) => see(late))
  }

  /** What a log or a response shows of it. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { key, allowed, limit, remaining, retryAfterMs, resetMs, source, shadow } = this
    return { key, allowed, limit, remaining, retryAfterMs, resetMs, source, shadow }
  }

  /** @internal The instant of the decision on the clock of a store outside of the process, ms. */
  get storeTime(): number | undefined {
    return this.#asked.limiter.hasOwnClock ? this.#at : undefined
  }

  /** @internal What headers carry as this request's partition key. */
  get partitionKey(): string | undefined {
    return this.#partitionKey
  }

  /** @internal */
  set partitionKey(key: string) {
    this.#partitionKey = key
  }

  /** Who was charged by each of `tiers`, where they have keys of their own. */
  get keys(): readonly string[] | undefined {
    const { limiter } = this.#asked
    return limiter instanceof Together ? limiter.keys : undefined
  }

  /** @internal The same of each tier that has a key of its own. */
  partitionKeys: readonly string[] | undefined

  /** @internal What is written on the response up to this record. */
  get wire(): Wire | undefined {
    return this.#wire
  }

  /** @internal */
  set wire(wire: Wire) {
    this.#wire = wire
  }

  /** @internal Puts it behind what was decided before, but for what its own gate has made of an earlier call. */
  follow(earlier: RequestRateLimit): void {
    this.#wire = earlier.wire
    this.#previous = earlier.without(this.#asked.recorder)
  }

  /** @internal The chain from here on without the record that a gate made of an earlier call of the same request. */
  without(recorder: Recorder): RequestRateLimit | undefined {
    const rest = this.#previous?.without(recorder)
    if (this.#asked.recorder === recorder) return rest
    this.#previous = rest
    return this
  }

  /** @internal Who made the record, and for which exchange. */
  get origin(): Pick<Asked, 'recorder' | 'host' | 'request' | 'response'> {
    return this.#asked
  }
}

function speakerOf(latest: RequestRateLimit): RequestRateLimit | undefined {
  let record: RequestRateLimit | undefined = latest
  while (record !== undefined && (record.shadow || record.origin.recorder.isSilent)) record = record.previous
  return record
}
