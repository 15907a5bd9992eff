import { delayFor } from './delay.js'
import type { Policy } from './policy.js'
import { Out, outSize, type Source, type Verdict } from './verdict.js'

/** The answer to one request. All times are whole milliseconds from the instant of the decision. */
export interface Decision {
  /** The whole cost was admitted and charged. A denied request is charged nothing, in no tier. */
  readonly allowed: boolean
  /** The largest cost that a fresh key is admitted. */
  readonly limit: number
  /** The largest cost that a request at this same instant, after this decision, would be admitted. */
  readonly remaining: number
  /** 0 if allowed; otherwise the milliseconds after which the same request is admitted, or `Infinity` if it never will be. */
  readonly retryAfterMs: number
  /** Milliseconds until `remaining` equals `limit` again if no request comes in between. */
  readonly resetMs: number
  /** How long this request is to be held back. Only a leaky bucket, and policies with `delay`, give it. */
  readonly delayMs?: number
  /** The policy behind this decision; of several tiers, the one closest to its limit. Not an own property. */
  readonly policy: Policy
  /** Each tier's own decision, in the order of configuration. An own property only where there are several. */
  readonly tiers: readonly Decision[]
  /**
   * True where `retryAfterMs` is an estimate, as it depends on when others release what is in flight: the mean time that
   * they held it, as this process has seen it. Then a request that waits may be denied again. Not an own property.
   */
  readonly isEstimate: boolean
  /**
   * Where the decision comes from: `'store'`, unless a store outside the process failed or did not have to be asked.
   * If nothing was counted (`'allow'`, `'deny'`), `remaining` and `resetMs` are `NaN`. Not an own property.
   */
  readonly source: Source
}

/** The decision that a verdict comes to. A look, and a charge of what is spent already, hold nobody back: no `delayMs`. */
export function decisionOf(verdict: Verdict, canDelay: boolean): Decision {
  return verdict.policies.length === 1
    ? new TierDecision(verdict, 0, verdict.isAllowed, canDelay)
    : combine(verdict, canDelay)
}

/** One tier's decision. One class for all policies and stores: objects of many shapes would make every reader slow. */
class TierDecision implements Decision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
  declare readonly delayMs?: number
  readonly #policy: Policy
  readonly #source: Source

  constructor(verdict: Verdict, tier: number, allowed: boolean, canDelay: boolean) {
    const { policies, out, source } = verdict
    const policy = policies[tier]!
    const at = tier * outSize
    this.allowed = allowed
    this.limit = policy.capacity
    this.remaining = out[at + Out.remaining]!
    this.retryAfterMs = out[at + Out.retryAfterMs]!
    this.resetMs = out[at + Out.resetMs]!
    this.#policy = policy
    this.#source = source
    if (canDelay && policy.shapes) this.delayMs = allowed ? out[at + Out.delayMs]! : 0
    if (!policy.delay) return
    const { isAllowed, charged } = verdict
    if (canDelay)
      this.delayMs = isAllowed && charged > 0 ? delayFor(policy.capacity, policy.delay, this.remaining) : 0
    if (!policy.isEndless) return
    this.limit = Number.POSITIVE_INFINITY
    // A blocked key has none, and where nobody counted it is not known.
    if (this.remaining > 0 || (allowed && this.remaining === 0)) this.remaining = Number.POSITIVE_INFINITY
  }

  get policy(): Policy {
    return this.#policy
  }

  get tiers(): readonly Decision[] {
    return [this]
  }

  get source(): Source {
    return this.#source
  }

  get isEstimate(): boolean {
    return isEstimated(this)
  }
}

/** True where a tier denies of which nobody knows how long one has to wait. */
export function isEstimated({ tiers }: Pick<Decision, 'tiers'>): boolean {
  return tiers.some(
    ({ policy, retryAfterMs }) => policy.unit === 'concurrent-requests' && isUnsure(retryAfterMs)
  )
}

/** True for a wait, but for one that never ends. */
function isUnsure(retryAfterMs: number): boolean {
  return retryAfterMs !== 0 && retryAfterMs !== Number.POSITIVE_INFINITY
}

/*
 * A first one whose fields are no numbers, so that V8 takes them for values of any kind: whole numbers are then held in
 * the object itself. Fields that have only ever been numbers become boxes of 16 bytes each with the first large one,
 * such as a wait of `Infinity` (bench/allocation.js, mixed).
 */
decisionOf(
  { isAllowed: null, policies: [{ capacity: null, delay: null }], out: [null, null, null, null] } as never,
  false
)

/**
 * The one decision for several tiers: allowed if all allow it, the wait is the longest of those that deny, and
 * what is reported is the tier with the least remaining (ties: denied first, then the longest wait, then the
 * order of configuration), as draft-ietf-httpapi-ratelimit-headers-06 §4 asks.
 */
function combine(verdict: Verdict, canDelay: boolean): Decision {
  const { policies, out } = verdict
  const tiers = policies.map(
    (_, i) => new TierDecision(verdict, i, out[i * outSize + Out.retryAfterMs] === 0, canDelay)
  )
  const delays = tiers.flatMap(({ delayMs }) => (delayMs === undefined ? [] : [delayMs]))
  const decision = new TieredDecision(tiers)
  if (delays.length === 0) return decision
  return Object.assign(decision, { delayMs: decision.allowed ? Math.max(...delays) : 0 })
}

class TieredDecision implements Decision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
  readonly tiers: readonly Decision[]

  constructor(tiers: readonly Decision[]) {
    const reported = reportedOf(tiers)
    this.allowed = tiers.every((tier) => tier.allowed)
    this.limit = reported.limit
    this.remaining = reported.remaining
    this.retryAfterMs = longestWait(tiers)
    this.resetMs = reported.resetMs
    this.tiers = tiers
  }

  get policy(): Policy {
    return reportedOf(this.tiers).policy
  }

  get source(): Source {
    return this.tiers[0]!.source
  }

  get isEstimate(): boolean {
    return isEstimated(this)
  }
}

/** The longest wait that is known; `NaN` where there are waits, and none is. */
function longestWait(tiers: readonly Decision[]): number {
  let longest = 0
  for (const { retryAfterMs } of tiers)
    if (retryAfterMs > longest || longest === 0) longest = retryAfterMs
    else if (Number.isNaN(longest) && retryAfterMs > 0) longest = retryAfterMs
  return longest
}

function reportedOf(tiers: readonly Decision[]): Decision {
  return tightest(tiers) ?? tiers[0]!
}

/** What tells which of several tiers is closest to its limit. Times may be unknown. */
type Standing = Pick<Decision, 'limit' | 'remaining' | 'allowed'> & {
  readonly retryAfterMs: number | null
  readonly resetMs: number | null
}

/**
 * The tier to report where only one can be: the least remaining; on a tie one that denied, then the longest
 * wait, then the order of configuration. Skips unlimited tiers; undefined if all are unlimited.
 */
export function tightest<T extends Standing>(tiers: readonly T[]): T | undefined {
  let best: T | undefined
  for (const tier of tiers)
    if (tier.limit !== Number.POSITIVE_INFINITY && (best === undefined || isTighter(tier, best))) best = tier
  return best
}

function isTighter(a: Standing, b: Standing): boolean {
  if (a.remaining !== b.remaining) return a.remaining < b.remaining
  if (a.allowed !== b.allowed) return b.allowed
  return waitOf(a) > waitOf(b)
}

function waitOf(tier: Standing): number {
  const wait = tier.allowed ? tier.resetMs : (tier.retryAfterMs ?? tier.resetMs)
  return wait ?? Number.POSITIVE_INFINITY
}
