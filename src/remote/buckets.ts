import type { AsyncBuckets, Receipt } from '../core/async-store.js'
import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { Action, Verdict } from '../core/verdict.js'
import type { DenyCache } from './deny-cache.js'
import type { Executor, Location } from './executor.js'
import { type Lease, type Leases, outWithHeld } from './leases.js'
import type { LocalCounting, Used } from './local-counting.js'
import type { Changed, Decided } from './operation.js'

/** The parts that the buckets of one limiter are made of. */
export interface RemoteBucketsParts {
  readonly policies: readonly Policy[]
  /** What error messages call the backend. */
  readonly name: string
  readonly locate: (key: string) => Location
  readonly executor: Executor
  readonly localCounting: LocalCounting
  readonly denyCache: DenyCache | null
  readonly leases: Leases | null
  /** Has the store forget all keys of these buckets. */
  readonly clear: () => Promise<void>
}

/** Keys that are repaid at once when the store is back. */
const repaidAtOnce = 64

/**
 * The buckets of one limiter in a remote store. What this process knows decides first: leases and denials; then the
 * store, and while it fails local counting.
 */
export class RemoteBuckets implements AsyncBuckets {
  readonly #parts: RemoteBucketsParts
  #leases: Leases | null

  constructor(parts: RemoteBucketsParts) {
    this.#parts = parts
    this.#leases = parts.leases
  }

  decide(action: Action, key: string, cost: number, policies: readonly Policy[]): Verdict | Promise<Verdict> {
    switch (action.kind) {
      case 'peek':
        return this.#peek(action, key, cost, policies)
      case 'charge':
        return this.#ask(action, key, { kind: 'charge', cost }, policies)
      default:
        return this.#takeKnown(action, key, cost, policies)
    }
  }

