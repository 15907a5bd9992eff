import { AdaptiveLimit, type WorkResult } from './adaptive/adaptive-limit.js'
import type { PermitCounts } from './permit-counts.js'
import { type Policy, unlimited } from './policy.js'
import type { BlockPage, BlocksFound, Buckets } from './store.js'
import { PolicyVariants } from './variants.js'
import { type Action, charge, Out, OwnVerdict, outSize, peek, type Verdict } from './verdict.js'

/** What buckets are made of whose policies count, among others, what is in flight. */
export interface PermitParts {
  readonly policies: readonly Policy[]
  readonly counts: PermitCounts
  /** Opens buckets for the policies that have a window. */
  readonly open: (policies: readonly Policy[]) => Buckets
  /** True where others may block keys, or release permits, unseen. */
  readonly isShared: boolean
  /** True where there are blocks already, though no policy may have a window. */
  readonly hasBlocks?: boolean
}

/** The policies of one decision, taken apart. */
interface Split {
  readonly windows: readonly Policy[]
  readonly permit: Policy
}

/** True for a policy that counts what is in flight. */
export function countsInFlight({ unit }: Policy): boolean {
  return unit === 'concurrent-requests'
}

/** The key of what is counted for all keys together: a limit that finds itself is of the whole process. */
export const everyone = ''

/** Stands for windows where there are none: a key may be blocked all the same. */
const noWindows: readonly Policy[] = [unlimited]

/** The policies that have a window; where none has, the one that stands for them. */
export function windowsOf(policies: readonly Policy[]): readonly Policy[] {
  const windows = policies.filter((policy) => !countsInFlight(policy))
  return windows.length > 0 ? windows : noWindows
}

/**
 * Buckets of policies one of which counts what is in flight. The permits are taken first, and given back where a window
 * denies: so all or nothing is taken, and there are never more out than the limit.
 */
export class PermitBuckets implements Buckets {
  /** null where the limit is fixed, or computed. */
  readonly #adaptive: AdaptiveLimit | null
  readonly releasesUnseen: boolean
  readonly #parts: PermitParts
  readonly #opened: readonly Policy[]
  /** Which of the policies counts what is in flight. */
  readonly #tier: number
  readonly #split: Split
  readonly #splits = new WeakMap<readonly Policy[], Split>()
  readonly #hasWindows: boolean
  /** null where no policy has a window, and nothing was blocked yet. */
  #windows: Buckets | null = null
  readonly #verdict: OwnVerdict
  /** What the verdict says of the permits. */
  readonly #own: Float64Array
  /** The permits of the key at hand that are out, as the strategy reads them. */
  readonly #count = new Float64Array(1)
  /** How long the key at hand is blocked, if it is. */
  #blockedMs = 0
  readonly #variants: PolicyVariants
  /** The policies under the limit that was found last. */
  #current: readonly Policy[]
  readonly #released = new Set<(key: string) => void>()

