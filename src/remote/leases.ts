import type { Policy } from '../core/policy.js'
import { areSamePolicies } from '../core/variants.js'
import { Out, outSize, type Verdict } from '../core/verdict.js'
import { clearInterval, setInterval } from './time/own-time.js'

/**
 * How long a lease is spent, ms: then the store is asked again, in the call that returns what is left, and tells whether
 * another process has reset the key, or blocked it.
 */
const longestMs = 1000

/** How long a lease lies idle before it is returned, ms; a key that was not asked for in that time is not asked for often. */
const idleMs = 1000

/** Keys that are watched; others go to the store each time. */
const mostLeases = 10_000

/** What is known of one key that is asked for often. */
export interface Lease {
  readonly key: string
  /** Units that are charged in the store and not spent yet. */
  units: number
  /** Until when they may be spent, on the monotonic clock: one of the tiers has been paid back for them then. */
  until: number
  /** When they are worth nothing more: all tiers have been. */
  worthUntil: number
  usedAt: number
  /** When they were charged, on the store's clock. */
  chargedAt: number
  /** What the store answered last, by which policies, and when. */
  verdict: Verdict | null
  heardAt: number
  /** Settles when the store has answered. */
  pending: Promise<unknown> | null
  /** True once its key was reset: what was charged before is forgotten, and so is what was charged for it. */
  isVoid: boolean
}

/** Units that are to be given back. */
export interface Units {
  readonly count: number
  readonly chargedAt: number
  readonly policies: readonly Policy[]
}

/** Gives units back to the store; rejects if that fails. */
export type GiveBack = (key: string, units: Units) => Promise<void>

/**
 * Quota for keys that are used often: charged in the store in advance, spent in this process; unspent units are
 * returned. At most `size` units of a key are held, fewer near the limit, and for a second. Units charged in a fixed window are spent in no other; those of other strategies may
 * be spent up to `resetMs` after they were charged, so N processes admit at most N · lease more than the limit in any
 * span of time.
 */
export class Leases {
  readonly size: number
  readonly #giveBack: GiveBack
  readonly #leases = new Map<string, Lease>()
  /** Those that are given back. */
  readonly #ending = new Set<Lease>()
  #timer: NodeJS.Timeout | null = null

  constructor(size: number, giveBack: GiveBack) {
    this.size = size
    this.#giveBack = giveBack
  }

  /** Spends what is held of a key under these policies; undefined if that is not enough. */
  spend(key: string, cost: number, policies: readonly Policy[]): Verdict | undefined {
    const lease = this.#leases.get(key)
    if (lease === undefined || lease.verdict === null || lease.units < cost) return undefined
    if (!areSamePolicies(lease.verdict.policies, policies)) return undefined
    const now = performance.now()
    if (now >= lease.until) return undefined
    lease.units -= cost
    lease.usedAt = now
    const { verdict, units, heardAt } = lease
    return {
      isAllowed: true,
      isBlocked: false,
      charged: cost,
      at: verdict.at,
      source: 'lease',
      policies: verdict.policies,
      out: outWithHeld(verdict.out, units, Math.floor(now - heardAt))
    }
  }

  /** What the store is being asked for a key. */
  pending(key: string): Promise<unknown> | null {
    return this.#leases.get(key)?.pending ?? null
  }

  /** How many units of a key may be spent here under these policies. */
  held(key: string, policies: readonly Policy[]): number {
    const lease = this.#leases.get(key)
    if (lease === undefined || lease.verdict === null || performance.now() >= lease.until) return 0
    return areSamePolicies(lease.verdict.policies, policies) ? lease.units : 0
  }

  /** Notes that a key is asked for. If it was a moment ago, too, it is worth a lease: gives what is known of it. */
  hot(key: string): Lease | undefined {
    const now = performance.now()
    const known = this.#leases.get(key)
    if (known !== undefined) known.usedAt = now
    else if (this.#leases.size < mostLeases) {
      const nothing = {
        units: 0,
        until: 0,
        worthUntil: 0,
        chargedAt: 0,
        verdict: null,
        heardAt: 0,
        pending: null,
        isVoid: false
      }
      this.#leases.set(key, { key, ...nothing, usedAt: now })
      this.#timer ??= setInterval(() => this.#sweep(), idleMs).unref()
    }
    return known
  }