  async refund(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void> {
    const { at, source } = receipt
    if (source === 'local') this.#parts.localCounting.refund(key, cost, policies, at)
    if (isOfStore(source)) await this.#changeDenied(key, { kind: 'refund', cost, chargedAt: at }, policies)
  }

  async reset(key: string): Promise<void> {
    this.#leases?.drop(key)
    this.#parts.localCounting.forget(key)
    await this.#changeDenied(key, { kind: 'reset' })
  }

  async clear(): Promise<void> {
    this.forget()
    try {
      await this.#parts.clear()
    } finally {
      this.forget()
    }
  }

  /** Forgets what this process holds of all keys. */
  forget(): void {
    const { localCounting, denyCache } = this.#parts
    this.#leases?.clear()
    localCounting.clear()
    denyCache?.clear()
  }

  async block(key: string, blockMs: number): Promise<void> {
    this.#leases?.end(key)
    await this.#changeDenied(key, { kind: 'block', blockMs })
  }

  /** Charges in the store what was counted here while it failed, as far as it works again. */
  async repay(): Promise<void> {
    const { localCounting, locate } = this.#parts
    let due: Promise<void>[] = []
    for (const used of localCounting.used()) {
      const { node, failure } = locate(used.key)
      if (failure !== null || node.breaker.isOpen) continue
      due.push(this.#repay(used))
      if (due.length < repaidAtOnce) continue
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

  async #repay({ key, units }: Used): Promise<void> {
    if (units.some((used) => used > 0)) await this.#change(key, { kind: 'repay', units })
    this.#parts.localCounting.forget(key)
  }

  async #peek(action: Action, key: string, cost: number, policies: readonly Policy[]): Promise<Verdict> {
    const held = this.#leases?.held(key) ?? 0
    const verdict = await this.#ask(action, key, { kind: 'peek', cost }, policies)
    const isUsable = held > 0 && policies === this.#parts.policies && verdict.source === 'store'
    return isUsable && !verdict.isBlocked ? withHeld(verdict, held) : verdict
  }

  #takeKnown(
    action: Action,
    key: string,
    cost: number,
    policies: readonly Policy[]
  ): Verdict | Promise<Verdict> {
    const leases = policies === this.#parts.policies ? this.#leases : null
    const known = leases?.spend(key, cost) ?? this.#parts.denyCache?.find(key, cost, policies)
    if (known !== undefined) return known
    if (leases === null) return this.#take(action, key, cost, policies)
    const pending = leases.pending(key)
    if (pending !== null) return this.#takeAfter(pending, action, key, cost)
    const lease = leases.hot(key)
    return lease === undefined
      ? this.#take(action, key, cost, policies)
      : this.#takeLease(leases, lease, action, cost)
  }

  #take(action: Action, key: string, cost: number, policies: readonly Policy[]): Verdict | Promise<Verdict> {
    const askedAt = performance.now()
    return this.#ask(action, key, { kind: 'take', cost }, policies, (verdict) => {
      this.#hear(key, cost, askedAt, verdict)
      return verdict
    })
  }

  #takeLease(leases: Leases, lease: Lease, action: Action, cost: number): Verdict | Promise<Verdict> {
    const { policies } = this.#parts
    const { key } = lease
    const askedAt = performance.now()
    const operation = { kind: 'lease', cost, wanted: cost + leases.size } as const
    const asked = this.#ask(action, key, operation, policies, (verdict) => {
      this.#hear(key, cost, askedAt, verdict)
      if (verdict.charged === 0) return verdict
      const held = leases.receive(lease, cost, askedAt, verdict)
      return { ...withHeld(verdict, held), charged: cost }
    })
    if (asked instanceof Promise) leases.expect(lease, asked)
    return asked
  }

  /** Waits for a lease that is on its way, and asks for itself if that is not enough. */
  async #takeAfter(pending: Promise<unknown>, action: Action, key: string, cost: number): Promise<Verdict> {
    const { policies, localCounting, denyCache, locate } = this.#parts
    const waitedFor = (await pending) as Verdict | undefined
    // What has waited for a store that fails does not wait for it again.
    if (waitedFor?.source !== undefined && !isOfStore(waitedFor.source))
      return localCounting.decide(action, key, cost, policies, locate(key).node.breaker.waitMs)
    return (
      this.#leases?.spend(key, cost) ??
      denyCache?.find(key, cost, policies) ??
      this.#take(action, key, cost, policies)
    )
  }

  /** Has the store decide, or local counting while it fails. */
  #ask(
    action: Action,
    key: string,
    operation: Decided,
    policies: readonly Policy[],
    hear: (verdict: Verdict) => Verdict = (verdict) => verdict
  ): Verdict | Promise<Verdict> {
    const { locate, executor, localCounting, denyCache } = this.#parts
    const location = locate(key)
    const { breaker } = location.node
    const decideHere = () => localCounting.decide(action, key, operation.cost, policies, breaker.waitMs)
    if (location.failure !== null || !breaker.admits()) return decideHere()
    if (operation.kind === 'charge') denyCache?.delete(key)
    if (operation.kind !== 'peek') this.#withdraw(key, location)
    return executor.execute(key, location, operation, policies).then(
      (verdict) => hear(verdict!),
      (error) => {
        // An error of the user's strategy is no failure of the store.
        if ((error as HeadgateError).code !== 'HEADGATE_STORE_FAILED') throw error
        return decideHere()
      }
    )
  }

  /** Gives back what is held, in the call that follows, so that the store decides by everything there is. */
  #withdraw(key: string, location: Location): void {
    const units = this.#leases?.withdraw(key)
    if (units === undefined) return
    const { count: cost, chargedAt } = units
    this.#parts.executor
      .execute(key, location, { kind: 'refund', cost, chargedAt }, this.#parts.policies)
      .then(undefined, () => {})
  }

  #hear(key: string, cost: number, askedAt: number, verdict: Verdict): void {
    this.#parts.denyCache?.add(key, cost, askedAt, verdict)
    if (verdict.isBlocked) this.#leases?.end(key)
  }

  /** Forgets a denial at once, and again if the key was asked about before and answered meanwhile. */
  async #changeDenied(key: string, operation: Changed, policies = this.#parts.policies): Promise<void> {
    const { denyCache } = this.#parts
    denyCache?.delete(key)
    try {
      await this.#change(key, operation, policies)
    } finally {
      denyCache?.delete(key)
    }
  }

  async #change(key: string, operation: Changed, policies = this.#parts.policies): Promise<void> {
    const { executor, name, locate } = this.#parts
    const location = locate(key)
    if (location.failure !== null) throw location.failure
    const { breaker } = location.node
    if (!breaker.admits())
      throw new HeadgateError(
        'HEADGATE_STORE_FAILED',
        `${name} is failing; it is asked again in ${breaker.waitMs} ms.`
      )
    await executor.execute(key, location, operation, policies)
  }
}

function isOfStore(source: Verdict['source']): boolean {
  return source === 'store' || source === 'lease' || source === 'cache'
}

/** A verdict of the store with units added that are held here. */
function withHeld(verdict: Verdict, units: number): Verdict {
  return { ...verdict, isAllowed: true, out: outWithHeld(verdict.out, units, 0) }
}
