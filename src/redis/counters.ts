import type { AsyncCounters, AsyncCountersOptions, Reading, Receipt } from '../core/async-store.js'
import { Answer, answerSize } from '../core/decision.js'
import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { Denials } from './denials.js'
import type { Debt, Fallback } from './fallback.js'
import type { Leases } from './leases.js'
import type { Node } from './link.js'
import { Deed } from './lua-script.js'
import type { Place, Places } from './places.js'
import type { Reply } from './reply.js'

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

  peek(key: string, policies: readonly Policy[]): Promise<Reading> {
    const instead = (waitMs: number) => this.#fallback.peek(key, policies, waitMs)
    return this.#decide(Deed.peek, key, 1, '', policies, instead)
  }

  chargeAnyway(key: string, cost: number, policies: readonly Policy[]): Promise<Reading> {
    const instead = (waitMs: number) => this.#fallback.chargeAnyway(key, cost, policies, waitMs)
    return this.#decide(Deed.charge, key, cost, '', policies, instead)
  }

  async refund(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void> {
    const { at, source } = receipt
    if (source === 'local') this.#fallback.refund(key, cost, policies, at)
    if (source === 'local' || source === 'allow' || source === 'deny') return
    this.#denials?.delete(key)
    await this.#change(Deed.refund, key, cost, at === undefined ? '' : String(at), policies)
  }

  async reset(key: string): Promise<void> {
    this.#forget(key)
    this.#fallback.settled(key)
    await this.#change(Deed.reset, key, 0, '', this.#policies)
  }

  async block(key: string, blockMs: number): Promise<void> {
    this.#forget(key)
    await this.#change(
      Deed.block,
      key,
      0,
      blockMs === Number.POSITIVE_INFINITY ? 'inf' : String(blockMs),
      this.#policies
    )
  }

  /** Charges in the store what was counted here while a node failed. */
  async settle(node: Node): Promise<void> {
    const due: Debt[] = []
    for (const debt of this.#fallback.debts()) if (this.#places.of(debt.key).node === node) due.push(debt)
    for (let i = 0; i < due.length; i += settledAtOnce)
      await Promise.all(due.slice(i, i + settledAtOnce).map((debt) => this.#settle(debt)))
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

  #forget(key: string): void {
    this.#denials?.delete(key)
    this.#leases?.drop(key)
  }

  #take(key: string, cost: number, policies: readonly Policy[]): Reading | Promise<Reading> {
    const place = this.#places.of(key)
    const instead = (waitMs: number) => this.#fallback.take(key, cost, policies, waitMs)
    if (!place.node.breaker.admits()) return instead(place.node.breaker.waitMs)
    const askedAt = performance.now()
    return this.#executor.execute(place, Deed.take, cost, '', policies).then(
      (reply) => {
        this.#denials?.add(key, cost, policies, askedAt, reply)
        return readingOf(reply, policies)
      },
      () => instead(place.node.breaker.waitMs)
    )
  }

  #takeLease(leases: Leases, key: string, cost: number): Reading | Promise<Reading> {
    if (!leases.isHot(key)) return this.#take(key, cost, this.#policies)
    const place = this.#places.of(key)
    const policies = this.#policies
    const instead = () => this.#fallback.take(key, cost, policies, place.node.breaker.waitMs)
    if (!place.node.breaker.admits()) return instead()
    const askedAt = performance.now()
    const wanted = String(cost + leases.size)
    const reading = this.#executor.execute(place, Deed.lease, cost, wanted, policies).then((reply) => {
      this.#denials?.add(key, cost, policies, askedAt, reply)
      if (reply.charged === 0) return readingOf(reply, policies)
      const here = leases.receive(key, cost, askedAt, reply)
      return readingOf({ ...reply, charged: cost, answers: withMore(reply.answers, here) }, policies)
    }, instead)
    leases.expect(key, reading)
    return reading
  }

  /** Waits for a lease that is on its way, and asks for itself where that is not enough. */
  async #takeAfter(pending: Promise<unknown>, key: string, cost: number): Promise<Reading> {
    await pending
    return (
      this.#leases?.spend(key, cost) ??
      this.#denials?.find(key, cost, this.#policies) ??
      this.#take(key, cost, this.#policies)
    )
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
    try {
      return readingOf(await this.#executor.execute(place, deed, cost, extra, policies), policies)
    } catch {
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

/** Answers with units added that are held here. */
function withMore(answers: readonly number[], units: number): number[] {
  return answers.map((value, i) => (i % answerSize === Answer.remaining ? value + units : value))
}
