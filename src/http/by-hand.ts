import { mustRelease } from '../core/acquiring.js'
import { AsyncPolicyLimiter } from '../core/async-limiter.js'
import type { BansOptions, BansPage } from '../core/bans/listing.js'
import { type Decision, decisionOf } from '../core/decision.js'
import type { Duration } from '../core/duration.js'
import { PolicyLimiter } from '../core/limiter.js'
import { OwnPermit, type Permit } from '../core/permit.js'
import type { Policy } from '../core/policy.js'
import { heard } from '../core/promise.js'
import { Together } from '../core/together.js'
import type { Verdict } from '../core/verdict.js'
import { bansOfAll } from './bans-of-all.js'
import type { Gate } from './gate.js'
import { after, blockIn, isAny, type Late, lastRules, misuse, nothing, owed, resetIn } from './hand-acts.js'
import type { Host } from './host.js'
import type { AnyRequest, AsyncKeyedLimiter, KeyedLimiter } from './keyed-limiter.js'
import type { Who } from './known.js'
import type { Priced } from './pricing.js'
import { gather } from './promise.js'
import type { RuleSource, Rules } from './rules.js'

/** Rules, and who is charged by them. */
export interface HandPart<Req> {
  readonly rules: RuleSource<Req>
  readonly keyOf: (who: Who) => string
  readonly keyOfRequest: (request: Req) => string | Promise<string>
  /** Where each of its tiers stands among those of all parts. */
  readonly at: readonly number[]
}

