import type { Policy } from '../core/policy.js'
import { areSamePolicies } from '../core/variants.js'
import { Out, outSize, type Verdict } from '../core/verdict.js'

/** Denials that are kept; the oldest make room. */
const mostDenials = 10_000

interface Denial {
  readonly verdict: Verdict
  readonly cost: number
  /** When the request is admitted at the earliest, on the monotonic clock. */
  readonly until: number
  /** When the answer came. */
  readonly heardAt: number
}

/** Remembers which keys are denied, and until when, so that the store need not be asked again before. */
export class DenyCache {
  readonly #longestMs: number
  readonly #denials = new Map<string, Denial>()

  constructor(longestMs: number) {
    this.#longestMs = longestMs
  }

  /**
   * Takes a verdict that was asked for at `askedAt`, and keeps it if it is a denial: the store decided no earlier than
   * that, so its wait ends no earlier than so long after it, minus the fraction of a millisecond that its clock omits.
   */
  add(key: string, cost: number, askedAt: number, verdict: Verdict): void {
    // What is known of another cost was true before this one was charged.
    this.#denials.delete(key)
    if (verdict.isAllowed) return
    let waitMs = 0
    for (let i = Out.retryAfterMs; i < verdict.out.length; i += outSize)
      waitMs = Math.max(waitMs, verdict.out[i]!)
    // Nobody knows when permits come back.
    if (Number.isNaN(waitMs)) return
    const until = askedAt + Math.min(waitMs - 1, this.#longestMs)
    this.#denials.set(key, { verdict, cost, until, heardAt: performance.now() })
    if (this.#denials.size > mostDenials) this.#denials.delete(this.#denials.keys().next().value!)
  }

  /** The verdict on a request that is known to be denied. */
  find(key: string, cost: number, policies: readonly Policy[]): Verdict | undefined {
    const denial = this.#denials.get(key)
    if (denial === undefined) return undefined
    const now = performance.now()
    if (now >= denial.until) {
      this.#denials.delete(key)
      return undefined
    }
    const { verdict, cost: denied, heardAt } = denial
    if (denied !== cost || !areSamePolicies(verdict.policies, policies)) return undefined
    return { ...verdict, source: 'cache', charged: 0, out: later(verdict.out, Math.floor(now - heardAt)) }
  }

  clear(): void {
    this.#denials.clear()
  }

  delete(key: string): void {
    this.#denials.delete(key)
  }
}

/** What a denial says after some ms in which nothing was charged; what was denied still is. */
function later(out: ArrayLike<number>, passedMs: number): number[] {
  const moved = Array.from(out)
  for (let i = 0; i < moved.length; i += outSize) {
    const waitMs = moved[i + Out.retryAfterMs]!
    if (waitMs > 0) moved[i + Out.retryAfterMs] = Math.max(1, waitMs - passedMs)
    moved[i + Out.resetMs] = Math.max(0, moved[i + Out.resetMs]! - passedMs)
  }
  return moved
}
