import { monotonicClock } from '../../core/clock.js'
import { type Policy, withShare } from '../../core/policy.js'
import { type Action, type OnStoreError, Out, outSize, type Verdict } from '../../core/verdict.js'
import type { KnownBlocks } from './known-blocks.js'
import type { Payment, Shared } from './local-key.js'
import { LocalKeys } from './local-keys.js'
import { LocalOverflow } from './local-overflow.js'

const { randomBytes } = process.getBuiltinModule('node:crypto')

/** Keys, and bytes, that a limiter counts here while the store fails. */
const bounds = { keys: 100_000, bytes: 48 * 2 ** 20 }

/** Keys of which it is remembered when the store was charged for them, so that they can be given back there. */
const mostPaid = 10_000

/** How many payments of one key are remembered. */
const paymentsPerKey = 4

/** How much longer a mark is kept than a payment is owed, ms: a retry may be on its way for so long. */
const marginMs = 60_000

/** What a limiter does while its store fails. */
export interface LocalCountingSettings {
  readonly policies: readonly Policy[]
  readonly onStoreError: OnStoreError
  /** This process's part of every limit. */
  readonly share: number
  readonly blocks: KnownBlocks
}

/** What the store is to be charged for a key: what it owes now of one payment, in units for each tier. */
export interface Due {
  readonly payment: Payment
  readonly units: readonly number[]
  readonly policies: readonly Policy[]
  readonly markMs: number
}

/** When a key was charged in the store: on this process's clock, and on the store's. */
interface Paid {
  readonly at: number
  readonly storeAt: number
}

/** What became of units that were charged here. */
export type Fate =
  | { readonly kind: 'given-back' | 'gone' | 'being-paid' }
  | { readonly kind: 'paid'; readonly storeAt: number }

/** What all marks of this process begin with. */
const processMark = randomBytes(12).toString('base64url')
let marks = 0

/**
 * Decides in place of a store that fails, as `onStoreError` says: lets every request pass, or none, or counts in this
 * process's memory by its share of the limits. What was counted is to be charged in the store afterwards.
 */
export class LocalCounting {
  readonly #settings: LocalCountingSettings
  readonly #shares = new WeakMap<Policy, Policy>()
  readonly #own: Shared
  readonly #keys: LocalKeys
  /** Judges the keys that there is no room for. */
  readonly #overflow: LocalOverflow
  readonly #paid = new Map<string, Paid[]>()

  constructor(settings: LocalCountingSettings) {
    const { policies, blocks } = settings
    this.#settings = settings
    this.#own = { policies, shares: policies.map((policy) => this.#shareOf(policy)) }
    this.#keys = new LocalKeys(this.#own, blocks, bounds)
    this.#overflow = new LocalOverflow(blocks)
  }

  /** @param waitMs how long until the store is asked again */
  decide(action: Action, key: string, cost: number, policies: readonly Policy[], waitMs: number): Verdict {
    const { onStoreError, blocks } = this.#settings
    if (onStoreError !== 'local') return uncounted(onStoreError, action, policies, waitMs)
    const shared = this.#shared(policies)
    const now = monotonicClock()
    const isApart =
      !this.#keys.has(key) && blocks.left(key) === 0 && this.#overflow.has(key, now, shared.shares)
    const verdict = isApart ? null : this.#keys.decide(action, key, cost, now, shared)
    return verdict ?? this.#overflow.decide(action, key, cost, now, shared.shares)
  }

  /** Gives back what was charged here, if it still is here. */
  refund(key: string, cost: number, policies: readonly Policy[], chargedAt: number | undefined): Fate {
    const now = monotonicClock()
    const at = chargedAt ?? now
    if (this.#keys.refund(key, cost, now, this.#shared(policies), at)) return { kind: 'given-back' }
    if (this.#keys.has(key)) return { kind: 'being-paid' }
    const paid = this.#paid.get(key)?.find((payment) => at <= payment.at)
    return paid === undefined ? { kind: 'gone' } : { kind: 'paid', storeAt: paid.storeAt }
  }

  /** True for keys that the store is to be charged for. */
  has(key: string): boolean {
    return this.#keys.has(key)
  }

  /** The keys that the store is to be charged for; those that it could not be charged for come last. */
  keys(): Iterable<string> {
    return this.#keys
  }

  /** What the store is to be charged for a key next; null if nothing. A strategy of the user may throw. */
  dueOf(key: string): Due | null {
    for (;;) {
      const now = monotonicClock()
      const keys = this.#keys
      const payment = keys.paymentOf(key) ?? keys.begin(key, now, `${processMark}${(++marks).toString(36)}`)
      if (payment === null) return null
      const { owed, shared } = payment
      const units = keys.unitsOf(owed, shared, now)
      const { policies } = shared
      // Keys that owe nothing of it any more need not be charged, whether they were or not.
      if (units.some((count) => count > 0))
        return { payment, units, policies, markMs: Math.ceil(keys.owedMs(owed, shared, now)) + marginMs }
      keys.endPayment(key, payment)
    }
  }

  /** Notes that the store was charged at `storeAt`, on its clock, this time or before. */
  paid(key: string, payment: Payment, storeAt: number): void {
    if (!this.#keys.endPayment(key, payment)) return
    const known = this.#paid.get(key) ?? []
    this.#paid.delete(key)
    this.#paid.set(key, [...known.slice(1 - paymentsPerKey), { at: payment.at, storeAt }])
    if (this.#paid.size > mostPaid) this.#paid.delete(this.#paid.keys().next().value!)
  }

  /** Tells, once, about how many keys were counted that the store will not be charged for. */
  takeLost(): number {
    return this.#overflow.end()
  }

  /** Forgets a key. */
  forget(key: string): void {
    this.#keys.delete(key)
    this.#overflow.forget(key)
    this.#paid.delete(key)
  }

  /** Forgets all keys. */
  clear(): void {
    this.#keys.clear()
    this.#overflow.end()
    this.#paid.clear()
  }

  #shared(policies: readonly Policy[]): Shared {
    return policies === this.#settings.policies
      ? this.#own
      : { policies, shares: policies.map((policy) => this.#shareOf(policy)) }
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