/** What a gate's limiter by hand is made of. */
export interface HandParts<Req> extends HandPart<Req> {
  /** Ends what its gate has waiting. */
  readonly close: () => void
  /** Where several limiters decide together, each of them; none where one decides. */
  readonly parts: readonly HandPart<Req>[]
  /** Those of a request, where it has others than all that there are. */
  readonly partsOf?: (request: Req) => readonly HandPart<Req>[]
  /** Those that only watch. */
  readonly watched: readonly HandPart<Req>[]
  /** What decides about a request, at this cost in place of its own. */
  readonly price: (request: Req, key: string, cost: number) => Late<Priced>
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
    return this.#parts.rules.policies
  }

  keyOf(who: AnyRequest | Who): Late<string> {
    return isRequest(who) ? this.#parts.keyOfRequest(who) : this.#parts.keyOf(who)
  }

  consume(who: AnyRequest | Who, cost = 1): Late<Decision> {
    return this.#byRules(who, cost, (key, { limiter, policies }) => {
      if (limiter.admission !== null) throw mustRelease('consume')
      return after<Verdict, Decision>(limiter.take(key, cost, policies), (verdict) =>
        decisionOf(verdict, true)
      )
    })
  }

  acquire(who: AnyRequest | Who, cost = 1): Late<Permit> {
    return this.#byRules(who, cost, (key, { limiter, policies }) =>
      after<Verdict, Permit>(
        limiter.take(key, cost, policies),
        (verdict) => new OwnPermit(verdict, limiter, key, cost)
      )
    )
  }

  peek(who: AnyRequest | Who): Late<Decision> {
    return this.#byRules(who, 1, (key, { limiter, policies }) =>
      after<Verdict, Decision>(limiter.look(key, policies), (verdict) => decisionOf(verdict, false))
    )
  }

  refund(who: AnyRequest | Who, cost = 1, chargedAt?: number): Late<boolean> {
    return this.#byRules(who, cost, (key, { limiter, policies }) => {
      // In one go, so that a store outside the process is asked once.
      const looks: Late<readonly unknown[]>[] = [
        after<Verdict, readonly unknown[]>(limiter.look(key, policies), owed)
      ]
      const given = limiter.giveBack(key, cost, policies, { at: chargedAt, source: 'store' })
      looks.push(after<Verdict, readonly unknown[]>(limiter.look(key, policies), owed))
      return after(gather<unknown>([...looks, given].map((late) => () => late)), ([before, after]) =>
        (before as readonly unknown[]).some((value, i) => !Object.is(value, (after as readonly unknown[])[i]))
      )
    })
  }

  reset(who: AnyRequest | Who): Late<boolean> {
    const { watched } = this.#parts
    const reset = (part: HandPart<AnyRequest>) => this.#everywhere(part, who, resetIn)
    return this.#run(() =>
      after(gather([...this.#told(who), ...watched].map((part) => () => reset(part))), isAny)
    )
  }

  block(who: AnyRequest | Who, duration: Duration): Late<void> {
    // Of a request, which tells all keys, the first: others may stand for many clients.
    const told = isRequest(who) ? this.#told(who).slice(0, 1) : this.#told(who)
    const block = (part: HandPart<AnyRequest>) =>
      this.#everywhere(part, who, (key, rules) => blockIn(key, rules, duration))
    return this.#run(() => after(gather(told.map((part) => () => block(part))), nothing))
  }

  penalty(who: AnyRequest | Who, units: number): Late<Decision> {
    return this.#byFirst(who, (key, { limiter, policies }) =>
      after(limiter.penalise(key, units, policies), (verdict) => decisionOf(verdict, false))
    )
  }

  reward(who: AnyRequest | Who, units: number): Late<Decision> {
    return this.#byFirst(who, (key, { limiter, policies }) =>
      after<void, Decision>(limiter.reimburse(key, units, policies), () =>
        after(limiter.look(key, policies), (verdict) => decisionOf(verdict, false))
      )
    )
  }

  bans(options?: BansOptions): Late<BansPage> {
    return this.#run(() => bansOfAll(this.#parts.rules.limiters, options))
  }

  clear(): Late<void> {
    const all = this.#all
    return this.#run(() => {
      for (const { rules } of all) rules.forget()
      const limiters = all.flatMap(({ rules }) => rules.limiters)
      return after(gather<void>(limiters.map((limiter) => () => limiter.clear())), nothing)
    })
  }

  size(): number {
    let keys = 0
    for (const limiter of this.#parts.rules.limiters)
      if (limiter instanceof PolicyLimiter) keys += limiter.size()
    return keys
  }

  close(): void {
    this.#parts.close()
  }

  get #all(): readonly HandPart<AnyRequest>[] {
    return [this.#parts, ...this.#parts.watched]
  }

  /** Does something by the rules of one key: of several that this tells, the first. */
  #byFirst<T>(who: AnyRequest | Who, act: (key: string, by: Rules) => Late<T>): Late<T> {
    return this.#run(() => {
      const [{ rules, keyOf, keyOfRequest }] = this.#told(who) as [HandPart<AnyRequest>]
      return after(isRequest(who) ? keyOfRequest(who) : keyOf(who), (key) =>
        isRequest(who) && rules.fixed === null
          ? after(rules.forRequest(who), (made) => act(key, made))
          : act(key, lastRules(rules, key))
      )
    })
  }

  /** Does something by the rules that a key is decided by. */
  #byRules<T>(who: AnyRequest | Who, cost: number, act: (key: string, by: Deciding) => Late<T>): Late<T> {
    const { rules, parts, price } = this.#parts
    return this.#run(() => {
      if (parts.length > 0 && !isRequest(who)) {
        const limiter = this.#together(who, cost)
        return act(limiter.parts[0]!.key, { limiter, policies: [] })
      }
      return after(this.keyOf(who), (key) => {
        if (isRequest(who) && rules.fixed === null)
          return after(price(who, key, cost), (made) => act(key, made))
        return act(key, lastRules(rules, key))
      })
    })
  }

  /** Those of several limiters together whose keys this tells. */
  #together(who: Who, cost: number): Together {
    const told = this.#told(who)
    const places = told.flatMap(({ at }) => at).sort((a, b) => a - b)
    return new Together(
      told.map(({ rules, keyOf, at }) => {
        const { fixed } = rules
        if (fixed === null || this.#parts.rules.policies.length === 0)
          throw misuse('each of several keys has a limit of its own')
        const { limiter, policies } = fixed
        return { limiter, policies, key: keyOf(who), cost, at: at.map((place) => places.indexOf(place)) }
      })
    )
  }

  /** The parts of which this tells the key; of a bare key, which could be of any, the first. */
  #told(who: AnyRequest | Who): readonly HandPart<AnyRequest>[] {
    const { parts, partsOf } = this.#parts
    if (parts.length === 0) return [this.#parts]
    if (isRequest(who)) return partsOf?.(who) ?? parts
    if (typeof who !== 'object') return parts.slice(0, 1)
    const told = parts.filter(({ keyOf }) => canTell(keyOf, who))
    // Says why.
    if (told.length === 0) parts[0]!.keyOf(who)
    return told
  }

  /** Does something in every limiter of a part that a key may be counted by. */
  #everywhere<T>(
    { rules, keyOf, keyOfRequest }: HandPart<AnyRequest>,
    who: AnyRequest | Who,
    act: (key: string, rules: RuleSource<AnyRequest>) => Late<T>
  ): Late<T> {
    return after(isRequest(who) ? keyOfRequest(who) : keyOf(who), (key) => {
      // That of its own window is there by then.
      const ready = isRequest(who) && rules.fixed === null ? rules.forRequest(who) : null
      return after<unknown, T>(ready, () => act(key, rules))
    })
  }

  /** With a store outside the process everything is a promise, what is thrown at once as well. */
  #run<T>(act: () => Late<T>): Late<T> {
    if (!(this.#parts.rules.sample instanceof AsyncPolicyLimiter)) return act()
    return heard(new Promise((resolve) => resolve(act())))
  }
}

/** What decides: see `Asked`. */
type Deciding = Pick<Priced, 'limiter' | 'policies'>

function canTell(keyOf: (who: Who) => string, who: Who): boolean {
  try {
    keyOf(who)
    return true
  } catch {
    return false
  }
}

function isRequest(who: unknown): who is AnyRequest {
  return typeof who === 'object' && who !== null && typeof (who as AnyRequest).headers === 'object'
}
