import type { Reading } from '../core/async-store.js'
import { Answer, answerSize } from '../core/decision.js'
import type { Policy } from '../core/policy.js'
import { Verdict } from '../core/store.js'
import type { Reply } from './reply.js'

/** How long a lease lies idle before it is returned, ms; a key that was not asked for in that time is not hot. */
const idleMs = 1000

/** Keys that are watched; others go to the store each time. */
const mostLeases = 10_000

/** What is known of one key. */
interface Lease {
  /** Units that are charged in the store and not spent yet. */
  units: number
  /** When they are worth nothing more, on the monotonic clock: what was charged for them has been paid back. */
  until: number
  usedAt: number
  /** The oldest charge that units are left of, on the store's clock. */
  chargedAt: number
  /** What the store answered last, and when. */
  answers: readonly number[]
  heardAt: number
  /** Settles when the store has answered. */
  pending: Promise<unknown> | null
}

/** Units that are to be given back. */
export type GiveBack = (key: string, units: number, chargedAt: number) => Promise<void>

/**
 * Quota of keys that are asked for often: charged in the store first, spent here, and what is left returned. Units
 * charged in a fixed window are spent in no other; those of other strategies may be spent up to `resetMs` after they were
 * charged, so N processes admit at most N · lease more than the limit in any span of time.
 */
export class Leases {
  readonly size: number
  readonly #policies: readonly Policy[]
  readonly #giveBack: GiveBack
  readonly #leases = new Map<string, Lease>()
  #timer: NodeJS.Timeout | null = null

  constructor(size: number, policies: readonly Policy[], giveBack: GiveBack) {
    this.size = size
    this.#policies = policies
    this.#giveBack = giveBack
  }

  /** Spends what is here of a key; undefined where it is not enough. */
  spend(key: string, cost: number): Reading | undefined {
    const lease = this.#leases.get(key)
    if (lease === undefined || lease.units < cost) return undefined
    const now = performance.now()
    if (now >= lease.until) {
      lease.units = 0
      return undefined
    }
    lease.units -= cost
    lease.usedAt = now
    const { chargedAt: at } = lease
    const answers = answersNow(lease, now)
    return {
      verdict: Verdict.admitted,
      source: 'lease',
      at,
      charged: cost,
      policies: this.#policies,
      answers
    }
  }

  /** What the store is being asked for a key. */
  pending(key: string): Promise<unknown> | null {
    return this.#leases.get(key)?.pending ?? null
  }

  /** Notes that a key is asked for. True if it was a moment ago, too: then it is worth a lease. */
  isHot(key: string): boolean {
    const now = performance.now()
    const known = this.#leases.get(key)
    if (known !== undefined) {
      known.usedAt = now
      return true
    }
    if (this.#leases.size >= mostLeases) return false
    const nothing = { units: 0, until: 0, chargedAt: 0, answers: [], heardAt: 0, pending: null }
    this.#leases.set(key, { ...nothing, usedAt: now })
    this.#timer ??= setInterval(() => this.#sweep(), idleMs).unref()
    return false
  }

  /** Lets others wait for the store's answer to a lease. */
  expect(key: string, pending: Promise<unknown>): void {
    const lease = this.#leases.get(key)
    if (lease === undefined) return
    lease.pending = pending
    const settled = () => {
      lease.pending = null
    }
    pending.then(settled, settled)
  }

  /** Takes what the store has charged beyond the cost of the request that was asked at `askedAt`; how much is here now. */
  receive(key: string, cost: number, askedAt: number, reply: Reply): number {
    const lease = this.#leases.get(key)
    if (lease === undefined) {
      if (reply.charged > cost) this.#return(key, reply.charged - cost, reply.at)
      return 0
    }
    const now = performance.now()
    const resets = this.#policies.map((_, i) => reply.answers[i * answerSize + Answer.resetMs]!)
    const until = askedAt + Math.min(...resets)
    const isLeft = lease.units > 0 && now < lease.until
    lease.chargedAt = isLeft ? Math.min(lease.chargedAt, reply.at) : reply.at
    lease.until = isLeft ? Math.min(lease.until, until) : until
    lease.units = (isLeft ? lease.units : 0) + reply.charged - cost
    lease.answers = reply.answers
    lease.heardAt = now
    lease.usedAt = now
    return lease.units
  }

  /** Drops what is held of a key. */
  drop(key: string): void {
    const lease = this.#leases.get(key)
    if (lease !== undefined) lease.units = 0
  }

  /** Gives everything back. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
    const returns = [...this.#leases].map(([key, lease]) => this.#end(key, lease))
    await Promise.all(returns)
  }

  #sweep(): void {
    const idleSince = performance.now() - idleMs
    for (const [key, lease] of this.#leases)
      if (lease.pending === null && lease.usedAt < idleSince) this.#end(key, lease)
    if (this.#leases.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  async #end(key: string, lease: Lease): Promise<void> {
    this.#leases.delete(key)
    if (lease.pending !== null) await lease.pending.then(undefined, () => {})
    if (lease.units > 0 && performance.now() < lease.until)
      await this.#return(key, lease.units, lease.chargedAt)
  }

  /** Units that cannot be given back are lost: the limit is held, a little too strictly. */
  async #return(key: string, units: number, chargedAt: number): Promise<void> {
    await this.#giveBack(key, units, chargedAt).then(undefined, () => {})
  }
}

/** The store's last answers, with the units that are here as this process would admit them. */
function answersNow({ answers, units, heardAt }: Lease, now: number): number[] {
  const passed = Math.floor(now - heardAt)
  const moved = new Array<number>(answers.length)
  for (let i = 0; i < moved.length; i += answerSize) {
    moved[i] = answers[i]! + units
    moved[i + 1] = 0
    moved[i + 2] = Math.max(0, answers[i + 2]! - passed)
    moved[i + 3] = 0
  }
  return moved
}
