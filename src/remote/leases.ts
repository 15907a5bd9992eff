import type { Reading } from '../core/async-store.js'
import { Answer, answerSize } from '../core/decision.js'
import type { Policy } from '../core/policy.js'
import { Verdict } from '../core/store.js'
import type { Reply } from '../redis/reply.js'

/** How long a lease lies idle before it is returned, ms; a key that was not asked for in that time is not hot. */
const idleMs = 1000

/** Keys that are watched; others go to the store each time. */
const mostLeases = 10_000

/** What is known of one key that is asked for often. */
export interface Lease {
  readonly key: string
  /** Units that are charged in the store and not spent yet. */
  units: number
  /** When they are worth nothing more, on the monotonic clock: what was charged for them has been paid back. */
  until: number
  usedAt: number
  /** When they were charged, on the store's clock. */
  chargedAt: number
  /** What the store answered last, and when. */
  answers: readonly number[]
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
}

/** Gives units back to the store; rejects if that fails. */
export type GiveBack = (key: string, units: number, chargedAt: number) => Promise<void>

/**
 * Quota of keys that are asked for often: charged in the store first, spent here, and what is left returned. At most
 * `size` units of a key are held. Units charged in a fixed window are spent in no other; those of other strategies may
 * be spent up to `resetMs` after they were charged, so N processes admit at most N · lease more than the limit in any
 * span of time.
 */
export class Leases {
  readonly size: number
  readonly #policies: readonly Policy[]
  readonly #giveBack: GiveBack
  readonly #leases = new Map<string, Lease>()
  /** Those that are given back. */
  readonly #ending = new Set<Lease>()
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
    if (now >= lease.until) return undefined
    lease.units -= cost
    lease.usedAt = now
    return {
      verdict: Verdict.admitted,
      source: 'lease',
      at: lease.chargedAt,
      charged: cost,
      policies: this.#policies,
      answers: answersNow(lease, now)
    }
  }

  /** What the store is being asked for a key. */
  pending(key: string): Promise<unknown> | null {
    return this.#leases.get(key)?.pending ?? null
  }

  /** How many units of a key are here. */
  held(key: string): number {
    const lease = this.#leases.get(key)
    return lease !== undefined && performance.now() < lease.until ? lease.units : 0
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
        chargedAt: 0,
        answers: [],
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

  /** Takes what the store has charged beyond `cost`, when it was asked at `askedAt`; how much is here now. */
  receive(lease: Lease, cost: number, askedAt: number, reply: Reply): number {
    const resets = this.#policies.map((_, i) => reply.answers[i * answerSize + Answer.resetMs]!)
    const now = performance.now()
    // The store's clock leaves out a part of a millisecond.
    lease.until = askedAt + Math.min(...resets) - 1
    lease.chargedAt = reply.at
    lease.units = reply.charged - cost
    lease.answers = reply.answers
    lease.heardAt = now
    lease.usedAt = now
    return lease.units
  }

  /** Takes out what is here of a key, for it to be given back. */
  withdraw(key: string): Units | undefined {
    const count = this.held(key)
    const lease = this.#leases.get(key)
    if (lease === undefined || count === 0) return undefined
    lease.units = 0
    return { count, chargedAt: lease.chargedAt }
  }

  /** Forgets what is held of a key, or on its way: the store has forgotten it, too. */
  drop(key: string): void {
    this.#leases.delete(key)
    for (const lease of this.#ending) if (lease.key === key) lease.isVoid = true
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
    const { key, units, chargedAt, isVoid, until } = lease
    lease.units = 0
    if (units > 0 && !isVoid && performance.now() < until)
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
