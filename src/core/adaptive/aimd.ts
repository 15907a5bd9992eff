import type { AdaptiveAlgorithm, AdaptiveRule, Sample } from './algorithm.js'

/* The numbers of `state`. */
const limit = 0
/** Requests admitted before this say nothing of the limit as it is. */
const countFrom = 1
const successes = 2
const failures = 3
const peak = 4

/** What is left of the limit when too many fail. */
const backoff = 0.8

/** The share of failures that is put up with: some requests are slow, and some fail, whatever the limit. */
const tolerated = 0.1

/**
 * Additive increase, multiplicative decrease: Chiu and Jain, "Analysis of the Increase and Decrease Algorithms", 1989;
 * TCP's congestion avoidance, RFC 5681 §3.1.
 * Promise: a round of as many requests as the limit says raises it by one, if it was reached. More than one failure in ten
 * lowers it to 80 %, once for all that were in flight together. A request longer than `timeoutMs` is a failure.
 * State: the limit with its fraction, when it was last changed, and the successes, failures and peak since then.
 * Weakness: it learns from failures alone. Latency rises until one request in ten is late, so `timeoutMs` should be
 * well below the patience of the clients; and failures that have other causes lower the limit for nothing.
 */
export const aimd: AdaptiveAlgorithm = {
  name: 'aimd',
  slots: 5,

  start(state, rule, now) {
    state.fill(0)
    state[limit] = rule.initial
    state[countFrom] = now
  },

  observe(state, rule, sample) {
    const { now, latencyMs } = sample
    if (latencyMs >= 0 && Math.abs(now) <= Number.MAX_SAFE_INTEGER) {
      if (now < state[countFrom]!) begin(state, now)
      if (now - latencyMs >= state[countFrom]!) count(state, rule, sample)
    }
    return Math.floor(state[limit]!)
  }
}

function count(
  state: Float64Array,
  rule: AdaptiveRule,
  { now, latencyMs, inFlight, isFailure }: Sample
): void {
  if (inFlight > state[peak]!) state[peak] = inFlight
  if (isFailure || latencyMs > rule.timeoutMs) state[failures]!++
  else state[successes]!++
  const old = state[limit]!
  const round = Math.max(10, old)
  if (state[failures]! > tolerated * round) {
    state[limit] = Math.max(rule.min, old * backoff)
    begin(state, now)
  } else if (state[successes]! + state[failures]! >= round) {
    if (state[peak]! >= 0.9 * Math.floor(old)) state[limit] = Math.min(rule.max, old + 1)
    state[successes] = state[failures] = state[peak] = 0
  }
}

function begin(state: Float64Array, now: number): void {
  state[countFrom] = now
  state[successes] = state[failures] = state[peak] = 0
}
