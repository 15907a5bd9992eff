import type { AdaptiveAlgorithm, AdaptiveRule, Sample } from './algorithm.js'
import {
  add,
  base,
  begunAt,
  countFrom,
  dueAt,
  endsBy,
  failures,
  forget,
  isKnown,
  isMeasuring,
  isStarting,
  lastNow,
  limit,
  meanLatency,
  measuredLimit,
  peak,
  random,
  rarity,
  rungAt,
  seen,
  slots,
  whole,
  windowsAtMin
} from './gradient-state.js'
import { beginMeasuring, endMeasuring, headroom, measure } from './light-load.js'

/** How much of each step is taken. */
const smoothing = 0.3

/** The share of failures that is put up with. */
const tolerated = 0.1

/**
 * A limit from latencies: it grows while requests take about as long as at light load, and gives way as they queue.
 * After Netflix's Gradient2 (github.com/Netflix/concurrency-limits), with the measurements of minimum latency of Envoy's
 * adaptive concurrency filter.
 *
 * Promise: a window of requests has the mean latency r; at light load it was b. The limit moves by three tenths towards
 * limit × g + √limit − ½, where g = tolerance × b / r, between 0.25 and 2. It grows only if it was reached. If more than one
 * request in ten fails, it shrinks with their share. So it comes to rest where r is some 1.5 to 2.5 times b.
 *
 * Settling: in the simulation within a tenth of the goodput of the best fixed limit after 5 s at 20 ms a request.
 * State: 22 numbers, named in `gradient-state.ts`.
 * Where it differs from its models, the simulation in `test/core/adaptive` says why:
 * - b is measured: a quarter of the limit is let in for some rounds, up to twice a minute, and only while the limit is in use.
 *   Gradient2's long average takes the latency of a lasting overload for the normal one, and its limit grows to `max`.
 *   It is also measured when the limit has halved since: the service may have become slower, not fuller.
 * - Means are of logarithms. One request of 30 s among a thousand of 20 ms does not move them.
 * - A window begins one latency after the limit has changed, so each step sees what the last one did.
 * - g may be above 1, as in Envoy, and is not cut off at 0.5, which would lean upwards, as noise has room above only.
 *
 * Weakness: it takes rising latency for queueing. If latency rises with load before anything queues, it stays
 * below what would be possible; raise `tolerance` there. Requests of very different kinds need limits of their own.
 */
export const gradient: AdaptiveAlgorithm = {
  name: 'gradient',
  slots,

  start(state, rule, now) {
    state.fill(0)
    state[limit] = state[measuredLimit] = rule.initial
    state[countFrom] = state[dueAt] = state[lastNow] = now
    state[rarity] = state[isStarting] = 1
    state[random] = rule.seed
  },

  observe(state, rule, sample) {
    const { now, latencyMs } = sample
    if (!(latencyMs >= 0) || !passTime(state, rule, now)) return whole(state, rule)
    if (isMeasuring(state)) measure(state, rule, sample)
    else if (now >= state[countFrom]!) watch(state, rule, sample)
    return whole(state, rule)
  },

  limitAt(state, rule, now) {
    passTime(state, rule, now)
    return whole(state, rule)
  }
}

/** Ends a measurement whose time is over. A clock that steps back takes all times with it. False for what is no time. */
function passTime(state: Float64Array, rule: AdaptiveRule, now: number): boolean {
  if (!(Math.abs(now) <= Number.MAX_SAFE_INTEGER)) return false
  const step = now - state[lastNow]!
  if (step < 0) {
    state[countFrom]! += step
    state[dueAt]! += step
    state[begunAt]! += step
    state[rungAt]! += step
    state[endsBy]! += step
  }
  state[lastNow] = now
  if (isMeasuring(state) && now >= state[endsBy]!) endMeasuring(state, rule, now)
  return true
}

function watch(state: Float64Array, rule: AdaptiveRule, sample: Sample): void {
  add(state, rule, sample)
  if (seen(state) < windowSize(state)) return
  const latency = meanLatency(state)
  step(state, rule, latency, sample.now)
  if (!isMeasuring(state)) forget(state, sample.now + Math.exp(latency))
}

/** How many requests make a window. */
function windowSize(state: Float64Array): number {
  const now = state[limit]!
  return Math.max(Math.min(30, Math.max(10, 8 * now)), Math.min(100, 2 * now))
}

/** What a full window changes. */
function step(state: Float64Array, rule: AdaptiveRule, latency: number, now: number): void {
  const old = state[limit]!
  const isReached = state[peak]! >= 0.9 * whole(state, rule)
  const isFailing = state[failures]! > tolerated * seen(state)
  if (state[peak]! < old / 2) drift(state, latency)
  else if (isReached && !isFailing && isDoubtful(state, now)) beginMeasuring(state, rule, latency, now)
  else {
    const next = target(state, rule, latency)
    if (next > old && !isReached) return
    if (next < old) state[isStarting] = 0
    const share = state[isStarting] === 1 ? 1 : smoothing
    state[limit] = Math.max(rule.min, Math.min(rule.max, old + share * (next - old)))
    // An outage says nothing of what there is room for once it is over.
    if (isFailing && state[limit] === rule.min) state[isStarting] = 1
    countAtMin(state, rule, latency, next < old)
  }
}

/** True when the base should be measured: seldom, and after it has been the reason to halve the limit. */
function isDoubtful(state: Float64Array, now: number): boolean {
  if (state[isStarting] === 1 && state[isKnown] === 1) return false
  return now >= state[dueAt]! || state[limit]! < state[measuredLimit]! / 2
}

/** Latency at light load may change by and by, and nobody has to be turned away to see it. */
function drift(state: Float64Array, latency: number): void {
  state[base] = state[isKnown] === 1 ? state[base]! + 0.1 * (latency - state[base]!) : latency
  state[isKnown] = 1
}

/** Where the limit is going. */
function target(state: Float64Array, rule: AdaptiveRule, latency: number): number {
  const old = state[limit]!
  const share = state[failures]! / seen(state)
  const g = Math.exp(state[base]! - latency) * rule.tolerance
  if (state[isKnown] !== 1) return share > tolerated ? old * (1 - share / 2) : old
  if (share > tolerated) return old * Math.min(1 - share / 2, g)
  return old * Math.max(0.25, Math.min(2, g)) + headroom(old)
}

/** Whoever has been at `min` for five windows has no lower limit to measure at: what is seen there is the base. */
function countAtMin(state: Float64Array, rule: AdaptiveRule, latency: number, isFalling: boolean): void {
  state[windowsAtMin] = isFalling && whole(state, rule) === rule.min ? state[windowsAtMin]! + 1 : 0
  if (state[windowsAtMin]! < 5) return
  state[windowsAtMin] = 0
  state[base] = latency
  state[isKnown] = 1
}
