import { mustRelease } from '../core/acquiring.js'
import { AsyncPolicyLimiter } from '../core/async-limiter.js'
import type { BansOptions, BansPage } from '../core/bans/listing.js'
import { type Decision, decisionOf } from '../core/decision.js'
import type { Duration } from '../core/duration.js'
import { HeadgateError } from '../core/errors.js'
import { PolicyLimiter } from '../core/limiter.js'
import type { BuiltLimiter } from '../core/limiter-options.js'
import { OwnPermit, type Permit } from '../core/permit.js'
import type { Policy } from '../core/policy.js'
import { heard } from '../core/promise.js'
import { Out, outSize, type Verdict } from '../core/verdict.js'
import { bansOfAll } from './bans-of-all.js'
import type { Gate } from './gate.js'
import type { Host } from './host.js'
import type { AnyRequest, AsyncKeyedLimiter, KeyedLimiter } from './keyed-limiter.js'
import type { Who } from './known.js'
import { gather, isPromiseLike } from './promise.js'
import type { RuleSource, Rules } from './rules.js'

/** What a gate's limiter by hand is made of. */
export interface HandParts<Req> {
  readonly rules: RuleSource<Req>
  readonly keyOf: (who: Who) => string
  readonly keyOfRequest: (request: Req) => string | Promise<string>
}

/**
 * The limiter behind a gate, by hand. Either is asked for each time, for a gate may be replaced by another.
 * @param hostOf tells the host of a request
 */
export function limiterBehind<Req, Res>(
  gate: () => Gate<Req, Res>,
  hostOf: (request: Req) => Host<Req, never>
): KeyedLimiter | AsyncKeyedLimiter {
  const limiter: unknown = new HandLimiter(() => gate().handParts(hostOf) as never)
  return limiter as KeyedLimiter | AsyncKeyedLimiter
}

type Late<T> = T | Promise<T>

/** `KeyedLimiter` and `AsyncKeyedLimiter`, as the store is. */
class HandLimiter {
  readonly #partsOf: () => HandParts<AnyRequest>

  constructor(partsOf: () => HandParts<AnyRequest>) {
    this.#partsOf = partsOf
  }

