import { Inject, Injectable, UseGuards } from '@nestjs/common'
import type { BansOptions, BansPage } from '../core/bans/listing.js'
import type { Decision } from '../core/decision.js'
import type { Duration } from '../core/duration.js'
import { heard } from '../core/promise.js'
import type { AnyRequest } from '../http/keyed-limiter.js'
import type { Who } from '../http/known.js'
import { gather } from '../http/promise.js'
import { RateLimitGuard } from './guard.js'
import { HandlerLimits } from './handler-limits.js'
import { type LimitTarget, LimitTargets } from './targets.js'

/**
 * The module's limits, by hand. Each method is told which limit: a policy by its name, the module's own as `'default'`, a
 * handler as `[Reports, 'list']` or `Reports.prototype.list`, or a class that has a `@Limit`. And who: `{ user: 'ada' }`,
 * `{ ip: '203.0.113.7' }`, `{ header: 'the-api-key' }`, for a list of keys a list, a request, or a key as
 * `request.rateLimit.key` has it. With a store outside of the process all answers are promises.
 *
 * Where limits or windows are functions, `consume`, `peek` and `refund` go by what the key was decided by last in this
 * process, unless they are given a request.
 *
 * Each method throws `HEADGATE_UNKNOWN_POLICY` for a name that the module has not, `HEADGATE_MISUSE` for what is not
 * limited, and `HEADGATE_BAD_KEY` where what is known does not tell the key.
 */
export class RateLimitService {
  readonly #targets: LimitTargets

  /** @internal */
  constructor(limits: HandlerLimits) {
    this.#targets = new LimitTargets(limits)
  }

  /** The key that someone is charged to. */
  keyOf(limit: LimitTarget, who: AnyRequest | Who): string | Promise<string> {
    return this.#targets.one(limit).keyOf(who as Who)
  }

  /** Decides one request of `cost` units and charges it if it is admitted. */
  consume(limit: LimitTarget, who: AnyRequest | Who, cost?: number): Decision | Promise<Decision> {
    return this.#targets.one(limit).consume(who as Who, cost)
  }

  /** What `consume` would answer, without charging. */
  peek(limit: LimitTarget, who: AnyRequest | Who): Decision | Promise<Decision> {
    return this.#targets.one(limit).peek(who as Who)
  }

  /** Gives back units, never above full. True if there was something to give back. */
  refund(limit: LimitTarget, who: AnyRequest | Who, cost?: number): boolean | Promise<boolean> {
    return this.#targets.one(limit).refund(who as Who, cost)
  }

  /** Forgets a key: its next request is its first. Lifts a block. True if the key owed something or was blocked. */
  reset(limit: LimitTarget, who: AnyRequest | Who): boolean | Promise<boolean> {
    return this.#targets.each(
      limit,
      (limiter) => limiter.reset(who as Who),
      (were) => were.includes(true)
    )
  }

  /** Denies a key for `duration`, ms or text; `Infinity` until `reset`. */
  block(limit: LimitTarget, who: AnyRequest | Who, duration: Duration): void | Promise<void> {
    return this.#targets.each(
      limit,
      (limiter) => limiter.block(who as Who, duration),
      () => undefined
    )
  }

  /** Charges units that nobody asked for; see `penalty` of a limiter. The answer is what `peek` says afterwards. */
  penalty(limit: LimitTarget, who: AnyRequest | Who, units: number): Decision | Promise<Decision> {
    return this.#targets.one(limit).penalty(who as Who, units)
  }

  /** Gives units back whenever they were charged, never more than the key owes. */
  reward(limit: LimitTarget, who: AnyRequest | Who, units: number): Decision | Promise<Decision> {
    return this.#targets.one(limit).reward(who as Who, units)
  }

  /** Lists keys of a limit that are banned or blocked, a page at a time. */
  bans(limit: LimitTarget, options?: BansOptions): BansPage | Promise<BansPage> {
    return this.#targets.one(limit).bans(options)
  }

  /** Forgets all keys of a limit, or of all limits, and lifts all blocks. */
  clear(limit?: LimitTarget): void | Promise<void> {
    const cleared =
      limit === undefined
        ? gather<void>(this.#targets.all.map((limiter) => () => limiter.clear()))
        : this.#targets.each(
            limit,
            (limiter) => limiter.clear(),
            () => undefined
          )
    return cleared instanceof Promise ? heard(cleared.then(() => {})) : undefined
  }
}

Injectable()(RateLimitService)
// So that every application has the guard among what `overrideGuard` replaces: it does not look at providers.
UseGuards(RateLimitGuard)(RateLimitService)
Inject(HandlerLimits)(RateLimitService, undefined, 0)
