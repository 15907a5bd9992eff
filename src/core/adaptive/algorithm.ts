/** What is known of a limit that finds itself. */
export interface AdaptiveRule {
  /** The least limit, at least 1. */
  readonly min: number
  /** The largest limit. */
  readonly max: number
  /** The limit before anything is known. */
  readonly initial: number
  /** A request that takes longer than so many ms counts as a failure; `Infinity` if none does. */
  readonly timeoutMs: number
  /** How much longer than at light load a request may take before the limit gives way, such as 1.5. */
  readonly tolerance: number
  /** How often latency at light load is measured anew at most, in ms. */
  readonly measureEveryMs: number
  /** Where the jitter of those measurements begins: other hosts should have another. */
  readonly seed: number
}

/** One request that has ended. The caller reuses one object. */
export interface Sample {
  /** When it ended, in ms of a monotonic clock. */
  now: number
  /** From admission to its end, in ms. */
  latencyMs: number
  /** How many were in flight when it was admitted, itself included. */
  inFlight: number
  /** It failed for want of capacity: a time-out, a 5xx, a connection that we lost. A 4xx is no such failure. */
  isFailure: boolean
}

/**
 * Arithmetic that finds a concurrency limit from how requests end. It is stateless, as a strategy is: all state is in
 * the numbers that it is given, it reads no clock, and it allocates nothing.
 */
export interface AdaptiveAlgorithm {
  readonly name: string
  /** How many numbers it keeps. */
  readonly slots: number
  /** Fills the numbers for a limit that begins now. */
  start(state: Float64Array, rule: AdaptiveRule, now: number): void
  /** Takes a request into account. Returns the limit from now on: a whole number from `min` to `max`. */
  observe(state: Float64Array, rule: AdaptiveRule, sample: Sample): number
  /** The limit that holds at `now`. Left out if no limit changes but by a request that ends. */
  limitAt?(state: Float64Array, rule: AdaptiveRule, now: number): number
}
