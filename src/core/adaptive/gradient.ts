import type { AdaptiveAlgorithm, AdaptiveRule, Sample } from './algorithm.js'

/* The numbers of `state`. Latencies are kept as natural logarithms of ms. */
const limit = 0
/** The latency at light load; it means something once `isKnown` is 1. */
const base = 1
const isKnown = 2
/** Requests that end before this say nothing of the limit as it is. */
const countFrom = 3
/** What has been seen since then: latencies, their sum, failures, and the most in flight. */
const count = 4
const sum = 5
const failures = 6
const peak = 7
/** When the base is to be measured, and how often at most. */
const dueAt = 8
const everyMs = 9
/** Of the measurement that is under way: `limitBefore` is 0 if none is. */
const limitBefore = 10
const latencyBefore = 11
const startedAt = 12
const endsBy = 13
const skipped = 14
/** The limit when the base was last measured. */
const measuredLimit = 15
const windowsAtMin = 16
const random = 17
const lastNow = 18

/** How much of each step is taken. */
const smoothing = 0.3
/** A measurement lets in this part of the limit. */
const part = 1 / 3
/** Fewer latencies than this are no measurement. */
const fewest = 5
/** A latency counts as at most e^3, some 20 times, that at light load: more says no more, and a few streams do not matter. */
const outlier = 3
/** The share of failures that is put up with. */
const tolerated = 0.1

/**
 * A limit from latencies: it grows while requests take about as long as at light load, and gives way as they queue.
 * After Netflix's Gradient2 (github.com/Netflix/concurrency-limits), with the measurements of minimum latency of Envoy's
 * adaptive concurrency filter.
 *
 * Promise: a window of requests has the mean latency r; at light load it was b. The limit moves by three tenths towards
 * limit × g + √limit, where g = tolerance × b / r, between 0.25 and 2. It grows only if it was reached. If more than one
 * request in ten fails, it shrinks with their share. So it comes to rest where r is some 1.5 to 2.5 times b.
 *
 * State: see above. Where it differs from its models, the simulation in `test/core/adaptive` says why:
 * - b is measured: a third of the limit is let in for some rounds, up to twice a minute, and only while the limit is in use.
 *   Gradient2's long average takes the latency of a lasting overload for the normal one, and its limit grows to `max`.
 *   A third is enough: if that is still too many, latency falls by three, and a second measurement follows at once.
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
  slots: 19,

  start(state, rule, now) {
    state.fill(0)
    state[limit] = state[measuredLimit] = rule.initial
    state[countFrom] = state[dueAt] = state[lastNow] = now
    state[everyMs] = Math.min(rule.measureEveryMs, 1000)
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

function whole(state: Float64Array, rule: AdaptiveRule): number {
  return Math.max(rule.min, Math.min(rule.max, Math.floor(state[limit]!)))
}

function isMeasuring(state: Float64Array): boolean {
  return state[limitBefore] !== 0
}

/** Ends a measurement whose time is over. A clock that steps back takes all times with it. False for what is no time. */
function passTime(state: Float64Array, rule: AdaptiveRule, now: number): boolean {
  if (!(Math.abs(now) <= Number.MAX_SAFE_INTEGER)) return false
  const step = now - state[lastNow]!
  if (step < 0) {
    state[countFrom]! += step
    state[dueAt]! += step
    state[startedAt]! += step
    state[endsBy]! += step
  }
  state[lastNow] = now
  if (isMeasuring(state) && now >= state[endsBy]!) endMeasuring(state, rule, now)
  return true
}

function forget(state: Float64Array, from: number): void {
  state[countFrom] = from
  state[count] = state[sum] = state[failures] = state[peak] = 0
}

function add(state: Float64Array, rule: AdaptiveRule, { latencyMs, inFlight, isFailure }: Sample): void {
  if (inFlight > state[peak]!) state[peak] = inFlight
  if (isFailure || latencyMs > rule.timeoutMs) {
    state[failures]!++
    return
  }
  const latency = Math.log(Math.max(0.01, Math.min(latencyMs, 1e9)))
  state[count]!++
  state[sum]! += state[isKnown] === 1 ? Math.min(latency, state[base]! + outlier) : latency
}

function seen(state: Float64Array): number {
  return state[count]! + state[failures]!
}

function watch(state: Float64Array, rule: AdaptiveRule, sample: Sample): void {
  add(state, rule, sample)
  if (seen(state) < Math.max(30, Math.min(100, 2 * state[limit]!))) return
  const latency = state[count]! > 0 ? state[sum]! / state[count]! : state[base]!
  step(state, rule, latency, sample.now)
  if (!isMeasuring(state)) forget(state, sample.now + Math.exp(latency))
}

