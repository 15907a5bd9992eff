import type { AsyncCounters, Reading, Receipt, Source } from './async-store.js'
import { Answer, answerSize, combine, type Decision } from './decision.js'
import { type Duration, durationMs } from './duration.js'
import { checkCost, checkInstant, type Key, keyText } from './key-and-cost.js'
import type { Charged } from './limiter.js'
import type { Policy } from './policy.js'
import { Verdict } from './store.js'
import { PolicyVariants } from './variants.js'

/**
 * Decides who is admitted, by a store outside of the process. While the store fails, decisions are still made, as
 * `onStoreError` says: `decision.source` tells.
 */
export interface AsyncLimiter {
  /** The validated policies, in the order of configuration. */
  readonly policies: readonly Policy[]
  /**
   * Decides one request of `cost` units and charges it if all policies admit it.
   * @throws HeadgateError `HEADGATE_BAD_KEY`, `HEADGATE_BAD_COST`; never for a denial or a failure of the store
   */
  consume(key: Key, cost?: number): Promise<Decision>
  /** What `consume(key)` would answer, without charging: `remaining` and `resetMs` are as they stand. */
  peek(key: Key): Promise<Decision>
  /**
   * Gives back units, never above full. Units that were charged in a window that has ended are gone with it:
   * `chargedAt` (ms on the store's clock; now if left out) says when they were.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  refund(key: Key, cost?: number, chargedAt?: number): Promise<void>
  /**
   * Forgets a key: its next request is its first. Lifts a block.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  reset(key: Key): Promise<void>
  /**
   * Denies a key for `duration`, ms or text; `Infinity` until `reset`. What it owes goes on being paid back.
   * @throws HeadgateError `HEADGATE_STORE_FAILED`
   */
  block(key: Key, duration: Duration): Promise<void>
}

/** What became of a request: its decision, and what the gate needs to know of how it came about. */
export interface Taken {
  readonly decision: Decision
  /** The instant of the decision, ms on the store's clock. */
  readonly at: number
  /** True where the key is blocked. */
  readonly isBlocked: boolean
}

/** The limiter itself, with what the HTTP gate needs beyond the public face. */
export class AsyncPolicyLimiter implements AsyncLimiter {
  readonly policies: readonly Policy[]
  readonly #counters: AsyncCounters
  readonly #variants: PolicyVariants

  constructor(policies: readonly Policy[], counters: AsyncCounters) {
    this.policies = policies
    this.#counters = counters
    this.#variants = new PolicyVariants(policies)
  }

  async consume(key: Key, cost = 1): Promise<Decision> {
    const reading = this.#counters.take(keyText(key), checkCost(cost), this.policies)
    return decisionOf(reading instanceof Promise ? await reading : reading, true)
  }

  async peek(key: Key): Promise<Decision> {
    return decisionOf(await this.#counters.peek(keyText(key), this.policies), false)
  }

  async refund(key: Key, cost = 1, chargedAt?: number): Promise<void> {
    await this.giveBack(key, cost, this.policies, { at: chargedAt, source: 'store' })
  }

  async reset(key: Key): Promise<void> {
    await this.#counters.reset(keyText(key))
  }

  async block(key: Key, duration: Duration): Promise<void> {
    const blockMs = duration === Number.POSITIVE_INFINITY ? duration : durationMs('duration', duration)
    await this.#counters.block(keyText(key), blockMs)
  }

  /** Decides under `policies` that may be variants of the limiter's own. */
  take(key: Key, cost: number, policies: readonly Policy[]): Taken | Promise<Taken> {
    const reading = this.#counters.take(keyText(key), checkCost(cost), policies)
    return reading instanceof Promise ? reading.then(takenOf) : takenOf(reading)
  }

  /** Charges units that are spent already, as far as anything is left. The answer counts as allowed. */
  async chargeAnyway(key: Key, cost: number, policies: readonly Policy[]): Promise<Charged> {
    const reading = await this.#counters.chargeAnyway(keyText(key), checkCost(cost), policies)
    const decision = decisionOf({ ...reading, verdict: Verdict.admitted, answers: granted(reading) }, false)
    return { decision, charged: reading.charged, at: reading.at }
  }

  /** Refunds under the policies of the request that was charged. */
  async giveBack(key: Key, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void> {
    checkInstant(receipt.at)
    await this.#counters.refund(keyText(key), checkCost(cost), policies, receipt)
  }

  /** The policies with limits computed for a request; the i-th stays as it is where `limits[i]` is undefined. */
  withLimits(limits: readonly unknown[]): readonly Policy[] {
    return this.#variants.withLimits(limits)
  }
}

function takenOf(reading: Reading): Taken {
  const decision = decisionOf(reading, true)
  return { decision, at: reading.at, isBlocked: reading.verdict === Verdict.blocked }
}

/** The answers of a charge that is not asked for: nobody is to wait. */
function granted({ answers, policies }: Reading): number[] {
  const copy = Array.from(answers)
  policies.forEach((_, i) => {
    copy[i * answerSize + Answer.retryAfterMs] = 0
  })
  return copy
}

function decisionOf(reading: Reading, shaped: boolean): Decision {
  const { policies } = reading
  if (policies.length === 1) return new AsyncDecision(reading, 0, shaped)
  return combine(policies.map((_, i) => new AsyncDecision(reading, i, shaped)))
}

/** One tier's decision, with fields as one of a store in the process has them. */
class AsyncDecision implements Decision {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
  declare readonly delayMs?: number
  readonly #policy: Policy
  readonly #source: Source

  constructor({ verdict, source, policies, answers }: Reading, tier: number, shaped: boolean) {
    const policy = policies[tier]!
    const at = tier * answerSize
    this.retryAfterMs = answers[at + Answer.retryAfterMs]!
    this.allowed = policies.length === 1 ? verdict === Verdict.admitted : this.retryAfterMs === 0
    this.limit = policy.capacity
    this.remaining = answers[at + Answer.remaining]!
    this.resetMs = answers[at + Answer.resetMs]!
    this.#policy = policy
    this.#source = source
    if (shaped && policy.strategy.shapes) this.delayMs = this.allowed ? answers[at + Answer.delayMs]! : 0
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
}
