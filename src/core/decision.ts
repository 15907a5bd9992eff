import type { Source } from './async-store.js'
import type { Policy } from './policy.js'

/** The answer to one request. All times are whole milliseconds from the instant of the decision. */
export interface Decision {
  /** The whole cost was admitted and charged. A denied request is charged nothing, in no tier. */
  readonly allowed: boolean
  /** The largest cost that a fresh key is admitted. */
  readonly limit: number
  /** The largest cost that a request at this same instant, after this decision, would be admitted. */
  readonly remaining: number
  /** 0 if allowed; otherwise the wait after which the same request is admitted, or `Infinity` if it never is. */
  readonly retryAfterMs: number
  /** The wait after which, with nothing in between, `remaining` is `limit` again. */
  readonly resetMs: number
  /** How long a leaky bucket asks to hold this request back. Only strategies that shape traffic give it. */
  readonly delayMs?: number
  /** The policy that this answer is of: of several tiers, the one closest to its limit. Not an own property. */
  readonly policy: Policy
  /** Each tier's own answer, in the order of configuration. An own property only where there are several. */
  readonly tiers: readonly Decision[]
  /**
   * Where the answer comes from: `'store'`, unless a store outside of the process failed or was spared. Where nobody
   * counted (`'allow'`, `'deny'`), `remaining` and `resetMs` are `NaN`. Not an own property.
   */
  readonly source: Source
}

/** Where a strategy writes its answer: a `Float64Array` with these four places. */
export const Answer = { remaining: 0, retryAfterMs: 1, resetMs: 2, delayMs: 3 } as const

/** How many places an answer has. */
export const answerSize = 4

/** Makes one tier's decision from what its strategy wrote; `shaped` is false for a mere look. */
export type DecisionMaker = (
  allowed: boolean,
  limit: number,
  answer: Float64Array,
  shaped: boolean
) => Decision

/**
 * A maker of plain five-field decisions for one policy. What is the same for every decision of a policy
 * stands on the prototype, so that a decision costs its five numbers and nothing else.
 */
export function decisionMaker(policy: Policy): DecisionMaker {
  class Decision {
    declare readonly policy: Policy
    readonly allowed: boolean
    readonly limit: number
    readonly remaining: number
    readonly retryAfterMs: number
    readonly resetMs: number

    constructor(allowed: boolean, limit: number, answer: Float64Array) {
      this.allowed = allowed
      this.limit = limit
      this.remaining = answer[Answer.remaining]!
      this.retryAfterMs = answer[Answer.retryAfterMs]!
      this.resetMs = answer[Answer.resetMs]!
    }

    get tiers(): readonly Decision[] {
      return [this]
    }

    get source(): Source {
      return 'store'
    }
  }
  Object.defineProperty(Decision.prototype, 'policy', { value: policy })
  if (!policy.strategy.shapes) return (allowed, limit, answer) => new Decision(allowed, limit, answer)
  return (allowed, limit, answer, shaped) => {
    const decision = new Decision(allowed, limit, answer)
    return shaped ? Object.assign(decision, { delayMs: allowed ? answer[Answer.delayMs]! : 0 }) : decision
  }
}

/**
 * The one answer for several tiers: allowed if all allow it, the wait is the longest of those that deny, and
 * what is reported is the tier with the least remaining (ties: denied first, then the longest wait, then the
 * order of configuration), as draft-ietf-httpapi-ratelimit-headers-06 §4 asks.
 */
export function combine(tiers: readonly Decision[]): Decision {
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
    this.retryAfterMs = Math.max(...tiers.map((tier) => tier.retryAfterMs))
    this.resetMs = reported.resetMs
    this.tiers = tiers
  }

  get policy(): Policy {
    return reportedOf(this.tiers).policy
  }

  get source(): Source {
    return this.tiers[0]!.source
  }
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
 * wait, then the order of configuration. Unlimited tiers are none; undefined where all are.
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
