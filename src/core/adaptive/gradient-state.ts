import type { AdaptiveRule, Sample } from './algorithm.js'

/* The numbers that a gradient keeps. Latencies are natural logarithms of ms. */

export const limit = 0
/** The latency at light load, once `isKnown` is 1. */
export const base = 1
export const isKnown = 2
/** Requests that end before this say nothing of the limit as it is. */
export const countFrom = 3
/** What has been seen since then: latencies, their sum, failures, and the most in flight. */
export const count = 4
export const sum = 5
export const failures = 6
export const peak = 7
/** 1 until the limit has given way once, and after an outage: it grows in full steps. */
export const isStarting = 8
/** Windows in a row that would have gone below `min`. */
export const windowsAtMin = 9
/** When the base is to be measured, and how rarely that is: it grows while the base stays the same. */
export const dueAt = 10
export const rarity = 11
/** The limit when the base was last measured. */
export const measuredLimit = 12
/** Of the measurement that is under way: the limit before it, 0 if there is none, and the latency. */
export const limitBefore = 13
export const latencyBefore = 14
/** The latency that the rung above had, and how many have ended on this one that did not count. */
export const latencyAbove = 15
export const skipped = 16
/** When the measurement began, when this rung did, and when it has to end. */
export const begunAt = 17
export const rungAt = 18
export const endsBy = 19
export const lastNow = 20
export const random = 21
export const slots = 22

/** A latency counts as at most e^3, some 20 times, that at light load, so that a few streams do not move the mean, */
const slowest = 3
/** and as at least an e^2th, a seventh: after a pause of the process some look as if they had taken no time at all. */
const fastest = 2

/** The limit as a whole number in its bounds. */
export function whole(state: Float64Array, rule: AdaptiveRule): number {
  return Math.max(rule.min, Math.min(rule.max, Math.floor(state[limit]!)))
}

/** True while few are let in, to see how long they take. */
export function isMeasuring(state: Float64Array): boolean {
  return state[limitBefore] !== 0
}

/** Begins to count anew, `from` then on. */
export function forget(state: Float64Array, from: number): void {
  state[countFrom] = from
  state[count] = state[sum] = state[failures] = state[peak] = 0
}

/** Counts a request. */
export function add(
  state: Float64Array,
  rule: AdaptiveRule,
  { latencyMs, inFlight, isFailure }: Sample
): void {
  if (inFlight > state[peak]!) state[peak] = inFlight
  if (isFailure || latencyMs > rule.timeoutMs) {
    state[failures]!++
    return
  }
  const latency = Math.log(Math.max(0.05, Math.min(latencyMs, 1e9)))
  const known = state[base]!
  state[count]!++
  state[sum]! +=
    state[isKnown] === 1 ? Math.max(known - fastest, Math.min(known + slowest, latency)) : latency
}

/** How many have been counted. */
export function seen(state: Float64Array): number {
  return state[count]! + state[failures]!
}

/** The mean of the latencies that have been counted. */
export function meanLatency(state: Float64Array): number {
  return state[count]! > 0 ? state[sum]! / state[count]! : state[base]!
}