  /** Lets others wait for the store's answer to a lease. */
  expect(lease: Lease, pending: Promise<unknown>): void {
    const settled = (answer: unknown) => {
      lease.pending = null
      return answer
    }
    // Before anybody else hears of it.
    lease.pending = pending.then(settled, settled)
  }

  /** Takes what the store has charged beyond `cost`, as it was asked at `askedAt`; gives how much is held now. */
  receive(lease: Lease, cost: number, askedAt: number, verdict: Verdict): number {
    let firstMs = Number.POSITIVE_INFINITY
    let lastMs = 0
    for (let i = Out.resetMs; i < verdict.out.length; i += outSize) {
      firstMs = Math.min(firstMs, verdict.out[i]!)
      lastMs = Math.max(lastMs, verdict.out[i]!)
    }
    const now = performance.now()
    // The store's clock omits a fraction of a millisecond.
    lease.until = askedAt + Math.min(firstMs - 1, longestMs)
    lease.worthUntil = now + lastMs
    lease.chargedAt = verdict.at
    lease.units = verdict.charged - cost
    lease.verdict = verdict
    lease.heardAt = now
    lease.usedAt = now
    return lease.units
  }

  /** Takes out what is here of a key, for it to be given back. */
  withdraw(key: string): Units | undefined {
    const lease = this.#leases.get(key)
    return lease === undefined ? undefined : takeOut(lease)
  }

  /** Forgets what is held of a key, or on its way: the store has forgotten it, too. */
  drop(key: string): void {
    this.#leases.delete(key)
    for (const lease of this.#ending) if (lease.key === key) lease.isVoid = true
  }

  /** The same for all keys. */
  clear(): void {
    this.#leases.clear()
    for (const lease of this.#ending) lease.isVoid = true
  }

  /** Gives back what is held of a key, or on its way. */
  async end(key: string): Promise<void> {
    const lease = this.#leases.get(key)
    if (lease === undefined) return
    this.#leases.delete(key)
    this.#ending.add(lease)
    // What can be given back now is given back before anything that is asked for next.
    const given = this.#return(lease)
    await lease.pending
    await given
    await this.#return(lease)
    this.#ending.delete(lease)
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    await Promise.all([...this.#leases.keys()].map((key) => this.end(key)))
  }

  #sweep(): void {
    const idleSince = performance.now() - idleMs
    for (const [key, lease] of this.#leases)
      if (lease.pending === null && lease.usedAt < idleSince) this.end(key)
    if (this.#leases.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  /** Units that cannot be given back are lost: the limit is held, a little too strictly. */
  async #return(lease: Lease): Promise<void> {
    const units = takeOut(lease)
    if (units !== undefined && !lease.isVoid) await this.#giveBack(lease.key, units).then(undefined, () => {})
  }
}

/** Takes out of a lease what any tier still counts. */
function takeOut(lease: Lease): Units | undefined {
  const { units: count, chargedAt, verdict, worthUntil } = lease
  lease.units = 0
  if (count === 0 || verdict === null || performance.now() >= worthUntil) return undefined
  return { count, chargedAt, policies: verdict.policies }
}

/** What the store answered some time ago, with the units that are held as this process admits them. */
export function outWithHeld(out: ArrayLike<number>, units: number, passedMs: number): number[] {
  const moved = new Array<number>(out.length)
  for (let i = 0; i < moved.length; i += outSize) {
    moved[i + Out.remaining] = out[i + Out.remaining]! + units
    moved[i + Out.retryAfterMs] = 0
    moved[i + Out.resetMs] = Math.max(0, out[i + Out.resetMs]! - passedMs)
    moved[i + Out.delayMs] = 0
  }
  return moved
}
