import type { AdaptiveAlgorithm, AdaptiveRule, Sample } from '../../../src/core/adaptive/algorithm.js'
import { Heap, type Job, queueService, sharedService } from './services.js'

/*
 * A service behind a limit, event by event. Requests come at random; those beyond the limit are refused at once. Goodput
 * is what was answered within the clients' patience. So a limit that is too low wastes capacity, and one that is too high
 * has everybody wait for longer than anybody would.
 */

/** What the service can do, from `at` ms on. */
export interface Phase {
  readonly at: number
  /** Servers, each with one request at a time (`queue`), or cores that all requests share (`shared`). */
  readonly servers: number
  /** Mean service time in ms. */
  readonly serviceMs: number
  /** Requests offered, as a multiple of what the service can do with this phase's numbers; 0 for none. */
  readonly load: number
  /** True while every request fails, after `serviceMs`. */
  readonly isDown?: boolean
}

export interface Scenario {
  readonly phases: readonly Phase[]
  readonly untilMs: number
  /** One queue for all servers, or processor sharing. */
  readonly discipline: 'queue' | 'shared'
  /** Draws a service time with mean 1 from a uniform number. */
  readonly shape: (random: () => number) => number
  /** Multiples of the mean service time after which clients are gone. */
  readonly patience: number
  readonly seed: number
  /** The clock of the samples, where it is not that of the simulation. */
  readonly clock?: (now: number) => number
  /** Requests beside the others that hold their slot for so long but use no server: streams. Gap between them in ms. */
  readonly streams?: { readonly everyMs: number; readonly lastMs: number }
  /** Pauses in which nothing ends, such as a collection of garbage. */
  readonly pauses?: { readonly everyMs: number; readonly lastMs: number }
}

export interface Limiter {
  limitAt(now: number): number
  end(sample: Sample): void
}

/** What happened, by the second or another bin. */
export interface Run {
  readonly binMs: number
  readonly good: number[]
  readonly offered: number[]
  readonly limits: number[]
}

export function fixedLimit(limit: number): Limiter {
  return { limitAt: () => limit, end: () => {} }
}

export function adaptiveLimit(algorithm: AdaptiveAlgorithm, rule: AdaptiveRule, startsAt = 0): Limiter {
  const state = new Float64Array(algorithm.slots)
  algorithm.start(state, rule, startsAt)
  let current = rule.initial
  return {
    limitAt: (now) => algorithm.limitAt?.(state, rule, now) ?? current,
    end(sample) {
      current = algorithm.observe(state, rule, sample)
    }
  }
}

/** Uniform numbers from 0 to below 1 (mulberry32). */
export function randomFrom(seed: number): () => number {
  let a = seed
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export const exponential = (random: () => number) => -Math.log(1 - random())
export const constant = () => 1
/** Lognormal with a long tail (sigma 1), of mean 1. */
export const longTailed = (random: () => number) =>
  Math.exp(Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()) - 0.5)
/** Nine of ten requests are fast, one takes 20 times as long. */
export const bimodal = (random: () => number) => (random() < 0.9 ? 1 : 20) / 2.9

export function simulate(scenario: Scenario, limiter: Limiter, binMs = 1000): Run {
  const { phases, untilMs, discipline, shape, patience, seed, clock, streams, pauses } = scenario
  const arrivals = randomFrom(seed)
  const works = randomFrom(seed + 1)
  const bins = Math.ceil(untilMs / binMs)
  const run: Run = {
    binMs,
    good: new Array(bins).fill(0),
    offered: new Array(bins).fill(0),
    limits: new Array(bins).fill(0)
  }
  const sample: Sample = { now: 0, latencyMs: 0, inFlight: 0, isFailure: false }
  let phase = phases[0]!
  let nextPhase = 1
  const service = discipline === 'queue' ? queueService(phase.servers) : sharedService(phase.servers)
  const held = new Heap()
  let inFlight = 0
  let now = 0
  const gap = () =>
    phase.load === 0 ? Infinity : (exponential(arrivals) * phase.serviceMs) / (phase.load * phase.servers)
  let nextArrival = gap()
  let nextStream = streams?.everyMs ?? Infinity
  const clockOf = clock ?? ((t: number) => t)

  /** When we see what happens now. */
  function seenAt(): number {
    const into = pauses ? now % pauses.everyMs : 0
    return pauses && into < pauses.lastMs ? now - into + pauses.lastMs : now
  }

  function end(job: Job): void {
    inFlight--
    const endedAt = seenAt()
    sample.now = clockOf(endedAt)
    sample.latencyMs = clockOf(endedAt) - clockOf(job.start)
    sample.inFlight = job.inFlight
    sample.isFailure = job.phase.isDown === true
    limiter.end(sample)
    const isGood = !job.isStream && !job.phase.isDown && endedAt - job.start <= patience * job.phase.serviceMs
    const bin = Math.floor(job.start / binMs)
    if (isGood && bin < bins) run.good[bin]!++
  }

  for (;;) {
    const phaseAt = phases[nextPhase]?.at ?? Infinity
    const serviceEnd = service.nextEnd(now)
    const streamEnd = held.first
    const next = Math.min(phaseAt, serviceEnd, streamEnd, nextArrival, nextStream)
    if (next >= untilMs) break
    now = Math.max(now, next)
    if (next === phaseAt) {
      phase = phases[nextPhase++]!
      service.change(now, phase.servers)
      nextArrival = now + gap()
    } else if (next === serviceEnd) end(service.end(now))
    else if (next === streamEnd) end(held.pop())
    else if (next === nextStream) {
      nextStream = now + exponential(arrivals) * streams!.everyMs
      if (inFlight < limiter.limitAt(clockOf(seenAt())))
        held.push(now + streams!.lastMs, { start: now, inFlight: ++inFlight, work: 0, phase, isStream: true })
    } else {
      nextArrival = now + gap()
      const bin = Math.floor(now / binMs)
      const work = shape(works) * phase.serviceMs
      const start = seenAt()
      const limit = limiter.limitAt(clockOf(start))
      run.offered[bin]!++
      run.limits[bin] = limit
      if (inFlight < limit) service.add(now, { start, inFlight: ++inFlight, work, phase, isStream: false })
    }
  }
  return run
}

/** Requests that were answered in time, of those that came from `from` to `to`. */
export function goodput({ good, binMs }: Run, from: number, to: number): number {
  let total = 0
  for (let i = Math.round(from / binMs); i < Math.round(to / binMs); i++) total += good[i]!
  return total
}
