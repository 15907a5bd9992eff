import type { Receipt } from './async-store.js'
import type { Clock } from './clock.js'
import { type Decision, decisionOf } from './decision.js'
import { type Duration, durationMs } from './duration.js'
import { HeadgateError } from './errors.js'
import { checkCost, checkInstant, type Key, keyText } from './key-and-cost.js'
import type { Policy } from './policy.js'
import type { Buckets } from './store.js'
import { PolicyVariants } from './variants.js'
import { type Action, charge, freeOf, peek, spentOf, type Verdict } from './verdict.js'

/** Decides synchronously whether requests are admitted. */
export interface Limiter {
  /** The validated policies, in the order of configuration. */
  readonly policies: readonly Policy[]
  /**
   * Decides one request of `cost` units and charges it if all policies admit it. A cost of 0 charges nothing, and is
   * admitted unless the key is blocked.
   * @throws HeadgateError `HEADGATE_BAD_KEY`, `HEADGATE_BAD_COST`; never for a denial
   */
  consume(key: Key, cost?: number): Decision
  /** What `consume(key)` would answer, without charging; `remaining` and `resetMs` are the current ones. */
  peek(key: Key): Decision
  /**
   * Gives units back, never more than the key owes. Units charged in a window that has ended are not given back:
   * `chargedAt`, in ms on the limiter's clock, says when they were charged; now if left out.
   */
  refund(key: Key, cost?: number, chargedAt?: number): void
  /** Forgets a key: its next request is its first. Lifts a block. */
  reset(key: Key): void
  /** Forgets all keys, and lifts all blocks; of other limiters that count with this one, too. */
  clear(): void
  /**
   * Denies a key for `duration`, ms or text; `Infinity` until `reset`. What it owes goes on being paid back.
   * @throws HeadgateError `HEADGATE_STORE_FULL` if as many keys are blocked as the store may hold
   */
  block(key: Key, duration: Duration): void
  /** How many keys owe something now. Walks the whole table: use it in tests and dashboards, not per request. */
  size(): number
}

/** The parts that a limiter is made of. */
export interface LimiterParts {
  readonly policies: readonly Policy[]
  readonly buckets: Buckets
  readonly now: Clock
  readonly countDenied: boolean
  /** 0: denied keys are not blocked. */
  readonly blockMs: number
}

/** The limiter itself, with what the HTTP gate needs beyond the public face. */
export class PolicyLimiter implements Limiter {
  readonly policies: readonly Policy[]
  readonly now: Clock
  readonly #buckets: Buckets
  readonly #take: Action
  readonly #variants: PolicyVariants

  constructor({ policies, buckets, now, countDenied, blockMs }: LimiterParts) {
    this.policies = policies
    this.now = now
    this.#buckets = buckets
    this.#take = { kind: 'take', countDenied, blockMs }
    this.#variants = new PolicyVariants(policies)
  }

  consume(key: Key, cost = 1): Decision {
    return decisionOf(this.take(key, cost, this.policies), true)
  }

  peek(key: Key): Decision {
    return decisionOf(this.look(key, this.policies), false)
  }

  refund(key: Key, cost = 1, chargedAt?: number): void {
    this.giveBack(key, cost, this.policies, { at: chargedAt })
  }

  reset(key: Key): void {
    this.#buckets.reset(keyText(key))
  }

  clear(): void {
    this.#buckets.clear()
  }

  block(key: Key, duration: Duration): void {
    if (!this.#buckets.block(keyText(key), blockDuration(duration), this.now()))
      throw new HeadgateError(
        'HEADGATE_STORE_FULL',
        'As many keys are blocked as the store keeps: raise its `maxKeys`.'
      )
  }

  size(): number {
    return this.#buckets.size(this.now())
  }

  /** Decides under `policies` that may be variants of the limiter's own. To be read before the next decision. */
  take(key: Key, cost: number, policies: readonly Policy[]): Verdict {
    return checkCost(cost) === 0
      ? freeOf(this.#decide(peek, key, 1, policies))
      : this.#decide(this.#take, key, cost, policies)
  }

  /** Looks, under such policies. To be read before the next decision. */
  look(key: Key, policies: readonly Policy[]): Verdict {
    return this.#decide(peek, key, 1, policies)
  }

  /** Charges units that have already been spent, up to what is left. Counts as allowed. */
  charge(key: Key, cost: number, policies: readonly Policy[]): Verdict {
    return checkCost(cost) === 0
      ? spentOf(this.#decide(peek, key, 1, policies))
      : this.#decide(charge, key, cost, policies)
  }

  /** Refunds under the policies of the request that was charged. */
  giveBack(key: Key, cost: number, policies: readonly Policy[], { at }: Pick<Receipt, 'at'>): void {
    const now = this.now()
    checkInstant(at)
    const text = keyText(key)
    if (checkCost(cost) > 0) this.#buckets.refund(text, cost, now, policies, at ?? now)
  }

  /** The policies with limits computed for a request; the i-th stays as it is where `limits[i]` is undefined. */
  withLimits(limits: readonly unknown[]): readonly Policy[] {
    return this.#variants.withLimits(limits)
  }

  #decide(action: Action, key: Key, cost: number, policies: readonly Policy[]): Verdict {
    return this.#buckets.decide(action, keyText(key), cost, this.now.call(undefined), policies)
  }
}

/** @throws HeadgateError `HEADGATE_BAD_OPTION` for what is neither a duration nor `Infinity` */
export function blockDuration(duration: Duration): number {
  return duration === Number.POSITIVE_INFINITY ? duration : durationMs('duration', duration)
}