/** What a full window changes. */
function step(state: Float64Array, rule: AdaptiveRule, latency: number, now: number): void {
  const old = state[limit]!
  const isReached = state[peak]! >= 0.9 * whole(state, rule)
  const isFailing = state[failures]! > tolerated * seen(state)
  if (state[peak]! < old / 2) drift(state, latency)
  else if (isReached && !isFailing && (now >= state[dueAt]! || old < state[measuredLimit]! / 2))
    beginMeasuring(state, rule, latency, now)
  else {
    const next = target(state, rule, latency)
    if (next > old && !isReached) return
    state[limit] = Math.max(rule.min, Math.min(rule.max, old + smoothing * (next - old)))
    countAtMin(state, rule, latency, next < old)
  }
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
  const g = state[isKnown] === 1 ? Math.exp(state[base]! - latency) * rule.tolerance : 1
  if (share > tolerated) return old * Math.min(1 - share / 2, g)
  return old * Math.max(0.25, Math.min(2, g)) + Math.sqrt(old)
}

/** Whoever has been at `min` for five windows has no lower limit to measure at: what is seen there is the base. */
function countAtMin(state: Float64Array, rule: AdaptiveRule, latency: number, isFalling: boolean): void {
  state[windowsAtMin] = isFalling && state[limit] === rule.min ? state[windowsAtMin]! + 1 : 0
  if (state[windowsAtMin]! < 5) return
  state[windowsAtMin] = 0
  state[base] = latency
  state[isKnown] = 1
}

function beginMeasuring(state: Float64Array, rule: AdaptiveRule, latency: number, now: number): void {
  state[limitBefore] = state[limit]!
  state[latencyBefore] = latency
  state[limit] = Math.max(rule.min, Math.floor(state[limit]! * part))
  state[startedAt] = now
  // A queue has to drain first, and latency is at most what it was: so this is later than it should end.
  state[endsBy] = now + Math.exp(latency) * (6 + wantedLatencies(state) / state[limit]!)
  state[skipped] = 0
  forget(state, now)
}

function wantedLatencies(state: Float64Array): number {
  return Math.max(40, 2 * state[limit]!)
}

function measure(state: Float64Array, rule: AdaptiveRule, sample: Sample): void {
  if (sample.now - sample.latencyMs < state[startedAt]! || sample.inFlight > state[limit]!) return
  // The first to end are the fast ones of those that began together.
  if (++state[skipped]! <= state[limit]!) return
  add(state, rule, sample)
  if (seen(state) >= wantedLatencies(state)) endMeasuring(state, rule, sample.now)
}

function endMeasuring(state: Float64Array, rule: AdaptiveRule, now: number): void {
  const before = state[limitBefore]!
  const during = state[limit]!
  const tookMs = now - state[startedAt]!
  state[limitBefore] = 0
  state[limit] = before
  let isTooHigh = false
  if (state[count]! >= fewest) {
    const latency = state[sum]! / state[count]!
    setBase(state, latency)
    const after = before * rule.tolerance * Math.exp(state[base]! - state[latencyBefore]!) + Math.sqrt(before)
    state[limit] = Math.max(during, Math.min(before, after))
    // A queue that shrank by nearly as much as the limit: there may still be one.
    isTooHigh = during > rule.min && state[latencyBefore]! - latency > 0.95
  }
  state[measuredLimit] = state[limit]!
  state[everyMs] = Math.min(rule.measureEveryMs, 2 * state[everyMs]!)
  // Jitter, so that not all hosts of a service measure at once; and never more than a twentieth of the time.
  const waitMs = Math.max(state[everyMs]! * (0.75 + 0.5 * nextRandom(state)), 20 * tookMs)
  state[dueAt] = isTooHigh ? now : now + waitMs
  forget(state, now + Math.exp(state[base]!))
}

/** Measurements that differ by noise are averaged. */
function setBase(state: Float64Array, latency: number): void {
  const change = latency - state[base]!
  const isNoise = state[isKnown] === 1 && Math.abs(change) < 0.4
  state[base] = isNoise ? state[base]! + change / 2 : latency
  state[isKnown] = 1
}

/** The next number from 0 to below 1 of a linear congruential sequence (Numerical Recipes). */
function nextRandom(state: Float64Array): number {
  const value = (Math.imul(state[random]!, 1664525) + 1013904223) >>> 0
  state[random] = value
  return value / 2 ** 32
}
