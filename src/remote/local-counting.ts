import type { AsyncCountersOptions, OnStoreError, Reading } from '../core/async-store.js'
import { monotonicClock } from '../core/clock.js'
import { answerSize, type Decision } from '../core/decision.js'
import { PolicyLimiter } from '../core/limiter.js'
import { type Policy, withShare } from '../core/policy.js'
import { Verdict } from '../core/store.js'
import { memoryStore } from '../memory/store.js'

/** Keys that are counted here while the store fails; what does not fit is judged as a full memory store does. */
export const mostLocalKeys = 100_000

/** What a limiter does while its store fails. */
export interface FallbackSettings extends Pick<AsyncCountersOptions, 'policies' | 'countDenied' | 'blockMs'> {
  readonly onStoreError: OnStoreError
  readonly share: number
}

/** What a key used here during an outage: units for each tier, those that time has given back left out. */
export interface Debt {
  readonly key: string
  readonly units: readonly number[]
}

/** Answers in place of a store that fails: lets all pass, or none, or counts in memory with this process's share. */
export class Fallback {
  readonly #settings: FallbackSettings
  readonly #shares = new WeakMap<Policy, Policy>()
  readonly #policies: readonly Policy[]
  #local: PolicyLimiter | null = null
  /** Keys that were counted here since the outage began. */
  readonly #touched = new Set<string>()

  constructor(settings: FallbackSettings) {
    this.#settings = settings
    this.#policies = this.#sharesOf(settings.policies)
  }

  /** `waitMs`: how long until the store is asked again. */
  take(key: string, cost: number, policies: readonly Policy[], waitMs: number): Reading {
    const { onStoreError } = this.#settings
    if (onStoreError !== 'local') return uncounted(onStoreError, policies, waitMs)
    this.#touch(key)
    const shares = this.#sharesOf(policies)
    const limiter = this.#limiter()
    const at = limiter.now()
    const decision = limiter.take(key, cost, at, shares)
    return this.#reading(decision, limiter.wasBlocked, at, decision.allowed ? cost : 0, shares)
  }

  peek(key: string, policies: readonly Policy[], waitMs: number): Reading {
    const { onStoreError } = this.#settings
    if (onStoreError !== 'local') return uncounted(onStoreError, policies, waitMs)
    const limiter = this.#limiter()
    const decision = limiter.peek(key)
    return this.#reading(decision, limiter.wasBlocked, limiter.now(), 0, this.#policies)
  }

  chargeAnyway(key: string, cost: number, policies: readonly Policy[], waitMs: number): Reading {
    const { onStoreError } = this.#settings
    if (onStoreError !== 'local') return uncounted(onStoreError, policies, waitMs)
    this.#touch(key)
    const shares = this.#sharesOf(policies)
    const { decision, charged, at } = this.#limiter().chargeAnyway(key, cost, shares)
    return this.#reading(decision, false, at, charged, shares)
  }

  /** Gives back what was charged here, if it still is. */
  refund(key: string, cost: number, policies: readonly Policy[], at: number | undefined): void {
    if (this.#touched.has(key)) this.#local?.giveBack(key, cost, this.#sharesOf(policies), at)
  }

  /** What keys have used here and not been charged for in the store. */
  *debts(): Generator<Debt> {
    for (const key of this.#touched) {
      const tiers = this.#local?.peek(key).tiers ?? []
      yield { key, units: tiers.map(({ limit, remaining }) => limit - remaining) }
    }
  }

  /** Forgets a key that the store was told of. */
  settled(key: string): void {
    this.#touched.delete(key)
    this.#local?.reset(key)
    if (this.#touched.size === 0) this.#local = null
  }

  #touch(key: string): void {
    if (this.#touched.size < mostLocalKeys) this.#touched.add(key)
  }

  #limiter(): PolicyLimiter {
    const { countDenied, blockMs } = this.#settings
    const policies = this.#policies
    this.#local ??= new PolicyLimiter({
      policies,
      counters: memoryStore({ maxKeys: mostLocalKeys }).open({ policies, named: false }),
      now: monotonicClock,
      countDenied,
      blockMs
    })
    return this.#local
  }

  #sharesOf(policies: readonly Policy[]): readonly Policy[] {
    if (policies === this.#settings.policies && this.#policies !== undefined) return this.#policies
    return policies.map((policy) => {
      const share = this.#shares.get(policy) ?? withShare(policy, this.#settings.share)
      this.#shares.set(policy, share)
      return share
    })
  }

  #reading(
    { tiers, allowed }: Decision,
    isBlocked: boolean,
    at: number,
    charged: number,
    policies: readonly Policy[]
  ): Reading {
    const verdict = isBlocked ? Verdict.blocked : allowed ? Verdict.admitted : Verdict.denied
    const answers = tiers.flatMap((tier) => [
      tier.remaining,
      tier.retryAfterMs,
      tier.resetMs,
      tier.delayMs ?? 0
    ])
    return { verdict, source: 'local', at, charged, policies, answers }
  }
}

/** An answer that nobody has counted. */
function uncounted(source: 'allow' | 'deny', policies: readonly Policy[], waitMs: number): Reading {
  const isAllowed = source === 'allow'
  const answers = new Array<number>(policies.length * answerSize)
  for (let i = 0; i < answers.length; i += answerSize) {
    answers[i] = Number.NaN
    answers[i + 1] = isAllowed ? 0 : waitMs
    answers[i + 2] = Number.NaN
    answers[i + 3] = 0
  }
  const verdict = isAllowed ? Verdict.admitted : Verdict.denied
  return { verdict, source, at: monotonicClock(), charged: 0, policies, answers }
}
