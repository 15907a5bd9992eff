import { countsInFlight } from '../../core/permit-buckets.js'
import { type Policy, unlimited } from '../../core/policy.js'
import { type Action, charge, Out, outSize, peek, type Verdict } from '../../core/verdict.js'
import type { Executor } from '../executor.js'

/** Stands for windows where there are none: a key may be blocked all the same. */
const noWindows: readonly Policy[] = [unlimited]

/** How the permits of a key stand after a decision. */
export interface PermitCount {
  /** How many are out. */
  readonly count: number
  /** True if the decision took some of them. */
  readonly isTaken: boolean
  /** For how long the key is blocked, ms; 0 if it is not. */
  readonly blockedMs: number
}

/**
 * Which of the policies of a limiter counts what is in flight, and which are windows: stores outside the process count the
 * two apart, and decide on both in one step, as `PermitBuckets` of core does.
 */
export class PermitTier {
  readonly #own: readonly Policy[]
  readonly #tier: number
  readonly #windows: readonly Policy[]
  readonly #known = new WeakMap<readonly Policy[], readonly Policy[]>()
  readonly hasWindows: boolean

  private constructor(policies: readonly Policy[], tier: number) {
    this.#own = policies
    this.#tier = tier
    this.hasWindows = policies.length > 1
    this.#windows = this.#split(policies)
  }

  /** Null where no policy counts what is in flight. */
  static of(policies: readonly Policy[]): PermitTier | null {
    const tier = policies.findIndex(countsInFlight)
    return tier < 0 ? null : new PermitTier(policies, tier)
  }

  /** The one that counts what is in flight. */
  permitOf(policies: readonly Policy[]): Policy {
    return policies[this.#tier]!
  }

  /** Those that have a window; one without a limit where there are none. */
  windowsOf(policies: readonly Policy[]): readonly Policy[] {
    if (policies === this.#own) return this.#windows
    if (!policies.some(countsInFlight)) return policies
    let windows = this.#known.get(policies)
    if (windows === undefined) {
      windows = this.#split(policies)
      this.#known.set(policies, windows)
    }
    return windows
  }

  /** All policies of the limiter, with these windows. */
  allOf(windows: readonly Policy[]): readonly Policy[] {
    if (windows.some(countsInFlight)) return windows
    if (windows.every((window, i) => window === this.#windows[i])) return this.#own
    return this.joined(windows, this.#own[this.#tier]!)
  }

  /** What carries out operations that know the windows alone. */
  executor(executor: Executor): Executor {
    return {
      due: () => executor.due(),
      execute: (key, location, operation, windows, due) =>
        executor.execute(key, location, operation, this.allOf(windows), due)
    }
  }

  /** Windows, and what counts in flight beside them. */
  joined(windows: readonly Policy[], permit: Policy): readonly Policy[] {
    return this.hasWindows ? windows.toSpliced(this.#tier, 0, permit) : [permit]
  }

  /** What is asked of the windows: they are charged only where there are permits. */
  actionOn(action: Action, isTaken: boolean): Action {
    if (!this.hasWindows) return peek
    if (isTaken || action.kind !== 'take') return action
    return action.countDenied ? charge : peek
  }

  /** The verdict on all policies, from that on the windows. */
  verdict(
    windows: Verdict,
    action: Pick<Action, 'kind'>,
    cost: number,
    policies: readonly Policy[],
    state: PermitCount
  ): Verdict {
    const { isAllowed, isBlocked, charged, at, source } = windows
    const { isTaken } = state
    const own = [0, 0, 0, 0]
    const isFree = answer(own, this.permitOf(policies), cost, state)
    const out = this.hasWindows ? Array.from(windows.out) : []
    out.splice(this.#tier * outSize, 0, ...own)
    return {
      isAllowed: isTaken || (action.kind !== 'take' && isAllowed && (isFree || action.kind === 'charge')),
      isBlocked,
      charged: this.hasWindows ? charged : isTaken ? cost : 0,
      permit: isTaken ? 1 : 0,
      ...{ at, source, policies, out }
    }
  }

  #split(policies: readonly Policy[]): readonly Policy[] {
    return this.hasWindows ? policies.filter((policy) => !countsInFlight(policy)) : noWindows
  }
}

/** Writes what the permits of a key say; true if there are enough. */
function answer(
  own: number[],
  permit: Policy,
  cost: number,
  { count, isTaken, blockedMs }: PermitCount
): boolean {
  const [state, out] = [new Float64Array([count - (isTaken ? cost : 0)]), new Float64Array(outSize)]
  const isFree = permit.strategy.check(state, 0, permit, 0, cost, out)
  if (isTaken) permit.strategy.charge(state, 0, permit, 0, cost, out)
  else if (cost > permit.capacity) out[Out.retryAfterMs] = Number.POSITIVE_INFINITY
  for (let i = 0; i < outSize; i++) own[i] = out[i]!
  if (blockedMs === 0) return isFree
  own[Out.remaining] = 0
  own[Out.retryAfterMs] = blockedMs
  own[Out.resetMs] = blockedMs
  return isFree
}
