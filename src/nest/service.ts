import { Inject, Injectable } from '@nestjs/common'
import type { AsyncLimiter } from '../core/async-limiter.js'
import type { Decision } from '../core/decision.js'
import type { Duration } from '../core/duration.js'
import { HeadgateError } from '../core/errors.js'
import type { Key } from '../core/key-and-cost.js'
import type { Limiter } from '../core/limiter.js'
import { HandlerLimits } from './handler-limits.js'
import type { PolicyName } from './options.js'

/**
 * The module's policies by name, and its own limit as `'default'`, for use by hand. Keys are those that requests are
 * charged to: of `'ip'` what `ipKey(address)` gives. With a store outside of the process all answers are promises.
 *
 * Each method throws `HEADGATE_UNKNOWN_POLICY` for a name that the module has not, and `HEADGATE_MISUSE` for a policy
 * whose limit or window is computed for each request.
 */
export class RateLimitService {
  readonly #limits: HandlerLimits

  /** @internal */
  constructor(limits: HandlerLimits) {
    this.#limits = limits
  }

  /** Decides one request of `cost` units and charges it if it is admitted. */
  consume(policy: PolicyName | 'default', key: Key, cost?: number): Decision | Promise<Decision> {
    return this.#limiter(policy).consume(key, cost)
  }

  /** What `consume` would answer, without charging. */
  peek(policy: PolicyName | 'default', key: Key): Decision | Promise<Decision> {
    return this.#limiter(policy).peek(key)
  }

  /** Gives back units, never above full. */
  refund(policy: PolicyName | 'default', key: Key, cost?: number): void | Promise<void> {
    return this.#limiter(policy).refund(key, cost)
  }

  /** Forgets a key: its next request is its first. Lifts a block. */
  reset(policy: PolicyName | 'default', key: Key): void | Promise<void> {
    return this.#limiter(policy).reset(key)
  }

  /** Denies a key for `duration`, ms or text; `Infinity` until `reset`. */
  block(policy: PolicyName | 'default', key: Key, duration: Duration): void | Promise<void> {
    return this.#limiter(policy).block(key, duration)
  }

  #limiter(policy: string): Limiter | AsyncLimiter {
    const { own, policies } = this.#limits
    const { gate } = policy === 'default' && own !== null ? own : policies.of(policy)
    if (gate.limiter !== null) return gate.limiter
    throw new HeadgateError(
      'HEADGATE_MISUSE',
      `The policy '${policy}' has a limit or window that is computed for each request: without one there is none.`
    )
  }
}

Injectable()(RateLimitService)
Inject(HandlerLimits)(RateLimitService, undefined, 0)
