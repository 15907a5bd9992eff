import type { AdaptiveRule, Sample } from './algorithm.js'
import {
  add,
  base,
  begunAt,
  count,
  dueAt,
  endsBy,
  forget,
  isKnown,
  latencyAbove,
  latencyBefore,
  limit,
  limitBefore,
  meanLatency,
  measuredLimit,
  random,
  rarity,
  rungAt,
  seen,
  skipped,
  whole
} from './gradient-state.js'

/*
 * How the latency at light load is measured: a quarter of the limit is let in for some rounds. If that makes requests
 * nearly four times faster they had been queueing, and may queue still, so a quarter of that is tried, and so on down.
 */

/** Each rung lets in this part of the one above. */
const part = 1 / 4

/** How much faster requests have to become for a further rung: 2.9 times. Where requests queue on both it is four. */
const muchFaster = 1.05

/** Fewer latencies than this are no measurement. */
const fewest = 5

/** How many times as long as a measurement took the next one is away, in the end. */
const mostRare = 20

/** A change of the base by more than this, by half or to the double, is no noise, and is looked at again soon. */
const surprise = 0.7

/** Lets in few, where the latency now is `latency`. */
export function beginMeasuring(state: Float64Array, rule: AdaptiveRule, latency: number, now: number): void {
  if (whole(state, rule) === rule.min) {
    setBase(state, latency)
    plan(state, rule, now, 0)
    return
  }
  state[limitBefore] = state[limit]!
  state[latencyBefore] = latency
  state[begunAt] = now
  stepDown(state, rule, latency, now)
}

function stepDown(state: Float64Array, rule: AdaptiveRule, latency: number, now: number): void {
  state[limit] = Math.max(rule.min, Math.floor(state[limit]! * part))
  state[latencyAbove] = latency
  state[rungAt] = now
  state[skipped] = 0
  // Those in flight have to end first. The mean time may be thrice that of the logarithms: this is later than it needs to be.
  state[endsBy] = now + 3 * Math.exp(latency) * (6 + wanted(state) / state[limit]!)
  forget(state, now)
}

/** How many latencies a rung takes: fewer in the first measurement, which is repeated soon. */
function wanted(state: Float64Array): number {
  return Math.max(state[isKnown] === 1 ? 40 : 20, 2 * state[limit]!)
}

/** Takes a request into account while the base is measured. */
export function measure(state: Float64Array, rule: AdaptiveRule, sample: Sample): void {
  if (sample.now - sample.latencyMs < state[rungAt]! || sample.inFlight > state[limit]!) return
  // Of those that begin together the fast ones end first.
  if (++state[skipped]! <= state[limit]!) return
  add(state, rule, sample)
  if (seen(state) < wanted(state)) return
  const latency = meanLatency(state)
  if (state[limit]! > rule.min && state[latencyAbove]! - latency > muchFaster)
    stepDown(state, rule, latency, sample.now)
  else endMeasuring(state, rule, sample.now)
}

/** Lets in as many as before, or fewer, by what has been seen. */
export function endMeasuring(state: Float64Array, rule: AdaptiveRule, now: number): void {
  const during = state[limit]!
  const before = state[limitBefore]!
  state[limitBefore] = 0
  state[limit] = before
  if (state[count]! >= fewest) {
    setBase(state, meanLatency(state))
    const room = before * rule.tolerance * Math.exp(state[base]! - state[latencyBefore]!)
    state[limit] = Math.max(during, Math.min(before, room + headroom(before)))
  }
  // Where no request came to end it, time has passed that was no part of it.
  plan(state, rule, now, Math.min(now, state[endsBy]!) - state[begunAt]!)
  forget(state, now + Math.exp(state[base]!))
}

/** When to measure again: with jitter, so that not all hosts of a service do at once, and in the end a twentieth of the time. */
function plan(state: Float64Array, rule: AdaptiveRule, now: number, tookMs: number): void {
  const jitter = 0.75 + 0.5 * nextRandom(state)
  const often = (state[rarity]! / mostRare) * rule.measureEveryMs
  state[dueAt] = now + jitter * Math.max(often, Math.min(mostRare, 4 * state[rarity]!) * tookMs)
  state[rarity] = Math.min(mostRare, 2 * state[rarity]!)
  state[measuredLimit] = state[limit]!
}

/** Measurements that differ by noise are averaged. */
function setBase(state: Float64Array, latency: number): void {
  const change = state[isKnown] === 1 ? latency - state[base]! : Number.POSITIVE_INFINITY
  if (Math.abs(change) > surprise) state[rarity] = Math.max(1, state[rarity]! / 4)
  state[base] = Math.abs(change) < surprise / 2 ? state[base]! + change / 2 : latency
  state[isKnown] = 1
}

/** What is let in beyond what the latencies say, to see whether there is room. */
export function headroom(old: number): number {
  return Math.sqrt(old) - 0.5
}

/** The next number from 0 to below 1 of a linear congruential sequence (Numerical Recipes). */
function nextRandom(state: Float64Array): number {
  const value = (Math.imul(state[random]!, 1664525) + 1013904223) >>> 0
  state[random] = value
  return value / 2 ** 32
}
