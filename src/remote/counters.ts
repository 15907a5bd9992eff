import type { AsyncCounters, AsyncCountersOptions, Reading, Receipt } from '../core/async-store.js'
import { Answer, answerSize } from '../core/decision.js'
import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import { Verdict } from '../core/store.js'
import { Deed } from '../redis/lua-script.js'
import type { Place, Places } from '../redis/places.js'
import type { Reply } from '../redis/reply.js'
import type { Denials } from './deny-cache.js'
import type { Leases } from './leases.js'
import type { Debt, Fallback } from './local-counting.js'

/** How a limiter's deeds are carried out on the server: by a script, or by compare-and-swap. */
export interface Executor {
  /** @throws HeadgateError `HEADGATE_STORE_FAILED` */
  execute(place: Place, deed: Deed, cost: number, extra: string, policies: readonly Policy[]): Promise<Reply>
}

/** What the counters of one limiter are made of. */
export interface RedisCountersParts {
  readonly options: AsyncCountersOptions
  readonly places: Places
  readonly executor: Executor
  readonly fallback: Fallback
  readonly denials: Denials | null
  readonly leases: Leases | null
}

/** Keys that are settled at once when the store is back. */
const settledAtOnce = 64

/** The counters of one limiter on a server: what is known here first, then the store, and while it fails the fallback. */
export class RedisCounters implements AsyncCounters {
  readonly #policies: readonly Policy[]
  readonly #places: Places
  readonly #executor: Executor
  readonly #fallback: Fallback
  readonly #denials: Denials | null
  #leases: Leases | null

  constructor({ options, places, executor, fallback, denials, leases }: RedisCountersParts) {
    this.#policies = options.policies
    this.#places = places
    this.#executor = executor
    this.#fallback = fallback
    this.#denials = denials
    this.#leases = leases
  }

  take(key: string, cost: number, policies: readonly Policy[]): Reading | Promise<Reading> {
    const leases = policies === this.#policies ? this.#leases : null
    const known = leases?.spend(key, cost) ?? this.#denials?.find(key, cost, policies)
    if (known !== undefined) return known
    if (leases === null) return this.#take(key, cost, policies)
    const pending = leases.pending(key)
    return pending === null ? this.#takeLease(leases, key, cost) : this.#takeAfter(pending, key, cost)
  }

  async peek(key: string, policies: readonly Policy[]): Promise<Reading> {
    const held = this.#leases?.held(key) ?? 0
    const instead = (waitMs: number) => this.#fallback.peek(key, policies, waitMs)
    const reading = await this.#decide(Deed.peek, key, 1, '', policies, instead)
    const isUsable = held > 0 && policies === this.#policies && reading.source === 'store'
    return isUsable && reading.verdict !== Verdict.blocked ? withHeld(reading, held) : reading
  }

  chargeAnyway(key: string, cost: number, policies: readonly Policy[]): Promise<Reading> {
    const instead = (waitMs: number) => this.#fallback.chargeAnyway(key, cost, policies, waitMs)
    return this.#decide(Deed.charge, key, cost, '', policies, instead)
  }

