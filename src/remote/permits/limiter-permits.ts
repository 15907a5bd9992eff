import type { Policy } from '../../core/policy.js'
import type { Verdict } from '../../core/verdict.js'
import type { Executor, Location } from '../executor.js'
import type { Decided } from '../operation.js'
import type { HeldPermits } from './held-permits.js'
import type { Holding, PermitOwner } from './holdings.js'
import { checkComputedConcurrency } from './key-permits.js'
import { OwnCounts } from './own-counts.js'
import { idOf, nextNumber, numberOf } from './permit-ids.js'
import type { PermitTier } from './permit-tier.js'

/** What is asked of the store for permits. */
export type Acquire = Extract<Decided, { kind: 'acquire' }>

/** What the permits of one limiter are made of. */
export interface LimiterPermitsParts {
  /** The limiter's, in the store. */
  readonly name: string
  readonly tier: PermitTier
  readonly held: HeldPermits
  readonly policies: readonly Policy[]
  readonly locate: (key: string) => Location
  readonly executor: Executor
  readonly isByKey: boolean
  readonly renew: PermitOwner['renew']
}

/** The permits of one limiter that this process has out, whoever has counted them. */
export class LimiterPermits implements PermitOwner {
  readonly tier: PermitTier
  /** How many of each key are out: an outage leaves as many fewer to take here. */
  readonly counts = new OwnCounts()
  readonly #parts: LimiterPermitsParts

  constructor(parts: LimiterPermitsParts) {
    this.#parts = parts
    this.tier = parts.tier
  }

  get name(): string {
    return this.#parts.name
  }

  get isByKey(): boolean {
    return this.#parts.isByKey
  }

  locate(key: string): Location {
    return this.#parts.locate(key)
  }

  renew(location: Location, holdings: readonly Holding[]): Promise<readonly boolean[]> {
    return this.#parts.renew(location, holdings)
  }

  /**
   * Asks for permits, under a number that nobody else has.
   * @throws HeadgateError `HEADGATE_BAD_LIMIT` for computed limits that the store cannot count
   */
  ask(cost: number, policies: readonly Policy[]): Acquire {
    const { held, isByKey } = this.#parts
    if (isByKey) checkComputedConcurrency(this.tier.permitOf(policies))
    return { kind: 'acquire', cost, permit: idOf(nextNumber()), leaseMs: held.leaseMs }
  }

  /**
   * Takes what the store has answered.
   * @param askedAt when it was asked, on the monotonic clock
   */
  hear({ permit, cost }: Acquire, key: string, askedAt: number, verdict: Verdict): Verdict {
    if (!verdict.isAllowed) return verdict
    const { held } = this.#parts
    const number = numberOf(permit)
    held.add(number, this, key, cost, askedAt)
    this.counts.add(key, cost)
    return { ...verdict, permit: number }
  }

  /** Gives back what the store may have taken, as nobody knows its answer. */
  loseAnswer({ permit, cost }: Acquire, key: string): void {
    const { held } = this.#parts
    held.addReleased(numberOf(permit), this, key, cost)
  }

  /** Takes permits here, while the store fails; they are counted already. */
  takeHere(key: string, cost: number): number {
    const { held } = this.#parts
    const number = nextNumber()
    held.add(number, this, key, cost, null)
    return number
  }

  /** Gives back permits, here at once, and in the store without waiting for it. */
  release(key: string, number: number): void {
    const { held, locate, executor, policies } = this.#parts
    const removed = held.remove(number)
    if (removed === undefined) return
    const { cost, mayBeKnown } = removed
    this.counts.release(key, cost)
    if (!mayBeKnown) return
    const location = locate(key)
    const tellLater = () => held.addReleased(number, this, key, cost)
    const isAsked = location.failure === null && location.node.breaker.admits()
    try {
      if (!isAsked) tellLater()
      else
        executor
          .execute(key, location, { kind: 'release', cost, permit: idOf(number) }, policies)
          .then(undefined, tellLater)
    } catch {
      tellLater()
    }
  }

  isLost(number: number): boolean {
    return this.#parts.held.isLost(number)
  }
}