  get #parts(): HandParts<AnyRequest> {
    return this.#partsOf()
  }

  get policies(): readonly Policy[] {
    return this.#parts.rules.fixed?.policies ?? []
  }

  keyOf(who: AnyRequest | Who): Late<string> {
    return isRequest(who) ? this.#parts.keyOfRequest(who) : this.#parts.keyOf(who)
  }

  consume(who: AnyRequest | Who, cost = 1): Late<Decision> {
    return this.#byRules(who, (key, { limiter, policies }) => {
      if (limiter.admission !== null) throw mustRelease('consume')
      return then(limiter.take(key, cost, policies), (verdict) => decisionOf(verdict, true))
    })
  }

  acquire(who: AnyRequest | Who, cost = 1): Late<Permit> {
    return this.#byRules(who, (key, { limiter, policies }) =>
      then(limiter.take(key, cost, policies), (verdict) => new OwnPermit(verdict, limiter, key, cost))
    )
  }

  peek(who: AnyRequest | Who): Late<Decision> {
    return this.#byRules(who, (key, { limiter, policies }) =>
      then(limiter.look(key, policies), (verdict) => decisionOf(verdict, false))
    )
  }

  refund(who: AnyRequest | Who, cost = 1, chargedAt?: number): Late<boolean> {
    return this.#byRules(who, (key, { limiter, policies }) => {
      // In one go, so that a store outside the process is asked once.
      const looks: Late<readonly unknown[]>[] = [then(limiter.look(key, policies), owed)]
      const given = limiter.giveBack(key, cost, policies, { at: chargedAt, source: 'store' })
      looks.push(then(limiter.look(key, policies), owed))
      return then(gather<unknown>([...looks, given].map((late) => () => late)), ([before, after]) =>
        (before as readonly unknown[]).some((value, i) => !Object.is(value, (after as readonly unknown[])[i]))
      )
    })
  }

  reset(who: AnyRequest | Who): Late<boolean> {
    return this.#everywhere(who, (key, limiters) => {
      const { laterBlocks, sample } = this.#parts.rules
      const wasBlocked = laterBlocks?.delete(key, sample) === true
      const resets = limiters.map((limiter) => () => {
        const wasThere = then(limiter.look(key, limiter.policies), isThere)
        const reset = limiter.reset(key)
        return reset instanceof Promise ? reset.then(() => wasThere) : wasThere
      })
      return then(gather(resets), (were) => wasBlocked || were.includes(true))
    })
  }

  block(who: AnyRequest | Who, duration: Duration): Late<void> {
    return this.#everywhere(who, (key, limiters) => {
      const { laterBlocks, sample } = this.#parts.rules
      if (limiters.length === 0 && sample instanceof AsyncPolicyLimiter)
        throw misuse('the windows that other processes count by are not known here')
      laterBlocks?.add(key, duration, sample)
      const blocked = gather<void>(limiters.map((limiter) => () => limiter.block(key, duration)))
      return blocked instanceof Promise ? blocked.then(() => {}) : undefined
    })
  }

  penalty(who: AnyRequest | Who, units: number): Late<Decision> {
    return this.#byRules(who, (key, { limiter, policies }) =>
      then(limiter.penalise(key, units, policies), (verdict) => decisionOf(verdict, false))
    )
  }

  reward(who: AnyRequest | Who, units: number): Late<Decision> {
    return this.#byRules(who, (key, { limiter, policies }) =>
      then<void, Decision>(limiter.reimburse(key, units, policies), () =>
        then(limiter.look(key, policies), (verdict) => decisionOf(verdict, false))
      )
    )
  }

  bans(options?: BansOptions): Late<BansPage> {
    return this.#run(() => bansOfAll(this.#parts.rules.limiters, options))
  }

  clear(): Late<void> {
    const { rules } = this.#parts
    return this.#run(() => {
      rules.forget()
      const cleared = gather<void>(rules.limiters.map((limiter) => () => limiter.clear()))
      return cleared instanceof Promise ? cleared.then(() => {}) : undefined
    })
  }

  size(): number {
    let keys = 0
    for (const limiter of this.#parts.rules.limiters)
      if (limiter instanceof PolicyLimiter) keys += limiter.size()
    return keys
  }

  close(): void {
    for (const limiter of this.#parts.rules.limiters) limiter.close()
  }

  /** Does something by the rules that a key is decided by. */
  #byRules<T>(who: AnyRequest | Who, act: (key: string, rules: Rules) => Late<T>): Late<T> {
    const { rules } = this.#parts
    return this.#run(() =>
      then(this.keyOf(who), (key) => {
        if (isRequest(who) && rules.fixed === null)
          return then(rules.forRequest(who), (made) => act(key, made))
        const known = rules.lastFor(key)
        if (known !== undefined) return act(key, known)
        throw misuse(`this process has decided nothing about '${key}' yet`)
      })
    )
  }

  /** Does something in every limiter that a key may be counted by. */
  #everywhere<T>(
    who: AnyRequest | Who,
    act: (key: string, limiters: readonly BuiltLimiter[]) => Late<T>
  ): Late<T> {
    const { rules } = this.#parts
    return this.#run(() =>
      then(this.keyOf(who), (key) => {
        // That of its own window is there by then.
        const ready = isRequest(who) && rules.fixed === null ? rules.forRequest(who) : null
        return then(ready, () => act(key, rules.limiters))
      })
    )
  }

  /** With a store outside the process everything is a promise, what is thrown at once as well. */
  #run<T>(act: () => Late<T>): Late<T> {
    if (!(this.#parts.rules.sample instanceof AsyncPolicyLimiter)) return act()
    return heard(new Promise((resolve) => resolve(act())))
  }
}

function isRequest(who: unknown): who is AnyRequest {
  return typeof who === 'object' && who !== null && typeof (who as AnyRequest).headers === 'object'
}

function then<T, U>(value: Late<T>, next: (value: T) => Late<U>): Late<U> {
  return isPromiseLike(value) ? Promise.resolve(value as Promise<T>).then(next) : next(value as T)
}

/** True for a key that owes something or is blocked. */
function isThere({ isBlocked, policies, out }: Verdict): boolean {
  return isBlocked || policies.some((_, i) => out[i * outSize + Out.resetMs]! > 0)
}

/** What of a verdict tells how much a key owes: a copy, as the next decision overwrites it. */
function owed({ policies, out }: Verdict): readonly number[] {
  return policies.flatMap((_, i) => [out[i * outSize + Out.remaining]!, out[i * outSize + Out.resetMs]!])
}

function misuse(why: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_MISUSE',
    `The limit or window is a function of the request, and ${why}: give the request.`
  )
}
