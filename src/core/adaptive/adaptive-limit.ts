import type { Sample } from './algorithm.js'
import type { Adaptive } from './read-adaptive.js'

/**
 * How work ended that was in flight. Only a limit that finds itself looks at it: `'failure'` is for want of capacity, such as
 * a time-out or a 5xx; `'aborted'`, that somebody did not wait for the end; and `'ignored'` says nothing of capacity, as a
 * 4xx.
 */
export type WorkResult = 'success' | 'failure' | 'aborted' | 'ignored'

/** How many of the last requests their mean latency is of, about. */
const memory = 32

/** One request that is in flight. */
interface Begun {
  /** What its permits are known by where they are counted. */
  readonly permit: number
  readonly at: number
  readonly inFlight: number
}

/** A limit that finds itself, of all that one limiter has in flight in this process. */
export class AdaptiveLimit {
  readonly #adaptive: Adaptive
  readonly #state: Float64Array
  readonly #sample: Sample = { now: 0, latencyMs: 0, inFlight: 0, isFailure: false }
  readonly #begun = new Map<number, Begun>()
  #limit: number
  #last = 0
  #meanMs = 0

  constructor(adaptive: Adaptive) {
    const { algorithm, rule } = adaptive
    this.#adaptive = adaptive
    this.#state = new Float64Array(algorithm.slots)
    this.#limit = rule.initial
    algorithm.start(this.#state, rule, performance.now())
  }

  /** The limit that holds now. */
  get current(): number {
    const { algorithm, rule } = this.#adaptive
    if (algorithm.limitAt !== undefined) this.#limit = algorithm.limitAt(this.#state, rule, performance.now())
    return this.#limit
  }

  /** Notes that a request has begun, as one of so many; returns what it is known by from now on. */
  begin(permit: number, inFlight: number): number {
    const id = ++this.#last
    this.#begun.set(id, { permit, at: performance.now(), inFlight })
    return id
  }

  /** Learns of the end of a request; returns what its permits are known by. */
  end(id: number, result: WorkResult): number {
    const begun = this.#begun.get(id)!
    this.#begun.delete(id)
    if (result !== 'ignored') this.#see(begun, result)
    return begun.permit
  }

  #see(begun: Begun, result: WorkResult): void {
    const sample = this.#sample
    sample.now = performance.now()
    sample.latencyMs = sample.now - begun.at
    // It took at least so long: which tells something only if that is long.
    if (result === 'aborted' && sample.latencyMs < this.#meanMs) return
    this.#meanMs += (sample.latencyMs - this.#meanMs) / memory
    sample.inFlight = begun.inFlight
    sample.isFailure = result === 'failure'
    this.#limit = this.#adaptive.algorithm.observe(this.#state, this.#adaptive.rule, sample)
  }
}