  async refund(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void> {
    const { at, source } = receipt
    if (source === 'local') this.#fallback.refund(key, cost, policies, at)
    if (source === 'local' || source === 'allow' || source === 'deny') return
    await this.#changeDenied(Deed.refund, key, cost, at === undefined ? '' : String(at), policies)
  }

  async reset(key: string): Promise<void> {
    this.#leases?.drop(key)
    this.#fallback.settled(key)
    await this.#changeDenied(Deed.reset, key, 0, '', this.#policies)
  }

  async block(key: string, blockMs: number): Promise<void> {
    this.#leases?.end(key)
    const duration = blockMs === Number.POSITIVE_INFINITY ? 'inf' : String(blockMs)
    await this.#changeDenied(Deed.block, key, 0, duration, this.#policies)
  }

  /** Charges in the store what was counted here while it failed, as far as it works again. */
  async settle(): Promise<void> {
    let due: Promise<void>[] = []
    for (const debt of this.#fallback.debts()) {
      if (this.#places.of(debt.key).node.breaker.isOpen) continue
      due.push(this.#settle(debt))
      if (due.length < settledAtOnce) continue
      await Promise.all(due)
      due = []
    }
    await Promise.all(due)
  }

  /** Returns what is leased; from then on nothing is. */
  async close(): Promise<void> {
    const leases = this.#leases
    this.#leases = null
    await leases?.close()
  }

  async #settle({ key, units }: Debt): Promise<void> {
    if (units.some((used) => used > 0)) await this.#change(Deed.settle, key, 0, units.join(), this.#policies)
    this.#fallback.settled(key)
  }

  /** Forgets a denial at once, and again what was asked before and is answered meanwhile. */
  async #changeDenied(
    deed: Deed,
    key: string,
    cost: number,
    extra: string,
    policies: readonly Policy[]
  ): Promise<void> {
    this.#denials?.delete(key)
    try {
      await this.#change(deed, key, cost, extra, policies)
    } finally {
      this.#denials?.delete(key)
    }
  }

  #take(key: string, cost: number, policies: readonly Policy[]): Reading | Promise<Reading> {
    const place = this.#places.of(key)
    const instead = (waitMs: number) => this.#fallback.take(key, cost, policies, waitMs)
    if (!place.node.breaker.admits()) return instead(place.node.breaker.waitMs)
    this.#withdraw(key, place)
    const askedAt = performance.now()
    return this.#executor.execute(place, Deed.take, cost, '', policies).then(
      (reply) => {
        this.#hear(key, cost, policies, askedAt, reply)
        return readingOf(reply, policies)
      },
      (error) => {
        rethrowOwn(error)
        return instead(place.node.breaker.waitMs)
      }
    )
  }

  #takeLease(leases: Leases, key: string, cost: number): Reading | Promise<Reading> {
    const lease = leases.hot(key)
    if (lease === undefined) return this.#take(key, cost, this.#policies)
    const place = this.#places.of(key)
    const policies = this.#policies
    const instead = () => this.#fallback.take(key, cost, policies, place.node.breaker.waitMs)
    if (!place.node.breaker.admits()) return instead()
    this.#withdraw(key, place)
    const askedAt = performance.now()
    const wanted = String(cost + leases.size)
    const reading = this.#executor.execute(place, Deed.lease, cost, wanted, policies).then(
      (reply) => {
        this.#hear(key, cost, policies, askedAt, reply)
        if (reply.charged === 0) return readingOf(reply, policies)
        const here = leases.receive(lease, cost, askedAt, reply)
        return withHeld({ ...readingOf(reply, policies), charged: cost }, here)
      },
      (error) => {
        rethrowOwn(error)
        return instead()
      }
    )
    leases.expect(lease, reading)
    return reading
  }

  /** Waits for a lease that is on its way, and asks for itself where that is not enough. */
  async #takeAfter(pending: Promise<unknown>, key: string, cost: number): Promise<Reading> {
    const waitedFor = (await pending) as Reading | undefined
    // Who has waited for a store that fails does not wait for it again.
    if (waitedFor?.source === 'local' || waitedFor?.source === 'allow' || waitedFor?.source === 'deny')
      return this.#fallback.take(key, cost, this.#policies, this.#places.of(key).node.breaker.waitMs)
    return (
      this.#leases?.spend(key, cost) ??
      this.#denials?.find(key, cost, this.#policies) ??
      this.#take(key, cost, this.#policies)
    )
  }

  /** Gives back what is held, in the call that is to follow: so the store decides by all that there is. */
  #withdraw(key: string, place: Place): void {
    const units = this.#leases?.withdraw(key)
    if (units !== undefined)
      this.#executor
        .execute(place, Deed.refund, units.count, String(units.chargedAt), this.#policies)
        .then(undefined, () => {})
  }

  #hear(key: string, cost: number, policies: readonly Policy[], askedAt: number, reply: Reply): void {
    this.#denials?.add(key, cost, policies, askedAt, reply)
    if (reply.verdict === Verdict.blocked) this.#leases?.end(key)
  }

  async #decide(
    deed: Deed,
    key: string,
    cost: number,
    extra: string,
    policies: readonly Policy[],
    instead: (waitMs: number) => Reading
  ): Promise<Reading> {
    const place = this.#places.of(key)
    const { breaker } = place.node
    if (!breaker.admits()) return instead(breaker.waitMs)
    if (deed === Deed.charge) {
      this.#denials?.delete(key)
      this.#withdraw(key, place)
    }
    try {
      return readingOf(await this.#executor.execute(place, deed, cost, extra, policies), policies)
    } catch (error) {
      rethrowOwn(error)
      return instead(breaker.waitMs)
    }
  }

  async #change(
    deed: Deed,
    key: string,
    cost: number,
    extra: string,
    policies: readonly Policy[]
  ): Promise<void> {
    const place = this.#places.of(key)
    if (!place.node.breaker.admits()) throw isDown(place.node.breaker.waitMs)
    await this.#executor.execute(place, deed, cost, extra, policies)
  }
}

function isDown(waitMs: number): HeadgateError {
  return new HeadgateError('HEADGATE_STORE_FAILED', `Redis is failing; it is asked again in ${waitMs} ms.`)
}

function readingOf(reply: Reply, policies: readonly Policy[]): Reading {
  const { at, verdict, charged, answers } = reply
  return { verdict, source: 'store', at, charged, policies, answers }
}

/** An answer of the store with units added that are held here. */
function withHeld(reading: Reading, units: number): Reading {
  const answers = Array.from(reading.answers, (value, i) => {
    if (i % answerSize === Answer.remaining) return value + units
    return i % answerSize === Answer.retryAfterMs ? 0 : value
  })
  return { ...reading, verdict: Verdict.admitted, answers }
}

/** A strategy's own error is no failure of the store. */
function rethrowOwn(error: unknown): void {
  if (!(error instanceof HeadgateError)) throw error
}
