import { monotonicClock } from '../core/clock.js'
import { type Policy, withShare } from '../core/policy.js'
import type { Buckets } from '../core/store.js'
import { type Action, type OnStoreError, Out, outSize, peek, type Verdict } from '../core/verdict.js'
import { memoryStore } from '../memory/store.js'

/** Keys that are counted here while the store fails; what does not fit is judged as a full memory store does. */
export const mostLocalKeys = 100_000

/** What a limiter does while its store fails. */
export interface LocalCountingSettings {
  readonly policies: readonly Policy[]
  readonly onStoreError: OnStoreError
  /** This process's part of every limit. */
  readonly share: number
}

/** What a key used here during an outage: units for each tier, without those that time has given back. */
export interface Used {
  readonly key: string
  readonly units: readonly number[]
}

/**
 * Decides in place of a store that fails, as `onStoreError` says: lets every request pass, or none, or counts in this
 * process's memory by its share of the limits. What was counted is to be charged in the store afterwards.
 */
export class LocalCounting {
  readonly #settings: LocalCountingSettings
  readonly #shares = new WeakMap<Policy, Policy>()
  readonly #own: readonly Policy[]
  #buckets: Buckets | null = null
  /** Keys that were counted here since the outage began. */
  readonly #used = new Set<string>()

  constructor(settings: LocalCountingSettings) {
    this.#settings = settings
    this.#own = settings.policies.map((policy) => this.#shareOf(policy))
  }

  /** @param waitMs how long until the store is asked again */
  decide(action: Action, key: string, cost: number, policies: readonly Policy[], waitMs: number): Verdict {
    const { onStoreError } = this.#settings
    if (onStoreError !== 'local') return uncounted(onStoreError, action, policies, waitMs)
    if (action.kind !== 'peek' && this.#used.size < mostLocalKeys) this.#used.add(key)
    this.#buckets ??= memoryStore({ maxKeys: mostLocalKeys }).open({ policies: this.#own, named: false })
    const verdict = this.#buckets.decide(action, key, cost, monotonicClock(), this.#sharesOf(policies))
    return { ...verdict, source: 'local', out: Array.from(verdict.out) }
  }

  /** Gives back what was charged here, if it still is. */
  refund(key: string, cost: number, policies: readonly Policy[], chargedAt: number | undefined): void {
    if (!this.#used.has(key)) return
    const now = monotonicClock()
    this.#buckets?.refund(key, cost, now, this.#sharesOf(policies), chargedAt ?? now)
  }

  /** What keys have used here and not been charged for in the store. */
  *used(): Generator<Used> {
    for (const key of this.#used) yield { key, units: this.#unitsOf(key) }
  }

  /** Forgets a key that the store was told of. */
  forget(key: string): void {
    this.#used.delete(key)
    this.#buckets?.reset(key)
    if (this.#used.size === 0) this.#buckets = null
  }

  /** Forgets all keys. */
  clear(): void {
    this.#used.clear()
    this.#buckets = null
  }

  #unitsOf(key: string): number[] {
    const verdict = this.#buckets?.decide(peek, key, 1, monotonicClock(), this.#own)
    return this.#own.map(({ capacity }, i) =>
      verdict === undefined ? 0 : capacity - verdict.out[i * outSize + Out.remaining]!
    )
  }

  #sharesOf(policies: readonly Policy[]): readonly Policy[] {
    return policies === this.#settings.policies ? this.#own : policies.map((policy) => this.#shareOf(policy))
  }

  #shareOf(policy: Policy): Policy {
    const share = this.#shares.get(policy) ?? withShare(policy, this.#settings.share)
    this.#shares.set(policy, share)
    return share
  }
}

/** A decision without any counting. */
function uncounted(
  source: 'allow' | 'deny',
  { kind }: Action,
  policies: readonly Policy[],
  waitMs: number
): Verdict {
  const isAllowed = source === 'allow' || kind === 'charge'
  const out = new Array<number>(policies.length * outSize)
  for (let i = 0; i < out.length; i += outSize) {
    out[i + Out.remaining] = Number.NaN
    out[i + Out.retryAfterMs] = isAllowed ? 0 : waitMs
    out[i + Out.resetMs] = Number.NaN
    out[i + Out.delayMs] = 0
  }
  return { isAllowed, isBlocked: false, charged: 0, at: monotonicClock(), source, policies, out }
}
