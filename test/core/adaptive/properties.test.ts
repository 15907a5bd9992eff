import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aimd } from '../../../src/core/adaptive/aimd.js'
import type { AdaptiveAlgorithm, AdaptiveRule, Sample } from '../../../src/core/adaptive/algorithm.js'
import { gradient } from '../../../src/core/adaptive/gradient.js'

const odd = fc.constantFrom(
  Number.NaN,
  0,
  -0,
  -1,
  -1e300,
  1e300,
  Number.MIN_VALUE,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY
)

const anySample: fc.Arbitrary<Sample> = fc.record({
  now: fc.oneof(
    { weight: 20, arbitrary: fc.double({ min: 0, max: 1e5, noNaN: true }) },
    { weight: 1, arbitrary: odd }
  ),
  latencyMs: fc.oneof(
    { weight: 20, arbitrary: fc.double({ min: 0, max: 1e4, noNaN: true }) },
    { weight: 1, arbitrary: odd }
  ),
  inFlight: fc.oneof({ weight: 20, arbitrary: fc.nat(300) }, { weight: 1, arbitrary: odd }),
  isFailure: fc.boolean()
})

const anyRule: fc.Arbitrary<AdaptiveRule> = fc
  .record({
    min: fc.integer({ min: 1, max: 50 }),
    initialAbove: fc.nat(100),
    maxAbove: fc.nat(500),
    timeoutMs: fc.constantFrom(50, 5000, Number.POSITIVE_INFINITY),
    tolerance: fc.double({ min: 1.1, max: 10, noNaN: true }),
    seed: fc.nat(2 ** 32 - 1)
  })
  .map(({ min, initialAbove, maxAbove, ...rest }) => ({
    ...rest,
    min,
    initial: min + initialAbove,
    max: min + initialAbove + maxAbove,
    measureEveryMs: 30_000
  }))

/** Samples in any order, and long runs of one so that windows fill. */
const anySamples = fc
  .array(fc.tuple(anySample, fc.constantFrom(1, 1, 5, 60, 200)), { maxLength: 60 })
  .map((runs) => runs.flatMap(([sample, times]) => Array.from({ length: times }, () => sample)))

/** Samples as a steady caller has them: time goes on. */
const steadySamples = anySamples.map((samples) =>
  samples.map((sample, i) => ({ ...sample, now: i * 7, inFlight: 1 + (i % 40) }))
)

function limitsOf(algorithm: AdaptiveAlgorithm, rule: AdaptiveRule, samples: readonly Sample[]): number[] {
  const state = new Float64Array(algorithm.slots)
  algorithm.start(state, rule, 0)
  const reused: Sample = { now: 0, latencyMs: 0, inFlight: 0, isFailure: false }
  return samples.flatMap((sample) => {
    const before = algorithm.limitAt?.(state, rule, sample.now)
    const limit = algorithm.observe(state, rule, Object.assign(reused, sample))
    return before === undefined ? [limit] : [before, limit]
  })
}

describe.each([gradient, aimd])('$name', (algorithm) => {
  it('always says a whole number from min to max, whatever comes', () => {
    fc.assert(
      fc.property(anyRule, fc.oneof(anySamples, steadySamples), (rule, samples) => {
        for (const limit of limitsOf(algorithm, rule, samples))
          if (!(Number.isInteger(limit) && limit >= rule.min && limit <= rule.max)) return false
        return true
      }),
      { numRuns: 300 }
    )
  })

  it('says the same for the same samples', () => {
    fc.assert(
      fc.property(anyRule, steadySamples, (rule, samples) => {
        expect(limitsOf(algorithm, rule, samples)).toEqual(limitsOf(algorithm, rule, samples))
      }),
      { numRuns: 50 }
    )
  })

  it('recovers from any past: fast requests at a limit that is reached raise it', () => {
    fc.assert(
      fc.property(anySamples, (past) => {
        const rule = { ...plain, initial: 20 }
        const state = new Float64Array(algorithm.slots)
        algorithm.start(state, rule, 0)
        let limit = 20
        for (const sample of past) limit = algorithm.observe(state, rule, sample)
        const from = Math.max(0, ...past.map(({ now }) => (Math.abs(now) < 2 ** 53 ? now : 0)))
        let most = limit
        for (let i = 1; i <= 100_000; i++) {
          limit = algorithm.observe(state, rule, {
            now: from + 20 + i,
            latencyMs: 10,
            inFlight: limit,
            isFailure: false
          })
          most = Math.max(most, limit)
        }
        expect(most).toBeGreaterThan(50)
      }),
      { numRuns: 30 }
    )
  })
})

const plain: AdaptiveRule = {
  min: 1,
  max: 100,
  initial: 20,
  timeoutMs: Number.POSITIVE_INFINITY,
  tolerance: 1.5,
  measureEveryMs: 30_000,
  seed: 1
}

describe('a limit that is not reached', () => {
  it.each([gradient, aimd])('does not grow with $name', (algorithm) => {
    const samples = Array.from({ length: 50_000 }, (_, i) => ({
      now: i,
      latencyMs: 10,
      inFlight: 1 + (i % 15),
      isFailure: false
    }))
    expect(Math.max(...limitsOf(algorithm, plain, samples))).toBe(20)
  })
})

describe('failures', () => {
  it.each([gradient, aimd])('lower the limit of $name if they are more than one in ten', (algorithm) => {
    const state = new Float64Array(algorithm.slots)
    algorithm.start(state, plain, 0)
    let limit = 20
    for (let i = 0; i < 2000; i++)
      limit = algorithm.observe(state, plain, {
        now: i,
        latencyMs: 10,
        inFlight: limit,
        isFailure: i % 5 === 0
      })
    expect(limit).toBeLessThan(10)
  })

  it.each([gradient, aimd])('of one in fifty do not hold $name down', (algorithm) => {
    const state = new Float64Array(algorithm.slots)
    algorithm.start(state, plain, 0)
    let limit = 20
    for (let i = 0; i < 20_000; i++)
      limit = algorithm.observe(state, plain, {
        now: i,
        latencyMs: 10,
        inFlight: limit,
        isFailure: i % 50 === 0
      })
    expect(limit).toBeGreaterThan(40)
  })
})

describe('time alone', () => {
  it('ends a measurement whose requests never come, and the next is not far', () => {
    const state = new Float64Array(gradient.slots)
    gradient.start(state, plain, 0)
    let limit = 20
    let now = 0
    while (limit >= 20 && now < 10_000)
      limit = gradient.observe(state, plain, { now: ++now, latencyMs: 10, inFlight: limit, isFailure: false })
    expect(limit).toBe(5)
    now += 100_000
    expect(gradient.limitAt!(state, plain, now)).toBe(20)
    for (let i = 0; i < 10_000; i++)
      limit = gradient.observe(state, plain, { now: ++now, latencyMs: 10, inFlight: limit, isFailure: false })
    expect(limit).toBe(100)
  })
})
