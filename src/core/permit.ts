import type { WorkResult } from './adaptive/adaptive-limit.js'
import { type Decision, decisionOf, isEstimated } from './decision.js'
import type { Policy } from './policy.js'
import { Out, type Source, type Verdict } from './verdict.js'

declare global {
  // As newer libraries of TypeScript have them.
  interface SymbolConstructor {
    readonly dispose: unique symbol
    readonly asyncDispose: unique symbol
  }
}

/**
 * The answer to `acquire`: a decision, and what gives its permits back. It works with `using` and `await using`. Of a
 * denial there is nothing to give back.
 */
export interface Permit extends Decision {
  /**
   * Gives the permits back. A second time, and for a denial, it does nothing.
   * @param result how the work ended, for a limit that finds itself; `'success'` if left out
   */
  release(result?: WorkResult): void
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
  /**
   * True once others may hold the permits too: this process was stopped, busy or cut off for longer than `leaseMs`, or the
   * store has lost them. Of a store in the process it is never true.
   */
  readonly isLost: boolean
}

/** Takes permits back. */
export interface Holder {
  /** When a verdict has just been given, ms on a clock of this process; 0 where nobody will want to know. */
  instantOf(verdict: Verdict): number
  /** True for permits that others may hold too; left out where that cannot be. */
  isPermitLost?(permit: number): boolean
  /**
   * @param permit what the store knows them by
   * @param since what `instantOf` said when they were taken
   */
  giveBackPermit(key: string, permit: number, cost: number, since: number, result: WorkResult): void
}

/** Stands for the holder of permits that were lost, once they are released. */
const lost: Holder = { instantOf: () => 0, giveBackPermit: () => {}, isPermitLost: () => true }

/** What a verdict comes to that may have taken permits. Of a single policy nothing else is made than this (bench/in-flight.js). */
export class OwnPermit implements Permit {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
  declare readonly delayMs?: number
  readonly #policy: Policy
  readonly #source: Source
  readonly #tiers: readonly Decision[] | null
  readonly #isBlocked: boolean
  readonly #key: string
  readonly #cost: number
  readonly #since: number
  readonly #permit: number
  /** null once there is nothing to give back. */
  #holder: Holder | null

  constructor(verdict: Verdict, holder: Holder, key: string, cost: number) {
    const { policies, out, permit = 0 } = verdict
    const tiered = policies.length === 1 && policies[0]!.delay === null ? null : decisionOf(verdict, true)
    this.allowed = verdict.isAllowed
    this.limit = tiered === null ? policies[0]!.capacity : tiered.limit
    this.remaining = tiered === null ? out[Out.remaining]! : tiered.remaining
    this.retryAfterMs = tiered === null ? out[Out.retryAfterMs]! : tiered.retryAfterMs
    this.resetMs = tiered === null ? oneNaN(out[Out.resetMs]!) : tiered.resetMs
    if (tiered?.delayMs !== undefined) this.delayMs = tiered.delayMs
    this.#policy = tiered === null ? policies[0]! : tiered.policy
    this.#source = verdict.source
    this.#tiers = tiered === null ? null : tiered.tiers
    this.#isBlocked = verdict.isBlocked
    this.#key = key
    this.#cost = cost
    this.#since = permit === 0 ? 0 : holder.instantOf(verdict)
    this.#permit = permit
    this.#holder = permit === 0 ? null : holder
  }

  get policy(): Policy {
    return this.#policy
  }

  get tiers(): readonly Decision[] {
    return this.#tiers ?? [this]
  }

  get source(): Source {
    return this.#source
  }

  get isEstimate(): boolean {
    return !this.#isBlocked && isEstimated(this)
  }

  get isLost(): boolean {
    return this.#holder?.isPermitLost?.(this.#permit) === true
  }

  release(result: WorkResult = 'success'): void {
    const holder = this.#holder
    this.#holder = this.isLost ? lost : null
    holder?.giveBackPermit(this.#key, this.#permit, this.#cost, this.#since, result)
  }

  [Symbol.dispose](): void {
    this.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.release()
  }
}

/** All that are read from numbers of a store would be objects of their own: most permits have one. */
function oneNaN(value: number): number {
  return Number.isNaN(value) ? Number.NaN : value
}
