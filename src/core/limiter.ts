import type { Clock } from './clock.js'
import { Answer, combine, type Decision, type DecisionMaker, decisionMaker } from './decision.js'
import { type Duration, durationMs } from './duration.js'
import { HeadgateError } from './errors.js'
import { checkCost, checkInstant, type Key, keyText } from './key-and-cost.js'
import type { Policy } from './policy.js'
import { Charge, type Counters, Verdict } from './store.js'
import { maxVariants, PolicyVariants } from './variants.js'

/** Decides, synchronously, who is admitted. */
export interface Limiter {
  /** The validated policies, in the order of configuration. */
  readonly policies: readonly Policy[]
  /**
   * Decides one request of `cost` units and charges it if all policies admit it.
   * @throws HeadgateError `HEADGATE_BAD_KEY`, `HEADGATE_BAD_COST`; never for a denial
   */
  consume(key: Key, cost?: number): Decision
  /** What `consume(key)` would answer, without charging: `remaining` and `resetMs` are as they stand. */
  peek(key: Key): Decision
  /**
   * Gives back units, never above full. Units that were charged in a window that has ended are gone with it:
   * `chargedAt` (ms on the limiter's clock; now if left out) says when they were.
   */
  refund(key: Key, cost?: number, chargedAt?: number): void
  /** Forgets a key: its next request is its first. Lifts a block. */
  reset(key: Key): void
  /**
   * Denies a key for `duration`, ms or text; `Infinity` until `reset`. What it owes goes on being paid back.
   * @throws HeadgateError `HEADGATE_STORE_FULL` where as many keys are blocked as the store keeps
   */
  block(key: Key, duration: Duration): void
  /** How many keys owe something now. Walks the whole table: for tests and dashboards, not for each request. */
  size(): number
}

/** The parts that a limiter is made of. */
export interface LimiterParts {
  readonly policies: readonly Policy[]
  readonly counters: Counters
  readonly now: Clock
  readonly countDenied: boolean
  /** 0: denied keys are not blocked. */
  readonly blockMs: number
}

/** What became of units that were charged whether or not they were admitted. */
export interface Charged {
  readonly decision: Decision
  /** How many of them were charged in every policy. */
  readonly charged: number
  /** When, ms on the clock of the limiter or its store. */
  readonly at: number
}

/** The limiter itself, with what the HTTP gate needs beyond the public face. */
export class PolicyLimiter implements Limiter {
  readonly policies: readonly Policy[]
  readonly now: Clock
  /** True where the last decision was of a blocked key. */
  wasBlocked = false
  readonly #counters: Counters
  readonly #makers = new Map<Policy, DecisionMaker>()
  readonly #maker: DecisionMaker
  readonly #charge: Charge
  readonly #blockMs: number
  readonly #variants: PolicyVariants

  constructor(parts: LimiterParts) {
    this.policies = parts.policies
    this.now = parts.now
    this.#counters = parts.counters
    this.#maker = this.#makerOf(parts.policies[0]!)
    this.#charge = parts.countDenied ? Charge.always : Charge.admitted
    this.#blockMs = parts.blockMs
    this.#variants = new PolicyVariants(parts.policies)
  }

  consume(key: Key, cost = 1): Decision {
    return this.take(key, cost, this.now(), this.policies)
  }

  peek(key: Key): Decision {
    const verdict = this.#counters.decide(keyText(key), 1, this.now(), this.policies, Charge.none)
    return this.#answer(verdict, this.policies, false)
  }

  refund(key: Key, cost = 1, chargedAt?: number): void {
    this.giveBack(key, cost, this.policies, chargedAt)
  }

  reset(key: Key): void {
    this.#counters.reset(keyText(key))
  }

  block(key: Key, duration: Duration): void {
    const blockMs = duration === Number.POSITIVE_INFINITY ? duration : durationMs('duration', duration)
    if (!this.#counters.block(keyText(key), blockMs, this.now()))
      throw new HeadgateError(
        'HEADGATE_STORE_FULL',
        'As many keys are blocked as the store keeps: raise its `maxKeys`.'
      )
  }

  size(): number {
    return this.#counters.size(this.now())
  }

  /** Decides at a given time, under `policies` that may be variants of the limiter's own. */
  take(key: Key, cost: number, now: number, policies: readonly Policy[]): Decision {
    const text = keyText(key)
    const verdict = this.#counters.decide(text, checkCost(cost), now, policies, this.#charge)
    if (verdict === Verdict.denied && this.#blockMs > 0) return this.#penalise(text, cost, now, policies)
    return this.#answer(verdict, policies, true)
  }

  /** Charges units that are spent already, as far as anything is left. The answer counts as allowed. */
  chargeAnyway(key: Key, cost: number, policies: readonly Policy[]): Charged {
    const at = this.now()
    const text = keyText(key)
    const { answers } = this.#counters
    this.#counters.decide(text, checkCost(cost), at, policies, Charge.none)
    const charged = answers.reduce((least, answer) => Math.min(least, answer[Answer.remaining]!), cost)
    this.#counters.decide(text, cost, at, policies, Charge.always)
    for (const answer of answers) answer[Answer.retryAfterMs] = 0
    return { decision: this.#answer(Verdict.admitted, policies, false), charged, at }
  }

  /** Refunds under the policies of the request that was charged. */
  giveBack(key: Key, cost: number, policies: readonly Policy[], chargedAt?: number): void {
    const now = this.now()
    checkInstant(chargedAt)
    this.#counters.refund(keyText(key), checkCost(cost), now, policies, chargedAt ?? now)
  }

  /** The policies with limits computed for a request; the i-th stays as it is where `limits[i]` is undefined. */
  withLimits(limits: readonly unknown[]): readonly Policy[] {
    return this.#variants.withLimits(limits)
  }

  /**
   * Blocks a key that was denied, unless it asked for more than it may ever have. The block lasts as long as the wait
   * that its policies give at least: a denial just before the end of that must not begin another.
   */
  #penalise(key: string, cost: number, now: number, policies: readonly Policy[]): Decision {
    const wait = Math.max(...this.#counters.answers.map((answer) => answer[Answer.retryAfterMs]!))
    if (wait === Number.POSITIVE_INFINITY || !this.#counters.block(key, Math.max(this.#blockMs, wait), now))
      return this.#answer(Verdict.denied, policies, true)
    return this.#answer(this.#counters.decide(key, cost, now, policies, Charge.none), policies, true)
  }

  #answer(verdict: Verdict, policies: readonly Policy[], shaped: boolean): Decision {
    this.wasBlocked = verdict === Verdict.blocked
    if (policies.length > 1) return this.#combined(policies, shaped)
    const policy = policies[0]!
    const make = policies === this.policies ? this.#maker : this.#makerOf(policy)
    return make(verdict === Verdict.admitted, policy.capacity, this.#counters.answers[0]!, shaped)
  }

  // Apart, as what refuses a key or a cost is: V8 then inlines the rest of a decision, which is a fifth quicker.
  #combined(policies: readonly Policy[], shaped: boolean): Decision {
    const { answers } = this.#counters
    return combine(
      policies.map((policy, i) =>
        this.#makerOf(policy)(answers[i]![Answer.retryAfterMs] === 0, policy.capacity, answers[i]!, shaped)
      )
    )
  }

  #makerOf(policy: Policy): DecisionMaker {
    let make = this.#makers.get(policy)
    if (!make) {
      make = decisionMaker(policy)
      if (this.#makers.size >= maxVariants) this.#makers.clear()
      this.#makers.set(policy, make)
    }
    return make
  }
}
