import type { AsyncBuckets, JointTake, Receipt } from '../core/async-store.js'
import type { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import type { BlockPage, BlocksFound } from '../core/store.js'
import type { Action, Verdict } from '../core/verdict.js'
import { keptKey } from '../memory/kept-key.js'
import { Changes, type ChangesParts, isOfStore } from './changes.js'
import type { Location } from './executor.js'
import { type Lease, type Leases, outWithHeld, type Units } from './leases.js'
import type { Decided } from './operation.js'
import type { Recovery } from './outage/recovery.js'
import type { LimiterPermits } from './permits/limiter-permits.js'
import { monotonicMs } from './time/own-time.js'
import { takeTogether } from './together.js'

/** The parts that the buckets of one limiter are made of. */
export interface RemoteBucketsParts extends ChangesParts {
  readonly recovery: Recovery
  readonly leases: Leases | null
  /** Null where nothing is counted in flight. */
  readonly permits: LimiterPermits | null
  /** Has the store forget all keys of these buckets. */
  readonly clear: () => Promise<void>
  /** Has the store list the keys of these buckets that are blocked. */
  readonly list: (page: BlockPage) => Promise<BlocksFound>
}

/**
 * The buckets of one limiter in a remote store. What this process knows decides first: leases and denials; then the
 * store, and while it fails local counting.
 */
export class RemoteBuckets implements AsyncBuckets {
  readonly #parts: RemoteBucketsParts
  readonly #changes: Changes
  #leases: Leases | null
  /** Left out where nothing is counted in flight, as that says so. */
  declare readonly release?: (key: string, permit: number, cost: number) => void

  constructor(parts: RemoteBucketsParts) {
    this.#parts = parts
    this.#changes = new Changes(parts)
    this.#leases = parts.leases
    const { permits } = parts
    if (permits !== null) this.release = (text, permit) => permits.release(keptKey(text), permit)
  }

  /** Makes up for an outage in the store, once it works again. */
  get recovery(): Recovery {
    return this.#parts.recovery
  }

  /** See `LocalCounting`. */
  takeLost(): number {
    return this.#parts.localCounting.takeLost()
  }

  decide(
    action: Action,
    text: string,
    cost: number,
    policies: readonly Policy[]
  ): Verdict | Promise<Verdict> {
    const key = keptKey(text)
    switch (action.kind) {
      case 'peek':
        return this.#peek(action, key, cost, policies)
      case 'charge':
        return this.#ask(action, key, { kind: 'charge', cost }, policies)
      default:
        return this.#takeKnown(action, key, cost, policies)
    }
  }

  takeTogether(takes: readonly JointTake[]): Promise<readonly Verdict[]> | null {
    return takeTogether(
      takes.map(({ buckets, key, ...take }) => ({
        ...take,
        parts: (buckets as RemoteBuckets).#parts,
        key: keptKey(key)
      }))
    )
  }

  isPermitLost(permit: number): boolean {
    return this.#parts.permits?.isLost(permit) === true
  }

  refund(text: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void> {
    return this.#changes.refund(keptKey(text), cost, policies, receipt)
  }

  /** Gives back what was leased, by a key as it is kept. */
  giveBack(key: string, units: Units): Promise<void> {
    return this.#changes.giveBack(key, units)
  }

  reset(text: string): Promise<void> {
    const key = keptKey(text)
    this.#leases?.drop(key)
    return this.#changes.reset(key)
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
    const { localCounting, blocks, lateRefunds, denyCache } = this.#parts
    this.#leases?.clear()
    localCounting.clear()
    blocks.clear()
    lateRefunds.clear()
    denyCache?.clear()
  }

  block(text: string, blockMs: number, isLeast = false): Promise<void> {
    const key = keptKey(text)
    this.#leases?.end(key)
    return this.#changes.block(key, blockMs, isLeast)
  }

  blocks(page: BlockPage): Promise<BlocksFound> {
    return this.#parts.list(page)
  }

  /** Returns what is leased; from then on nothing is. */
  async close(): Promise<void> {
    const leases = this.#leases
    this.#leases = null
    await leases?.close()
  }

  async #peek(action: Action, key: string, cost: number, policies: readonly Policy[]): Promise<Verdict> {
    const held = this.#leases?.held(key, policies) ?? 0
    const verdict = await this.#ask(action, key, { kind: 'peek', cost }, policies)
    if (verdict.source === 'store') this.#parts.blocks.hear(key, verdict, false)
    const isUsable = held > 0 && verdict.source === 'store'
    return isUsable && !verdict.isBlocked ? withHeld(verdict, held) : verdict
  }

  #takeKnown(
    action: Action,
    key: string,
    cost: number,
    policies: readonly Policy[]
  ): Verdict | Promise<Verdict> {
    const leases = this.#leases
    const { permits, denyCache } = this.#parts
    const known = leases?.spend(key, cost, policies) ?? denyCache?.find(key, cost, policies)
    if (known !== undefined) return known
    if (permits !== null) return this.#acquire(permits, action, key, cost, policies)
    if (leases === null) return this.#take(action, key, cost, policies)
    const pending = leases.pending(key)
    if (pending !== null) return this.#takeAfter(pending, action, key, cost, policies)
    const lease = leases.hot(key)
    return lease === undefined
      ? this.#take(action, key, cost, policies)
      : this.#takeLease(leases, lease, action, cost, policies)
  }

  /** @param due when it is given up, if it has waited already */
  #take(
    action: Action,
    key: string,
    cost: number,
    policies: readonly Policy[],
    due?: number
  ): Verdict | Promise<Verdict> {
    const askedAt = performance.now()
    const hear = (verdict: Verdict) => {
      this.#hear(key, cost, askedAt, verdict)
      return verdict
    }
    return this.#ask(action, key, { kind: 'take', cost }, policies, hear, due)
  }

  /** Takes permits, and charges the windows beside them. */
  #acquire(
    permits: LimiterPermits,
    action: Action,
    key: string,
    cost: number,
    policies: readonly Policy[]
  ): Verdict | Promise<Verdict> {
    const [askedAt, leasedAt] = [performance.now(), monotonicMs()]
    const operation = permits.ask(cost, policies)
    return this.#ask(action, key, operation, policies, (verdict) => {
      this.#hear(key, cost, askedAt, verdict)
      return permits.hear(operation, key, leasedAt, verdict)
    })
  }

  #takeLease(
    leases: Leases,
    lease: Lease,
    action: Action,
    cost: number,
    policies: readonly Policy[]
  ): Verdict | Promise<Verdict> {
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
  async #takeAfter(
    pending: Promise<unknown>,
    action: Action,
    key: string,
    cost: number,
    policies: readonly Policy[]
  ): Promise<Verdict> {
    const { localCounting, denyCache, locate, executor } = this.#parts
    const due = executor.due()
    const waitedFor = (await pending) as Verdict | undefined
    // What has waited for a store that fails does not wait for it again.
    if (waitedFor?.source !== undefined && !isOfStore(waitedFor.source))
      return localCounting.decide(action, key, cost, policies, locate(key).node.breaker.waitMs)
    return (
      this.#leases?.spend(key, cost, policies) ??
      denyCache?.find(key, cost, policies) ??
      this.#take(action, key, cost, policies, due)
    )
  }

  /** Has the store decide, or local counting while it fails. */
  #ask(
    action: Action,
    key: string,
    operation: Decided,
    policies: readonly Policy[],
    hear: (verdict: Verdict) => Verdict = (verdict) => verdict,
    due?: number
  ): Verdict | Promise<Verdict> {
    const { locate, executor, localCounting, denyCache } = this.#parts
    const location = locate(key)
    const { breaker } = location.node
    const decideHere = () => localCounting.decide(action, key, operation.cost, policies, breaker.waitMs)
    if (location.failure !== null || !breaker.admits()) return decideHere()
    if (operation.kind === 'charge') denyCache?.delete(key)
    if (operation.kind !== 'peek') this.#withdraw(key, location)
    return executor.execute(key, location, operation, policies, due).then(
      (verdict) => hear(verdict!),
      (error) => {
        // An error of the user's strategy is no failure of the store.
        if ((error as HeadgateError).code !== 'HEADGATE_STORE_FAILED') throw error
        if (operation.kind === 'acquire') this.#parts.permits!.loseAnswer(operation, key)
        return decideHere()
      }
    )
  }

  /** Gives back what is held, in the call that follows, so that the store decides by everything there is. */
  #withdraw(key: string, location: Location): void {
    const units = this.#leases?.withdraw(key)
    if (units === undefined) return
    const { count: cost, chargedAt, policies } = units
    this.#parts.executor
      .execute(key, location, { kind: 'return', cost, chargedAt }, policies)
      .then(undefined, () => {})
  }

  #hear(key: string, cost: number, askedAt: number, verdict: Verdict): void {
    this.#parts.denyCache?.add(key, cost, askedAt, verdict)
    this.#parts.blocks.hear(key, verdict, false)
    if (verdict.isBlocked) this.#leases?.end(key)
  }
}

/** A verdict of the store with units added that are held here. */
function withHeld(verdict: Verdict, units: number): Verdict {
  return { ...verdict, isAllowed: true, out: outWithHeld(verdict.out, units, 0) }
}
