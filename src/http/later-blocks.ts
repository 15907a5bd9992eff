import { monotonicClock } from '../core/clock.js'
import type { Duration } from '../core/duration.js'
import { HeadgateError } from '../core/errors.js'
import { blockDuration, PolicyLimiter } from '../core/limiter.js'
import type { BuiltLimiter } from '../core/limiter-options.js'

/** Blocks that are remembered at most. */
const mostBlocks = 10_000

/** Blocks by hand that are to hold for windows, too, which no request has asked for yet. */
export class LaterBlocks {
  readonly #until = new Map<string, number>()

  add(key: string, duration: Duration, limiter: BuiltLimiter): void {
    const now = timeOf(limiter)
    if (this.#until.size >= mostBlocks)
      for (const [other, until] of this.#until) if (until <= now) this.#until.delete(other)
    if (this.#until.size >= mostBlocks && !this.#until.has(key))
      throw new HeadgateError(
        'HEADGATE_STORE_FULL',
        `${mostBlocks} keys are blocked by hand in a limiter whose window is computed: no more are remembered.`
      )
    this.#until.set(key, now + blockDuration(duration))
  }

  /** True if there was one that holds. */
  delete(key: string, limiter: BuiltLimiter): boolean {
    const until = this.#until.get(key) ?? 0
    this.#until.delete(key)
    return until > timeOf(limiter)
  }

  clear(): void {
    this.#until.clear()
  }

  /** Blocks, in a limiter that was just made, whoever is still to be blocked. */
  carryTo(limiter: BuiltLimiter): void {
    if (this.#until.size === 0) return
    const now = timeOf(limiter)
    for (const [key, until] of this.#until)
      if (until <= now) this.#until.delete(key)
      // A store that fails says so itself.
      else if (limiter instanceof PolicyLimiter) limiter.block(key, until - now)
      else limiter.block(key, until - now).then(undefined, () => {})
  }
}

/** The clock of a store outside the process cannot be read here; how long a block still lasts is the same by another. */
function timeOf(limiter: BuiltLimiter): number {
  return limiter instanceof PolicyLimiter ? limiter.now() : monotonicClock()
}
