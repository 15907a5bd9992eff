import { AsyncPolicyLimiter } from '../core/async-limiter.js'
import { type Decision, decisionOf } from '../core/decision.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import type { Policy } from '../core/policy.js'
import type { Source, Verdict } from '../core/verdict.js'

/** The gate that made a record, as the record sees it. */
export interface Recorder {
  /** True where its decisions are only reported, never enforced. */
  readonly isShadow: boolean
  /** True where it tells nobody of its quotas. */
  readonly isSilent: boolean
  /** Writes the headers of the record's response anew, if they are not sent yet. */
  rewrite(record: RequestRateLimit): void
}

/** Units that a request was charged, to be given back if need be. */
interface Charged {
  readonly decision: Decision
  readonly charged: number
  /** When, ms on the clock of the limiter or its store. */
  readonly at: number
}

/** What a record is made of. */
export interface RecordParts {
  readonly recorder: Recorder
  readonly request: unknown
  readonly response: unknown
  readonly limiter: BuiltLimiter
  readonly policies: readonly Policy[]
  readonly key: string
  readonly decidedAt: number
  readonly decision: Decision
  readonly cost: number
}

/**
 * What was decided about a request: `request.rateLimit`. Of several limiters on one request it is the latest;
 * `previous` leads to the others.
 */
export class RequestRateLimit implements Decision {
  /** Who was charged. */
  readonly key: string
  readonly #parts: RecordParts
  #previous: RequestRateLimit | undefined
  #decision: Decision
  #at: number
  /** What this request was charged late, with the instant of each charge. */
  #late: Charged[] | undefined
  /** A late charge that is under way. */
  #pending: Promise<void> | undefined
  #isRefunded: boolean
  #notes: { partitionKey?: string; foreign?: ReadonlyMap<string, string> } | undefined

  /** @internal */
  constructor(parts: RecordParts, previous: RequestRateLimit | undefined) {
    this.key = parts.key
    this.#previous = previous
    this.#parts = parts
    this.#decision = parts.decision
    this.#at = parts.decidedAt
    this.#isRefunded = !parts.decision.allowed
  }

  /** What an earlier limiter on the same request decided. */
  get previous(): RequestRateLimit | undefined {
    return this.#previous
  }

  /** True where the decision is only reported, never enforced. */
  get shadow(): boolean {
    return this.#parts.recorder.isShadow
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

  get policy(): Policy {
    return this.#decision.policy
  }

  get tiers(): readonly Decision[] {
    return this.#decision.tiers
  }

  get source(): Source {
    return this.#decision.source
  }

  /**
   * Charges `cost` units more, for a cost that shows only while the request is served. They are spent already, so
   * they are charged as far as anything is left, never past full. Headers that are not sent yet are brought up to date.
   * A promise with a store outside of the process.
   * @throws HeadgateError `HEADGATE_BAD_COST` for anything but a positive whole number
   */
  charge(cost: number): void | Promise<void> {
    const { limiter, policies } = this.#parts
    const charged = limiter.charge(this.key, cost, policies)
    if (!(charged instanceof Promise)) return this.#add(charged)
    const added = charged.then((late) => this.#add(late))
    this.#pending = added
    return added
  }

  /** Gives back what this request was charged, `charge` included. A promise with a store outside of the process. */
  refund(): void | Promise<void> {
    const pending = this.#pending
    if (pending === undefined) return this.#refund()
    const refund = () => this.#refund()
    return pending.then(refund, refund)
  }

  #refund(): void | Promise<void> {
    const { decision, decidedAt, cost } = this.#parts
    const due = this.#late ?? []
    this.#late = undefined
    if (!this.#isRefunded) due.push({ decision, charged: cost, at: decidedAt })
    this.#isRefunded = true
    const given = due.map((charge) => this.#giveBack(charge))
    return given.some((late) => late !== undefined) ? Promise.all(given).then(() => undefined) : undefined
  }

  #add(verdict: Verdict): void {
    if (!this.#decision.allowed) return
    const { charged, at } = verdict
    const decision = decisionOf(verdict, false)
    this.#late ??= []
    // Only what was left is charged, so no more than that may be given back.
    if (charged > 0) this.#late.push({ decision, charged, at })
    this.#decision = decision
    this.#at = at
    this.#parts.recorder.rewrite(this)
  }

  #giveBack({ decision, charged, at }: Charged): void | Promise<void> {
    const { limiter, policies } = this.#parts
    return limiter.giveBack(this.key, charged, policies, { at, source: decision.source })
  }

  /** What a log or a response shows of it. */
  toJSON(): Readonly<Record<string, unknown>> {
    const { key, allowed, limit, remaining, retryAfterMs, resetMs, source, shadow } = this
    return { key, allowed, limit, remaining, retryAfterMs, resetMs, source, shadow }
  }

  /** @internal The instant of the decision on the clock of a store outside of the process, ms. */
  get storeTime(): number | undefined {
    return this.#parts.limiter instanceof AsyncPolicyLimiter ? this.#at : undefined
  }

  /** @internal What headers carry as this request's partition key. */
  get partitionKey(): string | undefined {
    return this.#notes?.partitionKey
  }

  /** @internal What the response writer keeps of it: the partition key, and fields that were there before, by name. */
  get notes(): { partitionKey?: string; foreign?: ReadonlyMap<string, string> } {
    this.#notes ??= {}
    return this.#notes
  }

  /** @internal The record of the first limiter on the request. */
  get first(): RequestRateLimit {
    return this.#previous?.first ?? this
  }

  /** @internal The chain from here on without the record that a gate made of an earlier call of the same request. */
  without(recorder: Recorder): RequestRateLimit | undefined {
    const rest = this.#previous?.without(recorder)
    if (this.#parts.recorder === recorder) return rest
    this.#previous = rest
    return this
  }

  /** @internal Who made the record, and for which exchange. */
  get origin(): Pick<RecordParts, 'recorder' | 'request' | 'response'> {
    return this.#parts
  }
}