  constructor(parts: PermitParts) {
    const { policies, isShared, hasBlocks = false } = parts
    this.#parts = parts
    this.#opened = policies
    this.releasesUnseen = isShared
    this.#tier = policies.findIndex(countsInFlight)
    this.#hasWindows = policies.length > 1
    this.#split = this.#splitOf(policies)
    const { adaptive } = this.#split.permit
    this.#adaptive = adaptive === null ? null : new AdaptiveLimit(adaptive)
    this.#variants = new PolicyVariants(policies)
    this.#current = policies
    this.#verdict = new OwnVerdict(policies)
    this.#own = this.#verdict.out.subarray(this.#tier * outSize, (this.#tier + 1) * outSize)
    if (this.#hasWindows || isShared || hasBlocks) this.#open()
  }

  decide(action: Action, key: string, cost: number, now: number, asked: readonly Policy[]): Verdict {
    const policies = this.#adaptive === null ? asked : this.#withLimit(this.#adaptive.current)
    const permitKey = this.#adaptive === null ? key : everyone
    const { permit, windows } = policies === this.#opened ? this.#split : this.#knownSplit(policies)
    const { counts } = this.#parts
    const verdict = this.#verdict
    const count = this.#count
    verdict.at = now
    verdict.policies = policies
    verdict.isBlocked = false
    let taken = action.kind === 'take' ? counts.take(permitKey, cost, permit.capacity) : 0
    verdict.charged = taken > 0 ? cost : 0
    let areOpen = true
    if (this.#windows !== null) {
      areOpen = this.#askWindows(this.#windows, this.#actionOn(action, taken > 0), key, cost, now, windows)
      if (taken > 0 && !areOpen) {
        counts.release(permitKey, taken, cost)
        taken = 0
      }
    }
    count[0] = action.kind === 'take' ? counts.before : counts.count(permitKey)
    const isFree = permit.strategy.check(count, 0, permit, now, cost, this.#own)
    if (taken > 0) permit.strategy.charge(count, 0, permit, now, cost, this.#own)
    else if (cost > permit.capacity) this.#own[Out.retryAfterMs] = Number.POSITIVE_INFINITY
    else if (action.kind === 'take' && isFree && areOpen) this.#showRefusal(cost)
    if (verdict.isBlocked) this.#showBlock()
    verdict.permit = taken > 0 && this.#adaptive !== null ? this.#adaptive.begin(taken, count[0]) : taken
    verdict.isAllowed =
      taken > 0 || (action.kind !== 'take' && areOpen && (isFree || action.kind === 'charge'))
    return verdict
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    if (this.#hasWindows) this.#windows!.refund(key, cost, now, this.#knownSplit(policies).windows, chargedAt)
  }

  release(key: string, permit: number, cost: number, result: WorkResult): void {
    const adaptive = this.#adaptive
    const permitKey = adaptive === null ? key : everyone
    this.#parts.counts.release(permitKey, adaptive === null ? permit : adaptive.end(permit, result), cost)
    for (const listener of this.#released) listener(permitKey)
  }

  onRelease(listener: (key: string) => void): void {
    this.#released.add(listener)
  }

  /** What is in flight stays in flight. */
  reset(key: string): void {
    this.#windows?.reset(key)
  }

  clear(): void {
    this.#windows?.clear()
  }

  block(key: string, blockMs: number, now: number, isLeast?: boolean): boolean {
    return (this.#windows ?? this.#open()).block(key, blockMs, now, isLeast)
  }

  blocks(page: BlockPage, now: number): BlocksFound {
    return this.#windows?.blocks?.(page, now) ?? { blocks: [], next: null }
  }

  size(now: number): number {
    return this.#hasWindows ? this.#windows!.size(now) : this.#parts.counts.size()
  }

  /** Has the windows decide, and takes over what they say; true if they admit. */
  #askWindows(
    buckets: Buckets,
    action: Action,
    key: string,
    cost: number,
    now: number,
    windows: readonly Policy[]
  ): boolean {
    const { isAllowed, isBlocked, charged, out: theirs } = buckets.decide(action, key, cost, now, windows)
    const verdict = this.#verdict
    verdict.isBlocked = isBlocked
    if (isBlocked) this.#blockedMs = theirs[Out.retryAfterMs]!
    if (!this.#hasWindows) return isAllowed
    verdict.charged = charged
    const at = this.#tier * outSize
    for (let i = 0; i < theirs.length; i++) verdict.out[i < at ? i : i + outSize] = theirs[i]!
    return isAllowed
  }

  /** What is asked of the windows: they are charged only where there were permits. */
  #actionOn(action: Action, isTaken: boolean): Action {
    if (!this.#hasWindows) return peek
    if (isTaken || action.kind !== 'take') return action
    return action.countDenied ? charge : peek
  }

  /** There were too few when they were asked for, though others have released some since, or the store has no room. */
  #showRefusal(cost: number): void {
    const own = this.#own
    own[Out.remaining] = cost - 1
    own[Out.retryAfterMs] = Number.NaN
    own[Out.resetMs] = Number.NaN
  }

  #showBlock(): void {
    const own = this.#own
    own[Out.remaining] = 0
    own[Out.retryAfterMs] = this.#blockedMs
    own[Out.resetMs] = this.#blockedMs
  }

  #open(): Buckets {
    this.#windows = this.#parts.open(this.#split.windows)
    return this.#windows
  }

  /** The policies under the limit that has been found. */
  #withLimit(limit: number): readonly Policy[] {
    if (limit !== this.#current[this.#tier]!.limit)
      this.#current = this.#variants.withLimits(
        this.#opened.map((_, i) => (i === this.#tier ? limit : undefined))
      )
    return this.#current
  }

  #knownSplit(policies: readonly Policy[]): Split {
    let split = this.#splits.get(policies)
    if (split === undefined) {
      split = this.#splitOf(policies)
      this.#splits.set(policies, split)
    }
    return split
  }

  #splitOf(policies: readonly Policy[]): Split {
    return { permit: policies[this.#tier]!, windows: windowsOf(policies) }
  }
}
